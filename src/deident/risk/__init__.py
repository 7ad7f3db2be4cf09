"""What may still identify: leaks and what a policy lets stay, by the number of people who share it.

    found = analyse(gold, system, policy=load("safe-harbor"))
    found.leaked["PATIENT"].least        # people who share the rarest patient's name that leaked
    bound(1, 200)                        # 200 notes read, 1 leaks: at most this share of all, at 95 %

After seed 002, "Privacy risk analysis": a leak is no number until it is said how many people it may mean. No value here
holds text, an id or an offset of a note, so that the report may lie in a study's files.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import combinations
from statistics import median
from typing import Any

from deident import lexicons
from deident.document import Document, Span, corpus_hash
from deident.errors import UsageError
from deident.evaluate import statistics
from deident.evaluate.report import Leak, leaks
from deident.generalise import OLD
from deident.labels import Label
from deident.policy import Action, Policy
from deident.risk.people import NUMBERS, POPULATION, SMALL, Shared, sharing
from deident.surrogates.ages import said

LIMITS = (1, 10, 1_000, SMALL)  # people, by which documents are put into classes
SMALL_CELLS = (2, 5, 11)  # sizes under which a class of equal records is small
# What is somebody else's, or tells of the place of care and not of the patient.
_NOT_HERS = frozenset({Label.DOCTOR, Label.USERNAME, Label.HOSPITAL, Label.DEPARTMENT, Label.ROOM})


# -- tokens ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Exposed:
    """What of one type can be read: how often, and how many people share it."""

    count: int
    estimated: int  # of them, those for which somebody can say
    least: int | None
    middle: int | None
    small: int  # of them, those that 20,000 people or fewer share
    how: Mapping[str, int] = field(hash=False)  # ways of estimating, and how often each

    @classmethod
    def of(cls, shared: Iterable[Shared]) -> "Exposed":
        found = list(shared)
        people = [one.people for one in found if one.people is not None]
        return cls(
            len(found),
            len(people),
            min(people, default=None),
            round(median(people)) if people else None,
            sum(count <= SMALL for count in people),
            dict(sorted(Counter(one.how for one in found).items())),
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "count": self.count,
            "estimated": self.estimated,
            "people_least": self.least,
            "people_median": self.middle,
            "small": self.small,
            "how": dict(self.how),
        }


@dataclass(frozen=True, slots=True)
class Note:
    """What one note shows of its patient: the people who share its rarest token, and all tokens together.

    Together supposes that one token says nothing of another (as names and towns hardly do). A name counts once however
    often it stands there, of dates, ages and ZIP codes the rarest alone, and a state not beside its city.
    """

    rarest: int
    together: int

    @classmethod
    def of(cls, facts: Mapping[tuple[str, str], Shared]) -> "Note | None":
        kinds = {kind for kind, _ in facts}
        told = [
            one
            for (kind, _), one in facts.items()
            if one.people is not None and not (kind in _WIDER and not kinds.isdisjoint(_WIDER[kind]))
        ]
        if not told:
            return None
        share = math.prod(one.share for one in told)
        return cls(min(one.people or 0 for one in told), max(1, min(POPULATION, round(share * POPULATION))))


_ONE = frozenset(
    {Label.AGE, Label.DATE, Label.STATE, Label.COUNTRY, Label.ZIP}
)  # of which a note's rarest counts alone
_WIDER = {"STATE": {"ZIP", "CITY"}, "COUNTRY": {"STATE", "ZIP", "CITY"}, "CITY": {"ZIP"}}  # what the others imply


def _add(facts: dict[tuple[str, str], Shared], text: str, label: Label, *, hidden: int = 0) -> None:
    """What a text tells, added to what its note tells already: a name that stands there thrice tells no more."""
    parts = re.findall(r"[^\W\d_]+", text) if label is Label.PATIENT else [text]
    for part in parts:
        key = (label.value, "" if label in _ONE else lexicons.word_key(part))
        one = sharing(part, label, hidden=hidden if label in NUMBERS else 0)
        if one.people is not None and (key not in facts or one.share < facts[key].share):
            facts[key] = one


# -- what stays: equal records -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Classes:
    """Records that are alike in some quasi-identifiers: k is the size of the smallest class."""

    by: tuple[str, ...]
    records: int
    classes: int
    k: int
    in_small: Mapping[int, int] = field(hash=False)  # records in classes of fewer than so many

    def to_json(self) -> dict[str, Any]:
        small = {f"fewer_than_{size}": count for size, count in self.in_small.items()}
        return {"by": list(self.by), "records": self.records, "classes": self.classes, "k": self.k} | small


QUASI = ("age", "sex", "zip3", "year")
_MALE = re.compile(r"\b(?:male|man|gentleman|boy|he|his|him|mr|father|husband)\b", re.IGNORECASE)
_FEMALE = re.compile(r"\b(?:female|woman|lady|girl|she|her|hers|mrs|ms|mother|wife)\b", re.IGNORECASE)


def sex(text: str) -> str:
    """Whom the words of a note speak of: "f", "m", or "" where they do not say; an estimate."""
    women, men = len(_FEMALE.findall(text)), len(_MALE.findall(text))
    return "" if women == men else "f" if women > men else "m"


def equal(records: Iterable[Mapping[str, str]], by: tuple[str, ...]) -> Classes | None:
    """The classes of records with the same values; a value that is missing is a value too."""
    sizes = Counter(tuple(record.get(name, "") for name in by) for record in records)
    if not sizes:
        return None
    small = {size: sum(count for count in sizes.values() if count < size) for size in SMALL_CELLS}
    return Classes(by, sum(sizes.values()), len(sizes), min(sizes.values()), small)


def quasi(doc: Document, kept: Mapping[Label, tuple[str, ...]]) -> dict[str, str]:
    """The quasi-identifiers of a note: the first age and ZIP code, the last year, and the sex its words tell."""
    found = {"sex": sex(doc.text)}
    years = sorted(
        year for text in kept.get(Label.DATE, ()) for year in re.findall(r"(?<!\d)(?:19|20)\d\d(?!\d)", text)
    )
    for name, values in (
        ("age", tuple(_age(text) for text in kept.get(Label.AGE, ()))),
        ("zip3", tuple(text[:3] for text in kept.get(Label.ZIP, ()))),
        ("year", tuple(years[-1:])),
    ):
        found[name] = values[0].lower() if values else ""
    return found


def _age(text: str) -> str:
    """ "47 y/o" and "47-year-old" are one."""
    ages = said(text)
    return str(min(ages[0], OLD)) if ages else text


# -- bounds ------------------------------------------------------------------------------------------------------------


def bound(leaking: int, read: int, *, confidence: float = 0.95) -> float:
    """The largest share of leaking notes that is compatible with a sample: exact (Clopper and Pearson), one-sided.

    >>> round(1000 * bound(1, 200), 1)
    23.5
    """
    if not 0 <= leaking <= read or read < 1:
        raise UsageError(f"{leaking} leaking notes of {read} read is no sample")
    return 1.0 if leaking == read else 1 - statistics.binomial_bound(read - leaking, read, confidence=confidence)


def sample_size(wanted: float, *, leaking: int = 0, confidence: float = 0.95) -> int:
    """How many notes have to be read for a bound so low, if so many of them leak.

    >>> sample_size(0.01), sample_size(0.01, leaking=1)
    (299, 473)
    """
    if not 0 < wanted < 1:
        raise UsageError(f"a wanted bound lies between 0 and 1, not at {wanted:g}")
    low, high = leaking, leaking + 1
    while bound(leaking, high, confidence=confidence) > wanted:
        low, high = high, high * 2
        if high > 1 << 40:
            raise UsageError("no sample is large enough for that")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if bound(leaking, middle, confidence=confidence) > wanted else (low, middle)
    return high


# -- the whole ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Sample:
    """Notes of the output that a person has read, and how many of them leak."""

    read: int
    leaking: int
    confidence: float = 0.95

    @property
    def bound(self) -> float:
        return bound(self.leaking, self.read, confidence=self.confidence)

    def to_json(self) -> dict[str, Any]:
        share = {"leaking": self.leaking, "confidence": self.confidence, "at_most": self.bound}
        return {"read": self.read} | share | {"at_most_per_1000_notes": 1000 * self.bound}


@dataclass(frozen=True, slots=True)
class Analysis:
    """Figures of a set of notes; nothing in it tells of any note which one it is."""

    documents: int
    corpus: str
    policy: Policy | None
    leaked: Mapping[Label, Exposed] = field(hash=False)
    kept: Mapping[Label, Exposed] = field(hash=False)
    leaking: tuple[Note, ...] = ()  # notes with a leak that tells of the patient
    showing: tuple[Note, ...] = ()  # notes in which a leak, or something that the policy keeps, does
    classes: tuple[Classes, ...] = ()
    patients: int = 0
    inventory: Mapping[str, Any] | None = field(default=None, hash=False)

    def spread(self, notes: Iterable[Note]) -> dict[str, int]:
        """How many notes lie in each class of people who share what they show, all together."""
        counts = [note.together for note in notes]
        found: dict[str, int] = {}
        before = 0
        for limit in LIMITS:
            name = "1 person" if limit == 1 else f"{before + 1:,} to {limit:,} people"
            found[name] = sum(before < count <= limit for count in counts)
            before = limit
        return found | {f"more than {before:,} people": sum(count > before for count in counts)}

    @property
    def mean(self) -> float:
        """The mean over all notes of one over the people together: the odds that a guess by the leaks is right."""
        return sum(1 / note.together for note in self.leaking) / self.documents if self.documents else 0.0

    def to_json(self) -> dict[str, Any]:
        return {
            "documents": self.documents,
            "corpus": self.corpus,
            "policy": self.policy.to_json() if self.policy is not None else None,
            "leaked": {label.value: row.to_json() for label, row in self.leaked.items()},
            "kept": {label.value: row.to_json() for label, row in self.kept.items()},
            "documents_leaking": len(self.leaking),
            "documents_leaking_by_people": self.spread(self.leaking),
            "documents_showing_by_people": self.spread(self.showing),
            "mean_risk": self.mean,
            "patients": self.patients,
            "classes": [row.to_json() for row in self.classes],
            "inventory": self.inventory,
            "determination": None,
        }


def analyse(
    gold: Mapping[str, Document], system: Mapping[str, Document], *, policy: Policy | None = None, as_of: int = 0
) -> Analysis:
    """What leaks of gold notes under a system's spans, and what a policy lets stay of those spans."""
    docs = {name: doc for name, doc in system.items() if name in gold}
    leaked: dict[Label, list[Shared]] = {}
    by_note: dict[str, dict[tuple[str, str], Shared]] = {}
    stays = _Stays(policy, as_of)
    for leak in leaks(gold, {name: stays.removed(gold[name], doc) for name, doc in docs.items()}):
        label = leak.span.label
        if stays.as_it_is(gold[leak.id], leak.span):
            continue  # which the policy would have let stay, had it been found
        text, hidden = _read(gold[leak.id], leak), leak.letters - leak.leaked
        leaked.setdefault(label, []).append(sharing(text, label, hidden=hidden))
        if label not in _NOT_HERS:
            _add(by_note.setdefault(leak.id, {}), text, label, hidden=hidden)
    kept: dict[Label, list[Shared]] = {}
    shown = {name: dict(facts) for name, facts in by_note.items()}
    records: dict[str, dict[str, str]] = {}
    for name, doc in docs.items():
        left = stays.of(gold[name], doc.spans)
        for label, texts in left.items():
            kept.setdefault(label, []).extend(sharing(text, label) for text in texts)
            for text in texts:
                if label not in _NOT_HERS:
                    _add(shown.setdefault(name, {}), text, label)
        if policy is not None:
            patient = gold[name].patient
            records.setdefault(patient.id if patient is not None and patient.id else name, quasi(gold[name], left))
    names = [name for name in QUASI if any(record.get(name) for record in records.values())]
    sets = [by for size in range(1, len(names) + 1) for by in combinations(names, size)]
    return Analysis(
        len(gold),
        corpus_hash(gold.values()),
        policy,
        {label: Exposed.of(leaked[label]) for label in Label if label in leaked},
        {label: Exposed.of(kept[label]) for label in Label if label in kept},
        tuple(note for facts in by_note.values() if (note := Note.of(facts)) is not None),
        tuple(note for facts in shown.values() if (note := Note.of(facts)) is not None),
        tuple(row for by in sets if (row := equal(records.values(), by)) is not None),
        len(records),
        policy.inventory(docs.values()) if policy is not None else None,
    )


