"""Known names in a text: the parts of one person's name that stand together, in whatever way they are written.

A `Site` is the index of a site's list with what was worked out for each word met; without one, the names are the
patient's own, and less evidence will do.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from deident import lexicons
from deident.detect import _identifiers as ids
from deident.detect._known_words import (
    BEFORE,
    DOCTORS,
    EPONYMIC,
    HYPHENS,
    MISREAD,
    SIGNED,
    TERMS,
    Place,
    Word,
    bare,
    near,
    quiet,
    stop_follows,
    word_of,
)  # fmt: skip
from deident.document import Span
from deident.labels import Label
from deident.view import OfWord, View, row_of

SCORES = {
    "exact": 0.99, "reordered": 0.98, "nickname": 0.93, "part": 0.95, "initials": 0.9, "glued": 0.92, "typo": 0.8,
}  # fmt: skip
_SITE_LESS = 0.02  # by which a find of a site's name is less sure


@dataclass(frozen=True, slots=True)
class Hit:
    """A token that is a part of somebody's name."""

    people: frozenset[int]
    key: str
    how: str  # "part", "nickname" or "typo"


@dataclass(frozen=True, slots=True)
class Run:
    """Tokens `first` to `last` that may be one person's name, and by which parts."""

    first: int
    last: int
    people: frozenset[int]
    hits: tuple[Hit, ...]
    initials: int = 0


_GAP_TOKENS = frozenset("^,.-'’\"()–‐‑`/“”")
_AFTER_INITIAL = frozenset((",", ".", ";", ":", ")", ""))
_EDGES = frozenset(".'’-\"“(")


Finder = Callable[[int], Hit | None]


def _extended(seen: View, run: Run, find: Finder) -> Run:
    """The run with the neighbouring parts of the same person: "Smith" → "Smith, John A"."""
    words = seen.words
    used = {hit.key for hit in run.hits}
    index, passed, previous = run.last + 1, 0, run.last
    breaks = 0
    while index < len(words) and passed < 4:
        if not near(seen, previous, index):
            break
        breaks += "\n" in seen.text[seen.ends[previous] : seen.starts[index]]
        if breaks > 1:
            break
        hit = find(index)
        if hit is not None and hit.key not in used and (shared := run.people & hit.people):
            run = Run(run.first, index, shared, (*run.hits, hit), run.initials)
            used.add(hit.key)
            passed = 0
        else:
            word = words[index]
            folded = word_of(word).folded
            if (
                word in _GAP_TOKENS
                or (len(word) == 1 and word.isalpha())
                or folded in ids.PARTICLES
                or folded in ids.SUFFIXES
            ):
                passed += 1
            else:
                break
        previous, index = index, index + 1
    return run


