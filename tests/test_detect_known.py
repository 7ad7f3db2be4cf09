"""Known identifiers: cases by kind, the roster file, the three modes, and laws."""

import csv
import random
import re
import time
from collections.abc import Callable
from dataclasses import replace
from io import StringIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from deident import cli, detect, lexicons
from deident.config import Detect
from deident.detect import _identifiers as ids
from deident.detect import _known_names, _known_numbers
from deident.detect._expressions import proven
from deident.detect._roster import COLUMNS, NOTHING, providers, roster
from deident.detect.known import Known, Roster
from deident.document import Document, Patient, Span
from deident.errors import UnknownNameError, UsageError
from deident.labels import Label
from tests.casefiles import cases

GROUPS: list[dict[str, Any]] = cases("known")


def _entries(rows: list[list[str]]) -> tuple[tuple[Label, str], ...]:
    return tuple((Label(label), text) for label, text in rows)


def _find(text: str, *entries: tuple[Label, str], detector: Known | None = None) -> list[Span]:
    return list((detector or Known()).detect(Document("n", text, patient=Patient("p", entries))))


def _unmarked(marked: str) -> tuple[str, set[tuple[int, int]]]:
    """The text without its marks, and what they enclose."""
    text, places, begin = "", set[tuple[int, int]](), 0
    for part in re.split(r"([<>])", marked):
        if part == "<":
            begin = len(text)
        elif part == ">":
            places.add((begin, len(text)))
        else:
            text += part
    return text, places


@pytest.mark.parametrize(
    ("group", "marked"),
    [pytest.param(group, text, id=f"{group['id']}:{text}") for group in GROUPS for text in group["texts"]],
)
def test_case(group: dict[str, Any], marked: str) -> None:
    text, wanted = _unmarked(marked)
    detector = Known(roster=Roster(site=_entries(group.get("roster", []))))
    found = _find(text, *_entries(group.get("known", [])), detector=detector)
    assert {(span.start, span.end) for span in found} == wanted
    for span in found:
        assert span.source.startswith("known:") and 0.7 < span.score <= 0.99
        assert detector.why(span) and not any(word in detector.why(span) for word in ("Smith", "1420"))


def test_there_are_enough_cases() -> None:
    assert sum(len(group["texts"]) for group in GROUPS) >= 120


@pytest.mark.parametrize(
    ("text", "how", "score"),
    [
        ("Smith, John A", "exact", 0.99),
        ("John Smith", "reordered", 0.98),
        ("Smith", "part", 0.95),
        ("Jack", "nickname", 0.93),
        ("J. Smith", "initials", 0.9),
        ("SMITHJOHN", "glued", 0.92),
        ("Smyth", "typo", 0.8),
    ],
)
def test_how_and_score(text: str, how: str, score: float) -> None:
    (span,) = _find(text, (Label.PATIENT, "Smith, John A"))
    assert (span.source, span.score, span.label) == (f"known:{how}", score, Label.PATIENT)


def test_it_is_plugged_in() -> None:
    found = detect.load("known")
    doc = Document("n", "Okoro came", patient=Patient("p", ((Label.PATIENT, "Ada Okoro"),)))
    assert found.name == "known"
    assert [(span.start, span.end) for span in found.detect(doc)] == [(0, 5)]
    assert list(found.detect(Document("n", "Okoro came"))) == []


# --- modes and roster ------------------------------------------------------------------------------------------------

TEXT = "Ada Okoro was seen by Dr. Marchetti."
KNOWN = ((Label.PATIENT, "Okoro, Ada"), (Label.DOCTOR, "Quillfeather, Ann"))


@pytest.mark.parametrize(
    ("mode", "wanted"), [("none", []), ("patient", ["Ada Okoro"]), ("all", ["Ada Okoro", "Marchetti"])]
)
def test_modes(mode: str, wanted: list[str]) -> None:
    detector = Known(roster=Roster(site=((Label.DOCTOR, "Luisa Marchetti"),)), mode=mode)
    assert [TEXT[span.start : span.end] for span in _find(TEXT, *KNOWN, detector=detector)] == wanted


def test_mode_patient_leaves_providers() -> None:
    text = "Quillfeather signed"
    assert _find(text, *KNOWN, detector=Known(mode="patient")) == []
    assert len(_find(text, *KNOWN, detector=Known())) == 1


def test_unknown_mode() -> None:
    with pytest.raises(UnknownNameError, match="all, none, patient"):
        Known(mode="some")


