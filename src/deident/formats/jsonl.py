"""JSON lines: one document a line.

    {"id": "n1", "text": "Seen by Dr. Okoro.", "spans": [{"start": 12, "end": 17, "label": "DOCTOR",
     "score": 0.98, "source": "crf"}], "patient": {"id": "p7", "known": [["PATIENT", "Ada Lund"]]}, "meta": {"bed": 3}}

`id` and `text` are needed; `spans`, `patient` (an object, or just its id) and `meta` (any object) are not. Offsets
count code points. Another key is refused: what nobody declared nobody has looked at. What `deident detect` writes by
default are the same lines without `text`.
"""

import json
import sys
from typing import Any, cast

from deident.document import Document, Patient, Record, Span
from deident.errors import FormatError, SpanError
from deident.formats import Files, _shared, decode, encode, lines
from deident.labels import Label

SUFFIXES = (".jsonl",)
KEYS = frozenset({"id", "text", "spans", "patient", "meta"})
SPAN_KEYS = frozenset({"start", "end", "label", "score", "source"})

pieces = lines


def sniff(suffix: str, head: bytes) -> bool:
    if b'"resourceType"' in head:
        return False
    return suffix in {".jsonl", ".ndjson"} and b'"labels"' not in head and b'"label":' not in head.split(b'"spans"')[0]


def read(files: Files, *, name: str) -> Record:
    rows = [row for row in decode(files[".jsonl"]).split("\n") if row.strip()]
    documents: list[Document] = []
    for number, row in enumerate(rows, 1):
        line = number if len(rows) > 1 else None
        data = parse_object(row, line=line)
        try:
            documents.append(document({"id": name} | data))
        except FormatError as error:
            raise FormatError(error.reason, line=line) from None
    return Record(tuple(documents))


def document(data: dict[str, Any]) -> Document:
    """The document that an object of the schema describes."""
    text = data.get("text")
    if not isinstance(text, str):
        raise FormatError('the object has no "text" that is a string')
    return Document(
        id_of(data, default=""),
        _shared.text_in(text, '"text"'),
        spans_of(data, size=len(text)),
        _patient(data.get("patient")),
        _object(data.get("meta", {}), "meta"),
    )


def parse_object(row: str, *, line: int | None = None) -> dict[str, Any]:
    """One line as an object with none but the documented keys."""
    try:
        value = _shared.parse_json(row)
    except FormatError as error:
        raise FormatError(error.reason, line=line) from None
    if not isinstance(value, dict):
        raise FormatError("not a JSON object", line=line)
    data = cast(dict[str, Any], value)
    unknown = sorted(set(data) - KEYS)
    if unknown:
        raise FormatError(f"{len(unknown)} unknown key(s); there are: {', '.join(sorted(KEYS))}", line=line)
    return data


def id_of(data: dict[str, Any], *, default: str) -> str:
    value: object = data.get("id", default)
    if isinstance(value, bool) or not isinstance(value, str | int) or value == "":
        raise FormatError('"id" must be a string')
    return _shared.text_in(str(value), '"id"')


def spans_of(data: dict[str, Any], *, size: int) -> tuple[Span, ...]:
    """The spans of an object, checked against the size of their text."""
    rows: object = data.get("spans", [])
    if not isinstance(rows, list):
        raise FormatError('"spans" must be a list')
    spans: list[Span] = []
    for place, row in enumerate(cast(list[object], rows)):
        item = _object(row, f"spans[{place}]")
        if not SPAN_KEYS.issuperset(item):
            raise FormatError(f"spans[{place}] has an unknown key; there are: {', '.join(sorted(SPAN_KEYS))}")
        start, end, label = item.get("start"), item.get("end"), item.get("label")
        if type(start) is not int or type(end) is not int or not isinstance(label, str):
            raise FormatError(f"spans[{place}] needs whole numbers start and end, and a label")
        score, source = item.get("score", 1.0), item.get("source", "")
        if isinstance(score, bool) or not isinstance(score, int | float) or not isinstance(source, str):
            raise FormatError(f"spans[{place}]: score is a number and source a string")
        if not -sys.float_info.max <= score <= sys.float_info.max:  # NaN, too, is no score
            raise FormatError(f"spans[{place}]: the score is not a finite number")
        named = _shared.label_of(label, where=f"spans[{place}]")
        try:
            span = Span(start, end, named, source, float(score))
        except SpanError as error:
            raise FormatError(f"spans[{place}]: {error}") from None
        if end > size:
            raise FormatError(f"spans[{place}]: {start}..{end} is outside the text of {size} characters")
        spans.append(span)
    return tuple(spans)


def _object(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FormatError(f"{what} must be an object")
    return cast(dict[str, Any], value)


def _patient(value: object) -> Patient | None:
    if value is None:
        return None
    if isinstance(value, str | int):
        return Patient(str(value))
    data = _object(value, "patient")
    known: object = data.get("known", [])
    if not {"id", "known"}.issuperset(data) or not isinstance(data.get("id", ""), str) or not isinstance(known, list):
        raise FormatError('"patient" is an id, or an object with "id" and "known"')
    pairs: list[tuple[Label, str]] = []
    for pair in cast(list[object], known):
        items = cast(list[object], pair) if isinstance(pair, list) else []
        if len(items) != 2 or not isinstance(items[0], str) or not isinstance(items[1], str):
            raise FormatError('"known" is a list of [label, text] pairs')
        pairs.append((_shared.label_of(items[0], where="known"), items[1]))
    return Patient(str(data.get("id", "")), tuple(pairs))


def to_object(doc: Document, *, text: bool = True) -> dict[str, Any]:
    """The object of one document; without text it is what `deident detect` prints."""
    data: dict[str, Any] = {"id": doc.id}
    if text:
        data["text"] = doc.text
    data["spans"] = [span_object(span) for span in doc.spans]
    if text and doc.patient is not None:
        data["patient"] = {"id": doc.patient.id, "known": [[label.value, known] for label, known in doc.patient.known]}
    if text and doc.meta:
        data["meta"] = dict(doc.meta)
    return data


def span_object(span: Span) -> dict[str, Any]:
    return {
        "start": span.start,
        "end": span.end,
        "label": span.label.value,
        "score": round(span.score, 6),
        "source": span.source,
    }


def write(record: Record) -> dict[str, bytes]:
    rows = (json.dumps(to_object(doc), ensure_ascii=False) + "\n" for doc in record.documents)
    return {".jsonl": encode("".join(rows))}