def _with_fringe(seen: View, run: Run, names: ids.Names) -> Run:
    """The run with initials, particles and suffixes at its edges: "J. A. Smith", "van der Berg", "Smith Jr."."""
    words = seen.words
    left = words[run.first - 1] if run.first else ""
    right = words[run.last + 1] if run.last + 1 < len(words) else ""
    if not (left in _EDGES or len(left) == 1 or left.lower() in ids.PARTICLES) and not (
        right in (",", ".") or len(right) == 1 or right.lower() in ids.SUFFIXES or _is_short(right)
    ):
        return run
    if len(run.people) > 32:  # of many people by one name, anything that fits one
        particles, letters = names.particles, names.letters
    else:
        people = [names.people[number] for number in run.people]
        particles = {particle for person in people for particle in person.particles}
        letters = {letter for person in people for initials in person.initials for letter in initials}
    first, last, initials = run.first, run.last, run.initials
    index = first - 1
    while index >= 0 and near(seen, index, index + 1):
        folded = word_of(words[index]).folded
        small = words[run.first].islower() and words[index + 1] == "."
        if folded in particles or (len(folded) == 1 and folded in letters and (small or words[index].isupper())):
            if len(folded) == 1 and folded not in particles:
                if index and words[index - 1] in "'’":  # "I'd", a possessive
                    break
                if folded in "ai" and words[index + 1] != "." and not words[run.first].istitle():  # "NOT A MAJOR"
                    break
                if seen.ends[index] == seen.starts[index + 1] and words[index + 1] != ".":  # "QDay"
                    break
                initials += 1
            first = index
        elif words[index] not in _EDGES or first - index > 2:
            break
        index -= 1
    index = last + 1
    while index < len(words) and near(seen, index - 1, index) and index - last <= 2:
        word, folded = words[index], word_of(words[index]).folded
        small = words[run.last].islower() and "".join(words[index + 1 : index + 2]) in _AFTER_INITIAL
        if len(word) == 1 and (small or word.isupper()) and folded in letters and not _possessive(seen, index):
            if folded in "ai" and "\n" in seen.text[seen.ends[index - 1] : seen.starts[index]]:
                break
            if (
                words[index - 1] == ","
                and stop_follows(seen, index)
                and len("".join(words[index + 2 : index + 3])) == 1
            ):
                break  # ", M.D."
            initials += 1
            last = index + 1 if stop_follows(seen, index) else index
            index = last
        elif index == last + 1 and _is_short(word) and _are_initials(folded, run, names):  # "Kim SJ"
            initials, last = initials + 1, index
        elif folded in ids.SUFFIXES:
            last = index + 1 if stop_follows(seen, index) and folded in ("jr", "sr", "esq") else index
            break
        elif word not in (",", ".", "^"):
            break
        index += 1
    return Run(first, last, run.people, run.hits, initials)


def _is_short(word: str) -> bool:
    return 1 < len(word) < 4 and word.isupper() and word.isalpha()


def _are_initials(folded: str, run: Run, names: ids.Names) -> bool:
    """Whether these are the initials of the first names that go with the surname found, and no degree."""
    surname, *more = run.hits
    if more or row_of(folded).kinds & (lexicons.Kind.CREDENTIAL | lexicons.Kind.ABBREVIATION):
        return False
    return not run.people.isdisjoint(names.initials.get(folded + surname.key[0], ()))


def _possessive(seen: View, index: int) -> bool:
    return index > 0 and seen.words[index - 1] in "'’" and seen.starts[index] == seen.ends[index - 1]


def _prefixed(seen: View, index: int, wanted: set[str]) -> tuple[int, str] | None:
    """The first token of the prefix that stands before: "brien" with "O'" before it; and the prefix."""
    joined = ""
    place = index - 1
    while place >= 0 and index - place <= 6 and near(seen, place, place + 1):
        word = seen.words[place]
        if word.isalpha():
            joined = word_of(word).folded + joined
            if joined in wanted and (len(joined) > 1 or joined in "od" or seen.ends[place] == seen.starts[index]):
                return place, joined
        elif word not in ("'", "’", "-", "`", "."):
            return None
        place -= 1
    return None


_CALLED_SO = re.compile(
    r"""[\s,]{0,3}(?:\(?["“](?P<quoted>[^\W\d_][\w'’-]{1,14})["”]|\((?P<bracketed>[A-Z][a-z]{1,14})\))"""
)


_SIGNED_OFF = re.compile(r"(?<=[^\s-][ \n])[-–—~]{1,2}[ ]?([^\W\d_]{3,12})[.!]?[ ]{0,3}(?=\r?\n|\Z)")


def _hit(names: ids.Names, word: str) -> Hit | None:
    """Whose name a word is a part or a nickname of."""
    key = word_of(word).folded
    exact, nick = names.exact(key), names.nicknamed(key)
    return Hit(exact | nick, key, "part" if exact else "nickname") if exact or nick else None


def _slipped(word: str) -> bool:
    return word[0].isupper() and word_of(word).rare


_TYING = frozenset("'’-‐‑")
_CONFIRMING = ids.TITLES | DOCTORS | SIGNED | ids.DEGREES | ids.PARTICLES | ids.SUFFIXES


