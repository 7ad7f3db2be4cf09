"""Our own plain figures on Documents: what was found, what was missed, what leaked.

Gold and system are mappings of id to Document. Six views of the same spans:

    token      alphanumeric runs of the text, each with the labels of the spans that touch any of its characters
    strict     (start, end, label)
    relaxed    spans that overlap and have the same label, matched one to one, as many as possible
    …_binary   the same without the label

each over all labels, over the HIPAA labels, per label and per category. A group of labels is cut out of gold and
system separately, before counting: a PATIENT called DOCTOR is a miss of PATIENT and a false alarm of DOCTOR. The leak
figures ask another question, whether a character of gold is covered by *any* span.
"""

import heapq
import math
import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from deident.document import Document, Failure, Span, first_overlap
from deident.errors import UsageError
from deident.labels import Category, Label

# A letter or digit of any script, with the combining accents that follow it ("é" may be two code points).
_TOKEN = re.compile(r"(?:[^\W_][\u0300-\u036f]*)+")

Places = Sequence[tuple[int, int]]


def tokens(text: str) -> list[tuple[int, int]]:
    """The alphanumeric runs of a text: `"J. O'Hara-12"` → J, O, Hara, 12, as (start, end)."""
    return [match.span() for match in _TOKEN.finditer(text)]


class View(StrEnum):
    """How spans are compared."""

    TOKEN = "token"  # noqa: S105 (a token of text)
    STRICT = "strict"
    RELAXED = "relaxed"
    TOKEN_BINARY = "token_binary"  # noqa: S105
    STRICT_BINARY = "strict_binary"
    RELAXED_BINARY = "relaxed_binary"

    @property
    def binary(self) -> bool:
        return self in {View.TOKEN_BINARY, View.STRICT_BINARY, View.RELAXED_BINARY}


@dataclass(frozen=True, slots=True)
class Counts:
    """True and false positives, and misses. A figure that is 0/0 is 0, or 1 where there is nothing of either side."""

    tp: int = 0
    fp: int = 0
    fn: int = 0

    def __post_init__(self) -> None:
        if min(self.tp, self.fp, self.fn) < 0:
            raise ValueError("counts cannot be negative")

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(self.tp + other.tp, self.fp + other.fp, self.fn + other.fn)

    @property
    def empty(self) -> bool:
        return self.tp + self.fp + self.fn == 0

    @property
    def p(self) -> float:
        return self._share(self.tp + self.fp)

    @property
    def r(self) -> float:
        return self._share(self.tp + self.fn)

    @property
    def f(self) -> float:
        return 1.0 if self.empty else 2 * self.tp / (2 * self.tp + self.fp + self.fn)

    def _share(self, whole: int) -> float:
        return self.tp / whole if whole else float(self.empty)

    def to_json(self) -> dict[str, Any]:
        return {"tp": self.tp, "fp": self.fp, "fn": self.fn, "p": self.p, "r": self.r, "f": self.f}


@dataclass(frozen=True, slots=True)
class Macro:
    """The means of the documents' own p, r and f, over the documents where gold or system has anything to count."""

    documents: int
    p: float
    r: float
    f: float

    def to_json(self) -> dict[str, Any]:
        return {"documents": self.documents, "p": self.p, "r": self.r, "f": self.f}


@dataclass(frozen=True, slots=True)
class Score:
    """One view of one group of labels."""

    micro: Counts
    macro: Macro

    def to_json(self) -> dict[str, Any]:
        return {"micro": self.micro.to_json(), "macro": self.macro.to_json()}


Group = Mapping[View, Score]


@dataclass(frozen=True, slots=True)
class Leaks:
    """What stays readable when every system span, of whatever label, is removed from the text."""

    characters: int  # of gold
    leaked: int  # of these, those that no system span covers
    hipaa_characters: int
    hipaa_leaked: int
    documents: int
    documents_clean: int  # no letter or digit of gold is uncovered
    patient_names: int  # PATIENT spans of gold
    patient_names_leaked: int  # those with an uncovered letter or digit

    @property
    def rate(self) -> float:
        return self.leaked / self.characters if self.characters else 0.0

    @property
    def hipaa_rate(self) -> float:
        return self.hipaa_leaked / self.hipaa_characters if self.hipaa_characters else 0.0

    @property
    def clean_share(self) -> float:
        return self.documents_clean / self.documents if self.documents else 1.0

    def to_json(self) -> dict[str, Any]:
        return {
            "characters": self.characters,
            "leaked": self.leaked,
            "rate": self.rate,
            "hipaa_characters": self.hipaa_characters,
            "hipaa_leaked": self.hipaa_leaked,
            "hipaa_rate": self.hipaa_rate,
            "documents": self.documents,
            "documents_clean": self.documents_clean,
            "clean_share": self.clean_share,
            "patient_names": self.patient_names,
            "patient_names_leaked": self.patient_names_leaked,
        }


