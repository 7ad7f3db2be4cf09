"""Word lists: names, places, hospitals, professions, medicine; their origins stand in SOURCES.md.

    >>> smith = words().get("Smith")            # case and accents do not matter
    >>> smith.last, smith.english               # people so named in the US; uses in 10⁹ words of English
    (2403605, 76930)
    >>> Kind.MONTH in words().get("may").kinds
    True
    >>> phrases().match(["in", "St", ".", "Louis", ",", "MO"], Kind.CITY)
    [(1, 4, <Kind.CITY: 1>)]
    >>> zips().place("02139"), zips().population("036")
    (Place(city='Cambridge', state='MA'), 13759)

Nothing is read at import. `words`, `phrases`, `mesh`, `zips`, `nicknames`, `pool` and `places` open their file at the
first call and keep it. The large ones are MARISA tries (a key has a dense number) beside a file of fixed-size rows
(the number is the place of the row); both are memory-mapped, so opening costs nothing and processes share the pages.
`scripts/build_lexicons.py` writes every packed file, byte for byte the same each time.
"""

import gzip
import json
import mmap
import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntFlag, auto
from functools import cache, lru_cache
from pathlib import Path
from struct import Struct
from types import MappingProxyType
from typing import NamedTuple, Protocol, cast

import marisa_trie

from deident.errors import UnknownNameError

_ROOM = Path(__file__).parent


class Kind(IntFlag):
    """What a word or a phrase may be; most are several things. The values are written in the packed files."""

    CITY = auto()
    STATE = auto()  # states and provinces by name, and their longer abbreviations ("Calif")
    STATE_CODE = auto()  # two or three letters; words only. "in", "or" and "me" are such: look at the case
    COUNTRY = auto()
    COUNTY = auto()
    STREET = auto()  # a street's name with its suffix: "laurel street"
    STREET_SUFFIX = auto()
    LANDMARK = auto()
    HOSPITAL = auto()  # hospitals, clinics, nursing homes
    HOSPITAL_WORD = auto()  # words that such names are made of
    DEPARTMENT = auto()
    SCHOOL = auto()
    COMPANY = auto()
    ORGANIZATION = auto()
    ORGANIZATION_WORD = auto()
    PROFESSION = auto()
    NATIONALITY = auto()  # peoples, languages, religions
    HOLIDAY = auto()
    SEASON = auto()
    MONTH = auto()
    WEEKDAY = auto()
    MEDICAL = auto()  # anatomy, procedures, substances, organisms that cause disease
    DISEASE = auto()
    DRUG = auto()
    EPONYM = auto()  # a surname that medicine uses: "Foley"; as a phrase, "parkinson s disease"
    ABBREVIATION = auto()  # clinical
    NICKNAME = auto()
    PARTICLE = auto()
    HONORIFIC = auto()
    CREDENTIAL = auto()
    SAFE = auto()  # written in lower case in several clinical reports
    CITY_WORD = auto()  # a place whose name is foremost a plain word or a person's: "Normal", "Post", "Kelly"; not CITY


ANY = Kind((1 << len(Kind)) - 1)
NO_KIND = Kind(0)

# Letters that have no decomposition. The offsets of a text are never taken from its folded form.
_LETTERS = str.maketrans(
    {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "þ": "th", "ß": "ss", "æ": "ae", "œ": "oe", "ı": "i", "ħ": "h"}
)