ROSTER = (
    b"\xef\xbb\xbfpatient_id,Last Name,first-name,MIDDLE_NAME,MRN,DOB,Sex,DOCTOR,DOCTOR\r\n"
    b"p1,Okoro,Ada,Ngozi,0012345,1950-03-04,F,,\r\n"
    b"\r\n"
    b"p2,Tamm,Eino,,n/a,,M,,\r\n"
    b',,,,,,,"Marchetti, Luisa, MD|Quillfeather, Ann",Osei\r\n'
)


def _texts(text: str, spans: list[Span]) -> list[str]:
    return [text[span.start : span.end] for span in sorted(spans)]


def test_roster_file(tmp_path: Path) -> None:
    path = tmp_path / "roster.csv"
    path.write_bytes(ROSTER)
    found = roster(path)
    assert found.patients["p1"] == (
        (Label.IDNUM, "p1"),
        (Label.MEDICALRECORD, "0012345"),
        (Label.DATE, "1950-03-04"),
        (Label.PATIENT, "Okoro, Ada Ngozi"),
    )
    assert [text for _, text in found.site] == ["Marchetti, Luisa, MD", "Quillfeather, Ann", "Osei"]
    assert "Okoro" not in repr(found)
    text = "Okoro, Tamm, Quillfeather; born 3/4/1950"
    for patient, wanted in (("p1", ["Okoro", "Quillfeather", "3/4/1950"]), ("P2", ["Tamm", "Quillfeather"])):
        spans = list(Known(roster=found).detect(Document("n", text, patient=Patient(patient))))
        assert _texts(text, spans) == wanted
    whole = roster(path, everyone=True)
    assert not whole.patients and len(whole.site) == 9


def test_a_row_is_for_a_note_by_its_id_or_the_name_of_its_file(tmp_path: Path) -> None:
    path = tmp_path / "roster.csv"
    path.write_text("note;name;address\nward/n7.txt;Ada Okoro;1420 Laurel St\n0012;Eino Tamm;\n", encoding="utf-8")
    found = roster(path)
    text = "Okoro and Tamm, 1420 Laurel Street"
    for ident, wanted in (("ward/n7", ["Okoro", "1420 Laurel Street"]), ("a/0012", ["Tamm"]), ("12", ["Tamm"])):
        assert _texts(text, list(Known(roster=found).detect(Document(ident, text)))) == wanted


