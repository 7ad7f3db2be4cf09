"""doccano's JSON lines: one document a line.

    {"id": 7, "text": "Seen by Dr. Okoro.", "label": [[12, 17, "DOCTOR"]], "meta": {"bed": 3}}

Read are also the older keys `data` (for text) and `labels`, and the `entities` of projects with relations
(`{"id": 1, "label": "DOCTOR", "start_offset": 12, "end_offset": 17}`). Offsets count code points. `meta` is kept with
the document; every other key (comments, relations, columns of your own) stays while the document is as it was read,
and a fresh line has `id`, `text`, `label` and `meta` only. Overlapping spans are all kept.
"""

import json
from typing import Any, cast

from deident.document import Document, Record, Span
from deident.errors import FormatError
from deident.formats import Files, _shared, decode, encode, lines

SUFFIXES = (".jsonl",)
_TEXT_KEYS = ("text", "data")
_LABEL_KEYS = ("label", "labels", "entities")

pieces = lines


def sniff(suffix: str, head: bytes) -> bool:
    if suffix not in {".jsonl", ".ndjson"} or b'"resourceType"' in head:
        return False
    return b'"labels"' in head or b'"start_offset"' in head or b'"label":' in head.split(b'"spans"')[0]


def rows(text: str) -> list[tuple[int, dict[str, Any]]]:
    """The objects of a file with their line numbers."""
    found: list[tuple[int, dict[str, Any]]] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = _shared.parse_json(line)
        except FormatError as error:
            raise FormatError(error.reason, line=number) from None
        if not isinstance(value, dict):
            raise FormatError("not a JSON object", line=number)
        found.append((number, cast(dict[str, Any], value)))
    return found


def raw_spans(row: dict[str, Any], *, line: int | None = None) -> list[tuple[int, int, str]]:
    """The (start, end, label) of one object as they stand, whatever the labels and wherever they point."""
    key = next((key for key in _LABEL_KEYS if key in row), None)
    items: object = row[key] if key is not None else []
    if not isinstance(items, list):
        raise FormatError(f'"{key}" must be a list', line=line)
    found: list[tuple[int, int, str]] = []
    for place, item in enumerate(cast(list[object], items)):
        if isinstance(item, dict):
            fields = cast(dict[str, object], item)
            parts = [fields.get("start_offset"), fields.get("end_offset"), fields.get("label")]
        else:
            parts = cast(list[object], item) if isinstance(item, list) else []
        if len(parts) != 3 or type(parts[0]) is not int or type(parts[1]) is not int or not isinstance(parts[2], str):
            raise FormatError(f"{key}[{place}] is not a start, an end and a label", line=line)
        found.append((parts[0], parts[1], parts[2]))
    return found


def read(files: Files, *, name: str) -> Record:
    found = rows(decode(files[".jsonl"]))
    if not found:
        raise FormatError("there is no object in the file")
    alone = len(found) == 1
    documents = [
        _document(row, name if alone else f"{name}:{number}", None if alone else number) for number, row in found
    ]
    return _shared.keep(__name__, files, documents)


def _document(row: dict[str, Any], default: str, line: int | None) -> Document:
    key = next((key for key in _TEXT_KEYS if key in row), None)
    if key is None:
        raise FormatError('the object has no "text"', line=line)
    try:
        text = _shared.text_in(row[key], f'"{key}"')
    except FormatError as error:
        raise FormatError(error.reason, line=line) from None
    spans: list[Span] = []
    for place, (start, end, named) in enumerate(raw_spans(row, line=line)):
        where = f"label[{place}]"
        label = _shared.label_of(named, where=where, line=line)
        spans.append(_shared.span_of(start, end, label, len(text), where=where, line=line))
    given: object = row.get("id", default)
    if isinstance(given, bool) or not isinstance(given, str | int) or given == "":
        raise FormatError('"id" must be a number or a string', line=line)
    meta: object = row.get("meta", {})
    if not isinstance(meta, dict):
        raise FormatError('"meta" must be an object', line=line)
    return Document(str(given), text, tuple(spans), meta=cast(dict[str, Any], meta))


def write(record: Record) -> dict[str, bytes]:
    original = _shared.untouched(record, __name__)
    if original is not None:
        return original
    return {".jsonl": encode("".join(_row(doc) for doc in record.documents))}


def _row(doc: Document) -> str:
    row: dict[str, Any] = {
        "id": doc.id,
        "text": doc.text,
        "label": [[span.start, span.end, span.label.value] for span in doc.spans],
    }
    if doc.meta:
        row["meta"] = dict(doc.meta)
    return json.dumps(row, ensure_ascii=False) + "\n"
