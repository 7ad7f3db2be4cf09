"""The text as a reader sees it: what hides letters from a machine undone, and every character's source kept.

Exports leave entities, tags and escapes in notes, fonts leave full-width and mathematical letters, and whoever wants to
slip a name past a detector has a hundred ways more: invisible characters inside it, Cyrillic letters that look like
ours, "J o h n", "J0hn", base64. `plain` undoes them, round by round, since one may lie under another. Unlike a mended
text (`mending.py`) a plain one may be shorter, so it tells for each character which stretch of the source it stands
for; what is decoded as a whole stands, each letter of it, for the whole. Only detectors read it, beside the text itself
(`Pipeline.find`): a reading that is wrong finds too much, never less.

A text that has nothing of the kind, as nearly all have, is told by a few searches for signs (`_hints`).
"""

import base64
import binascii
import html
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cache, lru_cache
from itertools import pairwise
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from deident.document import Span
from deident.lexicons import Kind, lookalikes
from deident.view import row_of

_ROUNDS = 4  # "&amp;lt;b&amp;gt;" needs three

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Plain:
    """A plain text; character i stands for `starts[i]:ends[i]` of its source."""

    text: str = field(repr=False)
    starts: Ints = field(repr=False)
    ends: Ints = field(repr=False)

    def in_source(self, span: Span) -> Span:
        """The stretch of the source that the span's characters stand for."""
        here = slice(span.start, span.end)
        return replace(span, start=int(self.starts[here].min()), end=int(self.ends[here].max()))

    def in_plain(self, span: Span) -> Span | None:
        """The characters that stand for any part of a stretch of the source, from the first to the last."""
        places = np.flatnonzero((self.starts < span.end) & (self.ends > span.start))
        return replace(span, start=int(places[0]), end=int(places[-1]) + 1) if len(places) else None


class _Told(Enum):
    """What the characters of a replacement stand for."""

    EACH = 0  # one for one
    WHOLE = 1  # each for all that was replaced
    MIRRORED = 2  # one for one, from the end


class _Edit(NamedTuple):
    start: int
    end: int
    new: str
    told: _Told = _Told.WHOLE


@lru_cache(maxsize=8)
def plain(text: str) -> Plain | None:
    """The plain text of a text; None where the text itself is plain.

    >>> plain("seen by <b>Jo</b>hn") .text
    'seen by John'
    """
    hints = _hints(text)
    if not hints:
        return None
    read = Plain(text, np.arange(len(text)), np.arange(1, len(text) + 1))
    for _ in range(_ROUNDS):
        before = read.text
        for step in _STEPS:
            if step.hint in hints:
                read = _edited(read, step.edits(read.text))
        if read.text == before:
            break
        hints = _hints(read.text)
    return read if read.text != text else None


def _edited(read: Plain, edits: Iterable[_Edit]) -> Plain:
    """After disjoint edits in order; those that change nothing are passed over."""
    texts: list[str] = []
    starts: list[Ints] = []
    ends: list[Ints] = []
    done = 0
    for edit in edits:
        old = slice(edit.start, edit.end)
        if edit.start < done or read.text[old] == edit.new:
            continue
        texts += (read.text[done : edit.start], edit.new)
        starts.append(read.starts[done : edit.start])
        ends.append(read.ends[done : edit.start])
        match edit.told:
            case _Told.EACH:
                starts.append(read.starts[old])
                ends.append(read.ends[old])
            case _Told.MIRRORED:
                starts.append(read.starts[old][::-1])
                ends.append(read.ends[old][::-1])
            case _Told.WHOLE:
                starts.append(np.full(len(edit.new), read.starts[old].min()))
                ends.append(np.full(len(edit.new), read.ends[old].max()))
        done = edit.end
    if not texts:
        return read
    texts.append(read.text[done:])
    starts.append(read.starts[done:])
    ends.append(read.ends[done:])
    return Plain("".join(texts), np.concatenate(starts), np.concatenate(ends))


def _each(text: str, pattern: re.Pattern[str], new: Callable[[re.Match[str]], str | None]) -> Iterator[_Edit]:
    """Every match with what stands in its place, if anything does."""
    for match in pattern.finditer(text):
        word = new(match)
        if word is not None:
            yield _Edit(match.start(), match.end(), word)


