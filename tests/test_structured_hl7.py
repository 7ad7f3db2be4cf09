"""HL7 v2: every path of the checklist (product anchors, section 4) planted and gone, the rest of the message intact."""

import io
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deident import formats
from deident.batch import Outcome, here, to_folder
from deident.document import Document, Kind, Record, Skeleton
from deident.errors import ConfigError, FormatError, UsageError
from deident.formats import hl7
from deident.formats.hl7 import Delimiters, Escape
from deident.labels import Label
from deident.pipeline import Pipeline
from deident.policy import load
from tests import leaks
from tests.plant import Plant

# The checklist: fields that hold identifiers, with the type of what is planted in them.
CHECKLIST = """
PID 2=CX 3=CX 4=CX 5=XPN 6=XPN 7=TS 9=XPN 11=XAD 12=IS 13=XTN 14=XTN 18=CX 19=ST 20=DLN 21=CX 23=ST 29=TS
PD1 3=XON 4=XCN
NK1 2=XPN 4=XAD 5=XTN 6=XTN 13=XON 16=TS 30=XPN 31=XTN 32=XAD 33=CX 37=ST
PV1 3=PL 5=CX 7=XCN 8=XCN 9=XCN 17=XCN 19=CX 44=TS 45=TS 50=CX 52=XCN
PV2 1=PL 8=TS 9=TS 12=FT 13=XCN 14=DT 23=XON
GT1 2=CX 3=XPN 4=XPN 5=XAD 6=XTN 7=XTN 8=TS 12=ST 13=DT 14=DT 16=XPN 17=XAD 18=XTN 19=CX 21=XON
IN1 2=ID 6=XPN 7=XTN 8=ST 9=XON 10=CX 11=XON 16=XPN 18=TS 19=XAD 36=ST 44=XAD 49=CX
IN2 1=CX 2=ST 3=XCN 6=ST 7=XPN 8=ST 9=XPN 10=ST 25=CX 26=CX 40=XPN 61=CX 63=XTN
ACC 1=TS 3=ST 7=XCN 9=ST 11=XAD
PDA 2=PL 4=TS 5=XCN 7=DR 8=XCN
MRG 1=CX 2=CX 3=CX 4=CX 5=CX 6=CX 7=XPN
EVN 2=TS 5=XCN 6=TS 7=HD
DG1 5=TS 16=XCN
PR1 5=TS 8=XCN 11=XCN
TXA 4=TS 5=XCN 6=TS 7=TS 8=TS 9=XCN 10=XCN 11=XCN 12=EI 16=ST 22=PPN
ROL 1=EI 4=XCN 5=TS 11=XAD 12=XTN
PRT 5=XCN 8=XON 9=PL 11=TS 14=XAD 15=XTN 20=ST
ORC 2=EI 3=EI 4=EI 9=TS 10=XCN 11=XCN 12=XCN 14=XTN 15=TS 19=XCN 21=XON 22=XAD 23=XTN 24=XAD
OBR 2=EI 3=EI 6=TS 7=TS 8=TS 10=XCN 13=FT 14=TS 16=XCN 17=XTN 22=TS 28=XCN 32=NDL 33=NDL 34=NDL 35=NDL
SPM 2=EIP 17=DR 18=TS 30=CX
RXA 3=TS 4=TS 10=XCN 15=ST 22=TS
FT1 2=ST 4=DR 5=TS 20=XCN 21=XCN 30=CX
NTE 3=FT 5=XCN 6=TS
FAM 1=ST 2=XPN
ZPD 1=ST 2=XPN
"""
CLINICAL = (  # what must survive: what no path of the checklist holds
    "ORU^R01^ORU_R01", "|P|2.8", "2106-3^White^HL70005", "|F|", "SPO^Spouse^HL70063", "58410-2^CBC panel^LN",
    "|13.2|", "g/dL^gram per deciliter^UCUM",
    "|12.0-16.0|", "|N|", "I10^Essential hypertension^I10", "08^influenza^CVX",
    "BLD^Whole blood^HL70487", "|MED|", "27447^Total knee replacement^C4", '|""|',
)  # fmt: skip


