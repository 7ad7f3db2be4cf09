"""The only place where text is rewritten.

`apply(doc, treatment)` gives a new document whose text outside the spans is that of the old one, character for
character, and whose spans lie on the replacements. What came with the document (patient, meta) stays behind: nobody
has looked at it.
"""

import dataclasses
import re
import secrets
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType

from deident.document import Document, Place, Span, first_overlap
from deident.errors import SpanError, UnknownNameError, UsageError
from deident.labels import Category, Label, to_scheme
from deident.lexicons import fold, word_key
from deident.surrogates import Draw, Surrogates, purpose_key, read_key

Treatment = Callable[[Document, Span], str]


def tag(doc: Document, span: Span) -> str:  # noqa: ARG001 (the face that all treatments have)
    """`[DOCTOR]`"""
    return f"[{span.label}]"


def mask(doc: Document, span: Span) -> str:
    """Letters and digits become asterisks; blanks and line breaks stay, so that fixed-width layouts stand."""
    return "".join(char if char.isspace() else "*" for char in doc.text[span.start : span.end])


_NULLS = MappingProxyType(
    {"PATIENT": 1, "DOCTOR": 2, "DATE": 3, "ID": 4, "LOCATION": 5, "HOSPITAL": 6, "AGE": 7, "PHONE": 8}
)  # the thesis' types in the order of its section 1.4
_WORD = re.compile(r"\S+")


def null(doc: Document, span: Span) -> str:
    """The thesis' symbol, word by word (equation 1.1): `NULL_2 NULL_2` for a doctor's two names. What none of its
    eight types holds (professions) is its plain `NULL`."""
    number = _NULLS.get(to_scheme(span.label, "i2b2-2006"))
    return _WORD.sub("NULL" if number is None else f"NULL_{number}", doc.text[span.start : span.end])


def numbers(key: bytes) -> Treatment:
    """`[PATIENT-1]`: one number for one person, place or number of a note, counted in the order of the note.

    A note that has a patient shares its numbers with his other notes: there they are drawn from the key, six digits,
    so that they agree in any order and process. Names are one where the one is part of the other ("Ada Lund", "Lund").
    """
    known: tuple[Document, Mapping[int, str]] | None = None

    def treat(doc: Document, span: Span) -> str:
        nonlocal known
        held = known
        if held is None or held[0] is not doc:
            held = known = (doc, _numbered(doc, key))  # one assignment, so that threads never see a mixture
        found = held[1].get(span.start)
        return found if found is not None else tag(doc, span)

    return treat


def _numbered(doc: Document, key: bytes) -> dict[int, str]:
    """The tags of a document's spans, by where they start."""
    patient = doc.patient.id if doc.patient is not None else ""
    draw = Draw(purpose_key(key, "numbers"), patient) if patient else None
    given: dict[Label, dict[str, int]] = {}
    names = _Names(doc)
    made: dict[int, str] = {}
    for span in sorted(doc.spans, key=_START):
        normal = names.of(span) if span.label.category is Category.NAME else _normal(doc.text[span.start : span.end])
        numbers = given.setdefault(span.label, {})
        number = numbers.get(normal)
        if number is None:
            number = len(numbers) + 1 if draw is None else 100_000 + draw.below(900_000, f"number {span.label}", normal)
            numbers[normal] = number
        made[span.start] = f"[{span.label}-{number}]"
    return made


def _normal(text: str) -> str:
    return word_key(text) or fold(text)


_NAME_WORD = re.compile(r"[^\W\d_]{2,}")
_NO_NAME = frozenset({"dr", "mr", "mrs", "ms", "miss", "md", "phd", "rn", "np", "jr", "sr", "ii", "iii", "prof", "rev"})


class _Names:
    """A document's names, and which of them is a part of which."""

    def __init__(self, doc: Document) -> None:
        self._text = doc.text
        whole: dict[frozenset[str], str] = {}
        known = [text for label, text in (doc.patient.known if doc.patient else ()) if label.category is Category.NAME]
        for text in (*known, *(doc.text[span.start : span.end] for span in doc.spans if _is_name(span))):
            words = self._words(text)
            whole.setdefault(words, "".join(sorted(words)))
        self._whole = whole

    @staticmethod
    def _words(text: str) -> frozenset[str]:
        return frozenset(map(_normal, _NAME_WORD.findall(text))) - _NO_NAME

    def of(self, span: Span) -> str:
        """The normal form of the only longer name that holds all words of this one, else its own."""
        text = self._text[span.start : span.end]
        words = self._words(text)
        if not words:
            return _normal(text)
        longer = {normal for held, normal in self._whole.items() if words < held}
        return longer.pop() if len(longer) == 1 else "".join(sorted(words))


def _is_name(span: Span) -> bool:
    return span.label.category is Category.NAME


def fitted(treat: Treatment) -> Treatment:
    """The treatment for fixed-width text: what it puts is as long as what stood there, line by line.

    What is too short is filled with blanks. A tag that is too long becomes a mask, a stand-in is cut.
    """

    def fit(doc: Document, span: Span) -> str:
        old = doc.text[span.start : span.end]
        new = treat(doc, span)
        if new == old:
            return old
        new = " ".join(new.split())
        places = [place for place, char in enumerate(old) if char not in _LINES]
        room = len(places)
        first = next((at for at, place in enumerate(places) if place > at), room)  # characters before a line ends
        if new == "90 or older" and first < len(new) and first > 1:
            new = "90"
        if new.startswith(_WHOLE) and len(new) > first:
            return mask(doc, span)
        if len(new) > room:
            new = new[:room].rstrip()
            if new.casefold() in old.casefold():
                return mask(doc, span)
        signs = iter(new.ljust(room))
        return "".join(char if char in _LINES else next(signs) for char in old)

    return fit


