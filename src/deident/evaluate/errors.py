"""What went wrong: the error groups of WI-deId (section 3.4, tables 6 to 8) and the confusion matrix of the hybrid
for psychiatric notes (table 12).

Each gold span falls into one kind, by the system span that comes nearest to it:

    correct     same extent, same label
    type        same extent, another label
    extent      same label, another extent: short (a part of gold), long (gold and more), or s&l (a part, and more)
    both        they overlap, but neither extent nor label is right (the paper does not name it: its tables 7 and 8
                leave 20 of 11462 gold spans without a group)
    missing     no system span overlaps it

A system span that overlaps no gold is spurious. One that overlaps gold, but is nearest to none ("Ada" and "Lund" for
"Ada Lund": one of them), is a fragment; it is no error of its own, though strict scoring counts it as one.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any

from deident.document import Document, Failure, Span
from deident.evaluate.scores import pair
from deident.labels import Label


class Kind(StrEnum):
    """Where a gold span, or an unmatched system span, belongs."""

    CORRECT = "correct"
    TYPE = "type"
    EXTENT = "extent"
    BOTH = "both"
    MISSING = "missing"
    SPURIOUS = "spurious"
    FRAGMENT = "fragment"


ERRORS = (Kind.TYPE, Kind.EXTENT, Kind.BOTH, Kind.MISSING, Kind.SPURIOUS)


class Extent(StrEnum):
    """How the extent of a system span differs from that of gold."""

    SHORT = "short"
    LONG = "long"
    SHORT_AND_LONG = "s&l"


@dataclass(frozen=True, slots=True)
class Finding:
    """One gold span and the system span nearest to it, or one of them alone."""

    id: str
    kind: Kind
    gold: Span | None
    system: Span | None
    extent: Extent | None = None

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "kind": self.kind.value,
            "extent": self.extent.value if self.extent else None,
            "gold": _place(self.gold),
            "system": _place(self.system),
        }


def _place(span: Span | None) -> dict[str, Any] | None:
    return None if span is None else {"start": span.start, "end": span.end, "label": span.label.value}


@dataclass(frozen=True, slots=True)
class Analysis:
    """All findings of a system, and their tables."""

    findings: tuple[Finding, ...]
    failures: tuple[Failure, ...]

    @property
    def kinds(self) -> Mapping[Kind, int]:
        """How many of each kind."""
        counts = Counter(finding.kind for finding in self.findings)
        return {kind: counts[kind] for kind in Kind}

    @property
    def shares(self) -> Mapping[Kind, float]:
        """Table 6: each kind of error as a share of all errors; empty where there is none."""
        kinds = self.kinds
        total = sum(kinds[kind] for kind in ERRORS)
        return {kind: kinds[kind] / total for kind in ERRORS} if total else {}

    @property
    def by_label(self) -> Mapping[Label, Mapping[Kind, int]]:
        """How many of each kind, by the label of gold, or of the system where gold has nothing."""
        counts = Counter((_label(finding), finding.kind) for finding in self.findings)
        present = {label for label, _ in counts}
        return {label: {kind: counts[label, kind] for kind in Kind} for label in Label if label in present}

    @property
    def extents(self) -> Mapping[Label, Mapping[Extent, int]]:
        """Table 8: short, long, s&l by label."""
        counts = Counter((_label(finding), finding.extent) for finding in self.findings if finding.kind is Kind.EXTENT)
        present = {label for label, _ in counts}
        return {label: {extent: counts[label, extent] for extent in Extent} for label in Label if label in present}

    @property
    def types(self) -> "Matrix":
        """Table 7: correct and type errors in the body, missing in the last column, spurious in the last row."""
        wanted = {Kind.CORRECT, Kind.TYPE, Kind.MISSING, Kind.SPURIOUS}
        return _matrix((item.gold, item.system) for item in self.findings if item.kind in wanted)

    def to_json(self) -> dict[str, Any]:
        return {
            "kinds": {kind.value: count for kind, count in self.kinds.items()},
            "shares": {kind.value: share for kind, share in self.shares.items()},
            "by_label": {
                label.value: {kind.value: count for kind, count in row.items()} for label, row in self.by_label.items()
            },
            "extents": {
                label.value: {extent.value: count for extent, count in row.items()}
                for label, row in self.extents.items()
            },
            "types": self.types.to_json(),
            "findings": [finding.to_json() for finding in self.findings if finding.kind is not Kind.CORRECT],
            "failures": [{"id": failure.id, "reason": failure.reason} for failure in self.failures],
        }


@dataclass(frozen=True, slots=True)
class Matrix:
    """Gold label × system label. `None` is no span: its column holds what was missed, its row what is spurious."""

    labels: tuple[Label, ...]
    cells: Mapping[tuple[Label | None, Label | None], int]

    def count(self, gold: Label | None, system: Label | None) -> int:
        return self.cells.get((gold, system), 0)

    def row(self, gold: Label | None) -> list[int]:
        """One row, in the order of `labels`, then the missing."""
        return [self.count(gold, system) for system in (*self.labels, None)]

    def to_json(self) -> dict[str, Any]:
        return {
            "labels": [label.value for label in self.labels],
            "rows": {label.value: self.row(label) for label in self.labels} | {"spurious": self.row(None)},
        }


def analyse(gold: Mapping[str, Document], system: Mapping[str, Document]) -> Analysis:
    """Every gold span and every unmatched system span with its kind; missing documents are missed wholly."""
    pairing = pair(gold, system)
    findings: list[Finding] = []
    for item in pairing.pairs:
        near = _near(item.gold, item.system)
        used: set[Span] = set()
        for ours, theirs in zip(item.gold, near, strict=True):
            best = min(theirs, key=partial(_distance, ours), default=None)
            if best is not None:
                used.add(best)
            findings.append(_finding(item.id, ours, best))
        touching = {span for spans in near for span in spans}
        for span in dict.fromkeys(item.system):
            if span not in used:
                kind = Kind.FRAGMENT if span in touching else Kind.SPURIOUS
                findings.append(Finding(item.id, kind, None, span))
    return Analysis(tuple(findings), pairing.failures)


def confusion(gold: Mapping[str, Document], system: Mapping[str, Document]) -> Matrix:
    """Table 12, the strict level: spans of exactly the same extent meet; all others are missing, or spurious."""
    met: list[tuple[Span | None, Span | None]] = []
    for item in pair(gold, system).pairs:
        there: dict[tuple[int, int], list[Span]] = {}
        for span in dict.fromkeys(item.system):
            there.setdefault((span.start, span.end), []).append(span)
        for ours in item.gold:
            same = there.get((ours.start, ours.end), [])
            best = min(same, key=lambda span: span.label is not ours.label, default=None)
            if best is not None:
                same.remove(best)
            met.append((ours, best))
        met += [(None, span) for rest in there.values() for span in rest]
    return _matrix(met)


def _near(gold: Sequence[Span], system: Iterable[Span]) -> list[list[Span]]:
    """For each gold span (disjoint, in order) the system spans that overlap it."""
    starts, ends = [span.start for span in gold], [span.end for span in gold]
    near: list[list[Span]] = [[] for _ in gold]
    for span in system:
        for at in range(bisect_right(ends, span.start), bisect_left(starts, span.end)):
            near[at].append(span)
    return near


def _distance(gold: Span, system: Span) -> tuple[bool, bool, int, int]:
    """What comes nearest: the same extent, then the same label, then the largest overlap, then the first."""
    same_extent = (gold.start, gold.end) == (system.start, system.end)
    shared = min(gold.end, system.end) - max(gold.start, system.start)
    return not same_extent, gold.label is not system.label, -shared, system.start


def _finding(name: str, gold: Span, system: Span | None) -> Finding:
    if system is None:
        return Finding(name, Kind.MISSING, gold, None)
    same_label = gold.label is system.label
    if (gold.start, gold.end) == (system.start, system.end):
        return Finding(name, Kind.CORRECT if same_label else Kind.TYPE, gold, system)
    if gold.covers(system):
        extent = Extent.SHORT
    elif system.covers(gold):
        extent = Extent.LONG
    else:
        extent = Extent.SHORT_AND_LONG
    return Finding(name, Kind.EXTENT if same_label else Kind.BOTH, gold, system, extent)


def _label(finding: Finding) -> Label:
    span = finding.gold or finding.system
    assert span is not None, "a finding has one span at least"
    return span.label


def _matrix(met: Iterable[tuple[Span | None, Span | None]]) -> Matrix:
    cells = Counter((gold.label if gold else None, system.label if system else None) for gold, system in met)
    present = {label for cell in cells for label in cell}
    return Matrix(tuple(label for label in Label if label in present), dict(cells))
