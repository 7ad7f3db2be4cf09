"""Columns: what is said of each token, in integers.

A *word column* is a function of one token's text alone: `suffix3("Kowalski")` → ("ski",). Whatever it yields is worked
out once for a word, not for each of its uses. A *text column* looks at the whole page and says one thing of each token:
what stands before it, in which line it lies, what a rule found there. A feature set (`features.py`) says which columns
are seen from which distance.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from itertools import pairwise
from threading import local
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from deident.document import Span
from deident.learn import pos
from deident.learn._compiled import compiled
from deident.lexicons import Kind, Met, WordRow, fold, phrases
from deident.tokens import LineKind, sentences
from deident.view import Marks, View, row_of

Codes = NDArray[np.int32]
WordColumn = Callable[[str], Iterable[str]]


@dataclass(frozen=True, slots=True)
class Said:
    """What a text column says: a number for each token, and for each number its values (none: nothing is said)."""

    codes: Codes
    values: Sequence[tuple[str, ...]]


OUTSIDE = "\x02"  # the word that stands before the first token and after the last one


# --- the page --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Page:
    """A text, what rules and earlier models found in it, and what several columns ask of it."""

    view: View = field(repr=False)
    hits: tuple[Span, ...] = field(default=(), repr=False)
    earlier: tuple[Span, ...] = field(default=(), repr=False)  # a model's finds, by its name as source

    @cached_property
    def words(self) -> list[str]:
        return self.view.words

    @cached_property
    def distinct(self) -> tuple[list[str], NDArray[np.int64]]:
        """The different words, and which of them each token is."""
        numbers, inverse = np.unique(self.view.types, return_inverse=True)
        known = self.view.registry.words
        return [known[number] for number in numbers.tolist()], inverse

    @cached_property
    def cases(self) -> Codes:
        """The case of each token, by its place in `CASES`."""
        return _CASE_NUMBERS.of(self.view)

    @cached_property
    def line_of(self) -> NDArray[np.int64]:
        """The number of the line that each token begins in."""
        starts = np.array([line.start for line in self.view.layout.lines], dtype=np.int64)
        return np.searchsorted(starts, self.view.tokens.starts, side="right") - 1

    @cached_property
    def line_ends(self) -> tuple[Codes, Codes]:
        """For each token the first token of its line, and the one past the last."""
        size = len(self.words)
        begins = np.flatnonzero(np.diff(self.line_of, prepend=-1))
        sizes = np.diff(begins, append=size)
        first = np.repeat(begins, sizes)
        return first.astype(np.int32), (first + np.repeat(sizes, sizes)).astype(np.int32)

    @cached_property
    def sentences(self) -> list[tuple[int, int]]:
        """The sentences as ranges of tokens; every token is in one."""
        starts = [start for start, _ in sentences(self.view.text, self.view.layout)]
        first = np.searchsorted(self.view.tokens.starts, starts, side="left").tolist()
        return list(pairwise(sorted({0, len(self.words), *first})))

    @cached_property
    def parts_of_speech(self) -> Codes:
        return pos.codes(self.words, self.sentences)

    @cached_property
    def hit_tokens(self) -> list[tuple[int, int]]:
        """For each find of a rule the range of tokens that it touches."""
        return self.tokens_of(self.hits)

    def tokens_of(self, spans: Sequence[Span]) -> list[tuple[int, int]]:
        """For each span the range of tokens that it touches."""
        tokens = self.view.tokens
        first = np.searchsorted(tokens.ends, [span.start for span in spans], side="right")
        last = np.searchsorted(tokens.starts, [span.end for span in spans], side="left")
        return list(zip(first.tolist(), last.tolist(), strict=True))

    def empty(self) -> Codes:
        return np.zeros(len(self.words), dtype=np.int32)


# --- word columns: form ----------------------------------------------------------------------------------------------


def word(text: str) -> Iterable[str]:
    return (text,)


def lower(text: str) -> Iterable[str]:
    return (text.lower(),)


def digits_as_zero(text: str) -> Iterable[str]:
    """ "Ab12" → "ab00": numbers of one length are one word."""
    return (_ZERO.sub("0", text.lower()),)


_ZERO = re.compile(r"\d")


@lru_cache(maxsize=1 << 16)
def shape_of(text: str) -> str:
    """ "McCoy" → "XxXxx": upper, lower, digit, and everything else as it is."""
    return "".join(
        "X" if char.isupper() else "x" if char.isalpha() else "0" if char.isdigit() else char for char in text
    )


def shape(text: str) -> Iterable[str]:
    """The shape, of long words only the first ten characters."""
    return (shape_of(text)[:10],)


_RUN = re.compile(r"(.)\1+")


def short_shape(text: str) -> Iterable[str]:
    """ "Kowalski" → "Xx": each run once."""
    return (_RUN.sub(r"\1", shape_of(text)),)


def length(text: str) -> Iterable[str]:
    return (str(min(len(text), 15)),)


def prefix(size: int) -> WordColumn:
    def column(text: str) -> Iterable[str]:
        return (text[:size].lower(),) if len(text) > size else ()

    return _named(column, f"prefix{size}")


def suffix(size: int) -> WordColumn:
    def column(text: str) -> Iterable[str]:
        return (text[-size:].lower(),) if len(text) > size else ()

    return _named(column, f"suffix{size}")


def grams(size: int) -> WordColumn:
    """The character n-grams inside a word, its ends marked."""

    def column(text: str) -> Iterable[str]:
        edged = f"^{text.lower()[:24]}$"
        return {edged[place : place + size] for place in range(len(edged) - size + 1)} if text.isalpha() else ()

    return _named(column, f"grams{size}")


def _named(column: WordColumn, name: str) -> WordColumn:
    column.__name__ = name  # type: ignore[attr-defined]
    return column


CASES = {
    "outside": 0,
    "lower": 1,
    "title": 2,
    "upper": 3,
    "initial": 4,
    "mixed": 5,
    "number": 6,
    "sign": 7,
    "alnum": 8,
}


def case_of(text: str) -> str:
    """One of `CASES`."""
    if text == OUTSIDE:
        return "outside"
    if text.isdigit() or (text[0].isdigit() and not any(map(str.isalpha, text))):
        return "number"
    if not text[0].isalnum():
        return "sign"
    if text.isalpha():
        if text.islower():
            return "lower"
        if len(text) == 1:
            return "initial"
        if text.isupper():
            return "upper"
        return "title" if text[0].isupper() and text[1:].islower() else "mixed"
    return "alnum"


_CASE_NUMBERS = Marks(lambda text: CASES[case_of(text)])


def case(text: str) -> Iterable[str]:
    return (case_of(text),)


# --- word columns: what the lists know -------------------------------------------------------------------------------

_KIND_NAMES: Mapping[Kind, str] = MappingProxyType({kind: (kind.name or "").lower() for kind in Kind})


@lru_cache(maxsize=1 << 10)
def _kind_names(kinds: Kind) -> tuple[str, ...]:
    return tuple(name for kind, name in _KIND_NAMES.items() if kind in kinds)


def kinds(text: str) -> Iterable[str]:
    """The lists that hold the word."""
    return _kind_names(row_of(text).kinds) or ("none",)


def cased_kinds(text: str) -> Iterable[str]:
    """The lists together with the case: "may" and "May", "or" and "OR" are not the same."""
    cased = case_of(text)
    return tuple(f"{cased}/{name}" for name in _kind_names(row_of(text).kinds) or ("none",))


def _log(count: int) -> int:
    return count.bit_length()


def counts(text: str) -> Iterable[str]:
    """How common it is as a surname, a woman's and a man's name, a word, a word of the clinic; in powers of four."""
    row = row_of(text)
    return (
        f"last{_log(row.last) // 2}",
        f"female{_log(row.female) // 2}",
        f"male{_log(row.male) // 2}",
        f"english{_log(row.english) // 2}",
        f"lower{_log(row.lower) // 2}",
        f"clinical{_log(row.clinical) // 2}",
    )


def likelihood_of(row: WordRow) -> int:
    """log₂ of P(word | name) / P(word | English), Bayes–Laplace smoothed (NLM 2013), from −12 to 12.

    With words() totals of about 6.6·10⁸ bearers and 10⁹ uses, adding one to each count smooths both.
    """
    return max(-12, min(12, _log(row.name + 1) - _log(row.english + 1)))


def likelihood(text: str) -> Iterable[str]:
    return (f"{likelihood_of(row_of(text))}",) if text.isalpha() else ()


def cased_likelihood(text: str) -> Iterable[str]:
    return (f"{case_of(text)}/{likelihood_of(row_of(text)) // 2}",) if text.isalpha() else ()


def first_or_last(text: str) -> Iterable[str]:
    """Whether it is rather a first or a last name, and rather a woman's or a man's."""
    row = row_of(text)
    first = row.female + row.male
    if not row.name:
        return ("unknown",)
    side = "first" if first > 4 * row.last else "last" if row.last > 4 * first else "both"
    return (side, f"{case_of(text)}/{side}")


def capitals(text: str) -> Iterable[str]:
    """How much of its use in English is in lower case: a name is seldom so written."""
    row = row_of(text)
    if not row.english:
        return ("unknown",)
    return (f"{min(7, 8 * row.lower // (row.english + 1))}",)


def brown(*lengths: int) -> WordColumn:
    """Prefixes of the path of its Brown cluster, of the form as written."""

    def column(text: str) -> Iterable[str]:
        row = row_of(text)
        path = row.brown_title if text[:1].isupper() and row.brown_title else row.brown
        return tuple(f"{size}:{path & ((1 << size) - 1):x}" for size in lengths) if path else ()

    return _named(column, "brown" + "_".join(map(str, lengths)))


def known_form(text: str) -> Iterable[str]:
    """A coarse class for conjunctions: case, and whether it is rather a name, a word, medicine, or unknown."""
    return (known_form_of(text),)


@lru_cache(maxsize=1 << 16)
def known_form_of(text: str) -> str:
    cased = case_of(text)
    if cased in ("outside", "number", "initial", "alnum"):
        return cased
    if cased == "sign":
        return text[:1]
    row = row_of(text)
    if row.kinds & _TITLES:
        return f"{cased}-title"
    if row.kinds & _CALENDAR:
        return f"{cased}-calendar"
    ratio = likelihood_of(row)
    if row.kinds & _MEDICINE and ratio < 3:
        return f"{cased}-medical"
    if ratio >= 3:
        return f"{cased}-name"
    if ratio >= 0 and row.name:
        return f"{cased}-perhaps"
    return f"{cased}-word" if row.english else f"{cased}-unknown"


_TITLES = Kind.HONORIFIC | Kind.CREDENTIAL
_CALENDAR = Kind.MONTH | Kind.WEEKDAY | Kind.SEASON | Kind.HOLIDAY
_MEDICINE = Kind.MEDICAL | Kind.DISEASE | Kind.DRUG | Kind.SAFE | Kind.ABBREVIATION


# --- text columns: where a token stands ------------------------------------------------------------------------------

_GAPS: Sequence[tuple[str, ...]] = (("start",), ("none",), ("blank",), ("wide",), ("newline",), ("empty line",))


def gap(page: Page) -> Said:
    """What stands before the token: nothing, a blank, more, a line break, an empty line."""
    tokens = page.view.tokens
    codes = page.empty()
    if len(codes):
        size = tokens.starts[1:] - tokens.ends[:-1]
        broken = np.diff(page.line_of)
        codes[1:] = np.where(broken > 1, 5, np.where(broken == 1, 4, np.minimum(size, 2) + 1))
    return Said(codes, _GAPS)


_LINE_KINDS = tuple((kind.value,) for kind in LineKind)
_KIND_CODE = {kind: code for code, kind in enumerate(LineKind)}


def line_kind(page: Page) -> Said:
    """What kind of line the token is in: header, attribute, item, table, prose …"""
    kinds_ = np.array([_KIND_CODE[line.kind] for line in page.view.layout.lines], dtype=np.int32)
    return Said(kinds_[page.line_of] if len(page.words) else page.empty(), _LINE_KINDS)


_PLACES = tuple((f"from{start}", f"to{stop}", f"{start},{stop}") for start in range(6) for stop in range(6))


def line_place(page: Page) -> Said:
    """How many tokens before it and after it in its line, up to five."""
    first, last = page.line_ends
    number = np.arange(len(first), dtype=np.int32)
    return Said(np.minimum(number - first, 5) * 6 + np.minimum(last - 1 - number, 5), _PLACES)


_NOTE_PLACES = tuple((name,) for name in ("top", "head", "body", "foot", "bottom"))


def note_place(page: Page) -> Said:
    """In the first or last lines of the note, or between."""
    line_of = page.line_of
    lines = len(page.view.layout.lines)
    of_line = np.full(lines, 2, dtype=np.int32)
    of_line[max(0, lines - 10) :] = 3
    of_line[max(0, lines - 3) :] = 4
    of_line[:12] = 1
    of_line[:3] = 0
    return Said(of_line[line_of], _NOTE_PLACES)


_LINE_CASES = ("mixed", "upper", "lower")
_CASED = tuple(
    (f"{line}/{token}", f"{note}/{token}") for note in _LINE_CASES for line in _LINE_CASES for token in CASES
)


def _sorts(text: str) -> int:
    """1 where all its letters are capitals, 2 where none is, 3 where some are; 0 where it has none of either."""
    if text.isupper():
        return 1
    if text.islower():
        return 2
    return 3 if any(char.isupper() or char.islower() or char.istitle() for char in text) else 0


_SORTS = Marks(_sorts)
_LINE_CASE = np.array([0, 1, 2, 0], dtype=np.int32)


def case_in_line(page: Page) -> Said:
    """The token's case beside that of its line and of the note: capitals say nothing where all are capitals."""
    if not page.words:
        return Said(page.empty(), _CASED)
    sorts = _SORTS.of(page.view)
    first, _ = page.line_ends
    begins = np.flatnonzero(first == np.arange(len(first)))
    of_line = np.bitwise_or.reduceat(sorts, begins)
    lines = np.repeat(_LINE_CASE[of_line], np.diff(begins, append=len(first)))
    note = _LINE_CASE[np.bitwise_or.reduce(of_line)]
    return Said((note * 3 + lines) * len(CASES) + page.cases, _CASED)


