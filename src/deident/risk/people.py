"""How many people share what can be read: the privacy risk analysis of seed 002 (NLM Scrubber), type by type.

    >>> sharing("Smith", Label.PATIENT).people > 2_000_000, sharing("303-555-0182", Label.PHONE).people
    (True, 1)

Names are counted in the lists of the US Census and the Social Security Administration; a nickname stands for all who
may be called so; a name that no list has, for all within one edit of it, or else within two, as the report counts a
misspelt one. Where nobody can know the number (who has this profession, who lies in this hospital), none is given.
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import cache, lru_cache

from deident import lexicons
from deident.labels import Category, Label
from deident.surrogates.ages import said
from deident.surrogates.dates import years

POPULATION = 331_449_281  # United States, census of 2020
SMALL = 20_000  # the size of an area from which the Safe Harbor rule lets a ZIP prefix stay
_LIFE = 80  # years of birth among which people spread
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_WORD = re.compile(r"[^\W\d_]+")
_PLACE = 500  # people in the smallest places of the list, and so in one that it does not have
_HOUSEHOLD = 3

# People of one year of age, by the age from which they are counted: assumptions, rounded down, of a population of 331
# million in which 80,139 (census of 2020) are 100 or older.
_OF_AGE = ((100, 20_000), (95, 80_000), (90, 250_000), (85, 600_000), (80, 1_000_000), (0, 2_000_000))


@dataclass(frozen=True, slots=True)
class Shared:
    """How many people share a text (None: nobody can say), and how that was estimated; not the text itself."""

    people: int | None
    how: str

    @property
    def share(self) -> float:
        """The part of the population that shares it; 1 where nobody can say, which tells nothing."""
        return 1.0 if self.people is None else min(1.0, self.people / POPULATION)


NUMBERS = frozenset(
    {
        Label.PHONE, Label.FAX, Label.SSN, Label.MEDICALRECORD, Label.HEALTHPLAN, Label.ACCOUNT, Label.LICENSE,
        Label.VEHICLE, Label.DEVICE, Label.BIOID, Label.IDNUM, Label.IPADDR,
    }
)  # fmt: skip


def sharing(text: str, label: Label, *, hidden: int = 0) -> Shared:
    """How many share a text of a type. hidden: how many more letters and digits it had, which cannot be read."""
    if label.category is Category.NAME and label is not Label.USERNAME:
        return _name(text)
    if label in NUMBERS:
        return _number(hidden)
    match label:
        case Label.EMAIL | Label.URL | Label.USERNAME | Label.OTHER:
            return _number(hidden)
        case Label.CITY | Label.LOCATION_OTHER:
            return _city(text)
        case Label.STATE:
            return _state(text)
        case Label.COUNTRY:
            return Shared(POPULATION, "everybody")
        case Label.ZIP:
            return _zip(text)
        case Label.STREET:
            house = any(map(str.isdecimal, text))
            return Shared(_HOUSEHOLD, "a household") if house else Shared(_PLACE, "a street, in any place")
        case Label.AGE:
            return _age(text)
        case Label.DATE:
            return _date(text)
        case _:
            return Shared(None, "nobody can say")


# -- names -------------------------------------------------------------------------------------------------------------

_TITLES = frozenset({"dr", "mr", "mrs", "ms", "miss", "md", "phd", "rn", "np", "jr", "sr", "ii", "iii", "iv", "prof"})


def _name(text: str) -> Shared:
    """Of several names together, as many as bear both if the one says nothing of the other."""
    words = [word for word in map(lexicons.fold, _WORD.findall(text)) if word not in _TITLES]
    if not words:
        return Shared(None, "no name in it")
    share, how = 1.0, set[str]()
    for word in dict.fromkeys(words):
        people, told = _named(word)
        share *= min(1.0, people / POPULATION)
        how.add(told)
    return Shared(max(1, round(share * POPULATION)), " and ".join(sorted(how)))


@lru_cache(maxsize=1 << 12)
def _named(word: str) -> tuple[int, str]:
    if len(word) == 1:
        return POPULATION // len(_LETTERS), "initials"
    called = lexicons.words().get(word).name
    given = lexicons.nicknames().get(word, ())
    if given:
        return max(1, called + sum(lexicons.words().get(name).name for name in given)), "nicknames"
    if called:
        return called, "names by their counts"
    near = _people_of(_edits(word))
    if near:
        return near, "names within one edit"
    near = _people_of({other for one in _edits(word) for other in _edits(one)})
    return (near, "names within two edits") if near else (1, "names that no list has")


def _people_of(names: set[str]) -> int:
    known = lexicons.words()
    return sum(known.get(name).name for name in names if name in known)


def _edits(word: str) -> set[str]:
    """The words one letter away: one too many, too few, wrong, or two swapped."""
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    found = {left + right[1:] for left, right in cuts if right}
    found |= {left + right[1] + right[0] + right[2:] for left, right in cuts if len(right) > 1}
    found |= {left + letter + right[1:] for left, right in cuts if right for letter in _LETTERS}
    found |= {left + letter + right for left, right in cuts for letter in _LETTERS}
    return found - {word, ""}


# -- the rest ----------------------------------------------------------------------------------------------------------


def _number(hidden: int) -> Shared:
    """A number has one bearer; each digit of it that cannot be read makes ten of him."""
    return Shared(min(10**hidden, POPULATION), "numbers in part" if hidden else "numbers and addresses of one person")


def _city(text: str) -> Shared:
    people = lexicons.phrases().population(text)
    return Shared(people, "populations of places") if people else Shared(_PLACE, "places that no list has")


@cache
def _states() -> Counter[str]:
    people = Counter[str]()
    for place in lexicons.places():
        people[place.state] += place.population
    return people


def _state(text: str) -> Shared:
    """At least those who live in the cities of our list."""
    code = lexicons.word_key(text).upper()
    people = _states().get(code, 0)
    return Shared(people or min(_states().values()), "people in the cities of a state")


@cache
def _zips_of(prefix: str) -> int:
    return sum(1 for number in range(100) if lexicons.zips().place(f"{prefix}{number:02d}") is not None)


def _zip(text: str) -> Shared:
    digits = "".join(filter(str.isdecimal, text))
    people = lexicons.zips().population(digits[:3])
    if len(digits) >= 5:
        return Shared(max(1, people // max(1, _zips_of(digits[:3]))), "a ZIP code's part of its prefix")
    if digits == "000":  # the areas of few people, taken together
        small = [
            count for prefix in lexicons.zips().prefixes() if (count := lexicons.zips().population(prefix)) <= SMALL
        ]
        return Shared(sum(small), "all small ZIP areas together")
    return Shared(max(1, people), "populations of ZIP prefixes")


def _age(text: str) -> Shared:
    ages = said(text)
    if "older" in text.lower():
        return Shared(2_000_000, "everybody over 89")
    if not ages:
        return Shared(None, "no age in it")
    people = min(count for age in ages for least, count in _OF_AGE if age >= least)
    return Shared(people, "people of an age")


def _date(text: str) -> Shared:
    """Those who were born on such a day: what a day of treatment tells, only its hospital knows."""
    written = years(text)
    digits = any(map(str.isdecimal, text))
    rest = _YEAR.sub("", text)
    whole = any(map(str.isdecimal, rest)) or bool(_MONTH.search(rest))
    if written and not whole:
        return Shared(POPULATION // _LIFE, "people born in a year")
    if written:
        return Shared(POPULATION // (_LIFE * 365), "people born on a day")
    return Shared(POPULATION // 365, "people born on a day of any year") if digits else Shared(None, "no day in it")


_YEAR = re.compile(r"(?<!\d)(?:1[89]|2[01])\d\d(?:s\b|(?!\d))")
_MONTH = re.compile(r"(?i)\b(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)")
