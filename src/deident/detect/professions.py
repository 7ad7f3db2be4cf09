"""What the patient and the patient's people work as, by the words for jobs and the words that lead to them.

The hybrid for psychiatric notes (Lee 2017, section 3.3.1) gives its learner the names of attributes ("Occupation: …")
and the endings of professions; we make rules of them, for text that no learner has seen. Two forms:

    a job's name      "her husband, a retired ferry purser, …": modifiers, then a head ("purser") that the lexicon of
                      professions has, or that ends like one; something before it must say that a person is it
    a verb of work    "he hangs drywall for …": a verb with an object with which it is paid work

What stands behind a job and "at" or "for" is its employer. The words are data: `professions.toml`.
"""

import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

import numpy as np

from deident.detect import institutions
from deident.document import Document, Span
from deident.labels import Label
from deident.lexicons import Kind
from deident.mending import mended
from deident.view import Marks, OfWord, View, row_of, view

_NAME = "professions"
_WHY = MappingProxyType(
    {
        "named": "a job's name behind words that say somebody is it",
        "apposed": "a job's name beside a person",
        "retired": 'a job\'s name behind "retired" or "former"',
        "verb": "a verb with an object that make paid work",
        "employer": 'what stands behind a job and "at", "for" or "with"',
    }
)
_SCORES = {"named": 0.85, "retired": 0.85, "apposed": 0.75, "verb": 0.75, "employer": 0.7}
_MODIFIERS = 4  # words before the head
_OBJECT = 5  # words behind a verb
_ENDINGS = ("man", "woman", "smith", "wright", "worker", "keeper", "maker", "monger", "ologist", "operator", "grapher")
_LEAD = frozenset({"retired", "former", "ex", "retd", "semiretired", "employed", "unemployed"})
_ARTICLES = frozenset({"a", "an", "the"})
_BE = frozenset({"is", "was", "be", "been", "being", "became", "becoming", "are", "were", "becomes"})
_AGED = frozenset({"old", "male", "female", "man", "woman", "gentleman", "lady", "m", "f", "yo", "y", "o", "wm", "wf"})
_CLINICAL = Kind.DISEASE | Kind.DRUG | Kind.ABBREVIATION
_STOPS = frozenset(".,;:()[]/|!?\"”“'–—-•*+&=>")


@dataclass(frozen=True, slots=True)
class _Lists:
    heads: frozenset[str]
    others: frozenset[str]
    staff: frozenset[str]
    people: frozenset[str]
    between: frozenset[str]
    working: frozenset[str]
    alone: frozenset[str]
    behind: frozenset[str]
    never: frozenset[str]
    time: frozenset[str]
    weak: frozenset[str]
    places: frozenset[str]
    before_verb: frozenset[str]
    placed: frozenset[str]
    near: frozenset[str]
    then: frozenset[str]
    follow: frozenset[str]
    added: frozenset[str]
    objects: Mapping[str, frozenset[str]]


@cache
def _lists() -> _Lists:
    text = files("deident.detect").joinpath("professions.toml").read_text(encoding="utf-8")
    data = tomllib.loads(text)
    names = (
        "heads",
        "others",
        "staff",
        "people",
        "between",
        "working",
        "alone",
        "behind",
        "time",
        "weak",
        "places",
        "before_verb",
        "placed",
        "near",
        "then",
        "follow",
        "added",
    )
    sets = {name: frozenset(data[name].split()) for name in names}
    objects = {verb: frozenset(words.split()) for verb, words in data["objects"].items()}
    return _Lists(**sets, never=frozenset(data["never"]["words"].split()), objects=MappingProxyType(objects))


_HEAD, _VERB, _RETIRED = 1, 2, 4


def _role(word: str) -> int:
    """The head of a job's name, a verb of work, or (mostly) nothing."""
    lower = word.lower()
    lists = _lists()
    role = _VERB if lower in lists.objects or lower in lists.alone else _RETIRED if lower == "retired" else 0
    if (lower in lists.others and lower not in lists.heads) or not word.isalpha() or len(word) < 3:
        return role
    row = row_of(lower)
    ends = len(lower) > 6 and lower.endswith(_ENDINGS) and not row.last > 5000 and not row.kinds & Kind.NATIONALITY
    if lower in lists.heads or row.kinds & Kind.PROFESSION or ends:
        role |= _HEAD
    return role


_ROLES = Marks(_role)
_ROLE = OfWord(_role)


