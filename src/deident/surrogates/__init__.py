"""Realistic stand-ins for identifiers, drawn from a key: the same for a patient everywhere, with no shared table.

    surrogates = Surrogates(key)
    surrogates.replacement("KOWALCZYK, T.", Label.PATIENT, "patient 17")      # 'MARCHENKO, B.'
    replace.apply(doc, surrogates.treatment())                               # links mentions within the document

A module of this room is a family of labels. It has LABELS, `notice(mentions)`, which gathers what the document's
mentions tell of each other, and `surrogate(mention, draw, context, options)`. `syllables` is another way for all.
No answer is the identifier itself, but for what tells nothing: an age under 90, a weekday, a season.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, lru_cache
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Protocol, cast

from deident import plugins
from deident.document import Document, Span
from deident.errors import UnknownNameError
from deident.labels import Label
from deident.surrogates import _draws, _shapes
from deident.surrogates._draws import Draw, make_key, purpose_key, read_key
from deident.surrogates._mentions import Mention, Options

METHODS = ("realistic", "syllables")
_MAY_STAY = (Label.AGE, Label.DATE)  # of which some tell nothing
_BEFORE = 24  # characters before a mention that its family sees
_LOOK_BACK = frozenset({Label.PATIENT, Label.DOCTOR, Label.PROFESSION, Label.DATE})  # whose stand-ins depend on them


Notice = Callable[[tuple[Mention, ...]], Any]


class Family(Protocol):
    """What a module of this room has."""

    LABELS: frozenset[Label]

    def notice(self, mentions: tuple[Mention, ...]) -> Any: ...
    def surrogate(self, mention: Mention, draw: Draw, context: Any, options: Options) -> str: ...


@cache
def families(method: str) -> Mapping[Label, Family]:
    """The family that answers for each label."""
    if method not in METHODS:
        raise UnknownNameError("surrogate method", method, METHODS)
    if method == "syllables":
        return MappingProxyType(dict.fromkeys(Label, cast(Family, plugins.load("surrogates", "syllables"))))
    found: dict[Label, Family] = {}
    for name in plugins.names("surrogates"):
        family = cast(Family, plugins.load("surrogates", name))
        found |= dict.fromkeys(family.LABELS, family)
    return MappingProxyType(found)


@lru_cache(maxsize=64)
def _draw(key: bytes, patient: str) -> Draw:
    return Draw(key, patient)


@dataclass(frozen=True, slots=True)
class Context:
    """What each family noticed in a document's mentions."""

    seen: Mapping[Notice, Any] = field(default_factory=dict[Notice, Any], repr=False)


