"""NLM Scrubber: cases by the parts and tables of its paper, the automaton, linear time, and every detector's laws."""

import re
import time
from itertools import pairwise
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deident import detect, lexicons
from deident.detect import _nlm_names as names
from deident.detect import _nlm_numbers as numbers
from deident.detect import _nlm_places as places
from deident.detect import _nlm_words as words
from deident.detect import nlm
from deident.detect._expressions import proven
from deident.detect._nlm_names import State
from deident.detect._nlm_numbers import Found
from deident.document import Document, Span
from deident.labels import Label
from deident.view import row_of, view
from tests.casefiles import cases

CASES: dict[str, dict[str, list[str]]] = dict(cases("nlm"))  # type: ignore[arg-type]
FINDS = [(part, text) for part, listed in CASES.items() for text in listed["finds"]]
PASSES = [(part, text) for part, listed in CASES.items() for text in listed["passes"]]


def found(text: str) -> list[Span]:
    return list(nlm.detector().detect(Document("case", text)))


def marked(text: str) -> tuple[str, set[int]]:
    """The text without its "<" and ">", and where the letters and digits between them stand."""
    plain, wanted, inside = "", set[int](), False
    for char in text:
        if char in "<>":
            inside = char == "<"
        else:
            if inside and char.isalnum():
                wanted.add(len(plain))
            plain += char
    return plain, wanted


def covered(text: str, spans: list[Span]) -> set[int]:
    return {place for span in spans for place in range(span.start, span.end) if text[place].isalnum()}


@pytest.mark.parametrize(("part", "text"), FINDS)
def test_finds(part: str, text: str) -> None:
    plain, wanted = marked(text)
    assert wanted
    assert covered(plain, found(plain)) == wanted


@pytest.mark.parametrize(("part", "text"), PASSES)
def test_passes(part: str, text: str) -> None:
    assert found(text) == []


def test_every_row_of_tables_3_and_4_has_a_case() -> None:
    assert sum(part.startswith("table 3, ") for part in CASES) == 26  # M*DD*YY is printed twice
    assert sum(part.startswith("table 4, ") for part in CASES) == 9


# --- likelihood ratio ------------------------------------------------------------------------------------------------


def test_the_likelihood_ratio_is_formula_2_on_both_samples() -> None:
    totals = lexicons.words().totals
    row = row_of("Kowalski")
    of_names = (row.name + 1) / (totals.name + totals.name_types)
    of_english = (row.english + 1) / (totals.english + totals.english_types)
    assert 10 ** words.likelihood(row) == pytest.approx(of_names / of_english)


def test_a_word_that_neither_sample_has_is_likelier_a_name() -> None:
    assert row_of("Qzvwxk").english == row_of("Qzvwxk").name == 0
    assert 1 < 10 ** words.likelihood(row_of("Qzvwxk")) < 3  # the paper, with its samples: 2.4


def test_a_nickname_counts_bearers_of_its_official_name() -> None:
    assert words.word_likelihood("Bob") > words.likelihood(row_of("Bob"))
    assert words.word_likelihood("Stoltzfus") == words.likelihood(row_of("Stoltzfus"))


@pytest.mark.parametrize("word", ["hospital", "pain", "He", "Chest", "Tylenol", "hepatitis", "cholecystectomy"])
def test_the_filter_of_false_positives_has_the_words_of_reports(word: str) -> None:
    assert words.is_filtered(word)


@pytest.mark.parametrize("word", ["Kowalski", "Okonkwo", "Venkataraman", "Smith", "Maria"])
def test_and_no_names(word: str) -> None:
    assert not words.is_filtered(word)


# --- the automaton ---------------------------------------------------------------------------------------------------

FIGURE_4 = {  # inputs p, i, n, s, !, *
    "S": "PINSSS",
    "P": "PINPPS",
    "I": "PINSIS",
    "N": "ENNXNE",
    "X": "EEEXXE",
    "E": "EEEEEE",
}
LETTERS = dict(zip("SPINXE", State, strict=True))