def _runs(page: Page, stretches: Iterable[tuple[int, int, str]]) -> Said:
    """A column that says a value over stretches of characters, and nothing between them."""
    codes = page.empty()
    values: list[tuple[str, ...]] = [()]
    number: dict[str, int] = {}
    tokens = page.view.tokens
    found = list(stretches)
    if found:
        firsts = np.searchsorted(tokens.starts, [start for start, _, _ in found], side="left").tolist()
        lasts = np.searchsorted(tokens.starts, [end for _, end, _ in found], side="left").tolist()
        for first, last, (_, _, value) in zip(firsts, lasts, found, strict=True):
            if value not in number:
                number[value] = len(values)
                values.append((value,))
            codes[first:last] = number[value]
    return Said(codes, values)


def part_of_speech(page: Page) -> Said:
    """The Penn Treebank's tag."""
    return Said(page.parts_of_speech, tuple((tag,) for tag in pos.tags()))


_LETTERS_ONLY = re.compile(r"[^a-z]+")


def plain(name: str) -> str:
    return _LETTERS_ONLY.sub(" ", fold(name)).strip()[:40]


def attribute(page: Page) -> Said:
    """The name of the attribute in whose value the token lies: "attending" in "Attending: …" (Lee 2017, 3.3.1)."""
    text = page.view.text
    pairs = page.view.layout.attributes
    return _runs(page, ((p.value_start, p.value_end, plain(text[p.name_start : p.name_end])) for p in pairs))


