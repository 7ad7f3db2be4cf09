"""The outside of a word: its case, its digits and letters, and how another takes them on."""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby

from deident.surrogates._draws import Draw

_VOWELS = "aeiou"
_CONSONANTS = "bcdfghklmnprstvw"
_SPACED = re.compile(r"[^\W\d_](?:[ ]{1,3}[^\W\d_]){3,60}")


def listed(text: str) -> tuple[str, ...]:
    """The words of a list that is written as text."""
    return tuple(text.split())


@lru_cache(maxsize=1 << 14)
def fold(text: str) -> str:
    """The normal form: letters and digits only, without case or accents: "O’Brien-Peña" → "obrienpena"."""
    if text.isascii():
        return "".join(filter(str.isalnum, text.lower()))
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKD", text.casefold())))


def like(model: str, word: str) -> str:
    """`word` in the case of `model`: upper, lower, or with capitals at the words' beginnings."""
    if model.islower():
        return word.lower()
    if model.isupper() and sum(map(str.isalpha, model)) > 1:
        return word.upper()
    if len(model) > 2 and model[0].islower() and model[1:].isupper():  # "mONDAY", the capitals' key held down
        return word[:1].lower() + word[1:].upper()
    if word.islower() or word.isupper():
        return "".join(part.capitalize() for part in re.split(r"(?<=[\s'’-])", word))
    return word


# Letters that scanners read for digits, beside a digit, and digits that they read for letters, inside a word.
_SCANNED_NUMBER = re.compile(r"(?<![^\W\d_OoIlS])(?=[OoIl|S]{0,9}\d)[\dOoIl|S]{2,40}(?![^\W\d_])", re.ASCII)
_SCANNED_LETTER = re.compile(
    r"(?<=[^\W\d_])[0158|](?=[^\W\d_])|(?<=[^\W\d_]{4})[01](?!\w)"
    r"|(?<!\w)[01](?=[^\W\d_]{3})|(?<!\w)0(?=['’][^\W\d_])"
)
_AS_DIGITS = str.maketrans("OoIl|S", "001115")
_AS_LETTERS = {"0": "o", "1": "l", "5": "s", "8": "b", "|": "l"}


def digits_read(text: str) -> str:
    """ "555-Ol29" → "555-0129"; as long as before."""
    if text.isdecimal() or not any(map(str.isalpha, text)):
        return text
    return _SCANNED_NUMBER.sub(lambda run: run[0].translate(_AS_DIGITS), text)


def letters_read(text: str) -> str:
    """ "0'C0nnor" → "O'Connor"; as long as before."""
    if text.isalpha():
        return text

    def read(match: re.Match[str]) -> str:
        letter = _AS_LETTERS[match[0]]
        before = text[match.start() - 1 : match.start()]
        capital = before.isupper() if before.isalpha() else match[0] == "0"
        return letter.upper() if capital else letter

    return _SCANNED_LETTER.sub(read, text)


def wrapped(model: str, text: str) -> str:
    """`text` broken over lines as `model` is, if it has a blank to be broken at."""
    middle = model.find("\n")
    if middle < 0 or "\n" in text:
        return text
    start = len(model[:middle].rstrip())
    end = len(model) - len(model[middle:].lstrip())
    return text.replace(" ", model[start:end], 1)


def digit(model: str, value: int) -> str:
    """The digit `value` in the script of `model` ("٣" stays Arabic)."""
    zero = ord(model) - unicodedata.decimal(model, 0) if model.isdecimal() else ord("0")
    return chr(zero + value)


def scrambled(text: str, draw: Draw, what: str, normal: str | None = None) -> str:
    """Digit for digit and letter for letter, never the same text; what is neither stays."""
    normal = fold(text) if normal is None else normal
    size = sum(map(str.isalnum, text))
    if size == 0:
        return text
    folded = text.casefold()
    for attempt in range(64):
        pool = draw.number(what, f"{normal}\0{attempt}")
        made: list[str] = []
        for place, char in enumerate(text):
            if char.isalpha():
                pool, value = divmod(pool, 26)
                new = chr(97 + value)
                made.append(new.upper() if char.isupper() else new)
            elif char.isalnum():
                first = char != "0" and not (place and text[place - 1].isalnum())
                pool, value = divmod(pool, 9 if first else 10)
                made.append(digit(char, value + first))
            else:
                made.append(char)
            if pool < 1 << 32:
                pool = draw.number(what, f"{normal}\0{attempt}\0{place}")
        new_text = "".join(made)
        if new_text.casefold() != folded:
            return new_text
    raise AssertionError("64 independent draws of one text were equal")


def renumbered(text: str, draw: Draw, what: str) -> str:
    """Every run of digits (and of "²", "½" …) changed, all else as it is."""
    if not any(map(str.isnumeric, text)):
        return text
    runs = ("".join(run) for _, run in groupby(text, str.isnumeric))
    return "".join(scrambled(run, draw, what) if run[0].isnumeric() else run for run in runs)


def babble(draw: Draw, what: str, normal: str, length: int) -> str:
    """A word that can be pronounced and means nothing, never `normal`."""
    for attempt in range(64):
        pool = draw.number(what, f"{normal}\0{attempt}")
        odd = pool & 1
        made: list[str] = []
        for place in range(length):
            letters = _VOWELS if (place + odd) % 2 else _CONSONANTS
            pool, value = divmod(pool, len(letters))
            made.append(letters[value])
            if pool < 1 << 32:
                pool = draw.number(what, f"{normal}\0{attempt}\0{place}")
        word = "".join(made)
        if word != normal:
            return word
    raise AssertionError("64 independent draws of one word were equal")


def unlike(draw: Draw, what: str, normal: str, items: Sequence[str]) -> str:
    """One of the items, that neither contains the normal form nor is part of it."""
    place = draw.below(len(items), what, normal)
    for step in range(len(items)):
        new = items[(place + step) % len(items)]
        folded = fold(new)
        if not normal or not (normal in folded or folded in normal):
            return new
    return babble(draw, what, normal, min(max(len(normal), 4), 12)).capitalize()


def unspaced(text: str) -> str | None:
    """ "kowalski" for "k o w a l s k i", as scanners leave it; None where letters are not spaced out."""
    if len(text) < 7 or text[1] != " " or not _SPACED.fullmatch(text):
        return None
    wide = re.split(r" {2,}", text)
    return " ".join(part.replace(" ", "") for part in wide)


def spaced(text: str) -> str:
    return "  ".join(" ".join(word) for word in text.split(" "))