@dataclass(frozen=True, slots=True)
class Scores:
    """All figures of one system against gold."""

    documents: int  # scored
    missing: tuple[str, ...]  # ids that gold has and the system has not; they count as missed, wholly
    failures: tuple[Failure, ...]  # documents that could not be scored, or that gold does not have
    overall: Group
    hipaa: Group
    labels: Mapping[Label, Group]  # those that occur in gold or system
    categories: Mapping[Category, Group]
    leaks: Leaks

    def to_json(self) -> dict[str, Any]:
        def group(scores: Group) -> dict[str, Any]:
            return {view.value: score.to_json() for view, score in scores.items()}

        return {
            "documents": self.documents,
            "missing": list(self.missing),
            "failures": [{"id": failure.id, "reason": failure.reason} for failure in self.failures],
            "overall": group(self.overall),
            "hipaa": group(self.hipaa),
            "labels": {label.value: group(scores) for label, scores in self.labels.items()},
            "categories": {category.value: group(scores) for category, scores in self.categories.items()},
            "leaks": self.leaks.to_json(),
        }


def headline(scores: Scores) -> dict[str, dict[str, float]]:
    """The few figures by which models are compared: precision, recall and F by span and by token, all types with their
    labels, and by token of the HIPAA types, whatever the label."""
    groups = {
        "strict": scores.overall[View.STRICT],
        "token": scores.overall[View.TOKEN],
        "binary-hipaa": scores.hipaa[View.TOKEN_BINARY],
    }
    return {name: {"p": score.micro.p, "r": score.micro.r, "f": score.micro.f} for name, score in groups.items()}


@dataclass(frozen=True, slots=True)
class Pair:
    """A gold document and the system's spans for it (none where the system lacks the document)."""

    id: str
    doc: Document
    gold: tuple[Span, ...]
    system: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Pairing:
    pairs: tuple[Pair, ...]  # in order of id, so that no figure depends on the order of the input
    missing: tuple[str, ...]
    failures: tuple[Failure, ...]


def by_id(documents: Iterable[Document]) -> dict[str, Document]:
    """Documents by their id; two of one id are refused."""
    found: dict[str, Document] = {}
    for doc in documents:
        if doc.id in found:
            raise UsageError(f"two documents have the id '{doc.id}'")
        found[doc.id] = doc
    return found


def pair(gold: Mapping[str, Document], system: Mapping[str, Document]) -> Pairing:
    """Gold beside system, and what cannot be compared: gold that overlaps itself, other text, ids that gold lacks."""
    pairs: list[Pair] = []
    failures: list[Failure] = []
    for name, doc in sorted(gold.items()):
        overlap = first_overlap(doc.spans)
        theirs = system.get(name)
        if overlap is not None:
            (left, right) = overlap
            reason = f"gold spans {left.start}..{left.end} and {right.start}..{right.end} overlap"
            failures.append(Failure(name, reason))
        elif theirs is not None and theirs.text != doc.text:
            at = next((i for i, (a, b) in enumerate(zip(doc.text, theirs.text, strict=False)) if a != b), None)
            at = min(len(doc.text), len(theirs.text)) if at is None else at
            failures.append(Failure(name, f"the system's text is not that of gold: they differ at offset {at}"))
        else:
            pairs.append(Pair(name, doc, tuple(sorted(doc.spans)), tuple(sorted(theirs.spans)) if theirs else ()))
    failures += [Failure(name, "not a document of gold") for name in sorted(system.keys() - gold.keys())]
    missing = tuple(found.id for found in pairs if found.id not in system)
    return Pairing(tuple(pairs), missing, tuple(failures))