def section(page: Page) -> Said:
    """The header of the section that the token lies in."""
    text = page.view.text
    parts = page.view.layout.sections
    return _runs(page, ((s.body_start, s.body_end, plain(text[s.header_start : s.header_end])) for s in parts))


# --- text columns: what its neighbours say of it ----------------------------------------------------------------------

_FRACTION = re.compile(r"(?<![\d/.,-])(\d{1,3})/(\d{1,3})(?![\d/])")
_CLOCK = re.compile(r"(?<![\d/.,:-])(?:[01]\d|2[0-4])[0-5]\d(?![\d/:-]|[.,]\d)")
_LOGGED = re.compile(r"(?m)^[ \t]*(?:[01]\d|2[0-4]):?[0-5]\d\b")
_LOG = 4  # lines that begin with a time make a log of a note


def number_sense(page: Page) -> Said:
    """What "3/10", "118/62", "2004" could be by their size: a day, a score, a pressure, a year, a time of day."""
    text = page.view.text
    fractions = ((m.start(), m.end(), _fraction(int(m[1]), int(m[2]))) for m in _FRACTION.finditer(text))
    kept = "log" if sum(1 for _ in _LOGGED.finditer(text)) >= _LOG else "note"
    clocks = ((m.start(), m.end(), _clock(m[0], kept)) for m in _CLOCK.finditer(text))
    return _runs(page, sorted((*fractions, *clocks)))


