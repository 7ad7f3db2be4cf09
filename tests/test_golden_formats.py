"""Reference files are read to what other people's programs read: cassis, brat's own parser, doccano, Label Studio."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

from deident import labels
from deident.errors import FormatError
from deident.formats import _cas as cas
from deident.formats import bdoc, brat, cas_json, conll, decode, doccano, gate, label_studio, xmi

FOLDER = Path(__file__).parent / "golden" / "formats"
GOLDEN = cast(dict[str, Any], json.loads((FOLDER / "golden_parsed.json").read_text(encoding="utf-8")))

# How many spans of the reference programs are compared below, by format.
COMPARED: Mapping[str, int] = {
    "xmi": 179,
    "casjson": 10,
    "brat": 61,
    "doccano": 8,
    "labelstudio": 6,
    "gate": 14,
    "bdoc": 785,
}


def of(kind: str) -> dict[str, Any]:
    """The golden values of a kind by the path of their file."""
    found = {key.split("|")[1]: value for key, value in GOLDEN.items() if key.split("|")[0] == kind}
    return {path: value for path, value in found.items() if (FOLDER / path).exists()}


def as_json(value: object) -> Any:
    return json.loads(json.dumps(value))


def compare_cas(kind: str, views: Callable[[bytes], dict[str, cas.View]]) -> int:
    compared = 0
    for path, expected in of(kind).items():
        found = views((FOLDER / path).read_bytes())
        assert list(found) == list(expected), path
        for name, view in expected.items():
            assert found[name].text == view["text"]
            ours = Counter(
                (one.begin, one.end, one.type, found[name].text[one.begin : one.end]) for one in found[name].annotations
            )
            assert ours == Counter(tuple(span) for span in view["spans"]), path
            compared += ours.total()
    return compared


def test_xmi(golden: Callable[[str, int], None]) -> None:
    assert compare_cas("xmi", xmi.views) == COMPARED["xmi"]
    golden("formats", COMPARED["xmi"])


def test_cas_json(golden: Callable[[str, int], None]) -> None:
    assert compare_cas("casjson", cas_json.views) == COMPARED["casjson"]
    golden("formats", COMPARED["casjson"])


def compare_gate(kind: str, sets: Callable[[bytes], tuple[str, dict[str, list[gate.Annotation]]]]) -> int:
    """Text, places, types and features of every annotation of every set; features as strings, as the reference has."""
    compared = 0
    for path, expected in of(kind).items():
        text, found = sets((FOLDER / path).read_bytes())
        assert text == expected["text"]
        assert set(found) == set(expected["annsets"]), path
        for name, wanted in expected["annsets"].items():
            ours = [
                [one.start, one.end, one.type, text[one.start : one.end], {k: str(v) for k, v in one.features.items()}]
                for one in found[name]
            ]
            assert sorted(map(json.dumps, ours)) == sorted(map(json.dumps, wanted)), (path, name)
            compared += len(ours)
    return compared


def test_gate(golden: Callable[[str, int], None]) -> None:
    assert compare_gate("gate", gate.sets) == COMPARED["gate"]
    assert compare_gate("bdoc", bdoc.sets) == COMPARED["bdoc"]
    golden("formats", COMPARED["gate"] + COMPARED["bdoc"])


def test_brat(golden: Callable[[str, int], None]) -> None:
    compared = 0
    for path, expected in of("brat").items():
        data = (FOLDER / path).read_bytes()
        found = asdict(brat.parse_ann(decode(data) if data else ""))
        found["textbounds"] = [
            (bound["id"], bound["type"], bound["fragments"], bound["text"]) for bound in found["textbounds"]
        ]
        text = decode((FOLDER / path).with_suffix(".txt").read_bytes())
        assert as_json(found | {"text": text}) == expected, path
        triggers = {event[2] for event in expected["events"]}
        record = brat.read({".ann": data, ".txt": (FOLDER / path).with_suffix(".txt").read_bytes()}, name=path)
        assert [(span.start, span.end, span.label) for span in record.documents[0].spans] == [
            (start, end, labels.parse(kind))
            for name, kind, fragments, _ in expected["textbounds"]
            if name not in triggers
            for start, end in fragments
        ]
        compared += len(expected["textbounds"])
    assert compared == COMPARED["brat"]
    golden("formats", COMPARED["brat"])


def test_doccano(golden: Callable[[str, int], None]) -> None:
    compared = 0
    for path, expected in of("doccano").items():
        data = (FOLDER / path).read_bytes()
        rows = doccano.rows(decode(data))
        assert len(rows) == len(expected), path
        for (_, row), wanted in zip(rows, expected, strict=True):
            text = row.get("text", "")
            spans = [[start, end, label, text[start:end]] for start, end, label in doccano.raw_spans(row)]
            assert text == wanted["text"]
            assert spans == wanted["spans"], path
            compared += len(spans)
    assert compared == COMPARED["doccano"]
    golden("formats", COMPARED["doccano"])


def test_doccano_lines_are_read_unless_there_is_no_text() -> None:
    outcomes: list[str] = []
    for path in of("doccano"):
        for line in (FOLDER / path).read_bytes().splitlines(keepends=True):
            try:
                record = doccano.read({".jsonl": line}, name="n1")
            except FormatError as error:
                outcomes.append(error.reason.split(";")[0])
            else:
                outcomes.append(f"{len(record.documents[0].spans)} spans")
                assert doccano.write(record)[".jsonl"] == line
    textless = 'the object has no "text"'
    assert outcomes == ["1 spans", "0 spans", textless, "2 spans", "2 spans", "1 spans", "1 spans"]


def test_label_studio_counts_code_points(golden: Callable[[str, int], None]) -> None:
    compared = 0
    for path, expected in of("labelstudio").items():
        record = label_studio.read({".json": (FOLDER / path).read_bytes()}, name=path)
        assert [doc.text for doc in record.documents] == [task["text"] for task in expected]
        for doc, task in zip(record.documents, expected, strict=True):
            ours = [(span.start, span.end, span.label, doc.text[span.start : span.end]) for span in doc.spans]
            theirs = [(start, end, labels.parse(names[0]), text) for start, end, names, text in task["spans"]]
            assert ours == theirs
            assert any(character > "\uffff" for character in doc.text[: ours[-1][0]])
            compared += len(theirs)
    assert compared == COMPARED["labelstudio"]
    golden("formats", COMPARED["labelstudio"])


def test_the_conll_that_label_studio_exports_has_the_same_spans() -> None:
    for task in next(iter(of("labelstudio").values())):
        rows = "".join(f"{token} -X- _ {tag}\n" for token, tag in task["conll"])
        (doc,) = conll.read({".conll": rows.encode()}, name="n1").documents
        ours = [(doc.text[span.start : span.end].replace(" ", ""), span.label) for span in doc.spans]
        assert ours == [(text.replace(" ", ""), labels.parse(names[0])) for _, _, names, text in task["spans"]]


def test_doccano_conll_files() -> None:
    folder = FOLDER / "doccano"
    (doc,) = conll.read({".conll": (folder / "example.conll").read_bytes()}, name="n1").documents
    assert doc.text == "JAPAN GET\nNadim Ladki"
    assert [(doc.text[span.start : span.end], span.label.value) for span in doc.spans] == [
        ("JAPAN", "LOCATION-OTHER"),
        ("Nadim Ladki", "PATIENT"),
    ]
    (doc,) = conll.read({".conll": (folder / "labeling.trailing.conll").read_bytes()}, name="n1").documents
    assert len(doc.spans) == 2
    try:
        conll.read({".conll": (folder / "labeling.invalid.conll").read_bytes()}, name="n1")
    except FormatError as error:
        assert error.line == 1
    else:
        raise AssertionError("a file with three columns where two were meant must be refused")
