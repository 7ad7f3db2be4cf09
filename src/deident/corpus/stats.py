"""Counting and checking a corpus: what is in which split, and places that look like mistakes of the annotators."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from deident import corpus, labels
from deident.document import Document, Span, first_overlap
from deident.evaluate import View, score
from deident.labels import Category, Label
from deident.tokens import tokenize


def statistics(names: Iterable[str] = corpus.NAMES) -> dict[str, dict[str, dict[str, Any]]]:
    """Corpus → split → {docs, tokens, spans: {type: n}}; no carrier is needed."""
    result: dict[str, dict[str, dict[str, Any]]] = {}
    for name in names:
        rows: dict[str, dict[str, Any]] = {}
        for entry in corpus.entries():
            if entry.corpus != name:
                continue
            row = rows.setdefault(entry.split.value, {"docs": 0, "tokens": 0, "spans": Counter[str]()})
            tokens, spans = _contents(entry)
            row["docs"] += 1
            row["tokens"] += tokens
            row["spans"].update(span.label.value for span in spans)
        result[name] = {
            split.value: rows[split.value] | {"spans": dict(sorted(rows[split.value]["spans"].items()))}
            for split in corpus.Split
            if split.value in rows
        }
    return result


def _contents(entry: corpus.Entry) -> tuple[int, tuple[Span, ...]]:
    if entry.corpus == corpus.OWN:
        doc = corpus.own_note(entry)
        return len(tokenize(doc.text)), doc.spans
    kept = corpus.standoff_entries(entry.corpus)[entry.id]
    return kept.tokens, kept.spans


def agreement(carriers: Mapping[str, Path] = MappingProxyType({})) -> dict[str, dict[str, Any]]:
    """How two readers who saw nobody's annotation agree with each other, and each with gold (F1, one as gold).

    Notes of a stand-off corpus count where their carrier is given.
    """
    rows = [json.loads(line) for line in corpus.data_file("agreement.jsonl").read_text(encoding="utf-8").splitlines()]
    gold = {
        doc.id: doc
        for name in corpus.NAMES
        if name == corpus.OWN or name in carriers
        for doc in corpus.load(name, carrier=carriers.get(name))
    }
    readers: dict[str, dict[str, Document]] = {"one": {}, "two": {}, "gold": {}}
    for row in rows:
        if row["id"] not in gold:
            continue
        doc = gold[row["id"]]
        readers["gold"][doc.id] = doc
        for reader in ("one", "two"):
            spans = (Span(start, end, labels.parse(label, scheme="i2b2-2014")) for start, end, label in row[reader])
            readers[reader][doc.id] = doc.with_spans(spans)
    result: dict[str, dict[str, Any]] = {}
    for first, second in (("one", "two"), ("gold", "one"), ("gold", "two")):
        views = score(readers[first], readers[second]).overall
        result[f"{first} and {second}"] = {"documents": len(readers["gold"])} | {
            view.value: views[view].micro.f for view in (View.TOKEN_BINARY, View.TOKEN, View.STRICT)
        }
    return result


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """A place to look at. `fault` is certain; the rest may be right (an eponym beside a surname)."""

    id: str
    start: int
    end: int
    what: str
    fault: bool = False


# What may stand untagged only with a reason; guideline lints on the text outside spans.
_DOUBTS = (
    ("a date?", re.compile(r"\b\d{1,2}/\d{1,2}/\d{2,4}\b|\b(?:19|20)\d\d-\d\d-\d\d\b")),
    ("a telephone number?", re.compile(r"\(?\b\d{3}\)?[-. ]\d{3}[-. ]\d{4}\b")),
    ("an age?", re.compile(r"\b\d{1,3}[- ]?(?:year[- ]old|y/?o\b|y\.o\.)", re.IGNORECASE)),
    ("a name behind a title?", re.compile(r"\b(?:Dr|Mr|Mrs|Ms)\.? [A-Z][a-z]+")),
    ("an e-mail address?", re.compile(r"\b[\w.+-]+@[\w-]+\.\w+")),
)
_TITLED = re.compile(r"(?i)(?:dr|mr|mrs|ms)\b\.?\s|.*,?\s+(?:M\.?D\.?|R\.?N\.?|PA-C|NP|Ph\.?D\.?)$")
_POSSESSIVE = re.compile(r".*['’]s$", re.DOTALL)
_WORD = re.compile(r"[^\W\d_]{3,}")
# names whose repeats elsewhere in the note are almost surely the same name
_REPEATING = frozenset(
    {Label.PATIENT, Label.DOCTOR, Label.HOSPITAL, Label.CITY, Label.MEDICALRECORD, Label.PHONE, Label.ORGANIZATION}
)


def check(doc: Document) -> list[Finding]:
    """Faults (overlap, padding) and doubts (a title inside a name, untagged repeats, untagged dates), each once."""
    return sorted(set(_findings(doc)))


def _findings(doc: Document) -> Iterator[Finding]:
    overlap = first_overlap(doc.spans)
    if overlap is not None:
        yield Finding(doc.id, overlap[0].start, overlap[1].end, "overlapping spans", fault=True)
    covered = bytearray(len(doc.text))
    for span in doc.spans:
        covered[span.start : span.end] = b"\1" * (span.end - span.start)
    for span in doc.spans:
        yield from _span_faults(doc, span)
        if span.label in _REPEATING:
            yield from _repeats(doc, span, covered)
    for what, pattern in _DOUBTS:
        for match in pattern.finditer(doc.text):
            if not any(covered[match.start() : match.end()]):
                yield Finding(doc.id, match.start(), match.end(), what)


def _span_faults(doc: Document, span: Span) -> Iterator[Finding]:
    content = doc.text[span.start : span.end]
    if content != content.strip():
        yield Finding(doc.id, span.start, span.end, "white space at the end of a span", fault=True)
    if span.label in (Label.PATIENT, Label.DOCTOR):
        if _TITLED.match(content):
            yield Finding(doc.id, span.start, span.end, "a title or credential inside a name")
        if _POSSESSIVE.match(content):
            yield Finding(doc.id, span.start, span.end, "a possessive inside a name")
    if span.label.category is Category.AGE and re.search(r"(?i)year|y/?o\b|month", content):
        yield Finding(doc.id, span.start, span.end, "an age with more than its number")


def _repeats(doc: Document, span: Span, covered: bytearray) -> Iterator[Finding]:
    content = doc.text[span.start : span.end]
    parts = {content} | (set(_WORD.findall(content)) if span.label.category is Category.NAME else set[str]())
    for part in sorted(parts):
        for match in re.finditer(rf"(?<!\w){re.escape(part)}(?!\w)", doc.text):
            if not any(covered[match.start() : match.end()]):
                yield Finding(doc.id, match.start(), match.end(), f"untagged repeat of a {span.label}")