def _fraction(left: int, right: int) -> str:
    us, other = 1 <= left <= 12 and 1 <= right <= 31, 1 <= right <= 12 and 1 <= left <= 31
    day = "day" if us else "day-first" if other else "no-day"
    if left <= right and right in (4, 5, 6, 10, 30):
        return f"{day} of {right}"
    if left == right:
        return f"{day} both"
    if 60 <= left <= 280 and 25 <= right < left:
        return f"{day} pressure"
    return f"{day} from 20" if left == 20 else day


def _clock(digits: str, kept: str) -> str:
    return f"{kept} year or time" if 1900 <= int(digits) <= 2040 else f"{kept} time"


_CUES = {
    1: "pain strength power murmur grade stage node nodes positive apgar apgars pulse pulses reflex reflexes score "
    "scale rated rates bp vitals edema gcs ef cm mm mg ml hr sat sats temp murmurs lvef psa inr wbc hgb",
    2: "works worked working work job employed employer occupation employment retired runs owns self-employed career "
    "trade laid hired shift shifts union fired boss coworker foreman business profession",
    4: "mother father mom dad wife husband son daughter brother sister grandmother grandfather aunt uncle niece nephew "
    "cousin partner fiance fiancee girlfriend boyfriend neighbor friend roommate parents family kids children spouse "
    "granddaughter grandson stepson stepdaughter caregiver guardian",
    8: "dr md rn np pa attending resident nurse physician surgeon signed dictated transcribed seen by per notified "
    "paged discussed called consulted assistant therapist scrub anesthesia anes tech initials verified witness",
    16: "hospital clinic transferred admitted admission er ed ward unit floor icu facility center referred snf rehab "
    "discharged room rm bed bay suite",
    32: "lives lived live born moved from resides home house apartment street road county town city village visiting "
    "traveled trip church school college graduated attends attended",
}
_CUE_OF = {word_: bit for bit, words_ in _CUES.items() for word_ in words_.split()}
_CUE = Marks(lambda text: _CUE_OF.get(text.lower(), 0))
_BITS = len(_CUES)
_NEARBY = tuple(tuple(str(bit) for bit in range(_BITS) if code >> bit & 1) for code in range(1 << _BITS))
_AHEAD, _BEHIND = 8, 4  # tokens before and behind


