"""Every rule detector alone and the whole path with all of them: recall and precision by type, what is left, speed.

Recall of a type is the part of its gold characters that anything covers, whatever its label; precision is the part of
the characters a detector marks that lie in gold spans (white space and punctuation count for neither). A detector is
an error class by its source: what it marked outside gold is counted by pattern, what it missed by type.
"""

import argparse
import platform
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable
from datetime import date
from pathlib import Path

from benchmarks import RESULTS
from deident import corpus, detect
from deident.config import Config, Detect
from deident.document import Document, Span, corpus_hash
from deident.evaluate import View, by_id, score
from deident.labels import TYPES
from deident.learn.features import RULES
from deident.pipeline import Pipeline
from deident.resolve import resolve

CARRIERS = {"mtsamples-phi": "mtsamples/mtsamples.jsonl", "aci-phi": "aci_bench/notes.jsonl"}
TOKEN = re.compile(r"\w+|[^\w\s]")
ROUNDS = 3
SHOWN = 12  # error classes
WHOLE = "all rules"


def gold(carriers: Path, split: str) -> list[Document]:
    """The notes of all three corpora."""
    found: list[Document] = []
    for name in corpus.NAMES:
        carrier = carriers / CARRIERS[name] if name in CARRIERS else None
        found += corpus.load(name, split=split, carrier=carrier)
    return found


def _characters(text: str, spans: Iterable[Span]) -> set[int]:
    return {place for span in spans for place in range(span.start, span.end) if text[place].isalnum()}


class Tally:
    """What a detector covered and marked, over all notes."""

    def __init__(self) -> None:
        self.covered: Counter[str] = Counter()
        self.all: Counter[str] = Counter()
        self.right: Counter[str] = Counter()
        self.marked: Counter[str] = Counter()
        self.whole: Counter[str] = Counter()
        self.spans: Counter[str] = Counter()
        self.wrong: Counter[str] = Counter()

    def add(self, doc: Document, found: list[Span]) -> None:
        marked = _characters(doc.text, found)
        true = _characters(doc.text, doc.spans)
        for span in doc.spans:
            own = _characters(doc.text, [span])
            self.spans[span.label] += 1
            self.whole[span.label] += own <= marked
            self.all[span.label] += len(own)
            self.covered[span.label] += len(own & marked)
        for span in found:
            own = _characters(doc.text, [span])
            self.marked[span.label] += len(own)
            self.right[span.label] += len(own & true)
            if own and not own & true:
                self.wrong[span.source] += 1


def table(name: str, tally: Tally) -> list[str]:
    marked, right = sum(tally.marked.values()), sum(tally.right.values())
    lines = [f"{name}: precision {_ratio(right, marked)} over {marked:,} marked characters"]
    lines.append("  type            spans  missed  recall  precision")
    for label in TYPES:
        if tally.spans[label] or tally.marked[label]:
            recall = _ratio(tally.covered[label], tally.all[label])
            precision = _ratio(tally.right[label], tally.marked[label])
            missed = tally.spans[label] - tally.whole[label]
            lines.append(f"  {label:14} {tally.spans[label]:6} {missed:7}  {recall:>6}  {precision:>9}")
    lines.append("  marked outside gold, spans by source: " + _most(tally.wrong))
    return [*lines, ""]


def _ratio(part: int, whole: int) -> str:
    return f"{part / whole:.4f}" if whole else "-"


def _most(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.most_common(SHOWN)) or "none"


def seconds(work: Callable[[Document], object], documents: list[Document]) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        begin = time.perf_counter()
        for doc in documents:
            work(doc)
        best = min(best, time.perf_counter() - begin)
    return best