def _nothing(_: re.Match[str]) -> str:
    return ""


# --- whether there is anything to look for ---------------------------------------------------------------------------


class _Hint(Enum):
    """What a glance finds in a text."""

    ODD = 0  # characters beyond ASCII that are no letters of a name, or control characters
    TAG = 1
    STRESS = 2
    ENTITY = 3
    BACKSLASH = 4
    EQUALS = 5
    PERCENT = 6
    BROKEN = 7  # a hyphen at the end of a line
    CODE = 8  # capitals, small letters and digits in one word
    LEET = 9
    DIGITS = 10
    APART = 11
    BACKWARDS = 12


_SIGNS = (
    (_Hint.TAG, ("<",)),
    (_Hint.STRESS, ("**", "__", "~~", "`", "==")),
    (_Hint.ENTITY, ("&",)),
    (_Hint.BACKSLASH, ("\\",)),
    (_Hint.EQUALS, ("=",)),
    (_Hint.PERCENT, ("%",)),
    (_Hint.BROKEN, ("-\n", "-\r")),
    (_Hint.LEET, ("@", "$")),
)
# A window of five signs by their kinds: small letters, capitals, digits and what is drawn like one, "O", "o", "I", "l",
# "/" and "-", control characters, all else. One look at a table for each window tells all of these shapes at once.
_OTHER, _SMALL, _CAPITAL, _DIGIT, _SMALL_ROUND, _CAPITAL_ROUND, _SLASH, _CONTROLS = range(8)
_SHAPES = (
    (_Hint.ODD, ("\0",)),
    (_Hint.CODE, ("a1A", "1aA", "aA1", "A1a", "a1a", "A1A", "A11A", "aAaA", "aAAa", "AaAaA", "AaAA")),
    (_Hint.LEET, ("a1a", "A1a", "A1A", "a11a", "a1 ", " 1aa")),
    (_Hint.APART, ("A a a",)),
    (_Hint.BACKWARDS, ("aaA ",)),
    (_Hint.DIGITS, ("1o1", " o11", "1oo", "oo1", "11o ", "oo/1", "o1/1")),
)
_KINDS_OF = {
    "a": (_SMALL, _SMALL_ROUND), "A": (_CAPITAL, _CAPITAL_ROUND), "1": (_DIGIT,), " ": (_OTHER, _SLASH),
    "o": (_SMALL_ROUND, _CAPITAL_ROUND), "/": (_SLASH,), "\0": (_CONTROLS,),
}  # fmt: skip
_WINDOW = 5


def _kind(code: int) -> int:
    sign = chr(code)
    if sign.isalpha():
        letter = _CAPITAL if sign.isupper() else _SMALL
        return letter + 3 if sign in "OoIl" else letter
    if sign.isdigit() or sign in "|!":
        return _DIGIT
    if sign in "/-":
        return _SLASH
    return _OTHER if sign.isprintable() or sign.isspace() else _CONTROLS


_KINDS = bytes(_kind(code) for code in range(256))


@cache
def _windows() -> NDArray[np.uint8]:
    """For each window, by its number in octal digits, which of the shapes' hints it begins."""
    numbers = np.arange(8**_WINDOW)
    kinds = [numbers >> 3 * (_WINDOW - 1 - place) & 7 for place in range(_WINDOW)]
    table = np.zeros(len(numbers), dtype=np.uint8)
    for bit, (_, shapes) in enumerate(_SHAPES):
        for shape in shapes:
            fits = [np.isin(kinds[place], _KINDS_OF[sign]) for place, sign in enumerate(shape)]
            table[np.logical_and.reduce(fits)] |= 1 << bit
    return table


