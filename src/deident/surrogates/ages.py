"""Ages: those under 90 stay, or move by a keyed year or two; those over 89 become 90, in digits as in words."""

import re
from collections.abc import Sequence

from deident.labels import Label
from deident.surrogates import _shapes
from deident.surrogates._draws import Draw
from deident.surrogates._mentions import Mention, Options

LABELS = frozenset({Label.AGE})

_UNITS = _shapes.listed("one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")  # fmt: skip  # noqa: E501
_TENS = _shapes.listed("twenty thirty forty fifty sixty seventy eighty ninety")
_WORDS = {word: value + 1 for value, word in enumerate(_UNITS)} | {
    word: 20 + 10 * value for value, word in enumerate(_TENS)
}
_UNIT = "|".join(_UNITS[:9])
_NUMBER = re.compile(
    rf"""(?P<digits>\d+)(?:\.\d+)?(?P<decade>['’]?s\b)?
    | \b(?:(?:(?:an?|one)[\s-])?hundred
        (?:[\s-](?:and[\s-])?(?:(?:{"|".join(_TENS)})(?:[\s-](?:{_UNIT}))?|{"|".join(_UNITS)}))?
    | (?:{"|".join(_TENS)})(?:[\s-]?(?:{_UNIT}))?
    | (?:{"|".join(sorted(_UNITS, key=len, reverse=True))}))(?![a-z])
    | \b(?:super)?centenarian | \bnonagenarian""",
    re.VERBOSE | re.IGNORECASE,
)  # fmt: skip
# Units under a year: "95 weeks" is no great age. Months may be: 1,080 of them are 90 years.
_SHORT = re.compile(
    r"\s*-?\s*(?:(?P<month>m(?:o|os|onths?|ths?)?)|weeks?|wks?|w|days?|d|hours?|hrs?|h)\b", re.IGNORECASE
)


def _short(text: str, end: int, value: int) -> re.Match[str] | None:
    """The unit behind a number, if it is none of years: in "93M" and "93 W" it is a man, or somebody white."""
    short = _SHORT.match(text, end)
    return None if short is not None and value > 89 and short[0].strip(" -").lower() in ("m", "w") else short


def notice(mentions: Sequence[Mention]) -> None:
    """Ages need nothing of the document."""


def surrogate(mention: Mention, draw: Draw, context: None, options: Options) -> str:  # noqa: ARG001 (the face of all families)
    jitter = 0
    if options.jitter:
        jitter = draw.choice([year for year in range(-options.jitter, options.jitter + 1) if year], "age")
    text = mention.text
    if not text.isdecimal():
        read = _shapes.digits_read(text)
        if read != text and any(int(digits) > 89 for digits in re.findall(r"\d{2,4}", read)):
            text = read  # "9l" hides what "91" would tell
    made: list[str] = []
    position = 0
    for match in _NUMBER.finditer(text):
        made += [text[position : match.start()], _age(match, text, jitter, options.ages)]
        position = match.end()
    return "".join([*made, text[position:]])


_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})")


def said(text: str) -> tuple[int, ...]:
    """The ages in full years that a text says, in order; 90 for "centenarian" and the like, 0 for weeks and days.

    >>> said("93-year-old"), said("eighty five"), said("18 months"), said("newborn")
    ((93,), (85,), (1,), ())
    """
    found: list[int] = []
    if not text.isdecimal():
        text = _THOUSANDS.sub("", _shapes.digits_read(text))
    for match in _NUMBER.finditer(text):
        old = match[0]
        word = match["digits"] is None
        value = 90 if word and old[-2:].lower() == "an" else _said(old.lower()) if word else int(match["digits"])
        short = _short(text, match.end(), value)
        found.append(value if short is None else value // 12 if short["month"] else 0)
    return tuple(found)


def _age(match: re.Match[str], text: str, jitter: int, ages: str) -> str:
    old = match[0]
    word = match["digits"] is None
    if word and old[-2:].lower() == "an":
        return old if ages == "keep" else "90 or older" if ages == "words" else _shapes.like(old, "nonagenarian")
    value = _said(old.lower()) if word else int(match["digits"])
    short = _short(text, match.end(), value)
    if short is not None and (not short["month"] or value < 1080):
        return old
    if match["decade"] and value >= 90:
        return old if ages == "keep" else "90s"
    if value > 89:
        if ages == "keep":
            return old
        if short is not None:
            return "1080"
        return "90 or older" if ages == "words" else _shapes.like(old, "ninety") if word else "90"
    if not jitter or match["decade"]:
        return old
    new = min(max(value + jitter, 0), 89)
    if new == value:
        new = value - jitter  # at the ends of the range the other way is open
    if word:
        return _shapes.like(old, _say(new, "-" if "-" in old else " "))
    return f"{new:0{len(match['digits'])}d}" if old[0] == "0" else str(new)


def _said(words: str) -> int:
    hundreds = 100 if "hundred" in words else 0
    rest = words.partition("hundred")[2] if hundreds else words
    value = sum(_WORDS.get(word, 0) for word in re.split(r"[\s-]+", rest))
    if not hundreds and value == 0:  # "ninetythree"
        tens = next(word for word in _TENS if rest.startswith(word))
        value = _WORDS[tens] + _WORDS[rest.removeprefix(tens)]
    return hundreds + value


def _say(number: int, dash: str) -> str:
    if number == 0:
        return "zero"
    if number < 20:
        return _UNITS[number - 1]
    tens, unit = divmod(number, 10)
    return _TENS[tens - 2] + (dash + _UNITS[unit - 1] if unit else "")
