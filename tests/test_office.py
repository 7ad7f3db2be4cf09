"""Word documents, RTF and PDF: what they say is read, wherever it stands, and what they are not is refused."""

import sys
import zipfile
from io import BytesIO
from pathlib import Path

import pytest

from deident import batch, formats
from deident.batch import Outcome
from deident.document import Document
from deident.errors import FormatError, MissingPackageError, UsageError
from tests.officefiles import OFFICE, docx, paragraph, part, pdf, rtf, run

W = "w:"


def text_of(name: str, data: bytes) -> str:
    record = formats.load(name).read({f".{name}": data}, name="n")
    (doc,) = record.documents
    assert (doc.id, doc.spans) == ("n", ())
    return doc.text


@pytest.mark.parametrize("name", sorted(OFFICE))
def test_what_can_be_read_and_not_written(name: str, tmp_path: Path) -> None:
    (tmp_path / f"a.{name}").write_bytes(OFFICE[name]("Seen 3/4/21 by Dr. José Okoro (pager 303-555-0182)."))
    (tmp_path / "b.txt").write_text("On 3/4/21.")
    assert formats.guess(formats.Source(tmp_path / f"a.{name}", "a")) == name
    outcome = Outcome()
    with pytest.raises(UsageError, match=f"^{name} can only be read: name another format for the output"):
        list(batch.to_folder(batch.here(lambda doc: doc), [tmp_path], tmp_path / "out", outcome))
    with pytest.raises(UsageError, match=f"^{name} can only be read"):
        batch.write_as([], name, tmp_path / "out", outcome)
    forms = batch.Forms(write_as="text")
    list(batch.to_folder(batch.here(lambda doc: doc), [tmp_path], tmp_path / "out", outcome, forms=forms))
    assert outcome.failures == []
    written = (tmp_path / "out" / "a.txt").read_text(encoding="utf-8")
    assert written == "Seen 3/4/21 by Dr. José Okoro (pager 303-555-0182).\n"


@pytest.mark.parametrize("name", sorted(OFFICE))
def test_what_is_cut_off_is_refused(name: str) -> None:
    data = OFFICE[name]("Seen by Dr. Okoro.\nTwice.")
    for size in range(0, len(data) - 2, 13):
        try:
            text = text_of(name, data[:size])
        except FormatError as error:
            assert "Okoro" not in str(error)
        else:  # a PDF can be put together again from its objects
            assert name == "pdf"
            assert "Okoro" in text or "\f" not in text


# ---- Word ----------------------------------------------------------------------------------------------------------

BOX = (
    "<w:r><mc:AlternateContent><mc:Choice Requires='wps'><w:drawing><wps:wsp><wps:txbx><w:txbxContent>{0}"
    "</w:txbxContent></wps:txbx></wps:wsp></w:drawing></mc:Choice><mc:Fallback><w:pict><v:shape><v:textbox>"
    "<w:txbxContent>{0}</w:txbxContent></v:textbox></v:shape></w:pict></mc:Fallback></mc:AlternateContent></w:r>"
)


@pytest.mark.parametrize("strict", [False, True])
def test_a_word_document_says_everything_once(strict: bool) -> None:
    body = (
        paragraph("<w:pPr><w:tabs><w:tab w:val='left'/></w:tabs></w:pPr>", run("Ada"),
            BOX.format(paragraph(run("In a box"))), run(" Lund"))
        + paragraph(
            run("Seen "),
            "<w:ins w:author='X'>" + run("on 3/4/21") + "</w:ins>",
            "<w:del w:author='X'><w:r><w:delText>by Dr. Okoro</w:delText></w:r></w:del>",
            "<w:moveFrom>" + run("moved") + "</w:moveFrom><w:moveTo>" + run(", moved") + "</w:moveTo>",
            "<w:r><w:rPr><w:vanish/></w:rPr><w:t>, hidden</w:t><w:tab/><w:br/><w:noBreakHyphen/><w:softHyphen/></w:r>",
            "<w:r><w:instrText>HYPERLINK \"mailto:x@y.org\"</w:instrText></w:r>",
            "<w:hyperlink>" + run("mail") + "</w:hyperlink>",
            "<w:r><w:sym w:font='Symbol' w:char='F0B0'/></w:r>",
        )
        + "<w:tbl><w:tr><w:tc>" + paragraph(run("MRN")) + "</w:tc><w:sdt><w:sdtContent><w:tc>"
        + paragraph(run("7731")) + paragraph(run("2")) + "</w:tc></w:sdtContent></w:sdt></w:tr>"
        + "<w:tr><w:tc>" + paragraph() + "</w:tc></w:tr></w:tbl><w:sdt><w:sdtPr><w:text/></w:sdtPr><w:sdtContent>"
        + paragraph(run("In a control")) + "</w:sdtContent></w:sdt>"
    )  # fmt: skip
    parts = {
        "header1.xml": ("header", part("hdr", paragraph(run("General Hospital")))),
        "header2.xml": ("header", part("hdr", paragraph(run("General Hospital")))),
        "footer1.xml": ("footer", part("ftr", paragraph(run("Page of Lund")))),
        "footnotes.xml": ("footnotes", part("footnotes",
            f"<w:footnote w:type='separator'>{paragraph(run('----'))}</w:footnote>"
            f"<w:footnote w:id='1'>{paragraph(run('A note'))}</w:footnote>")),
        "endnotes.xml": ("endnotes", part("endnotes", f"<w:endnote>{paragraph(run('An end'))}</w:endnote>")),
        "comments.xml": ("comments", part("comments",
            f"<w:comment w:author='Dr. Who'>{paragraph(run('Call her son'))}</w:comment>"
            f"<w:comment><w:p><w:del><w:r><w:delText>Tom</w:delText></w:r></w:del></w:p></w:comment>")),
        "settings.xml": ("settings", part("settings", run("nothing"))),
    }  # fmt: skip
    assert text_of("docx", docx(body, parts, strict=strict)) == (
        "Ada Lund\nIn a box\nSeen on 3/4/21, moved, hidden\t\n\u2011mail\uf0b0\nMRN\t7731\n2\n\nIn a control\n\n"
        "HEADER\nGeneral Hospital\n\nFOOTER\nPage of Lund\n\nFOOTNOTES\nA note\n\nENDNOTES\nAn end\n\n"
        "COMMENTS\nCall her son\n\nDELETED\nby Dr. Okoro\nTom\n"
    ).replace("\uf0b0", "\N{REPLACEMENT CHARACTER}")


