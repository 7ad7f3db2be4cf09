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
from threading import Lock
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, cast
from zlib import crc32

import marisa_trie
import numpy as np
from numpy.typing import NDArray

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
    def iterkeys(self, prefix: str = "") -> Iterator[str]: ...
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


@dataclass(frozen=True, slots=True)
class _Branch:
    """What is filed under some first words: the row of the phrase that they are, and the words that go on."""

    mask: int
    following: frozenset[str]


_NONE: frozenset[str] = frozenset()
_NOWHERE = _Branch(0, _NONE)
_FULL_STOP = frozenset(".")
_STOP, _ENDS = 1, 2  # a full stop; a word after which it ends a sentence


_PAIR_BITS = 20


def _pair(left: NDArray[np.uint32], right: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Where two words stand in `Met.pairs`, by their hashes."""
    mixed = (left * np.uint32(0x9E3779B1) + right) * np.uint32(0x85EBCA6B)
    return mixed >> np.uint32(32 - _PAIR_BITS)


class Met:
    """The tokens met so far, numbered; what is known of each; the branches of the phrases that begin with them."""

    def __init__(self, table: "_Table") -> None:
        self._table = table
        self._lock = Lock()
        self.number: dict[str, int] = {}
        self.parts: list[str] = []
        self.firsts: list[frozenset[str]] = []  # the words that go on from it
        self.branches: dict[str, _Branch] = {}
        self.masks = np.zeros(1024, dtype=np.uint32)  # of the word alone, as a phrase
        self.flags = np.zeros(1024, dtype=np.uint8)
        self.kept = np.zeros(1024, dtype=np.bool_)
        self.hashes = np.zeros(1024, dtype=np.uint32)
        # True for two words with which a phrase begins, by their hashes: most pairs of words are passed over by it
        self.pairs = np.zeros(1 << _PAIR_BITS, dtype=np.bool_)
        self.barrier = self.meet(_BARRIER)

    def numbers(self, tokens: Sequence[str]) -> NDArray[np.int32]:
        known = self.number
        try:
            return np.fromiter(map(known.__getitem__, tokens), dtype=np.int32, count=len(tokens))
        except KeyError:
            for token in tokens:
                if token not in known:
                    self.meet(token)
            return np.fromiter(map(known.__getitem__, tokens), dtype=np.int32, count=len(tokens))

    def of(self, token: str) -> int:
        number = self.number.get(token)
        return self.meet(token) if number is None else number

    def meet(self, token: str) -> int:
        with self._lock:
            if token in self.number:
                return self.number[token]
            number = len(self.parts)
            if number == len(self.masks):
                self.masks = np.concatenate((self.masks, np.zeros_like(self.masks)))
                self.flags = np.concatenate((self.flags, np.zeros_like(self.flags)))
                self.kept = np.concatenate((self.kept, np.zeros_like(self.kept)))
                self.hashes = np.concatenate((self.hashes, np.zeros_like(self.hashes)))
            part = _part(token)
            first = self.branch(f"{part} ") if part and part != _BARRIER else _NOWHERE
            self.parts.append(part)
            self.firsts.append(first.following)
            self.masks[number] = first.mask
            self.kept[number] = bool(part)
            self.hashes[number] = crc32(part.encode())
            if first.following:
                own, others = (
                    self.hashes[number : number + 1],
                    np.array([crc32(word.encode()) for word in first.following], dtype=np.uint32),
                )
                self.pairs[_pair(own, others)] = True
            self.flags[number] = (
                _STOP if token in _FULL_STOP else _ENDS if len(part) > 1 and part not in _STOPPED else 0
            )
            self.number[token] = number
            return number

    def branch(self, prefix: str) -> _Branch:
        """What is filed under "st louis "; only ever asked for what is there, or for one word."""
        found = self.branches.get(prefix)
        if found is None:
            start = len(prefix)
            following = {
                key[start : key.index(" ", start)] for key in self._table.trie.iterkeys(prefix) if key != prefix
            }
            row = self._table.row(prefix)
            mask = row[0] if row is not None else 0
            # most words begin no phrase, and an empty set of their own would weigh more than all else that is kept
            found = _Branch(mask, frozenset(following) if following else _NONE) if mask or following else _NOWHERE
            if prefix.count(" ") > 1:
                self.branches[prefix] = found
        return found


_MET_KEPT = 1 << 16  # tokens that are kept; then they are met anew, so that memory stays bounded


class Phrases:
    """Names and terms of one or several words, and the fast search for them in a list of tokens."""

    def __init__(self) -> None:
        self._table = _Table("phrases", PHRASE_LAYOUT)
        self._met = Met(self._table)

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
        met = self.met()
        return [
            (first, last, Kind(mask))
            for first, last, mask in zip(*map(_listed, self.find(met, met.numbers(tokens), kinds)), strict=True)
        ]

    def match_from(
        self, tokens: Sequence[str], openers: NDArray[np.intp], kinds: Kind, width: int
    ) -> list[tuple[int, int, Kind]]:
        """`match` in the stretches of `width` tokens from each of the openers (joined where they overlap), and of what
        it finds what begins with an opener."""
        if not len(openers):
            return []
        met = self.met()
        apart = np.flatnonzero(np.diff(openers) >= width) + 1
        begins = openers[np.concatenate(([0], apart))]
        stops = np.minimum(openers[np.concatenate((apart - 1, [len(openers) - 1]))] + width, len(tokens))
        # the stretches one behind the other, each with a barrier at its end
        sizes = stops - begins + 1
        behind = np.cumsum(sizes)
        places = np.arange(behind[-1]) + np.repeat(begins - behind + sizes, sizes)
        numbers = met.numbers(tokens)[np.minimum(places, len(tokens) - 1)]
        numbers[behind - 1] = met.barrier
        firsts, lasts, masks = self.find(met, numbers, kinds)
        opens = np.zeros(len(tokens) + 1, dtype=np.bool_)
        opens[openers] = True
        wanted = opens[places[firsts]]
        return [
            (first, last + 1, Kind(mask))
            for first, last, mask in zip(
                places[firsts[wanted]].tolist(), places[lasts[wanted] - 1].tolist(), masks[wanted].tolist(), strict=True
            )
        ]

    def opening(self, tokens: Sequence[str], kinds: Kind) -> tuple[int, Kind] | None:
        """What `match` finds at the first token: one past the last token, and the kinds; None if nothing begins there.

        >>> phrases().opening(["Boston", "and", "St", ".", "Louis"], Kind.CITY)
        (1, <Kind.CITY: 1>)
        """
        met = self.met()
        number = met.of(tokens[0])
        following = met.firsts[number]
        if following and len(tokens) > 1:
            second = met.of(tokens[1])
            if not met.kept[second] or met.flags[second] == _STOP or met.parts[second] in following:
                hits = self.match(tokens, kinds)
                return hits[0][1:] if hits and hits[0][0] == 0 else None
        mask = int(met.masks[number]) & int(kinds)
        return (1, Kind(mask)) if mask else None

    def met(self) -> "Met":
        """The tokens met so far, which begin anew when there are too many."""
        if len(self._met.parts) > _MET_KEPT or len(self._met.branches) > _MET_KEPT:
            self._met = Met(self._table)
        return self._met

    def find(
        self, met: "Met", numbers: NDArray[np.int32], kinds: Kind = ANY
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.uint32]]:
        """`match` of tokens by their numbers, as columns: the first tokens, those past the last, and the kinds."""
        owners, numbers = _without_passed(numbers, met)
        masks = met.masks[numbers] & np.uint32(kinds)
        sizes = np.ones(len(numbers), dtype=np.int64)
        listed = numbers.tolist()
        parts, firsts, wanted = met.parts, met.firsts, int(kinds)
        free = 0  # the first place after the last phrase of several words
        taken: list[tuple[int, int]] = []
        hashes = met.hashes[numbers]
        for place in np.flatnonzero(met.pairs[_pair(hashes[:-1], hashes[1:])]).tolist():
            if parts[listed[place + 1]] not in firsts[listed[place]] or place < free:
                continue
            size, mask = _longest(met, listed, place, wanted)
            if size > 1:
                masks[place], sizes[place] = mask, size
                free = place + size
                taken.append((place + 1, free))
        for start, end in taken:
            masks[start:end] = 0
        hits = np.flatnonzero(masks)
        return owners[hits], owners[hits + sizes[hits] - 1] + 1, masks[hits]


def _listed(column: NDArray[Any]) -> list[int]:
    return column.tolist()


def _without_passed(numbers: NDArray[np.int32], met: Met) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """The tokens that count, by their places; a full stop that ends a sentence becomes a barrier."""
    kept = met.kept[numbers]
    flags = met.flags[numbers]
    stops = np.flatnonzero(flags == _STOP)
    if len(stops):
        before = np.maximum.accumulate(np.where(kept, np.arange(len(numbers)), -1))[stops]
        ending = stops[(before >= 0) & (flags[before] == _ENDS)]
        numbers = numbers.copy()
        numbers[ending] = met.barrier
        kept[ending] = True
    owners = np.flatnonzero(kept)
    return owners, numbers[owners]


def _longest(met: Met, numbers: list[int], place: int, kinds: int) -> tuple[int, int]:
    """How many words the longest phrase from this place has, and its kinds; only those of several words count."""
    prefix = f"{met.parts[numbers[place]]} {met.parts[numbers[place + 1]]} "
    size, longest, hit = 2, 0, 0
    while True:
        branch = met.branch(prefix)
        if branch.mask & kinds:
            longest, hit = size, branch.mask & kinds
        if place + size >= len(numbers):
            break
        part = met.parts[numbers[place + size]]
        if part not in branch.following:
            break
        prefix += f"{part} "
        size += 1
    return longest, hit


_WRITTEN = re.compile(r"[^\W\d_]+|\d+|&")


def _written_key(phrase: str) -> str:
    return phrase_key(_WRITTEN.findall(phrase))


@cache
def phrases() -> Phrases:
    return Phrases()


def _unpacked(name: str) -> str:
    return gzip.decompress((_ROOM / name).read_bytes()).decode("utf-8")


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A MeSH descriptor: Descriptor("D008175", "Lung Neoplasms", ("C04.588.894.797.520", …))."""

    id: str
    heading: str
    trees: tuple[str, ...]


class Mesh:
    """From a term of the Medical Subject Headings to its descriptor."""

    def __init__(self) -> None:
        self._lines = _unpacked("mesh.tsv.gz").splitlines()

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
        self._places = dict(line.split("\t", 1) for line in _unpacked("zip5.tsv.gz").splitlines())
        lines = (_ROOM / "zip3.tsv").read_text(encoding="utf-8").splitlines()
        self._people = {prefix: int(people) for prefix, people in (line.split("\t") for line in lines)}

    def place(self, zip5: str) -> Place | None:
        row = self._places.get(zip5)
        return Place(*row.split("\t")) if row is not None else None

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
def lookalikes() -> Mapping[str, str]:
    """For each letter of another script that is taken for one of ASCII, that one."""
    lines = (_ROOM / "lookalikes.txt").read_text(encoding="utf-8").splitlines()
    rows = (line.split(" ") for line in lines if not line.startswith("#"))
    return MappingProxyType({sign: letter for letter, signs in rows for sign in signs})


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
    return json.loads(_unpacked("pools.json.gz"))


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
