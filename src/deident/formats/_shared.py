"""What the readers and writers of formats share: the untouched original, labels, spans and text that must be sound.

A record that still holds the documents that were read is written as the very bytes that were read, with everything
in them that we do not model (comments, relations, other people's attributes). As soon as a document differs nothing
of the original is carried over, because what nobody modelled nobody has looked at: a fresh file is written.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from deident import labels
from deident.document import Document, Record, Span
from deident.errors import FormatError, UnknownNameError, UsageError
from deident.formats import Files
from deident.labels import Label

BYTE_ORDER_MARK = "\ufeff"


@dataclass(frozen=True, slots=True)
class Original:
    """What a format read: its files, the documents made of them, and what a fresh file takes from their shape.

    `format` is the module that read it, so that no format takes another's bytes for its own.
    """

    format: str
    files: Mapping[str, bytes]
    documents: tuple[Document, ...]
    shape: tuple[str, ...] = ()


def keep(form: str, files: Files, documents: Iterable[Document], *, shape: Iterable[str] = ()) -> Record:
    """The record of what was read, with the original in its frame."""
    docs = tuple(documents)
    return Record(docs, frame=Original(form, dict(files), docs, tuple(shape)))


def untouched(record: Record, form: str) -> dict[str, bytes] | None:
    """The files as they were read, if the record still holds the documents that were read; None otherwise.

    The order of spans makes no difference, nor do their sources and scores.
    """
    frame = record.frame
    if not isinstance(frame, Original) or frame.format != form or len(frame.documents) != len(record.documents):
        return None
    pairs = zip(frame.documents, record.documents, strict=True)
    return dict(frame.files) if all(_same(left, right) for left, right in pairs) else None


def shape(record: Record, form: str) -> tuple[str, ...]:
    """What the format's own reader noted of the file's shape; empty for a record from elsewhere."""
    frame = record.frame
    return frame.shape if isinstance(frame, Original) and frame.format == form else ()


def _same(left: Document, right: Document) -> bool:
    return left.with_spans(left.spans) == right.with_spans(right.spans)


def single(record: Record, what: str) -> Document:
    """The only document of a record, for the formats that hold one a file."""
    if len(record.documents) != 1:
        raise UsageError(f"{what} holds one document a file, not {len(record.documents)}")
    return record.documents[0]


def label_of(name: str, *, where: str = "", scheme: str | None = None, line: int | None = None) -> Label:
    """The label that a file's name means. The name is not repeated in the error: it may be text in a wrong column."""
    try:
        return labels.parse(name, scheme=scheme)
    except UnknownNameError:
        known = ", ".join(labels.SCHEMES[scheme] if scheme else labels.Label)
        raise FormatError(f"{_at(where)}an unknown label; there are: {known}", line=line) from None


def span_of(start: int, end: int, label: Label, size: int, *, where: str = "", line: int | None = None) -> Span:
    """A span that fits a text of `size` characters."""
    if not 0 <= start < end <= size:
        raise FormatError(f"{_at(where)}{start}..{end} is empty or outside the text of {size} characters", line=line)
    return Span(start, end, label)


def disagrees(start: int, end: int, *, where: str = "", line: int | None = None) -> FormatError:
    """The error of a file that quotes, beside the offsets, another text than the one they point at."""
    return FormatError(f"{_at(where)}the text quoted is not the text at {start}..{end}", line=line)


def _at(where: str) -> str:
    return f"{where}: " if where else ""


def with_mark(text: str) -> str:
    """A text that begins with a byte-order mark needs another one before it, for the first is dropped in reading."""
    return BYTE_ORDER_MARK + text if text.startswith(BYTE_ORDER_MARK) else text


def parse_json(text: str) -> object:
    """A JSON value, or an error with its line and nothing of its content."""
    try:
        return cast(object, json.loads(text))
    except json.JSONDecodeError as error:
        raise FormatError(f"not JSON at column {error.colno}", line=error.lineno) from None
    except (RecursionError, ValueError) as error:  # too deep, or a number of thousands of digits
        raise FormatError(f"not JSON that can be read ({type(error).__name__})") from None


def text_in(value: object, what: str) -> str:
    """A JSON string that is text: a lone surrogate (`"\\ud83d"`) is refused."""
    if not isinstance(value, str):
        raise FormatError(f"{what} must be a string")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError as error:
        raise FormatError(f"{what} has a lone surrogate at offset {error.start}") from None
    return value
