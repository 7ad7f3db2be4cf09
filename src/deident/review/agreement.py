"""How well two readers agree: on spans alone, on spans and labels, on overlap; for each note and all together.

F1 of one against the other, which is symmetric: 2m / (a + b). Kappa needs a count of what neither marked, which
texts do not have (Hripcsak & Rothschild 2005).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from deident.document import Span
from deident.labels import Label
from deident.review.marks import Mark, State


@dataclass(frozen=True, slots=True)
class Pair:
    """What two readers marked in one note."""

    id: str
    first: tuple[Span, ...]
    second: tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Count:
    """Spans of the first, of the second, and how many of each agree with the other."""

    first: int = 0
    second: int = 0
    agreed_first: int = 0
    agreed_second: int = 0

    def __add__(self, other: "Count") -> "Count":
        return Count(
            self.first + other.first,
            self.second + other.second,
            self.agreed_first + other.agreed_first,
            self.agreed_second + other.agreed_second,
        )

    @property
    def f(self) -> float | None:
        """None where neither marked anything: they agree, but on nothing that could be counted."""
        whole = self.first + self.second
        return (self.agreed_first + self.agreed_second) / whole if whole else None


KINDS = ("span", "label", "overlap")


def count(pair: Pair) -> dict[str, Count]:
    """span: the same extent; label: the same extent and label; overlap: any character in common, whatever label."""
    extents = [{(span.start, span.end) for span in side} for side in (pair.first, pair.second)]
    labelled = [{(span.start, span.end, span.label) for span in side} for side in (pair.first, pair.second)]
    touching = [
        sum(any(span.overlaps(other) for other in others) for span in side)
        for side, others in ((pair.first, pair.second), (pair.second, pair.first))
    ]
    sizes = (len(pair.first), len(pair.second))
    same, alike = len(extents[0] & extents[1]), len(labelled[0] & labelled[1])
    return {
        "span": Count(*sizes, same, same),
        "label": Count(*sizes, alike, alike),
        "overlap": Count(*sizes, *touching),
    }


def agreement(pairs: Iterable[Pair]) -> dict[str, Any]:
    """For each note, all together, and by label; and how many spans both may have missed.

    Two who read blindly and independently miss about (only first × only second) / both spans together (Lincoln and
    Petersen; with Chapman's correction). Readers miss the same hard ones, so it is a lower bound.
    """
    pairs = list(pairs)
    rows: list[dict[str, Any]] = []
    total = {kind: Count() for kind in KINDS}
    both = only_first = only_second = 0
    for pair in pairs:
        counts = count(pair)
        rows.append({"id": pair.id} | _figures(counts))
        total = {kind: total[kind] + counts[kind] for kind in KINDS}
        overlap = counts["overlap"]
        both += overlap.agreed_first
        only_first += overlap.first - overlap.agreed_first
        only_second += overlap.second - overlap.agreed_second
    return {
        "documents": rows,
        "all": _figures(total),
        "labels": {label.value: row for label in Label if (row := _of_label(pairs, label))},
        "both": both,
        "only_first": only_first,
        "only_second": only_second,
        "missed_by_both": _chapman(both, only_first, only_second),
    }


def _figures(counts: dict[str, Count]) -> dict[str, Any]:
    return {
        "first": counts["span"].first,
        "second": counts["span"].second,
        **{kind: counts[kind].f for kind in KINDS},
    }


def _of_label(pairs: Sequence[Pair], label: Label) -> dict[str, Any] | None:
    total = Count()
    for pair in pairs:
        own = [tuple(span for span in side if span.label is label) for side in (pair.first, pair.second)]
        total += count(Pair(pair.id, own[0], own[1]))["label"]
    return {"first": total.first, "second": total.second, "label": total.f} if total.first + total.second else None


def _chapman(both: int, only_first: int, only_second: int) -> float | None:
    if not both:
        return None
    first, second = both + only_first, both + only_second
    return max(0.0, (first + 1) * (second + 1) / (both + 1) - 1 - both - only_first - only_second)


def merged(first: Sequence[Span], second: Sequence[Span]) -> tuple[Mark, ...]:
    """Where an adjudicator begins: agreed spans are accepted, the others stand side by side to be judged.

    The readers are called A and B, and which is which is not said.
    """
    ours = {(span.start, span.end, span.label) for span in first}
    theirs = {(span.start, span.end, span.label) for span in second}
    rows = [(*key, "both", State.ACCEPTED) for key in ours & theirs]
    rows += [(*key, "A", State.UNJUDGED) for key in ours - theirs]
    rows += [(*key, "B", State.UNJUDGED) for key in theirs - ours]
    rows.sort(key=lambda row: (row[0], row[1], row[3]))
    return tuple(
        Mark(number, start, end, label, state, origin, f"reader {origin}" if origin != "both" else "both readers")
        for number, (start, end, label, origin, state) in enumerate(rows, 1)
    )