_WHOLE = ("[", "NULL", "on or before")  # that say nothing, or another thing, when they are cut
_LINES = frozenset("\r\n\t\v\f\x85\u2028\u2029")

TREATMENTS: Mapping[str, Treatment] = MappingProxyType({"tag": tag, "mask": mask, "null": null})
SURROGATES: Mapping[str, str] = MappingProxyType({"surrogate": "realistic", "syllables": "syllables"})  # and the method


def treatment(name: str, *, key_file: str = "", key: bytes | None = None) -> Treatment:
    """The treatment of a name; stand-ins are drawn from the key of the file, or else from the one given (processes of
    one run share it), or else from a fresh one that nobody will know again."""
    if name in SURROGATES or name == "number":
        drawn = read_key(Path(key_file)) if key_file else key if key is not None else secrets.token_bytes(32)
        return numbers(drawn) if name == "number" else Surrogates(drawn, SURROGATES[name]).treatment()
    if name not in TREATMENTS:
        raise UnknownNameError("replacement", name, (*TREATMENTS, *SURROGATES, "number"))
    if key_file:
        raise UsageError(f"a key is of use for {', '.join(SURROGATES)} and number alone, not for {name}")
    return TREATMENTS[name]


@dataclass(frozen=True, slots=True)
class Move:
    """Where a span lay, and where what was put in its place lies; nothing of either text."""

    start: int
    end: int
    new_start: int
    new_end: int
    label: Label


@dataclass(frozen=True, slots=True)
class Rewritten:
    """A new document, and what moved where."""

    document: Document
    moves: tuple[Move, ...]

    def carried(self, spans: Iterable[Span]) -> tuple[Span, ...]:
        """Spans of the old text (somebody's annotation) on the new one. One that shares a character with a replaced
        span is widened over what stands there; where nothing stands there and it had nothing else, it is gone."""
        found: list[Span] = []
        for span in spans:
            start, end = self._place(span.start, last=False), self._place(span.end, last=True)
            if start < end:
                found.append(dataclasses.replace(span, start=start, end=end))
        return tuple(found)

    def moved(self, breaks: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
        """The breaks of a structured text; an empty one inside a span goes behind what stands in its place."""
        return tuple((self._place(start, last=True), self._place(end, last=start == end)) for start, end in breaks)

    def _place(self, offset: int, *, last: bool) -> int:
        """Where an offset of the old text lies in the new one; inside a replacement, at its first or last end."""
        at = bisect_left(self.moves, offset, key=_END) if last else bisect_right(self.moves, offset, key=_END)
        if at < len(self.moves):
            move = self.moves[at]
            if move.start < offset:
                return move.new_end if last else move.new_start
        if at == 0:
            return offset
        before = self.moves[at - 1]
        return before.new_end + offset - before.end


def apply(doc: Document, treat: Treatment) -> Document:
    """The document rewritten; its spans must be disjoint."""
    return _put(doc, treat) if doc.place is None else rewritten(doc, treat).document


def rewritten(doc: Document, treat: Treatment) -> Rewritten:
    """The document rewritten, and where each span went."""
    breaks = doc.place.breaks if doc.place is not None else ()
    doc = doc.with_spans(_cut(doc.spans, breaks)) if breaks else doc
    lengths: list[int] = []

    def noted(doc: Document, span: Span) -> str:
        new = treat(doc, span)
        lengths.append(len(new))
        return new

    made = _put(doc, noted)
    moves: list[Move] = []
    shift = 0
    for span, length in zip(sorted(doc.spans, key=_START), lengths, strict=True):
        start = span.start + shift
        moves.append(Move(span.start, span.end, start, start + length, span.label))
        shift += length - (span.end - span.start)
    new = Rewritten(made, tuple(moves))
    if doc.place is None:
        return new
    place = Place(doc.place.path, doc.place.kind, new.moved(breaks))
    return Rewritten(dataclasses.replace(new.document, place=place), new.moves)


def _put(doc: Document, treat: Treatment) -> Document:
    overlap = first_overlap(doc.spans)
    if overlap is not None:
        raise SpanError(f"spans at {overlap[0].start} and {overlap[1].start} overlap; resolve them first")
    text = doc.text
    parts: list[str] = []
    spans: list[Span] = []
    position = size = 0
    for span in sorted(doc.spans, key=_START):
        start, end = span.start, span.end
        new = treat(doc, span)
        parts += (text[position:start], new)
        size += start - position
        if new:
            spans.append(Span(size, size + len(new), span.label, span.source, span.score))
        size += len(new)
        position = end
    parts.append(text[position:])
    return Document(doc.id, "".join(parts), tuple(spans))


def _cut(spans: tuple[Span, ...], breaks: tuple[tuple[int, int], ...]) -> Iterator[Span]:
    """The spans without what stands between two pieces of a structured text."""
    between = [pair for pair in breaks if pair[0] < pair[1]]
    ends = [end for _, end in between]
    for span in spans:
        position = span.start
        for start, end in between[bisect_right(ends, span.start) :]:
            if start >= span.end:
                break
            if start > position:
                yield dataclasses.replace(span, start=position, end=start)
            position = end
        if position < span.end:
            yield dataclasses.replace(span, start=position)


_START = attrgetter("start")
_END = attrgetter("end")