def fold(text: str) -> str:
    """Lower case without accents: NFKD without its marks, and "ł", "ø", "ß" … spelled out. "Łódź" → "lodz"."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text).lower()
    return "".join(char for char in decomposed if not unicodedata.combining(char)).translate(_LETTERS)


_NOT_ALNUM = re.compile(r"[^a-z0-9]+")


def word_key(word: str) -> str:
    """How a word is filed: folded, letters and digits only, as the Census writes. "O'Brien" → "obrien"."""
    key = fold(word)
    return key if key.isascii() and key.isalnum() else _NOT_ALNUM.sub("", key)


def _counts() -> tuple[int, ...]:
    """What a byte means: 0 to 24 exactly, then steps so wide that a count between two is off by at most 4 %."""
    values = [0]
    while len(values) < 256:
        last = values[-1]
        reach = last // 24  # the largest r with r ≤ 4 % of last + r
        values.append(last + 2 * reach + 1)  # the next r numbers are nearer to the last, r more to this one
    return tuple(values)


COUNTS = _counts()


class _Trie(Protocol):
    """What we use of `marisa_trie.Trie`, which comes without types."""

    def mmap(self, path: str) -> object: ...
    def get(self, key: str, default: int) -> int: ...
    def iterkeys(self) -> Iterator[str]: ...
    def iter_prefixes_with_ids(self, key: str) -> Iterator[tuple[str, int]]: ...
    def __len__(self) -> int: ...


class _Table:
    """A trie and its rows: `row(key)` is the tuple that belongs to the key, or None.

    Most rows occur often, so the file holds each once, after three bytes for each key that say which is its.
    """

    def __init__(self, name: str, layout: Struct) -> None:
        self.trie = cast(_Trie, marisa_trie.Trie())
        self.trie.mmap(str(_ROOM / f"{name}.trie"))
        with (_ROOM / f"{name}.rows").open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self._layout = layout
        self._first = 3 * len(self.trie)

    def row(self, key: str) -> tuple[int, ...] | None:
        place = self.trie.get(key, -1)
        return None if place < 0 else self.at(place)

    def at(self, place: int) -> tuple[int, ...]:
        number = int.from_bytes(self._bytes[3 * place : 3 * place + 3], "little")
        return self._layout.unpack_from(self._bytes, self._first + number * self._layout.size)


@dataclass(frozen=True, slots=True)
class WordRow:
    """What is known of one word. Counts are rounded by at most 4 %; all are 0 for an unknown word."""

    last: int = 0  # people with this surname: the largest of the US censuses of 2000, 2010, 2020
    female: int = 0  # women and girls: births 1880–2022 or the census of 2020, whichever is larger
    male: int = 0
    english: int = 0  # uses in 10⁹ words of English, in any case
    lower: int = 0  # the same, written in lower case, by another corpus
    clinical: int = 0  # uses in 10⁶ words of clinical reports, written in lower case
    brown: int = 0  # Brown cluster of the lower-case form; the path's first bit is the lowest; 0: none
    brown_title: int = 0  # that of the capitalised form
    kinds: Kind = NO_KIND

    @property
    def name(self) -> int:
        """How many people bear it, as first or last name."""
        return self.last + self.female + self.male


_UNKNOWN = WordRow()
WORD_LAYOUT = Struct("<6B2HI")


class Totals(NamedTuple):
    """The sums and the numbers of different words behind the counts: what a likelihood ratio divides by."""

    last: int
    female: int
    male: int
    english: int
    last_types: int
    first_types: int
    name_types: int
    english_types: int

    @property
    def name(self) -> int:
        return self.last + self.female + self.male


class Words:
    """Every word that some list has, with its counts and kinds."""

    def __init__(self) -> None:
        self._table = _Table("words", WORD_LAYOUT)
        stored = json.loads((_ROOM / "words.json").read_text(encoding="utf-8"))
        self.totals = Totals(**stored["totals"])
        self._clusters: list[int] = stored["clusters"]  # the rows hold a place in this list

    def get(self, word: str) -> WordRow:
        """The word's row, in any case; a row of zeros where the word is unknown."""
        row = self._table.row(word_key(word))
        if row is None:
            return _UNKNOWN
        last, female, male, english, lower, clinical, brown, title, kinds = row
        return WordRow(
            COUNTS[last],
            COUNTS[female],
            COUNTS[male],
            COUNTS[english],
            COUNTS[lower],
            COUNTS[clinical],
            self._clusters[brown],
            self._clusters[title],
            Kind(kinds),
        )

    def __contains__(self, word: str) -> bool:
        return self._table.trie.get(word_key(word), -1) >= 0

    def __len__(self) -> int:
        return len(self._table.trie)

    def __iter__(self) -> Iterator[str]:
        return self._table.trie.iterkeys()


@cache
def words() -> Words:
    return Words()