class Hl7(Plant):
    """Values of HL7's types."""

    def date(self) -> str:
        day = self.day().replace("-", "")
        self.planted[-1] = day
        return day

    def value(self, kind: str) -> str:
        word, number, date = self.word, self.number, self.date
        xad = lambda: f"{word()} Street&{word()}&{number()}^{word()}^{word()}^IL^{number()}^USA^H^{word()}^{word()}"  # noqa: E731
        xpn = lambda: f"{word()}&van&{word()}^{word()}^{word()}^Jr^Mrs^MD^L^A^^{date()}&{date()}^^{date()}"  # noqa: E731
        hd = lambda: f"{word()}&1.2.36.{number()}&ISO"  # noqa: E731
        match kind:
            case "CX":
                return f"{number()}^4^M11^{hd()}^MR^{hd()}^{date()}"
            case "EI":
                return f"{number()}^{word()}^1.2.36.{number()}^ISO"
            case "EIP":
                return f"{number()}&{word()}^{number()}&{word()}"
            case "XPN":
                return f"{xpn()}~{xpn()}"
            case "XCN" | "PPN":
                return f"{number()}^{word()}^{word()}^{word()}^III^Dr^MD^^{hd()}^L^^^NPI^{hd()}"
            case "XAD":
                return f"{xad()}~{xad()}"
            case "XTN":
                number_ = number()
                email = f"{word()}@example.org"
                return (
                    f"({number_[:3]}){number_[3:]}^PRN^PH^{email}^1^{number_[:3]}^{number_[3:]}^{number()}^^^^{number_}"
                )
            case "XON":
                return f"{word()} {word()}^L^{number()}^^^{hd()}^XX^{hd()}^A^{number()}"
            case "PL":
                return f"{word()}^{word()}^{word()}^{hd()}^^N^{word()}^{word()}^^{number()}&{word()}"
            case "NDL":
                return f"{number()}&{word()}&{word()}^{date()}^{date()}^{word()}^{word()}^{word()}^{hd()}"
            case "DLN":
                return f"{number()}^{word()}^{date()}"
            case "DR":
                return f"{date()}^{date()}"
            case "TS":
                return f"{date()}101112.123-0500"
            case "DT":
                return date()
            case "HD":
                return hd().replace("&", "^")
            case "ID":
                return f"{number()}^{word()}^L"
            case "FT":
                return f"Dr. {word()} saw Mrs. {word()}.\\.br\\She is well (MRN {number()})."
            case _:
                return f"{word()} {number()}"


def segment(name: str, fields: dict[int, str]) -> str:
    last = max(fields)
    return "|".join([name, *(fields.get(number, "") for number in range(1, last + 1))])


@cache
def corpus() -> tuple[str, tuple[str, ...]]:
    """A message with a sentinel in every path of the checklist and of OBX-5, clinical values between them."""
    plant = Hl7()
    rows = [
        f"MSH|^~\\&|{plant.word()}|{plant.word()}^1.2.36.{plant.number()}^ISO|{plant.word()}|{plant.word()}|{plant.date()}1011"
        f"|{plant.word()}|ORU^R01^ORU_R01|{plant.number()}|P|2.8"
    ]
    extra = {
        "PID": {8: "F", 10: "2106-3^White^HL70005", 16: '""'},
        "NK1": {3: "SPO^Spouse^HL70063"},
        "PV1": {2: "I", 10: "MED"},
        "OBR": {4: "58410-2^CBC panel^LN"},
        "DG1": {3: "I10^Essential hypertension^I10"},
        "RXA": {5: "08^influenza^CVX"},
        "SPM": {4: "BLD^Whole blood^HL70487"},
        "PR1": {3: "27447^Total knee replacement^C4"},
    }
    for line in CHECKLIST.strip().splitlines():
        name, *planted = line.split()
        fields = {int(item.split("=")[0]): plant.value(item.split("=")[1]) for item in planted}
        rows.append(segment(name, fields | extra.get(name, {})))
    rows += observations(plant)
    return "\r".join(rows) + "\r", tuple(plant.planted)


