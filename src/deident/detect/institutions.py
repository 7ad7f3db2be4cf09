"""Hospitals, practices, employers, schools, roads, waters: what is named, by the words such names are built on.

NLM Scrubber leaves its recogniser of employers unfinished (Kayaalp 2013, "Project Status"), the MIMIC rules have a list
of one hospital; every tool that was measured misses most of these names. A name here is a head ("Clinic", "Foods") with
the words beside it that belong to it by their capitals, or, in text of one case, by what they are. One of
these must tell, that is, be no word of medicine or of everyday institutions: "Sunrise Dental" has one, "Emergency
Department" has none.

The words are data: `institutions.toml`.
"""

import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from types import MappingProxyType

import numpy as np

from deident import lexicons
from deident.document import Document, Span
from deident.labels import Label
from deident.lexicons import Kind
from deident.mending import mended
from deident.view import Marks, OfWord, View, row_of, view

_NAME = "institutions"
_WHY = MappingProxyType(
    {
        "head": "a word that the names of institutions are built on, and beside it one that tells which",
        "listed": 'a listed place behind "in", "from" …',
        "settled": 'capitalised words behind "lives in", "born in" …',
        "led": 'capitalised words behind a word for work or care and "at", "for", "to" …',
    }
)
_LONGEST = 8  # tokens on one side of a head
_PLACES = Kind.CITY | Kind.STATE | Kind.COUNTRY | Kind.COUNTY | Kind.LANDMARK | Kind.CITY_WORD
_CLINICAL = Kind.DISEASE | Kind.DRUG | Kind.ABBREVIATION | Kind.MONTH | Kind.WEEKDAY | Kind.DEPARTMENT
_OFTEN = 60  # reports in which a word stands, from which it is one of medicine
_SMALL = 0.35  # the share of uses in lower case up to which a word is written like a name
_LEARNED = (
    "ive",
    "ic",
    "al",
    "ary",
    "ous",
    "ical",
    "logy",
    "scopy",
    "itis",
    "graphy",
    "metry",
)  # "bariatric", "preventive": adjectives of services
_BEFORE = frozenset({"lake", "port", "cape", "fort", "camp", "mount", "bayou", "pier", "isle", "canyon"})
_JOINS = frozenset({"of", "the", "and", "&", "for", "de", "la", "del", "las", "los", "el"})


@dataclass(frozen=True, slots=True)
class _Lists:
    hospitals: frozenset[str]
    strong_hospitals: frozenset[str]
    organizations: frozenset[str]
    weak_organizations: frozenset[str]
    generic: frozenset[str]
    tails: frozenset[str]
    never: frozenset[str]
    leading: frozenset[str]
    work: frozenset[str]
    care: frozenset[str]
    landmarks: frozenset[str]
    weak_landmarks: frozenset[str]
    into: frozenset[str]
    settled: frozenset[str]


@cache
def _lists() -> _Lists:
    data = tomllib.loads(files("deident.detect").joinpath("institutions.toml").read_text(encoding="utf-8"))
    return _Lists(**{name: frozenset(words.split()) for name, words in data.items()})


(
    _HEAD,
    _GENERIC,
    _NEVER,
    _TELLS,
    _NAMELIKE,
    _JOIN,
    _TAIL,
    _STRONG,
    _WORD,
    _PLAIN,
    _WORK,
    _CARE,
    _INTO,
    _SETTLED,
    _OPENS,
) = (1 << place for place in range(15))
_FIRM = re.compile(r",?[ ](?:P\.?[AC]|P\.?L\.?L\.?C|L\.?L\.?[CP]|INC|Inc|Ltd|PLC)\.?(?![\w])", re.IGNORECASE)