class Professions:
    """The detector `professions`."""

    name = _NAME

    def detect(self, doc: Document) -> Iterator[Span]:
        seen = view(mended(doc.text))
        reach = 0
        roles = _ROLES.of(seen)
        for place in np.flatnonzero(roles).tolist():
            if place < reach:
                continue
            role = int(roles[place])
            found = _named(seen, place, reach) if role & _HEAD else _retired(seen, place) if role & _RETIRED else None
            if found is None and role & _VERB:
                found = _verb(seen, place)
            if found is not None:
                first, last, rule = found
                # what leads to a job may lie in the one before: "retired drives, cook"
                first = max(first, reach)
                if first > last:
                    continue
                reach = last + 1
                yield Span(seen.starts[first], seen.ends[last], Label.PROFESSION, f"{_NAME}:{rule}", _SCORES[rule])
                employer = institutions.behind(seen, last + 1)
                if employer is not None:
                    start, end = seen.starts[employer[0]], seen.ends[employer[1]]
                    yield Span(start, end, Label.ORGANIZATION, f"{_NAME}:employer", _SCORES["employer"])

    def why(self, span: Span) -> str:
        return _WHY[span.source.partition(":")[2].partition("+")[0]]


def _gap(seen: View, left: int, right: int) -> str:
    """What stands between two tokens."""
    return seen.text[seen.ends[left] : seen.starts[right]]


def _is_end(seen: View, place: int) -> bool:
    """Whether a phrase may end before this token: the text, a sign, a line, a word that goes on otherwise."""
    if place >= len(seen.words):
        return True
    word = seen.lower[place]
    return word[0] in _STOPS or word in _lists().behind or word[0].isdigit() or "\n" in _gap(seen, place - 1, place)


def _named(seen: View, place: int, reach: int) -> tuple[int, int, str] | None:
    """A job's name whose head stands here, or goes on from here; the last one ended before `reach`."""
    last = place
    most = min(len(seen.words) - 1, place + _MODIFIERS)
    while last < most and _ROLE[seen.words[last + 1]] & _HEAD and _gap(seen, last, last + 1) in " \n":
        last += 1
    first = _beginning(seen, place)
    if first == last and seen.lower[last] in _lists().others:  # "she is a cutter", but "a glove cutter"
        return None
    if seen.lower[last] == "hand" and seen.lower[first] in ("right", "left", "dominant", "non"):
        return None
    if _is_signed(seen, last) or not (_is_end(seen, last + 1) or _is_sure(seen, first)):
        return None
    rule = _evidence(seen, first, last)
    if rule is None and reach and first - reach < 6 and seen.lower[last] not in _lists().weak:
        between = seen.lower[reach:first]
        if between and _lists().added.issuperset(between) and ("and" in between or "," in between):
            rule = "apposed"  # "[cattle farmer] and part time [auctioneer]"
    return None if rule is None else (first, last, rule)


def _retired(seen: View, place: int) -> tuple[int, int, str] | None:
    """ "a retired farrier from": what stands behind "retired" is a job even if no list has it."""
    stop = place + 1
    while (
        stop < len(seen.words)
        and stop - place <= _MODIFIERS + 1
        and not (_is_end(seen, stop) and seen.words[stop] != "-")
    ):
        if (
            _ROLE[seen.words[stop]] & _HEAD
            or seen.lower[stop] in _lists().time
            or row_of(seen.words[stop]).clinical > 300
        ):
            return None
        stop += 1
    fits = place + 1 < stop <= place + _MODIFIERS and seen.words[stop - 1].isalpha() and len(seen.words[stop - 1]) > 3
    return (place + 1, stop - 1, "retired") if fits else None


def _is_sure(seen: View, first: int) -> bool:
    """ "54 YEAR OLD LONG-HAUL DRIVER NEEDS", "retired brakeman still smokes": whatever follows."""
    return first > 0 and seen.lower[first - 1] in ("old", "retired", "former")


def _is_signed(seen: View, last: int) -> bool:
    """ "cook:", "Nurse Signature:", "driver's": a field's name or somebody's thing."""
    after = seen.words[last + 1] if last + 1 < len(seen.words) else ""
    tail = seen.lower[last + 2] if last + 2 < len(seen.words) else ""
    return after == ":" or (after in "'’" and after != "" and tail == "s" and not _is_end(seen, last + 3))