def nearby(page: Page) -> Said:
    """What is spoken of around the token: measures, work, kin, staff, wards, where people live."""
    size = len(page.words)
    codes = page.empty()
    if not size:
        return Said(codes, _NEARBY)
    marks = _CUE.of(page.view)
    places = np.arange(size)
    low, high = np.maximum(places - _AHEAD, 0), np.minimum(places + _BEHIND + 1, size)
    for bit in range(_BITS):
        sums = np.concatenate(([0], np.cumsum(marks >> bit & 1)))
        codes |= ((sums[high] > sums[low]).astype(np.int32)) << bit
    return Said(codes, _NEARBY)


# --- text columns: what is found in it -------------------------------------------------------------------------------

_PHRASE_KINDS = (
    Kind.CITY | Kind.STATE | Kind.COUNTRY | Kind.COUNTY | Kind.STREET | Kind.LANDMARK | Kind.HOSPITAL | Kind.DEPARTMENT
    | Kind.SCHOOL | Kind.COMPANY | Kind.ORGANIZATION | Kind.PROFESSION | Kind.NATIONALITY | Kind.HOLIDAY | Kind.DISEASE
    | Kind.DRUG | Kind.EPONYM | Kind.MEDICAL
)  # fmt: skip


@lru_cache(maxsize=1 << 12)
def _phrase_values(kinds_: Kind, many: bool, inside: bool) -> tuple[str, ...]:
    begin = "I" if inside else "B"
    size = "n" if many else "1"
    return tuple(f"{begin}{size}-{name}" for name in _kind_names(kinds_))


@dataclass(slots=True)
class _Numbered:
    """Tokens → the numbers by which the lists' phrases know them, worked out once for each word."""

    _held: tuple[Met, Marks] | None = None

    def of(self, seen: View) -> tuple[Met, NDArray[np.int32]]:
        met, held = phrases().met(), self._held
        if held is None or held[0] is not met:
            held = self._held = met, Marks(met.meet)
        return met, held[1].of(seen)


