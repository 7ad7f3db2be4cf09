"""The project's own gold: what corpora there are, their notes, and their frozen splits.

    deident-open     notes written from nothing for this project, in the inline form
    mtsamples-phi    transcribed reports of mtsamples.com, re-identified by hand; stand-off, needs the carrier file
    aci-phi          notes of ACI-BENCH, likewise

A split is a property of the document, kept with its hash in `data/splits.jsonl`: train, dev, test, and style, whose
layouts and kinds of note appear in no training document. `DATASHEET.md` tells how all this came to be.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from deident.corpus import standoff
from deident.corpus.standoff import digest
from deident.document import Document, Patient
from deident.errors import FormatError, UnknownNameError, UsageError
from deident.formats import inline, lines

DATA = files("deident.corpus") / "data"


class Split(StrEnum):
    TRAIN = "train"
    DEV = "dev"
    TEST = "test"
    STYLE = "style"


@dataclass(frozen=True, slots=True)
class Entry:
    """What is known of one document without opening it."""

    corpus: str
    id: str
    split: Split
    kind: str
    layout: str
    patient: str
    sha256: str  # of the note's text


OWN = "deident-open"
STANDOFF: Mapping[str, str] = {"mtsamples-phi": "text", "aci-phi": "note"}  # corpus → key of the carrier's text
NAMES = (OWN, *STANDOFF)


@cache
def entries() -> tuple[Entry, ...]:
    """Every document of every corpus, in order."""
    rows = (json.loads(line) for line in (DATA / "splits.jsonl").read_text(encoding="utf-8").splitlines())
    return tuple(Entry(**(row | {"split": Split(row["split"])})) for row in rows)


def name(given: str) -> str:
    """The corpus of this name, or an error that lists those there are."""
    if given not in NAMES:
        raise UnknownNameError("corpus", given, NAMES)
    return given


def _entries(corpus: str, split: str | None) -> list[Entry]:
    name(corpus)
    if split is not None and split not in set(Split):
        raise UnknownNameError("split", split, Split)
    return [entry for entry in entries() if entry.corpus == corpus and split in (None, entry.split)]


def load(corpus: str, *, split: str | None = None, carrier: Path | None = None) -> Iterator[Document]:
    """The notes of a corpus with their gold spans; a stand-off one needs its carrier file."""
    wanted = _entries(corpus, split)
    if corpus == OWN:
        for entry in wanted:
            yield _checked(own_note(entry), entry)
        return
    if carrier is None:
        raise UsageError(f"{corpus} is stored without its carrier's sentences: name the carrier file with --carrier")
    texts = carrier_texts(carrier, STANDOFF[corpus])
    edits = standoff_entries(corpus)
    for entry in wanted:
        if entry.id not in texts:
            raise UsageError(f"the carrier {carrier} has no report {entry.id}")
        doc = standoff.apply(edits[entry.id], texts[entry.id])
        yield _checked(Document(entry.id, doc.text, doc.spans, Patient(entry.patient), _meta(entry)), entry)


def carried(corpus: str, files: Iterable[Path]) -> Path | None:
    """Which of these files carries the corpus: the first whose records have the key of its texts."""
    for file in files if corpus in STANDOFF else ():
        if not file.is_file():
            raise UsageError(f"there is no carrier file {file}")
        with file.open(encoding="utf-8") as stream:
            if f'"{STANDOFF[corpus]}"' in stream.readline():
                return file
    return None


def own_note(entry: Entry) -> Document:
    marked = (DATA / OWN / f"{entry.id}.txt").read_bytes().decode("utf-8")
    doc = inline.parse(marked, name=entry.id)
    return Document(entry.id, doc.text, doc.spans, Patient(entry.patient), _meta(entry))


def _meta(entry: Entry) -> dict[str, str]:
    return {"kind": entry.kind, "layout": entry.layout, "split": entry.split.value}


def _checked(doc: Document, entry: Entry) -> Document:
    if digest(doc.text) != entry.sha256:
        raise FormatError(f"the note {entry.id} of {entry.corpus} is not the one that was frozen: its hash differs")
    return doc


@cache
def standoff_entries(corpus: str) -> dict[str, standoff.Entry]:
    """The stand-off annotation of a corpus, by report id."""
    lines = data_file(f"{corpus}.jsonl").read_text(encoding="utf-8").splitlines()
    return {entry.id: entry for entry in (standoff.Entry.from_json(json.loads(line)) for line in lines)}


def data_file(name: str) -> Traversable:
    """A file of the corpus room; an installation that lacks it is told so."""
    found = DATA / name
    if not found.is_file():
        raise UsageError(f"the corpus file {name} is missing from the installation")
    return found


def carrier_texts(path: Path, key: str) -> dict[str, str]:
    """The reports of a carrier file (JSON lines with `id` and the text under `key`)."""
    if not path.is_file():
        raise UsageError(f"there is no carrier file {path}")
    texts: dict[str, str] = {}
    with path.open("rb") as stream:
        for number, line in lines(stream):
            try:
                row: Any = json.loads(line)
                texts[str(row["id"])] = str(row[key])
            except (ValueError, KeyError, TypeError, RecursionError):
                raise FormatError(f'{path} has no object with "id" and "{key}"', line=number) from None
    return texts
