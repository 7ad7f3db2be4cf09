"""Files in, files out: every record is read, worked on and written, or counted as failed with its reason.

A file appears under its name only when all of it is written (a temporary file beside it, then one atomic rename). A
file whose format holds many records (`pieces`) is worked through record by record, in bounded memory; records that
fail are left out of its output and reported. A record with several documents is written only if all of them went
through: half a record is no record.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from deident import formats
from deident.document import Document, Failure, Record
from deident.errors import DeidentError, UsageError
from deident.formats import Source, jsonl
from deident.pipeline import attempt, attempt_all

Work = Callable[[Document], Document]


@dataclass(slots=True)
class Outcome:
    """What a run did: how many documents went through, and which did not."""

    done: int = 0
    failures: list[Failure] = field(default_factory=list[Failure])


@contextmanager
def replacing(path: Path) -> Generator[BinaryIO]:
    """A stream whose bytes become the file `path` when the block ends well, and nothing at all when it does not."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=".deident-", dir=path.parent)
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def inputs(paths: Sequence[Path], name: str | None) -> Iterator[tuple[Source, str]]:
    """The files of the paths given, each with its format: the one named, or the one it shows itself to be.

    In a folder, a file that is the second half of another one (brat's `.txt` beside its `.ann`) is passed over.
    """
    suffix = formats.load(name).SUFFIXES[0] if name is not None else None
    found = list(formats.sources(paths, suffix))
    if not found:
        raise UsageError("no files to read" + (f" with the suffix {suffix}" if suffix else ""))
    told = [(source, name if name is not None else formats.guess(source.path)) for source in found]
    second = {source.path.with_suffix(suffix) for source, form in told for suffix in formats.load(form).SUFFIXES[1:]}
    yield from ((source, form) for source, form in told if source.path not in second)


def documents(
    paths: Sequence[Path], name: str | None = None, *, limit: int = formats.DEFAULT_LIMIT
) -> Iterator[Document | Failure]:
    """Every document of the paths given."""
    for source, form in inputs(paths, name):
        for record in formats.records(source, form, limit=limit):
            if isinstance(record, Failure):
                yield record
            else:
                yield from record.documents


def predictions(
    path: Path, gold: Mapping[str, Document], name: str | None = None, *, limit: int = formats.DEFAULT_LIMIT
) -> Iterator[Document | Failure]:
    """A system's output beside its gold: documents of any format, or the lines of `deident detect`, which hold spans
    without text and take it from the gold document of their id."""
    if not path.is_file() or path.suffix != ".jsonl" or name not in (None, "jsonl"):
        yield from documents([path], name, limit=limit)
        return
    with path.open("rb") as stream:
        for number, line in formats.lines(stream):
            try:
                data = jsonl.parse_object(formats.decode(line))
                identifier = jsonl.id_of(data, default=f"{path.stem}:{number}")
                if "text" not in data and identifier not in gold:
                    yield Failure(identifier, "not a document of gold")
                    continue
                text = data.get("text", gold[identifier].text if identifier in gold else "")
                yield jsonl.document(data | {"id": identifier, "text": text})
            except DeidentError as error:
                yield Failure(path.stem, f"line {number}: {error}")


def to_folder(
    work: Work,
    paths: Sequence[Path],
    out: Path,
    outcome: Outcome,
    *,
    read_as: str | None = None,
    write_as: str | None = None,
    limit: int = formats.DEFAULT_LIMIT,
) -> Iterator[None]:
    """Works on every file and writes its counterpart of the same name below `out`; yields after each record."""
    for source, name in inputs(paths, read_as):
        target = write_as or name
        form = formats.load(target)
        place = out / f"{source.id}{form.SUFFIXES[0]}"
        if place.resolve() == source.path.resolve():
            raise UsageError(f"the output folder would overwrite the input {source.path}; name another one")
        records = _worked(work, formats.records(source, name, limit=limit), outcome)
        try:
            if hasattr(form, "pieces"):
                yield from _one_file(records, form, place, outcome)
            else:
                for record in records:
                    for suffix, data in form.write(record).items():
                        with replacing(out / f"{source.id}{suffix}") as stream:
                            stream.write(data)
                    outcome.done += len(record.documents)
                    yield
        except (DeidentError, OSError, ValueError) as error:
            outcome.failures.append(_unwritable(source.id, target, error))


def _one_file(records: Iterator[Record], form: formats.Format, place: Path, outcome: Outcome) -> Iterator[None]:
    """All records of a source in one file; they count as done when it stands."""
    first = next(records, None)
    if first is None:  # all of it failed: no file rather than an empty one
        return
    done = 0
    with replacing(place) as stream:
        for record in chain((first,), records):
            stream.write(form.write(record)[form.SUFFIXES[0]])
            done += len(record.documents)
            yield
    outcome.done += done


def _unwritable(identifier: str, name: str, error: Exception) -> Failure:
    if isinstance(error, OSError):
        return Failure(identifier, f"cannot be written ({error.strerror})")
    if isinstance(error, DeidentError):
        return Failure(identifier, f"cannot be written as {name}: {error}")
    return Failure(identifier, f"cannot be written as {name}, which holds one document a file")


def _worked(work: Work, records: Iterable[Record | Failure], outcome: Outcome) -> Iterator[Record]:
    for record in records:
        if isinstance(record, Failure):
            outcome.failures.append(record)
            continue
        done, failures = attempt_all(work, record.documents)
        outcome.failures += failures
        if not failures:
            # without its frame, which may hold pieces of the input that no detector has seen
            yield Record(done)


def results(work: Work, found: Iterable[Document | Failure], outcome: Outcome) -> Iterator[Document]:
    """What `work` makes of every document, failures counted and passed over."""
    for doc in found:
        result = attempt(work, doc) if isinstance(doc, Document) else doc
        if isinstance(result, Failure):
            outcome.failures.append(result)
        else:
            outcome.done += 1
            yield result


def write_lines(done: Iterable[Document], out: Path | None, serialise: Callable[[Document], bytes]) -> None:
    """What `serialise` makes of each document, one after the other, to one file, or to standard output."""
    if out is None:
        for doc in done:
            sys.stdout.buffer.write(serialise(doc))
        sys.stdout.buffer.flush()
        return
    with replacing(out) as stream:
        for doc in done:
            stream.write(serialise(doc))


def write_as(done: Iterable[Document], name: str, out: Path, outcome: Outcome) -> None:
    """Documents in a format: one file where the format holds many, else a folder with one file a document."""
    form = formats.load(name)
    main = form.SUFFIXES[0]
    if hasattr(form, "pieces"):
        write_lines(done, out, lambda doc: form.write(Record((doc,)))[main])
    elif getattr(form, "MANY", False):
        kept = tuple(done)
        with replacing(out) as stream:
            stream.write(form.write(Record(kept))[main])
    elif out.exists() and not out.is_dir():
        raise UsageError(f"{name} holds one document a file, so the output must be a folder, and {out} is a file")
    else:
        for doc in done:
            try:
                _write_one(form, doc, out)
            except DeidentError as error:
                outcome.done -= 1
                outcome.failures.append(_unwritable(doc.id, name, error))


def _write_one(form: formats.Format, doc: Document, out: Path) -> None:
    place = out / f"{doc.id}{form.SUFFIXES[0]}"
    if not place.resolve().is_relative_to(out.resolve()) or "\0" in doc.id:
        raise UsageError("its id cannot be the name of a file below the output folder")
    for suffix, data in form.write(Record((doc,))).items():
        with replacing(out / f"{doc.id}{suffix}") as stream:
            stream.write(data)