# A full stop after one of these (or after a single letter) is part of a phrase: "st . louis", "u . s . army"
_STOPPED = frozenset(
    re.findall(
        r"\w+",
        "st ste sta mt ft pt dr jr sr mr mrs ms rev prof gen hosp univ med ctr dept inst mem meml reg regl comm natl "
        "intl assn bros co inc corp ltd ave av blvd rd ln pl pkwy hwy sq cir ct ter wash penn mass conn calif",
    )
)
# Inside a phrase these are passed over ("st . louis", "o ' fallon", "winston - salem"); all else ends a phrase.
_PASSED = frozenset(".'’‘`-‐‑–")
_BARRIER = "|"
PHRASE_LAYOUT = Struct("<IBH")
LONGEST = 80  # characters of the longest phrase with its last blank; the build keeps none that is longer


def phrase_key(tokens: Sequence[str]) -> str:
    """How a phrase is filed: its folded words, "&" as "and", each followed by a blank. "St. Louis" → "st louis "."""
    parts = (_part(token) for token in tokens)
    return "".join(f"{part} " for part in parts if part and part != _BARRIER)


@lru_cache(maxsize=1 << 16)
def _part(token: str) -> str:
    """The folded word; "" for what is passed over; the barrier for what ends a phrase."""
    if token in _PASSED:
        return ""
    folded = fold(token)
    if folded.isalnum():
        return folded
    return "and" if folded == "&" else _NOT_ALNUM.sub("", folded) or _BARRIER


class Phrases:
    """Names and terms of one or several words, and the fast search for them in a list of tokens."""

    def __init__(self) -> None:
        self._table = _Table("phrases", PHRASE_LAYOUT)

    def get(self, phrase: str) -> Kind:
        """The kinds of a phrase written with blanks ("St. Louis", "winston-salem"); `Kind(0)` if unknown."""
        row = self._table.row(_written_key(phrase))
        return Kind(0) if row is None else Kind(row[0])

    def __contains__(self, phrase: str) -> bool:
        return self._table.row(_written_key(phrase)) is not None

    def __len__(self) -> int:
        return len(self._table.trie)

    def __iter__(self) -> Iterator[str]:
        """The phrases as they are filed, without their last blank."""
        return (key[:-1] for key in self._table.trie.iterkeys())

    def population(self, phrase: str) -> int:
        """How many people live in all places of this name; 0 if it is none. Rounded like the counts of words.

        Set for CITY and for CITY_WORD: "Reading" and "Normal" are large enough to be meant beside a state or ZIP code.
        """
        row = self._table.row(_written_key(phrase))
        return 0 if row is None else COUNTS[row[1]]

    def descriptor(self, phrase: str) -> int:
        """The number of the MeSH descriptor that the phrase is a term of, or 0; `mesh()` looks it up."""
        row = self._table.row(_written_key(phrase))
        return 0 if row is None else row[2]

    def match(self, tokens: Sequence[str], kinds: Kind = ANY) -> list[tuple[int, int, Kind]]:
        """The longest phrases of these kinds from left to right, disjoint: (first token, one past the last, kinds).

        Give tokens as `deident.tokens` cuts them, punctuation included. Full stops (after one letter or "St" and the
        like), apostrophes and hyphens inside a phrase are passed over; any other punctuation ends it.
        """
        parts, owners, offsets = _joined(tokens)
        text = "".join(parts)
        prefixes, row = self._table.trie.iter_prefixes_with_ids, self._table.at
        found: list[tuple[int, int, Kind]] = []
        place, count = 0, len(owners)
        while place < count:
            start = offsets[place]
            longest, hit = 0, 0
            for key, number in prefixes(text[start : start + LONGEST]):  # the shorter come first
                mask = row(number)[0] & kinds
                if mask:
                    longest, hit = key.count(" "), mask
            if longest:
                found.append((owners[place], owners[place + longest - 1] + 1, Kind(hit)))
            place += longest or 1
        return found


def _joined(tokens: Sequence[str]) -> tuple[list[str], list[int], list[int]]:
    """The folded words, each with its blank; the token that each came from; and where each begins when joined."""
    parts: list[str] = []
    owners: list[int] = []
    offsets: list[int] = []
    length = 0
    for index, written in enumerate(tokens):
        part = _part(written)
        if written == "." and parts and len(parts[-1]) > 2 and parts[-1][:-1] not in _STOPPED:
            part = _BARRIER  # it ends a sentence
        if not part:
            continue
        parts.append(f"{part} ")
        owners.append(index)
        offsets.append(length)
        length += len(part) + 1
    return parts, owners, offsets