def score(gold: Mapping[str, Document], system: Mapping[str, Document]) -> Scores:
    """All figures of a system's documents against gold; figures over no document at all are refused."""
    pairing = pair(gold, system)
    if not pairing.pairs:
        why = [f"{failure.id}: {failure.reason}" for failure in pairing.failures[:1]]
        raise UsageError("; ".join(["no document of gold can be scored", *why]))
    groups: dict[str, frozenset[Label]] = {"overall": frozenset(Label), "hipaa": HIPAA}
    found = {span.label for item in pairing.pairs for span in (*item.gold, *item.system)}
    labels = [label for label in Label if label in found]
    categories = [category for category in Category if any(label.category is category for label in labels)]
    groups |= {f"label {label}": frozenset({label}) for label in labels}
    groups |= {f"category {category}": of_category(category) for category in categories}
    counted: dict[tuple[str, View], list[Counts]] = defaultdict(list)
    for item in pairing.pairs:
        cut = tokens(item.doc.text)
        for name, wanted in groups.items():
            for view, counts in _views(cut, _only(item.gold, wanted), _only(item.system, wanted)).items():
                counted[name, view].append(counts)

    def group(name: str) -> Group:
        return {view: _score(counted[name, view]) for view in View}

    return Scores(
        documents=len(pairing.pairs),
        missing=pairing.missing,
        failures=pairing.failures,
        overall=group("overall"),
        hipaa=group("hipaa"),
        labels={label: group(f"label {label}") for label in labels},
        categories={category: group(f"category {category}") for category in categories},
        leaks=_leaks(pairing.pairs),
    )


HIPAA: frozenset[Label] = frozenset(label for label in Label if label.hipaa)


def of_category(category: Category) -> frozenset[Label]:
    return frozenset(label for label in Label if label.category is category)


def per_document(
    gold: Mapping[str, Document],
    system: Mapping[str, Document],
    *,
    view: View = View.TOKEN_BINARY,
    labels: Collection[Label] = frozenset(Label),
) -> dict[str, Counts]:
    """The counts of each scored document, by id: what the tests of `statistics` resample and swap."""
    return {
        item.id: _count(view, tokens(item.doc.text), _only(item.gold, labels), _only(item.system, labels))
        for item in pair(gold, system).pairs
    }


def by_patient(counts: Mapping[str, Counts], gold: Mapping[str, Document]) -> dict[str, Counts]:
    """Counts of documents summed by patient; a document without a patient stands for itself."""
    summed: dict[str, Counts] = defaultdict(Counts)
    for name, count in counts.items():
        patient = gold[name].patient
        # the two kinds of id are kept apart: a patient "7" is not the document "7"
        summed[f"patient {patient.id}" if patient is not None and patient.id else f"document {name}"] += count
    return dict(summed)


def _only(spans: Iterable[Span], wanted: Collection[Label]) -> list[Span]:
    return [span for span in spans if span.label in wanted]


def _score(counts: Sequence[Counts]) -> Score:
    micro = Counts(*(sum(values) for values in zip(*((c.tp, c.fp, c.fn) for c in counts), strict=True)))
    some = [count for count in counts if not count.empty]
    if not some:
        return Score(micro, Macro(0, 1.0, 1.0, 1.0))

    def mean(figure: Callable[[Counts], float]) -> float:
        return math.fsum(map(figure, some)) / len(some)

    return Score(micro, Macro(len(some), mean(lambda c: c.p), mean(lambda c: c.r), mean(lambda c: c.f)))


def _views(cut: Places, gold: Sequence[Span], system: Sequence[Span]) -> dict[View, Counts]:
    if not gold and not system:
        return dict.fromkeys(View, Counts())
    return {view: _count(view, cut, gold, system) for view in View}


def _count(view: View, cut: Places, gold: Sequence[Span], system: Sequence[Span]) -> Counts:
    match view:
        case View.TOKEN:
            return _sets(marks(cut, gold), marks(cut, system))
        case View.TOKEN_BINARY:
            return _sets({at for at, _ in marks(cut, gold)}, {at for at, _ in marks(cut, system)})
        case View.STRICT:
            return _sets(set(gold), set(system))
        case View.STRICT_BINARY:
            return _sets({(s.start, s.end) for s in gold}, {(s.start, s.end) for s in system})
        case View.RELAXED:
            labels = {span.label for span in (*gold, *system)}
            parts = [_matched(_only(gold, {label}), _only(system, {label})) for label in labels]
            return sum(parts, Counts())
        case View.RELAXED_BINARY:
            return _matched(gold, system)