def _mark(word: str) -> int:
    lists, lower = _lists(), word.lower()
    mark = _WORK if lower in lists.work else _CARE if lower in lists.care else 0
    if lower in lists.hospitals or lower in lists.organizations or lower in lists.landmarks:
        mark |= _HEAD
    if (
        lower in lists.strong_hospitals
        or lower in lists.organizations - lists.weak_organizations
        or lower in lists.landmarks - lists.weak_landmarks
    ):
        mark |= _STRONG
    if lower in lists.into:
        mark |= _INTO
    if lower in lists.settled:
        mark |= _SETTLED
    if mark & _HEAD and (mark & _STRONG or not word[0].islower()):
        mark |= _OPENS
    if lower in lists.tails:
        mark |= _TAIL
    if lower in _JOINS:
        return mark | _JOIN
    if lower in lists.never or (row_of(word).kinds & Kind.CREDENTIAL and word.isupper() and not mark & _TAIL):
        return mark | _NEVER
    if lower in lists.generic or mark & _HEAD:
        return mark | _GENERIC
    if not word.isalpha() or len(word) < 2:
        return mark
    row = row_of(word)
    known = row.kinds & _PLACES or row.name > row.lower
    if row.kinds & _CLINICAL and not row.kinds & _PLACES:
        return mark | _GENERIC
    if (row.kinds & Kind.MEDICAL or row.clinical > _OFTEN) and not known:
        return mark | _GENERIC
    mark |= _WORD
    if word.isupper() and len(word) < 6 and not known:
        return mark  # an abbreviation
    if not row.clinical or row.kinds & _PLACES:
        mark |= _TELLS
        if row.lower > 100 and not lower.endswith(_LEARNED):
            mark |= _PLAIN
    learned = lower.endswith(_LEARNED) and not known
    capital = row.clinical == 0 and not learned and row.lower <= _SMALL * row.english
    if (row.kinds & _PLACES and row.lower < 2000) or row.name > 3 * row.lower or capital:
        mark |= _NAMELIKE
    return mark


_MARKS = Marks(_mark)
_MARK = OfWord(_mark)


class Institutions:
    """The detector `institutions`."""

    name = _NAME

    def detect(self, doc: Document) -> Iterator[Span]:
        seen = view(mended(doc.text))
        found_marks = _MARKS.of(seen)
        candidates = np.flatnonzero(found_marks & (_OPENS | _WORK | _CARE | _INTO)).tolist()
        marks: list[int] = found_marks.tolist()
        reach = -1
        for place in candidates:
            if place <= reach:
                continue
            mark = marks[place]
            found = _name(seen, marks, place, reach + 1) if mark & _OPENS else None
            if found is None:
                if mark & (_WORK | _CARE):
                    found = _led(seen, marks, place, reach + 1)
                elif mark & _INTO:
                    found = _settled(seen, marks, place)
            if found is not None:
                reach = found.last
                yield Span(
                    seen.starts[found.first], seen.ends[reach], found.label, f"{_NAME}:{found.rule}", found.score
                )

    def why(self, span: Span) -> str:
        return _WHY[span.source.partition(":")[2].partition("+")[0]]


def _apart(seen: View, left: int, right: int) -> bool:
    """Whether two tokens belong to different lines or cells; a name may break at the end of a long line."""
    start, stop = seen.ends[left], seen.starts[right]
    if stop - start <= 1 and seen.text[start:stop] != "\n":
        return False
    between = seen.text[start:stop]
    if between.count("\n") != 1 or "\t" in between:
        return True
    line = seen.text.rfind("\n", 0, start) + 1
    if start - line < 52 or seen.words[left][0].isdigit() or seen.words[right][0].isdigit():
        return True
    return "  " in seen.text[line:start].strip()  # columns are not filled up to the margin


@dataclass(frozen=True, slots=True)
class _Found:
    """A name by its first and last token."""

    first: int
    last: int
    label: Label
    rule: str
    score: float