def observations(plant: Hl7) -> Iterator[str]:
    """OBX-5 by each OBX-2, and the identifiers beside it."""
    own = {12: "TS", 14: "TS", 15: "ID", 16: "XCN", 18: "EI", 19: "TS", 23: "XON", 24: "XAD", 25: "XCN"}
    word, number, date = plant.word, plant.number, plant.date
    page = f"<html><body><p title='{word()}'>Mrs. {word()}<!-- {word()} --></p></body></html>"
    note = f"Seen by Dr. {word()}, MRN {number()}."
    import base64

    values = {
        "TX": f"Dr. {word()} called~Mrs. {word()} on {date()}",
        "FT": f"Dr. {word()}\\.br\\Mrs. \\X5A\\eb\\H\\{word()}\\N\\ & son \\T\\ Dr. {word()}",
        "ST": f"Dr. {word()} \\F\\ MRN {number()}",
        "CWE": f"X1^Dr. {word()} was told^L^^Mrs. {word()} too^L^^^Dr. {word()}",
        "DT": date(), "TS": f"{date()}1200", "DTM": date(),
        "XPN": f"{word()}^{word()}^{word()}", "XAD": f"{word()} Street^^{word()}^IL^{number()}",
        "XTN": f"(217){number()}", "CX": f"{number()}^^^{word()}", "XCN": f"{number()}^{word()}^{word()}",
        "RP": f"//{word()}/{word()}^{word()}^application^pdf", "ZZ": word(),
        "ED": f"{word()}^text^plain^Base64^{base64.b64encode(note.encode()).decode()}",
        "ED ": f"^text^html^Base64^{base64.b64encode(page.encode()).decode()}",
        "ED  ": f"^application^pdf^Base64^{base64.b64encode(b'%PDF-1.4 ' + word().encode()).decode()}",
        "ED   ": f"^text^plain^A^Dr. {word()} called",
        "ED    ": f"^text^plain^Hex^{note.encode().hex()}",
    }  # fmt: skip
    for place, (kind, value) in enumerate(values.items(), 1):
        beside = {place: plant.value(kind) for place, kind in own.items()}
        yield segment("OBX", {1: str(place), 2: kind.strip(), 3: "11502-2^Report^LN", 5: value, 11: "F"} | beside)
    yield "OBX|90|NM|718-7^Hemoglobin^LN||13.2|g/dL^gram per deciliter^UCUM|12.0-16.0|N|||F"
    yield "OBX|91|NM|30525-0^Age^LN||97|a^year^UCUM||||F"


@pytest.fixture(scope="module")
def tagging() -> Pipeline:
    return leaks.pipeline()


def through(pipeline: Pipeline, text: str) -> str:
    record = hl7.read({".hl7": text.encode()}, name="m")
    return hl7.write(leaks.scrubbed(pipeline, record))[".hl7"].decode()


@pytest.mark.parametrize("replacement", ["tag", "mask", "surrogate", "syllables"])
def test_no_sentinel_survives_and_what_is_clinical_does(replacement: str) -> None:
    text, planted = corpus()
    assert set(leaks.leaked(text, planted)) == set(planted), "a sentinel that was never there"
    out = through(leaks.pipeline(replacement), text)
    dates = [value for value in planted if re.fullmatch(r"19\d{6}", value)]
    others = [value for value in planted if value not in dates]
    assert leaks.leaked(out, others) == []
    if replacement in ("tag", "mask"):  # a shifted date may be another one's original
        assert leaks.leaked(out, dates) == []
    assert [value for value in CLINICAL if value not in out] == []
    age = re.search(r"30525-0\^Age\^LN\|\|(\d+)\|a\^year", out)
    assert age is not None
    assert int(age[1]) <= 90
    for name in ("FAM", "ZPD"):
        assert f"\r{name}|" not in out


def test_whoever_puts_a_value_back_is_caught(tagging: Pipeline) -> None:
    text, planted = corpus()
    out = through(tagging, text)
    for value in planted[:5]:
        assert leaks.leaked(out.replace("|13.2|", f"|{value}|"), planted) == [value]


def test_hl7apy_reads_what_is_written(tagging: Pipeline) -> None:
    from hl7apy.consts import VALIDATION_LEVEL
    from hl7apy.parser import parse_message

    text, _ = corpus()
    known = "\r".join(row for row in through(tagging, text).split("\r") if row[:3] not in ("FAM", "ZPD"))
    message = parse_message(known.strip(), validation_level=VALIDATION_LEVEL.TOLERANT, find_groups=False)
    assert "MSH" in message.to_er7()
    assert message.to_er7().count("\r") == known.strip().count("\r")