@pytest.mark.parametrize("state", FIGURE_4)
@pytest.mark.parametrize("place", range(6))
def test_each_transition(state: str, place: int) -> None:
    assert names.TABLE[LETTERS[state]][names.INPUTS[place]] is LETTERS[FIGURE_4[state][place]]


def test_the_papers_own_example() -> None:
    assert [state.name[0] for state in names.walk("p!ni!n*")] == list("SPPNNNNE")


@given(st.text(alphabet=names.INPUTS, max_size=30))
def test_the_end_is_never_left(inputs: str) -> None:
    for before, after in pairwise(names.walk(inputs)):
        assert before is not State.END or after is State.END


def test_the_states_at_each_token() -> None:
    assert nlm.name_marks(view("seen by Dr. John A. Smith Jr today")) == [0, 0, 0, 1, 3, 2, 0, 3, 4, 0]


# --- rules and labels ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "part", "label", "rule"),
    [
        ("seen by Dr. Okafor", "Okafor", Label.DOCTOR, "title"),
        ("Mrs. Okafor came", "Okafor", Label.PATIENT, "title"),
        ("Patient: Okafor, Ada", "Okafor, Ada", Label.PATIENT, "field"),
        ("Surgeon: Okafor", "Okafor", Label.DOCTOR, "field"),
        ("daughter Maria helps", "Maria", Label.PATIENT, "family"),
        ("K. Rhee, M.D.", "K. Rhee", Label.DOCTOR, "credential"),
        ("the visit of Stoltzfus went well", "Stoltzfus", Label.PATIENT, "likelihood"),
        ("on 07-08-2012 he", "07-08-2012", Label.DATE, "date-full"),
        ("a 46-year-old man", "46", Label.AGE, "age-with-succeeding-marker"),
        ("MRN 4471820", "4471820", Label.MEDICALRECORD, "id-cue"),
        ("fax 303-555-0182", "303-555-0182", Label.FAX, "phone-cue"),
        ("x AB-449-1187 y", "AB-449-1187", Label.IDNUM, "id-catch-all"),
        ("at a.b@clinic.example x", "a.b@clinic.example", Label.EMAIL, "email"),
        ("see www.clinic.example/x.", "www.clinic.example/x", Label.URL, "url"),
        ("lives in New Bedford with", "New Bedford", Label.CITY, "address"),
        ("to Munroe Bay Hospital on", "Munroe Bay Hospital", Label.HOSPITAL, "hospital"),
        ("employed by Tessmer Logistics since", "Tessmer Logistics", Label.ORGANIZATION, "employer"),
        ("/s/ DM and", "DM", Label.DOCTOR, "initials"),
    ],
)
def test_each_recogniser_names_its_rule_and_its_label(text: str, part: str, label: Label, rule: str) -> None:
    span = next(span for span in found(text) if text[span.start : span.end] == part)
    assert (span.label, span.source) == (label, f"nlm:{rule}")
    assert nlm.detector().why(span)


# --- redaction -------------------------------------------------------------------------------------------------------


def test_two_recognisers_that_disagree_give_the_generic_label() -> None:
    name = Found(0, 5, Label.PATIENT, "likelihood", 0.7)
    date = Found(0, 5, Label.DATE, "month-alone", 0.72)
    assert [(item.label, item.rule) for item in nlm.redact([name, date])] == [(Label.OTHER, nlm.DISPUTED)]


def test_the_clearly_stronger_recogniser_wins() -> None:
    title = Found(0, 4, Label.DOCTOR, "title", 0.95)
    month = Found(0, 4, Label.DATE, "month-alone", 0.72)
    assert [item.label for item in nlm.redact([month, title])] == [Label.DOCTOR]


def test_recognisers_of_one_class_do_not_disagree() -> None:
    patient = Found(0, 10, Label.PATIENT, "full", 0.7)
    doctor = Found(4, 14, Label.DOCTOR, "full", 0.72)
    assert [(item.start, item.end, item.label) for item in nlm.redact([patient, doctor])] == [(0, 14, Label.DOCTOR)]