def test_what_is_no_word_document_is_refused() -> None:
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w") as package:
        package.writestr("a.txt", "Okoro")
    bomb = docx(f"<!-- {' ' * 300_000_000} -->")
    assert len(bomb) < 400_000
    for data, reason in (
        (b"PK but nothing more", "not a Word document, or a damaged or encrypted one"),
        (stream.getvalue(), "not a Word document: it has no main part"),
        (docx("<w:altChunk/>"), "it takes in another file"),
        (docx("<w:p><w:r><w:sym w:char='Okoro'/></w:r></w:p>"), "a sign without its number"),
        (docx("<w:p>"), "not well-formed XML"),
        (bomb, "a part of the document is over 268435456 bytes"),
        (docx("<w:p>" * 400 + "</w:p>" * 400), "not well-formed XML"),
        (docx("<w:p/>")[6:], "not a Word document, or a damaged or encrypted one"),
    ):
        with pytest.raises(FormatError, match=reason) as caught:
            text_of("docx", data)
        assert "Okoro" not in str(caught.value)


# ---- RTF -----------------------------------------------------------------------------------------------------------


def rich(body: str) -> str:
    return text_of("rtf", b"{\\rtf1\\ansi\\ansicpg1252\\deff0" + body.encode("latin-1") + b"}")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (r"{\fonttbl{\f0 Arial;}{\f1\fcharset204 Cyr;}}\f0 caf\'e9 \f1\'c0\'e4\'e0\f0 \'e9", "café Адаé\n"),
        (r"{\fonttbl{\f1\fcharset128 Gothic;}}\f1 \'93\'fa\'96{", None),
        (r"{\fonttbl{\f1\fcharset128 Gothic;}}\f1\'93\'fa\'96\{\plain x", "日本x\n"),
        (r"{\fonttbl{\f3\fcharset2 Symbol;}}{\f3\'b7\'41 b}x", "•\ufffd \ufffdx\n"),
        (r"\u26085?\u-26623 x\uc2\u233\'c3\'a9\uc0\u233 z", "日頁\u00e9éz\n"),
        (r"\u-10178?\u-8944?!", "\U0001f910!\n"),
        (r"{\uc2\u233 ab}\u233 cd", "éé d\n".replace(" ", "")),
        ("a\r\n b\\\nc\\par\n\\~\\_\\-\\{\\}\\\\\\tab x\\line y", "a b\nc\n\u00a0\u2011{}\\\tx\ny\n"),
        (r"\emdash\endash\lquote\rquote\ldblquote\rdblquote\bullet", "—–‘’“”•\n"),
        (r"a{\info{\title Okoro}{\author Lund}}{\*\unknown Okoro}{\pict 00ff}{\stylesheet{Okoro;}}b", "ab\n"),
        (r"a{\field{\*\fldinst HYPERLINK x}{\fldrslt link}}b{\object{\*\objdata 00}{\result seen}}", "alinkbseen\n"),
        (r"\bin3 {{{x\v hidden\v0", "xhidden\n"),
        (r"\trowd MRN\cell 7731\cell\row Name\cell{\*\nesttableprops\nestrow}{\nonesttables\par}\row",
         "MRN\t7731\t\nName\t\n"),
        (r"a{\deleted by Dr. Okoro}{\mvf moved}{\mvt moved}\deleted x\deleted0 b\plain",
         "amovedb\n\nDELETED\nby Dr. Okorox\n"),
        (r"{\header General}{\footerf Page}Text{\footnote{\ftnsep x} A note}{\*\annotation{\*\atnid OK}call her son}."
         r"{\footnote two}",
         "Text.\n\nHEADER\nGeneral\n\nFOOTER\nPage\n\nFOOTNOTES\n A note\ntwo\n\nCOMMENTS\ncall her son\n"),
        (r"Ada {\shp{\*\shpinst{\sp{\sn a}{\sv Okoro}}{\shptxt In a box\par}}{\shprslt In a box}}Lund\par next",
         "Ada Lund\nIn a box\nnext\n"),
        (r"{\listtext 1.\tab}one", "1.\tone\n"),
    ],
)  # fmt: skip
def test_rich_text_says_everything_once(body: str, said: str | None) -> None:
    if said is None:
        with pytest.raises(FormatError):
            rich(body)
    else:
        assert rich(body) == said


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"{\\rtf1 Okoro", "it is cut off, or damaged"),
        (b"{\\rtf1 Okoro\\", "it is cut off, or damaged"),
        (b"{\\rtf1 \\'zzOkoro}", "it is cut off, or damaged"),
        (b"{\\rtf1 a} Okoro", "something stands behind the end of the document"),
        (b"{\\rtf1" + b"{" * 2000 + b"Okoro" + b"}" * 2001, "groups more than 1000 deep"),
        (b"{\\rtf1\\ansicpg4711 Okoro}", "a code page that nobody knows: 4711"),
        (b"{\\rtf1\\ansi\\u-10178?Okoro\\u65 }", "half of a surrogate pair"),
        (b"{\\rtf1\\ansi\\u-8944?Okoro}", "half of a surrogate pair"),
        (b"{\\rtf1\\ansicpg932 \\'81 Okoro}", "bytes that the code page cp932 has not"),
        (b"Okoro", "not Rich Text Format"),
    ],
)
def test_what_is_no_rich_text_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(FormatError, match=f"^{reason}") as caught:
        text_of("rtf", data)
    assert "Okoro" not in str(caught.value)


