"""Known identifiers as what to look for: names by their parts, numbers by their digits, dates and phrases by tokens.

A person's name is not kept as strings to match but as parts, each pointing to whom it may belong; the search joins
neighbouring parts of one person, in any order and with anything of a name's punctuation between them. So "Smith,
John", "SMITH JOHN A", "J. Smith" and "Smith" + line end + "John" need no pattern of their own, and the index of a
site's list grows with the number of different parts, not of spellings.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from deident import lexicons
from deident.labels import Category, Label
from deident.view import row_of

Entry = tuple[Label, str]  # an identifier as it was given: what it is, and its text


def listed(text: str) -> frozenset[str]:
    """The words of a set that is written as text."""
    return frozenset(text.split())


# --- names -----------------------------------------------------------------------------------------------------------

TITLES = listed(
    "dr drs doctor mr mrs ms miss mx prof professor rev sir dame madam mme mlle sra señora sgt ssg sfc cpl cpt capt "
    "pfc spc ltc pvt"
)
SUFFIXES = listed("jr sr ii iii iv junior senior esq")
DEGREES = listed(
    "md do rn np pa pac phd dds dmd lpn lvn crna mph facs facp msw lcsw dpm pharmd psyd fnp aprn otr dc mbbs cnm"
)
SURE_DEGREES = DEGREES - {"do", "pa"}  # those that nobody is called, even in capitals
PARTICLES = listed(
    "van von der den de del della di da do dos das du la las le los el al bin ibn ben bint ten ter te vom zu zur "
    "mac mc st y e of the abu abd vda vander vanden"
)
# What may stand parted from the rest of its name: "O Brien", "Mc Donald", "De Shawn"
_PREFIXES = sorted(
    listed(
        "o mc mac d de del la le van von di da du st vander vanden dela delos al el ben abu abd abdul fitz ja ta la"
    ),
    key=lambda prefix: (len(prefix), prefix),
)
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe", "Ä": "ae", "Ö": "oe", "Ü": "ue"})

_MISREAD = re.compile(
    r"(?<=[^\W\d_])[01583](?!\d)|(?<!\d)[01583](?=[^\W\d_])"
)  # a digit in a name, where a scanner read one
_READ = str.maketrans("01583", "olsbe")
_INITIAL = re.compile(r"(?<=\b[^\W\d_])\.(?=[^\W\d_])")  # "J.Smith"
_PIECES = re.compile(r"[^\W\d_]+")
_PART = re.compile(r"[^\W\d_]{2}")  # what every name has that is more than initials
_HYPHENS = re.compile(r"[-‐‑–]")
_HUMPS = re.compile(r"(?<=[^\W\d_][^\W\d_A-Z])(?=[A-Z])")  # "DeShawn", as the tokenizer parts it
_NICK = re.compile(r"[\"“”„(\[]([^\"“”()\[\]]{1,40})[\"”)\]]|(?<!\S)['‘]([^'’]{2,20})['’](?!\S)")
_BORN = re.compile(r"(?i)\b(?:née|nee|aka|a\.?k\.?/?a\.?|a/k/a|formerly|fka|born|dba)\b[:.]?")


@dataclass(frozen=True, slots=True)
class Person:
    """The parts of one person's name, folded. A name of one word is both given and family."""

    label: Label
    given: tuple[str, ...] = field(repr=False)
    family: tuple[str, ...] = field(repr=False)
    order: tuple[str, ...] = field(repr=False)  # the parts as they were registered, to tell "exact" from "reordered"
    initials: frozenset[str] = field(repr=False)  # "js", "jas", "sj"
    particles: frozenset[str] = field(repr=False)


def persons(label: Label, text: str) -> Iterator[Person]:
    """Whom an entry names: "Smith, John A.", "John A. Smith Jr., MD", "SMITH^JOHN^A", "Robert (Bob) Smith".

    >>> [person.family for person in persons(Label.PATIENT, "van der Berg-Smit, Jan")]
    [('berg', 'smit', 'bergsmit', 'vanderbergsmit', 'vanderberg')]
    """
    text = _INITIAL.sub(". ", " ".join(re.sub(r"-\s+", "-", text).split()))
    text = _MISREAD.sub(lambda match: match[0].translate(_READ), text)
    for name in re.split(r"[~;]|\baka\b|\ba/k/a\b", text):
        person = _person(label, name)
        if person is not None:
            yield person


