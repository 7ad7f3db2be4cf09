"""The plain text: what hides letters is undone, and every character knows its source."""

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import deident
from deident.document import Document, Patient, Span
from deident.labels import Label
from deident.pipeline import Pipeline
from deident.plain import plain
from deident.verify import Verifier

HIDDEN = {
    "zero-width": ("J\u200bo\u200dh\u2060n Smi\ufeffth", "John Smith"),
    "soft hyphen": ("John Sm\u00adith", "John Smith"),
    "control": ("Jo\x08hn Smith\x00", "John Smith"),
    "Cyrillic": ("Јоһn Ѕmіth", "John Smith"),
    "Greek": ("Jοhn Smιth", "John Smith"),
    "small capitals": ("Jᴏʜɴ Smɪᴛʜ", "John Smith"),
    "full-width": ("Ｊｏｈｎ　Ｓｍｉｔｈ　０１２", "John Smith 012"),
    "mathematical": ("𝐉𝐨𝐡𝐧 𝕊𝕞𝕚𝕥𝕙", "John Smith"),
    "enclosed": ("Ⓙⓞⓗⓝ 🅹🅾🅷🅽 🇯🇴", "John JOHN JO"),
    "raised": ("ᴶᵒʰⁿ ³⁰³⁻⁵⁵⁵⁻⁰¹⁸²", "John 303-555-0182"),
    "accents": ("Jose\u0301 J\u0336o\u0336h\u0336n\u0336", "José John"),
    "blanks": ("John\u00a0Smith\u2028Ada", "John Smith\nAda"),
    "apart": ("J o h n   S m i t h", "John Smith"),
    "apart, one blank": ("J o h n S m i t h", "John Smith"),
    "apart, capitals": ("J O H N S M I T H", "JOHN SMITH"),
    "apart, stops": ("J.o.h.n S.m.i.t.h", "John Smith"),
    "apart, number": ("3 0 3 - 5 5 5 - 0 1 8 2", "303-555-0182"),
    "apart, day": ("on 1 2 / 1", "on 12/1"),
    "from the end": ("htimS nhoJ", "John Smith"),
    "overridden": ("x \u202ehtimS nhoJ\u202c y", "x John Smith y"),
    "tags": ('<b>Jo</b>hn <span style="x">Smi</span>th', "John Smith"),
    "Markdown": ("Jo**hn** Smi`th`", "John Smith"),
    "RTF": ("{\\b Jo}hn Smi\\'74h", "John Smith"),
    "entities": ("&#74;ohn&nbsp;Sm&#x69;th &amp;#74;o", "John Smith Jo"),
    "escapes": ("\\u004Aohn \\x53mith", "John Smith"),
    "percent": ("J%6Fhn%20Smith", "John Smith"),
    "quoted-printable": ("J=6Fhn =53=6D=69=74=68", "John Smith"),
    "soft line break": ("John Smi=\nth", "John Smith"),
    "base64": ("Sm9obiBTbWl0aA== U21pdGg", "John Smith Smith"),
    "hyphen": ("John Hender-\n  son 303-555-\n0182", "John Henderson 303-555-0182"),
    "letters as digits": ("J0hn 5m1th M@ry", "John Smith Mary"),
    "digits as letters": ("3O3-555-O182", "303-555-0182"),
    "one under the other": ("&lt;b&gt;Ｊo&lt;/b&gt;h\u200bn", "John"),
}
PLAIN = (
    "",
    "HbA1c 7.1, SpO2 98, FiO2 0.4, B12 low, T2DM, L4-S1, H1N1, CA125, mRNA, pH 7.4, 10mg, CK-MB, eGFR, mmHg",
    "T4N0M0, CN3, day3, 73yo, 10th, JL4, I/O 1800/2100, O2 93% RA, p.o. b.i.d. p.r.n.",
    "M.D., F.A.C.S., Ph.D.; U.S.A.; follow-\nup; A B C D; strength 5 5 5 5 4 5; pain 0 1 2 3 4 5 6 7 8 9 10",
    "WBC=12 Na=135 BP=120/80 and 50% 20% 5%; x < 3 and y > 4; H&P; R&D; C:\\data",
    "TNFα, NFκB, β-blocker, μg, m², 10⁻⁶, ½, 37 °C, c\u0304 food, ✔\ufe0f 👨\u200d👩\u200d👧 “so” – José Müller",
    "Name: ______  x_y  **Bold** heading\n- * item\n```",
    "Seen by McDonald, O'Brien, DeAngelo and LaShawn; lot AB123456, QWERTY12345678, MRN 00471902",
)


