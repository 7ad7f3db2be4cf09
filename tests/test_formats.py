"""The laws of every format there is: a new file in `formats/` is tested here the day it arrives.

A format that cannot hold everything has a line in LIMITS; one without a line must hold everything.
"""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deident import formats
from deident.document import Document, Record, Span
from deident.errors import DeidentError, FormatError, SpanError, UsageError
from deident.formats import _offsets, _shared, _xml, brat, conll, doccano, i2b2_2006, label_studio, vtt, xmi
from deident.labels import Label

GOLDEN = Path(__file__).parent / "golden"
SENTINEL = "Zebulonius"
# those that write any document: not those that are only read (test_office.py), nor structured records, which are
# written only as they were read (test_structured_*.py)
WRITTEN = [name for name in formats.names() if hasattr(formats.load(name), "write") and not formats.structured(name)]
MARK = "\ufeff".encode()


@dataclass(frozen=True, slots=True)
class Limits:
    """What a format cannot hold."""

    spans: bool = True
    carriage_returns: bool = True
    without: str = ""


LIMITS: Mapping[str, Limits] = {
    "inline": Limits(without="[]"),  # the marks themselves
    "text": Limits(spans=False),
    "vtt": Limits(carriage_returns=False),  # any line end is read and written as a line feed
}

# Where the offset of the span's end stands in a file of ONE, and what would point beyond the text.
ONE = Document("n1", "Seen by Dr. Okoro.", (Span(12, 17, Label.DOCTOR),))
BEYOND: Mapping[str, tuple[bytes, bytes]] = {
    "bdoc": (b'"end": 17', b'"end": 97'),
    "brat": (b"DOCTOR 12 17\t", b"DOCTOR 12 97\t"),
    "cas-json": (b'"end": 17', b'"end": 97'),
    "conll": (b"\t12\t17\t", b"\t12\t97\t"),
    "doccano": (b"[12, 17,", b"[12, 97,"),
    "gate": (b'EndNode="17"', b'EndNode="97"'),
    "i2b2-2014": (b'end="17"', b'end="97"'),
    "jsonl": (b'"end": 17', b'"end": 97'),
    "label-studio": (b'"end": 17', b'"end": 97'),
    "vtt": (b"\n12|5|", b"\n12|85|"),
    "xmi": (b'end="17"', b'end="97"'),
}
MARKED_IN_TEXT = {"i2b2-2006", "inline", "text"}

# Reference files that are read and written back, by format.
REFERENCES: Mapping[str, str] = {
    "bdoc": "formats/gate_xml/*.bdocjs",
    "brat": "formats/brat/*.ann",
    "cas-json": "formats/cas_json/*.json",
    "conll": "formats/doccano/example.conll",
    "doccano": "formats/doccano/example_overlapping.jsonl",
    "gate": "formats/gate_xml/*.xml",
    "i2b2-2006": "formats/i2b2_2006/*.xml",
    "i2b2-2014": "i2b2_eval/cases/*/*/*.xml",
    "label-studio": "formats/label_studio/*.json",
    "vtt": "formats/nlm_vtt/*.vtt",
    "xmi": "formats/cas_xmi/*.xmi",
}

_SNIPPETS = (
    "Dr. Okoro", " ", "\n", "\r\n", "\r", "\t", "]]>", "&<>\"'", "&amp;", "🙂", "👩🏽‍⚕️", "e\u0301", "\u00a0", "“José”",
    "’s", "|", "#", "# id = ", "O", "_", "\u2028", "\x85", "[[", "]]", "<![CDATA[", "{", "\\n", "\\", "漢字",
    ";", "- ", "0", "\ufeff",
)  # fmt: skip


def texts(limits: Limits) -> st.SearchStrategy[str]:
    """Texts of anything a file can hold, and often of what breaks files. NUL and controls are out: text files, and XML,
    cannot hold them."""
    banned = "\ufffe\uffff" + limits.without
    pieces = st.one_of(
        st.sampled_from(_SNIPPETS),
        st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters=banned), max_size=5),
    )
    dropped = limits.without + ("" if limits.carriage_returns else "\r")
    return st.lists(pieces, max_size=12).map(
        lambda parts: "".join(c for c in "".join(parts) if c not in dropped) or "x"
    )


@st.composite
def documents(draw: st.DrawFn, limits: Limits) -> Document:
    """A text with disjoint spans of any labels, anywhere, some of them beside one another."""
    text = draw(texts(limits))
    cuts = sorted(draw(st.sets(st.integers(0, len(text)), max_size=8 if limits.spans else 0)))
    spans = tuple(
        Span(start, end, draw(st.sampled_from(Label))) for start, end in pairwise(cuts) if draw(st.booleans())
    )
    return Document(draw(texts(Limits())).strip() or "n1", text, spans)


def holds_many(name: str) -> bool:
    form = formats.load(name)
    return hasattr(form, "pieces") or getattr(form, "MANY", False) or name in {"cas-json", "xmi"}


def again(name: str, record: Record) -> Record:
    form = formats.load(name)
    return form.read(form.write(record), name=record.documents[0].id)


@pytest.mark.parametrize("name", WRITTEN)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_what_is_written_is_read_again(name: str, data: st.DataObject) -> None:
    limits = LIMITS.get(name, Limits())
    most = 3 if holds_many(name) else 1
    record = Record(tuple(data.draw(st.lists(documents(limits), min_size=1, max_size=most))))
    assert again(name, record) == record


@pytest.mark.parametrize("name", sorted(set(WRITTEN) - {"text"}))
def test_every_label_is_held(name: str) -> None:
    text = " ".join(f"w{number:02}" for number in range(len(Label)))
    spans = tuple(Span(4 * place, 4 * place + 3, label) for place, label in enumerate(Label))
    record = Record((Document("n1", text, spans),))
    assert again(name, record) == record


