"""The rule tagger: every entry's own cases, users' patterns, the proof of linear time, offsets in any text."""

import random
import re
import time
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from deident.detect import patterns
from deident.detect._expressions import MOST_STEPS, Openings, proven, steps
from deident.detect.patterns import Pattern, Patterns
from deident.document import Document, Span
from deident.errors import ConfigError
from deident.labels import Label
from deident.resolve import resolve
from tests.casefiles import cases
from tests.strategies import texts

RULES = patterns.rules()
EACH = pytest.mark.parametrize("pattern", RULES.patterns, ids=lambda pattern: pattern.name)


def detected(text: str) -> list[Span]:
    return list(Patterns().detect(Document("d", text)))


def unmarked(case: str) -> tuple[str, list[tuple[int, int]]]:
    """ "on <3/4>." is "on 3/4." with a span from 3 to 6."""
    text, spans, start = "", list[tuple[int, int]](), 0
    for piece in re.split(r"([<>])", case):
        if piece == "<":
            start = len(text)
        elif piece == ">":
            spans.append((start, len(text)))
        else:
            text += piece
    return text, spans


# --- the entries' own cases ------------------------------------------------------------------------------------------


@EACH
def test_an_entry_finds_just_what_its_cases_mark(pattern: Pattern) -> None:
    assert pattern.finds
    for case in pattern.finds:
        text, wanted = unmarked(case)
        found = [(s.start, s.end) for s in detected(text) if s.source == f"patterns:{pattern.name}"]
        assert found == wanted, case


@EACH
def test_an_entry_passes_what_it_says(pattern: Pattern) -> None:
    assert pattern.passes
    for case in pattern.passes:
        assert [case[s.start : s.end] for s in detected(case) if s.source == f"patterns:{pattern.name}"] == []


def test_an_entry_says_what_it_looks_for() -> None:
    span = Span(0, 1, Label.DATE, "patterns:date-numeric")
    assert Patterns().why(span) == "a date in digits, month and day and year"
    assert all(pattern.looks_for for pattern in RULES.patterns)


# --- snippets of every layout ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", cases("patterns"), ids=lambda case: case["text"][:40])
def test_a_snippet(case: dict[str, str]) -> None:
    """What is marked in the text is covered, by whatever entry, and what is not marked is not."""
    text, wanted = unmarked(case["text"])
    found = resolve(detected(text))
    covered = {place for span in found for place in range(span.start, span.end) if text[place].isalnum()}
    assert covered == {place for start, end in wanted for place in range(start, end) if text[place].isalnum()}
    if label := case.get("label"):
        assert {str(span.label) for span in found} == set(label.split())


@pytest.mark.parametrize("text", cases("patterns_negative"))
def test_a_hard_negative(text: str) -> None:
    assert [text[span.start : span.end] for span in detected(text)] == []


# --- patterns of the user's own --------------------------------------------------------------------------------------