class Site:
    """The index of a site's list, and what was worked out of each word met: kept from note to note."""

    def __init__(self, index: ids.Index) -> None:
        self.index = index
        self._slips = ids.Misspellings(index.names.parts)
        self._near = lru_cache(maxsize=1 << 14)(self._slips.near)
        self.hit = lru_cache(maxsize=1 << 16)(self._hit)
        # by whether the text is written without capitals
        self.worth = {still: OfWord(lambda word, still=still: self._worth(word, still)) for still in (False, True)}
        self.companions = {still: OfWord(lambda word, still=still: self._joins(word, still)) for still in (False, True)}

    def _hit(self, word: str) -> Hit | None:
        return _hit(self.index.names, word)

    def _worth(self, word: str, still: bool) -> bool:
        """Whether a word, met anywhere, may begin something of the site's."""
        known = word_of(word)
        folded, index = known.folded, self.index
        if folded in ids.TITLES or folded in index.phrases:
            return True
        if folded[:1].isdigit() or folded in index.prefixes:
            return bare(folded)[: ids.PREFIX] in index.prefixes
        # an ordinary word without a capital counts only behind a title, or where nothing has capitals
        return folded in index.names.hot and (still or not word.islower() or not known.common)

    def _joins(self, word: str, still: bool) -> bool:
        """Whether a word may be beside a part of a name and confirm it: another part, an initial, a title, a degree."""
        if len(word) == 1 and (word.isupper() or word in _TYING):
            return True
        return word_of(word).folded in _CONFIRMING or (word.isalpha() and self.worth[still][word])

    def slip(self, word: str) -> Hit | None:
        """The people of whom a part may be misspelt so."""
        known = word_of(word)
        if not known.rare or not known.alpha or len(known.folded) > 24:
            return None
        found = self._near(known.folded)
        if not found:
            return None
        parts = self.index.names.parts
        return Hit(frozenset(number for key in found for number in parts[key]), found[0], "typo")


_DOSES = ids.listed("mg mcg g ml cc units tab tabs daily bid tid qid qd")
_RARE = 5000  # uses in lower case up to which three letters of no list are no word