def _read(doc: Document, leak: Leak) -> str:
    """What can be read of a span."""
    return " ".join(doc.text[start:end] for start, end in leak.bare)


class _Stays:
    """What a policy lets stay of spans that were found."""

    def __init__(self, policy: Policy | None, as_of: int) -> None:
        self._policy = policy
        self._treat = None
        if policy is not None:
            self._treat = policy.shown_as(Action.TAG).treatment(key=bytes(32) if policy.keyed else None, as_of=as_of)

    def as_it_is(self, doc: Document, span: Span) -> bool:
        """Whether the policy lets a span of the note stay, whole."""
        return self._treat is not None and self._treat(doc, span) == doc.text[span.start : span.end]

    def removed(self, gold: Document, found: Document) -> Document:
        """The spans without those that stay: a patient who is taken for what the policy keeps is not covered."""
        marked = gold.with_spans(found.spans)
        return found.with_spans(span for span in found.spans if not self.as_it_is(marked, span))

    def of(self, doc: Document, spans: Iterable[Span]) -> dict[Label, tuple[str, ...]]:
        if self._policy is None or self._treat is None:
            return {}
        found: dict[Label, list[str]] = {}
        marked = doc.with_spans(spans)
        for span in marked.spans:
            if self._policy.action(span.label) in (Action.KEEP, Action.GENERALISE):
                text = self._treat(marked, span)
                if not text.startswith("["):
                    found.setdefault(span.label, []).append(text)
        return {label: tuple(texts) for label, texts in found.items()}