def _hints(text: str) -> set[_Hint]:
    found = {hint for hint, signs in _SIGNS if any(sign[0] in text and sign in text for sign in signs)}
    kinds = np.frombuffer(f" {text}     ".encode("latin-1", "replace").translate(_KINDS), dtype=np.uint8)
    pairs = kinds[:-1] << 3 | kinds[1:]
    windows = (pairs[:-3].astype(np.uint16) << 6 | pairs[2:-1]) << 3 | kinds[4:]
    bits = int(np.bitwise_or.reduce(_windows()[windows]))
    found |= {hint for bit, (hint, _) in enumerate(_SHAPES) if bits >> bit & 1}
    if _has_singles(kinds):
        found.add(_Hint.APART)
    if not text.isascii() and _odd().search(text) is not None:
        found.add(_Hint.ODD)
    return found


def _has_singles(kinds: NDArray[np.uint8]) -> bool:
    """Whether four letters or digits stand each by itself and near the next, or three digits as those of a day do."""
    full = (kinds != _OTHER) & (kinds < _SLASH)
    places = np.flatnonzero(full[1:-1] & ~full[:-2] & ~full[2:])
    gaps = np.diff(places)
    near = gaps < 5
    if (near[:-2] & near[1:-1] & near[2:] & ((gaps[:-2] == 2) | (gaps[1:-1] == 2))).any():
        return True
    days = np.flatnonzero(gaps[:-1] + gaps[1:] == 6)  # "1 2 / 1", "5 / 3 0"
    digits = kinds[places + 1] == _DIGIT
    return bool((digits[days] & digits[days + 1] & digits[days + 2]).any())


@dataclass(frozen=True, slots=True)
class _Step:
    """One thing that is undone, where its hint was found."""

    hint: _Hint
    edits: Callable[[str], Iterable[_Edit]]


# --- what words are ---------------------------------------------------------------------------------------------------

_KNOWN_KINDS = Kind.CITY | Kind.STATE | Kind.COUNTRY | Kind.COUNTY | Kind.HOSPITAL_WORD | Kind.HONORIFIC | Kind.MONTH


_BORNE = 100  # people who bear a name, from which it is one


@lru_cache(maxsize=1 << 12)
def _is_word(word: str) -> bool:
    row = row_of(word)
    return row.name > 0 or row.english > 0 or row.clinical > 0 or bool(row.kinds)


def _is_used(word: str) -> bool:
    """Not the mere letters "abcd"."""
    row = row_of(word)
    return row.name > _BORNE or row.english > 1000 or row.clinical > 0


@lru_cache(maxsize=1 << 12)
def _is_name(word: str) -> bool:
    """What is rather a name, or a word that names are built with, than anything else."""
    row = row_of(word)
    return row.name > 2 * row.lower or bool(row.kinds & _KNOWN_KINDS)


# --- odd characters ---------------------------------------------------------------------------------------------------

_CONTROL = "\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f"
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f"
    f"\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff{_CONTROL}"
)
_MARKS = "\u0300-\u034e\u0350-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_BLANKS = "\u00a0\u1680\u2000-\u200a\u202f\u205f\u2800\u3000"
_BREAKS = "\x85\u2028\u2029"
_RAISED = "\u00b2\u00b3\u00b9\u02b0-\u02b8\u02e0-\u02e4\u1d2c-\u1d6a\u1d9b-\u1dbf\u2070-\u209c"  # "m²" stays
_SHAPED = (
    "\u2100-\u214f\u2460-\u24ff\u2776-\u2793\u3250-\u33ff\ufb00-\ufb06\ufe50-\ufe6f\uff01-\uff9f\uffe0-\uffef"
    "\U0001d400-\U0001d7ff\U0001f100-\U0001f1ff\U0001fbf0-\U0001fbf9"
)


@cache
def _odd() -> re.Pattern[str]:
    foreign = "".join(lookalikes())
    return re.compile(f"[{_INVISIBLE}{_MARKS}{_BLANKS}{_BREAKS}{_RAISED}{_SHAPED}{foreign}]")


_TURNED = re.compile("[\u202d\u202e]([^\n\u202a-\u202e]{1,400})\u202c?")
_HIDDEN = re.compile(f"[{_INVISIBLE}]+")
_MARK = re.compile(f"[{_MARKS}]")
_MARKED = re.compile(f"[^\\W\\d_]*(?:[^\\W_][{_MARKS}]+[^\\W\\d_]*)+")
_WITH = re.compile("[acpqsx][\u0304\u0305]")  # "c̄" is "with"
_SPACE = re.compile(f"[{_BLANKS}{_BREAKS}]")
_FORM = re.compile(f"[{_SHAPED}]|[{_RAISED}]{{3,}}")
_RUN = re.compile(r"[^\W_]{2,}|[^\W\d_](?=\.)")
_ONE = re.compile(r"[^\x00-\x7f]")