def test_what_became_of_each_path_is_counted() -> None:
    text, planted = corpus()
    frame = hl7.read({".hl7": text.encode()}, name="m").frame
    assert isinstance(frame, Skeleton)
    blocked = {path for what, path in frame.paths if what == "blocked"}
    assert {"ZPD", "an unknown segment", "OBX-5", "OBX-5.5", "MSH-8"} <= blocked
    assert {("scrubbed", "PID-5.2"), ("scrubbed", "OBX-5"), ("retained", "OBX-3.1")} <= set(frame.paths)
    assert leaks.leaked(repr(dict(frame.paths)), planted) == []
    assert leaks.leaked(repr(frame.parts), planted) == [], "the skeleton outlives scrubbing and must hold nothing"


MESSAGE = (
    "MSH|^~\\&|LAB|GENERAL|||20260304||ORU^R01|7|P|2.5.1\r"
    "PID|1||00123456^^^GENERAL^MR||Okonjo^Adaeze||19710412|F|||^^Springfield^IL^62701||^PRN^PH^^1^217^5550182~"
    "2175550182\r"
    "PV1|1|I|||||1234567893^Lundqvist^Greta^^^Dr^MD\r"
    "OBX|1|TX|11502-2^Report^LN||Seen by Dr. Lundqvist\\.br\\for her hip. Mrs. Okonjo (MRN 123456)~called 217-555-0182"
    "||||||F\r"
    "OBX|2|TX|11502-2^Report^LN||Adaeze\r"
    "OBX|3|TX|11502-2^Report^LN||Okonjo is well.\r"
)