def test_a_note_without_its_row_is_said(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "roster.csv"
    path.write_bytes(ROSTER)
    text = "Okoro, Tamm, Quillfeather"
    assert _texts(text, list(Known(roster=roster(path)).detect(Document("n9", text)))) == ["Quillfeather"]
    assert [record.getMessage() for record in caplog.records] == [
        "n9: no row of the roster is for this note or its patient"
    ]


def test_settings_of_the_detector(tmp_path: Path) -> None:
    (tmp_path / "patients.csv").write_bytes(ROSTER)
    (tmp_path / "staff.csv").write_text("name\tNPI\nBrightwater, Noor\t1234567893\n", encoding="utf-8")
    settings = Detect(roster=str(tmp_path / "patients.csv"), providers=str(tmp_path / "staff.csv"))
    text = "Ada Okoro saw Noor Brightwater, NPI 1234567893, and Dr. Osei"
    doc = Document("n", text, patient=Patient("p2"))
    found = list(detect.load("known", settings).detect(doc))
    assert [(text[s.start : s.end], s.label) for s in found] == [
        ("Noor Brightwater", Label.DOCTOR),
        ("1234567893", Label.IDNUM),
        ("Osei", Label.DOCTOR),
    ]
    whole = replace(settings, whole_roster=True)
    assert "Ada Okoro" in _texts(text, list(detect.load("known", whole).detect(doc)))
    with pytest.raises(UnknownNameError, match="mode of known names"):
        detect.load("known", replace(settings, names="some"))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "roster.csv: it is empty"),
        ("\n , \n", "roster.csv: it is empty"),
        ("patient_id,note\np1,n1\n", "roster.csv, line 1: no column holds anything to look for"),
        ("\nDOCTOR,Zebediah\nx,y\n", "line 2, column 2: no known heading"),
        ("Patient,DOB\nZebediah,1950-03-04\n", "line 1, column 1: 'patient' is unclear, call it patient_id or"),
        ("DOCTOR\nZebediah,Quill\n", "line 2: 2 cells, but 1 columns are named"),
        ('name\n"a\nb"\n"Zebediah"x\n', "line 4: not well-formed CSV"),
        ("name,dob\nA,1950-03-04\nB,Zebediah\n", "line 3, column 2: not a date; write it as"),
        ("name,mrn\nA,Zebediah\n", "line 2, column 2: a MEDICALRECORD without a digit"),
    ],
)
def test_roster_errors_name_no_text(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "roster.csv"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(UsageError, match=message) as raised:
        roster(path)
    assert "Zebediah" not in str(raised.value)


def test_roster_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no roster "):
        roster(tmp_path / "none.csv")
    with pytest.raises(UsageError, match="there is no provider list "):
        providers(tmp_path / "none.csv")
    with pytest.raises(UsageError, match="cannot be read"):
        roster(tmp_path)
    (tmp_path / "latin.csv").write_bytes(b"DOCTOR\nM\xfcller\n")
    with pytest.raises(UsageError, match=r"latin\.csv: not UTF-8 text"):
        roster(tmp_path / "latin.csv")


def test_every_heading_of_a_list_means_something() -> None:
    assert {"patient_id", "note", "name", "last_name", "dob", "mrn", "phone", "address", "provider"} <= set(COLUMNS)
    assert all(re.fullmatch(r"[a-z0-9_]+", heading) for heading in COLUMNS)
    assert not set(COLUMNS) & {"patient", "id"}  # which may be an id or a name


# --- names and dates read --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "given_parts", "family"),
    [
        ("Smith, John A., MD", {"john"}, {"smith"}),
        ("Dr. John A. Smith Jr.", {"john"}, {"smith"}),
        ("SMITH^JOHN^ALAN^^DR", {"john", "alan"}, {"smith"}),
        ("de la Cruz, Maria Elena", {"maria", "elena"}, {"cruz", "delacruz"}),
        ("Nguyen Van Tai", {"nguyen"}, {"tai", "vantai"}),
        ("Le, An", {"an"}, {"le"}),
        ("Robert (Bob) Quill", {"robert", "bob"}, {"quill"}),
    ],
)  # fmt: skip
def test_names_are_taken_apart(text: str, given_parts: set[str], family: set[str]) -> None:
    (person,) = ids.persons(Label.PATIENT, text)
    assert (set(person.given), set(person.family)) == (given_parts, family)


@pytest.mark.parametrize(
    "text", ["1950-03-04", "19500304", "March 4, 1950", "4 Mar 1950", "04MAR1950", "March 4th 1950"]
)
def test_dates_are_read(text: str) -> None:
    assert ids.days(text) == [ids.Day(1950, 3, 4)]


# --- laws ------------------------------------------------------------------------------------------------------------

NAMES = [entry.text for pool in ("first_female", "first_male") for entry in lexicons.pool(pool)][::37]
SURNAMES = [entry.text for entry in lexicons.pool("last")][::29]


@given(
    st.sampled_from(NAMES),
    st.sampled_from(SURNAMES),
    st.sampled_from([str.upper, str.title, str.lower]),
    st.sampled_from([" ", "  ", "\n", "\t", "\n        ", ", "]),
    st.sampled_from(["seen with {} today", "Pt: {}", "{}", "{} is better", "NAME: {} 44F", "({}), who lives alone"]),
)
def test_an_exact_mention_is_found_in_any_case_and_white_space(
    first: str, last: str, case: Any, gap: str, frame: str
) -> None:
    mention = case(f"{last}{gap}{first}")
    before, after = frame.split("{}")
    text = f"{before}{mention}{after}"
    covered = {
        place for span in _find(text, (Label.PATIENT, f"{last}, {first}")) for place in range(span.start, span.end)
    }
    wanted = {len(before) + place for place, char in enumerate(mention) if char.isalnum()}
    assert wanted <= covered


def _swapped(word: str) -> str:
    return word[:2] + word[3] + word[2] + word[4:]


