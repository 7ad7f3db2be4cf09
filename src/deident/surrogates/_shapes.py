"""The outside of a word: its case, its digits and letters, and how another takes them on."""

import re
import unicodedata
from functools import lru_cache

from deident.surrogates._draws import Draw

_VOWELS = "aeiou"
_CONSONANTS = "bcdfghklmnprstvw"
_SPACED = re.compile(r"[^\W\d_](?:[ ]{1,3}[^\W\d_]){3,60}")


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
    if word.islower() or word.isupper():
        return "".join(part.capitalize() for part in re.split(r"(?<=[\s'’-])", word))
    return word


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
        if new_text != text:
            return new_text
    raise AssertionError("64 independent draws of one text were equal")


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


def unspaced(text: str) -> tuple[str, str] | None:
    """("kowalski", " ") for "k o w a l s k i", as scanners leave it; None where letters are not spaced out."""
    if len(text) < 7 or text[1] != " " or not _SPACED.fullmatch(text):
        return None
    wide = re.split(r" {2,}", text)
    return " ".join(part.replace(" ", "") for part in wide), " "


def spaced(text: str) -> str:
    return "  ".join(" ".join(word) for word in text.split(" "))