def test_a_name_inside_a_street_is_part_of_it() -> None:
    street = Found(0, 15, Label.STREET, "street", 0.9)
    name = Found(3, 10, Label.PATIENT, "likelihood", 0.7)
    assert [(item.start, item.end, item.label) for item in nlm.redact([street, name])] == [(0, 15, Label.STREET)]


# --- the data file ---------------------------------------------------------------------------------------------------

PATTERNS = {pattern.name: pattern for pattern in numbers.patterns()}


@pytest.mark.parametrize(
    ("name", "text"), [(pattern.name, text) for pattern in PATTERNS.values() for text in pattern.finds]
)
def test_the_pattern_finds(name: str, text: str) -> None:
    start, stop = text.index("<"), text.index(">") - 1
    plain = text.replace("<", "").replace(">", "")
    assert (start, stop) in [_span(name, plain, place) for place in range(len(plain))]


@pytest.mark.parametrize(
    ("name", "text"), [(pattern.name, text) for pattern in PATTERNS.values() for text in pattern.passes]
)
def test_the_pattern_passes(name: str, text: str) -> None:
    places = [place for place in range(len(text)) if place == 0 or not (text[place - 1].isalnum())]
    assert [span for place in places if (span := _span(name, text, place)) is not None] == []


def _span(name: str, text: str, start: int) -> tuple[int, int] | None:
    pattern = PATTERNS[name]
    before = text[max(0, start - numbers.BEFORE) : start]
    match = pattern.regex.match(text, start)
    if match is None or (pattern.before is not None and pattern.before.search(before) is None):
        return None
    if pattern.not_before is not None and pattern.not_before.search(before) is not None:
        return None
    return match.span("phi") if "phi" in pattern.regex.groupindex else match.span()


@pytest.mark.parametrize(("name", "text"), [(kept.name, text) for kept in numbers.kept() for text in kept.keeps])
def test_the_clinical_pattern_stays(name: str, text: str) -> None:
    assert found(text.replace("<", "").replace(">", "")) == []


NUMBERS = [pattern for pattern in PATTERNS.values() if pattern.at == "number"]
TAILS = st.sampled_from(
    ["", " ", "-", "/", ".", ":", ",", "'", "th", "st", "yo", "y", " y", "M", " F", "%", " mg", " mm", "Aug", " May",
    "–", "12", "2012", "0199", ")", " year", "-year", " old", "s", "ies", " Main St", " birthday", "½", "\n", "\xa0",
    "l2"]
)  # fmt: skip


@given(st.from_regex(r"\A[0-9]{1,8}\Z"), st.lists(TAILS, max_size=5).map("".join))
def test_a_shape_never_turns_away_what_its_pattern_matches(digits: str, tail: str) -> None:
    text = digits + tail
    fitting = numbers._fitting(numbers.shape_of(text, 0), "")  # pyright: ignore[reportPrivateUsage]
    for pattern in NUMBERS:
        if pattern.regex.match(text) is not None:
            assert pattern in fitting


# --- laws ------------------------------------------------------------------------------------------------------------

WORDS = (
    "Dr", "Mr.", "MS", "Smith", "LEE", "van", "12", "1999", "303", "555", "0182", "May", "jan", "92", "years", "old",
    "age", "Street", "Boston", "Hospital", "of", "works", "at", "MRN", "#", "é", "\u0301", "😀", "\u200b", "İ", "ß",
    "O'", "Maria", "M.D.", "RN", "by", "wife", "JM/", "abt", "P.O.", "Box", "in", "http://", "@", "Patient", "ﬁ",
)  # fmt: skip
PIECES = st.sampled_from((*"./-,:()' \n\t|", *WORDS))
TEXTS = st.lists(PIECES, max_size=40).map("".join) | st.lists(PIECES, max_size=30).map(" ".join) | st.text(max_size=60)