def _turned(text: str) -> Iterator[_Edit]:
    """What an override of the writing direction shows from its end."""
    for match in _TURNED.finditer(text):
        yield _Edit(match.start(), match.start(1), "")
        yield _Edit(*match.span(1), match[1][::-1] if match[0][0] == "\u202e" else match[1], _Told.MIRRORED)


def _hidden(text: str) -> Iterator[_Edit]:
    """Signs without a width that touch a letter, a digit or what stands in a number; others hold emoji together."""
    for match in _HIDDEN.finditer(text):
        before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
        if before.isalnum():  # what hangs on a letter goes with it
            yield _Edit(match.start() - 1, match.end(), before)
        elif after.isalnum() or (before + after).strip(".,;:/()@-") == "":
            yield _Edit(match.start(), match.end(), "")


def _spaces(text: str) -> Iterator[_Edit]:
    yield from _each(text, _SPACE, lambda match: "\n" if match[0] in _BREAKS else " ")


def _forms(text: str) -> Iterator[_Edit]:
    for match in _FORM.finditer(text):
        for place, sign in enumerate(match[0], match.start()):
            yield _Edit(place, place + 1, _form(sign))


@lru_cache(maxsize=1 << 12)
def _form(sign: str) -> str:
    """ "Ｊ", "𝐉", "Ⓙ", "🅹" → "J"; a sign that is no form of letters or digits stays."""
    shown = unicodedata.normalize("NFKC", sign).strip("()")
    if not shown.isascii():
        shown = shown.replace("\u2212", "-").replace("\u2044", "/")
    named = _LETTER.search(unicodedata.name(sign, ""))
    if not shown.isascii() and named is not None:
        return named[1]
    return shown if shown.isascii() and (shown.isalnum() or 0xFE50 <= ord(sign) <= 0xFFEF or shown in "-/") else sign


_LETTER = re.compile(r"\b(?:LETTER|SQUARED LATIN CAPITAL|SYMBOL LETTER) ([A-Z])$")


def _accents(text: str) -> Iterator[_Edit]:
    """Accents written after their letters: joined, and left out where only that gives a word."""
    if _MARK.search(text) is None:
        return
    yield from _each(text, _MARKED, lambda match: None if _WITH.fullmatch(match[0]) else _composed(match[0]))


@lru_cache(maxsize=1 << 12)
def _composed(word: str) -> str:
    joined = unicodedata.normalize("NFC", word)
    if joined.isalnum() and _is_word(joined):
        return joined
    parts = unicodedata.normalize("NFD", word)
    bare = "".join(sign for sign in parts if not unicodedata.combining(sign) and unicodedata.category(sign) != "Me")
    return joined if joined.isalnum() and not _is_word(bare) and len(joined) == len(bare) else bare


def _foreign(text: str) -> Iterator[_Edit]:
    """Words in which letters of another script stand for ours; a word of that script alone seldom reads as one."""
    for match in _RUN.finditer(text):
        word = match[0]
        if word.isascii():
            continue
        new = _in_ours(word)
        if new != word:
            yield _Edit(match.start(), match.end(), new, _Told.EACH)


@lru_cache(maxsize=1 << 12)
def _in_ours(word: str) -> str:
    table = lookalikes()
    new = "".join(table.get(sign, sign) for sign in word)
    ours = [sign for sign in word if sign.isascii() and sign.isalpha()]
    greek = [sign for sign in word if "\u03b1" <= sign <= "\u03c9"]
    if greek and all(map(str.isupper, ours)) and len(greek) < 3:  # "TNFα", "NFκB", "β2"
        return word
    letters = sum(map(str.isalpha, word))
    return new if new.isascii() or 2 * sum(sign.isascii() for sign in new if sign.isalpha()) > letters else word


# --- markup and escapes -----------------------------------------------------------------------------------------------

