"""Hiding in plain sight: can somebody who has the program tell a leaked original from the stand-ins around it?

The notes are scrubbed with stand-ins; what no detector found is a leak, and stays beside them. The attacker has the
program with its lists, and not the key. First he is given more than he would have: the places of all identifiers in the
output, stand-ins and leaks; he says of each whether it is an original. Then he has to find them himself. Dates and ages
are left out: they have no stand-ins of their own kind. Precision: of those he names, the part that leaked. Recall: of
those that leaked, the part he names.

    all            he names every one, as who cannot tell does: his precision is the share of leaks
    not in pools   he names those of which no word is in the lists from which stand-ins are drawn
    missed again   he runs the program on the output, and names what it does not find, as it did not before
    both           he names what is neither in the lists nor found
    by himself     not told the places, he names every capitalised word that is none of plain English, and every number
                   of five digits or more, that the program does not find in the output
    learned        he trains on other scrubbed notes whose originals he has (logistic regression, by note, five folds)
"""

import argparse
import platform
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path

import numpy as np

from benchmarks import RESULTS
from benchmarks.rules import gold
from deident import lexicons, policy, replace
from deident.config import Config
from deident.document import Document, corpus_hash
from deident.labels import TYPES, Label
from deident.lexicons import word_key
from deident.pipeline import Pipeline

KEY = bytes(range(32))
FOLDS = 5
LEFT_OUT = frozenset({Label.DATE, Label.AGE})
WORD = re.compile(r"[^\W\d_]{2,}")


@dataclass(frozen=True, slots=True)
class Candidate:
    """An identifier in the output."""

    note: int
    text: str
    label: Label
    leaked: bool
    found: bool  # by the program, run on the output
    repeats: int  # how often the text stands in the output


@cache
def pool() -> frozenset[str]:
    """Every word of the lists from which stand-ins are drawn."""
    entries = [entry.text for name in lexicons.POOLS for entry in lexicons.pool(name)]
    entries += [text for place in lexicons.places() for text in (place.city, place.state)]
    return frozenset(word_key(word) for entry in entries for word in WORD.findall(entry))


def in_pool(candidate: Candidate) -> bool:
    words = WORD.findall(candidate.text)
    return not words or any(word_key(word) in pool() for word in words)


LOOKS = re.compile(r"\b[A-Z][a-z]{2,}\b|\b[A-Z]{3,}\b|\b\d[\d-]{3,}\d\b")
PLAIN = 2000  # uses in 10⁹ words of English, in lower case


def looks_like_one(text: str) -> bool:
    row = lexicons.words().get(text)
    return text[0].isdecimal() or (row.lower < PLAIN and row.clinical == 0)


@dataclass(slots=True)
class Blind:
    """What the attacker names who is not told the places."""

    named: int = 0
    right: int = 0
    reached: int = 0  # leaks of which he names a word


def candidates(docs: list[Document], blind: Blind) -> list[Candidate]:
    pipeline = Pipeline.from_config(Config())
    treat = policy.load("expert-determination").treatment(key=KEY, as_of=2024)
    found: list[Candidate] = []
    for number, doc in enumerate(docs):
        marked = pipeline.detect(Document(doc.id, doc.text))
        new = replace.rewritten(marked, treat)
        text = new.document.text
        again = pipeline.detect(Document("again", text)).spans
        places = [(span, False) for span in new.document.spans if span.label not in LEFT_OUT]
        free = [span for span in doc.spans if not any(span.overlaps(other) for other in marked.spans)]
        leaks = [span for span in new.carried(free) if span.label not in LEFT_OUT]
        places += [(span, True) for span in leaks]
        words = [match.span() for match in LOOKS.finditer(text) if looks_like_one(match[0])]
        named = [(start, end) for start, end in words if not any(s.start < end and start < s.end for s in again)]
        blind.named += len(named)
        blind.right += sum(any(s.start < end and start < s.end for s in leaks) for start, end in named)
        blind.reached += sum(any(s.start < end and start < s.end for start, end in named) for s in leaks)
        for span, leaked in places:
            shown = text[span.start : span.end]
            seen = any(span.overlaps(other) for other in again)
            found.append(Candidate(number, shown, span.label, leaked, seen, text.count(shown)))
    return found


