"""Plain text, UTF-8: one file, one document. Line ends are kept as they are; a byte-order mark is put back."""

from deident.document import Document, Record
from deident.formats import Files, decode, encode

SUFFIXES = (".txt",)
_BOM = "\ufeff"


def sniff(suffix: str, _head: bytes) -> bool:
    return suffix in {".txt", ".text"}


def read(files: Files, *, name: str) -> Record:
    text = decode(files[".txt"])
    bom = text.startswith(_BOM)
    return Record((Document(name, text[1:] if bom else text),), frame=bom)


def write(record: Record) -> dict[str, bytes]:
    (doc,) = record.documents
    return {".txt": encode((_BOM if record.frame is True else "") + doc.text)}