def test_the_reference_says_something_of_every_format() -> None:
    text = (Path(__file__).parents[1] / "docs" / "formats.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^## `([a-z0-9-]+)`", text, re.MULTILINE)) == formats.names()


def reference_files() -> list[tuple[str, Path]]:
    found = [(name, path) for name, pattern in REFERENCES.items() for path in sorted(GOLDEN.glob(pattern))]
    assert {name for name, _ in found} == set(REFERENCES), "a pattern without files"
    return found


def files_of(name: str, path: Path) -> dict[str, bytes]:
    suffixes = formats.load(name).SUFFIXES
    return {suffix: path.with_suffix(suffix).read_bytes() for suffix in suffixes}


def test_every_reference_file_is_written_as_it_was_read() -> None:
    for name, path in reference_files():
        form, files = formats.load(name), files_of(name, path)
        record = form.read(files, name=path.stem)
        assert form.write(record) == files, path
        shuffled = record.with_documents(doc.with_spans(reversed(doc.spans)) for doc in record.documents)
        assert form.write(shuffled) == files, path


def test_fresh_i2b2_2014_files_are_those_of_the_samples_to_the_byte() -> None:
    paths = [path for name, path in reference_files() if name == "i2b2-2014"]
    form = formats.load("i2b2-2014")
    for path in paths:
        files = files_of("i2b2-2014", path)
        assert form.write(Record(form.read(files, name="x").documents)) == files, path
    assert len(paths) >= 100


@pytest.mark.parametrize("name", WRITTEN)
def test_a_byte_order_mark_is_no_part_of_the_format(name: str, tmp_path: Path) -> None:
    """Windows programs put one first. Only brat counts it as a character, and only in its text."""
    files = formats.load(name).write(Record((ONE,)))
    marked = {suffix: data if suffix == ".txt" and name == "brat" else MARK + data for suffix, data in files.items()}
    (doc,) = formats.load(name).read(marked, name="n1").documents
    assert doc == (ONE if LIMITS.get(name, Limits()).spans else ONE.with_spans(()))
    for suffix, data in marked.items():
        (tmp_path / f"n1{suffix}").write_bytes(data)
    if name != "inline":  # its suffix is that of plain text
        main = tmp_path / f"n1{formats.load(name).SUFFIXES[0]}"
        assert formats.guess(formats.Source(main, "n1")) == name


def test_utf_16_is_named() -> None:
    for data in ("Okoro".encode("utf-16"), b"\xfe\xff" + "Okoro".encode("utf-16-be")):
        with pytest.raises(FormatError, match="UTF-16 text; save it as UTF-8"):
            formats.decode(data)


@pytest.mark.parametrize("name", sorted(REFERENCES))
def test_reference_files_are_told_by_their_format(name: str) -> None:
    paths = [path for other, path in reference_files() if other == name]
    assert {formats.guess(formats.Source(path, path.stem)) for path in paths} == {name}


@pytest.mark.parametrize("name", sorted(set(WRITTEN) - MARKED_IN_TEXT))
def test_an_offset_beyond_the_text_is_refused(name: str) -> None:
    form = formats.load(name)
    files = form.write(Record((ONE,)))
    old, new = BEYOND[name]
    main = form.SUFFIXES[0]
    assert old in files[main]
    with pytest.raises(FormatError, match="outside"):
        form.read(files | {main: files[main].replace(old, new)}, name="n1")


def written(name: str) -> dict[str, bytes]:
    text = f"Seen by {SENTINEL} of {SENTINEL}ville,\nage 93 🙂.\n{SENTINEL} will call.\n"
    spans = (Span(8, 18, Label.DOCTOR), Span(22, 36, Label.CITY), Span(42, 44, Label.AGE))
    return formats.load(name).write(Record((Document("n1", text, spans if name != "text" else ()),)))


def damaged(data: bytes) -> list[bytes]:
    """A file cut short, with a byte changed or lost, with other numbers, other labels, other letters."""
    step = max(1, len(data) // 60)
    cut = [data[:size] for size in range(0, len(data), step)]
    lost = [data[:at] + data[at + 1 :] for at in range(0, len(data), step)]
    changed = [data[:at] + b"7" + data[at + 1 :] for at in range(0, len(data), step)]
    swaps = [
        (b"CITY", b"DOCTOR"),
        (b"93", b"940000000000000000000000"),
        (b"22", b"23"),
        (b"\n", b"\r"),
        (b'"', b"'"),
        (b":", b""),
        ("🙂".encode(), b"\xff"),
        ("🙂".encode(), b"\x00"),
        ("🙂".encode(), b"\\ud83d"),
        (SENTINEL.encode(), b"Zebulonia"),
    ]
    return [*cut, *lost, *changed, *(data.replace(old, new) for old, new in swaps)]


@pytest.mark.parametrize("name", WRITTEN)
def test_a_damaged_file_is_an_error_that_quotes_nothing(name: str) -> None:
    form, files = formats.load(name), written(name)
    # these two name an unknown label, which stands where only a label can stand
    bad_label = [] if name in {"inline", "jsonl"} else [(b"DOCTOR", SENTINEL.encode())]
    refused = 0
    for suffix, data in files.items():
        for bad in [*damaged(data), *(data.replace(old, new) for old, new in bad_label)]:
            try:
                form.read(files | {suffix: bad}, name="n1")
            except DeidentError as error:
                refused += 1
                assert SENTINEL.casefold() not in str(error).casefold()
    assert refused > 2


def writes_xml(name: str) -> bool:
    form = formats.load(name)
    return form.write(Record((ONE,)))[form.SUFFIXES[0]].startswith(b"<?xml")


XML = [name for name in WRITTEN if writes_xml(name)]
JSON = ["cas-json", "doccano", "jsonl", "label-studio"]


def test_the_xml_formats_are_known() -> None:
    assert {"i2b2-2006", "i2b2-2014", "xmi"} <= set(XML)


def declaring(data: bytes, declarations: str, use: str) -> bytes:
    head, _, body = data.partition(b"?>")
    return head + b"?>\n<!DOCTYPE x [" + declarations.encode() + b"]>" + body.replace(b"Okoro", use.encode())


LAUGHS = '<!ENTITY a0 "ha">' + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))