OWN = """
[ward-bracelet]
label = "IDNUM"
looks_for = "the number of a ward bracelet"
regex = '''bracelet [ ] (?P<phi>[A-Z]\\d{3})'''
on = ["bracelet"]
finds = ["bracelet <Q771> on"]
passes = ["bracelet lost"]
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "own.toml"
    path.write_text(OWN, encoding="utf-8")
    return path


def test_a_users_pattern_is_found_beside_the_packages(own: Path) -> None:
    detector = patterns.detector(patterns=[str(own)])
    text = "Bracelet q771, seen 3/4/2021"
    found = {(span.start, span.end, span.label, span.source) for span in detector.detect(Document("d", text))}
    assert (9, 13, Label.IDNUM, "patterns:ward-bracelet") in found
    assert (20, 28, Label.DATE, "patterns:date-numeric") in found
    assert detector.why(Span(9, 13, Label.IDNUM, "patterns:ward-bracelet")) == "the number of a ward bracelet"
    assert not any(span.source == "patterns:ward-bracelet" for span in detected(text))


def test_a_users_pattern_without_triggers_is_searched_for(own: Path) -> None:
    own.write_text(OWN.replace('on = ["bracelet"]', ""), encoding="utf-8")
    found = patterns.detector(patterns=[str(own)]).detect(Document("d", "x bracelet Q771"))
    assert [(span.start, span.end) for span in found if span.source == "patterns:ward-bracelet"] == [(11, 15)]


def test_a_users_file_may_use_the_packages_lists_and_add_fields(own: Path) -> None:
    own.write_text(
        OWN.replace("bracelet [ ]", "(?>{months}) [ ]").replace('on = ["bracelet"]', 'on = ["{months}"]')
        + '[values]\ncode = "[A-Z]{2,4}"\n[fields.x]\nlabel = "USERNAME"\nvalue = "code"\nnames = ["scribe code"]\n',
        encoding="utf-8",
    )
    detector = patterns.detector(patterns=[str(own)])
    found = {
        span.source: (span.start, span.end) for span in detector.detect(Document("d", "Scribe code: QXV\nJuly Q771"))
    }
    assert found["patterns:ward-bracelet"] == (22, 26)
    assert found["patterns:field"] == (13, 16)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("finds =", "find =", r"own.toml: ward-bracelet: unknown key 'find'"),
        ("looks_for =", "# ", r"the key 'looks_for' is missing"),
        ('label = "IDNUM"', 'label = "IDNUMBER"', r"own.toml: ward-bracelet: .*IDNUMBER"),
        ("(?P<phi>", "(?P<AGES>", r"own.toml: ward-bracelet: .*AGES"),
        ("[A-Z]", "[A-Z", r"ward-bracelet is not a regular expression"),
        ("{3}", "+", r"a repetition has no upper bound"),
        ("\\d{3}", "(?:\\d{0,20}){0,20}x", r"steps at one place, more than"),
        ("bracelet [ ]", "{no_list}", r"no word list 'no_list'; there are:"),
        ('["bracelet"]', '["#!"]', r"no trigger '#!'; there are: digit,"),
        ('["bracelet"]', '"bracelet"', r"on must be a list of strings"),
        ('on = ["bracelet"]', "back = 900", r"back must be a whole number from 0 to 80"),
        ('on = ["bracelet"]', "score = 2", r"score must be a number from 0 to 1"),
        ('on = ["bracelet"]', 'check = "luck"', r"no check 'luck'; there are: city"),
        ("[ward-bracelet]", "[date-numeric]", r"there is already a pattern 'date-numeric'"),
        ("[ward-bracelet]", "[ward", r"own.toml is not TOML"),
        ("[ward-bracelet]", "parts = 3\n[ward-bracelet]", r"parts must be a table"),
        ("[ward-bracelet]", "[fields]\nx = 3\n[ward-bracelet]", r"fields.x must be a table"),
        ("[ward-bracelet]", "ward = 3\n[ward-bracelet]", r"own.toml: ward must be a table"),
    ],
)
def test_what_is_wrong_in_a_users_file_is_one_clear_error(own: Path, old: str, new: str, message: str) -> None:
    assert old in OWN
    own.write_text(OWN.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ConfigError, match=message) as caught:
        patterns.detector(patterns=[str(own)])
    assert "\n" not in str(caught.value)


def test_a_users_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"there is no pattern file .*none\.toml"):
        patterns.detector(patterns=[str(tmp_path / "none.toml")])
    with pytest.raises(ConfigError, match="cannot be read"):
        patterns.detector(patterns=[str(tmp_path)])
    (tmp_path / "latin.toml").write_bytes(b"# \xe9")
    with pytest.raises(ConfigError, match="cannot be read as UTF-8"):
        patterns.detector(patterns=[str(tmp_path / "latin.toml")])


# --- linear time -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bad",
    [
        r"(a{0,20}){0,20}b",
        r"(?:a|a){0,40}b",
        r"(?:a|ab|b){0,30}c",
        r"(?:\w{1,9}\s?){0,20}!",
        r"(?:x?){0,300}(?:x?){0,300}(?:x?){0,300}y",
        r"\d{0,200}\d{0,200}\d{0,200}x",
        r"(?i:(?:ax|AX){0,40})b",
    ],
)
def test_an_expression_of_many_ways_is_refused(bad: str) -> None:
    with pytest.raises(ConfigError, match=r"^p: the pattern may take .* steps"):
        proven(re.compile(bad), "p")


@pytest.mark.parametrize("bad", ["a*", "a+?", "(?:ab){2,}", "x(?=a+)", "(?<!b)(?>c*)", "a{0,5000}"])
def test_an_expression_without_bound_is_refused(bad: str) -> None:
    with pytest.raises(ConfigError, match="no upper bound"):
        proven(re.compile(bad), "p")


@pytest.mark.parametrize(
    "good", [r"(?:a{0,20}+){0,20}+b", r"(?>a|ab){0,40}+c", r"\d{1,9}(?:/\d{1,9}){0,9}x", r"(?:a|b){0,40}c"]
)
def test_an_expression_of_one_way_is_proven(good: str) -> None:
    proven(re.compile(good), "p")


def test_the_bound_is_no_less_than_what_a_match_takes() -> None:
    """Ways to match a run of n letters by (a{0,k}){0,m}, counted one by one, are no more than the bound says."""

    def ways(run: int, most: int, rounds: int) -> int:
        if rounds == 0:
            return 1
        return 1 + sum(ways(run - taken, most, rounds - 1) for taken in range(1, min(run, most) + 1))

    for most, rounds in ((2, 3), (3, 4), (5, 5)):
        assert steps(re.compile(f"(?:a{{0,{most}}}){{0,{rounds}}}b")) >= ways(most * rounds, most, rounds)


@EACH
def test_the_bound_of_every_entry_is_small(pattern: Pattern) -> None:
    for regex in (pattern.regex, pattern.at, pattern.after, pattern.unless):
        assert regex is None or steps(regex) <= MOST_STEPS


def test_the_bound_of_every_field_is_small() -> None:
    values = {field.value for fields in RULES.fields.values() for field in fields}
    assert len(values) > 5
    assert all(steps(value) <= MOST_STEPS for value in values)


def worst(pattern: Pattern, size: int) -> list[str]:
    """Strings that keep a pattern busy: its own finds without an end, its near misses, runs of every kind of sign."""
    draw = random.Random(pattern.name)
    own = [unmarked(case)[0] for case in pattern.finds]
    near = [text[: draw.randrange(1, len(text) + 1)] for text in own]
    signs = [
        "1",
        "a",
        "A",
        " ",
        "\n",
        "-",
        "/",
        "1-",
        "1 ",
        "a ",
        "A. ",
        "1/",
        "(",
        "x1",
        "Ab",
        ", ",
        "l/",
        "@a.",
        "1:",
    ]
    mixed = "".join(draw.choices([*own, *near, *pattern.passes, *signs, *pattern.on], k=60))
    pieces = [draw.choice(own), "".join(near), mixed, draw.choice(signs) * 40]
    return [(piece * (size // len(piece) + 1))[:size] for piece in pieces]


@cache
def alone(name: str) -> patterns._Index:  # pyright: ignore[reportPrivateUsage]
    """The index of one pattern."""
    chosen = tuple(pattern for pattern in RULES.patterns if pattern.name == name)
    return patterns._Index.of(patterns.Rules(chosen, {}, RULES.lists))  # pyright: ignore[reportPrivateUsage]


def seconds(name: str, text: str) -> float:
    index = alone(name)
    begin = time.thread_time()
    list(patterns.found(text, index))
    return time.thread_time() - begin


SMALL, LARGE = 750, 6000


@EACH
def test_time_grows_no_faster_than_the_text(pattern: Pattern) -> None:
    """Eight times the text: eight times the places that are tried, and, the best of some runs, about the time; a
    quadratic pattern would take sixty-four times as long, a busy machine three times as long as it should."""
    for small, large in zip(worst(pattern, SMALL), worst(pattern, LARGE), strict=True):
        tried = [sum(1 for _ in patterns.tries(text, alone(pattern.name))) for text in (small, large)]
        assert tried[1] <= 8 * tried[0] + 80
        few = many = 0.0
        for _ in range(5):
            few = min(seconds(pattern.name, small) for _ in range(2))
            many = min(seconds(pattern.name, large) for _ in range(2))
            if many <= 28 * few + 0.002:
                break
        else:
            pytest.fail(f"{pattern.name}: {few:.4f} s for {SMALL} characters, {many:.4f} s for {LARGE}")


# --- the prefilter ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "expression",
    [
        *(r"(?<!\d)\d{1,3}(?=[ab])", r"(?:a|b\d){1,3}\s?x", r"(?>ab|a)c?(?!d)", r"(?i:q)\Z", r"(a|b)\1"),
        *(r"(?<=a[ ])1", r"(?:(?<=ab)|(?<=1[ ])|(?<=c))(?<!b)[dq]", r"(?:(?<=a)|b)1", r"(?<=(?:a|b)x)(?i:q)"),
    ],
)
@given(data=st.data())
def test_openings_admit_every_match(expression: str, data: st.DataObject) -> None:
    """Whatever matches begins as the openings say."""
    regex = re.compile(expression)
    text = data.draw(st.text("ab1 xcdqQ2", max_size=12))
    openings = Openings.of(regex)
    for match in regex.finditer(text):
        state = openings.start
        earlier, last = ("\0\0" + text[: match.start()])[-2:]
        assert openings.before[ord(last)] >> ord(earlier) & 1
        for char, following in pairwise(text[match.start() :]):
            assert openings.next(state) >> ord(char) & 1
            assert openings.ahead(state)[ord(char)] >> ord(following) & 1
            state = openings.step(state, 1 << ord(char))


def shuffled(draw: random.Random) -> str:
    pieces = [unmarked(case)[0] for pattern in RULES.patterns for case in (*pattern.finds, *pattern.passes)]
    return draw.choice(["", " ", "\n", ", "]).join(draw.choices(pieces, k=12))


@pytest.mark.parametrize("seed", range(25))
def test_no_match_is_lost_by_the_prefilter(seed: int) -> None:
    """At every run of digits, all patterns that match are among those that are tried."""
    text = patterns.plain(shuffled(random.Random(seed)))
    tried = {(place, pattern.name) for place, pattern in patterns.tries(text)}
    for run in re.finditer(r"\d+", text):
        for pattern in RULES.patterns:
            if "digit" not in pattern.on or pattern.back:
                continue
            if (match := pattern.regex.match(text, run.start())) and patterns.spans_of(pattern, text, match):
                assert (run.start(), pattern.name) in tried


# --- any text --------------------------------------------------------------------------------------------------------


@given(texts)
def test_spans_lie_in_the_text_and_resolve_to_disjoint_ones(text: str) -> None:
    spans = detected(text)
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    kept = list(resolve(spans))
    assert all(left.end <= right.start for left, right in pairwise(kept))


@given(st.text(max_size=60))
def test_the_plain_text_is_as_long_and_ascii(text: str) -> None:
    plain = patterns.plain(text)
    assert len(plain) == len(text)
    assert plain.isascii()


ODD = st.sampled_from(
    ["José ", "Jose\u0301 ", "🥳", "👩🏽‍⚕️", "漢字 ", "naïve\u00a0", "“quoted” ", "\r\n", "\u200b ", "ﬁ ", "İ "]
)
KNOWN = [
    ("seen ", "3/4/2021", " in"),
    ("seen ", "３/４/２０２１", " in"),
    ("seen\u00a0", "3\u20114\u20112021", "."),
    ("call ", "(303)\u00a0555‑0182", "\r\n"),
    ("on ", "4 März 2021", ";"),
    ("until ", "Valentine’s Day", ","),
    ("MRN：", "4471820", " "),
    ("in ’", "98", " and"),
]


@given(st.lists(ODD, max_size=6), st.sampled_from(KNOWN), st.lists(ODD, max_size=6))
def test_offsets_stay_exact_in_odd_text(before: list[str], known: tuple[str, str, str], after: list[str]) -> None:
    lead, phi, tail = known
    front = "".join(before) + "\n" + lead
    text = front + phi + tail + "".join(after)
    covered = {place for span in detected(text) for place in range(span.start, span.end)}
    assert covered >= set(range(len(front), len(front) + len(phi)))
    assert min(covered) >= len(front) - 1


def test_line_ends_of_every_kind_are_the_same() -> None:
    for end in ("\n", "\r\n", "\r", "\u2028", "\x0b"):
        text = f"MRN: 4471820{end}DOB: 3/4/1950{end}"
        words = {text[span.start : span.end] for span in detected(text)}
        assert {"4471820", "3/4/1950"} <= words


def test_a_long_text_of_one_kind_is_no_trouble() -> None:
    for piece in ("1", "a", " ", "\n", "Name: ", "|", "1/", "#", "\t", "A|B,"):
        list(Patterns().detect(Document("d", piece * (50_000 // len(piece)))))


def test_the_arrays_have_a_margin() -> None:
    """Signs at either end of a text are seen without reading beyond it."""
    for text in ("", "1", "a", "@", "#", "(", "a@", "3/4/2021", ":", "a:"):
        found = detected(text)
        assert all(span.end <= len(text) for span in found)
    assert np.array_equal([span.start for span in detected("3/4/2021")], [0])