def test_rich_text_of_any_signs_and_of_any_size() -> None:
    for text in ("Ada Lund, 3/4/21", "日本 🙂 é", "a\tb"):
        assert text_of("rtf", rtf(text)) == f"{text}\n"
    assert len(rich(r"Okoro was here.\par " * 100_000)) == 1_600_000 - 0


# ---- PDF -----------------------------------------------------------------------------------------------------------


def test_a_pdf_says_what_is_on_its_pages_in_its_forms_and_on_its_notes() -> None:
    extra = {
        90: b"<</FT/Tx/T(mrn)/V(7731)>>",
        91: b"<</Type/Annot/Subtype/Text/Rect[0 0 1 1]/Contents(Call her son)>>",
    }
    text = text_of("pdf", pdf("Ada Lund", "page two", extra=extra))
    assert text == "Ada Lund\fpage two\n\nFORM\nmrn: 7731\n\nANNOTATIONS\nCall her son\nCall her son\n"


def test_a_pdf_that_may_be_a_scan_is_refused() -> None:
    with pytest.raises(FormatError, match=r"^page 2 is a picture without text, a scan perhaps"):
        text_of("pdf", pdf("Ada Lund", "/picture"))
    assert text_of("pdf", pdf("Ada Lund", "")) == "Ada Lund\f\n"


def test_a_damaged_pdf_says_nothing_of_what_is_in_it(caplog: pytest.LogCaptureFixture) -> None:
    data = pdf("Okoro")
    for worse in (
        data.replace(b"/Pages 2 0 R", b"/Pages 2 0 X"),
        b"%PDF-1.7 Okoro",
        data.replace(b"/Page/", b"/Pagf/"),
    ):
        try:
            text_of("pdf", worse)
        except FormatError as error:
            assert "Okoro" not in str(error)
    assert caplog.records == []


@pytest.mark.parametrize("kind", [OverflowError, AssertionError, IndexError, RecursionError])
def test_whatever_a_damaged_pdf_trips_over_is_told_without_text(
    kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    def trips(*_: object, **__: object) -> None:
        raise kind("Okoro")

    monkeypatch.setattr("pypdf.PageObject.extract_text", trips)
    with pytest.raises(FormatError, match=kind.__name__) as refused:
        text_of("pdf", pdf("Okoro"))
    assert "Okoro" not in str(refused.value)


def test_a_pdf_needs_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(MissingPackageError, match=r"deident\[office\]"):
        text_of("pdf", pdf("x"))


def test_detecting_in_a_word_document_tells_its_text(tmp_path: Path) -> None:
    """Offsets are those of the text that is read, which jsonl carries along."""
    (tmp_path / "a.docx").write_bytes(OFFICE["docx"]("Seen 3/4/21."))
    (doc,) = batch.documents([tmp_path])
    assert doc == Document("a", "Seen 3/4/21.\n")