def _person(label: Label, text: str) -> Person | None:
    nicks = [word for match in _NICK.finditer(text) for word in _words(match[1] or match[2])]
    text = _NICK.sub(" ", text)
    if "^" in text:  # HL7 XPN: family, given, middle, suffix, prefix; sub-components by "&"
        fields = [*text.split("^"), "", ""]
        if _PIECES.search(fields[0]) is None:  # XCN: an id comes first
            fields = fields[1:]
        family, given = _words(fields[0].replace("&", " ")), _words(f"{fields[1]} {fields[2]}")
        reordered = False
    else:
        text = _BORN.sub(" ", text)
        chunks = [_words(chunk) for chunk in text.split(",")]
        shouted = text.isupper()
        chunks = [chunk for chunk in (_bare(chunk, shouted, place > 0) for place, chunk in enumerate(chunks)) if chunk]
        if not chunks:
            family, given, reordered = [], [], False
        elif len(chunks) > 1:
            family, given = chunks[0], [word for chunk in chunks[1:] for word in chunk]
            reordered = False
        else:
            given, family = _surname_last(chunks[0])
            reordered = True
    given_parts = _parts(given)
    family_parts = _parts(family, surname=True)
    nick_parts = _parts(nicks)
    if len(given) + len(family) == 1 or not family_parts:
        both = tuple(dict.fromkeys((*given_parts, *family_parts)))
        given_parts = family_parts = both
    if not given_parts and not family_parts:
        return None
    first = [*given, *family] if reordered else [*family, *given]
    pieces = tuple(piece for word in first for piece in _pieces(word))
    order = tuple(piece for piece in pieces if len(piece) > 1 and piece not in PARTICLES)
    particles = frozenset(piece for piece in pieces if piece in PARTICLES)
    return Person(
        label,
        tuple(dict.fromkeys((*given_parts, *nick_parts))),
        family_parts,
        order,
        frozenset(_initials(given, family)),
        particles,
    )


def _words(text: str) -> list[str]:
    return [word.strip(".'’-") for word in re.split(r"[\s_/]+", text) if _PIECES.search(word)]


def _bare(words: list[str], shouted: bool, later: bool) -> list[str]:
    """Without titles before, and suffixes and degrees behind; a chunk behind a comma may be nothing else."""
    while len(words) > 1 and lexicons.fold(words[0]).rstrip(".") in TITLES:
        words = words[1:]

    def ends(word: str, rest: int) -> bool:
        key = lexicons.word_key(word)
        if rest == 0 and not later:
            return False
        if key in SUFFIXES:
            return True
        if rest == 0:
            return key in DEGREES or (key != "ma" and bool(lexicons.words().get(key).kinds & lexicons.Kind.CREDENTIAL))
        return (key in SURE_DEGREES) if shouted else (key in DEGREES and word[:2].isupper())

    while words and ends(words[-1], len(words) - 1):
        words = words[:-1]
    return words


def _surname_last(words: list[str]) -> tuple[list[str], list[str]]:
    place = len(words) - 1
    while place > 1 and lexicons.fold(words[place - 1]) in PARTICLES:
        place -= 1
    return words[:place], words[place:]


def _pieces(word: str) -> list[str]:
    return [lexicons.fold(part) for piece in _PIECES.findall(word) for part in _HUMPS.split(piece)]


def _parts(words: list[str], *, surname: bool = False) -> tuple[str, ...]:
    """The keys that stand for these words: each piece of two letters or more, each word joined, a surname joined."""
    found: dict[str, None] = {}
    bearing = [
        word
        for place, word in enumerate(words)
        # "Van", "Le" and "Do" are names too, where nothing follows them
        if lexicons.fold(word) not in PARTICLES or len(words) == 1 or (not surname and place == len(words) - 1)
    ]
    for word in bearing or words[-1:]:
        pieces = _pieces(word)
        for piece in pieces:
            if piece not in PARTICLES or len(pieces) == 1:
                found[piece] = None
        found["".join(pieces)] = None
        found[lexicons.fold("".join(_PIECES.findall(word.translate(_UMLAUTS))))] = None
    if surname:
        found["".join(piece for word in words for piece in _pieces(word))] = None
        before = ""  # "O'Connor-van den Berg": oconnor, vandenberg
        for segment in (segment for word in words for segment in _HYPHENS.split(word)):
            joined = "".join(_pieces(segment))
            before += joined
            if joined not in PARTICLES:
                found[joined] = found[before] = None
                before = ""
    return tuple(key for key in found if len(key) > 1)