@given(TEXTS)
def test_spans_lie_in_the_text_disjoint_and_begin_and_end_at_something(text: str) -> None:
    spans = found(text)
    for span in spans:
        assert 0 <= span.start < span.end <= len(text)
        assert text[span.start : span.end].strip() == text[span.start : span.end]
    assert all(left.end <= right.start for left, right in pairwise(spans))


@given(TEXTS)
def test_the_same_text_gives_the_same_spans(text: str) -> None:
    first = [(span.start, span.end, span.label, span.source, span.score) for span in found(text)]
    view.cache_clear()
    assert [(span.start, span.end, span.label, span.source, span.score) for span in found(text)] == first


@given(st.lists(st.sampled_from(["😀", "é", "e\u0301", "\U0001d518", "\r\n", "\u2028", "“"]), max_size=6).map("".join))
def test_offsets_are_exact_behind_any_unicode(before: str) -> None:
    text = f"{before} . Seen by Dr. Okafor on 07-08-2012. MRN: 4471820"
    parts = {text[span.start : span.end] for span in found(text)}
    assert {"Okafor", "07-08-2012", "4471820"} <= parts


# --- growth ----------------------------------------------------------------------------------------------------------


def regexes() -> dict[str, re.Pattern[str]]:
    """Every expression that is tried on a text."""
    listed: dict[str, re.Pattern[str]] = {}
    for module in (nlm, names, numbers, places, words):
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern):
                listed[name] = cast("re.Pattern[str]", value)
    starts = cast(Any, names)._START
    listed |= {f"start {first}": regex for first, regex in starts.items()}
    for pattern in numbers.patterns():
        for part in ("regex", "before", "not_before", "shape"):
            if getattr(pattern, part) is not None:
                listed[f"{pattern.name}.{part}"] = getattr(pattern, part)
    for at in sorted({pattern.at for pattern in numbers.patterns()} - {"number"}):
        listed[f"all at {at}"] = cast(Any, numbers)._screen(at)
    return listed | {f"kept {kept.name}": kept.regex for kept in numbers.kept()}


@pytest.mark.parametrize(("name", "regex"), regexes().items())
def test_each_expression_takes_a_bounded_number_of_steps(name: str, regex: re.Pattern[str]) -> None:
    proven(regex, name)


WORST = (
    "1/", "12/12/", "303-", "(303) ", "1.", "1 ", "999999999 ", "Jan ", "12 Jan ", "Mr. ", "Dr. A. ", "A. ", "Smith ",
    "Smith-", "O'", "Smith, ", "SMITH,", "Will ", "w ", "x/", "AB/cd ", "JM ", "Street ", "1 Main ", "New ", "in New ",
    "Hospital ", "Mercy ", "of Mercy ", "works at ", "works in a ", "at Mercy ", "Boston, ", ", MA ", "age ", "age 92 ",
    "MRN ", "MRN 1", "#", "a.", "@", "http://a", "A1-", " ", "\n", "Mr. Smith\n", "Bob Smith ", "wife ", "RN ",
    ", M.D.", "Drs. A, ", "m. smith rn ", "JS\n", "nineteen ", "in his ",
)  # fmt: skip


def _seconds(text: str) -> float:
    best = 9.0
    for turn in range(3):
        began = time.process_time()
        found(f"{text}{turn}{best}")  # another text each time: views are kept
        best = min(best, time.process_time() - began)
    return best


@pytest.mark.parametrize("piece", WORST)
def test_time_grows_with_the_text(piece: str) -> None:
    size = 6_000
    small = _seconds(f"John Smith, M.D. {piece * (size // len(piece))}")
    large = _seconds(f"John Smith, M.D. {piece * (4 * size // len(piece))}")
    assert large < 9 * small + 0.03  # four times the text; a quadratic rule would take sixteen times


def test_it_can_be_loaded_by_name() -> None:
    assert detect.load("nlm").name == "nlm"