def test_every_prefix_is_an_error_or_clean(tagging: Pipeline) -> None:
    """A file that was cut off while it was copied."""
    whole, planted = corpus()
    own = ("Okonjo", "Adaeze", "Lundqvist", "00123456", "5550182", "Springfield", "19710412")
    refused = 0
    for text, sizes, sentinels in (
        (MESSAGE, range(0, len(MESSAGE), 3), own),
        (whole, range(900, len(whole), len(whole) // 7), planted),
    ):
        for size in sizes:
            try:
                record = hl7.read({".hl7": text.encode()[:size]}, name="m")
            except FormatError as error:
                refused += 1
                assert leaks.leaked(str(error), sentinels) == []
                continue
            out = hl7.write(leaks.scrubbed(tagging, record))[".hl7"].decode()
            assert leaks.leaked(out, sentinels) == [], size
    assert refused > 1


def test_one_identifier_has_one_stand_in_in_fields_and_prose(tagging: Pipeline) -> None:
    rows = through(tagging, MESSAGE).split("\r")
    code = rows[1].split("|")[3].split("^")[0]
    assert re.fullmatch("id-[0-9a-f]{16}", code)
    assert f"(MRN {code})" in rows[3]
    assert rows[4].endswith("||[PATIENT]")
    assert rows[5].endswith("||[PATIENT] is well.")
    assert rows[1].split("|")[13] == "^PRN^PH^^1^^[PHONE]~[PHONE]"


def test_surrogates_agree_between_fields_and_prose() -> None:
    rows = through(leaks.pipeline("surrogate"), MESSAGE).split("\r")
    family, given = rows[1].split("|")[5].split("^")
    number = rows[1].split("|")[3].split("^")[0]
    area, local = rows[1].split("|")[13].split("~")[0].split("^")[5:7]
    assert f"Mrs. {family} (MRN {number.lstrip('0')})" in rows[3] or f"Mrs. {family} (MRN {number})" in rows[3]
    assert f"{area}-{local[:3]}-{local[-4:]}" in rows[3]
    assert rows[4].endswith(f"||{given}")
    assert rows[5].endswith(f"||{family} is well.")
    assert rows[1].split("|")[7][:8].isdigit()


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
@pytest.mark.parametrize(("before", "after"), [("", ""), ("\ufeff", ""), ("\x0b", "\x1c\r")])
def test_line_ends_and_frames_are_kept(tagging: Pipeline, end: str, before: str, after: str) -> None:
    out = through(tagging, before + MESSAGE.replace("\r", end) + after)
    assert out.startswith(f"{before}MSH|^~\\&|")
    assert out.endswith(f" is well.{end}{after}")
    assert len(re.findall(r"\r\n|\r|\n", out)) == len(re.findall(r"\r\n|\r|\n", MESSAGE)) + len(after) // 2


def test_other_delimiters(tagging: Pipeline) -> None:
    signs = str.maketrans("|^~\\&", "#*!$%")
    assert through(tagging, MESSAGE.translate(signs)).startswith("MSH#*!$%#")
    assert leaks.leaked(through(tagging, MESSAGE.translate(signs)), ["Okonjo", "Lundqvist", "123456", "5550182"]) == []


def test_nulls_and_empty_fields_are_kept(tagging: Pipeline) -> None:
    text = 'MSH|^~\\&|||||||ADT^A01|1|P|2.5.1\rPID|1||""~7712345||""^Okonjo|""|""||||||""|||""\rNTE|1||""\r'
    out = through(tagging, text)
    assert re.sub(r"id-[0-9a-f]{16}|\[PATIENT\]", "X", out) == re.sub("7712345|Okonjo|(?<=A01.)1", "X", text)


def test_text_in_the_character_set_that_the_message_names(tagging: Pipeline) -> None:
    text = "MSH|^~\\&|||||||ADT^A01|1|P|2.5.1||||||8859/1\rPID|1||7712345||Núñez^José\rNTE|1||José è qui. Señal.\r"
    record = hl7.read({".hl7": text.encode("latin-1")}, name="m")
    out = hl7.write(leaks.scrubbed(tagging, record))[".hl7"]
    assert out.decode("latin-1").endswith("NTE|1||[PATIENT] è qui. Señal.\r")
    with pytest.raises(FormatError, match="not UTF-8 at byte offset"):
        hl7.read({".hl7": text.replace("8859/1", "").encode("latin-1")}, name="m")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("PID|1||7712345\r", "line 1: it does not begin with MSH"),
        ("MSH|^~\r", "line 1: its delimiters"),
        ("MSH|^^\\&|A\r", "line 1: its delimiters"),
        ("MSH|^~\\&|A\rPID|1||77\nOkonjo^Ada\r", "line 3: not a segment"),
        ("MSH|^~\\&|A\rpid|1\r", "line 2: not a segment"),
        ("\x0b\x1c\r", "no message between"),
        ("MSH|^~\\&|A\r\x1cOkonjo", "no message between"),
    ],
)
def test_broken_messages_are_refused_without_their_text(text: str, reason: str) -> None:
    with pytest.raises(FormatError) as caught:
        hl7.read({".hl7": text.encode()}, name="m")
    assert str(caught.value).startswith(reason)
    assert "Okonjo" not in str(caught.value)


def test_escapes_that_nobody_can_read_are_blocked(tagging: Pipeline) -> None:
    out = through(tagging, "MSH|^~\\&|||||||ORU^R01|1|P|2.5.1\rNTE|1||a\\C2842\\b\rOBX|1|ST|X^Y||C:\\temp\\x and 1\r")
    assert "NTE|1||\r" in out
    assert "||C:\\E\\temp\\E\\x and 1\r" in out


def test_a_value_of_another_kind_than_its_field_is_scrubbed(tagging: Pipeline) -> None:
    """What stays must look like a code, and be none of the record's identifiers."""
    text = (
        "MSH|^~\\&|||||||ORU^R01|1|P|2.5.1\rPID|1||7712345||Zebulonquist^Ada|||Mrs. Zebulonquist\r"
        "OBX|1|NM|X^Y||7712345|Zebulonquist|call Mrs. Zebulonquist|||F\rOBX|2|NM|X^Y||123456789|mg\r"
    )
    assert leaks.leaked(through(tagging, text), ["Zebulonquist", "7712345", "123456789"]) == []


def test_shifted_fields_do_not_leak(tagging: Pipeline) -> None:
    """A day, a telephone number and a ZIP code where a code, a flag and a state should be; a policy may keep states."""
    text = (
        "MSH|^~\\&|||||||ORU^R01|1|P|2.5.1\rPID|1||7712345||Okonjo^Ada||||||^^Springfield^62704^US\r"
        "OBR|1|||20160308150405-0500^X|||||||||^WPN^PH^^^313^3456789\r"
    )
    keeping = replace(tagging, treatment=load("safe-harbor").treatment(run_key=leaks.KEY))
    for pipeline in (tagging, keeping):
        assert leaks.leaked(through(pipeline, text), ["62704", "20160308", "3456789"]) == []


