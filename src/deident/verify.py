"""Does the output still hold anybody whom we know? Exact and near, by the machinery of `detect/known.py`.

The rows of a roster for a note and its patient are looked for part by part (a surname alone, a nickname, a slip of the
pen); all other rows, whose people have no business in the note, as those of a site are (a name in full, or a part
beside a title). A hit names the note, the offsets, the label and the way it was found, and nothing of the text.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from deident.detect.known import detector
from deident.document import Document, Span
from deident.labels import Label
from deident.plain import plain
from deident.policy import Action, Policy
from deident.replace import Treatment
from deident.resolve import resolve


@dataclass(frozen=True, slots=True)
class Hit:
    """A known identifier in a note. One in the note's own name has no offsets."""

    id: str
    start: int
    end: int
    label: Label
    how: str  # exact, part, nickname, typo, number … (`Known.why`)

    @property
    def in_name(self) -> bool:
        return self.end == 0


class Verifier:
    """Looks through notes for the people of a roster. policy: what it lets stay is no hit."""

    def __init__(self, roster: Path, *, policy: Policy | None = None, providers: Path | None = None) -> None:
        site = str(providers) if providers is not None else ""
        self._own = detector(roster=str(roster))
        self._told = detector()  # for notes that have no row: what their format tells of their patient
        self._all = detector(roster=str(roster), providers=site, whole_roster=True)
        self._policy = policy
        self._treat: Treatment | None = None
        if policy is not None and Action.GENERALISE in policy.actions.values():
            self._treat = policy.shown_as(Action.TAG).treatment(key=bytes(32) if policy.keyed else None)

    def hits(self, doc: Document) -> Iterator[Hit]:
        """What is found in one note: in its name, then in its text, in order."""
        named = self._found(Document(doc.id, _words(doc.id), patient=doc.patient))
        if named:
            yield Hit(doc.id, 0, 0, named[0].label, _how(named[0]))
        for span in self._found(doc):
            if not self._may_stay(doc, span):
                yield Hit(doc.id, span.start, span.end, span.label, _how(span))

    def _found(self, doc: Document) -> tuple[Span, ...]:
        doc = replace(doc, text=_TAG.sub(lambda tag: "*" * len(tag[0]), doc.text), spans=())
        own = self._own if self._own.roster.of(doc) else self._told
        found = [*own.detect(doc), *self._all.detect(doc)]
        read = plain(doc.text)
        if read is not None:
            shown = replace(doc, text=read.text)
            found += map(read.in_source, (*own.detect(shown), *self._all.detect(shown)))
        return resolve(found, policy="surest")

    def _may_stay(self, doc: Document, span: Span) -> bool:
        if self._policy is None:
            return False
        action = self._policy.action(span.label)
        if action is Action.KEEP:
            return True
        if action is not Action.GENERALISE or self._treat is None:
            return False
        return self._treat(doc, span) == doc.text[span.start : span.end]


def verify(
    documents: Iterable[Document], roster: Path, *, policy: Policy | None = None, providers: Path | None = None
) -> Iterator[Hit]:
    """The hits in all documents."""
    verifier = Verifier(roster, policy=policy, providers=providers)
    for doc in documents:
        yield from verifier.hits(doc)


def _how(span: Span) -> str:
    return span.source.partition(":")[2]


_TAG = re.compile(rf"\[(?:{'|'.join(Label)})(?:-\d+)?\]|\bNULL(?:_\d)?\b")  # "[STREET]" is nobody's street
_PARTED = re.compile(r"[_\-./\\+]+|(?<=[a-z])(?=[A-Z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_])")


def _words(name: str) -> str:
    """A file's name as a text: "OKONKWO_ADA-1942" → "OKONKWO ADA 1942"."""
    return _PARTED.sub(" ", name)
