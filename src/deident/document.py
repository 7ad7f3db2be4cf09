"""The values that everything passes around: Span, Token, Patient, Place, Document, Record. Knows nobody above it.

Offsets are half-open and count code points. A span holds no text, so it cannot leak in a log or disagree with its
document; the reprs of Document, Token and Patient hide theirs.
"""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from deident.errors import SpanError
from deident.labels import Label


def _empty() -> Mapping[Any, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """`text[start:end]` is a `label`. Who found it, and how surely, stay out of equality."""

    start: int
    end: int
    label: Label
    source: str = field(default="", compare=False)
    score: float = field(default=1.0, compare=False)

    def __post_init__(self) -> None:
        if not 0 <= self.start < self.end:
            raise SpanError(f"a span must have 0 <= start < end, not {self.start}..{self.end}")

    def overlaps(self, other: "Span") -> bool:
        """Whether the two share a character."""
        return self.start < other.end and other.start < self.end

    def covers(self, other: "Span") -> bool:
        """Whether every character of the other is in this one."""
        return self.start <= other.start and other.end <= self.end


@dataclass(frozen=True, slots=True)
class Token:
    """One token by its place; `tokens.Tokens` holds them as columns and makes these on demand."""

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Patient:
    """Whose note it is: an id that groups notes, and the identifiers known beforehand (HL7 PID, a roster …)."""

    id: str = ""
    known: tuple[tuple[Label, str], ...] = field(default=(), repr=False)


class Kind(StrEnum):
    """What a text of a structured record is, and so what may stand in its place."""

    PROSE = "prose"  # free text, in which detectors look
    TERM = "term"  # what a code of a public system means: what has no context is no name
    TEXT = "text"  # a name, a street, a telephone number: any text may stand there
    ID = "id"  # an identifier, which other places of the record, and other records, repeat
    URI = "uri"  # an address or a name of a system
    DATE = "date"  # of any precision
    INSTANT = "instant"  # a date that needs its time
    AGE = "age"  # years, as a number


@dataclass(frozen=True, slots=True)
class Place:
    """Where a text stands in a structured record (an HL7 message, a FHIR resource).

    A field has one span over all its text, known by its position. Prose may be gathered from several pieces of the
    record: `breaks` are the stretches of the text between them, which may be empty, and belong to none.
    """

    path: str
    kind: Kind
    breaks: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True, slots=True)
class Document:
    """One text with its spans. Gold, predicted and redacted documents are all of this type."""

    id: str
    text: str = field(repr=False)
    spans: tuple[Span, ...] = field(default=(), repr=False)
    patient: Patient | None = field(default=None, repr=False)
    meta: Mapping[str, Any] = field(default_factory=_empty, repr=False, hash=False)
    place: Place | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        size = len(self.text)
        for span in self.spans:
            if span.end > size:
                raise SpanError(f"span {span.start}..{span.end} is outside the text of {size} characters")

    def __reduce__(self) -> tuple[type["Document"], tuple[Any, ...]]:
        return Document, (self.id, self.text, self.spans, self.patient, dict(self.meta))  # a proxy cannot be pickled

    def with_spans(self, spans: Iterable[Span]) -> "Document":
        """The same text with these spans, in order, in place of those it had."""
        return replace(self, spans=tuple(sorted(spans)))


@dataclass(frozen=True, slots=True)
class Skeleton:
    """The frame of a structured record: what its format lets stand, and the places of the record's documents.

    Unlike other frames it holds nothing of the input that nobody has judged, so it outlives scrubbing. `paths` counts
    what became of the values of each path (retained, scrubbed, blocked).
    """

    format: str
    parts: tuple[Any, ...] = field(repr=False)
    paths: Mapping[tuple[str, str], int] = field(default_factory=_empty, repr=False, hash=False)
    documents: int = 0  # how many it has places for
    encoding: str = "utf-8"


@dataclass(frozen=True, slots=True)
class Record:
    """What one file or message holds, and the frame by which its format puts the documents back."""

    documents: tuple[Document, ...]
    frame: object = field(default=None, repr=False, compare=False)

    def with_documents(self, documents: Iterable[Document]) -> "Record":
        """The same record with these documents in place of those it had; their number and order stay."""
        return replace(self, documents=tuple(documents))


def first_overlap(spans: Sequence[Span]) -> tuple[Span, Span] | None:
    """The first two spans, in order of start, that overlap; None where all are disjoint."""
    ordered = sorted(spans)
    for left, right in pairwise(ordered):
        if right.start < left.end:
            return left, right
    return None


def gaps(spans: Iterable[Span], size: int) -> Iterator[tuple[int, int]]:
    """The stretches of `range(size)` that no span covers."""
    position = 0
    for span in sorted(spans):
        if span.start > position:
            yield position, span.start
        position = max(position, span.end)
    if position < size:
        yield position, size


def corpus_hash(documents: Iterable[Document]) -> str:
    """Names a set of documents: SHA-256 over their ids, texts and spans, whatever their order."""
    digest = hashlib.sha256()
    for doc in sorted(documents, key=lambda doc: doc.id):
        spans = [(span.start, span.end, span.label.value) for span in sorted(doc.spans)]
        digest.update(repr((doc.id, doc.text, spans)).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()


@dataclass(frozen=True, slots=True)
class Failure:
    """A document that yields no output, and why; the reason carries no text."""

    id: str
    reason: str
