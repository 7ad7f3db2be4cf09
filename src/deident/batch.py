"""Files in, files out: every record is read, worked on and written, or counted as failed with its reason.

A file appears under its name only when all of it is written (a temporary file beside it, then one atomic rename). A
file whose format holds many records (`pieces`) is worked through record by record, in bounded memory; records that
fail are left out of its output and reported. A record with several documents is written only if all of them went
through: half a record is no record.

A path `-` is standard input, or output.
"""

import os
import sys
import tempfile
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from deident import formats
from deident.document import Document, Failure, Record
from deident.errors import DeidentError, MissingPackageError, UsageError
from deident.formats import STANDARD, Source, jsonl
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
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".deident-", dir=path.parent)
        temporary = Path(name)
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(path)
    except BaseException as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            # a full disk names no file, and nobody knows the temporary one
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def inputs(paths: Sequence[Path], name: str | None) -> Iterator[tuple[Source, str] | Failure]:
    """The files of the paths given, each with its format: the one named, or the one it shows itself to be.

    In a folder, a file that is the second half of another one (brat's `.txt` beside its `.ann`) is passed over. A file
    whose format nobody can tell, or whose id another one has already, is a Failure: it may be a note.
    """
    suffix = formats.load(name).SUFFIXES[0] if name is not None else None
    found = list(formats.sources(paths, suffix))
    if not found:
        raise UsageError("no files to read" + (f" with the suffix {suffix}" if suffix else ""))
    told = [_told(source, name) for source in found]
    second = {half for item in told if not isinstance(item, Failure) for half in _files(*item)[1:]}
    seen: dict[str, Path] = {}
    for item in told:
        if isinstance(item, Failure):
            yield item
            continue
        source, _ = item
        if source.path in second:
            continue
        if source.id in seen:
            other = seen[source.id]
            yield Failure(source.id, f"{source.path} has the same id as {other}; give their folder, or rename one")
            continue
        seen[source.id] = source.path
        yield item


def _told(source: Source, name: str | None) -> tuple[Source, str] | Failure:
    try:
        source.id.encode("utf-8")
        return source, name if name is not None else formats.guess(source)
    except UnicodeEncodeError:
        return Failure(ascii(source.id), "the name of the file is not UTF-8")
    except (DeidentError, OSError) as error:
        return Failure(source.id, formats.reason(error))


def _files(source: Source, name: str) -> list[Path]:
    """The files of a source: the one that names it, and those that lie beside it."""
    return [source.path, *(source.path.with_suffix(suffix) for suffix in formats.load(name).SUFFIXES[1:])]


def documents(
    paths: Sequence[Path], name: str | None = None, *, limit: int = formats.DEFAULT_LIMIT
) -> Iterator[Document | Failure]:
    """Every document of the paths given."""
    for item in inputs(paths, name):
        yield from (item,) if isinstance(item, Failure) else _documents(*item, limit)


def _documents(source: Source, name: str, limit: int) -> Iterator[Document | Failure]:
    for record in formats.records(source, name, limit=limit):
        yield from (record,) if isinstance(record, Failure) else record.documents


def predictions(
    path: Path, gold: Mapping[str, Document], name: str | None = None, *, limit: int = formats.DEFAULT_LIMIT
) -> Iterator[Document | Failure]:
    """A system's output beside its gold: documents of any format, or the lines of `deident detect`, which hold spans
    without text and take it from the gold document of their id."""
    for item in inputs([path], name):
        if isinstance(item, Failure):
            yield item
        elif item[1] == "jsonl":
            yield from _predicted(item[0], gold, limit)
        else:
            yield from _documents(*item, limit)


def _predicted(source: Source, gold: Mapping[str, Document], limit: int) -> Iterator[Document | Failure]:
    for number, line in formats.numbered(source, formats.lines, limit):
        if isinstance(line, Failure):
            yield line
            continue
        try:
            data = jsonl.parse_object(formats.decode(line))
            identifier = jsonl.id_of(data, default=f"{source.id}:{number}")
            if "text" not in data and identifier not in gold:
                yield Failure(identifier, "not a document of gold")
                continue
            text = data.get("text", gold[identifier].text if identifier in gold else "")
            yield jsonl.document(data | {"id": identifier, "text": text})
        except DeidentError as error:
            yield Failure(source.id, formats.at_line(number, error))


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
    """Works on every file and writes its counterpart of the same name below `out`; yields after each record.

    Notes of a file of many, in a format that holds one a file, are each written under their own id.
    """
    found: list[tuple[Source, str]] = []
    for item in inputs(paths, read_as):
        if isinstance(item, Failure):
            outcome.failures.append(item)
        else:
            found.append(item)
    output = _Output(out, outcome, frozenset(path.resolve() for item in found for path in _files(*item)))
    for source, name in found:
        for suffix in formats.load(write_as or name).SUFFIXES:
            output.check(f"{source.id}{suffix}")
    for source, name in found:
        target = write_as or name
        records = _worked(work, formats.records(source, name, limit=limit), outcome)
        if _piecewise(target):
            yield from output.stream(records, target, source.id)
        elif target == name:
            for record in records:
                output.add(record, target, source.id)
                yield
        elif _many(target):
            output.add_all([doc for record in records for doc in record.documents], target, source.id)
            yield
        else:
            for record in records:
                alone = len(record.documents) == 1 and not (_piecewise(name) or _many(name))
                for doc in record.documents:
                    output.add(Record((doc,)), target, source.id if alone else doc.id)
                yield


def _piecewise(name: str) -> bool:
    return hasattr(formats.load(name), "pieces")


def _many(name: str) -> bool:
    return bool(getattr(formats.load(name), "MANY", False))