def features(candidate: Candidate) -> list[float]:
    text = candidate.text
    row = lexicons.words().get((WORD.findall(text) or [""])[-1])
    plain = [in_pool(candidate), candidate.found, text.islower(), text.isupper(), any(map(str.isdecimal, text))]
    counts = [
        np.log1p(row.name),
        np.log1p(row.lower),
        np.log1p(row.clinical),
        np.log1p(candidate.repeats),
        len(text) / 10,
    ]
    return [*map(float, plain), *counts, *(float(candidate.label is label) for label in TYPES)]


def learned(given: list[Candidate]) -> list[bool]:
    """What a classifier says that has seen all notes but those of the fold."""
    from sklearn.linear_model import LogisticRegression

    table = np.array([features(candidate) for candidate in given])
    truth = np.array([candidate.leaked for candidate in given])
    notes = sorted({candidate.note for candidate in given})
    random.Random(1).shuffle(notes)
    fold_of = {note: place % FOLDS for place, note in enumerate(notes)}
    folds = np.array([fold_of[candidate.note] for candidate in given])
    said = np.zeros(len(given), dtype=bool)
    for fold in range(FOLDS):
        train, test = folds != fold, folds == fold
        model = LogisticRegression(class_weight="balanced", max_iter=2000)
        said[test] = model.fit(table[train], truth[train]).predict(table[test])
    return [bool(one) for one in said]


ATTACKS: Mapping[str, Callable[[list[Candidate]], list[bool]]] = {
    "all": lambda given: [True] * len(given),
    "not in pools": lambda given: [not in_pool(one) for one in given],
    "missed again": lambda given: [not one.found for one in given],
    "both": lambda given: [not one.found and not in_pool(one) for one in given],
    "learned": learned,
}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.plainsight")
    parser.add_argument("--carrier-dir", type=Path, required=True, help="where mtsamples/ and aci_bench/ lie")
    parser.add_argument("--split", default="dev", choices=["train", "dev"])
    parser.add_argument("--record", action="store_true", help="write docs/results/plainsight.md")
    asked = parser.parse_args()
    docs = gold(asked.carrier_dir, asked.split)
    blind = Blind()
    given = candidates(docs, blind)
    leaks = sum(one.leaked for one in given)
    lines = [
        f"{len(docs)} notes of {asked.split}: {len(given):,} identifiers in the output, {leaks:,} of them leaked",
        f"{'attack':14} {'named':>6} {'right':>6} {'precision':>10} {'recall':>7} {'F1':>7}",
    ]
    for name, attack in ATTACKS.items():
        said = attack(given)
        right = sum(one.leaked and named for one, named in zip(given, said, strict=True))
        precision, recall = right / max(sum(said), 1), right / max(leaks, 1)
        both = 2 * precision * recall / (precision + recall) if right else 0.0
        lines.append(f"{name:14} {sum(said):6} {right:6} {precision:10.4f} {recall:7.4f} {both:7.4f}")
    precision, recall = blind.right / max(blind.named, 1), blind.reached / max(leaks, 1)
    both = 2 * precision * recall / (precision + recall) if blind.right else 0.0
    lines.append(f"{'by himself':14} {blind.named:6} {blind.right:6} {precision:10.4f} {recall:7.4f} {both:7.4f}")
    names = [one for one in given if one.label is Label.PATIENT]
    lines.append(f"patients' names: {len(names):,}, leaked {sum(one.leaked for one in names):,}")
    for name, attack in ATTACKS.items():
        told = dict(zip(map(id, given), attack(given), strict=True))
        named = [one for one in names if told[id(one)]]
        right = sum(one.leaked for one in named)
        lines.append(f"  {name:14} named {len(named):5}, right {right:4}")
    text = "\n".join(lines)
    print(text)
    if asked.record:
        RESULTS.mkdir(parents=True, exist_ok=True)
        command = f"python -m benchmarks.plainsight --carrier-dir DIR --split {asked.split} --record"
        facts = f"{date.today()}, Python {platform.python_version()}; corpus {corpus_hash(docs)[:16]}"
        page = f"# plainsight: `{command}`\n\n{facts}\n\n```\n{text}\n```\n"
        (RESULTS / "plainsight.md").write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