def _beginning(seen: View, place: int) -> int:
    """The first modifier: plain words and joined ones, back to an article or a sign."""
    lists = _lists()
    first = place
    words = 0
    while first > 0 and words < _MODIFIERS and place - first < 4 * _MODIFIERS:
        before = seen.lower[first - 1]
        gap = _gap(seen, first - 1, first)
        if "\n\n" in gap or len(gap) > 3:
            break
        if before in "-'’&" and not gap and first > 1 and not _gap(seen, first - 2, first - 1):
            first -= 2  # "log-truck driver", "nurse's aide"
            continue
        if before == "s" and first > 1 and seen.words[first - 2] in "'’":
            first -= 1
            continue
        if before == "and" and seen.lower[max(0, first - 2) : first - 1] in (["tool"], ["goat"], ["sheep"], ["hay"]):
            first -= 2
            words += 2
            continue
        if before.isdigit() and first > 1 and seen.lower[first - 2] in _ARTICLES and not place - first > 2:
            first -= 1  # "a 911 dispatcher"
            break
        if not before.isalpha() or before in lists.between or before in lists.people or before in lists.behind:
            break
        if before in _LEAD or before in _ARTICLES or before in _AGED:
            break
        first -= 1
        words += 1
    return first


def _evidence(seen: View, first: int, last: int) -> str | None:
    """What says that a person is this, by the words before it; None if nothing does."""
    lists, lower = _lists(), seen.lower
    if first == 0:
        return None
    staff = first == last and lower[last] in lists.staff
    before = lower[first - 1]
    at = first - 1
    if before in _LEAD:
        return "retired"
    sure = not staff and lower[last] not in lists.weak and lower[last] not in lists.others
    if before in ("both", "all") and sure and lower[last].endswith("s"):
        return "apposed"
    if before == "that" and lower[max(0, at - 1)] in ("before", "after", "to") and not staff:
        return "named"
    article = before in _ARTICLES
    if article:
        at -= 1
    if at < 0:
        return None
    lead = lower[at]
    opens = at == 0 or seen.words[at - 1] in ".;:(" or "\n" in _gap(seen, at - 1, at)
    leads = lead in _lists().then or (lead == "be" and opens)
    if article and sure and before != "the" and (leads or (lead in ("is", "was") and (opens or _is_told(seen, at)))):
        return "named"
    if not article and sure and lead in ("now", "formerly", "later", "then") and last > first:
        return "named"
    if lead == "as" and (article or not staff):
        near = lower[max(0, at - 6) : at]
        if any(word in lists.working for word in near) or (not staff and article and last > first):
            return "named"
        persons = lower[max(0, at - 10) : at]
        return "named" if article and any(word in lists.people for word in persons) and "by" not in near else None
    if (
        article
        and (lead in lists.people or (lead == "and" and before != "the"))
        and lead not in ("who", "he", "she", "they")
    ):
        return "apposed"
    if lead in _BE or lead in ("now", "formerly", "then", "also", "still", "previously", "currently"):
        if lead in ("formerly", "previously") and article and not staff:
            return "named"
        if "before that" in " ".join(lower[max(0, at - 3) : at]) and not staff:
            return "named"
        subject = _subject(seen, at)
        if subject in lists.people or (subject == "Name" and not staff):
            return "named" if article or lead not in _BE else None
        return None
    if lead in (",", "(", ";", "–", "-", "—") and at > 0:
        return _apposed(seen, at, last, article=article, staff=staff)
    if not article and (lead == "old" or (lead in _AGED and not staff)):
        return "apposed"
    return None


def _subject(seen: View, at: int) -> str:
    """Who is it: the word before the verbs and adverbs that lead here; "Name" for what looks like one."""
    lists = _lists()
    place = at
    for _ in range(6):
        if place < 0:
            return ""
        word = seen.lower[place]
        if word in lists.people:
            return word
        if word in lists.between or word in (",", "and"):
            place -= 1
            continue
        return "Name" if _is_name(seen.words[place]) else ""
    return ""


def _is_name(word: str) -> bool:
    """A capitalised word that is a surname or commoner as a name, or one in lower case that is hardly anything else."""
    row = row_of(word)
    if row.clinical or not word.isalpha():
        return False
    return row.last > 500 or row.name > row.lower if word[0].isupper() else row.name > 20 * row.lower + 200


