"""The gold corpora: what is in every split, how well blind readers agree, that stand-off notes are rebuilt by hash."""

import argparse
from collections.abc import Mapping
from pathlib import Path

from benchmarks import keep
from benchmarks.rules import CARRIERS
from deident import corpus
from deident.corpus import Split, stats
from deident.document import Document, corpus_hash

ASKED: Mapping[str, int] = {"deident-open": 150, "mtsamples-phi": 400, "aci-phi": 40}  # notes
KINDS, LAYOUTS, BLIND = 25, 40, 60


def sizes() -> list[str]:
    lines: list[str] = []
    for name in corpus.NAMES:
        entries = [entry for entry in corpus.entries() if entry.corpus == name]
        by_split = ", ".join(f"{split} {sum(e.split is split for e in entries)}" for split in Split)
        lines.append(f"{name:<14}{len(entries):>4} notes of at least {ASKED[name]} ({by_split})")
        if name == corpus.OWN:
            kinds, layouts = len({e.kind for e in entries}), len({e.layout for e in entries})
            lines.append(f"{'':14}{kinds} kinds of at least {KINDS}, {layouts} layouts of at least {LAYOUTS}")
            held = (
                {e.layout for e in entries if e.split is Split.STYLE},
                {e.kind for e in entries if e.split is Split.STYLE},
            )
            train = [e for e in entries if e.split is Split.TRAIN]
            shared = len(held[0] & {e.layout for e in train}), len(held[1] & {e.kind for e in train})
            lines.append(
                f"{'':14}style: {len(held[0])} layouts, {shared[0]} of them in train; "
                f"{len(held[1])} kinds, {shared[1]} of them in train"
            )
    return lines


def table() -> list[str]:
    """Corpus by split: notes, tokens, and the spans of each type."""
    numbers = stats.statistics()
    columns = [(name, split, row) for name, splits in numbers.items() for split, row in splits.items()]
    types = sorted({label for _, _, row in columns for label in row["spans"]})
    rows = [
        ("", *(name for name, _, _ in columns)),
        ("", *(split for _, split, _ in columns)),
        ("notes", *(f"{row['docs']:,}" for _, _, row in columns)),
        ("tokens", *(f"{row['tokens']:,}" for _, _, row in columns)),
        ("spans", *(f"{sum(row['spans'].values()):,}" for _, _, row in columns)),
        *((label, *(f"{row['spans'].get(label, 0):,}" for _, _, row in columns)) for label in types),
    ]
    return ["".join(cell.ljust(15) if not place else cell.rjust(14) for place, cell in enumerate(row)) for row in rows]


def rebuilt(name: str, carrier: Path | None) -> tuple[list[Document], str]:
    """Every note of a corpus, each equal by hash to the one that was frozen (a FormatError otherwise)."""
    found = list(corpus.load(name, carrier=carrier))
    frozen = {entry.id: entry.sha256 for entry in corpus.entries() if entry.corpus == name}
    equal = sum(corpus.digest(doc.text) == frozen[doc.id] for doc in found)
    faults = sum(finding.fault for doc in found for finding in stats.check(doc))
    doubts = sum(not finding.fault for doc in found for finding in stats.check(doc))
    bare = sum(not doc.spans for doc in found)
    return found, (
        f"{name:<14}{equal} of {len(frozen)} notes equal by hash; corpus {corpus_hash(found)[:16]}; {bare} without any "
        f"identifier; check: {faults} faults, {doubts} places to look at"
    )


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.corpus")
    parser.add_argument("--carrier-dir", type=Path, required=True, help="where mtsamples/ and aci_bench/ lie")
    parser.add_argument("--record", action="store_true", help="write docs/results/corpus.md")
    given = parser.parse_args()
    carriers = {name: given.carrier_dir / path for name, path in CARRIERS.items()}
    loaded = {name: rebuilt(name, carriers.get(name)) for name in corpus.NAMES}
    agreement = stats.agreement(carriers)
    lines = [
        *sizes(), "", "rebuilt:", *(told for _, told in loaded.values()), "",
        f"agreement (F1) of readers who saw no marks, {BLIND} notes asked for:",
        f"{'':16}{'notes':>6}{'token, any type':>17}{'token':>9}{'strict':>9}",
        *(
            f"{pair:16}{row['documents']:6}{row['token_binary']:17.4f}{row['token']:9.4f}{row['strict']:9.4f}"
            for pair, row in agreement.items()
        ),
        "", *table(),
    ]  # fmt: skip
    print("\n".join(lines))
    if given.record:
        documents = [doc for found, _ in loaded.values() for doc in found]
        command = "python -m benchmarks.corpus --carrier-dir DIR --record"
        keep("corpus", command, f"all three corpora {corpus_hash(documents)[:16]}", lines)


if __name__ == "__main__":
    main()
