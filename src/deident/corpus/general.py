"""General-domain named entities (Wikigold, WNUT-17, BTC, UNER's EWT) as another kind of text to learn names from.

Such files are columns: a token a line with its tag, a blank line between sentences. Persons, places and organisations
become labels of ours; what else they tag (works, products, nationalities) is none of ours, and is passed over.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

from deident.document import Document, Span
from deident.errors import FormatError, UsageError
from deident.formats import decode
from deident.labels import Label

TYPES: Mapping[str, Label] = MappingProxyType(
    {
        "per": Label.PATIENT, "person": Label.PATIENT,
        "loc": Label.LOCATION_OTHER, "location": Label.LOCATION_OTHER, "gpe": Label.LOCATION_OTHER,
        "org": Label.ORGANIZATION, "organization": Label.ORGANIZATION, "corporation": Label.ORGANIZATION,
    }
)  # fmt: skip
_TAG = re.compile(r"O|(?P<place>[BI])-(?P<type>\S+)")
_SENTENCES = 20  # of a document, where the file does not say where one ends
_COLUMNS = re.compile(r"\.(?:conll|conllu|iob2?|bio|annotated)$|\.conll\.txt$")


def read(path: Path) -> list[Document]:
    """The texts of a file, or of all files of a folder that are named as columns; blanks stand between tokens."""
    if not path.exists():
        raise UsageError(f"there is no file or folder {path}")
    files = [path] if path.is_file() else sorted(file for file in path.iterdir() if _COLUMNS.search(file.name.lower()))
    if not files:
        raise UsageError(f"there is no file of columns in {path}")
    return [doc for file in files for doc in _documents(decode(file.read_bytes()), file.name)]


def _documents(text: str, name: str) -> Iterator[Document]:
    marked = "# newdoc" in text or "-DOCSTART-" in text
    rows: list[list[tuple[str, str]]] = [[]]
    count = 0
    for number, line in enumerate(text.split("\n"), 1):
        fields = line.split("\t") if "\t" in line else line.split()
        begins = line.startswith(("# newdoc", "-DOCSTART-"))
        if begins or not line.strip():
            if rows[-1]:
                rows.append([])
            full = begins if marked else len(rows) > _SENTENCES
            if full and rows[0]:
                count += 1
                yield _document(f"{name}:{count}", rows)
                rows = [[]]
        elif not (line.startswith("# ") and len(fields) != 2) and fields[0].strip():  # BTC has tokens of nothing
            rows[-1].append(_row(fields, number))
    if rows[0]:
        yield _document(f"{name}:{count + 1}", rows)


def _row(fields: list[str], number: int) -> tuple[str, str]:
    # CoNLL-U: number, token, tag, …; else the token first and the tag last
    token, tag = (fields[1], fields[2]) if len(fields) > 3 and fields[0].isdigit() else (fields[0], fields[-1].strip())
    if len(fields) < 2 or not token or _TAG.fullmatch(tag) is None:
        raise FormatError("a line needs a token and a tag: O, B-TYPE or I-TYPE", line=number)
    return token, tag


def _document(name: str, rows: list[list[tuple[str, str]]]) -> Document:
    parts: list[str] = []
    spans: list[Span] = []
    size = 0
    for row in rows:
        known = ""  # the type of the chunk that is open
        for token, tag in row:
            match = _TAG.fullmatch(tag)
            kind = match["type"] if match is not None and match["type"] else ""
            label = TYPES.get(kind.lower())
            goes_on = tag.startswith("I-") and kind == known
            if label is not None:
                start = spans.pop().start if goes_on else size
                spans.append(Span(start, size + len(token), label))
            known = kind
            parts.append(f"{token} ")
            size += len(token) + 1
        if row:
            parts[-1] = parts[-1][:-1] + "\n"
    return Document(name, "".join(parts), tuple(spans))
