"""Annotation of other people's texts without their sentences.

An entry names a report, the hash of its text, the edits that turn it into our note (offset, how many characters go,
what we put there) and the spans of the result. Only our insertions are stored; whoever has the carrier rebuilds the
note byte for byte, and whoever has another version of it is refused by the hash.
"""

import difflib
import hashlib
import re
from dataclasses import dataclass
from typing import Any

from deident import labels
from deident.document import Document, Span
from deident.errors import FormatError


@dataclass(frozen=True, slots=True)
class Edit:
    """At `offset` of the carrier, `deleted` characters give way to `inserted`."""

    offset: int
    deleted: int
    inserted: str


@dataclass(frozen=True, slots=True)
class Entry:
    id: str
    carrier_sha256: str
    edits: tuple[Edit, ...]
    spans: tuple[Span, ...]
    tokens: int  # of the result, so that statistics need no carrier

    @classmethod
    def from_json(cls, row: dict[str, Any]) -> "Entry":
        return cls(
            row["id"],
            row["carrier_sha256"],
            tuple(Edit(*edit) for edit in row["edits"]),
            tuple(Span(start, end, labels.parse(label, scheme="i2b2-2014")) for start, end, label in row["spans"]),
            row["tokens"],
        )

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "carrier_sha256": self.carrier_sha256,
            "edits": [[edit.offset, edit.deleted, edit.inserted] for edit in self.edits],
            "spans": [[span.start, span.end, span.label.value] for span in self.spans],
            "tokens": self.tokens,
        }


_PIECES = re.compile(r"\w+|\s+|[^\w\s]")


def derive(identifier: str, carrier: str, doc: Document, tokens: int) -> Entry:
    """The entry by which `carrier` becomes `doc`; what both have in common is found, so that only ours is kept."""
    before, after = _PIECES.findall(carrier), _PIECES.findall(doc.text)
    offsets = [0]
    for piece in before:
        offsets.append(offsets[-1] + len(piece))
    edits: list[Edit] = []
    for kind, i, j, k, m in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            edits.append(Edit(offsets[i], offsets[j] - offsets[i], "".join(after[k:m])))
    entry = Entry(identifier, digest(carrier), tuple(edits), tuple(sorted(doc.spans)), tokens)
    if apply(entry, carrier).text != doc.text:
        raise FormatError(f"the edits of {identifier} do not rebuild its note")
    return entry


def apply(entry: Entry, carrier: str) -> Document:
    """The note of an entry. A carrier of another hash is refused: offsets would fall elsewhere."""
    if digest(carrier) != entry.carrier_sha256:
        raise FormatError(f"the carrier's report {entry.id} is not the one that was annotated: its hash differs")
    parts: list[str] = []
    position = 0
    for edit in entry.edits:
        parts += [carrier[position : edit.offset], edit.inserted]
        position = edit.offset + edit.deleted
    return Document(entry.id, "".join([*parts, carrier[position:]]), entry.spans)


def digest(text: str) -> str:
    """SHA-256 of a text, which names the version of it that was annotated."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
