"""The MIMIC rules: cases by the row of the thesis' tables, linear time, and the laws of every detector."""

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deident import detect
from deident.detect import mimic
from deident.detect._expressions import proven
from deident.document import Document, Span
from deident.labels import Label
from tests.casefiles import cases

CASES: dict[str, dict[str, list[str]]] = dict(cases("mimic"))  # type: ignore[arg-type]
FINDS = [(row, text) for row, listed in CASES.items() for text in listed["finds"]]
PASSES = [(row, text) for row, listed in CASES.items() for text in listed["passes"]]


def found(text: str) -> list[Span]:
    return list(mimic.detector().detect(Document("case", text)))


@pytest.mark.parametrize(("row", "marked"), FINDS)
def test_finds(row: str, marked: str) -> None:
    start, stop = marked.index("<"), marked.rindex(">") - 1
    text = marked[:start] + marked[start + 1 : stop + 1] + marked[stop + 2 :]
    wanted = set(range(start, stop))
    covered = {place for span in found(text) for place in range(span.start, span.end)}
    # nothing outside the mark may be covered
    assert {place for place in wanted if text[place].isalnum()} <= covered
    assert not {place for place in covered - wanted if text[place].isalnum()}


@pytest.mark.parametrize(("row", "text"), PASSES)
def test_passes(row: str, text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize(
    ("text", "label", "rule"),
    [
        ("Dr. Smith", Label.DOCTOR, "name-title"),
        ("Mrs. Smith", Label.PATIENT, "name-title"),
        ("12/31/1999", Label.DATE, "date-mdy"),
        ("31/12/1999", Label.DATE, "date-dmy"),
        ("1999/31/12", Label.DATE, "date-ydm"),
        ("1999/12/31", Label.DATE, "date-ymd"),
        ("12 January, 2004", Label.DATE, "date-day-month"),
        ("January 12, 2004", Label.DATE, "date-month-day"),
        ("CABG in 2004", Label.DATE, "date-year"),
        ("Los Angeles", Label.CITY, "location"),
        ("Massachusetts", Label.STATE, "location"),
        ("Portugal", Label.COUNTRY, "location"),
        ("Cape Cod", Label.LOCATION_OTHER, "location-before"),
        ("Jackson Street", Label.STREET, "location-after"),
        ("Mercy Hospital", Label.HOSPITAL, "hospital-word"),
        ("Peconic Bay Medical Center", Label.HOSPITAL, "hospital-listed"),
        ("Ward 6B", Label.DEPARTMENT, "ward"),
        ("(303) 555-0182", Label.PHONE, "phone-area"),
        ("303-555-0182", Label.PHONE, "phone-ten"),
        ("555-0182", Label.PHONE, "phone-seven"),
        ("514-22-9087", Label.SSN, "ssn"),
        ("514-229087", Label.SSN, "ssn-parted"),
        ("51422908", Label.SSN, "ssn-plain"),
        ("age 92", Label.AGE, "age-before"),
        ("92 years old", Label.AGE, "age-after"),
    ],
)
def test_each_rule_names_itself_and_its_label(text: str, label: Label, rule: str) -> None:
    by_rule = {span.source: span for span in found(text)}
    span = by_rule[f"mimic:{rule}"]
    assert span.label is label
    assert mimic.detector().why(span) == mimic.RULES[rule]


def test_every_rule_has_a_case() -> None:
    texts = [marked.replace("<", "").replace(">", "") for _, marked in FINDS]
    fired = {span.source.removeprefix("mimic:") for text in texts for span in found(text)}
    assert fired == set(mimic.RULES)


def test_ambiguous_rules_score_less_than_those_that_stand_alone() -> None:
    for text in ("303-555-0182", "Mr. Jones", "1/2/2003", "514-22-9087", "92 years old", "Los Angeles"):
        assert min(span.score for span in found(text)) >= 0.9
    for text in ("555-0182", "51422908", "Jackson Street", "CABG in 2004", "he is 95 now"):
        assert max(span.score for span in found(text)) <= 0.6


def test_the_title_is_a_condition_of_the_name() -> None:
    assert found("Okonkwo Smith rested") == []
    assert found("Mr. Smith rested") != []


@pytest.mark.parametrize("age", range(85, 131))
def test_ages_from_90_to_125_only(age: int) -> None:
    assert bool(found(f"{age} years old")) is (90 <= age <= 125)


def test_it_can_be_loaded_by_name() -> None:
    assert detect.load("mimic").name == "mimic"


# --- laws ------------------------------------------------------------------------------------------------------------

WORDS = (
    "Dr", "Mr.", "MS", "Smith", "LEE", "van", "12", "1999", "303", "555", "0182", "May", "jan", "92", "years", "old",
    "age", "Cape", "Street", "Boston", "Hospital", "of", "Mercy", "rehab", "center", "4", "West", "CABG", "é", "\u0301",
)  # fmt: skip
PIECES = st.sampled_from((*"./-,:()' \n", *WORDS))


@given(st.lists(PIECES, max_size=40).map("".join) | st.text(max_size=60))
def test_spans_lie_in_the_text_and_have_a_known_rule(text: str) -> None:
    for span in found(text):
        assert 0 <= span.start < span.end <= len(text)
        assert text[span.start : span.end].strip() == text[span.start : span.end]
        assert span.source.removeprefix("mimic:") in mimic.RULES


@given(st.lists(PIECES, max_size=30).map(" ".join))
def test_what_stands_in_other_paragraphs_changes_nothing(text: str) -> None:
    alone = [(span.start, span.end, span.label) for span in found(text)]
    before = "Nothing here at all, and so on it goes, as ever was.\n\n\n"
    later = [(span.start - len(before), span.end - len(before), span.label) for span in found(before + text)]
    assert sorted(later) == sorted(alone)


# --- growth ----------------------------------------------------------------------------------------------------------

WORST = (
    "1/", "1-", "12/12/", "303-", "303 ", "(303) ", "1.", "1 ", "999999999 ", "99 ", "Jan ", "12 Jan ", "Mr. ", "Mr",
    "Dr. A. ", "A. ", "Mr. van ", "Smith-", "Mr. Smith-", "O'", "Cape ", "Cape Lake ", "Street ", "Main Street ",
    "New ", "New York ", "Hospital ", "Mercy ", "Mercy Hospital of ", "St. ", "Boston ", "center ",
    "rehab center ", "age ", "age 92 ", "CABG 1999 ", "Ward ", "4 West ", "Mercy Hospital", "Mercy-", "Jan-", " ", "\n",
    "'", "he is ", "Mr. \n", "92 years ", "years of ",
)  # fmt: skip


def _seconds(text: str) -> float:
    best = 9.0
    for _ in range(5):
        began = time.thread_time()
        found(f"{text}{best}")  # another text each time: views are kept
        best = min(best, time.thread_time() - began)
    return best


@pytest.mark.parametrize("piece", WORST)
def test_time_grows_with_the_text(piece: str) -> None:
    size = 20_000
    small = _seconds(piece * (size // len(piece)))
    large = _seconds(piece * (4 * size // len(piece)))
    assert large < 8 * small + 0.08  # four times the text; a quadratic rule would take sixteen times


@pytest.mark.parametrize("name", sorted(name for name, found in vars(mimic).items() if isinstance(found, re.Pattern)))
def test_every_expression_is_bounded(name: str) -> None:
    proven(vars(mimic)[name], name)  # refuses what may take many steps from one place