_INLINE = (
    "a|abbr|acronym|b|bdi|bdo|big|cite|code|del|dfn|em|font|i|ins|kbd|mark|o:p|q|s|samp|small|span|strike|strong|sub"
)
_BLOCK = "blockquote|br|center|dd|div|dl|dt|h[1-6]|hr|li|ol|p|pre|table|tbody|td|th|thead|tr|ul"
_TAG = re.compile(
    rf"(?i)</?(?:(?P<inline>{_INLINE}|sup|tt|u|var|wbr)|(?:{_BLOCK}))(?:\s[^<>]{{0,300}})?/?>|<!--[^<>]{{0,300}}-->"
)
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,8}\d{0,2});")
_STRESS_INSIDE = re.compile(r"[*_~`=](?<=[A-Za-z0-9].)[*_~=]{0,2}[A-Za-z0-9]")
_STRESSED = re.compile(r"(?<!\S)\S*[A-Za-z0-9](?:\*{2,3}|_{2}|~~|`|==)[A-Za-z0-9]\S*")
_STRESS = re.compile(r"\*{2,3}|(?<!_)__(?!_)|~~|`|==")
_RTF = re.compile(
    r"\\(?:(?P<inline>b0?|i0?|ul0?|ulnone|strike0?|plain|f\d{1,3}|fs\d{1,3}|cf\d{1,2}|cb\d{1,2}|highlight\d{1,2}|caps0?|"
    r"lang\d{1,5}|super|sub|nosupersub|kerning\d|expnd\w{0,4})|par|pard|line|tab)(?![a-z0-9-])[ ]?"
)
_RTF_SIGN = re.compile(r"\\'(?P<byte>[0-9a-f]{2})|\\u(?P<code>\d{2,5})\??(?:[ ])?")
_GROUP = re.compile(r"[{}]")
_ESCAPED = re.compile(r"\\u(?P<four>[0-9a-fA-F]{4})|\\x(?P<two>[0-9a-fA-F]{2})|\\(?P<line>[nrt])(?=[^a-z]|$)")
_SOFT = re.compile(r"=(?<=[\w.,@-]=)\r?\n(?=[\w.,@-])")  # a sign first, so that it is quickly told where there is none
_QUOTED = re.compile(r"=[0-9A-Fa-f]{2}(?:=[0-9A-Fa-f]{2})*")
_PERCENT = re.compile(r"%[0-9A-Fa-f]{2}(?:%[0-9A-Fa-f]{2})*")
_NAME_LIKE = re.compile(r"[\w .,'’@/:;()+-]+")


def _tags(text: str) -> Iterator[_Edit]:
    yield from _each(text, _TAG, lambda match: "" if match["inline"] or match[0][1] == "!" else "\n")


def _stress(text: str) -> Iterator[_Edit]:
    """ "Jo**hn**" → "John": the signs of a word inside which they stand."""
    if _STRESS_INSIDE.search(text) is None:
        return
    for word in _STRESSED.finditer(text):
        for match in _STRESS.finditer(text, *word.span()):
            yield _Edit(match.start(), match.end(), "")


def _entities(text: str) -> Iterator[_Edit]:
    yield from _each(text, _ENTITY, lambda match: html.unescape(match[0]))


def _rtf(text: str) -> Iterator[_Edit]:
    found = list(_each(text, _RTF, lambda match: "" if match["inline"] else "\n"))
    found += _each(text, _RTF_SIGN, _rtf_sign)
    if found:  # braces are RTF's where its words are
        found += _each(text, _GROUP, _nothing)
    yield from sorted(found)


def _rtf_sign(match: re.Match[str]) -> str | None:
    return bytes.fromhex(match["byte"]).decode("cp1252", "replace") if match["byte"] else _sign(int(match["code"]))


def _sign(code: int) -> str | None:
    return chr(code) if 31 < code < 0xD800 else None


def _escapes(text: str) -> Iterator[_Edit]:
    def new(match: re.Match[str]) -> str | None:
        if match["line"]:
            return "\t" if match["line"] == "t" else "\n"
        return _sign(int(match["four"] or match["two"], 16))

    yield from _each(text, _ESCAPED, new)