def speed(detectors: dict[str, detect.Detector], whole: Pipeline | None, documents: list[Document]) -> list[str]:
    """Words (by white space) a second, beside `re.findall` tokenizing of the same texts in the same run."""
    words = sum(len(doc.text.split()) for doc in documents)
    plain = seconds(lambda doc: TOKEN.findall(doc.text), documents)
    lines = [f"speed over {words:,} words of {len(documents):,} notes, best of {ROUNDS} rounds, one core"]
    lines.append(f"  {'re.findall tokens':18} {words / plain / 1e3:8.0f} thousand words/s")
    works: dict[str, Callable[[Document], object]] = {}
    for name, detector in detectors.items():
        works[name] = lambda doc, detector=detector: list(detector.detect(doc))
    if whole is not None:
        works[WHOLE] = whole.detect
    for name, work in works.items():
        took = seconds(work, documents)
        lines.append(f"  {name:18} {words / took / 1e3:8.0f} thousand words/s, {took / plain:.1f} times re.findall")
    return lines


def scored(gold: list[Document], found: list[Document]) -> list[str]:
    """The plain scores of the whole path, as `deident evaluate` gives them."""
    scores = score(by_id(gold), by_id(found))
    lines: list[str] = []
    for name, group in (("all types", scores.overall), ("HIPAA types", scores.hipaa)):
        for view in (View.TOKEN_BINARY, View.TOKEN, View.STRICT):
            micro = group[view].micro
            lines.append(f"  {name + ', ' + view.value:28} P {micro.p:.4f}  R {micro.r:.4f}  F {micro.f:.4f}")
    leaks = scores.leaks
    lines.append(
        f"  notes without a leak {leaks.documents_clean} of {leaks.documents}; patient names leaked "
        f"{leaks.patient_names_leaked} of {leaks.patient_names}"
    )
    return [*lines, ""]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rules")
    parser.add_argument("--carrier-dir", type=Path, required=True, help="where mtsamples/ and aci_bench/ lie")
    parser.add_argument("--detectors", help="names, with commas; all rule detectors if left out")
    parser.add_argument("--split", default="dev", choices=["train", "dev"])
    parser.add_argument("--record", action="store_true", help="write docs/results/rules.md")
    given = parser.parse_args()
    settings = Detect(detectors=RULES)
    if given.detectors:
        settings = Detect(detectors=tuple(given.detectors.split(",")))
    detectors = {name: detect.load(name, settings) for name in settings.detectors if name != "known"}
    whole = Pipeline.from_config(Config(detect=settings)) if len(detectors) > 1 else None
    documents = gold(given.carrier_dir, given.split)
    tallies = {name: Tally() for name in detectors}
    for doc in documents:
        for name, detector in detectors.items():
            tallies[name].add(doc, list(resolve(detector.detect(doc))))
    lines: list[str] = []
    if whole is not None:
        # what the notes' own patients are called is not told: that is benchmarks.known
        found = [whole.detect(Document(doc.id, doc.text)) for doc in documents]
        tallies[WHOLE] = Tally()
        for doc, done in zip(documents, found, strict=True):
            tallies[WHOLE].add(doc, list(done.spans))
        lines += [f"{WHOLE}, {given.split}:", *scored(documents, found)]
    lines += [line for name, tally in tallies.items() for line in table(name, tally)]
    carrier = corpus.carrier_texts(given.carrier_dir / CARRIERS["mtsamples-phi"], corpus.STANDOFF["mtsamples-phi"])
    lines += speed(detectors, whole, [Document(name, text) for name, text in list(carrier.items())[:1500]])
    text = "\n".join(lines)
    print(text)
    if given.record:
        RESULTS.mkdir(parents=True, exist_ok=True)
        command = f"python -m benchmarks.rules --carrier-dir DIR --split {given.split} --record"
        facts = f"{date.today()}, Python {platform.python_version()}, one core; corpus {corpus_hash(documents)[:16]}"
        (RESULTS / "rules.md").write_text(f"# rules: `{command}`\n\n{facts}\n\n```\n{text}\n```\n", encoding="utf-8")


if __name__ == "__main__":
    main()
