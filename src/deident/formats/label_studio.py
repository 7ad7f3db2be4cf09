"""Label Studio's JSON: a list of tasks, each a text with its annotations.

    [{"data": {"id": "n1", "text": "Seen by Dr. Okoro."},
      "annotations": [{"result": [{"id": "r0", "from_name": "label", "to_name": "text", "type": "labels",
        "value": {"start": 12, "end": 17, "text": "Okoro", "labels": ["DOCTOR"]}}]}]}]

Offsets count code points: Label Studio's editor converts JavaScript's units before it saves. A file whose quoted
texts do not stand at their offsets is refused.

A task's spans are those of all its annotations (`completions` in old files) that were not cancelled, the same span of
two annotators once; where there are none, those of its `predictions`. Results of other types than `labels` (choices,
rectangles, relations) are not modelled; labels on HTML or on dialogues are refused. The text is `data.text`, or the
only string in `data`. The id is `data.id`, or else the file's name with the task's place. `meta` is kept with the
document; all else stays while the documents are as they were read. Spans that a detector found are written as
predictions, with their scores.
"""

import json
import re
from collections.abc import Iterable
from typing import Any, cast

from deident.document import Document, Record, Span
from deident.errors import FormatError
from deident.formats import Files, _shared, decode, encode

SUFFIXES = (".json",)
MANY = True
_DONE = ("annotations", "completions")
_REFUSED = frozenset({"hypertextlabels", "paragraphlabels", "timeserieslabels"})
# The editor quotes a line end as a backslash and an n.
_BLANKS = re.compile(r"\\n|\s+")


def sniff(suffix: str, head: bytes) -> bool:
    if suffix != ".json" or b'"resourceType"' in head or b'"%' in head:
        return False
    tasks = (b'"annotations"', b'"completions"', b'"predictions"', b'"completed_by"')
    return head.lstrip()[:1] in {b"[", b"{"} and b'"data"' in head and any(key in head for key in tasks)


def read(files: Files, *, name: str) -> Record:
    value = _shared.parse_json(decode(files[".json"]))
    tasks = cast(list[object], value) if isinstance(value, list) else [value]
    if not tasks:
        raise FormatError("there is no task in the file")
    documents = [
        _document(_object(task, f"task {number}"), name if len(tasks) == 1 else f"{name}:{number}", f"task {number}")
        for number, task in enumerate(tasks, 1)
    ]
    return _shared.keep(__name__, files, documents)


def _object(value: object, what: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise FormatError(f"{what} must be an object")
    return cast(dict[str, Any], value)


def _list(value: object, what: str) -> list[object]:
    if not isinstance(value, list):
        raise FormatError(f"{what} must be a list")
    return cast(list[object], value)


def _document(task: dict[str, Any], default: str, where: str) -> Document:
    data = _object(task.get("data"), f"{where}: data")
    text = _text(data, where)
    given = data.get("id", default)
    if isinstance(given, bool) or not isinstance(given, str | int) or given == "":
        raise FormatError(f"{where}: the id must be a number or a string")
    meta = task.get("meta") or {}
    return Document(str(given), text, tuple(_spans(task, text, where)), meta=_object(meta, f"{where}: meta"))


def _text(data: dict[str, Any], where: str) -> str:
    strings: list[object] = [value for key, value in data.items() if isinstance(value, str) and key != "id"]
    if "text" in data:
        return _shared.text_in(data["text"], f"{where}: data.text")
    if len(strings) == 1:
        return _shared.text_in(strings[0], f"{where}: the text")
    raise FormatError(f"{where}: there is no data.text, and not one other string")


def _spans(task: dict[str, Any], text: str, where: str) -> Iterable[Span]:
    """In the order of the first annotation that has them; a span repeated within one annotation stays repeated."""
    done = [
        _object(one, f"{where}: an annotation")
        for key in _DONE
        for one in _list(task.get(key) or [], f"{where}: {key}")
    ]
    done = [one for one in done if one.get("was_cancelled") is not True]
    if not done:
        predictions = _list(task.get("predictions") or [], f"{where}: predictions")
        done = [_object(one, f"{where}: a prediction") for one in predictions]
    found: list[Span] = []
    seen: set[Span] = set()
    for one in done:
        results = _list(one.get("result") or [], f"{where}: result")
        new = [span for place, item in enumerate(results) for span in _result(item, text, f"{where}: result {place}")]
        found += [span for span in new if span not in seen]
        seen.update(new)
    return found


def _result(item: object, text: str, where: str) -> Iterable[Span]:
    result = _object(item, where)
    kind = result.get("type")
    if isinstance(kind, str) and kind in _REFUSED:
        raise FormatError(f"{where}: labels on another thing than plain text")
    if kind != "labels":
        return []
    value = _object(result.get("value"), f"{where}: value")
    start, end, score = value.get("start"), value.get("end"), result.get("score")
    if type(start) is not int or type(end) is not int:
        raise FormatError(f"{where}: start and end must be whole numbers")
    names = _list(value.get("labels"), f"{where}: labels")
    if not names or not all(isinstance(name, str) for name in names):
        raise FormatError(f"{where}: labels must be names")
    spans = [
        _shared.span_of(start, end, _shared.label_of(str(name), where=where), len(text), where=where) for name in names
    ]
    quoted = value.get("text")
    if isinstance(quoted, str) and _BLANKS.sub("", quoted) != _BLANKS.sub("", text[start:end]):
        raise _shared.disagrees(start, end, where=where)
    if isinstance(score, int | float) and not isinstance(score, bool):
        return [Span(span.start, span.end, span.label, score=float(score)) for span in spans]
    return spans


def write(record: Record) -> dict[str, bytes]:
    original = _shared.untouched(record, __name__)
    if original is not None:
        return original
    tasks = [_task(doc) for doc in record.documents]
    return {".json": encode(json.dumps(tasks, ensure_ascii=False, indent=1) + "\n")}


def _task(doc: Document) -> dict[str, Any]:
    found = any(span.source for span in doc.spans)
    results = [_written(place, span, doc.text, scored=found) for place, span in enumerate(doc.spans)]
    task: dict[str, Any] = {"data": {"id": doc.id, "text": doc.text}}
    if doc.meta:
        task["meta"] = dict(doc.meta)
    if found:
        task["predictions"] = [{"model_version": "deident", "result": results}]
    else:
        task["annotations"] = [{"result": results}]
    return task


def _written(place: int, span: Span, text: str, *, scored: bool) -> dict[str, Any]:
    quoted = text[span.start : span.end]
    result: dict[str, Any] = {
        "id": f"r{place}",
        "from_name": "label",
        "to_name": "text",
        "type": "labels",
        "value": {"start": span.start, "end": span.end, "text": quoted, "labels": [span.label.value]},
    }
    if scored:
        result["score"] = round(span.score, 6)
    return result