@pytest.mark.parametrize("name", XML)
@pytest.mark.parametrize(
    "declarations", [LAUGHS, '<!ENTITY a11 SYSTEM "{secret}">', '<!ENTITY % a11 SYSTEM "{secret}">']
)
def test_declared_entities_are_refused(name: str, declarations: str, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text(SENTINEL)
    form = formats.load(name)
    (suffix, data) = next(iter(form.write(Record((ONE,))).items()))
    for use in ("&a11;", "Okoro"):
        with pytest.raises(FormatError, match="declares entities: refused"):
            form.read({suffix: declaring(data, declarations.replace("{secret}", secret.as_uri()), use)}, name="n1")


@pytest.mark.parametrize("name", XML)
def test_an_external_document_type_and_an_undeclared_entity_are_refused(name: str) -> None:
    form = formats.load(name)
    (suffix, data) = next(iter(form.write(Record((ONE,))).items()))
    head, _, body = data.partition(b"?>")
    with pytest.raises(FormatError, match="declares entities: refused"):
        form.read({suffix: head + b'?><!DOCTYPE x SYSTEM "http://localhost:9/x.dtd">' + body}, name="n1")
    changed = re.sub(rb"<!\[CDATA\[|\]\]>", b"", data).replace(b"Okoro", b"&nobody;")
    with pytest.raises(FormatError, match="not well-formed XML"):
        form.read({suffix: changed}, name="n1")


@pytest.mark.parametrize("name", XML)
def test_malformed_xml_is_refused_with_its_line(name: str) -> None:
    form = formats.load(name)
    (suffix, data) = next(iter(form.write(Record((ONE,))).items()))
    with pytest.raises(FormatError) as caught:
        form.read({suffix: data.replace(b"?>", b"?>\n\n<", 1)}, name="n1")
    assert caught.value.line == 3


@pytest.mark.parametrize("name", XML)
@pytest.mark.parametrize("character", ["\x00", "\x08", "\x1f", "\ufffe", "\ud800"])
def test_what_xml_cannot_hold_is_refused_by_its_offset(name: str, character: str) -> None:
    with pytest.raises(FormatError, match="at offset 3 "):
        formats.load(name).write(Record((Document("n1", f"abc{character}"),)))


@pytest.mark.parametrize("name", JSON)
def test_malformed_json_is_refused_with_its_line(name: str) -> None:
    form = formats.load(name)
    two = Record((ONE, Document("n2", "x")))
    (suffix, data) = next(iter(form.write(two).items()))
    for bad in (data[:-3], data.replace(b'"n1"', b'"n1', 1)):
        with pytest.raises(FormatError) as caught:
            form.read({suffix: bad}, name="n1")
        assert caught.value.line is not None


@pytest.mark.parametrize("name", WRITTEN)
def test_a_lone_surrogate_is_refused_in_writing(name: str) -> None:
    with pytest.raises(DeidentError):
        formats.load(name).write(Record((Document("n1", "a\ud83db"),)))


# What we do not model stays with an unchanged document, and never goes along with a changed one.
CARRIED: Mapping[str, dict[str, bytes]] = {
    "bdoc": {
        ".bdocjs": f'{{"text": "Seen by Okoro.", "features": {{"x": "{SENTINEL}"}}, "offset_type": "j",'
        f' "annotation_sets": {{"{SENTINEL}": {{"annotations": ['
        f'{{"type": "DOCTOR", "start": 8, "end": 13, "features": {{}}}}]}}}}}}'.encode()
    },
    "brat": {
        ".txt": b"Seen by Okoro.",
        ".ann": f"T1\tDOCTOR 8 13\tOkoro\n#1\tAnnotatorNotes T1\t{SENTINEL}\n".encode(),
    },
    "cas-json": {
        ".json": f'{{"%TYPES": {{}}, "%FEATURE_STRUCTURES": [{{"%ID": 1, "%TYPE": "uima.cas.Sofa", "sofaNum": 1,'
        f' "sofaID": "_InitialView", "sofaString": "Seen by Okoro."}}, {{"%ID": 2, "%TYPE": "a.Doctor", "@sofa": 1,'
        f' "begin": 8, "end": 13, "lemma": "{SENTINEL}"}}],'
        f' "%VIEWS": {{"_InitialView": {{"%SOFA": 1, "%MEMBERS": [2]}}}}}}'.encode()
    },
    "conll": {".conll": f"# note {SENTINEL}\nSeen {SENTINEL} O\nby x O\nOkoro x B-DOCTOR\n".encode()},
    "doccano": {
        ".jsonl": f'{{"text": "Seen by Okoro.", "label": [[8, 13, "DOCTOR"]], "Comments": ["{SENTINEL}"]}}'.encode()
    },
    "gate": {
        ".xml": f"<GateDocument><GateDocumentFeatures><Feature><Name>{SENTINEL}</Name></Feature></GateDocumentFeatures>"
        f'<TextWithNodes>Seen by <Node id="8"/>Okoro<Node id="13"/>.</TextWithNodes><AnnotationSet Name="{SENTINEL}">'
        f'<Annotation Id="0" Type="DOCTOR" StartNode="8" EndNode="13"/><Annotation Id="1" Type="{SENTINEL}" '
        f'StartNode="8" EndNode="8"/></AnnotationSet></GateDocument>'.encode()
    },
    "i2b2-2006": {
        ".xml": f'<ROOT><!-- {SENTINEL} --><RECORD ID="1" BY="{SENTINEL}"><TEXT>Seen by <PHI TYPE="DOCTOR" '
        f'N="{SENTINEL}">Okoro</PHI>.</TEXT></RECORD></ROOT>'.encode()
    },
    "i2b2-2014": {
        ".xml": f'<deIdi2b2><TEXT>Seen by Okoro.</TEXT><TAGS><NAME id="{SENTINEL}" start="008" end="13" text="Okoro" '
        f'TYPE="DOCTOR" comment="{SENTINEL}"/><ODD x="{SENTINEL}"/></TAGS></deIdi2b2>'.encode()
    },
    "label-studio": {
        ".json": f'[{{"data": {{"text": "Seen by Okoro.", "url": "{SENTINEL}"}}, "annotations": ['
        f'{{"lead": "{SENTINEL}", "result": [{{"type": "labels", '
        f'"value": {{"start": 8, "end": 13, "labels": ["DOCTOR"]}}}}]}}]}}]'.encode()
    },
    "vtt": {
        ".vtt": f"{vtt.META}\n{SENTINEL}\n{vtt.TEXT}\nSeen by Okoro.\n{vtt.TAGS}\n{vtt.CLEAR}\nDOCTOR||a\n"
        f"{vtt.MARKUPS}\n8|5|DOCTOR||{SENTINEL}|Okoro\n".encode()
    },
    "xmi": {
        ".xmi": f'<xmi:XMI xmlns:xmi="http://www.omg.org/XMI" xmlns:cas="http:///uima/cas.ecore" xmlns:a="http:///a.ecore">'
        f'<a:Doctor xmi:id="2" sofa="1" begin="8" end="13" lemma="{SENTINEL}"/><cas:Sofa xmi:id="1" sofaNum="1" '
        f'sofaID="_InitialView" sofaString="Seen by Okoro."/><cas:View sofa="1" members="2"/></xmi:XMI>'.encode()
    },
}


@pytest.mark.parametrize("name", sorted(CARRIED))
def test_what_nobody_modelled_does_not_go_along_with_a_changed_document(name: str) -> None:
    form = formats.load(name)
    record = form.read(CARRIED[name], name="n1")
    (doc,) = record.documents
    assert [(doc.text[span.start : span.end], span.label) for span in doc.spans] == [("Okoro", Label.DOCTOR)]
    assert form.write(record) == CARRIED[name]
    for changed in (Document(doc.id, doc.text.replace("Okoro", "Adler"), doc.spans), Document(doc.id, doc.text)):
        files = form.write(record.with_documents([changed]))
        assert SENTINEL.encode() not in b"".join(files.values())
        assert form.read(files, name=doc.id).documents == (changed,)


def test_no_format_takes_the_bytes_of_another_for_its_own() -> None:
    record = formats.load("brat").read(CARRIED["brat"], name="n1")
    for name in set(WRITTEN) - {"text"}:
        files = formats.load(name).write(record)
        if name != "brat":
            assert formats.load(name).read(files, name="n1").documents == record.documents
            assert SENTINEL.encode() not in b"".join(files.values())


def test_formats_of_one_document_say_so() -> None:
    for name in ("brat", "i2b2-2014", "inline", "text", "vtt"):
        with pytest.raises(UsageError, match="one document a file, not 2"):
            formats.load(name).write(Record((ONE, ONE)))


def test_spans_that_one_text_cannot_hold_are_refused() -> None:
    crossing = Record((Document("n1", "abcdef", (Span(0, 3, Label.DATE), Span(2, 5, Label.CITY))),))
    for name in ("conll", "i2b2-2006", "inline"):
        with pytest.raises(SpanError):
            formats.load(name).write(crossing)
    for name in ("brat", "cas-json", "doccano", "i2b2-2014", "jsonl", "label-studio", "vtt", "xmi"):
        assert again(name, crossing) == crossing


def test_nested_spans_are_held_by_i2b2_2006() -> None:
    spans = (Span(0, 6, Label.HOSPITAL), Span(0, 6, Label.HOSPITAL), Span(0, 2, Label.CITY), Span(3, 6, Label.DATE))
    record = Record((Document("n1", "abcdef", spans),))
    assert again("i2b2-2006", record) == record


def refusals() -> list[tuple[str, dict[str, bytes], str]]:
    def i2b2(tag: str) -> dict[str, bytes]:
        return {".xml": f"<deIdi2b2><TEXT>Seen by Okoro.</TEXT><TAGS>\n{tag}</TAGS></deIdi2b2>".encode()}

    def phi(inner: str) -> dict[str, bytes]:
        return {".xml": f'<ROOT>\n<RECORD ID="1"><TEXT>{inner}</TEXT></RECORD></ROOT>'.encode()}

    def ann(lines: str) -> dict[str, bytes]:
        return {".ann": lines.encode(), ".txt": b"Seen by Okoro."}

    def nlm(tags: str, markup: str) -> dict[str, bytes]:
        return {".vtt": f"{vtt.TEXT}\n🙂 Okoro\n{vtt.TAGS}\n{tags}\n{vtt.MARKUPS}\n{markup}\n".encode()}

    def scored(score: bytes) -> dict[str, bytes]:
        span = b'{"start": 0, "end": 1, "label": "DATE", "score": ' + score + b"}"
        return {".jsonl": b'{"text": "a", "spans": [' + span + b"]}"}

    def task(body: str) -> dict[str, bytes]:
        return {".json": body.encode()}

    def result(value: str, kind: str = "labels") -> dict[str, bytes]:
        item = f'{{"type": "{kind}", "value": {value}}}'
        return task(f'{{"data": {{"text": "Seen by Okoro."}}, "annotations": [{{"result": [{item}]}}]}}')

    tags = f"{vtt.CLEAR}\nDOCTOR|NAME"

    def gate(inner: str, annotation: str = "") -> dict[str, bytes]:
        body = f"<TextWithNodes>{inner}</TextWithNodes>\n<AnnotationSet>{annotation}</AnnotationSet>"
        return {".xml": f"<GateDocument>{body}</GateDocument>".encode()}

    def bdoc(annotation: str, kind: str = "j") -> dict[str, bytes]:
        sets = f'{{"": {{"annotations": [{annotation}]}}}}'
        return {".bdocjs": f'{{"text": "🙂 Okoro", "offset_type": "{kind}", "annotation_sets": {sets}}}'.encode()}

    return [
        ("gate", {".xml": b"<GateDocument/>"}, "there is no <GateDocument> with <TextWithNodes>"),
        ("gate", gate("a<b/>c"), "line 1: something else than a <Node>"),
        ("gate", gate('<Node id="0"/>a', '<Annotation Type="DATE" StartNode="0" EndNode="1"/>'), "line 2: an annot"),
        ("gate", gate('<Node id="0"/>a', '<Annotation Type="DATE" StartNode="0" EndNode="0"/>'), "0..0 is empty"),
        ("bdoc", bdoc('{"type": "DATE", "start": 1, "end": 2}'), "1..2 is outside the text or inside a character"),
        ("bdoc", bdoc('{"type": "Token", "start": 3, "end": 9}', "p"), "3..9 is outside the text of 7 characters"),
        ("bdoc", bdoc('{"start": 0, "end": 2}'), r"annotations\[0\] needs whole numbers"),
        ("bdoc", bdoc("", "x"), '"offset_type" is "p" or "j"'),
        ("bdoc", {".bdocjs": b'{"text": "a", "annotation_sets": []}'}, "must be an object"),
        ("i2b2-2014", i2b2('<NAME start="8" end="13" TYPE="NOBODY"/>'), "line 2: an unknown label"),
        ("i2b2-2014", i2b2('<NAME start="8" end="13" TYPE="CITY"/>'), "line 2: the TYPE is CITY, which is no NAME"),
        ("i2b2-2014", i2b2('<NAME start="8" end="13"/>'), "has no TYPE"),
        ("i2b2-2014", i2b2('<NAME start="8" end="x" TYPE="DOCTOR"/>'), "needs a whole number 'end'"),
        ("i2b2-2014", i2b2('<NAME start="8" end="13" text="Adler" TYPE="DOCTOR"/>'), "not the text at 8..13"),
        ("i2b2-2014", i2b2('<NAME start="8" end="8" TYPE="DOCTOR"/>'), "8..8 is empty"),
        ("i2b2-2014", {".xml": b"<deIdi2b2/>"}, "there is no <TEXT>"),
        ("i2b2-2014", {".xml": b"<a><TEXT>x<b/></TEXT></a>"}, "an element where only text may be"),
        ("i2b2-2006", phi('<PHI TYPE="NOBODY">x</PHI>'), "line 2: an unknown label"),
        ("i2b2-2006", phi('<PHI TYPE="DOCTOR" SUBTYPE="CITY">x</PHI>'), "the SUBTYPE is CITY"),
        ("i2b2-2006", phi("<PHI>x</PHI>"), "<PHI> has no TYPE"),
        ("i2b2-2006", phi('<PHI TYPE="DATE"/>'), "an empty <PHI>"),
        ("i2b2-2006", phi("<B>x</B>"), "is not <PHI>"),
        ("i2b2-2006", {".xml": b"<ROOT/>"}, "no <RECORD>"),
        ("i2b2-2006", {".xml": b"<ROOT><RECORD/></ROOT>"}, "has no <TEXT>"),
        ("i2b2-2006", {".xml": b"<RECORD/>"}, "the root element is not <ROOT>"),
        ("brat", ann("T1\tDOCTOR 8 13\tAdler\n"), "line 1: the text quoted is not the text at 8..13"),
        ("brat", ann("\nT1\tNobody 8 13\tOkoro\n"), "line 2: an unknown label"),
        ("brat", ann("T1\tDOCTOR 8 13\tOkoro\nX1 what\n"), "line 2: not a line of brat"),
        ("brat", {".ann": b""}, "the .txt beside the .ann is missing"),
        ("vtt", nlm(tags, "0|19|DOCTOR|NAME||"), "line 7: 0[+]19 is empty, outside"),
        ("vtt", nlm(tags, "1|2|DOCTOR|NAME||"), "inside a character"),
        ("vtt", nlm(tags, "3|5|DOCTOR|NAME||Adler"), "not the text at 2..7"),
        ("vtt", nlm(tags, "3|5|DOCTOR|||Okoro"), "whose tag is not declared"),
        ("vtt", nlm(tags, "3|DOCTOR"), "not a markup"),
        ("vtt", nlm(f"{tags}\nWhat|", "3|5|What|||Okoro"), "an unknown label"),
        ("vtt", nlm("DOCTOR|NAME", "3|5|DOCTOR|NAME||"), "first tag must be Text/Clear"),
        ("vtt", nlm("DOCTOR", ""), "not a tag"),
        ("vtt", {".vtt": f"{vtt.TEXT}\nOkoro\n{vtt.TAGS}\n{tags}\n0|5|DOCTOR|NAME||".encode()}, "tags, but no line"),
        ("conll", {".conll": b"a O\nb B-NOBODY\n"}, "line 2: an unknown label"),
        ("conll", {".conll": b"a O\nb\n"}, "line 2: a line needs a token and a tag"),
        ("conll", {".conll": b"a What\n"}, "line 1: the last column is no tag"),
        ("conll", {".conll": b"\n\n"}, "there is no token"),
        ("conll", {".conll": b"# global.columns = TOKEN START END TAG\n"}, "line 2: '# id = ' is missing"),
        ("doccano", {".jsonl": b'{"label": []}'}, 'has no "text"'),
        ("doccano", {".jsonl": b'{"text": 3}'}, "must be a string"),
        ("doccano", {".jsonl": b'{"text": "abc", "label": ["DATE"]}'}, "is not a start, an end and a label"),
        ("doccano", {".jsonl": b'{"text": "abc", "label": 3}'}, "must be a list"),
        ("doccano", {".jsonl": b'{"text": "abc", "label": [[0, 1, "NOBODY"]]}'}, "an unknown label"),
        ("doccano", {".jsonl": b'{"text": "a\\ud83d"}'}, "lone surrogate at offset 1"),
        ("doccano", {".jsonl": b'{"id": true, "text": "a"}'}, '"id" must be'),
        ("doccano", {".jsonl": b'{"meta": 3, "text": "a"}'}, '"meta" must be'),
        ("doccano", {".jsonl": b"[]"}, "not a JSON object"),
        ("doccano", {".jsonl": b"\n"}, "no object"),
        ("label-studio", task("[]"), "no task"),
        ("label-studio", task("[3]"), "task 1 must be an object"),
        ("label-studio", task('{"data": {"a": "x", "b": "y"}}'), "no data.text"),
        ("label-studio", task('{"data": {"text": "x", "id": []}}'), "id must be"),
        ("label-studio", result('{"start": 8.5, "end": 13, "labels": ["DOCTOR"]}'), "whole numbers"),
        ("label-studio", result('{"start": 8, "end": 13, "labels": ["NOBODY"]}'), "unknown label"),
        ("label-studio", result('{"start": 8, "end": 13, "labels": []}'), "labels must be names"),
        ("label-studio", result('{"start": 8, "end": 13, "labels": 3}'), "must be a list"),
        ("label-studio", result('{"start": 8, "end": 13, "text": "Adler", "labels": ["DOCTOR"]}'), "not the text at"),
        ("label-studio", result("{}", "hypertextlabels"), "another thing than plain text"),
        ("jsonl", {".jsonl": b'{"text": "a\\ud83d"}'}, '"text" has a lone surrogate at offset 1'),
        ("jsonl", {".jsonl": b'{"id": "\\ud83d", "text": "a"}'}, '"id" has a lone surrogate'),
        ("jsonl", {".jsonl": b'{"text": "a", "spans": [{"start": 0, "end": 1, "label": "NOBODY"}]}'}, "unknown label"),
        ("jsonl", {".jsonl": b'{"text": "a", "patient": {"known": [["NOBODY", "x"]]}}'}, "known: an unknown label"),
        ("jsonl", {".jsonl": b'{"text": "a", "spans": [{"start": ' + b"9" * 5000 + b"}]}"}, "not JSON that can be"),
        *(
            ("jsonl", scored(score), "the score is not a finite number")
            for score in (b"NaN", b"-Infinity", b"1" + b"0" * 400)
        ),
        ("jsonl", scored(b"true"), "score is a number"),
        ("inline", {".txt": b"a\n[[NOBODY:b]]"}, "line 2: an unknown label"),
        ("xmi", {".xmi": b"<a/>"}, "not an XMI file"),
        ("cas-json", task("{}"), "no \"%FEATURE_STRUCTURES\""),
        ("cas-json", task('{"%FEATURE_STRUCTURES": [], "%VIEWS": {}}'), "no view with a text"),
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "files", "reason"), refusals())
def test_what_is_wrong_is_said(name: str, files: dict[str, bytes], reason: str) -> None:
    with pytest.raises(FormatError, match=reason) as caught:
        formats.load(name).read(files, name="n1")
    assert "Okoro" not in str(caught.value)
    assert "NOBODY" not in str(caught.value)


