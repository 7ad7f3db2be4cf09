"""The text as it was meant: misread letters, a stuck shift key and a lost case put right, character for character.

The rules know names by their capitals and words by their letters. Three accidents take these from a whole note: a scan
("Rosenb1um", "H0SPITAL"), a keyboard with caps lock on ("dR. aRCENEAUX"), and typing in one case ("seen by dr gold").
`mended` undoes them as far as the lexicons tell, and never changes the length, so that offsets hold in both texts. Only
detectors read the mended text; nothing is written from it.
"""

import re
from functools import lru_cache
from types import MappingProxyType

from deident import lexicons
from deident.lexicons import Kind

_LEAST = 30  # letters from which a text can be said to be in one case


def _kind(code: int) -> str:
    sign = chr(code)
    if code > 127 or sign in "0158|!":
        return "1" if code < 128 else "a"
    return "a" if sign.islower() else "A" if sign.isupper() else "9" if sign.isdigit() or sign in "_.-" else " "


# What a glance finds: a letter-like sign between letters, or at the start of a word; a small letter before capitals.
_KINDS = bytes(ord(_kind(code)) for code in range(256))
_HINTS = (b"a1a", b"a11a", b"a1A", b"A1a", b"A1A", b" 1aaa", b" 1AAA", b" aAAA")
_MISREAD = re.compile(r"(?<![\w.@/-])(?=[\w|!]{0,24}?[A-Za-z]{2})[A-Za-z0158|!]{4,24}(?![\w@])")
_ISOLATED = re.compile(r"(?<![0-9|!])(?:[0158|!]|11)(?![0-9|!])")
_ELIDED = re.compile(r"(?<![\w.])0(?=['’][A-Z][a-z])")  # "0'Connor"
_INVERTED = re.compile(r"(?<![\w-])[a-z][A-Z]{2,}(?![a-z])")
_READINGS = MappingProxyType({"0": "o", "1": "li", "5": "s", "8": "b", "|": "li", "!": "li"})


@lru_cache(maxsize=8)
def mended(text: str) -> str:
    """The text that was meant, of the same length.

    >>> mended("seen by Dr. Rosenb1um")
    'seen by Dr. Rosenblum'
    """
    kinds = text.encode("latin-1", "replace").translate(_KINDS)
    if any(hint in kinds for hint in _HINTS):
        if len(_INVERTED.findall(text)) >= _TIMES:
            text = _same_length(text, text.swapcase())
        text = _ELIDED.sub("O", _MISREAD.sub(lambda match: _reading(match[0]), text))
    small, capitals = kinds.count(b"a"), kinds.count(b"A")
    return _capitalised(text) if small + capitals >= _LEAST and capitals <= _FEW * small else text


_TIMES = 4  # words with a small letter before capitals, from which the shift key was stuck


def _same_length(text: str, other: str) -> str:
    return other if len(other) == len(text) else text


@lru_cache(maxsize=1 << 12)
def _reading(word: str) -> str:
    """The word with its misread letters put right, if that makes a known word and it was none."""
    if word.isalpha() or not 1 <= len(_ISOLATED.findall(word)) <= 3 or len(re.findall("[0158|!]", word)) > 3:
        return word
    if sum(map(str.isalpha, word)) < 3 or _is_known(word):
        return word
    readings = [""]  # at most four letters have two
    for sign in word:
        readings = [begun + letter for begun in readings for letter in _READINGS.get(sign, sign)]
    for reading in readings:
        if _is_known(reading):
            return _in_case_of(word, reading)
    return word


def _is_known(word: str) -> bool:
    if not word.isalpha():
        return False
    row = lexicons.words().get(word)
    return row.name > 0 or row.lower > 30 or row.clinical > 0 or bool(row.kinds)


def _in_case_of(word: str, reading: str) -> str:
    letters = [sign for sign in word if sign.isalpha()]
    if all(map(str.isupper, letters)):
        return reading.upper()
    return reading[0].upper() + reading[1:] if not word[0].isalpha() and letters[0].isupper() else reading


# --- text in one case ------------------------------------------------------------------------------------------------