FORMS: dict[str, Callable[[str, str], str]] = {
    "registered": lambda first, last: f"{last}, {first}",
    "spoken": lambda first, last: f"{first} {last}",
    "with an initial between": lambda first, last: f"{first} Q. {last}",
    "surname behind a title": lambda first, last: f"Mrs. {last}",
    "surname with an initial": lambda first, last: f"{first[0]}. {last}",
    "surname in capitals": lambda first, last: f"Pt: {last.upper()}",
    "possessive": lambda first, last: f"Mr. {last}'s wife",
    "plural": lambda first, last: f"the two {last}s",
    "glued": lambda first, last: f"{last}{first}",
    "glued in capitals": lambda first, last: f"{last}{first}".upper(),
    "hyphen": lambda first, last: f"{first}-{last}",
    "HL7": lambda first, last: f"{last}^{first}^^^",
    "broken line": lambda first, last: f"{first}\n      {last}",
    "letters swapped": lambda first, last: f"Mr. {_swapped(last)}",
    "letter lost": lambda first, last: f"Mr. {last[:3]}{last[4:]}",
    "letter doubled": lambda first, last: f"Mr. {last[:4]}{last[3:]}",
    "two letters wrong": lambda first, last: f"Mr. {last[:2]}x{last[3:-1]}q",
}
NAMED = st.sampled_from(
    [name for name in SURNAMES if len(name) > 6 and name.isascii() and name.isalpha() and name.istitle()]
)
CALLED = st.sampled_from([name for name in NAMES if len(name) > 3 and name.isascii() and name.isalpha()])


@pytest.mark.parametrize("form", FORMS)
@given(data=st.data())
def test_every_form_of_a_name_is_found(form: str, data: st.DataObject) -> None:
    first, last = data.draw(CALLED), data.draw(NAMED)
    mention = FORMS[form](first, last)
    text = f"On exam {mention} was in no distress."
    covered = {
        place for span in _find(text, (Label.PATIENT, f"{last}, {first}")) for place in range(span.start, span.end)
    }
    bearing = [match for match in re.finditer(r"\w{4,}", mention) if match[0].lower() not in ("wife",)]
    places = [8 + place for match in bearing for place in range(match.start(), match.end())]
    assert places and set(places) <= covered | ({8 + mention.index("s", -1)} if form == "plural" else set())


@given(st.text(), st.lists(st.tuples(st.sampled_from(list(Label)), st.text(max_size=40)), max_size=4))
def test_mode_none_finds_nothing(text: str, entries: list[tuple[Label, str]]) -> None:
    text = f"{text} {' '.join(value for _, value in entries)}"
    assert _find(text, *entries, detector=Known(roster=Roster(site=tuple(entries)), mode="none")) == []


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="|"), max_size=12)


@given(st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=6), st.sampled_from([",", ";", "\t"]))
def test_a_roster_holds_what_was_written(rows: list[tuple[str, str, str]], delimiter: str) -> None:
    stream = StringIO(newline="")
    csv.writer(stream, delimiter=delimiter).writerows([("patient_id", "name", "provider"), *rows])
    with TemporaryDirectory() as folder:
        path = Path(folder) / "roster.csv"
        path.write_text(stream.getvalue(), encoding="utf-8", newline="")
        found = roster(path)
    held = {entry for entries in (found.site, *found.patients.values()) for entry in entries}
    for _, name, provider in rows:
        for label, value in ((Label.PATIENT, name.strip()), (Label.DOCTOR, provider.strip())):
            assert (label, value) in held or not value or value.lower() in NOTHING


@given(st.binary(max_size=80) | st.text(alphabet='name,dob;|"\n\t Zq0', max_size=60).map(str.encode))
def test_no_list_is_refused_but_with_our_own_sentence(content: bytes) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "roster.csv"
        path.write_bytes(content)
        try:
            roster(path)
        except UsageError as error:
            assert "Zq" not in str(error)


@given(st.text(), st.lists(st.tuples(st.sampled_from(list(Label)), st.text(max_size=40)), max_size=4))
def test_nothing_raises_and_all_is_the_same_again(text: str, entries: list[tuple[Label, str]]) -> None:
    text = f"{text} {' '.join(value for _, value in entries)} {text}"
    site = Roster(site=tuple(entries))
    first = _find(text, *entries, detector=Known(roster=site))
    assert first == _find(text, *entries, detector=Known(roster=site))
    assert [span.source for span in first] == [
        span.source for span in _find(text, *entries, detector=Known(roster=site))
    ]
    assert all(0 <= span.start < span.end <= len(text) for span in first)


@given(st.text(alphabet="abcde", min_size=1, max_size=9), st.text(alphabet="abcde", min_size=1, max_size=9))
def test_distance_is_a_distance(left: str, right: str) -> None:
    assert ids.distance(left, left, 2) == 0
    assert ids.distance(left, right, 2) == ids.distance(right, left, 2)
    assert (ids.distance(left, right, 2) == 0) == (left == right)
    assert (ids.letters(left) ^ ids.letters(right)).bit_count() <= 2 * ids.distance(left, right, 9)