def _name(seen: View, marks: list[int], head: int, floor: int) -> _Found | None:
    words = seen.words
    if head and seen.starts[head] == seen.ends[head - 1] and words[head - 1].isalpha():  # "TennCare", "OsteoMed"
        return None
    shouted = words[head].isupper() and len(words[head]) > 1 and _line_is_capital(seen, head)
    style = "capital" if words[head][0].isupper() and not shouted else "plain"
    if style == "plain" and not shouted and not marks[head] & _STRONG:
        return None
    first = _untitled(seen, _leftmost(seen, marks, head, floor, style), head)
    last = _rightmost(seen, marks, head, style)
    leading = _lists().leading
    while first < head and (marks[first] & (_JOIN | _NEVER) or seen.lower[first] in leading or words[first] in "-.'’"):
        first += 1
    firm = _FIRM.match(seen.text, seen.ends[last])
    inside = range(first, last + 1)
    tells = [place for place in inside if _tells(seen, marks, place, last)]
    small = style == "plain" and not shouted and _is_small(seen, head)
    if style == "capital" or not (shouted or small or _is_led(seen, marks, first, head)):
        tells = [place for place in tells if words[place][0].isupper()]
    namelike = any(marks[place] & _NAMELIKE and (style == "capital" or place < head) for place in tells)
    label, weak = _class(seen, first, last)
    plain = any(marks[place] & _PLAIN for place in tells)
    if not namelike and (style == "plain" or (weak and not plain) or not tells):
        # "PINE TREE NEUROLOGY, P.A.": words of every day, but a firm, or a line of its own
        own = firm is not None or seen.lower[last] in _FIRMS or (not weak and _fills_its_line(seen, first, last))
        own = own or (style == "plain" and bool(tells) and _is_led(seen, marks, first, head))
        if not (own and any(marks[place] & _WORD and not marks[place] & _HEAD for place in range(first, head))):
            return None
    if firm is not None:
        last = bisect_left(seen.ends, firm.end())
    return _Found(first, last, label, "head", 0.8 if namelike and not weak else 0.7)


def _tells(seen: View, marks: list[int], place: int, last: int) -> bool:
    """Whether a word says which: no head, or one of a landmark inside another name ("Blue Creek Fuel")."""
    if not marks[place] & _HEAD:
        return bool(marks[place] & _TELLS)
    return place < last and seen.lower[place] in _lists().landmarks


def _fills_its_line(seen: View, first: int, last: int) -> bool:
    text = seen.text
    start, end = seen.starts[first], seen.ends[last]
    line = text.rfind("\n", 0, start) + 1
    stop = text.find("\n", end)
    rest = text[line:start] + text[end : stop if stop >= 0 else len(text)]
    return not any(map(str.isalnum, rest))


def _is_led(seen: View, marks: list[int], first: int, head: int) -> bool:
    """Whether a name in words of every day stands where a name is wanted: "from white river methodist"."""
    if not (
        marks[head] & _STRONG and any(marks[place] & _PLAIN or marks[place] & _HEAD for place in range(first, head))
    ):
        return False
    if first == 0 or _apart(seen, first - 1, first):
        return True
    return seen.lower[first - 1] in _OPENERS


def _untitled(seen: View, first: int, head: int) -> int:
    """Behind "Dr.", the name without the doctor: "[Dr.] Zimmerman of [Radiation Oncology]"."""
    lower = seen.lower
    title = first - 2 if lower[first - 1 : first] == ["."] else first - 1
    if title >= 0 and lower[title] in _TITLES:
        while first < head and lower[first] not in _JOINTS:
            first += 1
        while first < head and lower[first] in _JOINTS:
            first += 1
    return first


def _is_small(seen: View, place: int) -> bool:
    """Whether no word around has a capital, so that a small letter tells nothing."""
    return not any(word[0].isupper() for word in seen.words[max(0, place - 9) : place + 4])


def _line_is_capital(seen: View, place: int) -> bool:
    """Whether all letters of the line are capitals, so that a capital tells nothing."""
    start = seen.text.rfind("\n", 0, seen.starts[place]) + 1
    return seen.text[start : start + 200].partition("\n")[0].isupper()


def _leftmost(seen: View, marks: list[int], head: int, floor: int, style: str) -> int:
    """Where the name begins: capitalised words and what joins them; in text of one case words that may be names."""
    words = seen.words
    first = place = head
    near = _WORD if words[head].isupper() else _TELLS
    while place > floor and head - place < _LONGEST:
        before = place - 1
        if _apart(seen, before, place):
            break
        mark, word = marks[before], words[before]
        if mark & _NEVER:
            break
        if word in ("-", "'", "’", ".") or (word.lower() == "s" and words[before - 1] in ("'", "’")):
            if word == "." and not (
                before > floor and words[before - 1].lower() in ("st", "mt", "ft", "no", "so", "dr")
            ):
                break
            if word == "-" and seen.starts[place] != seen.ends[before]:
                break
            place = before
            continue
        if mark & _JOIN:
            if style == "plain" and word != "&" and not (_joins(marks, before, floor) or _is_small(seen, head)):
                break
            place = before
            continue
        if style == "capital":
            if not (word[0].isupper() or (word[0].isdigit() and len(word) <= 4)):
                break
        elif not (mark & (_NAMELIKE | _GENERIC | _HEAD) or (mark & near and head - before <= 3)):
            break
        place = before
        first = before
    return first