def spans_read(name: str, files: dict[str, bytes]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    record = formats.load(name).read(files, name="n1")
    return [
        (doc.id, doc.text, [(doc.text[span.start : span.end], span.label.value) for span in doc.spans])
        for doc in record.documents
    ]


def test_i2b2_2014_reads_line_ends_and_the_two_ways_of_writing_location_other() -> None:
    data = (
        b"<deIdi2b2><TEXT><![CDATA[a\r\nthe\r\nPier]]></TEXT><TAGS>"
        b'<LOCATION start="2" end="10" text="the\nPier" TYPE="OTHER"/>'
        b'<LOCATION start="6" end="10" text="Pier" TYPE="LOCATION-OTHER"/></TAGS></deIdi2b2>'
    )
    spans = [("the\nPier", "LOCATION-OTHER"), ("Pier", "LOCATION-OTHER")]
    assert spans_read("i2b2-2014", {".xml": data}) == [("n1", "a\nthe\nPier", spans)]


def test_i2b2_2014_keeps_what_would_end_cdata_and_carriage_returns() -> None:
    doc = Document("n1", "a]]>b\r\n]]]]>>\rc", (Span(1, 4, Label.OTHER),))
    assert again("i2b2-2014", Record((doc,))) == Record((doc,))


def test_i2b2_2006_says_classes_and_keeps_finer_labels() -> None:
    doc = Document("n1", "Okoro nurse", (Span(0, 5, Label.DOCTOR), Span(6, 11, Label.PROFESSION)))
    (data,) = i2b2_2006.write(Record((doc,))).values()
    assert b'<PHI TYPE="DOCTOR">Okoro</PHI> <PHI TYPE="OTHER" SUBTYPE="PROFESSION">nurse</PHI>' in data


@pytest.mark.parametrize(("path", "element"), [("challenge.xml", b"<RECORD ID="), ("thesis.xml", b"<DOCUMENT ID=")])
def test_i2b2_2006_writes_the_element_it_read(path: str, element: bytes) -> None:
    record = i2b2_2006.read({".xml": (GOLDEN / "formats/i2b2_2006" / path).read_bytes()}, name="n1")
    changed = record.with_documents(doc.with_spans(()) for doc in record.documents)
    assert i2b2_2006.write(changed)[".xml"].count(element) == len(record.documents)


def test_brat_fragments_are_spans_of_their_own_and_triggers_are_none() -> None:
    files = {
        ".txt": b"left and right\neye",
        ".ann": b"T1\tDate 0 4;9 18\tleft right eye\nT2\tSaying 5 8\tand\nE1\tSaying:T2 What:T1\n"
        b"A1\tSure E1\n*\tAlias T1 T2\n",
    }
    assert spans_read("brat", files) == [("n1", "left and right\neye", [("left", "DATE"), ("right\neye", "DATE")])]
    found = brat.parse_ann(files[".ann"].decode())
    assert found.events == (("E1", "Saying", "T2", (("What", "T1"),)),)
    assert found.attributes == (("A1", "Sure", "E1", True),)
    assert brat.parse_ann("T1\tX 0 1\ta\nT2 X\n").failed_lines == (2,)


def test_vtt_reads_the_tags_of_the_papers_figures_wherever_the_tool_ran() -> None:
    folder = GOLDEN / "formats/nlm_vtt"
    assert f"    SEP     {vtt.SEPARATOR} " in (folder / "FORMAT.md").read_text()
    spans = [
        ("01/01/2012", "DATE"), ("Gregory", "PATIENT"), ("A", "PATIENT"), ("House", "PATIENT"),
        ("Simone", "PATIENT"), ("93", "AGE"), ("Z011-0001", "IDNUM"),
    ]  # fmt: skip
    for name in ("figures.vtt", "windows.vtt"):
        ((_, text, found),) = spans_read("vtt", {".vtt": (folder / name).read_bytes()})
        assert found == spans
        assert text.endswith("Z011-0001.\n")


def test_vtt_turns_line_ends_into_line_feeds_and_spans_go_along() -> None:
    doc = Document(
        "n1", "a\r\nOkoro\rx\r\n", (Span(2, 8, Label.DOCTOR), Span(8, 9, Label.DATE), Span(10, 12, Label.AGE))
    )
    (_, text, spans), *_ = spans_read("vtt", vtt.write(Record((doc,))))
    assert text == "a\nOkoro\nx\n"
    assert spans == [("\nOkoro", "DOCTOR"), ("\n", "DATE"), ("\n", "AGE")]


@given(st.lists(st.sampled_from(["a", "\r", "\n", "🙂"]), min_size=1, max_size=12).map("".join), st.data())
@settings(max_examples=50, deadline=None)
def test_line_feeds_never_narrow_a_span(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    doc = _offsets.with_line_feeds(Document("n1", text, (Span(start, end, Label.DATE),)))
    assert doc.text == re.sub("\r\n?", "\n", text)
    (span,) = doc.spans
    covered = re.sub("\r\n?", "\n", text[start:end])
    assert covered.replace("\n", "") == doc.text[span.start : span.end].replace("\n", "")
    assert len(doc.text[span.start : span.end]) >= len(covered)


def test_vtt_refuses_a_text_line_that_is_a_header_and_leaves_subtitles_alone() -> None:
    with pytest.raises(FormatError, match="line 2 of the text is a header of VTT"):
        vtt.write(Record((Document("n1", f"a\n{vtt.TAGS}\n"),)))
    assert not vtt.sniff(".vtt", b"WEBVTT\n")


@pytest.mark.parametrize(
    ("tags", "spans"),
    [
        ("O I-PER I-PER B-PER O", ["b c", "d"]),  # IOB1: B only where one ends and the next begins
        ("O B-PER I-PER B-PER O", ["b c", "d"]),  # IOB2
        ("O B-PER E-PER S-PER O", ["b c", "d"]),  # BIOES
        ("O B-PER L-PER U-PER O", ["b c", "d"]),  # BILOU
        ("S-PER S-PER I-LOC I-PER O", ["a", "b", "c", "d"]),
    ],
)
def test_conll_reads_every_way_of_tagging(tags: str, spans: list[str]) -> None:
    rows = "".join(f"{token}\tNN\t{tag}\n" for token, tag in zip("abcde", tags.split(), strict=True))
    ((_, text, found),) = spans_read("conll", {".conll": rows.encode()})
    assert text == "a b c d e"
    assert [words for words, _ in found] == spans


def test_conll_reads_other_peoples_documents() -> None:
    data = (
        b"-DOCSTART- -X- O\n\n# O\nJapan B-LOC\n\n\nwins O\n"
        b"-DOCSTART- O\n\n# newdoc id = d7\n# any comment\nAda I-PER\r\n"
    )
    assert spans_read("conll", {".conll": data}) == [
        ("n1:1", "# Japan\nwins", [("Japan", "LOCATION-OTHER")]),
        ("d7", "Ada", [("Ada", "PATIENT")]),
    ]


def test_conll_tokens_are_cut_at_spans_and_sentences_at_line_ends() -> None:
    doc = Document("n1", "x93yo \n\nDr. A", (Span(1, 3, Label.AGE), Span(11, 13, Label.DOCTOR)))
    (data,) = conll.write(Record((doc,))).values()
    assert data.decode().split("\n")[3:] == [
        "x\t0\t1\tO", "93\t1\t3\tB-AGE", "yo\t3\t5\tO", "", "Dr\t8\t10\tO", ".\t10\t11\tO", "_A\t11\t13\tB-DOCTOR", "",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "row",
    [
        '{"text": "Dr. Okoro", "label": [[4, 9, "DOCTOR"]]}',
        '{"data": "Dr. Okoro", "labels": [[4, 9, "doctor"]]}',
        '{"text": "Dr. Okoro", "entities": [{"id": 1, "label": "DOCTOR", "start_offset": 4, "end_offset": 9}]}',
    ],
)
def test_doccano_reads_old_and_new_lines(row: str) -> None:
    assert spans_read("doccano", {".jsonl": row.encode()}) == [("n1", "Dr. Okoro", [("Okoro", "DOCTOR")])]
    assert doccano.sniff(".jsonl", row.encode())


def test_doccano_keeps_id_and_meta() -> None:
    data = b'{"id": 7, "text": "a", "label": [], "meta": {"bed": 3}}\n{"text": "b", "meta": {}}\n'
    record = doccano.read({".jsonl": data}, name="n")
    assert [(doc.id, dict(doc.meta)) for doc in record.documents] == [("7", {"bed": 3}), ("n:2", {})]
    assert b'"meta": {"bed": 3}' in doccano.write(Record(record.documents))[".jsonl"]


def test_label_studio_joins_annotators_and_passes_over_what_was_cancelled() -> None:
    def result(start: int, end: int, label: str, extra: str = "") -> str:
        return f'{{"type": "labels", "value": {{"start": {start}, "end": {end}, "labels": ["{label}"]}}{extra}}}'

    first, second = result(0, 1, "DATE"), result(2, 3, "CITY")
    predicted = (
        f'"predictions": [{{"result": [{result(0, 3, "AGE", chr(44) + chr(34) + "score" + chr(34) + ": 0.25")}]}}]'
    )
    task = '{{"data": {{"note": "a b", "id": "n9"}}, {}, ' + predicted.replace("{", "{{").replace("}", "}}") + "}}"
    cases = {
        f'"annotations": [{{"result": [{first}]}}, {{"result": [{first}, {second}]}}]': [("a", "DATE"), ("b", "CITY")],
        f'"completions": [{{"result": [{first}]}}]': [("a", "DATE")],
        f'"annotations": [{{"was_cancelled": true, "result": [{first}]}}]': [("a b", "AGE")],
        '"annotations": [{"result": [{"type": "choices"}]}]': [],
        '"annotations": []': [("a b", "AGE")],
    }
    for body, spans in cases.items():
        assert spans_read("label-studio", {".json": task.format(body).encode()}) == [("n9", "a b", spans)]


def test_label_studio_writes_what_was_found_as_predictions_with_scores() -> None:
    doc = Document("n1", "a b", (Span(0, 1, Label.DATE, "crf", 0.25),))
    files = label_studio.write(Record((doc,)))
    assert b'"predictions"' in files[".json"]
    (span,) = label_studio.read(files, name="n1").documents[0].spans
    assert span.score == 0.25


@pytest.mark.parametrize("name", ["cas-json", "xmi"])
def test_cas_keeps_source_score_view_and_id(name: str) -> None:
    spans = (Span(3, 8, Label.DOCTOR, "crf", 0.25),)
    record = Record(
        (Document("a", "🥳 Okoro", (Span(2, 7, Label.DOCTOR, "crf", 0.25),)), Document("b", "é  Okoro", spans))
    )
    got = again(name, record)
    assert got == record
    assert [(span.source, span.score) for doc in got.documents for span in doc.spans] == [("crf", 0.25)] * 2


@pytest.mark.parametrize("name", ["cas-json", "xmi"])
def test_a_cas_that_we_write_is_one_for_cassis_with_the_type_system_we_ship(name: str) -> None:
    import cassis

    description = Path(xmi.__file__).parent / "deident_typesystem.xml"
    types = cassis.load_typesystem(description)
    doc = Document("n1", "🥳 Dr. 👩🏽‍⚕️ Okoro\r\n", (Span(2, 5, Label.OTHER), Span(11, 16, Label.DOCTOR)))
    (data,) = formats.load(name).write(Record((doc,))).values()
    load: Callable[..., cassis.Cas] = cassis.load_cas_from_xmi if name == "xmi" else cassis.load_cas_from_json
    cas = load(data.decode(), typesystem=types)
    assert cas.sofa_string == doc.text
    found = [(phi.get("begin"), phi.get("end"), phi.get("label")) for phi in cas.select("deident.Phi")]
    assert found == [(span.start, span.end, span.label.value) for span in doc.spans]


def test_cas_annotations_of_other_peoples_types_are_read_by_their_names() -> None:
    data = CARRIED["xmi"][".xmi"].replace(b"a:Doctor", b"a:Person").replace(b'begin="8"', b'begin="08"')
    assert spans_read("xmi", {".xmi": data}) == [("n1", "Seen by Okoro.", [("Okoro", "PATIENT")])]
    inside = data.replace(b"Seen by", "Seen b🙂".encode()).replace(b'begin="08"', b'begin="7"')
    with pytest.raises(FormatError, match=r"7\.\.13 is outside its text or inside a character"):
        xmi.read({".xmi": inside}, name="n1")


def test_shared_json_refuses_what_would_exhaust() -> None:
    for bad in ("[" * 200_000, "9" * 5_000):
        with pytest.raises(FormatError, match="not JSON that can be read"):
            _shared.parse_json(bad)


def test_xml_that_mentions_a_document_type_in_its_text_is_not_refused() -> None:
    assert _xml.parse(b"<a><![CDATA[<!DOCTYPE html>]]></a>").text == "<!DOCTYPE html>"


@pytest.mark.parametrize("start", ["R1\tX ", "E1\tX:T1 ", "A1\tX Y ", "T1\tX ", "*\tX "])
def test_no_line_of_brat_takes_long(start: str) -> None:
    """A relation whose roles could be cut anywhere took seconds at this length, and hours at a megabyte."""
    for unit in ("a:", ":", "a ", "1 1;", " a:a"):
        begin = time.process_time()
        brat.parse_ann(start + unit * (100_000 // len(unit)))
        assert time.process_time() - begin < 2
