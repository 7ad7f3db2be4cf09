"""Names: the six-state automaton of NLM Scrubber (figure 4), what leads into it, and what a run of names is worth.

The automaton's table is the figure's. The paper feeds it from four tables (prefixes, suffixes, names, punctuation) and
lets nothing else decide; here each token's input also depends on the state and the neighbours, which is where the
context comes in: after a title, a family word ("daughter") or a field name ("Surgeon:") the automaton is in the prefix
state, and there a word that is hardly a name ("Will", "Early") is fed as one.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from deident import lexicons
from deident.detect._nlm_words import KEPT, classes, symbol, word_likelihood
from deident.labels import Label
from deident.lexicons import Kind
from deident.view import Marks, View, row_of


class State(IntEnum):
    """The states of figure 4."""

    START = 0
    PREFIX = 1
    INITIAL = 2
    NAME = 3
    SUFFIX = 4
    END = 5


INPUTS = "pins!*"  # prefix, initial, name, suffix, punctuation, anything else

_S, _P, _I, _N, _X, _E = State

# fmt: off
TABLE: MappingProxyType[State, MappingProxyType[str, State]] = MappingProxyType({
    state: MappingProxyType(dict(zip(INPUTS, row, strict=True)))
    for state, row in {
        #    p   i   n   s   !   *
        _S: (_P, _I, _N, _S, _S, _S),
        _P: (_P, _I, _N, _P, _P, _S),
        _I: (_P, _I, _N, _S, _I, _S),
        _N: (_E, _N, _N, _X, _N, _E),
        _X: (_E, _E, _E, _X, _X, _E),
        _E: (_E, _E, _E, _E, _E, _E),
    }.items()
})
# fmt: on


def walk(inputs: str) -> list[State]:
    """The states that a string of inputs leads through, the start included.

    >>> "".join(state.name[0] for state in walk("p!ni!n*"))  # "Mr . John A . Smith came"
    'SPPNNNNE'
    """
    states = [State.START]
    for item in inputs:
        states.append(TABLE[states[-1]][item])
    return states


@dataclass(frozen=True, slots=True)
class Run:
    """An accepted name: its first and last token, what led to it, and how sure it is."""

    first: int
    last: int
    rule: str
    label: Label
    score: float


# What may lead to a name or begin one, over the symbols of `_nlm_words.symbol`, tried in this order.
_STARTS = (
    ("p", r"(?P<title>p\.?(?:[&/]p\.?|,?p\.?)?)(?=[\"']?[inwkWmvqxrlfe])"),  # Dr., Mr. and Mrs.
    ("lc", r"(?P<field>(?:l[lfr]?|c)[!.)]{0,2}[:|][\"']?)(?=[inwkWmvqfprlxe])"),  # Surgeon:  Patient Name:  |PT NAME|
    ("b", r"(?P<by>b:?)(?=[inwkmvqp])"),  # dictated by
    ("f", r"(?P<family>f[:,(\"]{0,2})(?=[\"']?[inwkmvq]|W-[nwk])"),  # daughter Maria; wife, Lee Ann; son (Jas)
    ("rlc", r"(?P<role>[rl][,(]?|c)(?=[nwkmvqi])"),  # nurse Misty, RN Sharp
    ("i", r"(?P<initial>i\.?(?:[-']?i\.?){0,2})(?=[nwkmq])"),  # J. R. Smith
    ("wk", r"(?P<word>[wk])(?=i?\.?[nk]|[-'][nwk]|qn|\"[nwklW]\"[nwk])"),  # Will Smith
    ("wkWrlmv", r"(?P<inverted>[wkWrlmv](?:-[nwkW])?(?=,[nwkmv]|,i\.?))"),  # YOUNG,DALLAS  Case, Dean R.
    ("w", r"(?P<pair>w)(?=i?\.?w)"),  # two words that no list has
    ("nmq", r"(?P<name>[nm]|q(?=n|qn))"),
)
_START = MappingProxyType(
    {
        first: re.compile("|".join(regex for firsts, regex in _STARTS if first in firsts))
        for first in sorted(set("".join(firsts for firsts, _ in _STARTS)))
    }
)
_MAY_START = re.compile(
    r"""[pbfinmqr]|[wk](?=[-i.nkqw"',])|l(?=[lfr!.):|,(nwkmvqi])|c(?=[!.):|nwkmvqi])|[Wv](?=[-,])"""
)
_LEAD = {"title", "field", "by", "family", "role"}
_LEAD_SCORE = {"title": 0.95, "field": 0.93, "by": 0.85, "family": 0.88, "role": 0.8}
_DOCTOR_TITLES = frozenset(["dr", "drs", "doctor", "prof", "professor", "dra"])
_CREDENTIAL = re.compile(
    r"""[ \t]?(?:,[ \t]?|\()?[ \t]?(?:\n[ ]{0,8})?
        (?:M\.?[ ]?D\b|D\.?O\b\.?|R\.?N\b|N\.?P\b|P\.?A\b|P\.A\.|Ph\.?\s?D\b|D\.?D\.?S\b|D\.?P\.?M\b|O\.?D\b|D\.?C\b\.
          |LCSW|LICSW|LMSW|MSW|LPN|LVN|CRNA|FNP|A?P?RN[ ]?P?|APRN|ARNP|CRNP|ACNP|PNP|PMHNP|DNP|Pharm\.?D|RPh|FACS
          |FAC[CPEO]\w?|FAAP|OTR|PT\b|DPT|RDN?\b|LPC\b|LMFT|MFT|LMHC|MB\b|MBBS|MBChB|PsyD|Psy\.D|CNM|CNS\b|BSN|CMA
          |RRT?\b|CRT\b|SLP|CCC|FRC[SP]|EMT|RDMS|RVT|MPH|C?CDE\b|DVM|AuD|LAC\b|CCRN)(?![a-z])
      | [ \t]?,?[ \t](?:md|rn|np|pa|pa-c|do|crna|lpn|lcsw|dds|dpm|phd|arnp|aprn|cnm|otr|cma|fnp)\b""",
    re.VERBOSE,
)
_COMMON_WHERE_FIRST = -1.2


@lru_cache(maxsize=KEPT)
def _first_not_last(word: str) -> bool:
    row = row_of(word)
    return row.female + row.male > row.last


@lru_cache(maxsize=KEPT)
def _is_function(word: str) -> bool:
    low = word.lower()
    return low in classes()["functions"] and not (low in ("will", "may") and word[0].isupper() and not word.isupper())


_LOWER_NOTE = 0.07  # share of capitalised words below which a note is written in lower case
_CAPITAL_NOTE = 0.6  # share of words all in capitals from which a capital tells nothing


@dataclass(frozen=True, slots=True)
class _Reading:
    """A text as the automaton reads it."""

    view: View
    symbols: str
    lower_note: bool
    capital_note: bool
    wrap: int  # characters from which on a line may be wrapped

    def gap(self, index: int) -> str:
        """What stands between a token and the one before: "" glued, " " a blank, "\\n" a wrapped line, "|" a gap."""
        view = self.view
        before, here = view.ends[index - 1], view.starts[index]
        if before == here:
            return ""
        if here - before == 1 and view.text[before] == " ":
            return " "
        between = view.text[before:here]
        if "\n" not in between:
            # two blanks part columns, except behind a full stop
            return " " if here - before <= 2 and "\t" not in between and view.text[before - 1] in ".,:" else "|"
        if between.count("\n") > 1 or here - before > 14:
            return "|"
        line = view.text.rfind("\n", 0, before)
        return "\n" if before - line >= self.wrap else "|"

    def opens_cell(self, index: int) -> bool:
        """Whether a token begins a line, a column or a field's value."""
        return index == 0 or self.gap(index) == "|" or self.symbols[index - 1] in ':|"'


_WRAP = 48  # characters: a shorter line ends where its writer wanted
_NARROW = 45  # but in a note set in a column as narrow as this, a line may be wrapped from a third of its width on


def _read(view: View, marks: str) -> _Reading:
    capitals = sum(map(marks.count, "wWnkqiplrfyc"))
    words = capitals + sum(map(marks.count, "xmve"))
    if words == 0:
        return _Reading(view, marks, False, False, _WRAP)
    upper = sum(map(str.isupper, view.words)) if capitals > _CAPITAL_NOTE * words else 0
    # of these symbols only capitals have some; family words and field names come in any case
    lower_note = sum(map(marks.count, "wWnki")) < _LOWER_NOTE * words
    marks = _hyphenated(view, marks, lower_note)
    return _Reading(view, marks, lower_note, upper > _CAPITAL_NOTE * words, _wrap(view.text))


def _wrap(text: str) -> int:
    """From how many characters on a line of this note may be wrapped."""
    lines = sorted(len(line) for line in text.split("\n") if line)
    widest = lines[len(lines) * 9 // 10] if len(lines) >= 10 else _WRAP
    return widest // 3 if widest <= _NARROW else _WRAP


def _hyphenated(view: View, marks: str, lower_note: bool) -> str:
    """The symbols, with those of a hyphenated first name made names: "Un-kyung", "Ha-eun" are listed as wholes."""
    before = "nwkWrlfqimvxy" if lower_note else "nwkWrlfqi"
    changed: list[str] | None = None
    place = marks.find("-", 1)
    while 0 < place < len(marks) - 1:
        first, place = place - 1, marks.find("-", place + 1)
        if marks[first] not in before or marks[first + 2] not in "nwkWmvxri":
            continue
        glued = view.ends[first] == view.starts[first + 1] and view.ends[first + 1] == view.starts[first + 2]
        if glued and _is_given_pair(view.words[first], view.words[first + 2]):
            changed = changed or list(marks)
            changed[first] = changed[first + 2] = "n"
    return marks if changed is None else "".join(changed)


@lru_cache(maxsize=KEPT)
def _is_given_pair(one: str, two: str) -> bool:
    row = row_of(one + two)
    if row.female + row.male >= 100 and word_likelihood(one + two) > 0.5:
        return True
    # two syllables of which the second is a name: "Yoon-seo"
    last = row_of(two)
    plain = last.clinical or last.lower > 100 or last.kinds & (Kind.EPONYM | Kind.MONTH | Kind.WEEKDAY | Kind.DRUG)
    return len(one) <= 5 and len(two) <= 6 and one.istitle() and two.islower() and not plain and last.name >= 300


def _input(reading: _Reading, index: int, state: State, lead: str, first: int) -> str:
    """Which of the figure's six inputs a token is, in this state and among these neighbours."""
    mark = reading.symbols[index]
    word = reading.view.words[index]
    if mark == "n":
        return "n"
    if mark == "i":
        # the pronoun is no initial: "Smith I think"
        return "i"
    if state in (State.START, State.INITIAL):
        if mark in "wkm" or (mark == "q" and _follows_name(reading, index)):
            return "n"
        if mark in "Wrlv" and (lead == "inverted" or (lead == "field" and _ends_value(reading, index))):
            return "n"
        if state is State.INITIAL and lead in _LEAD and not _is_function(word):
            # "scribe A. Priest", "dr p. hallqvist"
            lower = mark in "vxe" and reading.view.words[first].islower() and word.isalpha()
            if lower or (mark in "Wr" and word.istitle() and row_of(word).name >= 1000):
                return "n"
        if state is State.INITIAL and mark == "W" and reading.symbols[index + 1 : index + 3] == ",c":
            return "n"  # "Asst: T. MAY, PA-C"
        return "!" if mark in ".-'" else "*"
    if state is State.PREFIX:
        return _input_after_lead(reading, index, lead)
    following = reading.symbols[index + 1 : index + 2]
    if (
        mark in "wkWrlq"
        and reading.symbols[index - 1] in '"('
        and _NICKNAME.match(reading.symbols, index - 1) is not None
    ):
        return "n"
    match mark:
        case "w" | "k":
            # a capital tells little where all words have one
            least = -0.3 if word.isupper() else _COMMON_WHERE_FIRST
            certain = lead in ("title", "pair") or reading.symbols[index - 1] == "q"
            likely = word_likelihood(word) > least or ((certain or row_of(word).lower == 0) and not word.isupper())
            return "n" if (likely or _after_initial(reading, index)) and not _is_function(word) else "*"
        case "m":
            return "n" if reading.gap(index) in ("", " ") else "*"
        case "v":
            if reading.gap(index) == "" and reading.symbols[index - 1] == "'":
                return "n"  # Fa'afetai
            return "n" if reading.view.words[first].islower() and _is_lower_name(word) else "*"
        case "W" | "r" | "f" | "l" | "y":
            if _is_function(word) or word.islower():
                return "*"
            if lead in ("field", "inverted", "role", "family") and _ends_value(reading, index):
                return "n"
            if word.isupper():
                return "*"
            if mark in "rl" and _is_common_name(word):
                return "n"
            if mark == "W" and reading.gap(index) == " ":
                # a surname, though a word, behind a title and a first name; a middle name between two names
                if (
                    lead == "title"
                    and reading.symbols[index - 1] == "n"
                    and _first_not_last(reading.view.words[index - 1])
                ):
                    return "n"
                if following == "n" and reading.gap(index + 1) == " " and row_of(word).name >= 500:
                    return "n"
            joined = mark == "W" and reading.gap(index) == "" and reading.symbols[index - 1] == "-"
            return "n" if joined or _after_initial(reading, index) else "*"
        case "e":
            return "n" if reading.symbols[index - 1] == "d" and reading.gap(index) == "" else "*"
        case "x":
            # "Seo-yeon", "Ji-ho"
            joined = (
                reading.symbols[index - 1] == "-" and index > first + 1 and word.isalpha() and row_of(word).lower < 400
            )
            if word in ("ten", "y", "do", "das", "e", "zu") and following in tuple("nwW") and reading.gap(index) == " ":
                return "n" if reading.view.words[index + 1].istitle() else "*"  # Hans ten Broeck
            scanned = reading.symbols[index - 1] == "d" and word.islower()
            return "n" if (joined or scanned) and reading.gap(index) == "" else "*"
        case "d":
            # noDigit (Kayaalp 2013) gives way to a scanner's slip inside a name: "Rosen8aum", "F0ster"
            slip = reading.gap(index) == "" and set(word) <= set("0158") and reading.symbols[index - 1] in "nwkmWvx"
            inside = reading.symbols[index + 1 : index + 2].isalpha() and reading.gap(index + 1) == ""
            return "n" if slip and inside else "*"
        case "q":
            own = reading.gap(index) == "" or (not word.islower() and row_of(word).last >= 3000)  # O'Dell, Bao-Tran Le
            return "n" if own or _follows_name(reading, index) else "*"
        case "s":
            return "s"
        case ".":
            before = reading.view.words[index - 1]
            return (
                "!" if reading.gap(index) == "" and (len(before) == 1 or before in ("St", "Ste", "Wm", "Jos")) else "*"
            )
        case "-" | "'":
            glued = reading.gap(index) == "" and index + 1 < len(reading.symbols) and reading.gap(index + 1) == ""
            if (
                mark == "-"
                and following in tuple("nwk")
                and reading.gap(index) == ""
                and reading.gap(index + 1) == "\n"
            ):
                return "!"  # "Nwosu-" at a line's end
            if glued and following in tuple("nwkWmvqxrlf") and reading.view.words[index + 1][0].isalpha():
                return "!" if not (mark == "'" and reading.view.words[index + 1].lower() == "s") else "*"
            return "*"
        case ",":
            if following == "s":
                return "!"
            return "!" if _is_last_first(reading, first, index, lead) else "*"
        case '"' | "(" | ")":
            if _NICKNAME.match(reading.symbols, index) is not None:
                inside = reading.symbols[index + 1 : index + 2]
                return "!" if inside in tuple('nwkmq"') or mark == '"' or lead == "field" else "*"
            return "!" if index - 2 > first and _NICKNAME_END.search(reading.symbols, index - 4, index + 1) else "*"
        case _:
            return "*"


# Robert "Bob" Smith, CORNELIA ("CORRIE") M
_NICKNAME = re.compile(r"""\("?[nwkmWrlq]"?\)|"[nwkmWrlq]"\)?""")
_NICKNAME_END = re.compile(r"""[("][nwkmWrlq](?:"|\)|"\))$""")


def _after_initial(reading: _Reading, index: int) -> bool:
    """Whether a name and an initial stand before: what follows "Harlan E." is a surname, whatever the word."""
    marks = reading.symbols
    stop = index - 2 if marks[index - 1] == "." else index - 1
    return stop > 0 and marks[stop] == "i" and marks[stop - 1] == "n" and reading.gap(index) == " "


def _input_after_lead(reading: _Reading, index: int, lead: str) -> str:
    mark = reading.symbols[index]
    word = reading.view.words[index]
    match mark:
        case "w" | "m":
            return "n" if not (word.isupper() and lead in ("family", "by") and word_likelihood(word) < -1) else "*"
        case "k":
            return "n" if not word.isupper() or lead == "title" or word_likelihood(word) > -0.3 else "*"
        case "v":
            if lead == "title" or reading.lower_note:
                return "n" if _is_lower_name(word) or lead == "title" else "*"
            return "*"
        case "e" if lead in ("title", "field", "by"):
            if reading.symbols[index + 1 : index + 2] == "'" and reading.gap(index + 1) == "":
                return "n"  # o'hare
            return "i" if reading.symbols[index + 1 : index + 2] == "." else "*"
        case "x" | "y" if (
            lead == "title" and word in ("will", "may") and reading.symbols[index + 1 : index + 2] in tuple("mv")
        ):
            return "n"
        case "x":
            # only a name can follow "mr."; "ms" and "dr" have other uses
            known = row_of(word).name >= 2000 and not _is_function(word)
            return "n" if lead == "title" and known and reading.lower_note and word.isalpha() else "*"
        case "W" | "c":
            wanted = lead == "title" or (lead == "field" and _ends_value(reading, index))
            after = reading.symbols[index + 1 : index + 2]
            if lead == "field" and after in ("n", ",") and row_of(word).name >= 1000:
                return "n"  # RE: MAY NOHEALANI YOSHIDA
            if lead == "family" and after == "-":
                return "n"  # Ai-Ling
            if lead == "title" and word in ("MAY", "WILL") and after in tuple("nk") and reading.gap(index + 1) == " ":
                return "n"  # DR. MAY YOUNG
            if lead == "title" and word.lower() in classes()["function_surnames"] and word.istitle():
                return "n" if after in tuple("y.,;)'") or not after else "*"  # "Mr. So said"
            return "n" if wanted and not _is_function(word) else "*"
        case "q":
            return "n" if _follows_name(reading, index) or lead == "title" else "*"
        case "." | '"' | "'":
            return "!"
        case "p":
            return "p"
        case "f" | "r" | "l":
            if lead == "title" and not word.islower() and (mark == "r" or row_of(word).name >= 1000):
                return "n"  # "Dr. Bishop"
            known = lead == "field" and row_of(word).name >= 1000 and not word.islower()
            if known and (reading.symbols[index + 1 : index + 2] == "," or _ends_value(reading, index)):
                return "n"  # PT: MAJOR, DREW A.
            return "p" if lead in ("field", "by") else "*"
        case _:
            return "*"


@lru_cache(maxsize=KEPT)
def _is_lower_name(word: str) -> bool:
    row = row_of(word)
    return word_likelihood(word) > -0.5 and row.clinical == 0 and (row.name >= 100 or row.english == 0)


def _follows_name(reading: _Reading, index: int) -> bool:
    """Whether a particle has its name behind it: "van der Berg", "O'Brien"."""
    return re.match(r"['.-]?(?:q['.-]?){0,2}[nwkmv]", reading.symbols[index + 1 : index + 8]) is not None


def _is_last_first(reading: _Reading, first: int, comma: int, lead: str) -> bool:
    """ "Smith, John" and "SMITH, JOHN A", but not "Kimberly, Maria and …"."""
    marks, words = reading.symbols, reading.view.words
    mark = marks[comma + 1 : comma + 2]
    if not mark or reading.gap(comma + 1) not in ("", " ", "\n") or "," in marks[first:comma]:
        return False
    given, after = words[comma + 1], marks[comma + 2 : comma + 3]
    if mark == "i":  # "Tanner, L."
        closed = not after or reading.gap(comma + 2) == "|"
        if after == ".":  # no "M.D."
            closed = comma + 3 >= len(marks) or reading.gap(comma + 3) != "" or marks[comma + 3] in ".,;)"
        sure = lead == "inverted" or word_likelihood(words[first]) > 0
        return closed and (lead == "field" or (reading.opens_cell(first) and sure))
    if mark not in ("nwkmWrl" if lead in ("field", "inverted") else "nwkm") or _is_function(given):
        return False
    if words[first].isupper() != given.isupper() and len(words[first]) > 1:
        return False
    if lead == "inverted":
        return True
    if word_likelihood(given) < -0.5 and lead != "field":
        return False
    if lead == "field" and after != ",":
        return True
    if reading.gap(comma + 1) == "":
        return True
    return not _first_not_last(words[comma - 1]) and (_first_not_last(given) or after in ("i", ""))


def _is_inverted(reading: _Reading, start: int) -> bool:
    """Whether "CASE, DEAN" is a surname, though a word, and a first name: by the comma's place and the second word."""
    comma = reading.symbols.index(",", start)
    given, surname = reading.view.words[comma + 1], reading.view.words[start]
    if surname.islower():  # "tran, hue thi" at the head of a note in lower case
        likely = word_likelihood(surname) > 0.5 and row_of(surname).last >= 500
        return reading.lower_note and likely and reading.opens_cell(start) and _first_not_last(given)
    if reading.symbols[comma + 1] == "i":
        return reading.symbols[start] == "w" and word_likelihood(surname) > -1 and not surname.isupper()
    if not _first_not_last(given) or word_likelihood(given) < 0 or row_of(reading.view.words[start]).name < 1000:
        return False
    glued = reading.gap(comma + 1) == ""
    return reading.gap(comma) == "" and (glued or (reading.opens_cell(start) and reading.gap(comma + 1) == " "))


def _ends_value(reading: _Reading, index: int) -> bool:
    """Whether a word, though no name by itself, is part of a name that fills its field: "PATIENT: BRUCE IRON CLOUD".

    From the word on to the end of the value there are at most three words, all written alike.
    """
    view, marks = reading.view, reading.symbols
    capitals = view.words[index].isupper()
    for place in range(index, min(index + 3, len(marks))):
        word = view.words[place]
        if marks[place] not in "nwkWrlqi" or (word.isupper() != capitals and marks[place] != "i"):
            return False
        if row_of(word).clinical > 100 or (place > index and reading.gap(place) != " "):
            return False
        after = marks[place + 1 : place + 2]
        if not after or after in ',(;/"' or (after not in ":-'." and reading.gap(place + 1) == "|"):
            return True
        if after in ":c|":
            return after != ":"
    return False


@lru_cache(maxsize=KEPT)
def _is_common_name(word: str) -> bool:
    """A role that is a name besides: Dean, Bishop, Major."""
    return row_of(word).name >= 10_000 and word_likelihood(word) > -0.6


def runs(view: View, symbols: str) -> list[Run]:
    """The names of a text, in order and disjoint; `symbols` are those of its words."""
    reading = _read(view, symbols)
    found: list[Run] = []
    position, size = 0, len(reading.symbols)
    for hit in _MAY_START.finditer(reading.symbols):
        if hit.start() < position:
            continue
        match = _START[hit[0]].match(reading.symbols, hit.start())
        if match is None:
            continue
        kind = match.lastgroup or ""
        start = match.end() if kind in _LEAD else match.start()
        position = match.start() + 1
        if kind == "name" and match[0] == "m" and not (reading.lower_note or _lower_company(reading, start)):
            continue
        if kind == "role" and start < size and reading.gap(start) == "|":
            kind = "field"  # "Examiner <tab> Bhattacharya, S."
        elif kind == "role" and reading.symbols[start : start + 2] == "n," and view.words[match.start()].isupper():
            kind = "field"  # "NAME NGUYEN, THANH VAN"
        if kind == "field" and start < size and reading.symbols[start] in "mvxqfe":
            run = _lower_value(reading, start)
            if run is not None:
                found.append(run)
                position = run.last + 1
                continue
        if kind in _LEAD and not _leads(reading, kind, match.start(), start):
            continue
        if kind == "inverted" and not _is_inverted(reading, start):
            continue
        stop, last = _run(reading, start, kind)
        if last < start:
            continue
        run = _judged(reading, start, last, kind, match.start())
        if run is not None:
            run = _with_words(reading, run)
            found.append(run)
            if run.rule in ("title", "by"):
                found += _joined_to(reading, run)
            position = found[-1].last + 1
        elif kind not in _LEAD:
            position = max(position, stop)
    return found + list(_credentialed(reading))


def _with_words(reading: _Reading, run: Run) -> Run:
    """A first name with the words of a Native American surname behind it: "Verna [Fast Horse]"."""
    view, after = reading.view, run.last + 1
    if run.last > run.first and view.lower[run.last] in classes()["name_adjectives"]:
        after = run.last  # the automaton took the first of the two
    if after + 1 >= len(view.words) or reading.gap(after) not in (" ", "\n") or reading.gap(after + 1) != " ":
        return run
    lower, words = view.lower, view.words
    fits = lower[after] in classes()["name_adjectives"] and lower[after + 1] in classes()["name_nouns"]
    written = all(
        word.istitle() or (word.isupper() and words[after - 1].isupper()) for word in words[after : after + 2]
    )
    return replace(run, last=after + 1) if fits and written else run


# --- back from a credential -------------------------------------------------------------------------------------------
# The automaton reads onwards, and a surname that is a word ("Earl Bishop, M.D.", "Church, CRNA") never starts it. What
# stands before a credential is a name whatever its words, so from there we read back. The paper has no such step.

_CREDENTIALED = re.compile(r"[nwkWrlfsiv](?=[\"')]?\.?,?(?:c|i\.?i|W\.?i)|,?l)")
_LOWER_CREDENTIAL = re.compile(
    r"[ \t]{0,2},?[ \t]{1,2}(?:md|rn|np|do|crna|lpn|lcsw|lmft|dds|dpm|arnp|aprn|cnm|cma|fnp|pa-c|pharmd|otr|od)\b"
)
_LOWER_SIGNED = re.compile(r"e\.?[mvxynkq](?:[-'][mvxny]){0,2},?l")


def _credentialed(reading: _Reading) -> Iterator[Run]:
    view, marks = reading.view, reading.symbols
    text, ends = view.text, view.ends
    for match in _CREDENTIALED.finditer(marks):
        last = match.start()
        end = ends[last]
        if marks[last + 1] == "." and ends[last + 1] == end + 1 and (marks[last] in "is"):
            end += 1
        elif marks[last + 1] in "\"')":
            end = ends[last + 1]
        if _CREDENTIAL.match(text, end) is None or (marks[last] == "i" and marks[last + 1] == "i"):
            continue
        first = _chain(reading, last)
        if first is not None:
            yield Run(first, last, "credential", Label.DOCTOR, 0.93)
    for match in _LOWER_SIGNED.finditer(marks):
        first = match.start()
        if first and reading.gap(first) == "":
            continue
        stop = match.end() - 1
        last = stop - 2 if marks[stop - 1] == "," else stop - 1
        row = row_of(view.words[last])
        if _LOWER_CREDENTIAL.match(text, ends[last]) is None or row.clinical > 50:
            continue
        if marks[first + 1] == "." or (view.words[first] not in ("a", "i") and row.name >= 1000):
            yield Run(first, last, "credential", Label.DOCTOR, 0.88)


def _chain(reading: _Reading, last: int) -> int | None:
    """The first token of the name that ends before a credential; None where no name stands there."""
    view, marks = reading.view, reading.symbols
    first, surest = last + 1, False
    place, count = last, 0
    while place >= 0 and count < 5:
        mark, word = marks[place], view.words[place]
        part = mark in "nwkis" or (mark == "q" and first <= last)
        if not part and not (mark in "Wrlfv" and _is_name_part(reading, place, last)):
            break
        surest = surest or mark in "nw" or (mark in "kwWrl" and row_of(word).name >= 500)
        first, count = place, count + 1
        gap = reading.gap(place) if place else "|"
        before = marks[place - 1] if place else ""
        if gap == "" and before in ("-", "'"):
            place -= 2
            if place < 0 or reading.gap(place + 1) != "":
                break
            count -= 1
        elif gap in (" ", "\n", ""):
            if before == "." and place > 1 and marks[place - 2] == "i" and reading.gap(place - 1) == "":
                place -= 2
            elif before in ('"', ")") and place > 2 and marks[place - 3 : place - 2] in ('"', "("):
                place -= 4
            elif gap == "":
                break
            else:
                place -= 1
        else:
            break
    # a name begins with a name or an initial: trim what else was taken
    while (
        first < last and marks[first] in "Wrlfvqk" and not (marks[first] == "q" or _first_not_last(view.words[first]))
    ):
        following = first + 1
        row = row_of(view.words[first])
        unknown = row.english < 2000 and not row.clinical and marks[first] == "W"
        if marks[following] in ".-'\"(" or marks[first] == "k" or unknown:
            break
        first = following
    letters = [i for i in range(first, last + 1) if marks[i] in "nwkWrlfvq"]
    return first if surest and letters and first <= last else None


def _is_name_part(reading: _Reading, index: int, last: int) -> bool:
    """Whether a word that is no likely name may be part of one before a credential."""
    word = reading.view.words[index]
    if word.islower() or _is_function(word) or word.isupper() != reading.view.words[last].isupper():
        return False
    row, mark = row_of(word), reading.symbols[index]
    if row.clinical > (300 if index < last else 50) or row.kinds & Kind.DEPARTMENT:
        return False
    return row.name >= 10_000 if mark in "rlf" else row.name >= 100 or index < last or row.english < 2000


def _joined_to(reading: _Reading, run: Run) -> Iterator[Run]:
    """Those whom a title is shared with: "Drs. Patel, Cohen and Fox", "Dr. Smith/Jones"."""
    marks, words = reading.symbols, reading.view.words
    plural = run.first > 1 and "drs" in (words[run.first - 1].lower(), words[run.first - 2].lower())
    last = run.last
    for _ in range(5):
        place = last + 1
        if plural and marks[place : place + 1] == ",":
            place += 1
        joins = plural and place < len(marks) and words[place].lower() in ("and", "&")
        if joins or (marks[place : place + 1] == "/" and reading.gap(place) == ""):
            place += 1
        if place == last + 1 or place >= len(marks) or marks[place] not in "nwkWr" or not words[place].istitle():
            return
        if reading.gap(place) not in ("", " ", "\n") or _is_function(words[place]):
            return
        last = place
        yield Run(place, place, "title", run.label, 0.88)


def _lower_value(reading: _Reading, start: int) -> Run | None:
    """A name in lower case that fills its field: "provider: bronwen gough, od", "surgeon: pierce, nathaniel w"."""
    view, marks = reading.view, reading.symbols
    place, words, commas = start, 0, 0
    last = start - 1
    likely = False
    while place < len(marks) and words < 5:
        word = view.words[place]
        if place > start and reading.gap(place) == "|":
            break
        if marks[place] in ".-'":
            if place == start or reading.gap(place) != "":
                return None
        elif marks[place] == ",":
            if (
                commas
                or marks[place + 1 : place + 2] not in tuple("mvxe")
                or _LOWER_CREDENTIAL.match(view.text, view.starts[place])
            ):
                break
            commas += 1
        elif marks[place] in "mvxqfe" and word.isalpha() and word.islower():
            row = row_of(word)
            if (
                (row.clinical > 20 and len(word) > 1)
                or _is_function(word)
                or row.kinds & (Kind.DEPARTMENT | Kind.MEDICAL)
            ):
                return None
            words, last = words + 1, place
            likely = likely or (len(word) > 2 and word_likelihood(word) > 0.3 and row.lower < 20_000)
        else:
            break
        place += 1
    closed = place >= len(marks) or reading.gap(place) == "|" or marks[place] in ",(;/"
    closed = closed or _LOWER_CREDENTIAL.match(view.text, view.ends[last]) is not None
    if not likely or not closed or (words < 2 and reading.lower_note is False):
        return None
    return Run(start, last, "field", Label.DOCTOR if marks[place : place + 1] == "l" else Label.PATIENT, 0.86)


def _lower_company(reading: _Reading, index: int) -> bool:
    """Whether a name in lower case has another one beside it."""
    return reading.symbols[index + 1 : index + 2] in ("m", "v") and word_likelihood(reading.view.words[index]) > 1.5


def _leads(reading: _Reading, kind: str, lead: int, start: int) -> bool:
    """Whether what leads to a name stands beside it."""
    if start >= len(reading.symbols):
        return False
    gap = reading.gap(start)
    mark, word, cue = reading.symbols[start], reading.view.words[start], reading.view.words[lead].lower()
    if kind == "field":
        between = reading.view.text[reading.view.ends[start - 1] : reading.view.starts[start]]
        if len(between) > 24 or between.count("\n") > 1:
            return False
        if reading.symbols[start - 1] in ':")':
            return True
        # cells and columns have no colon: the value itself must be a likely name
        named = mark == "n" and word_likelihood(word) > 0.5
        return named and "\n" not in between and reading.symbols[start + 1 : start + 2] in tuple(",nik")
    if kind == "title":
        if lead and reading.symbols[lead - 1] == "d" and cue in ("ms", "fr", "mr"):
            return False  # 50 ms, 16 Fr
        if cue in ("mr", "ms") and reading.view.words[lead].isupper() and word.islower() and not reading.lower_note:
            return False  # magnetic resonance, mitral regurgitation
        return gap in ("", " ", "\n")
    if kind == "role":
        if reading.symbols[lead] == "c" and cue not in classes()["nurses"]:
            return False
        if mark in "wk" or (word.isupper() and mark != "i"):
            plain = word.isupper() and not reading.capital_note and row_of(word).kinds & Kind.ABBREVIATION
            if gap == " " and word_likelihood(word) > 0 and reading.symbols[start - 1] not in ",(":
                return not plain
            person = reading.symbols[lead] == "r" or cue in classes()["nurses"]
            return person and mark in "wk" and word.istitle() and _is_closed(reading, start)
        return gap in (" ", "\n") or (gap == "" and reading.symbols[start - 1] == "(")
    return gap in ("", " ", "\n")


def _is_closed(reading: _Reading, index: int) -> bool:
    """Whether a phrase ends behind a word, so that it is no adjective: "RN Sharp." but not "RN Case management"."""
    after = reading.symbols[index + 1 : index + 2]
    if not after or after in ".,;:)(y" or reading.gap(index + 1) == "|":
        return True
    low = reading.view.words[index + 1].lower()
    return _is_function(low) or low in classes()["verbs"] or low == "notified"


def _run(reading: _Reading, start: int, kind: str) -> tuple[int, int]:
    """One past the last token read, and the last token of the name; the last is before the start where none is."""
    state = State.PREFIX if kind in _LEAD else State.START
    last = start - 1
    index = start
    for index in range(start, min(len(reading.symbols), start + 16)):
        if index > start and state is not State.PREFIX and reading.gap(index) == "|":
            break
        item = _input(reading, index, state, kind, start)
        state = TABLE[state][item]
        if state is State.END or state is State.START:
            break
        if (state in (State.NAME, State.INITIAL) and item in "ni") or (state is State.SUFFIX and item == "s"):
            last = index
    else:
        index += 1
    if state is State.INITIAL and kind not in ("title", "field", "by"):
        return index, start - 1
    return index, last


def _judged(reading: _Reading, first: int, last: int, kind: str, lead: int) -> Run | None:
    """The run with its strength, or None where it is no name after all."""
    view, marks = reading.view, reading.symbols
    # leave out what the prefix state passed over: quotes and titles
    while first < last and (
        marks[first] in ".\"'(p"
        or (marks[first] in "rfl" and marks[first + 1] not in ",-'" and not _is_common_name(view.words[first]))
    ):
        first += 1
    if first < last and (view.words[first] in ("A", "X") or view.words[first].lower() == "law"):
        # "A BARBER", a signature's "X", "SON-IN-LAW VINCE": no initial, no name
        mere = reading.capital_note or view.words[first] == "X"
        if (mere and marks[first + 1] != ".") or (first > 1 and marks[first - 1] == "-" and view.words[first] != "X"):
            first += 1
    while first < last and view.words[last].lower() in classes()["field_tails"]:
        last -= 1  # "HALVORSEN, P. Phone"
        while last > first and marks[last] in ".,":
            last -= 1
    # the letters of a credential look like initials: "Smith, M.D."
    tokens = [i for i in range(first, last + 1) if marks[i] not in "!.,-'\"()is"]
    if not tokens:
        if kind in ("title", "field") and marks[first] == "i" and marks[last] == "i" and last > first:
            return Run(first, last, kind, Label.DOCTOR, 0.7)
        return None
    words = [view.words[i] for i in tokens]
    scores = [word_likelihood(word) for word in words]
    best = max(scores)
    after = marks[last + 1 : last + 2]
    credential = (
        after in ("c", ",", ".", "i", "l", "(", "d") and _CREDENTIAL.match(view.text, view.ends[last]) is not None
    )
    if not credential and after == "c" and last + 1 < len(marks) and reading.gap(last + 1) == " ":
        credential = True
    eponym = all(row_of(word).kinds & Kind.EPONYM for word in words)
    medicine = _medicine_follows(reading, last)
    titled = first - (2 if first > 1 and marks[first - 1] == "." else 1)
    if kind in _LEAD and titled >= 0 and marks[titled] == "p":  # "by Dr. Smith": the title is the surer lead
        kind, lead = "title", titled
    if kind == "title":
        title = view.words[lead].lower()
        return Run(first, last, "title", Label.DOCTOR if title in _DOCTOR_TITLES or credential else Label.PATIENT, 0.95)
    if eponym and medicine and not credential:
        return None
    if credential:
        return Run(first, last, "credential", Label.DOCTOR, 0.95 if best > -1 else 0.7)
    if kind == "field":
        return _after_field(reading, first, last, lead, best)
    several = len(tokens) > 1 or "i" in marks[first : last + 1]
    if kind in _LEAD:
        # "her husband Will", "RN Church,"
        titled = kind in ("family", "role") and words[0].istitle() and marks[first] in "nwkW"
        if best <= 0 and not titled and not (kind == "family" and best > _COMMON_WHERE_FIRST) and not several:
            return None
        score = _LEAD_SCORE[kind] if best > 0.3 else 0.65
        return Run(first, last, kind, Label.DOCTOR if kind in ("by", "role") else Label.PATIENT, score)
    if first and kind not in _LEAD and view.words[first - 1].lower() in ("the", "a", "an", "#"):
        return None  # things have articles, people have none
    if all(word.lower() in classes()["instruments"] for word in words):
        return None
    if several:
        return _full(reading, first, last, kind, words, scores, eponym, medicine)
    return _alone(reading, first, last, words[0], best, eponym, after)


# These name other things besides people: CC is a chief complaint too.
_WEAK_FIELDS = frozenset(
    ["cc", "performed", "coord", "anesthesia", "anesth", "lead", "to", "from", "contact", "interpreted"]
)


def _after_field(reading: _Reading, first: int, last: int, lead: int, best: float) -> Run | None:
    field = reading.view.words[lead].lower()
    if best < -1 and last == first:
        return None
    if field in _WEAK_FIELDS and best < 0.3 and "," not in reading.symbols[first : last + 1]:
        return None
    patient = field in (
        "patient",
        "pt",
        "name",
        "client",
        "mother",
        "father",
        "wife",
        "husband",
        "son",
        "daughter",
    ) or (reading.symbols[lead] == "f")
    score = 0.93 if best > 0 else 0.75
    return Run(first, last, "field", Label.PATIENT if patient else Label.DOCTOR, score)


def _full(
    reading: _Reading,
    first: int,
    last: int,
    kind: str,
    words: list[str],
    scores: list[float],
    eponym: bool,
    medicine: bool,
) -> Run | None:
    """Several names, or initials and a name, side by side."""
    marks = reading.symbols
    best, worst = max(scores), min(scores)
    verb = marks[last + 1 : last + 2] == "y"
    hyphen = "-" in marks[first : last + 1]
    if kind == "pair":
        # two words that no list has: a name if something is said of it
        if not verb or best < -1 or not all(word.istitle() and len(word) > 3 for word in words):
            return None
        return Run(first, last, "full", Label.PATIENT, 0.66)
    if (best <= 0.2 and len(words) > 1) or (eponym and (medicine or hyphen) and len(words) > 1):
        return None
    if len(words) == 1:
        # "M. Long / rtp": at a line's head, before its end
        ends = last + 1 >= len(marks) or marks[last + 1] == "/" or reading.gap(last + 1) == "|"
        signed = marks[first : first + 2] == "i." and reading.opens_cell(first) and ends
        if _is_false_initial(reading, first, last):
            return None
        # "ask K. Obi.", "(A. Price, pager …)"
        stopped = (
            marks[first : first + 2] == "i." and words[0].istitle() and best > -0.3 and row_of(words[0]).name >= 500
        )
        stopped = stopped and (last + 1 >= len(marks) or marks[last + 1] in ",.;)y/" or ends)
        if best < 0.5 and not stopped and not (signed and row_of(words[0]).name >= 10_000):
            return None
        if best < 0.5:
            return Run(first, last, "full", Label.DOCTOR, 0.62)
    elif last - first == 2 and marks[first + 1] == "-" and not verb and not reading.opens_cell(first):
        # "Tyrer-Cuzick": two surnames alone are more often a method's than a patient's
        return None if best < 1.8 and not _is_given_pair(*words) else Run(first, last, "full", Label.PATIENT, 0.7)
    if (
        hyphen
        and len(words) > 2
        and any(row_of(word).kinds & Kind.EPONYM for word in words)
        and " " not in "".join(reading.gap(i) for i in range(first + 1, last + 1))
    ):
        return None  # Wolff-Parkinson-White
    if any(reading.gap(i) == "" and marks[i] in "nwk" and marks[i - 1] in "nwkWm" for i in range(first + 1, last + 1)):
        return None  # MiraLAX, EndoGIA: a name has no capitals inside, and such as McRae stay one token
    if medicine and worst < 0.5:
        return None
    if words[0].lower() in ("french", "fr") and first > 1 and marks[first - 1] == "-" and marks[first - 2] == "d":
        return None  # 16-FRENCH FOLEY
    kinds = lexicons.phrases().get(" ".join(words)) if len(words) > 1 else Kind(0)
    if kinds & (Kind.DISEASE | Kind.DRUG | Kind.MEDICAL | Kind.EPONYM):
        return None
    score = 0.62 + 0.1 * min(2.0, max(0.0, best)) + (0.06 if worst > 0.5 else 0.0)
    return Run(first, last, "full", Label.PATIENT, round(min(0.88, score), 3))


def _is_false_initial(reading: _Reading, first: int, last: int) -> bool:
    """ "A Foley was placed", "4 L. Gray sputum", "10 mL. Hohmann": the letter is an article or a unit."""
    words, marks = reading.view.words, reading.symbols
    if marks[first] == "i":
        if words[first] == "A" and marks[first + 1] != "." and (reading.capital_note or _opens(reading.view, first)):
            return True
        before = marks[first - 1 : first]
        return bool(before) and (before == "d" or reading.gap(first) == "") and before not in ',:(/-"|'
    # "Kerley B lines", "Cannon A waves", "Zoll R series": a name and a letter, then a common word
    after = words[last + 1] if last + 1 < len(words) else ""
    return marks[last] == "i" and after.islower() and marks[last + 1] != "y" and not _is_function(after)


_MAKERS = frozenset(
    ["medtronic", "abbott", "biotronik", "boston", "stryker", "zimmer", "alcon", "fresenius", "philips"]
)
_BORNE = 20_000  # people in 10⁸ or so who bear a first name that is also a word


_ACTING = re.compile("[wk](?=[y,.;)']|f?$|[a-zA-Z])")


def _is_told(view: View, index: int) -> bool:
    """ "as I told Hope,", "discussed with March and": what is done with a person, then the phrase's end."""
    words, lower = view.words, view.lower
    if index < 2:
        return False
    before, earlier = lower[index - 1], lower[max(0, index - 4) : index - 1]
    led = before in classes()["addressing"] or (before == "with" and not classes()["with_persons"].isdisjoint(earlier))
    after = words[index + 1] if index + 1 < len(words) else "."
    return led and (
        after in (".", ",", ";", ")", "and", "or", "that", "about", "present", "again", "today", "regarding")
    )


def acting(view: View, symbols: str, taken: set[int]) -> Iterator[Run]:
    """Common first names that are words, before what only a person does: "Hope denies pain", "Rose was admitted"."""
    for match in _ACTING.finditer(symbols):
        index = match.start()
        word = view.words[index]
        row = row_of(word)
        if index in taken or not word.istitle() or row.female + row.male < _BORNE:
            continue
        if not _acts(view.words, index + 1) and not _is_told(view, index):
            continue
        if index and view.words[index - 1].lower() in ("the", "a", "an", "his", "her", "-"):
            continue
        yield Run(index, index, "likelihood", Label.PATIENT, 0.62)


def _acts(words: Sequence[str], index: int) -> bool:
    """Whether a verb follows that only a person can be the subject of: "denies", "was admitted", "is able"."""
    verbs = classes()
    first = words[index].lower() if index < len(words) else ""
    second = words[index + 1].lower() if index + 1 < len(words) else ""
    return first in verbs["personal"] or (first in ("is", "was", "has", "had") and second in verbs["personal_states"])


_WORDS = Kind.MEDICAL | Kind.DISEASE | Kind.DRUG | Kind.ABBREVIATION | Kind.EPONYM


def _alone(reading: _Reading, first: int, last: int, word: str, best: float, eponym: bool, after: str) -> Run | None:
    """One likely name without a lead: the likelihood ratio alone, and a verb behind it."""
    row, marks, words = row_of(word), reading.symbols, reading.view.words
    if _medicine_follows(reading, last) or (after and after in ":/") or word.lower() in classes()["clinic"]:
        return None
    if after == "d" and (
        row.kinds & Kind.DRUG or (words[last + 2 : last + 3] and words[last + 2] in classes()["units"])
    ):
        return None  # Allegra 60 mg
    before = words[first - 1] if first else ""
    sized = before.lower() in ("fr", "french", "gauge", "g", "mm", "cm", "ml") and first > 1 and marks[first - 2] == "d"
    if sized or before[:1].isdigit():
        return None  # 16 Fr Foley
    if before == "." and words[first - 2] == "St":
        return None  # St. Jude
    if before.lower() in classes()["makers"]:
        return None  # Medtronic Azure
    verb = after == "y" and words[last + 1].islower() == word[1:].islower()
    if eponym and not verb:
        return None
    if (
        word.isupper()
        and reading.capital_note
        and not verb
        and (row.clinical or row.lower > row.name or row.kinds & _WORDS)
    ):
        return None  # the case tells nothing, so the word must
    if word.isupper() and (len(word) < 4 or (reading.capital_note is False and best < 1.0)):
        return None
    if word.istitle() and row.lower > 3000 and not verb and _opens(reading.view, first):
        return None  # "Mark the arm."
    least = 0.3
    if word.isupper() or word.islower():
        least = 1.2 if not verb else 0.8
    elif row.name < 200:
        least = 1.2
    if best < least and not (verb and best > 0.1):
        return None
    score = min(0.8, 0.5 + 0.1 * max(0.0, best) + (0.1 if verb else 0.0))
    return Run(first, last, "likelihood", Label.PATIENT, round(score, 3))


def _medicine_follows(reading: _Reading, last: int) -> bool:
    """Whether a word of disease, sign or device follows, with or without "'s"."""
    words = reading.view.words
    index = last + 1
    if index + 1 < len(words) and reading.symbols[index] == "'" and words[index + 1].lower() == "s":
        index += 2
    elif index < len(words) and words[index] == "-":
        index += 1
    if index >= len(words):
        return False
    low = words[index].lower()
    if low in classes()["eponym_nouns"]:
        return True
    if (
        index + 1 < len(words)
        and words[index + 1].lower() in classes()["eponym_nouns"]
        and symbol(words[index]) in "xW"
    ):
        return True
    return bool(row_of(low).kinds & Kind.DISEASE)


def marks(view: View, found: list[Run]) -> list[int]:
    """The automaton's state at each token: NAME and SUFFIX in a name, PREFIX at the word before it, else START."""
    out = [int(State.START)] * len(view.words)
    for run in found:
        if run.first and run.rule in _LEAD:
            out[run.first - 1] = int(State.PREFIX)
        for index in range(run.first, run.last + 1):
            mark = symbol(view.words[index])
            if not view.words[index][0].isalnum():
                continue
            out[index] = int(State.INITIAL if mark == "i" else State.SUFFIX if mark == "s" else State.NAME)
    return out


# --- a name known from one place is found everywhere in the note ------------------------------------------------------

_KNOWN = 0.85  # the score from which a run's words are looked for elsewhere


def repeats(view: View, found: list[Run]) -> list[Run]:
    """Other mentions of the words of sure names, in any case, and their nicknames (Robert → Bob)."""
    known: dict[str, Label] = {}
    full: dict[tuple[str, ...], Label] = {}
    for run in found:
        if run.score < _KNOWN:
            continue
        words = [word for word in view.words[run.first : run.last + 1] if word.isalpha()]
        if "," in view.words[run.first : run.last + 1]:  # surname, given names
            comma = view.words.index(",", run.first)
            surname = [word for word in view.words[run.first : comma] if word.isalpha()]
            words = words[len(surname) :][:1] + surname
        if 1 < len(words) <= _LONGEST and len(words[0]) > 2:
            full.setdefault(tuple(word.lower() for word in words), run.label)
        for index in range(run.first, run.last + 1):
            word = view.words[index]
            if len(word) < 3 or not word.isalpha() or symbol(word) in "qsWlf":
                continue
            row = row_of(word)
            forms = (word, word.title(), word.upper())
            if row.lower < 400 and not row.clinical:
                forms += (word.lower(),)
            for form in forms:
                known.setdefault(form, run.label)
    if not known:
        return []
    inside = {index for run in found for index in range(run.first, run.last + 1)}
    out = list(_in_full(view, full))
    inside |= {index for run in out for index in range(run.first, run.last + 1)}
    present = known.keys() & view.vocabulary
    eponyms = {word.lower() for word in present if row_of(word).kinds & Kind.EPONYM}
    for index, word in enumerate(view.words):
        if word not in present or index in inside:
            continue
        row = row_of(word)
        if word.lower() in eponyms and _possessive_alone(view, index):
            continue  # Crohn's, beside a Dr. Crohn
        common = row.clinical > 0 or row.lower > 3000
        if common and (word.isupper() or _opens(view, index)):
            continue
        if row.kinds & Kind.EPONYM and (
            _medicine_after(view, index) or _is_thing(view, index) or _is_compound(view, index)
        ):
            continue
        out.append(Run(index, index, "repeat", known[word], 0.8))
    return out + list(_nicknames(view, known, inside | {run.first for run in out}))


def _is_compound(view: View, index: int) -> bool:
    """ "Jackson-Pratt", beside a Dr. Jackson."""
    words, starts, ends = view.words, view.starts, view.ends
    for sign, other in ((index + 1, index + 2), (index - 1, index - 2)):
        if 0 <= other < len(words) and words[sign] == "-" and row_of(words[other]).kinds & Kind.EPONYM:
            low, high = min(index, other), max(index, other)
            if ends[low] == starts[sign if sign > low else low + 1] and ends[high - 1] == starts[high]:
                return True
    return False


def _possessive_alone(view: View, index: int) -> bool:
    """ "Crohn's,": an eponym's disease goes by the bare possessive."""
    words = view.words
    if words[index + 1 : index + 2] not in (["'"], ["’"]) or words[index + 2 : index + 3] not in (["s"], ["S"]):
        return False
    after = words[index + 3] if index + 3 < len(words) else "."
    return not after[0].isalpha() or after.lower() in classes()["functions"]


_LONGEST = 5  # words of a name


def _in_full(view: View, full: dict[tuple[str, ...], Label]) -> Iterator[Run]:
    """A full name again, whatever its words: "Bruce Iron Cloud is …"."""
    firsts = {name[0] for name in full}
    for index, word in enumerate(view.words):
        if word.lower() not in firsts or word.islower():
            continue
        here = tuple(part.lower() for part in view.words[index : index + _LONGEST])
        for size in range(len(here), 1, -1):
            label = full.get(here[:size])
            if label is not None:
                yield Run(index, index + size - 1, "repeat", label, 0.85)
                break


def _nicknames(view: View, known: dict[str, Label], taken: set[int]) -> Iterator[Run]:
    nicknames = lexicons.nicknames()
    official = {word.lower() for word in known}
    meant = {
        nick
        for nick in view.vocabulary
        if nick[0].isupper()
        and not official.isdisjoint(nicknames.get(nick.lower(), ()))
        and word_likelihood(nick) >= 0
        and symbol(nick) in "nwk"
    }
    if meant:
        for index, word in enumerate(view.words):
            if word in meant and index not in taken:
                yield Run(index, index, "nickname", Label.PATIENT, 0.7)


def _is_thing(view: View, index: int) -> bool:
    """Whether an eponym that is a name of this note too stands as a thing or a sign: "a Foley", "Romberg steady"."""
    before = view.words[index - 1].lower() if index else ""
    if before in ("a", "an", "the", "of", "not", "no", "proof", "hx", "history"):
        return True
    after = view.words[index + 1] if index + 1 < len(view.words) else ""
    return after in ("+", "/") or (after.islower() and symbol(after) == "x" and not _is_function(after))


def _opens(view: View, index: int) -> bool:
    """Whether a token stands where any word has a capital."""
    return (
        index == 0
        or view.words[index - 1] in (".", ":", "!", "?")
        or "\n" in view.text[view.ends[index - 1] : view.starts[index]]
    )


def _medicine_after(view: View, index: int) -> bool:
    following = view.words[index + 1 : index + 4]
    return any(word.lower() in classes()["eponym_nouns"] for word in following)


# --- initials ---------------------------------------------------------------------------------------------------------
# "JMK/abt" at the foot of a report, "/s/ DM", "LWB" alone on a line. Initials of a person whom the note names in full
# are believed where a line or a cell ends; others only in the form of a dictation's mark.

_SLASHED = re.compile(r"[/:-](?=[A-Za-z])")
_MARK = re.compile(
    r"""(?P<one>[A-Za-z]{2,4})(?P<sign>[/:-][ ]?)(?P<two>[A-Za-z]{2,4}(?:'[a-z])?\d{0,2}|\d{1,2})
        (?:[/:](?P<three>[A-Za-z]{2,4}|\d{2,3}))?(?![\w/-])""",
    re.VERBOSE,
)
# what follows a dictation's mark: the end of the line, the dates of dictation and typing, copies, a number
_AFTER_MARK = re.compile(
    r"""[)\]]?[ \t]{0,12}(?:\n|$|[/|][ ]?(?:\d|[Dd]oc)|\d|[A-Z#\d(/]|(?<=[ ]{2})[a-z]
        |(?:dd?|tt?|dt|d/t|dict|typed|trans|transcribed|copy|copies|cc|faxed|edited|conf|job|doc)\b)""",
    re.VERBOSE,
)
_DATED_MARK = re.compile(
    r"[)\]]?[ \t]{1,12}(?:\(?\d|[DTdt][:.DTdt ]|[Dd]ict|[Tt]yped|[Tt]rans|[Jj]ob|[Dd]oc|cc)|[)\]]?[ \t]{0,12}(?:\n|$)"
)
_BEFORE_MARK = re.compile(
    r"(?:^|[\n.)\]]|[ \t]{2}|[ ][/|]|[\d/|][ ]|(?:^|\n)[(\[]|[(\[])[ \t]{0,4}[/(\[]?$|\b[DO]\.?O?\.?[ ,/]{1,3}$"
)
_DICTATED = re.compile(r"[)\]]?[ \t]{1,6}(?:[dD]{1,2}|[tT]{1,2}|[Dd]ict\w{0,5}|[Tt]yped)[.:]?[ ]{0,2}\d")
_SECTIONS = frozenset(["hpi", "ros", "pmh", "dx", "hx", "rx", "dob", "adm", "fh", "sh", "pe", "tel", "ph"])
_SIGNED = re.compile(r"/[sS]/[ ]{0,3}(?P<one>[A-Z]{2,4})(?![\w])")


def initials(view: View, symbols: str, found: list[Run]) -> Iterator[tuple[int, int]]:
    """Who dictated, typed or signed, by initials."""
    text = view.text
    known = _initials_of(view, found)
    for match in _SLASHED.finditer(symbols):
        index = match.start() - 1
        start = view.starts[index]
        if index < 0 or view.ends[index] - start > 4 or view.ends[index] != view.starts[index + 1]:
            continue
        mark = _MARK.match(text, start)
        if mark is not None and _is_mark(text, mark, known):
            yield from (mark.span(name) for name in ("one", "two", "three") if mark[name])
    if "/s/" in text or "/S/" in text:
        yield from (match.span("one") for match in _SIGNED.finditer(text))
    yield from _typists(view)
    present = known & view.vocabulary
    if not present:
        return
    for index, word in enumerate(view.words):
        if word in present and _is_signature(view, index):
            yield view.starts[index], view.ends[index]


# "transcribed: bw", "typed 3/25/10 sp", "M.D./ebk"
_TYPING = Marks(lambda word: word in classes()["typing"])
_TYPED = re.compile(  # behind one of these words
    r"""(?:(?<=[Dd]ict)\.)?(?:[ ]by|[ ]BY)?[ ]?[:/]?[ ]{0,3}(?:\d{1,2}[/-]\d{1,2}[/-]\d{2,4}[ ,]{1,3})?
        (?<![A-Za-z])(?P<one>[a-z]{2,4}|[A-Z]{2,3}|[A-Z]{2,3}-[a-z]{2,4})
        (?=[ ]?(?:\n|$|[.;)]|,[ ]\d)|[ ]{2}|[ ]\d{1,2}[/-]\d|[ ]REF)""",
    re.VERBOSE,
)
_SIGNED_AND_TYPED = re.compile(
    r"(?<=M\.D\.)/(?P<two>[a-z]{2,4})(?=\s|$)|(?<=[A-Z],[ ]MD)[ ]?/[ ]?(?P<three>[a-z]{2,4})(?=\s|$)"
)


def _typists(view: View) -> Iterator[tuple[int, int]]:
    """Who typed, by initials behind the word for it."""
    text, reach = view.text, 0
    matches: list[re.Match[str]] = []
    for index in np.flatnonzero(_TYPING.of(view)).tolist():
        start = view.starts[index]
        match = _TYPED.match(text, view.ends[index]) if start >= reach else None
        if match is not None and not (start and (text[start - 1].isalnum() or text[start - 1] == "_")):
            matches.append(match)
            reach = match.end()
    if "M.D./" in text or ", MD" in text:
        matches += _SIGNED_AND_TYPED.finditer(text)
    for match in matches:
        group = match.lastgroup or ""
        word = match[group].lower()
        if word not in classes()["not_typists"] and not _is_function(word):
            yield match.span(group)


def _initials_of(view: View, found: list[Run]) -> set[str]:
    """The initials of everybody whom the note names in full, in capitals and in lower case."""
    known: set[str] = set()
    for run in found:
        words = [
            word for word in view.words[run.first : run.last + 1] if word[0].isalpha() and symbol(word) not in "sp"
        ]
        if not 1 < len(words) < 6:
            continue
        if "," in view.words[run.first : run.last + 1]:
            words = [*words[1:], words[0]]
        letters = "".join(word[0] for word in words).upper()
        known |= {letters, letters.lower(), letters[0] + letters[-1], (letters[0] + letters[-1]).lower()}
    return known


def _is_mark(text: str, mark: re.Match[str], known: set[str]) -> bool:
    one, two, sign = mark["one"], mark["two"], mark["sign"]
    listed = classes()["not_typists"]
    if _DICTATED.match(text, mark.end()) is not None:
        return one.isalpha()
    if (two.islower() and two in listed) or one.lower() in _SECTIONS or (one.islower() and one in listed):
        return False
    after = _AFTER_MARK.match(text, mark.end())
    if after is None or (sign.endswith(" ") and after[0].strip(" \t\n")):
        return False
    before = _BEFORE_MARK.search(text[max(0, mark.start() - 12) : mark.start()])
    if one in known or (two in known and one.isupper() == two.isupper()):
        return two.islower() or two in known or before is not None
    if two.isdigit():
        return False
    word = two.rstrip("0123456789")
    plain = row_of(word).clinical > 0 or row_of(word).lower > 400
    dated = _DATED_MARK.match(text, mark.end()) is not None
    if one.isupper() and two.islower() and sign[0] in "/:":
        return not plain or (before is not None and dated)
    plain = plain or row_of(one).clinical > 0 or row_of(one).lower > 400 or len(word) < 2
    return before is not None and dated and sign[0] in "/:" and not plain


_LINE = 120  # characters beside initials that are looked at


def _is_signature(view: View, index: int) -> bool:
    """Whether initials of a known person stand where a signature would: alone in a line's end or in a cell."""
    text, start, end = view.text, view.starts[index], view.ends[index]
    before = text[max(0, start - _LINE) : start].rpartition("\n")[2].rstrip(" \t")
    after = text[end : end + _LINE].partition("\n")[0].strip(" \t.)]_*")
    word = view.words[index]
    plain = row_of(word).clinical > 0 or row_of(word).kinds & Kind.ABBREVIATION
    if not before and not after:
        return len(word) > 2 or not plain
    if after and not (after[0] in "|" or after[0].isdigit() or after[:2] in ("/ ", "| ", "pg")):
        return False
    if not after and word.isupper() and before[-1:] in ".)" and not plain:
        return True
    wide = text[start - 2 : start] in ("  ", "\t", "--") or before[-1:] in "|-—–/[(" or before.endswith((":", "sig"))
    if word.islower():
        return wide and before[-1:] in "-—–/[(" and not plain
    return wide and (len(word) > 2 or not plain or before[-1:] in "-—–|")
