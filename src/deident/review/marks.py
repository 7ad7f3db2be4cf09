"""What a reader sees and does in one note: marks, and actions that make new marks of old ones.

A mark is a span that somebody proposed and a reader judges. Marks that are accepted never overlap each other: to
accept, add or stretch one over others rejects those, in the same action, so that one undo brings all back. Rejected
marks stay to be seen. An action that cannot be is a `MarkError`, without text.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Any

from deident.document import Span
from deident.errors import DeidentError
from deident.labels import Label


class MarkError(DeidentError):
    """An action that cannot be done on these marks."""


class State(StrEnum):
    UNJUDGED = "unjudged"
    ACCEPTED = "accepted"
    REJECTED = "rejected"


@dataclass(frozen=True, slots=True)
class Mark:
    """`number` names it within its reading. origin: machine, reader, or (when adjudicating) both, A, B.

    finds: who else found something there: detector, label, extent, score, and why.
    """

    number: int
    start: int
    end: int
    label: Label
    state: State = State.UNJUDGED
    origin: str = "machine"
    source: str = ""
    score: float = 1.0
    finds: tuple[Mapping[str, Any], ...] = field(default=(), repr=False)

    def overlaps(self, start: int, end: int) -> bool:
        return self.start < end and start < self.end

    def to_json(self) -> dict[str, Any]:
        return asdict(self) | {"label": self.label.value, "state": self.state.value, "finds": list(self.finds)}


def from_json(row: Mapping[str, Any]) -> Mark:
    return Mark(
        row["number"], row["start"], row["end"], Label(row["label"]), State(row["state"]), row["origin"],
        row["source"], row["score"], tuple(row["finds"]),
    )  # fmt: skip


Marks = tuple[Mark, ...]


@dataclass(frozen=True, slots=True)
class Action:
    """What a reader does. `everywhere` does it to every same string of the note but those at `besides`."""

    kind: str
    number: int | None = None
    start: int | None = None
    end: int | None = None
    label: Label | None = None
    everywhere: bool = False
    besides: frozenset[int] = frozenset()


KINDS = ("accept", "reject", "relabel", "resize", "add", "reset")


def act(marks: Marks, action: Action, text: str) -> Marks:
    """The marks after an action; those it leaves as they are are the same objects."""
    match action.kind:
        case "add":
            return _add(marks, action, text)
        case "accept" | "reject" | "relabel" | "reset":
            mark = _named(marks, action.number)
            return _judge(marks, mark, action, text)
        case "resize":
            mark = _named(marks, action.number)
            start, end = _extent(action, text)
            return _accept(marks, replace(mark, start=start, end=end, state=State.ACCEPTED))
        case _:
            raise MarkError(f"no such action; there are: {', '.join(KINDS)}")


def same(text: str, start: int, end: int) -> list[int]:
    """Where the same string stands in the text, as a whole word where it is one: the starts, this one's included.

    >>> same("Lund, Lund and Lundgren", 0, 4)
    [0, 6]
    """
    wanted = text[start:end]
    before = r"(?<![^\W_])" if wanted[0].isalnum() else ""
    after = r"(?![^\W_])" if wanted[-1].isalnum() else ""
    return [found.start() for found in re.finditer(before + re.escape(wanted) + after, text)]


def unjudged(marks: Iterable[Mark]) -> int:
    return sum(mark.state is State.UNJUDGED for mark in marks)


def spans(marks: Iterable[Mark], *, doubtful: bool = False) -> tuple[Span, ...]:
    """What was accepted; with `doubtful`, also what nobody has judged yet, where it overlaps nothing accepted."""
    accepted = [mark for mark in marks if mark.state is State.ACCEPTED]
    if doubtful:
        for mark in marks:
            free = not any(mark.overlaps(other.start, other.end) for other in accepted)
            if mark.state is State.UNJUDGED and free:
                accepted.append(mark)
    return tuple(sorted(Span(m.start, m.end, m.label, m.source or m.origin, m.score) for m in accepted))


def changed(before: Marks, after: Marks) -> tuple[Marks, Marks]:
    """The marks that an action took away or changed, as they were, and those it made, as they are."""
    old, new = {mark.number: mark for mark in before}, {mark.number: mark for mark in after}
    gone = tuple(mark for number, mark in old.items() if new.get(number) != mark)
    come = tuple(mark for number, mark in new.items() if old.get(number) != mark)
    return gone, come


def undone(marks: Marks, gone: Marks, come: Marks) -> Marks:
    """The marks before an action that `changed` told of."""
    made = {mark.number for mark in come}
    return _sorted((*(mark for mark in marks if mark.number not in made), *gone))


def _named(marks: Marks, number: int | None) -> Mark:
    for mark in marks:
        if mark.number == number:
            return mark
    raise MarkError("there is no such mark")


def _extent(action: Action, text: str) -> tuple[int, int]:
    start, end = action.start, action.end
    if start is None or end is None or not 0 <= start < end <= len(text):
        raise MarkError(f"an extent must lie within the text of {len(text)} characters")
    if not text[start:end].strip():
        raise MarkError("an extent must hold more than blanks")
    return start, end


def _sorted(marks: Iterable[Mark]) -> Marks:
    return tuple(sorted(marks, key=lambda mark: (mark.start, mark.end, mark.number)))


def _put(marks: Marks, mark: Mark) -> Marks:
    return _sorted((*(other for other in marks if other.number != mark.number), mark))


def _accept(marks: Marks, mark: Mark) -> Marks:
    """The mark in its place, accepted; what it overlaps is rejected, or, where a reader had added it, gone."""
    kept: list[Mark] = []
    for other in marks:
        if other.number == mark.number or not mark.overlaps(other.start, other.end):
            kept.append(other)
        elif other.origin != "reader":
            kept.append(other if other.state is State.REJECTED else replace(other, state=State.REJECTED))
    return _put(tuple(kept), mark)


def _reject(marks: Marks, mark: Mark) -> Marks:
    if mark.origin == "reader":
        return tuple(other for other in marks if other.number != mark.number)
    return _put(marks, replace(mark, state=State.REJECTED))


def _judge(marks: Marks, mark: Mark, action: Action, text: str) -> Marks:
    if action.kind == "relabel" and action.label is None:
        raise MarkError("a label is needed")
    chosen = [mark]
    if action.everywhere:
        places = set(same(text, mark.start, mark.end)) - action.besides
        size = mark.end - mark.start
        chosen = [m for m in marks if m.number == mark.number or (m.start in places and m.end - m.start == size)]
    for each in chosen:
        if action.kind == "reject":
            marks = _reject(marks, each)
        elif action.kind == "reset":
            marks = _put(marks, replace(each, state=State.UNJUDGED))
        elif action.kind == "relabel":
            marks = _accept(marks, replace(each, label=action.label or each.label, state=State.ACCEPTED))
        else:
            marks = _accept(marks, replace(each, state=State.ACCEPTED))
    return marks


def _add(marks: Marks, action: Action, text: str) -> Marks:
    start, end = _extent(action, text)
    if action.label is None:
        raise MarkError("a label is needed")
    size = end - start
    starts: Sequence[int] = [start]
    if action.everywhere:
        # what was asked for first, so that it stands whatever else overlaps it
        starts = [start, *(at for at in same(text, start, end) if at != start and at not in action.besides)]
    taken: list[tuple[int, int]] = []
    for at in starts:
        if any(low < at + size and at < high for low, high in taken):
            continue
        taken.append((at, at + size))
        present = next((m for m in marks if (m.start, m.end) == (at, at + size)), None)
        if present is not None:  # the machine proposed this very extent: it is judged, not doubled
            marks = _accept(marks, replace(present, label=action.label, state=State.ACCEPTED))
        else:
            number = 1 + max((mark.number for mark in marks), default=0)
            marks = _accept(marks, Mark(number, at, at + size, action.label, State.ACCEPTED, "reader", "reader"))
    return marks