def _apposed(seen: View, at: int, last: int, *, article: bool, staff: bool) -> str | None:
    """ "Leo Marsh, a cantor," "(cashier)", "62, ore dock foreman": beside a person's name, kin, age or sex."""
    lists = _lists()
    before, written = seen.lower[at - 1], seen.words[at - 1]
    whole = last + 1 >= len(seen.words) or seen.lower[last + 1][0] in ".,;)(/"
    person = before in lists.people or before in _AGED
    if not person and written.isdigit() and len(written) < 3:
        person = True
    if not person and written[0].isupper() and written.isalpha() and len(written) > 1:
        row = row_of(written)
        person = not row.clinical and (row.last > 200 or row.name > row.lower or row.lower == 0)
        person = person and not row.kinds & Kind.CREDENTIAL
        if person and _is_titled(seen, at - 1):
            return None
        if staff and not article and not (seen.words[at] == "(" and _is_kin(seen, at)):
            return None
    if not person or not (article or whole or seen.lower[last + 1] in (_lists().near if staff else _lists().follow)):
        return None
    return "apposed"


def _is_told(seen: View, at: int) -> bool:
    """Whether somebody of whom a note tells is named in the sentence before "is" or "was"."""
    begin = at
    while (
        begin > 0
        and at - begin < 30
        and seen.words[begin - 1] not in (".", ";")
        and "\n\n" not in _gap(seen, begin - 1, begin)
    ):
        begin -= 1
    people = _lists().people
    return any(word in people for word in seen.lower[begin:at])


def _is_kin(seen: View, at: int) -> bool:
    """Whether the name before a parenthesis is that of somebody's kin or the patient's."""
    return any(word in _lists().people for word in seen.lower[max(0, at - 5) : at])


def _is_titled(seen: View, place: int) -> bool:
    """Whether the name that ends here has a doctor's title before it."""
    return any(word in ("dr", "drs", "doctor", "attending", "by") for word in seen.lower[max(0, place - 4) : place])


def _placed(seen: View, place: int) -> tuple[int, int, str] | None:
    """ "works nights at the hotel laundry", "cooked in the lunchroom": a verb and the kind of place."""
    lower = seen.lower
    at = place + 1
    if lower[at : at + 1] in (["nights"], ["days"], ["evenings"], ["weekends"]):
        at += 1
    if lower[at : at + 1] not in (["at"], ["in"], ["on"]) or lower[at + 1 : at + 2] not in (
        ["the"],
        ["a"],
        ["an"],
        ["his"],
    ):
        if lower[at : at + 1] != ["in"] or lower[at + 1 : at + 2] == []:
            return None
        at -= 1  # "works in landscaping"
    for last in range(at + 2, min(at + 5, len(lower))):
        if seen.words[last][0].isupper() and not seen.words[place].isupper() and not seen.words[place][1:2].isupper():
            return None
        if lower[last] in _lists().places and _is_end(seen, last + 1):
            return place, last, "verb"
        if not lower[last].isalpha():
            return None
    return None


def _verb(seen: View, place: int) -> tuple[int, int, str] | None:
    lists, lower = _lists(), seen.lower
    if not _works(seen, place):
        return None
    if lower[place] in _lists().placed and (found := _placed(seen, place)) is not None:
        return found
    wanted = lists.objects.get(lower[place], frozenset())
    if lower[place] in lists.alone and _is_end(seen, place + 1):
        return place, place, "verb"
    stop = place + 1
    while stop < len(lower) and stop - place <= _OBJECT and not (_is_end(seen, stop) and lower[stop] != "-"):
        stop += 1
    inside = lower[place + 1 : stop]
    if not inside or stop - place > _OBJECT:
        return None
    if "*" in wanted:
        if any(word in lists.never or row_of(word).kinds & _CLINICAL for word in inside):
            return None
    elif not any(word in wanted for word in inside):
        return None
    return place, stop - 1, "verb"


def _works(seen: View, place: int) -> bool:
    """Whether somebody of whom a note tells may be the verb's subject: "he", "father", "and", "Odell", "formerly"."""
    lists = _lists()
    if place == 0:
        return False
    before, written = seen.lower[place - 1], seen.words[place - 1]
    if before in lists.people or before in _lists().before_verb:
        return True
    if seen.words[place][0].isupper() and before in (".", ":", ";") and not seen.words[place].isupper():
        return "*" not in lists.objects.get(seen.lower[place], frozenset())
    if before in (",", "(", ".", ";") or "\n" in _gap(seen, place - 1, place):
        near = seen.lower[max(0, place - 14) : place]
        return any(word in lists.people for word in near)
    return before in ("law", "here", ")") or _is_name(written)


def detector() -> Professions:
    return Professions()
