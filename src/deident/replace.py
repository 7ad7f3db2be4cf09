"""The only place where text is rewritten.

`apply(doc, treatment)` gives a new document whose text outside the spans is that of the old one, character for
character, and whose spans lie on the replacements. What came with the document (patient, meta) stays behind: nobody
has looked at it.
"""

import secrets
from collections.abc import Callable, Mapping
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType

from deident.document import Document, Span, first_overlap
from deident.errors import SpanError, UnknownNameError, UsageError
from deident.surrogates import Surrogates, read_key

Treatment = Callable[[Document, Span], str]


def tag(doc: Document, span: Span) -> str:  # noqa: ARG001 (the face that all treatments have)
    """`[DOCTOR]`"""
    return f"[{span.label}]"


def mask(doc: Document, span: Span) -> str:
    """Letters and digits become asterisks; blanks and line breaks stay, so that fixed-width layouts stand."""
    return "".join(char if char.isspace() else "*" for char in doc.text[span.start : span.end])


TREATMENTS: Mapping[str, Treatment] = MappingProxyType({"tag": tag, "mask": mask})
SURROGATES: Mapping[str, str] = MappingProxyType({"surrogate": "realistic", "syllables": "syllables"})  # and the method


def treatment(name: str, *, key_file: str = "", key: bytes | None = None) -> Treatment:
    """The treatment of a name; stand-ins are drawn from the key of the file, or else from the one given (processes of
    one run share it), or else from a fresh one that nobody will know again."""
    if name in SURROGATES:
        drawn = read_key(Path(key_file)) if key_file else key if key is not None else secrets.token_bytes(32)
        return Surrogates(drawn, SURROGATES[name]).treatment()
    if key_file:
        raise UsageError(f"a key is of use for {' and '.join(SURROGATES)} alone, not for {name}")
    if name not in TREATMENTS:
        raise UnknownNameError("replacement", name, (*TREATMENTS, *SURROGATES))
    return TREATMENTS[name]


def apply(doc: Document, treat: Treatment) -> Document:
    """The document rewritten; its spans must be disjoint."""
    overlap = first_overlap(doc.spans)
    if overlap is not None:
        raise SpanError(f"spans at {overlap[0].start} and {overlap[1].start} overlap; resolve them first")
    parts: list[str] = []
    spans: list[Span] = []
    position = size = 0
    for span in sorted(doc.spans, key=_START):
        new = treat(doc, span)
        kept = doc.text[position : span.start]
        parts += [kept, new]
        size += len(kept)
        if new:
            spans.append(Span(size, size + len(new), span.label, span.source, span.score))
        size += len(new)
        position = span.end
    return Document(doc.id, "".join([*parts, doc.text[position:]]), tuple(spans))


_START = attrgetter("start")
