"""Plain text, UTF-8: one file, one document. Line ends are kept as they are; a byte-order mark is put back when the
record that was read is written."""

from deident.document import Document, Record
from deident.formats import Files, _shared, decode, encode

SUFFIXES = (".txt",)


def sniff(suffix: str, _head: bytes) -> bool:
    return suffix in {".txt", ".text"}


def read(files: Files, *, name: str) -> Record:
    text = decode(files[".txt"], keep_mark=True)
    unmarked = text.removeprefix(_shared.BYTE_ORDER_MARK)
    return Record((Document(name, unmarked),), frame=unmarked != text)


def write(record: Record) -> dict[str, bytes]:
    text = _shared.single(record, "plain text").text
    marked = _shared.BYTE_ORDER_MARK + text if record.frame is True else _shared.with_mark(text)
    return {".txt": encode(marked)}
