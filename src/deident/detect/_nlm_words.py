"""What one word tells the NLM Scrubber: its likelihood ratio, its input to the name automaton, what it may begin.

All of it is a function of the word alone, so it is worked out once for each word type and kept.
"""

import re
import tomllib
from functools import cache, lru_cache
from importlib.resources import files
from math import log10
from types import MappingProxyType

import numpy as np

from deident import lexicons
from deident.lexicons import Kind, WordRow
from deident.view import Marks, View, row_of

KEPT = 1 << 16  # word types whose answers are kept


@cache
def classes() -> dict[str, frozenset[str]]:
    """The word classes of `nlm_words.toml`."""
    text = files("deident.detect").joinpath("nlm_words.toml").read_text(encoding="utf-8")
    return {name: frozenset(listed.split()) for name, listed in tomllib.loads(text).items()}


@cache
def _prior() -> float:
    """log10 of (N2 + r2) / (N1 + r1): the ratio for a word that neither sample has (seed formula 2)."""
    totals = lexicons.words().totals
    return log10((totals.english + totals.english_types) / (totals.name + totals.name_types))


@lru_cache(maxsize=KEPT)
def likelihood(row: WordRow) -> float:
    """log10 of P(word | name) / P(word | English), each with Bayes–Laplace smoothing: (n + 1) / (N + r).

    Kayaalp et al. 2013, "Likelihood ratio metric", formulas 1–3. Above 0 the word is likelier a name.

        >>> from deident.view import Marks, View, row_of
        >>> likelihood(row_of("Stoltzfus")) > 2 > 0 > likelihood(row_of("hospital"))
        True
    """
    return log10((row.name + 1) / (row.english + 1)) + _prior()


@lru_cache(maxsize=KEPT)
def word_likelihood(word: str) -> float:
    """The likelihood of a word; a nickname counts a share of the people who bear the official name.

    Nicknames are rare as official names, so that their counts alone are unrealistic (Kayaalp 2013, "Privacy risk
    analysis"); a twentieth of the bearers is assumed to use one.
    """
    row = row_of(word)
    plain = likelihood(row)
    official = lexicons.nicknames().get(word.lower(), ()) if row.english < _COMMON else ()
    if not official:
        return plain
    bearers = sum(row_of(name).female + row_of(name).male for name in official)
    return max(plain, log10((row.name + bearers / 20 + 1) / (row.english + 1)) + _prior())


_COMMON = 300_000  # uses in 10⁹ words of English from which nothing makes a word a likely name
_MEDICAL = Kind.MEDICAL | Kind.DISEASE | Kind.DRUG | Kind.ABBREVIATION
_CALENDAR = Kind.MONTH | Kind.WEEKDAY | Kind.HOLIDAY


@lru_cache(maxsize=KEPT)
def is_filtered(word: str) -> bool:
    """The false-positive filter: words of clinical reports and of medicine, no names unless a title says so."""
    low = word.lower()
    row = row_of(word)
    if low in classes()["functions"]:
        return True
    score = likelihood(row)
    if row.clinical > 0 or row.kinds & Kind.SAFE:
        return score < 0.9 or row.clinical > 100
    if row.kinds & _MEDICAL:
        return score < 1.2
    if row.name == 0:
        return row.lower > 30 or low.endswith(_endings())
    return row.lower > row.name * 3


@cache
def _endings() -> tuple[str, ...]:
    return tuple(classes()["endings"])


_MARKS = MappingProxyType({sign: sign for sign in ".,-'():\"/&|;"} | {"’": "'", "“": '"', "”": '"', "#": "!", "+": "&"})

_SUFFIXES = frozenset(["jr", "sr", "ii", "iii", "iv"])
_LOWER_TITLES = frozenset(
    ["mr", "mrs", "ms", "miss", "mister", "dr", "drs", "doctor", "prof", "rev", "rabbi", "pastor", "sgt", "capt"]
)

# Symbols of the words of a text, one character a token, on which the automaton's inputs are decided:
#   p title        r role (title or word)   f family     l field name     y verb after a person    b "by"
#   n likely name  w may be a name          k a word, and a common name ("Will", "Day")    W capital, a word
#   i initial      s suffix                 c credential         q particle
#   m likely name in lower case             v may be one         d number     x all other words
#   e a single letter in lower case
#   . , - ' ( ) : " / & | ; stand for themselves, ! for other signs


