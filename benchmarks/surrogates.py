"""Surrogates per second, and words per second beside detection: every gold span of deident-open replaced."""

import dataclasses
import time
from collections import defaultdict
from collections.abc import Callable

from benchmarks import notes, report
from deident import replace
from deident.config import Config
from deident.document import Document, Patient
from deident.labels import Category, Label
from deident.pipeline import Pipeline
from deident.surrogates import METHODS, Mention, Surrogates

KEY = bytes(range(16))
REPLACEMENTS = 50_000
ROUNDS = 5
ASKED = 1_000_000  # words a second on one core
SPARSE = (
    25  # words to a span in mtsamples-phi, whose notes are as long as a hospital's; deident-open is four times denser
)


def _best(work: Callable[[], object]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.process_time()
        work()
        best = min(best, time.process_time() - begin)
    return best


def _mentions(docs: list[Document]) -> list[tuple[str, Label, str]]:
    """Text, label and patient of every span."""
    return [
        (doc.text[span.start : span.end], span.label, doc.patient.id if doc.patient else doc.id)
        for doc in docs
        for span in sorted(doc.spans)
    ]


def main() -> None:
    measured = notes()
    spans = sum(len(doc.spans) for doc in measured)
    words = sum(len(doc.text.split()) for doc in measured)
    times = REPLACEMENTS // spans + 1
    docs = [  # each time another patient, so that no draw is found where an earlier round left it
        dataclasses.replace(
            doc, id=f"{doc.id}-{number}", patient=Patient(f"{doc.patient.id if doc.patient else doc.id}-{number}")
        )
        for number in range(times)
        for doc in measured
    ]
    lines = [
        f"{spans * times:,} replacements ({spans:,} gold spans × {times}), a span in {words / spans:.1f} words, "
        f"best of {ROUNDS} rounds, one core"
    ]

    def whole(treatment: Surrogates) -> Callable[[], None]:
        treat = treatment.treatment()

        def work() -> None:
            for doc in docs:
                replace.apply(doc, treat)

        return work

    taken: dict[str, float] = {}
    for method in METHODS:
        taken[method] = _best(whole(Surrogates(KEY, method)))
        each = taken[method] / (spans * times)
        dense, sparse = words / spans / each, SPARSE / each
        lines.append(
            f"{method:<12} {1 / each:10,.0f} replacements/s   {dense:10,.0f} words/s at this density   "
            f"{sparse:10,.0f} at a span in {SPARSE} words: {sparse / ASKED:.2f} × {ASKED:,}"
        )
    pipeline = Pipeline.from_config(Config())
    for doc in measured[:3]:
        pipeline.detect(doc)  # the lists are opened
    begin = time.process_time()
    for doc in measured:
        pipeline.detect(doc)
    detection = (time.process_time() - begin) * times
    lines.append(f"time of replacement / time of detection by default settings: {taken['realistic'] / detection:.3f}")
    surrogates = Surrogates(KEY)
    contexts = [surrogates.context_of([Mention(text, label)]) for text, label, _ in _mentions(measured)]
    families: dict[Category, list[tuple[str, Label, str, int]]] = defaultdict(list)
    for place, (text, label, patient) in enumerate(_mentions(measured)):
        families[label.category].append((text, label, patient, place))
    for category, mentions in sorted(families.items()):
        rounds = range(max(1, 5_000 // len(mentions)))

        def work(mentions: list[tuple[str, Label, str, int]] = mentions, rounds: range = rounds) -> None:
            for _ in rounds:
                for text, label, patient, place in mentions:
                    surrogates.replacement(text, label, patient, context=contexts[place])

        rate = len(mentions) * len(rounds) / _best(work)
        lines.append(f"single, {category.value:<10} {rate:12,.0f} replacements/s")
    report("surrogates", lines, measured)


if __name__ == "__main__":
    main()
