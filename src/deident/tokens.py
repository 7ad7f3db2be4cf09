"""Text → tokens, sentences, sections and attribute–value lines, all by offset; the text is never edited.

A token boundary is a property of a few neighbouring characters, so one vectorised pass over character classes finds
them all, in linear time on any input. What comes apart, after WI-deId (He 2015, section 2.1 and table 1) and the
hybrid for psychiatric notes (Lee 2017, section 3.3.1):

    Since6/03/04       Since | 6 | / | 03 | / | 04         a digit follows a letter, or the other way round
    stantonPsychiatric stanton | Psychiatric               an upper-case letter follows a lower-case one
    ALMarital          AL | Marital                        two upper-case letters, then lower-case ones
    47798497-045-1949  47798 | 497 | - | 045 | - | 1949    digits glued to a telephone number, likewise to a date

Every other punctuation character stands alone; a run of one character ("-----") is one token; a decimal point or a
thousands comma inside a number stays ("98.6", "555.201.3344"); "Mc" and "Mac" stay with their name. A combining mark,
a joiner or a soft hyphen belongs to the character before it.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from importlib.resources import files

import numpy as np
from numpy.typing import NDArray

from deident.document import Token

VERSION = 1  # of the tokenizer: a model names the one it was trained with

_UPPER, _LOWER, _LETTER, _DIGIT, _SPACE, _PUNCT, _MARK = range(1, 8)
_TABLE_SIZE = 0x300  # Latin with its supplements; what lies above is looked up one character at a time

Bools = NDArray[np.bool_]
Ints = NDArray[np.int64]


def _class_of(code: int) -> int:
    char = chr(code)
    if char.isspace():
        return _SPACE
    match unicodedata.category(char):
        case "Lu" | "Lt":
            return _UPPER
        case "Ll":
            return _LOWER
        case "Lm" | "Lo":
            return _LETTER
        case "Nd" | "Nl" | "No":
            return _DIGIT
        case "Mn" | "Mc" | "Me" | "Cf":
            return _MARK
        case _:
            return _PUNCT


_TABLE = np.array([_class_of(code) for code in range(_TABLE_SIZE)], dtype=np.uint8)


@dataclass(frozen=True, slots=True, eq=False)
class Tokens:
    """The tokens of one text as two columns of offsets."""

    text: str = field(repr=False)
    starts: Ints = field(repr=False)
    ends: Ints = field(repr=False)

    def __len__(self) -> int:
        return len(self.starts)

    def __iter__(self) -> Iterator[Token]:
        for start, end in self.spans():
            yield Token(start, end)

    def spans(self) -> list[tuple[int, int]]:
        return list(zip(self.starts.tolist(), self.ends.tolist(), strict=True))

    def words(self) -> list[str]:
        text = self.text
        return [text[start:end] for start, end in self.spans()]

    def touching(self, start: int, end: int) -> tuple[int, int]:
        """The half-open range of tokens that share a character with `text[start:end]`."""
        first = int(np.searchsorted(self.ends, start, side="right"))
        return first, max(first, int(np.searchsorted(self.starts, end, side="left")))


def tokenize(text: str) -> Tokens:
    """The tokens of a text, in order and disjoint; every character that is not white space is in exactly one."""
    codes, classes, marks = _characters(text)
    size = len(codes)
    if size == 0:
        empty = np.zeros(0, dtype=np.int64)
        return Tokens(text, empty, empty)
    _join_numbers(codes, classes)
    before, here = classes[:-1], classes[1:]
    letters = (before <= _LETTER) & (here <= _LETTER)
    rises = (before == _LOWER) & (here == _UPPER)
    _keep_mc(codes, classes, rises)
    joined = letters & ~rises & ~_capital_starts_word(classes)
    joined |= (before == _DIGIT) & (here == _DIGIT)
    joined |= (before == _PUNCT) & (here == _PUNCT) & (codes[:-1] == codes[1:])
    if marks is not None:
        joined |= marks[1:]
    _cut_glued_numbers(text, codes, classes, joined)
    inside = classes != _SPACE
    starts = inside.copy()
    starts[1:] &= ~(joined & inside[:-1])
    ends = inside.copy()
    ends[:-1] &= ~(joined & inside[1:])
    return Tokens(text, np.flatnonzero(starts), np.flatnonzero(ends) + 1)


def _characters(text: str) -> tuple[NDArray[np.unsignedinteger], NDArray[np.uint8], Bools | None]:
    """Code points, their classes, and which are marks (whose class is that of the character they belong to)."""
    if text.isascii():
        codes = np.frombuffer(text.encode("ascii"), dtype=np.uint8)
        return codes, _TABLE[codes], None
    wide = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype=np.uint32)
    classes = _TABLE[np.minimum(wide, _TABLE_SIZE - 1)]
    above = np.flatnonzero(wide >= _TABLE_SIZE)
    if len(above):
        kinds, inverse = np.unique(wide[above], return_inverse=True)
        classes[above] = np.array([_class_of(int(code)) for code in kinds], dtype=np.uint8)[inverse]
    marks = classes == _MARK
    if not marks.any():
        return wide, classes, None
    owner = np.maximum.accumulate(np.where(marks, 0, np.arange(len(classes))))
    # a mark after white space, or at the very start, has nothing to belong to and stands for itself
    lonely = marks & ((classes[owner] == _SPACE) | (classes[owner] == _MARK))
    classes = np.where(lonely, np.uint8(_PUNCT), classes[owner])
    first = lonely.copy()
    first[1:] &= ~lonely[:-1]
    return wide, classes, marks & ~first


def _shifted(values: Bools, by: int) -> Bools:
    """`values[i + by]` at each i; False beyond the ends."""
    out = np.zeros_like(values)
    if by > 0:
        out[:-by] = values[by:]
    else:
        out[-by:] = values[:by]
    return out


def _join_numbers(codes: NDArray[np.unsignedinteger], classes: NDArray[np.uint8]) -> None:
    """Give a decimal point ("98.6") and a thousands comma ("1,200") the class of the digits around them."""
    points = np.flatnonzero((codes == ord(".")) | (codes == ord(",")))
    points = points[(points > 0) & (points < len(codes) - 1)]
    points = points[(classes[points - 1] == _DIGIT) & (classes[points + 1] == _DIGIT)]
    if not len(points):
        return
    last = len(codes) - 1
    comma = codes[points] == ord(",")
    three = (points + 3 <= last) & (classes[np.minimum(points + 2, last)] == _DIGIT)
    three &= classes[np.minimum(points + 3, last)] == _DIGIT
    classes[points[~comma | three]] = _DIGIT


def _capital_starts_word(classes: NDArray[np.uint8]) -> Bools:
    """Between two capitals of which the second is followed by two lower-case letters: "AL|Marital"."""
    upper, lower = classes == _UPPER, classes == _LOWER
    return upper[:-1] & (upper & _shifted(lower, 1) & _shifted(lower, 2))[1:]


def _keep_mc(codes: NDArray[np.unsignedinteger], classes: NDArray[np.uint8], rises: Bools) -> None:
    """Undo the lower-to-upper boundary after "Mc" and "Mac" at the start of a word."""
    for place in np.flatnonzero(rises).tolist():  # the capital is at place + 1
        if codes[place] != ord("c"):
            continue
        start = place - 1
        if start > 0 and codes[start] == ord("a"):
            start -= 1
        if start >= 0 and codes[start] == ord("M") and (start == 0 or classes[start - 1] > _LETTER):
            rises[place] = False


# A telephone number or a date with digits glued before it or behind it (He 2015, table 1, rows 1 and 6).
_GLUED = re.compile(
    r"""(?<=\d)(?P<phone>\d{3}-\d{3}-\d{4})(?!\d)
      | (?<=\d)(?P<date>(?:0[1-9]|1[0-2])/[0-3]\d/(?:19|20)\d\d)(?!\d)
      | (?P<before>(?<!\d)(?:\d{1,2}/\d{1,2}/|\d{1,2}-\d{1,2}-)(?:19|20)\d\d|(?<!\d)(?:19|20)\d\d-\d\d-\d\d)(?=\d)""",
    re.VERBOSE,
)


def _cut_glued_numbers(
    text: str, codes: NDArray[np.unsignedinteger], classes: NDArray[np.uint8], joined: Bools
) -> None:
    digit = (classes == _DIGIT) & (codes != ord(".")) & (codes != ord(","))
    sign = (codes == ord("-")) | (codes == ord("/"))
    if not (sign & _shifted(digit, -1) & _shifted(digit, 1)).any():
        return
    long_before = _shifted(digit, -1) & _shifted(digit, -2) & _shifted(digit, -3)
    long_after = _shifted(digit, 1) & _shifted(digit, 2) & _shifted(digit, 3)
    for place in np.flatnonzero(sign & (long_before | long_after)).tolist():
        start = max(0, place - 16)
        for match in _GLUED.finditer(text, start, min(len(text), place + 16)):
            cut = match.end() if match.lastgroup == "before" else match.start()
            # a window may begin inside a run of digits; only what stands around this sign is judged
            if match.start() <= place < match.end() and not (match.start() == start > 0):
                joined[cut - 1] = False


# --- lines, sections, attributes -------------------------------------------------------------------------------------


class LineKind(StrEnum):
    BLANK = "blank"
    HEADER = "header"  # "HISTORY OF PRESENT ILLNESS:", alone or before its text
    ATTRIBUTE = "attribute"  # "Occupation: third-shift welder"
    ITEM = "item"  # "1. Aspirin", "- lives alone"
    TABLE = "table"  # cells parted by pipes or tabs
    RULE = "rule"  # "-----"
    PROSE = "prose"


@dataclass(frozen=True, slots=True)
class Line:
    """`text[start:end]` without its line break."""

    start: int
    end: int
    kind: LineKind


@dataclass(frozen=True, slots=True)
class Attribute:
    """ "Occupation: welder": where the name stands and where its value does (which may be empty)."""

    name_start: int
    name_end: int
    value_start: int
    value_end: int


@dataclass(frozen=True, slots=True)
class Section:
    """A header, and the body that reaches to the next one."""

    header_start: int
    header_end: int
    body_start: int
    body_end: int


@dataclass(frozen=True, slots=True)
class Layout:
    """What the lines of a text are."""

    lines: tuple[Line, ...]
    sections: tuple[Section, ...]
    attributes: tuple[Attribute, ...]

    def section_at(self, offset: int) -> Section | None:
        place = bisect_right(self.sections, offset, key=lambda section: section.header_start) - 1
        return self.sections[place] if place >= 0 else None

    def attribute_at(self, offset: int) -> Attribute | None:
        """The attribute in whose value the offset lies."""
        place = bisect_right(self.attributes, offset, key=lambda attribute: attribute.name_start) - 1
        found = self.attributes[place] if place >= 0 else None
        return found if found is not None and found.value_start <= offset < found.value_end else None


_RULE = re.compile(r"\s*([-=_*~#.+])(?:\s?\1){2,}\s*")
_ITEM = re.compile(r"\s*(?:[-*•·–◦▪>+]|\(?\d{1,2}[.)]|\(?[A-Za-z][.)])\s+\S")
_HEADING = re.compile(
    r"\s*(?:#+\s*|\*\*|==+\s*|\d{1,2}[.)]\s*)?"
    r"(?P<name>[A-Za-z][A-Za-z0-9 /&(),.'’-]{1,60}?)"
    r"\s*(?:\*\*|==+)?\s*(?P<colon>:)?\s*"
)
_ATTRIBUTE = re.compile(
    r"""(?:^[ \t]*|(?<=\r)[ \t]*|(?<=[ \t]{2})|(?<=[\t|;,])[ ]?)  # where a line starts, after a gap, a tab, a pipe
        (?P<name>[A-Za-z][A-Za-z0-9]*\#?(?:[ ./()&#'’_-]{1,2}[A-Za-z0-9#]+){0,4}[.)?]{0,2})
        [ \t]?:(?!//|\d\d\b(?<=\d:\d\d))[ \t]*""",
    re.VERBOSE | re.MULTILINE,
)
_GAP = re.compile(r"[ ]{3}|\t|\|")
_LINE = re.compile(r"[^\r\n\x0b\x0c\x85\u2028\u2029]*(?:\r\n|[\r\n\x0b\x0c\x85\u2028\u2029]|$)")
_BREAKS = "\r\n\x0b\x0c\x85\u2028\u2029"


@cache
def _header_names() -> frozenset[str]:
    listed = files("deident.lexicons").joinpath("section_headers.txt").read_text(encoding="utf-8")
    return frozenset(line for line in listed.splitlines() if line and not line.startswith("#"))


def layout(text: str) -> Layout:
    """The lines of a text with their kinds, its sections, and its attribute–value pairs."""
    lines: list[Line] = []
    attributes: list[Attribute] = []
    headers: list[tuple[int, int]] = []
    for match in _LINE.finditer(text):
        start, end = match.span()
        if start == end:
            continue
        while end > start and text[end - 1] in _BREAKS:
            end -= 1
        if not text[start:end].strip():
            lines.append(Line(start, end, LineKind.BLANK))
            continue
        header = _header(text, start, end)
        if header is not None:
            headers.append(header)
        pairs = [] if header is not None else list(_attributes(text, start, end))
        attributes += pairs
        lines.append(Line(start, end, LineKind.HEADER if header is not None else _kind(text, start, end, bool(pairs))))
    bounds = [start for start, _ in headers[1:]] + [len(text)]
    sections = [Section(start, end, end, stop) for (start, end), stop in zip(headers, bounds, strict=False)]
    return Layout(tuple(lines), tuple(sections), tuple(attributes))


def _kind(text: str, start: int, end: int, has_attribute: bool) -> LineKind:
    content = text[start:end]
    if _RULE.fullmatch(content):
        return LineKind.RULE
    if content.count("|") >= 2 or content.count("\t") >= 2:
        return LineKind.TABLE
    if has_attribute:
        return LineKind.ATTRIBUTE
    return LineKind.ITEM if _ITEM.match(content) else LineKind.PROSE


def _header(text: str, start: int, end: int) -> tuple[int, int] | None:
    """The header that a line is, or begins with: a known name, or capitals alone on the line before a colon."""
    colon = text.find(":", start, min(end, start + 70))
    stop = colon + 1 if colon >= 0 else end
    if stop - start > 70:
        return None
    match = _HEADING.fullmatch(text, start, stop)
    if match is None:
        return None
    name = match["name"]
    known = " ".join(name.lower().split()) in _header_names()
    alone = not text[stop:end].strip()
    if known and (colon >= 0 or alone):
        return match.start("name"), stop
    if alone and colon >= 0 and name.isupper() and len(name) > 3:
        return match.start("name"), stop
    return None


def _attributes(text: str, start: int, end: int) -> Iterator[Attribute]:
    found = list(_ATTRIBUTE.finditer(text, start, end))
    for place, match in enumerate(found):
        limit = found[place + 1].start("name") if place + 1 < len(found) else end
        gap = _GAP.search(text, match.end(), limit)
        stop = gap.start() if gap is not None else limit
        while stop > match.end() and text[stop - 1] in " \t,;|":
            stop -= 1
        yield Attribute(match.start("name"), match.end("name"), match.end(), max(match.end(), stop))


# --- sentences -------------------------------------------------------------------------------------------------------


@cache
def _abbreviations() -> frozenset[str]:
    """Words whose full stop ends no sentence."""
    listed = files("deident.lexicons").joinpath("abbreviations.txt").read_text(encoding="utf-8")
    return frozenset(word for line in listed.splitlines() if not line.startswith("#") for word in line.split())


_STOP = re.compile(r"(?<![.!?])(?P<mark>[.!?]++)[\"')\]”’]*(?:(?P<space>\s++)|(?=[A-Z][a-z]))(?=(?P<next>\S))")
_LAST_WORD = re.compile(r"[^\s(\[\"“]*$")


def sentences(text: str, structure: Layout | None = None) -> list[tuple[int, int]]:
    """The sentences of a text, trimmed of white space. Wrapped lines are one paragraph; a list item, a header and an
    attribute line each begin anew; a colon at a line's end closes a sentence (Lee 2017, footnote 1)."""
    found: list[tuple[int, int]] = []
    for start, end in _paragraphs(text, structure or layout(text)):
        begin = start
        for match in _STOP.finditer(text, start, end):
            if _ends_sentence(text, begin, match):
                found.append((begin, match.end("mark") if match["space"] is None else match.start("space")))
                begin = match.end()
        found.append((begin, end))
    trimmed = (_trim(text, start, end) for start, end in found)
    return [(start, end) for start, end in trimmed if start < end]


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while end > start and text[end - 1].isspace():
        end -= 1
    return start, end


def _ends_sentence(text: str, begin: int, match: re.Match[str]) -> bool:
    if match["mark"] != ".":
        return True
    word = text[max(begin, match.start() - 24) : match.start()]
    last = _LAST_WORD.search(word)
    before = last[0].lower().lstrip("(") if last is not None else ""
    if match["space"] is None:  # "pain.The patient": glued; "J.Smith" and "Dr.Smith" are not ends
        return len(before) > 2 and before.isalpha() and before not in _abbreviations()
    if before in _abbreviations() or (len(before) == 1 and before.isalpha()):
        return False
    if before.isdigit() and match.start() - len(before) == begin:  # "1. Aspirin" at the start
        return False
    follower = match["next"]
    return not follower.islower() or (len(before) > 2 and "." not in before)


def _paragraphs(text: str, structure: Layout) -> Iterator[tuple[int, int]]:
    """Stretches of lines that read on: a line that was broken by the page's width joins the next one."""
    lines = structure.lines
    prose = [line.end - line.start for line in lines if line.kind in (LineKind.PROSE, LineKind.ITEM)]
    width = max(prose, default=0)
    wrapped = width if 40 <= width <= 100 else 0
    start: int | None = None
    for place, line in enumerate(lines):
        if line.kind in (LineKind.BLANK, LineKind.RULE):
            if start is not None:
                yield start, line.start
            start = None
            continue
        if start is None:
            start = line.start
        following = lines[place + 1] if place + 1 < len(lines) else None
        if following is None or not _reads_on(text, line, following, wrapped):
            yield start, line.end
            start = None


def _reads_on(text: str, line: Line, following: Line, width: int) -> bool:
    if following.kind is not LineKind.PROSE or line.kind is LineKind.TABLE:
        return False
    content = text[line.start : line.end].rstrip()
    if content.endswith(":"):
        return False
    upcoming = text[following.start : following.end].lstrip()
    if upcoming[:1].islower() or content.endswith((",", "-")):
        return True
    first_word = upcoming.split(None, 1)[0] if upcoming else ""
    # the next word would not have fitted on this line: the page broke it, not the writer
    return width > 0 and line.end - line.start + 1 + len(first_word) >= width - 2