def test_files_in_base64_hidden_in_prose_are_blocked(tagging: Pipeline) -> None:
    out = through(tagging, f"MSH|^~\\&|||||||ORU^R01|1|P|2.5.1\rOBX|1|TX|X^Y||{'QUJDREVG' * 50}\rOBX|2|TX|X^Y||fine\r")
    assert "QUJD" not in out
    assert out.endswith("||fine\r")


BATCH = f"FHS|^~\\&|A|B\rBHS|^~\\&|A|B||||||Adaeze\r{MESSAGE}{MESSAGE}BTS|2|Okonjo\rFTS|1|Okonjo\r"


@pytest.mark.parametrize("size", [1, 7, 64, 1 << 16])
def test_a_batch_is_cut_into_its_messages_wherever_it_is_read(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    monkeypatch.setattr(hl7, "_CHUNK", size)
    framed = f"\ufeff\x0b{MESSAGE}\x1c\r\x0b{MESSAGE}\x1c\r"
    for text, heads, lines in (
        (BATCH, ["FHS", "BHS", "MSH", "MSH", "BTS", "FTS"], [1, 2, 3, 9, 15, 16]),
        (framed, ["\ufeff\x0bM", "\x0bMS"], [1, 8]),
        ("\r\n" + MESSAGE, ["\r\nM"], [1]),
    ):
        found = list(hl7.pieces(io.BytesIO(text.encode())))
        assert b"".join(piece for _, piece in found).decode() == text
        assert [piece.decode()[:3] for _, piece in found] == heads
        assert [line for line, _ in found] == lines


def test_a_file_of_messages_is_scrubbed_message_by_message(tmp_path: Path, tagging: Pipeline) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "feed.mllp").write_bytes(f"{BATCH}MSH|^~\\&|x\rOkonjo\r{MESSAGE}".encode())
    outcome = Outcome()
    for _ in to_folder(here(tagging.scrub), [tmp_path / "in"], tmp_path / "out", outcome):
        pass
    out = (tmp_path / "out" / "feed.mllp").read_text()
    assert leaks.leaked(out, ["Okonjo", "Adaeze", "Lundqvist", "5550182"]) == []
    assert [row[:3] for row in out.splitlines() if row[0] in "BFM"] == ["FHS", "BHS", "MSH", "MSH", "BTS", "FTS", "MSH"]
    assert [failure.reason for failure in outcome.failures] == ["line 17: not a segment (a line end inside a field?)"]
    assert outcome.done == 7
    assert outcome.paths["blocked BTS-2"] == 1
    assert outcome.counts()["paths"]["blocked"] == {"BTS-2": 1, "FTS-2": 1}
    codes = {row.split("|")[3].split("^")[0] for row in out.splitlines() if row.startswith("PID")}
    assert len(codes) == 1, "one patient has one stand-in in every message"


def test_a_site_adds_its_segments(tmp_path: Path, tagging: Pipeline) -> None:
    site = tmp_path / "site.toml"
    site.write_text(
        '[segments]\nZPD = ["keep", "XPN PATIENT", "ZTYPE", "prose"]\n[types]\nZTYPE = ["id DEVICE", "number"]\n'
    )
    form = formats.load(f"hl7:{site}")
    text = f"{MESSAGE}ZPD|7|Zebulonquist^Tola|SN-123456^2.5|Dr. Zebulonquist called|more\r"
    record = form.read({".hl7": text.encode()}, name="m")
    out = hl7.write(leaks.scrubbed(tagging, record))[".hl7"].decode().split("\r")[-2]
    assert re.fullmatch(
        r"ZPD\|7\|\[PATIENT\]\^\[PATIENT\]\|id-[0-9a-f]{16}\^2\.5\|Dr\. \[(PATIENT|DOCTOR)\] called\|", out
    )
    with pytest.raises(UsageError, match="takes no option"):
        formats.load("text:x")
    for content, reason in (
        ('[segments]\nZPD = ["kept"]', "no disposition 'kept'"),
        ('[segments]\nZPD = ["text NAMES"]', "no label 'NAMES'"),
        ('[segments]\nZebra = ["keep"]', "is no name of a segment"),
        ("[segments]\nZPD = 3", "must be a list"),
        ("[other]", "unknown key 'other'"),
        ("[", "is not TOML"),
    ):
        other = tmp_path / f"{abs(hash(content))}.toml"
        other.write_text(content)
        with pytest.raises(ConfigError, match=reason):
            formats.load(f"hl7:{other}")
    with pytest.raises(ConfigError, match="there is no file"):
        formats.load(f"hl7:{tmp_path / 'none.toml'}")


