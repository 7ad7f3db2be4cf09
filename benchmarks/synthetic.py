"""Synthetic notes: how fast they are made, how various they are, and what they share with dev.

A context is the two tokens before and behind an identifier, digits masked and other identifiers as their type. The
shared 5-grams are of tokens, digits masked: a layout that had copied a note of dev would show here.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks import keep
from benchmarks.rules import CARRIERS, gold
from deident import corpus
from deident.corpus import carriers, make
from deident.corpus.carriers import Report
from deident.document import Document, corpus_hash
from deident.tokens import tokenize

NOTES = 5000
SEED = 1
ASKED = 100  # notes a second


def timed(reports: Sequence[Report] = ()) -> tuple[list[Document], float]:
    sentences = carriers.sentences(reports)
    begin = time.process_time()
    made = list(make.notes(NOTES, seed=SEED, sentences=sentences, reports=reports))
    return made, time.process_time() - begin


def density(documents: list[Document]) -> str:
    tokens = sum(len(tokenize(doc.text)) for doc in documents) / len(documents)
    spans = sum(len(doc.spans) for doc in documents) / len(documents)
    return f"{tokens:5.0f} tokens and {spans:4.1f} spans a note"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.synthetic")
    parser.add_argument("--carrier-dir", type=Path, help="where mtsamples/ and aci_bench/ lie: all of dev, and filling")
    parser.add_argument("--record", action="store_true", help="write docs/results/synthetic.md")
    given = parser.parse_args()
    dev = gold(given.carrier_dir, "dev") if given.carrier_dir else list(corpus.load(corpus.OWN, split="dev"))
    make.note(SEED, 0)  # loads what all notes share
    made, seconds = timed()
    found = make.variety(made, dev)
    lines = [
        f"{NOTES:,} notes, seed {SEED}, in {seconds:.1f} s on one core: {NOTES / seconds:.0f} notes/s "
        f"({NOTES / seconds / ASKED:.1f} × {ASKED})",
        f"{found.layouts} layouts; {density(made)}",
        f"5-grams that stand in dev too ({len(dev)} notes): {found.shared_of_synthetic:.2%} of the synthetic ones, "
        f"{found.shared_of_others:.2%} of those of dev",
    ]
    if given.carrier_dir is not None:
        for name in CARRIERS.values():
            reports = carriers.reports(given.carrier_dir / name)
            filled, seconds = timed(reports)
            with_carrier = make.variety(filled, dev)
            lines += [
                "",
                f"with {len(reports)} reports of {Path(name).parent} that nobody annotated, of which "
                f"{sum(len(report.sentences) for report in reports):,} sentences may be used: "
                f"{NOTES / seconds:.0f} notes/s",
                f"{sum(doc.meta['layout'].startswith('carrier') for doc in filled):,} filled reports, "
                f"{density([doc for doc in filled if doc.meta['layout'].startswith('carrier')])}",
                f"{with_carrier.shared_of_synthetic:.2%} of the 5-grams of all stand in dev too",
            ]
    lines += ["", f"{'':16}{'spans':>8}{'contexts':>10}{'values':>8}"]
    lines += [
        f"{label:16}{count:8,}{found.contexts[label]:10,}{found.values[label]:8,}"
        for label, count in found.spans.items()
    ]
    print("\n".join(lines))
    if given.record:
        command = "python -m benchmarks.synthetic --carrier-dir DIR --record"
        keep("synthetic", command, f"one core; synthetic {corpus_hash(made)[:16]}", lines)


if __name__ == "__main__":
    main()