@pytest.mark.parametrize("name", HIDDEN)
def test_what_hides_letters_is_undone(name: str) -> None:
    hidden, shown = HIDDEN[name]
    read = plain(hidden)
    assert read is not None
    assert read.text == shown


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_plain_stays(text: str) -> None:
    assert plain(text) is None


def test_a_span_knows_its_source() -> None:
    text = "by <b>Jo</b>hn at Sm9obiBTbWl0aA== \u202enhoJ\u202c J\u200bo\u200bn."
    read = plain(text)
    assert read is not None
    first = read.text.index("John")
    span = read.in_source(Span(first, first + 4, Label.DOCTOR))
    assert text[span.start : span.end] == "Jo</b>hn"
    coded = read.text.index("Smith")
    span = read.in_source(Span(coded, coded + 5, Label.DOCTOR))
    assert text[span.start : span.end] == base64.b64encode(b"John Smith").decode(), "what is decoded goes as a whole"
    turned = read.text.rindex("John")
    span = read.in_source(Span(turned, turned + 2, Label.DOCTOR))
    assert text[span.start : span.end].rstrip("\u202c") == "oJ"
    back = read.in_plain(Span(text.index("hn"), text.index("hn") + 1, Label.DOCTOR))
    assert back is not None
    assert read.text[back.start : back.end] == "h"
    assert read.in_plain(Span(text.index("<b>"), text.index("<b>") + 3, Label.DOCTOR)) is None


ODD = "\u200b\u202e\u202cЈоＪ\u0301\u00a0é²ﬁß\x00\ud800"
PIECES = ("&#74;", "<b>", "</b>", "=\n", "Sm9obg==")
SIGNS = st.sampled_from([*"JohnSmith 0153OIl.,-_*<>b/&#;=%\\'{}\n\r\t@$!|", *ODD, *PIECES])


@given(st.lists(SIGNS, max_size=60).map("".join) | st.text(max_size=60))
def test_every_character_stands_for_a_piece_of_the_source(text: str) -> None:
    read = plain(text)
    if read is None:
        return
    assert len(read.text) == len(read.starts) == len(read.ends)
    assert all(0 <= start < end <= len(text) for start, end in zip(read.starts, read.ends, strict=True))
    for place in range(len(read.text)):
        span = Span(place, place + 1, Label.OTHER)
        back = read.in_plain(read.in_source(span))
        assert back is not None
        assert back.covers(span)


@pytest.fixture(scope="module")
def deidentifier() -> deident.Deidentifier:
    return deident.load()


@pytest.mark.parametrize("name", [name for name in HIDDEN if name not in ("enclosed", "accents", "apart, day")])
def test_hidden_names_do_not_stay(name: str, deidentifier: deident.Deidentifier) -> None:
    hidden = HIDDEN[name][0]
    clean = deidentifier.scrub(f"Patient: {hidden}\n\nSeen by Dr. {hidden} in clinic.\nPhone: {hidden}\n")
    read = plain(clean)
    shown = (clean if read is None else read.text).lower()
    assert not any(part in shown for part in ("john", "smith", "mary", "henderson", "0182")), name


def test_what_the_text_itself_tells_counts_besides() -> None:
    """A reading that is wrong takes nothing away: "Sm9obiBT" is a chart number here, whatever it decodes to."""
    text = "MRN: Sm9obiBT\n"
    (span,) = deident.load(detectors=["patterns"]).detect(text)
    assert text[span.start : span.end] == "Sm9obiBT"


def test_known_names_are_found_hidden(tmp_path: Path) -> None:
    text = "seen with O k o n k w o, later Оkоnkwо"
    doc = Document("n", text, patient=Patient("p", ((Label.PATIENT, "Ada Okonkwo"),)))
    found = [text[span.start : span.end] for span in Pipeline.from_config(deident.Config()).detect(doc).spans]
    assert found == ["O k o n k w o", "Оkоnkwо"]
    roster = tmp_path / "roster.csv"
    roster.write_text("patient_id,name\np,Ada Okonkwo\n", encoding="utf-8")
    hits = [text[hit.start : hit.end] for hit in Verifier(roster).hits(doc)]
    assert hits == found


def test_a_reason_is_given_for_what_is_hidden() -> None:
    pipeline = deident.load(detectors=["patterns"]).pipeline
    doc = Document("n", "call 3O3-555-O182")
    assert any(doc.text[span.start : span.end] == "3O3-555-O182" and why for span, why in pipeline.explain(doc))
