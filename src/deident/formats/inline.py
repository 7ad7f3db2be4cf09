"""Text with its spans written into it, `[[PATIENT:Ada Okoro]]`: the form in which gold is written by hand."""

import re

from deident.document import Document, Record, Span, first_overlap
from deident.errors import FormatError, SpanError
from deident.formats import Files, _shared, decode, encode

SUFFIXES = (".txt",)
# A tag's text runs to the first "]]"; it may cross lines (a name broken over two lines is one span).
_TAG = re.compile(r"\[\[([A-Z][A-Z-]*):((?:(?!\[\[|\]\]).)+)\]\]", re.DOTALL)


def read(files: Files, *, name: str) -> Record:
    return Record((parse(decode(files[".txt"]), name=name),))


def parse(marked: str, *, name: str) -> Document:
    parts: list[str] = []
    spans: list[Span] = []
    position = size = 0
    for match in _TAG.finditer(marked):
        before = marked[position : match.start()]
        _refuse_brackets(marked, position, before)
        parts += [before, match[2]]
        start = size + len(before)
        size = start + len(match[2])
        try:
            label = _shared.label_of(match[1], scheme="i2b2-2014")
        except FormatError as error:
            raise FormatError(error.reason, line=marked.count("\n", 0, match.start()) + 1) from None
        spans.append(Span(start, size, label))
        position = match.end()
    _refuse_brackets(marked, position, marked[position:])
    return Document(name, "".join([*parts, marked[position:]]), tuple(spans))


def _refuse_brackets(marked: str, position: int, plain: str) -> None:
    for brackets in ("[[", "]]"):
        at = plain.find(brackets)
        if at >= 0:
            raise FormatError("a '[[' or ']]' that is no tag", line=marked.count("\n", 0, position + at) + 1)


def render(doc: Document) -> str:
    """The marked text. The form can hold neither overlapping spans nor text with its own double brackets."""
    overlap = first_overlap(doc.spans)
    if overlap is not None:
        raise SpanError(f"spans at {overlap[0].start} and {overlap[1].start} overlap; inline text cannot hold both")
    parts: list[str] = []
    position = 0
    for span in sorted(doc.spans):
        parts += [doc.text[position : span.start], f"[[{span.label}:{doc.text[span.start : span.end]}]]"]
        position = span.end
    marked = "".join([*parts, doc.text[position:]])
    if "[[" in doc.text or "]]" in doc.text or parse(marked, name=doc.id).text != doc.text:
        raise SpanError("the text has double brackets of its own; inline text cannot hold them")
    return marked


def write(record: Record) -> dict[str, bytes]:
    doc = _shared.single(record, "inline text")
    return {".txt": encode(_shared.with_mark(render(doc)))}