def _initials(given: list[str], family: list[str]) -> Iterator[str]:
    first = [lexicons.fold(word)[:1] for word in given]
    last = [lexicons.fold(word)[:1] for word in family if lexicons.fold(word) not in PARTICLES or len(family) == 1]
    if not first or not last:
        return
    pieces = [piece[0] for word in family for piece in _pieces(word) if piece not in PARTICLES and len(piece) > 1]
    every = "".join(lexicons.fold(word)[:1] for word in family)
    beginnings = {first[0], "".join(first), "".join(piece[0] for word in given for piece in _pieces(word))}
    for ending in {last[-1], "".join(last), "".join(pieces), every}:
        yield ending + first[0]
        yield from (beginning + ending for beginning in beginnings)
    if len(every) > 2:  # "DLC" for de la Cruz
        for size in range(3, len(every) + 1):
            yield every[:size]


@cache
def _nicks() -> Mapping[str, tuple[str, ...]]:
    """From given name to its nicknames: the lists' table the other way round."""
    found: dict[str, list[str]] = {}
    for nick, names in lexicons.nicknames().items():
        for name in names:
            found.setdefault(name, []).append(nick)
    return {name: tuple(nicks) for name, nicks in found.items()}


# How clerks shorten first names, which are no nicknames: nobody is called "Wm"
_WRITTEN = {
    "william": "wm", "james": "jas", "charles": "chas", "george": "geo", "joseph": "jos", "thomas": "thos",
    "robert": "robt", "benjamin": "benj", "daniel": "danl", "samuel": "saml", "edward": "edw", "frederick": "fredk",
    "richard": "richd", "john": "jno", "guadalupe": "gpe", "francisco": "fco", "margaret": "margt",
}  # fmt: skip


@lru_cache(maxsize=1 << 12)
def others(given: str) -> tuple[str, ...]:
    """What else somebody registered by this given name is called."""
    found = (*_nicks().get(given, ()), *lexicons.nicknames().get(given, ()))
    return tuple(dict.fromkeys((*found, _WRITTEN[given]) if given in _WRITTEN else found))


_NOBODY: frozenset[int] = frozenset()
_FEW = 64  # people: of so few, rarer forms of a name are looked for too
_DIMINUTIVES = ("", "y", "ie", "i", "ito", "ita")
_NO_FORM = (
    lexicons.Kind.MEDICAL | lexicons.Kind.DISEASE | lexicons.Kind.DRUG | lexicons.Kind.ABBREVIATION | lexicons.Kind.SAFE
)


@lru_cache(maxsize=1 << 12)
def short_forms(given: str) -> tuple[str, ...]:
    """What a first name is shortened to beside the listed nicknames: "Zyg" for Zygmunt, "Armandito"; no plain words.

    >>> "raghu" in short_forms("raghunath"), "the" in short_forms("theodora")
    (True, False)
    """
    stems = (given[:size] for size in range(3, len(given)))
    return tuple(form for stem in stems for end in _DIMINUTIVES if _may_name(form := stem + end) and form != given)


@lru_cache(maxsize=1 << 12)
def word_forms(given: str) -> tuple[str, ...]:
    """The beginnings of a first name that are plain words: "sky" for Skyler. Only who signs by one is called so.

    >>> word_forms("skyler")
    ('sky',)
    """
    return tuple(stem for size in range(3, len(given)) if not _may_name(stem := given[:size]))


def _may_name(form: str) -> bool:
    row = row_of(form)
    return not row.clinical and row.lower < 2000 and not row.kinds & _NO_FORM