def _joins(marks: list[int], place: int, floor: int) -> bool:
    """Whether "of", "and" … belongs to a name in text of one case: "center for", "bank of", but not "horses for"."""
    place -= 1
    while place > floor and marks[place] & _JOIN:
        place -= 1
    return place >= floor and bool(marks[place] & (_HEAD | _GENERIC)) and not marks[place] & _NEVER


def _rightmost(seen: View, marks: list[int], head: int, style: str) -> int:
    """Where it ends: further heads and tails ("Associates, P.C."), "of" and a name, a number of the place."""
    words = seen.words
    last = place = head
    free = skipped = 0  # words behind "of" or "&" that belong to the name; words that count only if a head follows
    while place + 1 < len(words) and place - head < _LONGEST:
        after = place + 1
        if _apart(seen, place, after):
            break
        mark, word = marks[after], words[after]
        cased = word[0].isupper() or style == "plain"
        if mark & (_HEAD | _TAIL) and cased and not mark & _NEVER:
            last = place = after
            continue
        if word in ("&", "and", "of", "the", "-", "'", "’", "s"):
            place, free = after, 2
            continue
        if place == head and cased and seen.lower[head] in _BEFORE and mark & _TELLS:  # "Lake Mohave", "Fort Benning"
            last = place = after
            continue
        if style == "capital" and cased and word[0].isalpha() and not mark & _NEVER:
            place = after
            if free:
                last, free = after, free - 1
            elif skipped == 2:
                break
            else:
                skipped += 1
            continue
        if style == "plain" and words[head].isupper() and mark & _WORD and not skipped:
            place, skipped = after, 1
            continue
        if style == "plain" and mark & _NAMELIKE and words[place].lower() in ("of", "the"):
            last = place = after
            continue
        break
    return last


def _class(seen: View, first: int, last: int) -> tuple[Label, bool]:
    """The label, and whether the name rests on a weak head alone."""
    lists = _lists()
    inside = seen.lower[first : last + 1]
    landmark = [word for word in inside if word in lists.landmarks]
    organization = [word for word in inside if word in lists.organizations]
    hospital = [word for word in inside if word in lists.hospitals]
    if landmark and (inside[-1] in lists.landmarks or not (organization or hospital)):
        return Label.LOCATION_OTHER, all(word in lists.weak_landmarks for word in landmark)
    if organization and not any(word in lists.strong_hospitals for word in hospital):
        strong = any(word not in lists.weak_organizations for word in organization)
        return Label.ORGANIZATION, not strong
    return Label.HOSPITAL, not any(word in lists.strong_hospitals for word in hospital)


_PREPOSITIONS = frozenset({"at", "for", "with", "of", "by", "@", "w"})
_FIRMS = frozenset({"inc", "llc", "llp", "ltd", "plc", "pllc", "corp", "incorporated", "bros"})
_ROOMS = frozenset({"rm", "room", "bed", "apt", "unit", "suite", "ste"})
_OPENERS = frozenset({"at", "from", "to", "for", "of", "@", "attends", "attended", ":", "(", "|", "=", "by"})
_TITLES = frozenset({"dr", "drs", "doctor", "mr", "mrs", "ms", "sr", "rev", "rabbi"})
_JOINTS = frozenset({"of", "and", "with", "the"})
_SAINTS = frozenset({"st", "mt", "ft", "no", "bros", "co"})  # whose stop does not end a name


_CITIES = Kind.CITY | Kind.STATE | Kind.COUNTRY | Kind.COUNTY | Kind.LANDMARK


def _settled(seen: View, marks: list[int], place: int) -> _Found | None:
    """A place behind "in", "from" …: a listed one of several words, or whatever has capitals behind "born in"."""
    words, first = seen.words, place + 1
    if first >= len(words) or marks[first] & _NEVER or not marks[first] & (_GENERIC | _WORD):
        return None
    written = not words[first][0].islower()
    lives = any(mark & _SETTLED for mark in marks[max(0, place - 3) : place])
    shouted = words[place].isupper()
    if not (written or lives) or (shouted and not marks[first] & (_TELLS | _NAMELIKE)) or _apart(seen, place, first):
        return None
    listed = lexicons.phrases().opening(words[first : first + 5], _CITIES)
    if listed is not None:
        last = first + listed[0] - 1
        whole = last > first or (lives and not row_of(words[first]).clinical)
        tells = any(_MARK[word] & _TELLS for word in words[first : last + 1])
        if whole and tells and not _apart(seen, first, last) and (written == words[last][0].isupper()):
            return _Found(first, last, _region(listed[1]), "listed", 0.75)
    if not lives or not written or shouted:
        return None
    found = _run(seen, first)
    return None if found is None else _Found(*found, Label.CITY, "settled", 0.55)