def test_only_what_was_read_is_written() -> None:
    record = hl7.read({".hl7": MESSAGE.encode()}, name="m")
    with pytest.raises(FormatError, match="only what was read as hl7"):
        hl7.write(Record((Document("a", "Okonjo"),)))
    with pytest.raises(FormatError, match="not those that were read"):
        hl7.write(Record(record.documents[:-1], record.frame))
    with pytest.raises(FormatError, match="not those that were read"):
        hl7.write(Record((Document("a", "x"), *record.documents[1:]), record.frame))


def test_fields_are_documents_with_a_span_known_by_position() -> None:
    record = hl7.read({".hl7": MESSAGE.encode()}, name="m")
    fields = {doc.text: doc for doc in record.documents if doc.place is not None and doc.place.kind is not Kind.PROSE}
    assert [span.label for span in fields["Okonjo"].spans] == [Label.PATIENT]
    assert [span.label for span in fields["00123456"].spans] == [Label.MEDICALRECORD]
    assert fields["Okonjo"].patient is not None
    assert fields["Okonjo"].patient.id == "00123456"
    assert {(Label.PATIENT, "Okonjo, Adaeze"), (Label.DOCTOR, "Lundqvist, Greta"), (Label.DATE, "1971-04-12")} <= set(
        fields["Okonjo"].patient.known
    )


SIGNS = st.text(st.one_of(st.characters(exclude_categories=["Cs", "Cc"]), st.sampled_from("|^~\\&\n\tHNFSTRE.br")))


@given(SIGNS)
def test_a_text_is_escaped_and_read_again(text: str) -> None:
    at = Delimiters()
    written = Escape(at)(text)
    assert at.decode(written) == text
    assert not set(written) & set("|^~&\n\r")


def test_escapes_are_decoded() -> None:
    at = Delimiters()
    assert at.decode("a\\F\\b\\S\\c\\T\\d\\R\\e\\E\\f") == "a|b^c&d~e\\f"
    assert at.decode("\\H\\Jo\\N\\hn\\X4A6F\\\\.br\\x\\.sp2\\y\\.sk3\\z\\.ti4\\") == "JohnJo\nx\n\ny   z"
    assert at.decode("caf\\XC3A9\\ \\XE9\\") == "café é"
    assert at.decode("\\M1B242A\\") is None


def test_every_field_that_hl7apy_knows_has_a_disposition() -> None:
    """The table was made from the standard; a missing field would be blocked though nobody chose so."""
    from hl7apy import load_library

    table = hl7.table()
    missing: list[str] = []
    for version in ("2.3.1", "2.5.1", "2.8.2"):
        segments = load_library(version).get("PID", "Segment")
        assert segments is not None
        for name in table.segments:
            try:
                reference = load_library(version).get(name, "Segment")
            except Exception:  # noqa: BLE001 (hl7apy's own, of a segment that this version lacks)
                continue
            fields = [int(row[0].split("_")[1]) for row in reference[1]]
            missing += [f"{name}-{number}" for number in fields if number > len(table.segments[name])]
    assert missing == []


def test_a_run_that_goes_on_needs_codes_that_last(tmp_path: Path) -> None:
    (tmp_path / "m.hl7").write_text(MESSAGE)
    outcome = Outcome()
    with pytest.raises(UsageError, match="--resume needs a key file there"):
        list(
            to_folder(here(lambda doc: doc), [tmp_path / "m.hl7"], tmp_path / "out", outcome, resume={"codes": "drawn"})
        )