@dataclass(slots=True)
class _Output:
    """A folder, or standard output. Nothing in it replaces an input, or another result of the run."""

    folder: Path
    outcome: Outcome
    inputs: frozenset[Path] = frozenset()
    written: set[Path] = field(default_factory=set[Path])

    def __post_init__(self) -> None:
        if self.folder != STANDARD and self.folder.exists() and not self.folder.is_dir():
            raise UsageError(f"the output must be a folder, and {self.folder} is a file")

    def check(self, name: str) -> None:
        """An error if a file of this name would lie outside the folder, or replace what must stay."""
        if self.folder == STANDARD:
            return
        place = (self.folder / name).resolve() if "\0" not in name else None
        if place is None or not place.is_relative_to(self.folder.resolve()):
            raise UsageError("its id cannot be the name of a file below the output folder")
        if place in self.inputs:
            raise UsageError(f"the output folder would overwrite the input {place}; name another one")
        if place in self.written:
            raise UsageError("another note of this run has its id, and so its file")

    def add(self, record: Record, form: str, stem: str) -> None:
        """Write one record, all its files or none, and count its documents."""
        written = _written(record, form, stem, self.outcome)
        if written is None:
            return
        files = {f"{stem}{suffix}": data for suffix, data in written.items()}
        try:
            if self.folder == STANDARD:
                self._print(files)
            else:
                self._write(files)
        except BrokenPipeError:
            raise
        except (DeidentError, OSError) as error:
            self.outcome.failures.append(_unwritable(stem, form, error))
        else:
            self.outcome.done += len(record.documents)

    def add_all(self, docs: Sequence[Document], form: str, stem: str) -> None:
        """Write documents to one file; those that the format cannot hold are failures of their own."""
        kept = _holdable(docs, form, self.outcome)
        if kept:
            self.add(Record(kept), form, stem)

    def _write(self, files: Mapping[str, bytes]) -> None:
        for name in files:
            self.check(name)
        with ExitStack() as stack:
            streams = [stack.enter_context(replacing(self.folder / name)) for name in files]
            for stream, data in zip(streams, files.values(), strict=True):
                stream.write(data)
                stream.flush()
                os.fsync(stream.fileno())  # a disk that is full says so before the first file has its name
        self.written.update((self.folder / name).resolve() for name in files)

    def _print(self, files: Mapping[str, bytes]) -> None:
        if len(files) > 1 or self.written:
            raise UsageError("standard output has room for one file; name a folder")
        self.written.add(STANDARD)
        with writing(STANDARD) as stream:
            stream.writelines(files.values())

    def stream(self, records: Iterator[Record], form: str, stem: str) -> Iterator[None]:
        """All records of a source in one file; they count as done when it stands."""
        first = next(records, None)
        if first is None:  # all of it failed: no file rather than an empty one
            return
        suffix = formats.load(form).SUFFIXES[0]
        done = 0
        try:
            with writing(self.folder if self.folder == STANDARD else self.folder / f"{stem}{suffix}") as stream:
                for record in chain((first,), records):
                    written = _written(record, form, record.documents[0].id, self.outcome)
                    if written is not None:
                        stream.write(written[suffix])
                        done += len(record.documents)
                    yield
        except BrokenPipeError:
            raise
        except OSError as error:
            self.outcome.failures.append(_unwritable(stem, form, error))
        else:
            self.outcome.done += done


@contextmanager
def writing(path: Path) -> Generator[BinaryIO]:
    """`replacing`, or standard output for `-`."""
    if path != STANDARD:
        with replacing(path) as stream:
            yield stream
        return
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


def _written(record: Record, name: str, identifier: str, outcome: Outcome) -> dict[str, bytes] | None:
    """The files of a record; None, and a failure, where the format cannot hold it."""
    try:
        return formats.load(name).write(record)
    except MissingPackageError:  # no other note fares better
        raise
    except DeidentError as error:
        outcome.failures.append(_unwritable(identifier, name, error))
        return None


def _holdable(docs: Sequence[Document], name: str, outcome: Outcome) -> tuple[Document, ...]:
    return tuple(doc for doc in docs if _written(Record((doc,)), name, doc.id, outcome) is not None)


def _unwritable(identifier: str, name: str, error: DeidentError | OSError) -> Failure:
    if isinstance(error, OSError):
        return Failure(identifier, f"cannot be written ({error.strerror})")
    return Failure(identifier, f"cannot be written as {name}: {error}")


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
    with writing(out or STANDARD) as stream:
        for doc in done:
            stream.write(serialise(doc))


def write_as(done: Iterable[Document], name: str, out: Path, outcome: Outcome) -> None:
    """Documents in a format: one file where the format holds many, else a folder with one file a document. What the
    format cannot hold is taken from those that `outcome` counts as done."""
    main = formats.load(name).SUFFIXES[0]
    unwritten = Outcome()
    if (_piecewise(name) or _many(name)) and out.is_dir():
        raise UsageError(f"{name} holds many notes in one file, so the output must be a file, and {out} is a folder")
    if _piecewise(name):
        with writing(out) as stream:
            for doc in done:
                written = _written(Record((doc,)), name, doc.id, unwritten)
                if written is not None:
                    stream.write(written[main])
    elif _many(name):
        kept = _holdable(tuple(done), name, unwritten)
        with writing(out) as stream:
            stream.write(formats.load(name).write(Record(kept))[main])
    else:
        output = _Output(out, unwritten)
        for doc in done:
            output.add(Record((doc,)), name, doc.id)
    outcome.done -= len(unwritten.failures)
    outcome.failures += unwritten.failures