class Names:
    """An index of people by the parts of their names."""

    def __init__(self, people: Iterable[Person]) -> None:
        self.people = tuple(people)
        parts: dict[str, set[int]] = {}
        self.nicks: dict[str, set[str]] = {}
        for number, person in enumerate(self.people):
            for key in (*person.given, *person.family):
                parts.setdefault(key, set()).add(number)
        self.parts = {key: frozenset(numbers) for key, numbers in parts.items()}
        for key in {key for person in self.people for key in person.given}:
            for nick in (*others(key), *(short_forms(key) if len(self.people) < _FEW else ())):
                self.nicks.setdefault(nick, set()).add(key)
        self.tails: dict[str, set[str]] = {}  # "brien" → {"o"}: what must stand before it
        for key in self.parts:
            for prefix in _PREFIXES:
                if key.startswith(prefix) and len(key) - len(prefix) >= 3:
                    self.tails.setdefault(key[len(prefix) :], set()).add(prefix)
            if len(self.people) < _FEW and len(key) > 3:  # "gUIDRY", which the tokenizer parts behind its first letter
                self.tails.setdefault(key[1:], set()).add(key[0])
        self.letters = frozenset(
            letter for person in self.people for initials in person.initials for letter in initials
        )
        self.surnames = frozenset(key for person in self.people for key in person.family)
        self.particles = frozenset(particle for person in self.people for particle in person.particles)
        self.initials: dict[str, set[int]] = {}
        for number, person in enumerate(self.people):
            for initials in person.initials:
                self.initials.setdefault(initials, set()).add(number)
        few = len(self.people) < _FEW
        self.signed = {form: key for person in self.people if few for key in person.given for form in word_forms(key)}
        self.hot = frozenset((*self.parts, *self.nicks, *self.tails))
        # what the words of a text are measured against: a slip of these, or one of these with something glued to it
        self.slippery = tuple((key, reach(len(key)), letters(key)) for key in self.parts if reach(len(key)))
        self.scanned = {as_scanned(key): key for key in self.parts if reach(len(key))}
        self.long = tuple(sorted((key for key in self.parts if len(key) > 3), key=lambda key: (-len(key), key)))

    def slip_of(self, word: str, has: int, scanned: str) -> str | None:
        """The part that a word is a slip of, or misread from; `has`: its letters, `scanned`: `as_scanned` of it."""
        size = len(word)
        for key, limit, bits in self.slippery:
            # an edit changes two letters of the set at the most
            if -2 <= len(key) - size <= 2 and (has ^ bits).bit_count() <= 2 * limit and is_slip(word, key):
                return key
        return self.scanned.get(scanned)

    def exact(self, key: str) -> frozenset[int]:
        return self.parts.get(key, _NOBODY)

    def nicknamed(self, key: str) -> frozenset[int]:
        """Those who may be called so: whose given name it is a form of."""
        given = self.nicks.get(key)
        if given is None:
            return _NOBODY
        return frozenset(number for name in given for number in self.parts[name] if name in self.people[number].given)


def letters(word: str) -> int:
    """Which letters a word has, a bit for each: two words that differ in many are many edits apart.

    >>> (letters("smith") ^ letters("smyth")).bit_count()
    2
    """
    mask = 0
    for char in word:
        mask |= 1 << (ord(char) % 32)
    return mask


# --- misspelt names --------------------------------------------------------------------------------------------------


def reach(size: int) -> int:
    """How many slips of the pen a name of so many letters may have suffered."""
    return 0 if size <= 4 else 1 if size <= 5 else 2


def distance(left: str, right: str, limit: int) -> int:
    """Edit distance with neighbouring letters exchanged counted once (optimal string alignment); limit + 1 if more."""
    if abs(len(left) - len(right)) > limit:
        return limit + 1
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        older, before, row = before, row, [i]
        best = i
        for j, b in enumerate(right, 1):
            value = before[j - 1] + (a != b)
            if before[j] + 1 < value:
                value = before[j] + 1
            if row[j - 1] + 1 < value:
                value = row[j - 1] + 1
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b and older[j - 2] + 1 < value:
                value = older[j - 2] + 1
            row.append(value)
            best = min(best, value)
        if best > limit:
            return limit + 1
    return min(row[-1], limit + 1)


_OCR = (("rn", "m"), ("vv", "w"), ("cl", "d"), ("ii", "u"), ("li", "h"))


def as_scanned(key: str) -> str:
    """The key with the pairs of letters that a scanner takes for one (and the other way round) made alike."""
    for pair, single in _OCR:
        key = key.replace(pair, single)
    return key


def deletions(key: str, count: int) -> set[str]:
    """The key, and all that is left of it when up to `count` letters are struck."""
    found = {key}
    edge = {key}
    for _ in range(count):
        edge = {word[:place] + word[place + 1 :] for word in edge for place in range(len(word))}
        found |= edge
    return found