def _soft_breaks(text: str) -> Iterator[_Edit]:
    yield from _each(text, _SOFT, _nothing)


def _quoted(text: str) -> Iterator[_Edit]:
    yield from _hexed(text, _QUOTED)


def _percent(text: str) -> Iterator[_Edit]:
    yield from _hexed(text, _PERCENT)


def _hexed(text: str, pattern: re.Pattern[str]) -> Iterator[_Edit]:
    """ "J=6Fhn", "J%6Fhn": many escapes in a word, or one inside it; not "Na=13", nor "20%40"."""
    for match in pattern.finditer(text):
        try:
            signs = bytes.fromhex(match[0].replace(match[0][0], "")).decode("utf-8")
        except UnicodeDecodeError:
            continue
        before, after = text[match.start() - 1 : match.start()], text[match.end() : match.end() + 1]
        many = len(signs) > 1 or not signs.isascii() or len(pattern.findall(_chunk(text, match))) > 1
        inside = before.isalnum() and after.isalnum()
        beside = (before.isalpha() or after.isalpha()) and signs.isalpha()
        if _NAME_LIKE.fullmatch(signs) and (many or (inside and (signs.isalnum() or signs == " ")) or beside):
            yield _Edit(match.start(), match.end(), signs)


def _chunk(text: str, match: re.Match[str]) -> str:
    """What stands between the blanks around a match, or most of it."""
    left = text[max(0, match.start() - 40) : match.start()].rsplit(None, 1)
    right = text[match.end() : match.end() + 40].split(None, 1)
    before = text[match.start() - 1 : match.start()]
    head = left[-1] if left and not before.isspace() else ""
    tail = right[0] if right and not text[match.end() : match.end() + 1].isspace() else ""
    return head + match[0] + tail


_BASE64 = re.compile(r"(?<![\w+/=-])(?:[A-Za-z0-9+/_-]{7,}={0,2}|[A-Za-z0-9+/]{2,6}={1,2})(?![\w+/=])")
_ONE_CASE = re.compile(r"[A-Za-z]?(?:[a-z-]+|[A-Z-]+)")
_WRITTEN = re.compile(r"[\w\s.,;:!?'’\"“”()/@#&+%*=<>\[\]–—-]+")


def _base64(text: str) -> Iterator[_Edit]:
    yield from _each(text, _BASE64, lambda match: _decoded(match[0]))


