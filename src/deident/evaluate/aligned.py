"""Differently tokenised systems side by side, on the tokens of gold (NLM Scrubber, "Evaluation of differently
tokenized results").

Every system's output comes as its own tokens with its own tags. Its tags are moved to the tokens of gold: where a
token of the system is part of a gold token, holds it, or only overlaps it, its characters are cut up by gold's
tokens and each piece carries its tags; several tags of one token apply at once. Then every token of every system is
counted, and sensitivity, specificity and accuracy are comparable from one system to the next.

What a foreign tool gives as redacted text, with the identifiers already replaced, is out of scope: its tokens cannot
be placed in the original without guessing.
"""

import math
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from deident import labels
from deident.document import Document
from deident.errors import FormatError, SpanError, UsageError
from deident.evaluate.scores import tokens

# The row over all classes: a token with any tag.
ANY = "PHI"


@dataclass(frozen=True, slots=True)
class Tagged:
    """One token of gold or of a system: where it is, and its tags (none: not an identifier)."""

    start: int
    end: int
    tags: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise SpanError(f"a token must have 0 <= start < end, not {self.start}..{self.end}")


def of_document(
    doc: Document,
    *,
    scheme: str = "i2b2-2014",
    cut: Callable[[str], Iterable[tuple[int, int]]] = tokens,
) -> tuple[Tagged, ...]:
    """A document as tokens with the tags of the spans that touch them, in the names of a label scheme.

    `cut` is the tokenisation that gold adopts; by default the alphanumeric runs. A label for which the scheme has no
    name is no tag.
    """
    names = [(span, labels.to_scheme(span.label, scheme)) for span in doc.spans]
    marked = [Tagged(span.start, span.end, frozenset({name})) for span, name in names if name]
    places = tuple(Tagged(start, end) for start, end in cut(doc.text))
    return tuple(
        Tagged(token.start, token.end, tags) for token, tags in zip(places, align(places, marked), strict=True)
    )


def locate(text: str, output: Iterable[tuple[str, Collection[str]]]) -> tuple[Tagged, ...]:
    """Tokens that a system gives as strings, one after the other, with their places in the text.

    Nothing but white space may lie between them; a token that is not there is refused, by its number.
    """
    found: list[Tagged] = []
    position = 0
    for number, (token, tags) in enumerate(output, 1):
        while position < len(text) and text[position].isspace():
            position += 1
        if not token or not text.startswith(token, position):
            raise FormatError(f"token {number} is not what stands at offset {position} of the text")
        found.append(Tagged(position, position + len(token), frozenset(tags)))
        position += len(token)
    return tuple(found)


def align(gold: Sequence[Tagged], system: Iterable[Tagged]) -> list[frozenset[str]]:
    """For each gold token, all tags of all system tokens that share a character with it."""
    starts, ends = [token.start for token in gold], [token.end for token in gold]
    if any(end > start for end, start in zip(ends, starts[1:], strict=False)):
        raise SpanError("the gold tokens are not in order, or overlap")
    tags: list[set[str]] = [set() for _ in gold]
    for token in system:
        for at in range(bisect_right(ends, token.start), bisect_left(starts, token.end)):
            tags[at] |= token.tags
    return [frozenset(found) for found in tags]


@dataclass(frozen=True, slots=True)
class Cells:
    """The four cells of one class; a figure that is 0/0 is not a number."""

    tp: int = 0
    fn: int = 0
    fp: int = 0
    tn: int = 0

    def __add__(self, other: "Cells") -> "Cells":
        return Cells(self.tp + other.tp, self.fn + other.fn, self.fp + other.fp, self.tn + other.tn)

    @property
    def sensitivity(self) -> float:
        return _share(self.tp, self.fn)

    @property
    def specificity(self) -> float:
        return _share(self.tn, self.fp)

    @property
    def accuracy(self) -> float:
        return _share(self.tp + self.tn, self.fp + self.fn)

    def to_json(self) -> dict[str, Any]:
        """JSON has no "not a number": it is null."""
        figures = {
            "sensitivity": self.sensitivity,
            "specificity": self.specificity,
            "accuracy": self.accuracy,
        }
        return {
            "tp": self.tp,
            "fn": self.fn,
            "fp": self.fp,
            "tn": self.tn,
            **{name: None if math.isnan(value) else value for name, value in figures.items()},
        }


def _share(part: int, rest: int) -> float:
    return part / (part + rest) if part + rest else math.nan


@dataclass(frozen=True, slots=True)
class Comparison:
    """Class → system → cells, the classes of gold and of any system, `PHI` (any tag) last."""

    documents: int
    tokens: int
    missing: Mapping[str, tuple[str, ...]]  # system → ids it has no output for; counted as untagged
    extra: Mapping[str, tuple[str, ...]]  # system → ids that gold does not have; not counted
    classes: Mapping[str, Mapping[str, Cells]]
    per_document: Mapping[str, Mapping[str, Mapping[str, Cells]]]  # class → system → id, to resample by patient

    def to_json(self) -> dict[str, Any]:
        return {
            "documents": self.documents,
            "tokens": self.tokens,
            "missing": {name: list(ids) for name, ids in self.missing.items()},
            "extra": {name: list(ids) for name, ids in self.extra.items()},
            "classes": {
                name: {system: cells.to_json() for system, cells in row.items()} for name, row in self.classes.items()
            },
        }


def compare(gold: Mapping[str, Sequence[Tagged]], systems: Mapping[str, Mapping[str, Sequence[Tagged]]]) -> Comparison:
    """Any number of systems against gold; both are tokens by document id. Every gold token counts, tagged or not."""
    if not systems:
        raise UsageError("there is no system to compare with gold")
    outputs = (gold, *systems.values())
    named = {tag for output in outputs for row in output.values() for token in row for tag in token.tags}
    if ANY in named:
        raise UsageError(f"a tag is called '{ANY}', which here stands for any tag: rename it")
    classes = [*sorted(named), ANY]
    cells: dict[str, dict[str, dict[str, Cells]]] = {name: {system: {} for system in systems} for name in classes}
    for doc_id, row in sorted(gold.items()):
        for system, output in systems.items():
            found = align(row, output.get(doc_id, ()))
            for name, count in _cells(row, found).items():
                cells[name][system][doc_id] = count
            for name in classes:
                cells[name][system].setdefault(doc_id, Cells(tn=len(row)))
    return Comparison(
        documents=len(gold),
        tokens=sum(len(row) for row in gold.values()),
        missing={system: tuple(sorted(gold.keys() - output.keys())) for system, output in systems.items()},
        extra={system: tuple(sorted(output.keys() - gold.keys())) for system, output in systems.items()},
        classes={
            name: {system: sum(by_id.values(), Cells()) for system, by_id in row.items()} for name, row in cells.items()
        },
        per_document=cells,
    )


def _cells(row: Sequence[Tagged], found: Sequence[frozenset[str]]) -> dict[str, Cells]:
    """The cells of the classes that occur in one document."""
    counts: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0])
    for token, theirs in zip(row, found, strict=True):
        ours = token.tags | ({ANY} if token.tags else set())
        both = theirs | ({ANY} if theirs else set())
        for name in ours & both:
            counts[name][0] += 1
        for name in ours - both:
            counts[name][1] += 1
        for name in both - ours:
            counts[name][2] += 1
    return {name: Cells(tp, fn, fp, len(row) - tp - fn - fp) for name, (tp, fn, fp) in counts.items()}
