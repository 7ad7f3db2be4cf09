"""Offsets that are not code points: UTF-16 units (Java, JavaScript) and line ends that a format cannot hold."""

import re
from collections.abc import Mapping
from itertools import accumulate

from deident.document import Document, Span

_NEWLINE = re.compile("\r\n|\r|\n")


def units(text: str, *, newline: int = 1) -> list[int]:
    """The UTF-16 offset of each code point, and of the end; `newline` is what a line end counts."""
    widths = (2 if character > "\uffff" else newline if character == "\n" else 1 for character in text)
    return [0, *accumulate(widths)]


def points(text: str, *, newline: int = 1) -> Mapping[int, int]:
    """The code point at each UTF-16 offset. An offset inside a character is not in it."""
    return {unit: point for point, unit in enumerate(units(text, newline=newline))}


def with_line_feeds(doc: Document) -> Document:
    """The document with every line end a line feed and its spans moved along; a span is never narrowed by it."""
    if "\r" not in doc.text:
        return doc
    starts: list[int] = []
    ends: list[int] = [0]
    parts: list[str] = []
    position = size = 0
    for match in _NEWLINE.finditer(doc.text):
        plain = match.start() - position
        parts += [doc.text[position : match.start()], "\n"]
        starts += [*range(size, size + plain), *[size + plain] * len(match[0])]
        ends += [*range(size + 1, size + plain + 1), *[size + plain + 1] * len(match[0])]
        size += plain + 1
        position = match.end()
    rest = len(doc.text) - position
    starts += range(size, size + rest)
    ends += range(size + 1, size + rest + 1)
    spans = tuple(Span(starts[span.start], ends[span.end], span.label, span.source, span.score) for span in doc.spans)
    return Document(doc.id, "".join([*parts, doc.text[position:]]), spans, doc.patient, doc.meta)