@dataclass(frozen=True, slots=True)
class Surrogates:
    """The stand-ins under one master key (16 bytes or more; `project` makes keys that cannot be linked).

    offsets: date shifts in days, by patient, in place of the keyed ones. fixed: replacements decided by hand, by text
    (case ignored). coreference=False draws every mention of a name, place or institution anew (thesis, 5.2.1).
    """

    key: bytes = field(repr=False)
    method: str = "realistic"
    project: str = ""
    options: Options = field(default_factory=Options)
    offsets: Mapping[str, int] = field(default_factory=dict[str, int], repr=False)
    fixed: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    coreference: bool = True
    _secret: bytes = field(init=False, repr=False, compare=False)
    _fixed: Mapping[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_secret", _draws.surrogate_key(self.key, self.project))
        object.__setattr__(self, "_fixed", {text.casefold(): new for text, new in self.fixed.items()})
        families(self.method)
        for days in self.offsets.values():
            Options(days=days)

    def context(self, doc: Document) -> Context:
        """What the document's spans, and what is known of its patient beforehand, tell of each other."""
        return self._context(doc, _mentions(doc))

    def _context(self, doc: Document, mentions: Mapping[int, Mention]) -> Context:
        known = (Mention(text, label) for label, text in (doc.patient.known if doc.patient else ()))
        return self.context_of((*known, *mentions.values()))

    def context_of(self, mentions: Iterable[Mention]) -> Context:
        mentions = tuple(mentions)
        by_label = families(self.method)
        notices = {by_label[mention.label].notice for mention in mentions}  # families may share one
        return Context({notice: notice(mentions) for notice in notices})

    def replacement(
        self, text: str, label: Label, patient: str, *, before: str = "", context: Context | None = None
    ) -> str:
        """The stand-in of one mention; `before` is what stands before it, `context` what its document tells."""
        return self._replace(Mention(text, label, before), patient, patient, context)

    def _replace(self, mention: Mention, patient: str, drawn_for: str, context: Context | None) -> str:
        chosen = self._fixed.get(mention.text.casefold()) if self._fixed else None
        if chosen is not None:
            return chosen
        if not any(map(str.isalnum, mention.text)):
            return f"[{mention.label}]"
        family = families(self.method)[mention.label]
        seen = context.seen if context is not None else {}
        known = seen[family.notice] if family.notice in seen else family.notice((mention,))
        options = self.options
        if patient in self.offsets:
            options = options.with_days(self.offsets[patient])
        draw = _draw(self._secret, drawn_for)
        new = family.surrogate(mention, draw, known, options)
        if new == mention.text and mention.label not in _MAY_STAY:
            return _shapes.scrambled(new, draw, "whole")  # signs that no family reads: "②"
        return new

    def shift_days(self, patient: str) -> int:
        """By how many days this patient's dates move."""
        if patient in self.offsets:
            return self.offsets[patient]
        if self.options.days is not None:
            return self.options.days
        return cast(Any, families("realistic")[Label.DATE]).shift_days(_draw(self._secret, patient))

    def treatment(self) -> Callable[[Document, Span], str]:
        """For `replace.apply`. The patient is the document's, or else the document itself is one."""
        last: tuple[Document, Context, Mapping[int, Mention], dict[tuple[str, Label, str], str]] | None = None

        def treat(doc: Document, span: Span) -> str:
            nonlocal last
            held = last
            if held is None or held[0] is not doc:
                mentions = _mentions(doc)
                held = (doc, self._context(doc, mentions), mentions, {})
                last = held  # one assignment, so that threads see one document's or another's, and never a mixture
            _, context, mentions, made = held
            mention = mentions.get(span.start)
            if mention is None or mention.label is not span.label or len(mention.text) != span.end - span.start:
                mention = Mention(doc.text[span.start : span.end], span.label)  # no span of the document's own
            patient = doc.patient.id if doc.patient and doc.patient.id else doc.id
            if not self.coreference and _coreferent(span.label):
                return self._replace(mention, patient, f"{patient}\0{doc.id}\0{span.start}", context)
            before = _last_word(mention.before) if span.label in _LOOK_BACK else ""  # nobody looks further back
            same = (mention.text, span.label, before)
            new = made.get(same)
            if new is None:
                new = made[same] = self._replace(mention, patient, patient, context)
            return new

        return treat


def _last_word(before: str) -> str:
    words = before.rsplit(None, 1)
    return words[-1] if words else ""


def _coreferent(label: Label) -> bool:
    """Names, professions and places; numbers and dates keep their stand-ins in any case."""
    return label.category in ("NAME", "PROFESSION", "LOCATION")


_by_start = attrgetter("start")


def _mentions(doc: Document) -> dict[int, Mention]:
    """The document's mentions by where they start."""
    found: dict[int, Mention] = {}
    position = 0
    text = doc.text
    for span in sorted(doc.spans, key=_by_start):
        start, end = span.start, span.end
        found[start] = Mention(text[start:end], span.label, text[max(position, start - _BEFORE) : start])
        position = end
    return found


def treatment(
    key: bytes, *, method: str = "realistic", project: str = "", options: Options | None = None
) -> Callable[[Document, Span], str]:
    """The treatment of `Surrogates(key, …)`, for callers who need nothing else."""
    return Surrogates(key, method, project, options or Options()).treatment()


def shift_days(key: bytes, patient: str, *, project: str = "") -> int:
    """By how many days the dates of a patient move under a key."""
    return Surrogates(key, project=project).shift_days(patient)


__all__ = [
    "METHODS",
    "Context",
    "Draw",
    "Family",
    "Mention",
    "Options",
    "Surrogates",
    "families",
    "make_key",
    "purpose_key",
    "read_key",
    "shift_days",
    "treatment",
]