class NameSearch:
    """The names of one index in one text. With a `site`, parts of names need evidence."""

    def __init__(self, seen: View, names: ids.Names, site: Site | None = None) -> None:
        self.seen, self.names, self.site, self.strict = seen, names, site, site is not None
        self.slips: dict[str, Hit] = {}
        self.hits: dict[str, Hit | None] = {}
        self.glued: dict[str, tuple[str, str]] = {}

    def spans(self, places: list[int]) -> Iterator[Span]:
        """The names at, or from, these tokens."""
        if not self.names.people:
            return
        words = self.seen.words
        yield from self._names([place for place in places if not words[place].isdigit()])
        if not self.strict:
            for place in places:
                if words[place] in MISREAD:
                    yield from self._scanned(place)
            if self.names.signed:
                yield from self._signed_off()

    def _signed_off(self) -> Iterator[Span]:
        """A first name cut to a plain word, where a message is signed by it: "thx!! - sky"."""
        for found in _SIGNED_OFF.finditer(self.seen.text):
            key = self.names.signed.get(lexicons.fold(found[1]))
            if key is not None:
                label = self.names.people[min(self.names.parts[key])].label
                yield Span(*found.span(1), label, "known:nickname", SCORES["nickname"])

    def is_form(self, word: str, known: Word) -> bool:
        """Whether a word that is not itself a part of the patient's name may be a form of one."""
        folded, names = known.folded, self.names
        if not names.people:
            return False
        if not known.alpha:
            return word in HYPHENS or word in MISREAD
        if folded[-1] == "s" and len(folded) > 3:
            for key in (folded[:-1], folded.removesuffix("es")):
                if key in names.parts:  # "the Smiths"
                    self.slips[word] = Hit(names.parts[key], key, "part")
                    return True
        if known.rare and self._misspelt(word, known):
            return True
        return known.short and (folded in names.initials or (len(folded) == 1 and folded in names.letters))

    def _misspelt(self, word: str, known: Word) -> bool:
        """Whether a rare word is a slip of a part of the patient's name, or has one glued to it; and which."""
        names = self.names
        key = names.slip_of(known.folded, known.letters, known.scanned)
        if key is not None:
            self.slips[word] = Hit(names.parts[key], key, "typo")
            return True
        glued = _glued(known.folded, names) if len(known.folded) > 5 else None
        if glued is not None:
            self.glued[word] = glued
        return glued is not None

    def _find(self, place: int) -> Hit | None:
        word = self.seen.words[place]
        if self.site is not None:
            return self.site.hit(word)
        if word not in self.hits:
            self.hits[word] = _hit(self.names, word) or self.slips.get(word)
        return self.hits[word]

    def _neighbour(self, place: int) -> Hit | None:
        """Like `_find`, and beside another part of a name a slip of the pen will do."""
        hit = self._find(place)
        if hit is None and self.site is not None and self.seen.words[place][:1].isupper():
            return self.site.slip(self.seen.words[place])
        return hit

    def _names(self, places: list[int]) -> Iterator[Span]:
        done = -1
        for place in places:
            if place <= done:
                continue
            if self.site is not None:
                known = word_of(self.seen.words[place])
                if known.folded not in ids.TITLES and self._lonely(self.site, place):
                    if known.telling:
                        yield from self._surname(place)
                    continue
            if self.seen.words[place] in HYPHENS:
                if not self.strict:
                    yield from self._hyphened(place)
                continue
            run = self._run(place)
            if run is not None and (not self.strict or self._promising(run)):
                run = _with_fringe(self.seen, run, self.names)
                span = self._accepted(run)
                if span is not None:
                    yield span
                    if len(run.hits) > 1 and not self.strict:
                        yield from self._called(span)
                    done = run.last
                    continue
            if not self.strict:
                yield from self._odd(place)

    def _called(self, name: Span) -> Iterator[Span]:
        """What the note itself says that the patient is called: "Casimir Quill "Cas"", "Quill, Casimir (Cas)"."""
        found = _CALLED_SO.match(self.seen.text, name.end)
        if found is None:
            return
        group = "quoted" if found["quoted"] else "bracketed"
        word = word_of(found[group])
        if not (word.frequent if group == "quoted" else word.common or row_of(found[group]).kinds & TERMS):
            yield Span(*found.span(group), name.label, "known:nickname", SCORES["nickname"])

    def _promising(self, run: Run) -> bool:
        """Whether a site's name is worth a closer look: more than one part of it, or one that something supports."""
        first = run.hits[0]
        if len(run.hits) > 1:
            return True
        words = self.seen.words
        surname = first.key in self.names.surnames
        if surname and (word_of(words[run.last]).telling or first.how == "typo"):
            return True
        before = words[run.first - 1] if run.first else ""
        after = words[run.last + 1] if run.last + 1 < len(words) else ""
        if surname and (before == "." or len(before) == 1 or len(after) == 1):
            return True
        return Place(self.seen, run.first, run.last).titled()

    def _lonely(self, site: Site, place: int) -> bool:
        """Whether nothing beside a word could be of the same name or confirm it."""
        words = self.seen.words
        companions = site.companions[quiet(self.seen.text)]
        before, after = words[max(0, place - 3) : place], words[place + 1 : place + 4]
        if any(companions[word] for word in before) or any(companions[word] for word in after):
            return False
        # only directly beside it can a misspelt part stand
        return not ((before and _slipped(before[-1])) or (after and _slipped(after[0])))

    def _surname(self, place: int) -> Iterator[Span]:
        """A telling surname that stands alone."""
        hit = self._find(place)
        if hit is None:
            return
        run = Run(place, place, hit.people, (hit,))
        if self._credible_site(run, Place(self.seen, place, place)):
            label = self.names.people[min(hit.people)].label
            yield self._span(place, place, label, "part", SCORES["part"] - _SITE_LESS)

    def _run(self, place: int) -> Run | None:
        """The run that begins with this token, or that it closes with the part of a name before it."""
        hit = self._find(place)
        first = place
        tails = self.names.tails.get(word_of(self.seen.words[place]).folded) if place else None
        prefixed = _prefixed(self.seen, place, tails) if tails else None
        if prefixed is not None:
            first, prefix = prefixed
            key = prefix + word_of(self.seen.words[place]).folded
            hit = Hit(self.names.exact(key), key, "part")
        if hit is None and self.site is not None:
            return self._titled(self.site, place)
        if hit is None:
            return None
        run = _extended(self.seen, Run(first, place, hit.people, (hit,)), self._neighbour)
        if self.site is not None and len(run.hits) == 1 and place and self.seen.words[place - 1][:1].isupper():
            # "Jhon Smith": the misspelt part comes first
            slip = self.site.slip(self.seen.words[place - 1]) if near(self.seen, place - 1, place) else None
            if slip is not None and (shared := slip.people & run.people):
                run = Run(place - 1, run.last, shared, (slip, *run.hits))
        return run

    def _titled(self, site: Site, place: int) -> Run | None:
        """Behind a title of a site's person, a misspelt surname: "Dr. Marchetii"."""
        words = self.seen.words
        if word_of(words[place]).folded not in ids.TITLES:
            return None
        place += 1
        if place < len(words) and words[place] == ".":
            place += 1
        if place >= len(words) or not words[place][:1].isupper() or self._find(place) is not None:
            return None
        slip = site.slip(words[place])
        if slip is None:
            return None
        return _extended(self.seen, Run(place, place, slip.people, (slip,)), self._neighbour)

    def _accepted(self, run: Run) -> Span | None:
        # of a first name alone there may be hundreds
        people = [
            self.names.people[number]
            for number in (sorted(run.people) if len(run.hits) > 1 or not self.strict else [min(run.people)])
        ]
        keys = {hit.key for hit in run.hits}
        place = Place(self.seen, run.first, run.last)
        if len(run.hits) > 1:
            whole = len(keys) > 1 and any(_pairs(keys, person) for person in people)
            if not self._credible_pair(run, place, whole):
                return None
        elif self.strict:
            if not self._credible_site(run, place):
                return None
        elif not self._credible_part(run, place):
            return None
        how = self._how(run, people)
        person = self._chosen(people, place)
        score = SCORES[how] if not self.strict else SCORES[how] - _SITE_LESS
        return self._span(run.first, run.last, person.label, how, score)

    def _chosen(self, people: list[ids.Person], place: Place) -> ids.Person:
        """Of several who may be meant, a provider behind a doctor's title, else the first that was given."""
        if len(people) > 1 and place.before() in ("dr", "drs", "doctor"):
            return next((person for person in people if person.label is Label.DOCTOR), people[0])
        return people[0]

    def _how(self, run: Run, people: list[ids.Person]) -> str:
        hows = {hit.how for hit in run.hits}
        if "typo" in hows:
            return "typo"
        keys = [hit.key for hit in run.hits]
        own = set(keys)
        if "nickname" in hows or not any(own <= {*person.given, *person.family} for person in people):
            return "nickname"
        if len(keys) > 1 and any(tuple(keys) == person.order[: len(keys)] for person in people):
            return "exact"
        if len(keys) > 1 or (run.initials and len(keys) == 1):
            return "reordered" if len(keys) > 1 else "initials"
        return "part"

    def _bearer(self, run: Run) -> int:
        """The last token of a run that is more than an initial or a sign."""
        words = self.seen.words
        return next((index for index in range(run.last, run.first - 1, -1) if len(words[index]) > 1), run.last)

    def _credible_pair(self, run: Run, place: Place, whole: bool) -> bool:
        """Two parts of one person's name side by side: ordinary words only if written as a name, or announced."""
        kinds = [word_of(self.seen.words[index]) for index in range(run.first, run.last + 1)]
        letters = [known for known in kinds if known.alpha and len(known.folded) > 1]
        if self.strict and not whole:
            return place.titled() and all(map(self._capital_or_sign, range(run.first, run.last + 1)))
        if any(not known.common and known.folded not in ids.PARTICLES for known in letters):
            if not self.strict or (whole and not any(known.common for known in letters)):
                return True
            capital, blind = Place(self.seen, run.first, self._bearer(run)).cased()
            return capital or blind
        capital, blind = Place(self.seen, run.first, self._bearer(run)).cased()
        if capital and all(map(self._capital_or_sign, range(run.first, run.last + 1))):
            return True
        if place.evident() or place.titled():
            return True
        # "SHORT, WILL" as it was registered
        ordered = len(run.hits) == run.last - run.first and self.seen.words[run.first + 1] == ","
        return blind and (
            not all(known.frequent for known in letters) or (ordered and run.hits[0].key in self.names.surnames)
        )

    def _capital_or_sign(self, index: int) -> bool:
        word = self.seen.words[index]
        return not word[:1].isalpha() or word[:1].isupper() or word_of(word).folded in ids.PARTICLES

    def _credible_part(self, run: Run, place: Place) -> bool:
        """One part of the patient's name alone: recall first, but an ordinary word must look like a name."""
        last = self._bearer(run)
        word = self.seen.words[last]
        known = word_of(word)
        at = Place(self.seen, run.first, last)
        capital, blind = Place(self.seen, last, last).cased()
        if at.month() and not place.titled():
            return False
        if row_of(word).kinds & lexicons.Kind.EPONYM and (at.after() in EPONYMIC or run.hits[0].how == "typo"):
            return at.titled() or (run.hits[0].how == "typo" and at.evident())
        if word.isupper() and 1 < len(word) <= 4 and known.common and capital:
            # "ED", "PAT", "ART" among mixed letters: rather an abbreviation than somebody shouted at
            return at.evident() or run.initials > 0 or not row_of(word).kinds & lexicons.Kind.ABBREVIATION
        if run.hits[0].how == "nickname" and not capital and not blind:
            return at.titled() or (not known.common and len(word) > 4)
        if run.hits[0].how == "nickname" and word.isupper() and len(word) <= 4 and capital:
            return at.evident() or run.initials > 0
        if not known.common:
            return capital or blind or len(word) > 3 or at.evident()
        if run.initials and (capital or blind):
            return True
        if capital:
            return not known.frequent or not at.opens() or at.evident() or at.titled()
        if blind:
            return not known.frequent or at.evident() or at.titled()
        return at.titled() and at.before() in ids.TITLES

    def _credible_site(self, run: Run, place: Place) -> bool:
        """One part of somebody's name of the site's list alone, or with initials."""
        hit = run.hits[0]
        index = self._bearer(run)
        word = self.seen.words[index]
        known = word_of(word)
        capital, blind = Place(self.seen, index, index).cased()
        at = Place(self.seen, run.first, index)
        if not capital and not blind:
            return at.before() in ("dr", "doctor", "mr", "mrs") and not known.frequent
        if at.month() and not place.titled():
            return False
        if place.titled() or at.titled():
            # in capitals, or with a small letter, "ATTENDING PHYSICIAN AT" proves nothing of "At"
            return not (known.common and blind) or place.before() in ids.TITLES or at.adjoining() == ","
        if self._coupled(run):
            return False
        if hit.how != "part" or (row_of(word).kinds & lexicons.Kind.EPONYM and at.after() in EPONYMIC):
            return False
        surname = hit.key in self.names.surnames
        if run.initials and surname and len(word) > 2:
            return known.telling or (capital and not word.isupper())
        return surname and known.telling

    def _coupled(self, run: Run) -> bool:
        """Whether a hyphen ties the word to one that is not of the name: "Fitz-Hugh-Curtis", "Z-Pak"."""
        seen = self.seen
        before = run.first > 0 and seen.words[run.first - 1] in HYPHENS
        after = run.last + 1 < len(seen.words) and seen.words[run.last + 1] in HYPHENS
        return (before and seen.ends[run.first - 1] == seen.starts[run.first]) or (
            after
            and seen.starts[run.last + 1] == seen.ends[run.last]
            and not seen.text[seen.ends[run.last + 1] : seen.ends[run.last + 1] + 1].isspace()
        )

    # --- names written in odd ways: glued, in initials, over a hyphen, with digits for letters

    def _odd(self, place: int) -> Iterator[Span]:
        word = self.seen.words[place]
        if word in self.glued:
            part, rest = self.glued[word]
            people = self.names.exact(part) or self.names.nicknamed(part)
            person = self.names.people[min(people)]
            start, end = self.seen.starts[place], self.seen.ends[place]
            if rest == "foreign" and len(word) == len(word_of(word).folded):  # what is glued to it stays
                at = word_of(word).folded.index(part)
                start, end = start + at, start + at + len(part)
                before = (
                    self._find(place - 2) if at == 0 and place > 1 and self.seen.words[place - 1] in HYPHENS else None
                )
                if before is not None and before.people & people:  # "TWO-BULLSON LINE"
                    start = self.seen.starts[place - 2]
            yield Span(start, end, person.label, "known:glued", SCORES["glued"])
        elif word.isupper() or word_of(word).folded in self.names.initials:
            yield from self._initials(place)

    def _hyphened(self, place: int) -> Iterator[Span]:
        """ "Mei-Hua" for Meihua, and a name that the line's end broke: "Kowal-" + line end + "czyk"."""
        seen = self.seen
        if not 0 < place < len(seen.words) - 1 or seen.ends[place - 1] != seen.starts[place]:
            return
        if not near(seen, place, place + 1) or not seen.words[place - 1].isalpha():
            return
        key = word_of(seen.words[place - 1]).folded + word_of(seen.words[place + 1]).folded
        people = self.names.exact(key)
        if people and self._find(place - 1) is None and self._find(place + 1) is None:
            yield self._span(place - 1, place + 1, self.names.people[min(people)].label, "glued", SCORES["glued"])

    def _scanned(self, place: int) -> Iterator[Span]:
        """A letter that a scanner took for a digit: "Sm1th"."""
        seen = self.seen
        alone_before = place == 0 or seen.ends[place - 1] != seen.starts[place]
        alone_after = place + 1 == len(seen.words) or seen.starts[place + 1] != seen.ends[place]
        if alone_before and alone_after:
            return
        first = last = place
        while first > 0 and seen.ends[first - 1] == seen.starts[first] and seen.words[first - 1].isalnum():
            first -= 1
            if place - first > 4:
                return
        while (
            last + 1 < len(seen.words) and seen.starts[last + 1] == seen.ends[last] and seen.words[last + 1].isalnum()
        ):
            last += 1
            if last - place > 4:
                return
        if first == last:
            return
        text = lexicons.fold(seen.text[seen.starts[first] : seen.ends[last]])
        if len(text) < 4 or (text[-1:].isdigit() and sum(map(str.isdigit, text)) > 1):
            return
        for one in "li":
            key = text.translate(str.maketrans({"0": "o", "1": one, "5": "s", "8": "b", "3": "e"}))
            people = self.names.exact(key)
            if people:
                yield self._span(first, last, self.names.people[min(people)].label, "typo", SCORES["typo"])
                return

    def _initials(self, place: int) -> Iterator[Span]:
        """ "J.S.", "J. A. S."; "JS" only where the neighbours say that a person is named."""
        seen, names = self.seen, self.names
        word = seen.words[place]
        if len(word) > 1:
            people = names.initials.get(word_of(word).folded)
            at = Place(seen, place, place)
            before = at.before()
            doubtful = bool(row_of(word).kinds & (lexicons.Kind.CREDENTIAL | lexicons.Kind.ABBREVIATION))
            announced = before in (ids.TITLES | _CALLED if doubtful else BEFORE) or (
                not doubtful and self._introduced(at)
            )
            # three letters or more that abbreviate nothing are hardly anything else, even where all is written large
            row = row_of(word)
            capital, blind = at.cased()
            alone = len(word) > 2 and not row.kinds and not row.clinical and (capital or (blind and row.lower < _RARE))
            alone = alone and at.after() not in _DOSES
            if people and word.isupper() and (announced or alone):
                yield self._span(place, place, names.people[min(people)].label, "initials", SCORES["initials"])
            return
        if place > 1 and seen.words[place - 1] == "." and seen.starts[place] - seen.ends[place - 1] <= 1:
            earlier = seen.words[place - 2]
            if len(earlier) == 1 and earlier.isupper():
                return  # inside a longer row of letters, which was looked at from its beginning
        letters, last = "", place
        index = place
        while (
            index < len(seen.words) and len(seen.words[index]) == 1 and seen.words[index].isupper() and len(letters) < 5
        ):
            letters += word_of(seen.words[index]).folded
            if not stop_follows(seen, index):
                last = index
                break
            last = index + 1
            index += 2
            if index >= len(seen.words) or seen.starts[index] - seen.ends[index - 1] > 1:
                break
        people = names.initials.get(letters)
        if not people or len(letters) < 2 or last <= place:
            return
        row = lexicons.words().get(letters)
        doubtful = row.kinds & (lexicons.Kind.CREDENTIAL | lexicons.Kind.ABBREVIATION | lexicons.Kind.STATE_CODE)
        if not doubtful or Place(seen, place, last).before() in BEFORE:
            yield self._span(place, last, names.people[min(people)].label, "initials", SCORES["initials"])

    def _introduced(self, at: Place) -> bool:
        text, end = self.seen.text, self.seen.ends[at.last]
        return (
            re.match(r"(?i)(?:,| is| was)[ ]{1,2}(?:is )?an?\b[ ]{1,2}(?:\d|\w{3,12}-year)", text[end : end + 30])
            is not None
        )

    def _span(self, first: int, last: int, label: Label, how: str, score: float) -> Span:
        return Span(self.seen.starts[first], self.seen.ends[last], label, f"known:{how}", round(score, 3))