_numbered = _Numbered()


def phrase(page: Page) -> Said:
    """The longest phrases of the lists: where one begins, where it goes on, of what kinds, of one word or several."""
    codes = page.empty()
    values: list[tuple[str, ...]] = [()]
    firsts, lasts, masks = phrases().find(*_numbered.of(page.view), _PHRASE_KINDS)
    many = lasts - firsts > 1
    different, inverse = np.unique(masks.astype(np.int64) * 2 + many, return_inverse=True)
    for both in different.tolist():
        kinds_, is_many = Kind(both >> 1), bool(both & 1)
        values += [_phrase_values(kinds_, is_many, False), _phrase_values(kinds_, is_many, True)]
    begin = (inverse * 2 + 1).astype(np.int32)
    codes[firsts] = begin
    for place in np.flatnonzero(many).tolist():
        codes[firsts[place] + 1 : lasts[place]] = begin[place] + 1
    return Said(codes, values)


def rule(page: Page) -> Said:
    """What a rule detector found at the token: its label, and whether the find begins here."""
    codes = page.empty()
    values: list[tuple[str, ...]] = [()]
    number: dict[tuple[str, bool, str], int] = {}
    for span, (first, last) in zip(page.hits, page.hit_tokens, strict=True):
        sure = span.score >= 0.9
        found = (span.label.value, sure, span.source)
        if found not in number:
            number[found] = len(values)
            more = (f"{'!' if sure else '?'}{span.label}", span.source)
            values += [(f"B-{span.label}", *more), (f"I-{span.label}", *more)]
        if first < last:
            codes[first] = number[found]
            codes[first + 1 : last] = number[found] + 1
    return Said(codes, values)


# --- text columns: evidence elsewhere in the note --------------------------------------------------------------------

_PERSON_TITLES = frozenset(
    {"mr", "mrs", "ms", "miss", "dr", "drs", "doctor", "prof", "professor", "nurse", "attending", "surgeon"}
    | {"physician", "md", "patient", "name"}
)
_CREDENTIALS = frozenset(
    {"md", "do", "rn", "np", "pa", "phd", "dds", "lcsw", "lpn", "crna", "fnp", "aprn", "dpm", "pharmd", "facs", "otr"}
    | {"pt", "rd", "lpc", "lmft", "mbbs"}
)
_TITLE, _CREDENTIAL, _SIGN = 1, 2, 4


def _role(text: str) -> int:
    return _TITLE * (text in _PERSON_TITLES) | _CREDENTIAL * (text in _CREDENTIALS) | _SIGN * (text in (".", ",", ":"))


_EVIDENCE_BITS = ("title", "credential", "lower", "capital", "rule", "again")
_EVIDENCE = tuple(
    tuple(name for bit, name in enumerate(_EVIDENCE_BITS) if mask >> bit & 1) + ((f"all{mask}",) if mask else ())
    for mask in range(1 << len(_EVIDENCE_BITS))
)


_ROLES = Marks(lambda text: _role(text.lower()))


@compiled
def _evidence(
    words: Codes, cases: Codes, roles: Codes, line_of: NDArray[np.int64], ruled: NDArray[np.bool_], masks: Codes,
    out: Codes,
) -> None:  # fmt: skip
    """masks: a 0 for each word there is, and so again in the end."""
    size = len(words)
    seen, again = 64, 32
    for at in range(size):
        mask = masks[words[at]]
        mask |= again if mask & seen else seen
        if cases[at] >= 1 and cases[at] <= 5 and cases[at] != 4:
            line = line_of[at]
            near = at >= 1 and line_of[at - 1] == line
            far = at >= 2 and line_of[at - 2] == line and roles[at - 1] & _SIGN
            if (near and roles[at - 1] & _TITLE) or (far and roles[at - 2] & _TITLE):
                mask |= 1
            near = at + 1 < size and line_of[at + 1] == line
            far = at + 2 < size and line_of[at + 2] == line and roles[at + 1] & _SIGN
            if (near and roles[at + 1] & _CREDENTIAL) or (far and roles[at + 2] & _CREDENTIAL):
                mask |= 2
            if cases[at] == 1:
                mask |= 4
            if cases[at] == 2 and at >= 1 and cases[at - 1] == 1 and line_of[at - 1] == line:
                mask |= 8
            if ruled[at]:
                mask |= 16
        masks[words[at]] = mask
    for at in range(size):
        if cases[at] >= 1 and cases[at] <= 5 and cases[at] != 4:
            out[at] = masks[words[at]] & (seen - 1)
    for at in range(size):
        masks[words[at]] = 0