def _region(kinds: Kind) -> Label:
    if kinds & Kind.CITY:
        return Label.CITY
    return Label.STATE if kinds & Kind.STATE else Label.COUNTRY if kinds & Kind.COUNTRY else Label.LOCATION_OTHER


_LEAD_WORK = frozenset({"at", "for", "from", "with", "by", "in"})
_LEAD_CARE = frozenset({"at", "from", "to"})


def _led(seen: View, marks: list[int], place: int, floor: int) -> _Found | None:
    """The name behind "works … at", "transferred … to", a few words on in the same sentence."""
    work = marks[place] & _WORK
    for at in range(place + 1, min(place + 6, len(seen.words))):
        word = seen.lower[at]
        if word in (_LEAD_WORK if work else _LEAD_CARE):
            found = _run(seen, at + 1)
            if found is None:
                return None
            first, last = found
            heads = [inside for inside in range(first, last + 1) if marks[inside] & _HEAD]
            named = _name(seen, marks, heads[-1], max(first, floor)) if heads else None
            if named is not None and seen.words[first].isupper():
                return named
            if named is not None:
                return replace(named, first=min(first, named.first), last=max(last, named.last))
            if first == last and row_of(seen.words[first]).kinds & Kind.EPONYM:
                return None
            return _Found(first, last, Label.ORGANIZATION if work else Label.HOSPITAL, "led", 0.6)
        if not word.isalpha() or marks[at] & _HEAD:
            return None
    return None


def behind(seen: View, place: int) -> tuple[int, int] | None:
    """The name behind words that lead to one: "[organist] at the Red Door", "[die maker] (Hamtramck Stamping)"."""
    words = seen.words
    if place >= len(words) or _apart(seen, place - 1, place):
        return None
    if words[place] != "(" and seen.lower[place] not in _PREPOSITIONS:
        return None
    return _run(seen, place + 1)


def _run(seen: View, place: int) -> tuple[int, int] | None:
    """The capitalised words that begin here, behind an article or none, if one of them tells."""
    words, size = seen.words, len(seen.words)
    while place < size and seen.lower[place] in ("the", "/", "a", "what", "is", "now", "then"):
        place += 1
    if place >= size or _MARK[words[place]] & _NEVER or "\n\n" in seen.text[seen.ends[place - 1] : seen.starts[place]]:
        return None
    shouted = words[place].isupper() and _line_is_capital(seen, place)
    first = last = place
    at = place
    while at < size and at - first < _LONGEST:
        if at > first and _apart(seen, at - 1, at):
            break
        mark, word = _MARK[words[at]], words[at]
        if at > first and word.lower() in _ROOMS and words[at + 1 : at + 2] and words[at + 1][0].isdigit():
            break
        if mark & _NEVER and not (at > first and word in ("May", "Will")):
            break
        if mark & _JOIN or word in ("&", "-", "'", "’", "s") or (word == "." and words[at - 1].lower() in _SAINTS):
            if mark & _JOIN and shouted and seen.lower[at] in ("at", "for", "and"):
                break
        elif (
            word[0].isupper()
            or word[0].isdigit()
            or (at > first and (words[at - 1] in "-'’" or words[at - 1].isdigit()))
        ):
            last = at
        else:
            break
        at += 1
    inside = range(first, last + 1)
    wanted = _NAMELIKE if shouted else _TELLS | _PLAIN
    if not any(_MARK[words[at]] & (wanted | (_WORD if words[at].isupper() and not shouted else 0)) for at in inside):
        return None
    numbered = words[first].isdigit() and first < last and seen.lower[first + 1] in ("st", "nd", "rd", "th", "d")
    return (first, last) if words[first][0].isupper() or numbered else None


def detector() -> Institutions:
    return Institutions()