_FOREIGN = ids.listed(
    "mrn dob pt mr mrs ms md dr jr sr age male female note patient name room acct id ssn phone visit son daughter wife "
    "husband mother father sister brother mom dad"
)
_FOREIGN_WORDS = tuple(sorted(_FOREIGN))


def _pairs(keys: set[str], person: ids.Person) -> bool:
    """Whether a first name and a surname are among them, or two parts of a surname; a slip counts as its part."""
    family = len(keys.intersection(person.family))
    return family > 1 or (family == 1 and not keys.isdisjoint(person.given))


_CALLED = frozenset({"patient", "name", "pt"})
_JOINING = ids.listed("on at in is was for with and to of by the from has had told says said")


def _glued(folded: str, names: ids.Names) -> tuple[str, str] | None:
    """Which part of a name begins or ends a word, if what remains is another part, an initial, or may stay."""
    for part in names.long:
        rest = _without(folded, part) if part in folded else ""
        if not rest:
            continue
        if rest in names.parts or rest in names.nicks or (len(rest) == 1 and rest in names.letters):
            return part, "own"
        if rest in _FOREIGN or (len(part) >= 5 and rest in _JOINING):
            return part, "foreign"
        whole = row_of(folded)
        if len(part) >= 5 and len(rest) > 2 and not (whole.name or whole.english):
            return part, "foreign"
    if folded.startswith(_FOREIGN_WORDS) or folded.endswith(_FOREIGN_WORDS):
        for word in _FOREIGN:
            nick = _without(folded, word)
            if len(nick) > 3 and nick in names.nicks:
                return nick, "foreign"
    return None


def _without(word: str, part: str) -> str:
    """What is left of a word that begins or ends with a part; "" if it does neither."""
    return word.removeprefix(part) if word.startswith(part) else word.removesuffix(part) if word.endswith(part) else ""