@lru_cache(maxsize=KEPT)
def symbol(word: str) -> str:
    """The one character that stands for a word in the automaton's reading of a text."""
    first = word[0]
    if not first.isalpha():
        if first.isdigit():
            return "d"
        return _MARKS.get(word, "!" if len(word) == 1 or not word.isalnum() else "x")
    low = word.lower()
    listed = classes()
    upper = first.isupper()
    if len(word) == 1 or (upper and low in listed["shortened"]):
        return "i" if upper else "e"
    if low in listed["titles"] and (upper or low in _LOWER_TITLES):
        return "W" if word.isupper() and low in ("fr", "col", "don", "lt", "hon") else "p"
    if low in _SUFFIXES and (upper or low in ("jr", "sr")):
        return "s"
    if low in listed["family"]:
        return "f"
    if low == "by":
        return "b"
    if low in listed["labels"]:
        return "c" if word.isupper() and low in listed["credentials"] else "l"
    if low in listed["roles"]:
        return "r"
    if upper and low in listed["credentials"] and (word.isupper() or low in ("phd", "pharmd", "psyd")):
        return "c"
    row = row_of(word)
    if row.kinds & Kind.PARTICLE and (not upper or len(word) <= 4) and low not in listed["no_particles"]:
        return "q"
    if low in listed["verbs"] and (low not in ("will",) or not upper or word.isupper()):
        return "y"
    score = word_likelihood(word)
    if not upper:
        if low in listed["functions"] or is_filtered(word) or not word.isalpha():
            return "x"
        if score >= 1.3 and row.lower < 400 and row.name >= 300 and not row.kinds & (_MEDICAL | _CALENDAR):
            return "m"
        return "v" if (score > 0 and row.lower < 6000) or not row.english else "x"
    if low in listed["functions"] and (low not in ("will", "may") or word.isupper()):
        return "W"
    if len(word) == 2 and word.isupper() and row.kinds & Kind.ABBREVIATION:
        return "W"  # ED, MI
    if is_filtered(word):
        return "k" if row.name >= 5000 and score > -1.8 else "W"
    if score > 0 and row.name:
        return "n"
    # a word that is hardly ever written in lower case is a name of some kind ("Leeuwen", "Yellowtail")
    proper = row.lower * 4 < row.english and not row.kinds & (_MEDICAL | Kind.COMPANY | Kind.EPONYM)
    return "w" if row.name or not row.lower or proper else "W"


# Triggers: what else a word may begin or end. One character a token, a blank for none.
#   d number   M month   W weekday   H season, holiday   N number in words   A age   I identifier's name   @ e-mail, URL
#   S street's suffix   B box, route   O hospital or organisation   E employment   P place   T at   U in, from, near
#   Q both I and O   R both H and O
_AGES = frozenset(["age", "aged", "ages", "birthday", "bday", "born", "turning", "turned", "onset"])
_PLACE_KINDS = Kind.CITY | Kind.COUNTRY | Kind.STATE | Kind.LANDMARK | Kind.COUNTY


_MISSPELT_MONTH = re.compile(
    r"jan[a-z]{3,6}y|febr?[a-z]{3,4}y|se[a-z]{4,6}ber|oct[a-z]{2,4}er|nov[a-z]{3,5}er|dec[a-z]{3,5}er"
)


@lru_cache(maxsize=KEPT)
def trigger(word: str) -> str:
    """The one character that says what else a word may be part of; a blank for nothing."""
    first = word[0]
    if first.isdigit():
        return "d"
    if not first.isalpha():
        return "@" if word == "@" else "I" if word == "#" else " "
    low = word.lower()
    row = row_of(word)
    kinds = row.kinds
    listed = classes()
    if kinds & Kind.MONTH or (row.english < 1000 and _MISSPELT_MONTH.fullmatch(low)):
        return "M"
    if kinds & Kind.WEEKDAY or low in ("mwf", "tts", "tth", "tths"):
        return "W"
    if low in listed["holidays"] and (first.isupper() or low == "spring"):
        return "R" if low in listed["heads"] else "H"
    if low in listed["number_words"]:
        return "N"
    if low in _AGES:
        return "A"
    if low in ("http", "https", "www"):
        return "@"
    if kinds & (Kind.HOLIDAY | Kind.SEASON):
        return "H"
    if word in ("M", "T", "Tu"):
        return "W"
    if low in listed["identifiers"]:
        return "Q" if first.isupper() and low in listed["heads"] else "I"
    if low in listed["employment"]:
        return "E"
    if low in listed["routes"]:
        return "B"
    if low == "at" and not word.isupper():
        return "T"
    if low in ("in", "from", "near", "of", "to") and not word.isupper():
        return "U"
    if word == "CO":
        return "P"
    if low in listed["heads"]:
        return "O" if first.isupper() or low in ("hospital", "clinic", "church", "school", "college") else " "
    if not first.isupper():
        return " "
    if kinds & Kind.STREET_SUFFIX:
        return "S"
    if kinds & _PLACE_KINDS and not row.clinical:
        return "P"
    if kinds & Kind.STATE_CODE and word.isupper():
        return "P"
    return " "


_SIGNS = Marks(lambda word: ord(symbol(word)) | ord(trigger(word)) << 8)


def read(view: View) -> tuple[str, str]:
    """The symbols and the triggers of a text's words, each one character a token."""
    signs = _SIGNS.of(view)
    symbols, triggers = (part.astype(np.uint8).tobytes().decode("ascii") for part in (signs & 127, signs >> 8))
    return symbols, triggers
