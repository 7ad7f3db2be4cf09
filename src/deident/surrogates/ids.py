"""Numbers and codes: digit for digit and letter for letter, with separators, known prefixes and check digits kept.

The draw is one of all strings of the shape, so two of a patient's n numbers of d digits meet in a surrogate with odds
of about n² / (2 · 10^d): one in 200,000 for ten numbers of seven digits.
"""

import re
from collections.abc import Callable, Sequence

from deident.labels import Label
from deident.surrogates import _shapes
from deident.surrogates._draws import Draw
from deident.surrogates._mentions import Mention, Options

LABELS = frozenset(
    {
        Label.SSN, Label.MEDICALRECORD, Label.HEALTHPLAN, Label.ACCOUNT, Label.LICENSE, Label.VEHICLE, Label.DEVICE,
        Label.BIOID, Label.IDNUM, Label.OTHER,
    }
)  # fmt: skip

# What says which kind of number follows, and so is none of it.
_PREFIX = re.compile(
    r"""\b(?:medical\ record|record|med\ rec|mrn?|unit|u\#|acct|account|acc|accession|ssn?|social\ security|npi|dea|vin
    |lic(?:en[cs]e)?|dl|plate|policy|member|group|subscriber|medicare|medicaid|hic|mbi|id|sn|s/n|serial|ref|lot|model
    |udi|device|case|order|visit|csn|har|nhs|ein|tin|no|nr|num|number)(?=[\s.:\#-]|\d|$)""",
    re.VERBOSE | re.IGNORECASE,
)
_MASKED = re.compile(r"(?i:x{2,}|\*+)")
_SSN = re.compile(r"(\d{3})(\D{0,3})(\d\d)(\D{0,3})(\d{4})")
_VIN_VALUES = dict(zip("ABCDEFGHJKLMNPRSTUVWXYZ", [*range(1, 9), *range(1, 6), 7, 9, *range(2, 10)], strict=True))
_VIN_WEIGHTS = (8, 7, 6, 5, 4, 3, 2, 10, 0, 9, 8, 7, 6, 5, 4, 3, 2)


def notice(mentions: Sequence[Mention]) -> None:
    """Numbers need nothing of the document."""


def surrogate(mention: Mention, draw: Draw, context: None, options: Options) -> str:  # noqa: ARG001 (the face of all families)
    text = mention.text
    if mention.label is Label.SSN:
        made = _social_security(text, draw)
        if made is not None:
            return made
    parts: list[str] = []
    position = 0
    for match in _PREFIX.finditer(text):
        parts += [_number(text[position : match.start()], draw), match[0]]
        position = match.end()
    if position == 0 and parts == []:
        return _number(text, draw)
    made = "".join([*parts, _number(text[position:], draw)])
    return made if made != text else _shapes.scrambled(text, draw, "id")


_WORD = re.compile(r"[^\W\d_]+")


def _babbled(word: str, draw: Draw) -> str:
    if len(word) < 4:
        return _shapes.scrambled(word, draw, "id", _shapes.fold(word))
    return _shapes.babble(draw, "id", _shapes.fold(word), len(word))


_HEXADECIMAL = re.compile(r"[0-9A-Fa-f]{2}(?:([:-])[0-9A-Fa-f]{2})(?:\1[0-9A-Fa-f]{2}){4}|[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")  # fmt: skip  # noqa: E501


def _hexadecimal(text: str, draw: Draw) -> str:
    """An address of a network card, or a UUID, by another."""
    normal = _shapes.fold(text)
    for attempt in range(64):
        digits = iter(f"{draw.number('id', f'{normal}{chr(0)}{attempt}'):064x}")
        new = "".join(_shapes.like(char, next(digits)) if char.isalnum() else char for char in text)
        new = new.upper() if text.upper() == text else new
        if _shapes.fold(new) != normal:
            return new
    raise AssertionError("64 draws of one address were equal")


def _number(text: str, draw: Draw) -> str:
    normal = _shapes.fold(text)
    if not any(map(str.isnumeric, text)) and any(map(str.islower, text)):  # the name of a boat or a ship
        return _WORD.sub(lambda word: _shapes.like(word[0], _babbled(word[0], draw)), text)
    if _HEXADECIMAL.fullmatch(text):
        return _hexadecimal(text, draw)
    if not normal:
        return text
    size = len(normal)
    if size in _CHECKED and text.isascii():
        for name, holds, repair in _CHECKS:
            if holds(normal):
                return _checked(text, draw, name, holds, repair)
    return _shapes.scrambled(text, draw, "id", normal)