class _Room(local):
    """Room for a number for each word, all 0 between two uses."""

    def __init__(self) -> None:
        self._masks = np.zeros(0, dtype=np.int32)

    def of(self, size: int) -> Codes:
        if len(self._masks) < size:
            self._masks = np.zeros(2 * size, dtype=np.int32)
        return self._masks


_room = _Room()


def evidence(page: Page) -> Said:
    """What the word's other uses in the note tell of it: after a title, before a credential, in lower case, with a
    capital in mid sentence, in a name that a rule found (after Yang & Garibaldi 2015, "trusted terms")."""
    ruled = np.zeros(len(page.words), dtype=np.bool_)
    for span, (first, last) in zip(page.hits, page.hit_tokens, strict=True):
        if span.label.category == "NAME" and span.score >= 0.8:
            ruled[first:last] = True
    words, codes = page.view.lower_types, page.empty()
    masks = _room.of(len(page.view.registry.words))
    _evidence(words, page.cases, _ROLES.of(page.view), page.line_of, ruled, masks, codes)
    return Said(codes, _EVIDENCE)


# --- text columns: what earlier models found -------------------------------------------------------------------------


def _numbered_sets(rows: Iterable[frozenset[str]]) -> Said:
    number: dict[frozenset[str], int] = {frozenset(): 0}
    codes = [number.setdefault(row, len(number)) for row in rows]
    return Said(np.array(codes, dtype=np.int32), [tuple(sorted(row)) for row in number])


def earlier(page: Page) -> Said:
    """What an earlier model took the token for (Tafvizi 2011, 2.4 and 7.2.3)."""
    rows: list[frozenset[str]] = [frozenset()] * len(page.words)
    for span, (first, last) in zip(page.earlier, page.tokens_of(page.earlier), strict=True):
        for place in range(first, last):
            head = "I" if place > first else "B"
            rows[place] |= {f"{span.source} {head}-{span.label}", f"{span.source} {span.label.category}"}
    return _numbered_sets(rows)


_NEAR = 8


def earlier_near(page: Page) -> Said:
    """What an earlier model found in the tokens around it, before and behind (7.2.3: "whether the surrounding context
    of a token includes a PHI")."""
    rows: list[frozenset[str]] = [frozenset()] * len(page.words)
    for span, (first, last) in zip(page.earlier, page.tokens_of(page.earlier), strict=True):
        for place in range(max(0, first - _NEAR), first):
            rows[place] |= {f"{span.source} behind {span.label}"}
        for place in range(last, min(len(rows), last + _NEAR)):
            rows[place] |= {f"{span.source} before {span.label}"}
    return _numbered_sets(rows)


def earlier_elsewhere(page: Page) -> Said:
    """What an earlier model took the same word for in other places of the note (7.2.3: "whether the same word in
    another part of the document was classified as a PHI"); "none" where it has others, and found nothing there."""
    words = page.view.lower_types.tolist()
    uses: dict[int, int] = {}
    for word_ in words:
        uses[word_] = uses.get(word_, 0) + 1
    found: dict[int, dict[str, int]] = {}
    own: list[list[str]] = [[] for _ in words]
    for span, (first, last) in zip(page.earlier, page.tokens_of(page.earlier), strict=True):
        name = f"{span.source} {span.label}"
        for place in range(first, last):
            own[place].append(name)
            counts_ = found.setdefault(words[place], {})
            counts_[name] = counts_.get(name, 0) + 1

    def elsewhere(place: int, word_: int) -> frozenset[str]:
        if uses[word_] == 1:
            return frozenset()
        there = found.get(word_, {}).items()
        return frozenset(name for name, count in there if count > own[place].count(name)) or frozenset(("none",))

    cases = page.cases
    letters = (cases >= _FIRST_LETTERS) & (cases <= _LAST_LETTERS)
    rows = (elsewhere(place, word_) if letters[place] else frozenset[str]() for place, word_ in enumerate(words))
    return _numbered_sets(rows)


_FIRST_LETTERS, _LAST_LETTERS = CASES["lower"], CASES["mixed"]

TextColumn = Callable[[Page], Said]
