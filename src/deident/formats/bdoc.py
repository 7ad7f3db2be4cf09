"""GATE's JSON (`.bdocjs` of gatenlp and of GATE's own plugin): a text with sets of annotations.

    {"text": "Seen by Dr. Okoro.", "offset_type": "p", "features": {}, "annotation_sets":
     {"": {"name": "", "annotations": [{"type": "DOCTOR", "start": 12, "end": 17, "id": 0, "features": {}}]}}}

Offsets count code points where `offset_type` is "p" (Python) and UTF-16 units where it is "j" (Java). Spans are taken
as in `gate`. A fresh file has offsets of Python.
"""

import json
from typing import Any, cast

from deident.document import Document, Record
from deident.errors import FormatError
from deident.formats import Files, _offsets, _shared, decode, encode
from deident.formats.gate import Annotation, spans

SUFFIXES = (".bdocjs",)


def sniff(suffix: str, head: bytes) -> bool:  # noqa: ARG001 (the face that all formats have)
    return suffix == ".bdocjs"


def sets(data: bytes) -> tuple[str, dict[str, list[Annotation]]]:
    """The text, and the annotations of each set."""
    value = _object(_shared.parse_json(decode(data)), "the file")
    text = _shared.text_in(value.get("text"), '"text"')
    kind = value.get("offset_type", "p")
    if kind not in ("p", "j"):
        raise FormatError('"offset_type" is "p" or "j"')
    at = _offsets.points(text) if kind == "j" else None
    found: dict[str, list[Annotation]] = {"": []}
    for name, group in _object(value.get("annotation_sets", {}), '"annotation_sets"').items():
        rows: object = _object(group, "an annotation set").get("annotations", [])
        if not isinstance(rows, list):
            raise FormatError('"annotations" must be a list')
        found[name] = []
        for place, row in enumerate(cast(list[object], rows)):
            item = _object(row, f"annotations[{place}]")
            start, end, type_ = item.get("start"), item.get("end"), item.get("type")
            if type(start) is not int or type(end) is not int or not isinstance(type_, str):
                raise FormatError(f"annotations[{place}] needs whole numbers start and end, and a type")
            if at is not None:
                if start not in at or end not in at:
                    raise FormatError(f"annotations[{place}]: {start}..{end} is outside the text or inside a character")
                start, end = at[start], at[end]
            if not 0 <= start <= end <= len(text):
                raise FormatError(f"annotations[{place}]: {start}..{end} is outside the text of {len(text)} characters")
            found[name].append(Annotation(start, end, type_, _object(item.get("features") or {}, "features")))
    return text, found


def _object(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FormatError(f"{what} must be an object")
    return cast(dict[str, Any], value)


def read(files: Files, *, name: str) -> Record:
    text, found = sets(files[".bdocjs"])
    every = (one for group in found.values() for one in group)
    return _shared.keep(__name__, files, [Document(name, text, spans(every, len(text)))])


def write(record: Record) -> dict[str, bytes]:
    original = _shared.untouched(record, __name__)
    if original is not None:
        return original
    doc = _shared.single(record, "bdoc")
    annotations = [
        {"type": span.label.value, "start": span.start, "end": span.end, "id": number, "features": {}}
        for number, span in enumerate(doc.spans)
    ]
    group = {"name": "", "annotations": annotations, "next_annid": len(annotations)}
    data = {"annotation_sets": {"": group}, "text": doc.text, "features": {}, "offset_type": "p", "name": ""}
    return {".bdocjs": encode(json.dumps(data, ensure_ascii=False) + "\n")}