def _social_security(text: str, draw: Draw) -> str | None:
    """Of an area that is never issued (9…), and a group that no tax number has.

    The last four stand for themselves, so that "xxx-xx-1234" agrees with the whole.
    """
    normal = _shapes.fold(text)
    match = _SSN.search(text)
    if match is not None:
        head, area = divmod(draw.number("ssn", match[1] + match[3]), 100)
        area += 900
        if area == int(match[1]):
            area = 900 + (area + 1) % 100
        group = head % 49 + 1
        new = f"{area:03d}{match[2]}{group:02d}{match[4]}{_serial(match[5], draw)}"
        return text[: match.start()] + new + text[match.end() :]
    if len(normal) >= 4 and normal[-4:].isdecimal() and not any(map(str.isdecimal, normal[:-4])):
        last = re.search(r"\d{4}(?!.*\d)", text, re.DOTALL)
        if last is not None:
            return text[: last.start()] + _serial(last[0], draw) + text[last.end() :]
    return None


def _serial(old: str, draw: Draw) -> str:
    new = draw.below(9999, "ssn serial", old) + 1
    return f"{new if new != int(old) else new % 9999 + 1:04d}"


# -- check digits: one that holds in the original holds in the surrogate -----------------------------------------------


def _luhn(digits: str) -> int:
    odd = sum(int(char) for char in digits[-1::-2])
    return (odd + sum(sum(divmod(2 * int(char), 10)) for char in digits[-2::-2])) % 10


def _luhn_repaired(digits: str, lead: str = "") -> str:
    return digits[:-1] + str(-_luhn(lead + digits[:-1] + "0") % 10)


def _npi(text: str) -> bool:
    return len(text) == 10 and text.isdecimal() and text[0] in "12" and _luhn("80840" + text) == 0


def _card(text: str) -> bool:
    return 13 <= len(text) <= 19 and text.isdecimal() and text[0] in "3456" and _luhn(text) == 0


def _dea_digit(text: str) -> str:
    digits = [int(char) for char in text[2:8]]
    return str((sum(digits[::2]) + 2 * sum(digits[1::2])) % 10)


def _dea(text: str) -> bool:
    return len(text) == 9 and text[:2].isalpha() and text[2:].isdecimal() and _dea_digit(text) == text[8]


def _nhs_digit(text: str) -> str:
    rest = 11 - sum(int(char) * weight for char, weight in zip(text, range(10, 1, -1), strict=False)) % 11
    return "0" if rest == 11 else str(rest)


def _nhs(text: str) -> bool:
    return len(text) == 10 and text.isdecimal() and _nhs_digit(text) == text[9]


def _vin_digit(text: str) -> str:
    total = 0
    for char, weight in zip(text.upper(), _VIN_WEIGHTS, strict=True):
        total += weight * (int(char) if char.isdecimal() else _VIN_VALUES[char])
    return "X" if total % 11 == 10 else str(total % 11)


def _vin(text: str) -> bool:
    if len(text) != 17 or not text.isascii() or set(text) & set("ioq"):
        return False
    return _vin_digit(text) == text[8].upper()


def _vin_repaired(text: str) -> str:
    text = text.translate(str.maketrans("ioqIOQ", "knrKNR"))
    return text[:8] + _vin_digit(text) + text[9:]


def _npi_repaired(text: str) -> str:
    return _luhn_repaired("12"[int(text[0]) % 2] + text[1:], "80840")


def _card_repaired(text: str) -> str:
    return _luhn_repaired("3456"[int(text[0]) % 4] + text[1:])


_CHECKS: tuple[tuple[str, Callable[[str], bool], Callable[[str], str]], ...] = (
    ("npi", _npi, _npi_repaired),
    ("nhs", _nhs, lambda text: text[:9] + _nhs_digit(text)),
    ("dea", _dea, lambda text: text[:8] + _dea_digit(text)),
    ("vin", _vin, _vin_repaired),
    ("card", _card, _card_repaired),
)
_CHECKED = frozenset({9, 10, *range(13, 20)})


def _checked(text: str, draw: Draw, name: str, holds: Callable[[str], bool], repair: Callable[[str], str]) -> str:
    """A draw whose check digit is put right; an NHS number has none for one draw in eleven, which is drawn again."""
    normal = _shapes.fold(text)
    bare = "".join(filter(str.isalnum, text))
    for attempt in range(64):
        drawn = repair(_shapes.scrambled(bare, draw, name, f"{normal}\0{attempt}"))
        if len(drawn) == len(bare) and holds(_shapes.fold(drawn)) and drawn.casefold() != bare.casefold():
            signs = iter(drawn)
            return "".join(next(signs) if char.isalnum() else char for char in text)
    raise AssertionError("64 draws and no valid check digit")