@given(st.sampled_from(SURNAMES), st.randoms())
def test_misspellings_finds_what_measuring_finds(name: str, draw: random.Random) -> None:
    keys = {lexicons.word_key(surname) for surname in SURNAMES}
    key = lexicons.word_key(name)
    word = list(key)
    for _ in range(draw.randint(1, 2)):
        place = draw.randrange(len(word) + 1)
        match draw.randint(0, 2):
            case 0:
                word.insert(place, draw.choice("aeiorstn"))
            case 1 if len(word) > 2 and place < len(word):
                del word[place]
            case _ if place < len(word):
                word[place] = draw.choice("aeiorstn")
            case _:
                pass
    made = "".join(word)
    assert set(ids.Misspellings(keys).near(made)) == {other for other in keys if ids.is_slip(made, other)}


WORST = (
    "Smith, ", "J. ", "J.", "Smith-", "1-", "12 ", "3/4/", "van der ", "O'", "Mar 4 ", "John\n", "x-", "1420 Laurel ",
    "(303) ", "a1", "aA", "Smit", ", ", "\n",
)  # fmt: skip
EVERYTHING = (
    (Label.PATIENT, "Smith-van der Laurel, John Jacob"),
    (Label.MEDICALRECORD, "X-12-12-12"),
    (Label.PHONE, "(303) 303-3033"),
    (Label.DATE, "3/4/1950"),
    (Label.STREET, "1420 Laurel Street"),
    (Label.SSN, "121-21-2121"),
)


@pytest.mark.parametrize("unit", WORST)
def test_time_grows_about_linearly(unit: str) -> None:
    detector = Known(
        roster=Roster(site=tuple((Label.DOCTOR, text) for label, text in EVERYTHING if label is Label.PATIENT))
    )

    def spent(size: int) -> float:
        best = float("inf")
        for turn in range(3):
            begin = time.process_time()
            _find(unit * (size // len(unit)) + str(turn), *EVERYTHING, detector=detector)
            best = min(best, time.process_time() - begin)
        return best

    small, large = spent(8_000), spent(32_000)
    assert large < 10 * small + 0.02


EXPRESSIONS = {
    name: found
    for module in (_known_names, _known_numbers)
    for name, found in vars(module).items()
    if isinstance(found, re.Pattern)
}


@pytest.mark.parametrize("name", EXPRESSIONS)
def test_every_expression_that_reads_a_note_is_bounded(name: str) -> None:
    proven(EXPRESSIONS[name], name)  # refuses what may take many steps from one place


# --- what one note tells, looked for in the others ---


def test_a_name_that_one_note_tells_is_found_in_the_patients_other_notes(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    texts = {
        "p1/a.txt": "Patient: Mr. Wrenna Oakhurst, MRN: 4471820. Mr. Oakhurst was seen by Dr. Tolliver Marsh.\n",
        "p1/b.txt": "doing well, wrenna walks daily. marsh agrees. chart 4471820\n",
        "p2/c.txt": "the marsh near the house; Patient: Mrs. Ada Lindqvist.\n",
    }
    for name, text in texts.items():
        (notes / name).parent.mkdir(parents=True, exist_ok=True)
        (notes / name).write_text(text, encoding="utf-8")
    table = tmp_path / "known.csv"
    by_path = ["--patient-path", "{patient}/*"]
    run = CliRunner().invoke(cli.app, ["roster", str(notes), "-o", str(table), *by_path])
    assert run.exit_code == 0, run.output
    assert table.stat().st_mode & 0o077 == 0
    assert "Oakhurst" not in run.output
    clean = tmp_path / "clean"
    more = ["--detectors", "known", "--roster", str(table)]
    run = CliRunner().invoke(cli.app, ["scrub", str(notes), "-o", str(clean), *by_path, *more])
    assert run.exit_code == 0, run.output
    other = (clean / "p1/b.txt").read_text(encoding="utf-8")
    assert "wrenna" not in other
    assert "4471820" not in other
    assert (clean / "p2/c.txt").read_text(encoding="utf-8").startswith("the marsh near the house")


def test_a_roster_is_gathered_of_patients_only(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Mr. Oakhurst", encoding="utf-8")
    run = CliRunner().invoke(cli.app, ["roster", str(tmp_path / "a.txt"), "-o", str(tmp_path / "r.csv")])
    assert run.exit_code != 0
    assert not (tmp_path / "r.csv").exists()