_FEW = 0.015  # the share of letters in the other case up to which a text is in one case
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]{3,})?")  # "o'hare"; never two runs of letters without a sign between
_PLACES = Kind.CITY | Kind.STATE | Kind.COUNTRY | Kind.COUNTY
_NO_NAME = Kind.MEDICAL | Kind.DISEASE | Kind.DRUG | Kind.ABBREVIATION | Kind.EPONYM | Kind.MONTH | Kind.WEEKDAY


@lru_cache(maxsize=1 << 12)
def _is_title(word: str) -> bool:
    """ "dr", "mrs", but no "chief", which is an adjective as well."""
    row = lexicons.words().get(word)
    return bool(row.kinds & Kind.HONORIFIC) and len(word) < 5 and row.lower < 10 * _WORD_FROM


@lru_cache(maxsize=1 << 12)
def _is_degree(word: str) -> bool:
    """ "md", "rn", but no "do" or "pa"."""
    row = lexicons.words().get(word)
    return bool(row.kinds & Kind.CREDENTIAL) and row.lower < _WORD_FROM and not row.kinds & Kind.STREET_SUFFIX


_WORD_FROM = 2050  # uses in lower case from which letters are a word as well


def _is_head(word: str) -> bool:
    """A word on which names of institutions and streets are built."""
    heads = Kind.HOSPITAL_WORD | Kind.ORGANIZATION_WORD | Kind.STREET_SUFFIX
    return len(word) > 1 and bool(lexicons.words().get(word).kinds & heads)


def _capitalised(text: str) -> str:
    """A text in small letters with capitals where names are likely."""
    words = [(match.start(), match[0]) for match in _WORD.finditer(text)]
    out = list(text)
    before = ""  # the word before, if it stands close
    named = False  # whether it is a name
    stop = 0
    for start, word in words:
        close = start - stop <= 2 and "\n" not in text[stop:start]
        between = text[stop:start] if close else "\n"
        titled = close and _is_title(before)
        if len(word) == 1:
            if named and close and (between != " " or word not in "ai") and word not in "xs":
                out[start] = word.upper()
            else:
                named = False
            before, stop = word, start + 1
            continue
        follows = named and between in (" ", "-", ", ", ". ")
        name = _is_degree(word) or _is_name(word, titled=titled, named=follows) or (follows and _is_head(word))
        if _is_degree(word):
            out[start : start + len(word)] = word.upper()
        elif _is_title(word):
            out[start] = word[0].upper()
        elif name and len(capital := word[0].upper()) == 1:
            out[start] = capital
        named = name and not _is_degree(word)
        before, stop = word, start + len(word)
    cased = _INITIAL.sub(lambda match: match[0].upper(), "".join(out))
    return _STATE.sub(lambda match: match[0].upper() if _is_state(match[0]) else match[0], cased)


_INITIAL = re.compile(r"(?<![\w.])[a-z](?=\.[ ]?(?:[a-z]\.[ ]?)?[A-Z][a-z])")  # "j. Park"


# "Utica, in", "moab ut 84532": a state's code behind a place that has its capital
_STATE = re.compile(
    r"(?<=[a-z][a-z],[ ])[a-z]{2}(?=[\s.,;)]|$)|(?<=[a-z][a-z][ ])[a-z]{2}(?=[ ]{1,2}\d{5}(?!\d)|[ ]?(?:\n|$))"
)


def _is_state(word: str) -> bool:
    return bool(lexicons.words().get(word).kinds & Kind.STATE_CODE)


@lru_cache(maxsize=1 << 15)
def _is_name(word: str, *, titled: bool, named: bool) -> bool:
    row = lexicons.words().get(word)
    if len(word) < 3 and (
        row.kinds & (Kind.STATE_CODE | Kind.ABBREVIATION) or not (titled or (named and row.last > 500))
    ):
        return False
    if titled:
        return row.lower < 400_000 and not row.kinds & (Kind.ABBREVIATION | Kind.DEPARTMENT)
    if row.kinds & _PLACES and row.lower < 2000 and not row.clinical:
        return True
    if row.kinds & _NO_NAME or row.clinical:
        return named and row.last > 20_000 and row.clinical < 5
    if named and row.last > 500:
        return row.lower < 200_000
    if row.name > 2 * row.lower:
        return True
    return row.english == 0 and not row.kinds and len(word) > 3
