"""Words per second of every policy, and of every manner of showing what is removed: replacement beside detection.

Every gold span of deident-open is replaced; its notes hold a span in six words. A hospital's notes hold far fewer
(mtsamples-phi: one in 25), and what is replaced costs time, not the words between: so a rate stands there for both.
"""

import dataclasses
import time

from benchmarks import notes, report
from deident import policy, replace
from deident.config import Config
from deident.document import Document, Patient
from deident.pipeline import Pipeline
from deident.policy import Action

KEY = bytes(range(32))
WORDS = 300_000  # at least, in a round
ROUNDS = 5
ASKED = 1_000_000  # words a second on one core
SPARSE = 25
AS_OF = 2024


def _renamed(docs: list[Document]) -> list[Document]:
    """The notes again and again, each time of other patients, so that no draw is found where it was left before."""
    words = sum(len(doc.text.split()) for doc in docs)
    return [
        dataclasses.replace(doc, id=f"{doc.id}-{number}", patient=Patient(f"{_patient(doc)}-{number}"))
        for number in range(WORDS // words + 1)
        for doc in docs
    ]


def _patient(doc: Document) -> str:
    return doc.patient.id if doc.patient is not None else doc.id


def _seconds(docs: list[Document], treat: replace.Treatment) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.process_time()
        for doc in docs:
            replace.apply(doc, treat)
        best = min(best, time.process_time() - begin)
    return best


def main() -> None:
    measured = notes()
    docs = _renamed(measured)
    words = sum(len(doc.text.split()) for doc in docs)
    spans = sum(len(doc.spans) for doc in docs)
    pipeline = Pipeline.from_config(Config())
    for doc in measured[:3]:
        pipeline.detect(doc)  # the lists are opened
    begin = time.process_time()
    for doc in measured:
        pipeline.detect(doc)
    detection = (time.process_time() - begin) * len(docs) / len(measured)
    lines = [
        f"{words:,} words, {spans:,} spans (one in {words / spans:.1f} words), best of {ROUNDS} rounds, one core",
        f"{'':34} {'thousand words/s':>17} {f'at 1 in {SPARSE}':>11} {'× 1,000,000':>12} {'of detection':>13}",
    ]
    treatments: list[tuple[str, replace.Treatment]] = []
    for name in policy.names():
        found = policy.load(name)
        key = KEY if found.keyed else None
        treatments.append((name, found.treatment(key=key, as_of=AS_OF)))
        if name in ("safe-harbor", "expert-determination"):
            for manner in found.allows:
                shown = found.shown_as(manner)
                own = KEY if shown.keyed else None
                if manner not in (Action.TAG, found.action(measured[0].spans[0].label)):
                    treatments.append((f"{name} --replace {manner}", shown.treatment(key=own, as_of=AS_OF)))
    treatments.append(
        ("safe-harbor --fixed-width", policy.load("safe-harbor").treatment(as_of=AS_OF, fixed_width=True))
    )
    for name, treat in treatments:
        taken = _seconds(docs, treat)
        dense, sparse = words / taken / 1e3, spans * SPARSE / taken
        share = taken / detection
        lines.append(f"{name:42} {dense:9,.0f} {sparse / 1e3:11,.0f} {sparse / ASKED:12.2f} {share:13.4f}")
    report("policies", lines, measured)


if __name__ == "__main__":
    main()
