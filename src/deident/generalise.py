"""What may stay of a date, an age and a ZIP code under the Safe Harbor rule, 45 CFR 164.514(b)(2)(i)(B) and (C).

Each is a pure function from text to text. What it cannot read it does not let pass: the answer is None, and the caller
puts a tag there.

    >>> year("admitted 3/4/2019", as_of=2024), age("93-year-old"), zip3("02139"), zip3("05901")
    ('2019', '90 or older', '021', '000')
"""

import re
import tomllib
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from deident.errors import UsageError
from deident.labels import Label
from deident.surrogates import Draw, Mention, Options
from deident.surrogates.ages import said, surrogate
from deident.surrogates.dates import years
from deident.surrogates.places import ZIP_DIGITS

OLD = 90  # the age from which all ages are one
TOP = "90 or older"

# -- dates -------------------------------------------------------------------------------------------------------------


def year(text: str, *, as_of: int, birth: bool = False) -> str | None:
    """The years of a date and nothing else of it; one that tells an age over 89 in the year `as_of` is rounded.

    HHS's guidance on the rule: "if the patient's year of birth is 1910 and the year of healthcare service is reported
    as 2010, then … the year of birth should be reported as on or before 1920." `birth` says that the date is one of
    birth: of two digits, "24" may then be 1924.

    >>> year("3/4/1921", as_of=2024), year("12/30/18 to 1/2/19", as_of=2024), year("Monday", as_of=2024)
    ('on or before 1934', '2018-2019', None)
    """
    limit = as_of - OLD
    shown: list[str] = []
    for first, last in written_years(text, as_of=as_of):
        if birth and first - 100 <= limit < first and str(first) not in text:
            return None
        if last <= limit:
            new = f"on or before {limit}"
        elif first <= limit:  # a decade, some of whose years tell too much
            return None
        else:
            new = str(first) if first == last else f"{first}s"
        if new not in shown:
            shown.append(new)
    return ("-" if len(shown) < 3 else ", ").join(shown) or None


def written_years(text: str, *, as_of: int) -> tuple[tuple[int, int], ...]:
    """The years (first and last, of a decade) of a date. One of two digits that is still to come is the century's
    before: "3/4/31" was not written of 2031."""
    return tuple(
        (first - 100, last - 100) if first > as_of + 1 and str(first) not in text else (first, last)
        for first, last in years(text)
    )


# -- ages --------------------------------------------------------------------------------------------------------------

# Words that say an age, and none over 89.
_YOUNG = frozenset(
    re.findall(
        r"\w+",
        """newborn neonate neonatal infant infancy baby toddler preschooler child childhood boy girl kid
        juvenile adolescent adolescence teen teens teenage teenager preteen youth adult adulthood young
        middle aged elderly geriatric senior old older early mid late in her his their the a an of at age
        aged year years s y o yo twenties thirties forties fifties sixties seventies eighties one half
        and month months week weeks day days hour hours""",
    )
)
_WORD = re.compile(r"[^\W\d_]+")
_NINETIES = re.compile(r"\bninet(?:ies|y['’]?s)\b", re.IGNORECASE)


@lru_cache(maxsize=1 << 12)
def age(text: str) -> str | None:
    """Ages under 90 as they stand; over 89 "90 or older". None where no age can be read.

    >>> age("47 y/o"), age("ninety-three"), age("85 to 93"), age("toddler"), age("XCIII")
    ('47 y/o', '90 or older', '85 to 90 or older', 'toddler', None)
    """
    if _NINETIES.search(text):
        return TOP
    found = said(text)
    if not found:
        return text if all(word.lower() in _YOUNG for word in _WORD.findall(text)) and _WORD.search(text) else None
    if all(value >= OLD for value in found):
        return TOP
    if all(value < OLD for value in found):
        return text
    return surrogate(Mention(text, Label.AGE), Draw(bytes(16), ""), None, Options(ages="words"))


# -- ZIP codes ---------------------------------------------------------------------------------------------------------

CENSUSES = (2010, 2020)
_ZIP = re.compile(r"\s*(\d{3})(?:\d\d(?:[\s-]?\d{4})?)?\s*", re.ASCII)
_SCANNED = re.compile(r"(?=[^\n]*\d)[\dOoIlSB|]{5}(?:-[\dOoIlSB|]{4})?", re.ASCII)


@cache
def _zips() -> Mapping[str, Any]:
    path = Path(__file__).parent / "policies" / "zip3.toml"
    return MappingProxyType(tomllib.loads(path.read_text(encoding="utf-8")))


@cache
def restricted(census: int) -> frozenset[str]:
    """The first three digits that may not stay: areas of 20,000 people or fewer, and those that do not exist."""
    if census not in CENSUSES:
        known = " or ".join(map(str, CENSUSES))
        raise UsageError(f"the census of ZIP codes must be {known}, since the rule wants current data, not {census}")
    table = _zips()
    return frozenset(table["restricted"][str(census)]) | frozenset(table["unassigned"]["prefixes"])


def zip3(text: str, *, census: int = CENSUSES[-1]) -> str | None:
    """The first three digits of a ZIP code where more than 20,000 people live, else 000; None for what is no ZIP code.

    >>> zip3("43215-1234"), zip3("O2139"), zip3("K1A 0B1")
    ('432', '021', None)
    """
    if not text.isascii():
        return None
    if _SCANNED.fullmatch(text.strip()):
        text = text.translate(ZIP_DIGITS)
    match = _ZIP.fullmatch(text)
    if match is None:
        return None
    return "000" if match[1] in restricted(census) else match[1]