_HEAD = 7  # letters of a word whose deletions are kept: what keeps the index small


class Misspellings:
    """Which parts a word may be a slip of: a deletion neighbourhood (SymSpell) of the words' first seven letters.

    Two words within d edits have a common word among what remains when up to d letters of each are struck; of long
    words the beginnings are compared, and the whole words then measured. The neighbourhood is two arrays, sorted by
    hash, twelve bytes an entry: at most 29 entries a part.
    """

    def __init__(self, keys: Iterable[str]) -> None:
        self.keys = sorted(key for key in keys if reach(len(key)) and key.isalpha())
        hashes: list[int] = []
        owners: list[int] = []
        for number, key in enumerate(self.keys):
            for left in deletions(key[:_HEAD], reach(len(key))):
                hashes.append(hash(left))
                owners.append(number)
        unsorted = np.array(hashes, dtype=np.int64)
        order = np.argsort(unsorted, kind="stable")
        self._hashes: NDArray[np.int64] = unsorted[order]
        self._owners: NDArray[np.int32] = np.array(owners, dtype=np.int32)[order]

    def near(self, word: str) -> list[str]:
        """The parts that the word is within reach of, but not itself; in order."""
        wanted = np.array([hash(left) for left in deletions(word[:_HEAD], 2)], dtype=np.int64)
        begins = np.searchsorted(self._hashes, wanted, side="left")
        ends = np.searchsorted(self._hashes, wanted, side="right")
        found = {
            int(owner)
            for begin, end in zip(begins.tolist(), ends.tolist(), strict=True)
            for owner in self._owners[begin:end]
        }
        return [key for key in (self.keys[number] for number in sorted(found)) if is_slip(word, key)]


def is_slip(word: str, key: str) -> bool:
    limit = reach(len(key))
    return word != key and 0 < distance(word, key, limit) <= limit


# --- numbers ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Number:
    """What a key of digits and letters stands for. `needs`: nothing, a cue before it, or the separators of a phone."""

    label: Label
    how: str
    score: float
    needs: str = ""
    written: str = field(default="", repr=False)  # as it was registered, without white space
    letters: str = field(default="", repr=False)  # what stands before the digits where the key is only those


_NOT_ALNUM = re.compile(r"[^0-9a-z]+")
_MASK = re.compile(r"(?i)[x*#•]")
_EXTENSION = re.compile(r"(?i)\s*(?:;|,)?\s*(?:x|ext\.?|extension)\s*\d{1,6}\s*$")


def numbers(label: Label, text: str) -> Iterator[tuple[str, Number]]:
    """The keys of a number, with what each needs to be believed."""
    if label.category is Category.CONTACT:
        text = _EXTENSION.sub("", text) or text
    if label is Label.SSN:
        text = _MASK.sub("", text)
    key = _NOT_ALNUM.sub("", lexicons.fold(text))
    digits = "".join(filter(str.isdigit, key))
    if not digits:
        return
    if label is Label.SSN and len(digits) == 4:  # it was given with a mask: "xxx-xx-6127"
        yield digits, Number(label, "last-four", 0.95, "last four")
        return
    written = lexicons.fold("".join(text.split()))
    yield key, Number(label, "exact", 0.99, "cue" if len(key) < 5 else "", written)
    if label in (Label.PHONE, Label.FAX):
        national = digits[1:] if len(digits) == 11 and digits[0] == "1" else digits
        if len(national) == 10:
            yield national, Number(label, "number", 0.99)
            yield f"1{national}", Number(label, "number", 0.99)
            yield national[3:], Number(label, "number", 0.95, "parted")
        elif len(national) > 10 and text.strip()[:1] in "+0":
            yield f"00{national}", Number(label, "number", 0.97)
            for size in (1, 2, 3):  # of the country's code: "020 7946 0958", "+44 (0)20 7946 0958"
                yield f"0{national[size:]}", Number(label, "number", 0.9)
                yield f"{national[:size]}0{national[size:]}", Number(label, "number", 0.97)
        return
    if label is Label.SSN and len(digits) >= 4:
        yield digits[-4:], Number(label, "last-four", 0.95, "last four")
    if label is Label.ZIP and len(digits) == 9:
        yield digits[:5], Number(label, "number", 0.97)
    bare = digits.lstrip("0")
    if len(digits) < len(key) and len(digits) >= 6:
        yield digits, Number(label, "number", 0.97, letters=key[: -len(digits)] if key.endswith(digits) else "")
    if len(bare) < len(digits) and len(bare) >= 5:
        yield bare, Number(label, "number", 0.95)