def _sets(gold: AbstractSet[Hashable], system: AbstractSet[Hashable]) -> Counts:
    both = len(gold & system)
    return Counts(both, len(system) - both, len(gold) - both)


def marks(cut: Places, spans: Iterable[Span]) -> set[tuple[int, Label]]:
    """Which tokens, by number, carry which labels. Two spans inside one token give it two labels."""
    starts, ends = [start for start, _ in cut], [end for _, end in cut]
    return {
        (at, span.label)
        for span in spans
        for at in range(bisect_right(ends, span.start), bisect_left(starts, span.end))
    }


def _matched(gold: Sequence[Span], system: Sequence[Span]) -> Counts:
    """The largest one-to-one matching of overlapping spans, whatever their labels; one place counts once.

    Gold is disjoint, so a system span overlaps a run of gold spans; taking gold in order and giving each, of the
    system spans that reach it, the one whose run ends first is then optimal (Glover 1967).
    """
    ours = sorted(gold)
    starts, ends = [span.start for span in ours], [span.end for span in ours]
    unique = {(span.start, span.end) for span in system}
    runs = sorted((bisect_right(ends, start), bisect_left(starts, end)) for start, end in unique)
    waiting: list[int] = []
    matched = following = 0
    for at in range(len(ours)):
        while following < len(runs) and runs[following][0] <= at:
            heapq.heappush(waiting, runs[following][1])
            following += 1
        while waiting and waiting[0] <= at:
            heapq.heappop(waiting)
        if waiting:
            heapq.heappop(waiting)
            matched += 1
    return Counts(matched, len(unique) - matched, len(ours) - matched)


def _leaks(pairs: Sequence[Pair]) -> Leaks:
    characters = leaked = hipaa_characters = hipaa_leaked = clean = names = names_leaked = 0
    for item in pairs:
        text = item.doc.text
        covered = bytearray(len(text))
        for span in item.system:
            covered[span.start : span.end] = b"\1" * (span.end - span.start)
        seen = [False]
        for span in item.gold:
            size = span.end - span.start
            bare = covered.count(0, span.start, span.end)
            readable = bare > 0 and any(text[i].isalnum() and not covered[i] for i in range(span.start, span.end))
            characters += size
            leaked += bare
            if span.label.hipaa:
                hipaa_characters += size
                hipaa_leaked += bare
            if span.label is Label.PATIENT:
                names += 1
                names_leaked += readable
            seen.append(readable)
        clean += not any(seen)
    return Leaks(characters, leaked, hipaa_characters, hipaa_leaked, len(pairs), clean, names, names_leaked)


@dataclass(frozen=True, slots=True)
class Point:
    """Token counts, type-blind, when only spans with at least this score are taken."""

    threshold: float
    counts: Counts

    def to_json(self) -> dict[str, Any]:
        return {"threshold": self.threshold, **self.counts.to_json()}


def precision_recall(gold: Mapping[str, Document], system: Mapping[str, Document]) -> tuple[Point, ...]:
    """One point for each score that a span of the system has, from the highest threshold to the lowest.

    A token's score is the highest of the spans that touch it; missing documents count as missed at every threshold.
    """
    total = 0
    hits: dict[float, list[int]] = defaultdict(lambda: [0, 0])
    for item in pair(gold, system).pairs:
        cut = tokens(item.doc.text)
        true = {at for at, _ in marks(cut, item.gold)}
        total += len(true)
        best: dict[int, float] = {}
        for span in item.system:
            if math.isnan(span.score):
                raise UsageError(f"{item.id}: the score of the span {span.start}..{span.end} is not a number")
            hits[span.score][0] += 0  # a threshold, though all its tokens may have a higher score already
            for at, _ in marks(cut, [span]):
                best[at] = max(best.get(at, -math.inf), span.score)
        for at, value in best.items():
            hits[value][at not in true] += 1
    points: list[Point] = []
    tp = fp = 0
    for threshold in sorted(hits, reverse=True):
        tp += hits[threshold][0]
        fp += hits[threshold][1]
        points.append(Point(threshold, Counts(tp, fp, total - tp)))
    return tuple(points)