_WRITTEN = re.compile(r"[^\W\d_]+|\d+|&")


def _written_key(phrase: str) -> str:
    return phrase_key(_WRITTEN.findall(phrase))


@cache
def phrases() -> Phrases:
    return Phrases()


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A MeSH descriptor: Descriptor("D008175", "Lung Neoplasms", ("C04.588.894.797.520", …))."""

    id: str
    heading: str
    trees: tuple[str, ...]


class Mesh:
    """From a term of the Medical Subject Headings to its descriptor."""

    def __init__(self) -> None:
        with gzip.open(_ROOM / "mesh.tsv.gz", "rt", encoding="utf-8") as file:
            self._lines = file.read().splitlines()

    def get(self, term: str) -> Descriptor | None:
        number = phrases().descriptor(term)
        if number == 0:
            return None
        ident, heading, trees = self._lines[number - 1].split("\t")
        return Descriptor(ident, heading, tuple(trees.split("|")) if trees else ())

    def __len__(self) -> int:
        return len(self._lines)


@cache
def mesh() -> Mesh:
    return Mesh()


class Place(NamedTuple):
    city: str
    state: str


class Zips:
    """US ZIP codes: five digits → place, three digits → population (census of 2010, fifty states and DC)."""

    def __init__(self) -> None:
        with gzip.open(_ROOM / "zip5.tsv.gz", "rt", encoding="utf-8") as file:
            rows = (line.rstrip("\n").split("\t") for line in file)
            self._places = {code: Place(city, state) for code, city, state in rows}
        lines = (_ROOM / "zip3.tsv").read_text(encoding="utf-8").splitlines()
        self._people = {prefix: int(people) for prefix, people in (line.split("\t") for line in lines)}

    def place(self, zip5: str) -> Place | None:
        return self._places.get(zip5)

    def population(self, zip3: str) -> int:
        """People in all ZIP codes that begin so; 0 where the census counted nobody."""
        return self._people.get(zip3, 0)

    def prefixes(self) -> tuple[str, ...]:
        """The three-digit beginnings in which somebody was counted."""
        return tuple(self._people)


@cache
def zips() -> Zips:
    return Zips()


@cache
def nicknames() -> Mapping[str, tuple[str, ...]]:
    """From nickname to given names, lower case: "bill" → ("william",)."""
    lines = (_ROOM / "nicknames.tsv").read_text(encoding="utf-8").splitlines()
    return MappingProxyType({nick: tuple(names.split()) for nick, names in (line.split("\t") for line in lines)})


class PoolEntry(NamedTuple):
    """A stand-in. Names have an origin: anglo, hispanic, east-asian, south-asian, arabic, african, slavic or other."""

    text: str
    origin: str = ""


class PoolPlace(NamedTuple):
    """Values that agree with each other: Boston, MA, ZIP prefix 021, area code 617."""

    city: str
    state: str
    zip5: str
    area_code: str
    population: int


@cache
def _pools() -> dict[str, list[list[str]]]:
    with gzip.open(_ROOM / "pools.json.gz", "rt", encoding="utf-8") as file:
        return json.load(file)


POOLS = (
    "first_female",
    "first_male",
    "last",
    "streets",
    "hospitals",
    "organizations",
    "professions",
    "countries",
    "landmarks",
    "nationalities",
    "schools",
)


@cache
def pool(name: str) -> tuple[PoolEntry, ...]:
    """What surrogates are drawn from, sorted: `pool("last")`. Hospitals, organisations and schools are invented."""
    if name not in POOLS:
        raise UnknownNameError("pool", name, POOLS)
    return tuple(PoolEntry(*entry) for entry in _pools()[name])


@cache
def places() -> tuple[PoolPlace, ...]:
    """US cities to draw from, each with a ZIP code and a telephone area code of its own."""
    return tuple(
        PoolPlace(city, state, zip5, area, int(people)) for city, state, zip5, area, people in _pools()["places"]
    )