# --- dates -----------------------------------------------------------------------------------------------------------

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_SHORT = tuple({month[:3], month[:4] if month == "september" else month[:3], month} for month in _MONTHS)
_ISO = re.compile(r"\s*((?:18|19|20)\d\d)[-/.]?(\d\d)[-/.]?(\d\d)(?:\D.*|\d{4,6}.*)?", re.DOTALL)
_SLASHED = re.compile(r"\s*(\d{1,2})[-/. ]{1,2}(\d{1,2})[-/. ]{1,2}(\d{4}|\d\d)\b.*", re.DOTALL)
_NAMED = re.compile(
    r"(?i)\D{0,12}?(?:(?P<day>\d{1,2})(?:st|nd|rd|th)?[-. ]{0,3})?(?P<month>[a-z]{3,9})[-.,/ ]{0,3}"
    r"(?:(?P<after>\d{1,2})(?:st|nd|rd|th)?[-., /]{1,3})?(?P<year>\d{4}|\d\d)\b.*",
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Day:
    year: int
    month: int
    day: int


def days(text: str) -> list[Day]:
    """The days that a registered date may mean: one, or two where it is not said whether the month comes first."""
    if match := _ISO.fullmatch(text):
        found = [Day(int(match[1]), int(match[2]), int(match[3]))]
    elif match := _SLASHED.fullmatch(text):
        first, second, year = int(match[1]), int(match[2]), _full(match[3])
        found = [Day(year, first, second), Day(year, second, first)]
    elif match := _NAMED.fullmatch(text):
        name = match["month"].lower()
        months = [place for place, month in enumerate(_MONTHS, 1) if month.startswith(name)]
        day = match["day"] or match["after"]
        if not months or day is None:
            return []
        found = [Day(_full(match["year"]), months[0], int(day))]
    else:
        return []
    return [day for day in dict.fromkeys(found) if 1 <= day.month <= 12 and 1 <= day.day <= 31]


def _full(year: str) -> int:
    if len(year) == 4:
        return int(year)
    return 1900 + int(year) if int(year) > 30 else 2000 + int(year)


@dataclass(frozen=True, slots=True)
class Phrase:
    """Tokens that follow each other. What may stand between two, and what the phrase needs, goes by `kind`:

    date     numbers parted by / - . or blanks, or with a month's name
    partial  the same without its year, or the year alone; beside a word for birth
    street   directions may stand between
    tight    nothing but punctuation may
    place    common words need a capital
    plain    anything of punctuation and white space
    """

    words: tuple[str, ...] = field(repr=False)
    label: Label
    kind: str
    how: str
    score: float


def dates(text: str) -> Iterator[Phrase]:
    """A day in every form in which it may be written."""
    read = days(text)
    for day in read:
        numerals = tuple(dict.fromkeys((str(day.month), f"{day.month:02}")))
        of_month = tuple(dict.fromkeys((str(day.day), f"{day.day:02}")))
        short = f"{day.year % 100:02}"
        years = (str(day.year), short)
        names = _SHORT[day.month - 1]
        forms: set[tuple[str, ...]] = set()
        partial: set[tuple[str, ...]] = {(str(day.year),)}
        for d in of_month:
            for year in years:
                forms |= {(m, d, year) for m in numerals} | {(d, m, year) for m in numerals}
                forms |= {(f"{m}.{d}.{year}",) for m in numerals} | {(f"{d}.{m}.{year}",) for m in numerals}
                forms |= {form for name in names for form in ((name, d, year), (d, name, year))}
            forms |= {(str(day.year), m, d) for m in numerals} | {(f"{day.year}.{m}.{d}",) for m in numerals}
            forms |= {(str(day.year), name, d) for name in names}
            partial |= {(m, d) for m in numerals} | {(d, m) for m in numerals}
            partial |= {form for name in names for form in ((name, d), (d, name))}
        forms |= {(name, str(day.year)) for name in names}
        mm, dd = f"{day.month:02}", f"{day.day:02}"
        forms |= {(f"{day.year}{mm}{dd}",), (f"{mm}{dd}{day.year}",), (f"{dd}{mm}{day.year}",)}
        partial |= {(f"{mm}{dd}{short}",), (f"{short}{mm}{dd}",), (mm, str(day.year)), (f"{mm}.{day.year}",)}
        for form in sorted(forms):
            yield Phrase(form, Label.DATE, "date", "date", 0.98)
        for form in sorted(partial - forms):
            yield Phrase(form, Label.DATE, "partial", "date-part", 0.9)
    if not read:
        yield from _plain(Label.DATE, text, "plain")


# --- addresses and everything else -----------------------------------------------------------------------------------

TOKEN = re.compile(r"[\d¼½¾]+(?:[.,]\d+)*|[^\W\d_]+")
DIRECTIONS = listed("n s e w ne nw se sw north south east west northeast northwest southeast southwest")
_SUFFIX_GROUPS = tuple(
    frozenset(group.split())
    for group in (
        "street st str", "avenue ave av", "road rd", "drive dr drv", "lane ln", "boulevard blvd boul", "court ct",
        "place pl", "circle cir", "terrace ter terr", "highway hwy", "parkway pkwy pky", "trail trl", "square sq",
        "way wy", "loop", "alley aly", "turnpike tpke pike", "route rte", "crescent cres", "plaza plz",
    )
)  # fmt: skip
STREET_SUFFIXES = frozenset(word for group in _SUFFIX_GROUPS for word in group)
UNITS = listed("apt apartment unit suite ste room rm fl floor lot trlr trailer bldg building no")
_ZIP = re.compile(r"(\d{5})(?:-?(\d{4}))?")


def _folded(text: str) -> list[str]:
    return [lexicons.fold(part) for word in TOKEN.findall(text) for part in _HUMPS.split(word)]


def _plain(label: Label, text: str, kind: str) -> Iterator[Phrase]:
    words = tuple(_folded(text))
    if sum(map(len, words)) > 1:
        yield Phrase(words, label, kind, "exact", 0.99)


def streets(label: Label, text: str) -> Iterator[Phrase]:
    """A street with its number, in full and by its parts: "1420 N Laurel Street Apt 3" → 1420 laurel, laurel st …"""
    words = _folded(text)
    unit = next((place for place, word in enumerate(words) if place > 1 and word in UNITS), len(words))
    if len(words) > 1:
        yield Phrase(tuple(words), label, "street", "exact", 0.99)
    numbered = bool(words) and words[0][:1].isdigit()
    line = [word for word in words[:unit] if word not in DIRECTIONS]
    if numbered and len(line) > 1 and len(line[1]) == 1 and words[0].isdigit():
        line = [line[0], *line[2:]] if len(line) > 2 else line  # "14B": the tokenizer parts the letter off
    name = line[1:] if numbered else line
    ending = len(name) - 1 if len(name) > 1 and name[-1] in STREET_SUFFIXES else len(name)
    body, suffix = name[:ending], name[ending:]
    if line[:-1] in (["box"], ["pob"], ["po", "box"], ["p", "o", "box"]):
        for box in (("box",), ("pob",), ("po", "box"), ("p", "o", "box")):
            yield Phrase((*box, line[-1]), label, "street", "address", 0.97)
        return
    if numbered and body:
        yield Phrase((words[0], *body), label, "street", "address", 0.97)
    if body and suffix:
        for group in _SUFFIX_GROUPS:
            if suffix[0] in group:
                for other in sorted(group):
                    yield Phrase((*body, other), label, "street", "address", 0.95)


def _address(label: Label, text: str) -> Iterator[Entry]:
    """The parts of an address on one line: "1420 Laurel St^^Denver^CO^80203", "1420 Laurel St, Denver, CO 80203"."""
    for place, chunk in enumerate(part.strip() for part in re.split(r"[\^,\n]", text)):
        if not chunk:
            continue
        zipped = re.search(r"(?<!\S)\d{5}(?:-\d{4})?$", chunk)
        if zipped is not None and place:
            yield Label.ZIP, zipped[0]
            chunk = chunk[: zipped.start()].strip()
        if place == 0:
            yield label, chunk
        elif any(map(str.isdigit, chunk)) or not UNITS.isdisjoint(_folded(chunk)[:1]):
            continue  # a second line: "Apt 3", which means nothing alone
        elif len(chunk) == 2 and chunk.isupper():
            yield Label.STATE, chunk
        elif len(chunk) > 2:
            yield (Label.STATE if lexicons.words().get(chunk).kinds & lexicons.Kind.STATE else Label.CITY), chunk


_NUMBERED = frozenset(
    {Label.MEDICALRECORD, Label.HEALTHPLAN, Label.ACCOUNT, Label.LICENSE, Label.VEHICLE, Label.DEVICE, Label.BIOID}
    | {Label.IDNUM, Label.PHONE, Label.FAX, Label.SSN, Label.ZIP, Label.IPADDR, Label.USERNAME, Label.ROOM, Label.OTHER}
)


def phrases(label: Label, text: str) -> Iterator[Phrase]:
    """What an entry that is neither a name nor a number may look like."""
    match label:
        case Label.DATE:
            yield from dates(text)
        case Label.STREET:
            yield from streets(label, text)
        case Label.PATIENT | Label.DOCTOR:  # initials only: "K-N-B"
            yield from _plain(label, text, "tight")
        case Label.EMAIL | Label.URL | Label.USERNAME:
            yield from _plain(label, re.sub(r"^https?://", "", text), "tight")
        case Label.STATE if len(text) <= 3:
            yield from _plain(label, text, "code")
        case Label.AGE:
            yield from _plain(label, text, "age")
        case Label.PROFESSION:
            yield from _plain(label, text, "plain")
        case _:
            yield from _plain(label, text, "place")


PREFIX = 4  # characters of a number's key by which a token is known to be worth a closer look


_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Index:
    """What is looked for: names, numbers by their digits, phrases by their first token."""

    def __init__(self, entries: Iterable[Entry]) -> None:
        people: list[Person] = []
        self.numbers: dict[str, Number] = {}
        self.phrases: dict[
            str, dict[str, list[Phrase]]
        ] = {}  # by the first word, then the second ("" if there is none)
        for label, text in _spread(entries):
            if label in (Label.PATIENT, Label.DOCTOR) and _PART.search(text) is not None:
                people += persons(label, text)
            elif label in _NUMBERED and any(map(str.isdigit, text)):
                for key, number in numbers(label, text):
                    known = self.numbers.get(key)
                    if known is None or number.score > known.score:
                        self.numbers[key] = number
            else:
                for phrase in phrases(label, text):
                    row = self.phrases.setdefault(phrase.words[0], {})
                    row.setdefault(phrase.words[1] if len(phrase.words) > 1 else "", []).append(phrase)
        for phrases_of in (found for row in self.phrases.values() for found in row.values()):
            phrases_of.sort(key=lambda phrase: (-len(phrase.words), -phrase.score, phrase.words))
        self.names = Names(dict.fromkeys(people))
        self.shortest = min(map(len, self.numbers), default=0)
        self.lettered = any(key[0].isalpha() for key in self.numbers)
        self.longest = max(map(len, self.numbers), default=0)
        keys = [key for whole in self.numbers for key in (whole, whole.lstrip(_LETTERS)) if key]
        self.prefixes = frozenset(key[:size] for key in keys for size in range(1, PREFIX + 1))
        self.hot = self.names.hot | self.phrases.keys()

    def __bool__(self) -> bool:
        return bool(self.names.people or self.numbers or self.phrases)


def _spread(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The entries, HL7 fields and addresses that are written on one line taken apart."""
    for label, text in entries:
        for one in text.split("~") if "^" in text else (text,):  # repetitions
            lined = re.search(r"[\^,\n]", one) is not None
            street = label is Label.STREET or (label is Label.LOCATION_OTHER and one.lstrip()[:1].isdigit())
            if street or (label is Label.CITY and lined):
                yield from _address(Label.STREET if street else label, one) if lined else ((Label.STREET, one),)
            elif "^" in one and (label in _NUMBERED or label is Label.EMAIL):
                # "(303)555-0182^PRN^PH^^^303^5550182", "00012345^^^STB^MR", "^NET^Internet^ada@example.org"
                told = r"@" if label is Label.EMAIL else r"\d"
                part = next((part for part in one.split("^") if re.search(told, part) is not None), "")
                yield label, part
            else:
                yield label, one