@lru_cache(maxsize=1 << 12)
def _decoded(code: str) -> str | None:
    """The text that a run of base64 holds; None where it holds none, as words and numbers do."""
    bare = code.rstrip("= ").replace("-", "+").replace("_", "/")
    if (
        bare.isdigit()
        or (bare == code and _ONE_CASE.fullmatch(bare))
        or len(bare) % 4 == 1
        or (len(bare) < 7 and len(code) % 4)
    ):
        return None
    try:
        signs = base64.b64decode(bare + "=" * (-len(bare) % 4), validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return None
    letters = sum(sign.isalnum() for sign in signs)
    if not _WRITTEN.fullmatch(signs) or 3 * letters < 2 * len(signs):
        return None
    return signs


# --- letters for letters, letters apart, words from their end, words on two lines ------------------------------------

_LEET = MappingProxyType(
    {"0": "o", "1": "il", "3": "e", "4": "a", "5": "s", "7": "t", "8": "b", "9": "g", "@": "a", "$": "s", "!": "i"}
    | {"|": "il"}
)
_LEET_SIGNS = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz01345789@$!|")
_TOUCHED = re.compile(r"[013-57-9@$!|](?:(?=[A-Za-z])|(?<=[A-Za-z].))")
_MIXED = re.compile(
    r"(?<![\w@$.])(?=[0-9@$!|]{0,3}[A-Za-z])(?=[A-Za-z]{0,24}[0-9@$!|])[A-Za-z01345789@$!|]{3,24}"
    r"(?![\w@$]|[/-]\d)"
)
_NUMBER = re.compile(
    r"(?<![\w.])(?!I/O\b|O2\b)(?=[\d./ ()-]*[OoIl])[(]?[\dOoIl](?:[-./()]?[ ]?(?!I/O\b|O2\b)[\dOoIl]){4,24}(?!\w)"
)
_DIGITS = str.maketrans("OoIl", "0011")


def _leet(text: str) -> Iterator[_Edit]:
    done = 0
    for touched in _TOUCHED.finditer(text):
        if touched.start() < done:
            continue
        start = touched.start()
        while start > done and text[start - 1] in _LEET_SIGNS:
            start -= 1
        match = _MIXED.match(text, start)
        if match is None:
            continue
        done = match.end()
        word = match[0].rstrip("!|")
        new = _letters(word)
        if new != word:
            yield _Edit(match.start(), match.start() + len(word), new, _Told.EACH)


@lru_cache(maxsize=1 << 12)
def _letters(word: str) -> str:
    """ "J0hn" → "John", if that makes a name of what was no word."""
    signs = [sign for sign in word if not sign.isalpha()]
    letters = len(word) - len(signs)
    if not signs or letters < 2 or 2 * len(signs) > len(word) or len(word) < 4 or (word.isalnum() and _is_word(word)):
        return word
    if not (word[0].isalpha() or word[1].isalpha()) or (word[-1] in "134579" and len(word) < 6):  # "73yo", "day3"
        return word
    readings = [""]
    for sign in word:
        readings = [begun + letter for begun in readings for letter in _LEET.get(sign, sign)]
        if len(readings) > 16:
            return word
    best = max(readings, key=lambda reading: row_of(reading).name)
    if not _is_name(best) or (row_of(best).name < _BORNE and not row_of(best).kinds & _KNOWN_KINDS):
        return word
    own = [sign for sign in word if sign.isalpha()]
    if len(own) > 1 and all(map(str.isupper, own)):
        return best.upper() if len(word) > 4 else word  # "CN3", "GA48"
    return best[0].upper() + best[1:] if not word[0].isalpha() else best


def _digits(text: str) -> Iterator[_Edit]:
    """ "3O3-555-O182": letters that look like digits, in a number."""
    for match in _NUMBER.finditer(text):
        signs = re.sub(r"\W", "", match[0])
        digits = sum(map(str.isdigit, signs))
        if digits > 3 and 2 * digits > len(signs) and re.search(r"[\d/-][OoIl]|[OoIl][\d/-]", match[0]):
            yield _Edit(match.start(), match.end(), match[0].translate(_DIGITS), _Told.EACH)


_APART = {
    " ": re.compile(r"(?<!\S)\S(?:[ ]{1,3}\S)+(?![^\s.,;:)])"),
    **{
        by: re.compile(
            rf"(?<![\w.*/-])[^\W_](?:{re.escape(by)}\S)+(?:[ ]{{1,3}}[^\W_](?:{re.escape(by)}\S(?!\w))*)*(?![\w/-])"
        )
        for by in "._*-"
    },
}
# the same begun in the middle, which is quickly told where there is none
_SPACED = {by: re.compile(rf"{re.escape(by)}\S{re.escape(by)}{{1,3}}\S(?!\w)") for by in _APART}
_GAP = re.compile(r"[ ]+")
_RISE = re.compile(r"(?<=[a-z])(?=[A-Z])")
_DAY = re.compile(r"\d{1,2}[/-]\d{1,2}(?:[/-]\d{2,4})?")


def _apart(text: str) -> Iterator[_Edit]:
    """ "J o h n   S m i t h" → "John Smith"; one word that is apart proves it of those beside it."""
    found: list[_Edit] = []
    for by, pattern in _APART.items():
        if _SPACED[by].search(text) is None:
            continue
        between = re.compile("[ ]{2,}") if by == " " else _GAP
        for run in pattern.finditer(text):
            gaps = list(between.finditer(text, *run.span()))
            starts = [run.start(), *(gap.end() for gap in gaps)]
            ends = [*(gap.start() for gap in gaps), run.end()]
            words = [text[start:end].replace(by, "") for start, end in zip(starts, ends, strict=True)]
            if any(_is_apart(word, by) for word in words):
                found += (_Edit(gap.start(), gap.end(), " ") for gap in gaps)
                found += (
                    _Edit(start, end, " ".join(_parted(word)))
                    for start, end, word in zip(starts, ends, words, strict=True)
                )
    yield from sorted(found, key=lambda edit: edit.start)


def _is_apart(word: str, by: str) -> bool:
    """Whether the letters make a word, or the digits a number; not "A B C D", grades of strength or a scale of pain."""
    letters = [sign for sign in word if sign.isalpha()]
    digits = [int(sign) for sign in word if sign.isdecimal()]
    if by != "-" and _DAY.fullmatch(word):
        return True
    if len(digits) > 4 and len(digits) >= len(letters):
        return by != "-" and len(set(digits)) > 2 and len({(right - left) for left, right in pairwise(digits)}) > 1
    if len(letters) < 3 or 2 * len(letters) < len(word):
        return False
    spelled = "".join(letters)
    if re.fullmatch(r"(?:[A-Z][a-z]+)+", spelled) and (len(spelled) > 3 or _is_name(spelled)):
        return True
    if by == " " and len(spelled) > 3 and (spelled.isupper() or spelled.islower()):
        return all(map(_is_used, _parted(spelled)))
    named = _is_name(spelled) and row_of(spelled).name > _BORNE
    return by not in " -" and (named if len(spelled) == 4 else len(spelled) > 4 and _is_word(spelled))  # no "F.A.C.S."


@lru_cache(maxsize=1 << 12)
def _parted(word: str) -> tuple[str, ...]:
    """ "JohnSmith" and "JOHNSMITH" → "John", "Smith"."""
    if not word.isalpha() or not (word.isupper() or word.islower()) or _is_word(word):
        return tuple(_RISE.split(word))
    halves = [(word[:place], word[place:]) for place in range(3, len(word) - 2)]
    named = [pair for pair in halves if all(map(_is_name, pair))]
    return max(named, key=lambda pair: min(row_of(pair[0]).name, row_of(pair[1]).name), default=(word,))


_BACKWARDS = re.compile(r"(?<![\w'’-])[a-z]{2,}[A-Z](?:[ ](?:[.][A-Z]|[a-z]{2,}[A-Z]))*(?![\w'’])")


def _backwards(text: str) -> Iterator[_Edit]:
    """ "htimS nhoJ" → "John Smith", if that makes names of what were no words."""
    for match in _BACKWARDS.finditer(text):
        words = match[0].split(" ")
        if any(_is_name(word[::-1]) and row_of(word[::-1]).name > row_of(word).name for word in words):
            yield _Edit(match.start(), match.end(), match[0][::-1], _Told.MIRRORED)


_BROKEN = re.compile(
    r"(?<![\w-])(?P<head>[A-Z][a-z]+)-[ ]?\r?\n[ \t>]*(?P<tail>[a-z]+)(?![\w-])|(?<=\d)-\r?\n[ \t]*(?=\d)"
)


def _broken(text: str) -> Iterator[_Edit]:
    """ "Smi-" and "th" on the next line → "Smith"."""

    def new(match: re.Match[str]) -> str | None:
        if match["head"] is None:
            return "-"
        whole = match["head"] + match["tail"]
        return whole if _is_name(whole) or not (_is_word(match["head"]) or _is_word(match["tail"])) else None

    yield from _each(text, _BROKEN, new)


_STEPS = (
    _Step(_Hint.ENTITY, _entities),
    _Step(_Hint.BACKSLASH, _rtf),
    _Step(_Hint.BACKSLASH, _escapes),
    _Step(_Hint.EQUALS, _soft_breaks),
    _Step(_Hint.EQUALS, _quoted),
    _Step(_Hint.PERCENT, _percent),
    _Step(_Hint.EQUALS, _base64),
    _Step(_Hint.CODE, _base64),
    *(_Step(_Hint.ODD, edits) for edits in (_turned, _hidden, _spaces, _forms, _accents, _foreign)),
    _Step(_Hint.TAG, _tags),
    _Step(_Hint.STRESS, _stress),
    _Step(_Hint.BROKEN, _broken),
    _Step(_Hint.APART, _apart),
    _Step(_Hint.BACKWARDS, _backwards),
    _Step(_Hint.DIGITS, _digits),
    _Step(_Hint.LEET, _leet),
)
