"""Files in, files out: every record is read, worked on and written, or counted as failed with its reason.

A file appears under its name only when all of it is written (a temporary file beside it, then one atomic rename). A
file whose format holds many records (`pieces`) is worked through record by record, in bounded memory; records that
fail are left out of its output and reported. A record with several documents is written only if all of them went
through: half a record is no record.

The work is done here, or by processes side by side (`_pool.py`): what is written is the same, in the same order. With
a journal (`_journal.py`) a run can be killed at any point and go on.

A path `-` is standard input, or output.
"""

import errno
import hashlib
import os
import secrets
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from deident import formats, policy
from deident.batch import _names, _tasks
from deident.batch._journal import Entry, Journal, Stands, digest, sync_folder
from deident.batch._manifest import facts, for_names_alone, manifest
from deident.batch._pool import Here, Pool
from deident.batch._tasks import (
    Chunk,
    Made,
    Task,
    Verb,
    Work,
    Written,
    holdable,
    holds_many,
    own_suffix,
    packed_files,
    piecewise,
    unwritable,
    written,
)
from deident.config import Config
from deident.document import Document, Failure, Record
from deident.errors import DeidentError, UsageError
from deident.formats import PACKED, STANDARD, Source, jsonl
from deident.pipeline import attempt
from deident.surrogates import read_key

__all__ = [
    "Forms",
    "Keys",
    "Outcome",
    "Output",
    "Progress",
    "Runner",
    "Stream",
    "append_private",
    "chunks_of",
    "documents",
    "facts",
    "files_of",
    "here",
    "inputs",
    "manifest",
    "predictions",
    "replacing",
    "results",
    "run_keys",
    "runner",
    "task_of",
    "tasks_of",
    "to_folder",
    "told",
    "worked",
    "write_as",
    "write_lines",
    "writing",
]

CHUNK_TASKS = 32
_CHUNK_BYTES = 128 * 1024
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS})


class Runner(Protocol):
    """Does chunks: `Here`, or a `Pool` of processes."""

    @property
    def workers(self) -> int: ...

    def run(self, chunks: Iterable[Chunk]) -> Iterator[tuple[Chunk, tuple[Any, ...]]]: ...


def here(work: Work) -> Here:
    """The work done in this process, one task after the other."""
    return Here(partial(_tasks.do_all, work))


@contextmanager
def runner(
    config: Config,
    verb: Verb,
    workers: int = 0,
    *,
    keys: "Keys | None" = None,
    seconds: float | None = None,
) -> Generator[Runner]:
    """So many processes, each of which loads the pipeline of `config` once; with 0, this one does it.

    keys: of the run. seconds: after which a note is given up.
    """
    keys = keys or run_keys(config)
    if for_names_alone(config, keys.names is not None):
        config = replace(config, scrub=replace(config.scrub, key_file=""))
    make = partial(_tasks.make, config, keys.run, verb, keys.names)
    if workers == 0:
        if seconds is not None:
            raise UsageError("only a process of its own can be stopped in time: --timeout needs --workers")
        yield Here(make())
        return
    with Pool(make, workers, seconds=seconds) as pool:
        yield pool


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of a run: of what is drawn anew in each, of names, and the one that is kept in a file."""

    run: bytes = field(repr=False)
    names: bytes | None = field(default=None, repr=False)
    kept: bytes | None = field(default=None, repr=False)


def run_keys(config: Config, *, rename: bool = False, resume: bool = False) -> Keys:
    """The keys of one run, for all of its processes. What is drawn anew in each run, a run that goes on could not
    know."""
    file = config.scrub.key_file
    if resume and (policy.forgets(config.scrub) or (rename and not file)):
        raise UsageError(
            "what is drawn at random would change where a killed run goes on: --resume needs a key file, and no policy "
            "that draws anew in each run"
        )
    kept = read_key(Path(file)) if file else None
    run = secrets.token_bytes(32)
    return Keys(run, _names.names_key(kept if kept is not None else run) if rename else None, kept)


@dataclass(slots=True)
class Outcome:
    """What a run did: how many documents went through, and which did not."""

    done: int = 0
    failures: list[Failure] = field(default_factory=list[Failure])
    labels: Counter[str] = field(default_factory=Counter[str])
    paths: Counter[str] = field(default_factory=Counter[str])  # of structured records: "blocked OBX-5.5"
    files: int = 0
    ended_before: bool = False  # nothing was left to do

    def counts(self) -> dict[str, Any]:
        """For the manifest."""
        labels = dict(sorted(self.labels.items()))
        counts = {"files": self.files, "notes": self.done, "failed": len(self.failures), "replaced": labels}
        return counts | ({"paths": self.by_path()} if self.paths else {})

    def by_path(self) -> dict[str, dict[str, int]]:
        """Of structured records: how many values of each path were retained, scrubbed and blocked."""
        found: dict[str, dict[str, int]] = {}
        for key, count in sorted(self.paths.items()):
            what, _, path = key.partition(" ")
            found.setdefault(what, {})[path] = count
        return found


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is: notes done and failed, bytes read of all there are (0 where nobody knows)."""

    done: int
    failed: int
    read: int
    total: int

    def line(self, since: "Progress", seconds: float) -> str:
        """In words, with the rate since an earlier point and the time left at it."""
        parts = [f"{self.done:,} notes", *([f"{self.failed:,} failed"] if self.failed else [])]
        if seconds > 0 and self.done > since.done:
            parts.append(f"{(self.done - since.done) / seconds:,.0f} notes/s")
        if self.total:
            parts.append(f"{self.read / self.total:.0%}")
            if self.read > since.read and seconds > 0:
                parts.append(f"{_clock((self.total - self.read) * seconds / (self.read - since.read))} left")
        return ", ".join(parts)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@dataclass(frozen=True, slots=True)
class Forms:
    """What the files are read as (told by themselves if None), what they are written as, and how large they may be."""

    read_as: str | None = None
    write_as: str | None = None
    limit: int = formats.DEFAULT_LIMIT


@contextmanager
def replacing(path: Path, *, staging: Path | None = None, private: bool = False) -> Generator[BinaryIO]:
    """A stream whose bytes become the file `path` when the block ends well, and nothing at all when it does not.

    staging: the folder where they lie until then; on the same disk, and beside the file by default. private: only its
    owner may read it.
    """
    temporary: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".deident-", dir=staging or path.parent)
        temporary = Path(name)
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if not private:
            temporary.chmod(_mode())
        temporary.replace(path)
    except BaseException as error:
        if temporary is not None:
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            # a full disk names no file, and nobody knows the temporary one
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


def append_private(path: Path, lines: Iterable[bytes]) -> None:
    """Adds lines to a file that only its owner may read; they are on the disk before this ends."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab") as stream:
        stream.writelines(lines)
        stream.flush()
        os.fsync(stream.fileno())


def _mode() -> int:
    """What the owner, the group and others may do with a new file."""
    umask = os.umask(0)
    os.umask(umask)
    return 0o666 & ~umask


def inputs(paths: Sequence[Path], name: str | None) -> Iterator[tuple[Source, str] | Failure]:
    """The files of the paths given, each with its format: the one named, or the one it shows itself to be.

    In a folder, a file that is the second half of another one (brat's `.txt` beside its `.ann`) is passed over. A file
    whose format nobody can tell, or whose id another one has already, is a Failure: it may be a note.
    """
    suffixes = formats.suffixes(name) if name is not None else ()
    found = list(formats.sources(paths, suffixes))
    if not found:
        raise UsageError("no files to read" + (f" with the suffix {' or '.join(suffixes)}" if suffixes else ""))
    items = [told(source, name) for source in found]
    second = {half for item in items if not isinstance(item, Failure) for half in files_of(*item)[1:]}
    seen: dict[str, Path] = {}
    for item in items:
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


def told(source: Source, name: str | None) -> tuple[Source, str] | Failure:
    """The file with its format: the one named, or the one it shows itself to be."""
    try:
        source.id.encode("utf-8")
        return source, name if name is not None else formats.guess(source)
    except UnicodeEncodeError:
        return Failure(ascii(source.id), "the name of the file is not UTF-8")
    except (DeidentError, OSError) as error:
        return Failure(source.id, formats.reason(error))


def files_of(source: Source, name: str) -> list[Path]:
    """The files of a source: the one that names it, and those that lie beside it."""
    return [source.path, *(source.beside(suffix) for suffix in formats.load(name).SUFFIXES[1:])]


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
    runner: Runner,
    paths: Sequence[Path],
    out: Path,
    outcome: Outcome,
    *,
    forms: Forms | None = None,
    rename: bytes | None = None,
    resume: Mapping[str, str] | None = None,
) -> Generator[Progress]:
    """Works on every file and writes its counterpart of the same name below `out`; yields after each chunk of notes.

    Notes of a file of many, in a format that holds one a file, are each written under their own id. rename: a key by
    which files get other names. resume: what the run depends on beside its inputs, by name; with it a journal is kept,
    and a run that was killed goes on.
    """
    forms = forms or Forms()
    found, unreadable = _found(paths, forms)
    taken = frozenset(path.resolve() for item in found for path in files_of(*item))
    output = Output(out, outcome, taken, rename=rename)
    for target in dict.fromkeys(forms.write_as or name for _, name in found):
        formats.check_target(target)
    for source, name in found:
        target = forms.write_as or name
        main = own_suffix(Task(0, source, name, target, forms.limit))
        for suffix in (main, *formats.load(target).SUFFIXES[1:]):
            output.check(output.name(source, suffix))
    outcome.files = len(found) + len(unreadable)
    with ExitStack() as stack:
        at = Entry(0)
        if resume is not None:
            if out == STANDARD or any(source.path == STANDARD for source, _ in found):
                raise UsageError("a run can go on only from files to a folder, not from or to a pipe")
            if resume.get("codes") == "drawn" and any(formats.structured(name) for _, name in found):
                raise UsageError(
                    "the codes of structured records would change where a killed run goes on: --resume needs a key "
                    "file there, and a treatment that draws from it"
                )
            journal = stack.enter_context(Journal(out, {**resume, "inputs": _state(found, unreadable)}))
            begun = journal.begin()
            if isinstance(begun, dict):
                _ended(outcome, begun)
                return
            output.recall(journal, begun)
            at = begun[-1] if begun else at
        if at == Entry(0):
            outcome.failures += unreadable
        yield from _run(runner, found, output, at, forms)
        output.end()


def _found(paths: Sequence[Path], forms: Forms) -> tuple[list[tuple[Source, str]], list[Failure]]:
    items = list(inputs(paths, forms.read_as))
    return (
        [item for item in items if not isinstance(item, Failure)],
        [item for item in items if isinstance(item, Failure)],
    )


def _ended(outcome: Outcome, summary: Mapping[str, Any]) -> None:
    """An earlier run did it all."""
    outcome.done, failed, outcome.ended_before = int(summary["done"]), int(summary["failed"]), True
    outcome.labels.update(summary["labels"])
    outcome.paths.update(summary.get("paths", {}))
    if failed:
        outcome.failures.append(Failure("this run has ended before", f"{failed} failed; its messages said which"))


def _run(
    runner: Runner, found: Sequence[tuple[Source, str]], output: "Output", at: Entry, forms: Forms
) -> Iterator[Progress]:
    """The files from where an earlier run was, chunk by chunk."""
    sizes = [source.size() for source, _ in found]
    total = sum(sizes) if all(sizes) else 0
    most = 1 if runner.workers == 0 and any(source.path == STANDARD for source, _ in found) else CHUNK_TASKS
    outcome = output.outcome
    ended = sum(sizes[: at.number])
    read = 0  # of the file that is under way
    try:
        for chunk, made in runner.run(chunks_of(_all_tasks(found, forms, at), most)):
            output.take(chunk, made)
            for task in chunk.tasks:
                read = min(read + task.size, sizes[task.number])  # packed, it is less than its pieces
                if task.last:
                    ended, read = ended + sizes[task.number], 0
            yield Progress(outcome.done, len(outcome.failures), ended + read, total)
    except BaseException as error:
        output.abandon(error)
        raise


def _all_tasks(found: Sequence[tuple[Source, str]], forms: Forms, at: Entry) -> Iterator[Task]:
    for number, (source, name) in enumerate(found):
        if number < at.number:
            continue
        task = task_of(number, source, name, forms)
        yield from tasks_of(task, skip=at.place if number == at.number else 0)


def task_of(number: int, source: Source, name: str, forms: Forms) -> Task:
    """What is to be done with a file."""
    target = forms.write_as or name
    gather = holds_many(target) and piecewise(name) and not piecewise(target)
    return Task(number, source, name, target, forms.limit, gather)


def tasks_of(task: Task, *, skip: int = 0) -> Iterator[Task]:
    """The tasks of one file: itself, or its pieces (without the first ones, which are done) and then its end."""
    source, limit = task.source, task.limit
    pieces: Any = getattr(formats.load(task.form), "pieces", None)
    if pieces is None:
        if source.path == STANDARD:  # no other process can read it
            with source.opened() as stream:
                source = replace(source, content=stream.read(limit + 1))
        yield replace(task, source=source, size=source.size())
        return
    place = skipped = 0
    try:
        for line, piece in formats.numbered(source, pieces, limit):
            place += 1
            size = len(piece) if isinstance(piece, bytes) else 0
            if place <= skip:
                skipped += size
                continue
            yield replace(task, place=place, line=line, piece=piece, last=False, size=size + skipped)
            skipped = 0
    except (DeidentError, OSError) as error:
        place += 1
        if place > skip:
            broken = Failure(source.id, formats.reason(error))
            yield replace(task, place=place, piece=broken, last=False)
    yield replace(task, place=place + 1, size=skipped)


def chunks_of(tasks: Iterable[Task], most: int) -> Iterator[Chunk]:
    """Small whole files together; the pieces of a long one by themselves, so that nothing depends on its neighbours."""
    held: list[Task] = []
    size = 0
    for task in tasks:
        if held and task.number != held[-1].number and (piecewise(task.form) or piecewise(held[-1].form)):
            yield Chunk(tuple(held))
            held, size = [], 0
        held.append(task)
        size += task.size
        if len(held) >= most or size >= _CHUNK_BYTES:
            yield Chunk(tuple(held))
            held, size = [], 0
    if held:
        yield Chunk(tuple(held))


def _state(found: Sequence[tuple[Source, str]], unreadable: Sequence[Failure]) -> str:
    """The inputs as one hash: their ids, formats, sizes and times of change."""
    hashed = hashlib.sha256()
    for source, name in found:
        for path in files_of(source, name):
            if path.exists():
                facts = path.stat()
                hashed.update(f"{source.id}\0{name}\0{facts.st_size}\0{facts.st_mtime_ns}\n".encode())
    hashed.update(repr([(failure.id, failure.reason) for failure in unreadable]).encode())
    return hashed.hexdigest()


class Stream(Protocol):
    """An output that is written piece by piece; `done` counts its documents."""

    done: int

    def write(self, data: bytes) -> None: ...

    def flush(self) -> None: ...

    def finish(self) -> None: ...

    def abandon(self, error: BaseException) -> None: ...


class _Whole:
    """An output that appears when all of it is there; or standard output."""

    def __init__(self, path: Path) -> None:
        self.done = 0
        self._stack = ExitStack()
        self._stream = self._stack.enter_context(writing(path))

    def write(self, data: bytes) -> None:
        self._stream.write(data)

    def flush(self) -> None:
        self._stream.flush()

    def finish(self) -> None:
        self._stack.close()

    def abandon(self, error: BaseException) -> None:
        # `replacing` takes its temporary file away and raises the error again, which is on its way already
        with suppress(BaseException):
            self._stack.__exit__(type(error), error, error.__traceback__)


class _Part:
    """An output that can be gone on with after a kill: its bytes lie in the journal's folder until it is whole."""

    def __init__(self, path: Path, place: Path, name: str) -> None:
        self.done = 0
        self._path, self._place, self._name = path, place, name
        self.size, self._hashed = digest(path) if path.exists() else (0, hashlib.sha256())
        self._stream = path.open("ab")

    def write(self, data: bytes) -> None:
        self._stream.write(data)
        self._hashed.update(data)
        self.size += len(data)

    def flush(self) -> None:
        self._stream.flush()

    def stands(self) -> Stands:
        """What is on the disk, surely."""
        self._stream.flush()
        os.fsync(self._stream.fileno())
        return Stands(self._name, self.size, self._hashed.hexdigest())

    def finish(self) -> None:
        self._stream.close()
        self._path.chmod(_mode())
        self._place.parent.mkdir(parents=True, exist_ok=True)
        self._path.replace(self._place)
        sync_folder(self._place.parent)

    def abandon(self, error: BaseException) -> None:  # noqa: ARG002
        # what the buffer holds is not in the journal, and is cut off when the run goes on
        with suppress(OSError):
            self._stream.close()


class Output:
    """A folder, or standard output. Nothing in it replaces an input, or another result of the run."""

    def __init__(
        self, folder: Path, outcome: Outcome, inputs: frozenset[Path] = frozenset(), *, rename: bytes | None = None
    ) -> None:
        if folder != STANDARD and folder.exists() and not folder.is_dir():
            raise UsageError(f"the output must be a folder, and {folder} is a file")
        self.folder = folder
        self.outcome = outcome
        self._inputs = inputs
        self._rename = rename
        self._written: set[Path] = set()
        self._gathered: list[Document] = []  # of a file that is written when all of its notes are there
        self._stream: Stream | None = None  # the output of the file that is under way, where it has one
        self._broken = -1  # the file whose output could not be written on
        self._journal: Journal | None = None
        self._stops = False  # where the disk is full, so that the run goes on there later
        self._news: list[Stands] = []  # what is written and not yet in the journal
        self._noted = Outcome()  # what is counted in the journal

    def name(self, source: Source, suffix: str) -> str:
        """The name of a source's output below the folder."""
        stem = source.id if self._rename is None else _names.renamed(source.id, self._rename)
        return f"{stem}{suffix}{PACKED if source.packed else ''}"

    def check(self, name: str) -> None:
        """An error if a file of this name would lie outside the folder, or replace what must stay."""
        if self.folder == STANDARD:
            return
        place = (self.folder / name).resolve() if "\0" not in name else None
        if place is None or not place.is_relative_to(self.folder.resolve()):
            raise UsageError("its id cannot be the name of a file below the output folder")
        if place in self._inputs:
            raise UsageError(f"the output folder would overwrite the input {place}; name another one")
        if place in self._written:
            raise UsageError("another note of this run has its id, and so its file")

    # ---- chunk after chunk -----------------------------------------------------------------------------------------

    def take(self, chunk: Chunk, made: Sequence[Made]) -> None:
        """Writes what a chunk became, counts it, and says so in the journal."""
        for task, one in zip(chunk.tasks, made, strict=True):
            self.outcome.failures += one.failures
            self.outcome.labels.update(one.labels)
            self.outcome.paths.update(one.paths)
            self._gathered += one.documents
            for record in one.records:
                if piecewise(task.target):
                    self._append(task, record)
                else:
                    self._put(task, record)
            if task.last:
                self._finish(task)
        if self._stream is not None:
            self._stream.flush()
        last = chunk.tasks[-1]
        if not self._gathered:  # what lies in memory only must be done again
            self._note(Entry(last.number + 1) if last.last else Entry(last.number, last.place))

    def _append(self, task: Task, record: Written) -> None:
        """A record behind those of its source that are in its file."""
        if self._broken == task.number:
            return
        (suffix, data), *others = record.files.items()
        if others:
            raise AssertionError("a format of pieces has one file")
        try:
            if self._stream is None:
                self._stream = self._opened(task, suffix)
            self._stream.write(data)
            self._stream.done += record.documents
            self.outcome.done += record.documents
        except BrokenPipeError:
            raise
        except OSError as error:
            self._break(task, error)

    def _opened(self, task: Task, suffix: str) -> Stream:
        if self.folder == STANDARD:
            return _Whole(STANDARD)
        name = self.name(task.source, suffix)
        self._written.add((self.folder / name).resolve())
        if self._journal is None:
            return _Whole(self.folder / name)
        return _Part(self._journal.part(task.number), self.folder / name, name)

    def _break(self, task: Task, error: OSError) -> None:
        """The output of a source cannot be written; a run that can go on later stops instead."""
        if self._stops:
            raise error
        if self._stream is not None:
            self.outcome.done -= self._stream.done
            self._stream.abandon(error)
            self._stream = None
        self._broken = task.number
        self.outcome.failures.append(unwritable(task.source.id, task.target, error))

    def _put(self, task: Task, record: Written) -> None:
        """A record as files of its own."""
        names = {
            suffix: self.name(task.source, suffix) if record.name is None else f"{record.name}{suffix}"
            for suffix in record.files
        }
        files = {names[suffix]: data for suffix, data in record.files.items()}
        self._put_files(files, record.name or task.source.id, task.target, record.documents)

    def add(self, record: Record, form: str, stem: str) -> None:
        """One record that was not made by a task."""
        files = written(record, form, stem, self.outcome.failures)
        if files is not None:
            self._put_files(
                {f"{stem}{suffix}": data for suffix, data in files.items()}, stem, form, len(record.documents)
            )

    def _put_files(self, files: Mapping[str, bytes], identifier: str, form: str, documents: int) -> None:
        """Write one record, all its files or none, and count its documents."""
        try:
            if self.folder == STANDARD:
                self._print(files)
            else:
                self._write(files)
        except BrokenPipeError:
            raise
        except (DeidentError, OSError) as error:
            if self._stops and isinstance(error, OSError) and error.errno in _NO_ROOM:
                raise
            self.outcome.failures.append(unwritable(identifier, form, error))
        else:
            self.outcome.done += documents

    def _write(self, files: Mapping[str, bytes]) -> None:
        for name in files:
            self.check(name)
        staging = self._journal.folder if self._journal is not None else None
        with ExitStack() as stack:
            streams = [stack.enter_context(replacing(self.folder / name, staging=staging)) for name in files]
            for stream, data in zip(streams, files.values(), strict=True):
                stream.write(data)
                stream.flush()
                if len(files) > 1:
                    os.fsync(stream.fileno())  # a disk that is full says so before the first file has its name
        self._written.update((self.folder / name).resolve() for name in files)
        if self._journal is not None:
            self._news += [Stands(name, len(data), hashlib.sha256(data).hexdigest()) for name, data in files.items()]

    def _print(self, files: Mapping[str, bytes]) -> None:
        if len(files) > 1 or self._written:
            raise UsageError("standard output has room for one file; name a folder")
        self._written.add(STANDARD)
        with writing(STANDARD) as stream:
            stream.writelines(files.values())

    def _finish(self, task: Task) -> None:
        """The source is done: its output gets its name."""
        if self._gathered:
            kept = holdable(self._gathered, task.target, self.outcome.failures)
            self._gathered = []
            files = written(Record(kept), task.target, task.source.id, self.outcome.failures) if kept else None
            if files is not None:
                self._put(task, Written(packed_files(files, task.source), len(kept)))
        if self._stream is None:
            return
        if isinstance(self._stream, _Part):
            self._note(Entry(task.number + 1, closes=self._stream.stands()))
        try:
            self._stream.finish()
        except BrokenPipeError:
            raise
        except OSError as error:
            self._break(task, error)
        self._stream = None

    def abandon(self, error: BaseException) -> None:
        """The run ends before its end."""
        if self._stream is not None:
            self._stream.abandon(error)
            self._stream = None

    # ---- the journal -----------------------------------------------------------------------------------------------

    def recall(self, journal: Journal, past: Sequence[Entry]) -> None:
        """Puts things back to where an earlier run was killed."""
        self._journal, self._stops = journal, True
        for entry in past:
            self.outcome.done += entry.done
            self.outcome.failures += entry.failures
            self.outcome.labels.update(entry.labels)
            self.outcome.paths.update(entry.paths)
            stands = (*entry.files, *((entry.closes,) if entry.closes is not None else ()))
            self._written.update((self.folder / file.name).resolve() for file in stands)
        if past and past[-1].part is not None:
            name = past[-1].part.name
            self._written.add((self.folder / name).resolve())
            self._stream = _Part(journal.part(past[-1].number), self.folder / name, name)
        self._remember()

    def _note(self, entry: Entry) -> None:
        """Appends to the journal what has come since it was last written to."""
        if self._journal is None:
            return
        for folder in {(self.folder / file.name).parent for file in self._news}:
            sync_folder(folder)
        part = self._stream.stands() if isinstance(self._stream, _Part) and entry.closes is None else None
        noted, outcome = self._noted, self.outcome
        news = replace(
            entry,
            done=outcome.done - noted.done,
            failures=tuple(outcome.failures[noted.files :]),
            labels=dict(outcome.labels - noted.labels),
            paths=dict(outcome.paths - noted.paths),
            files=tuple(self._news),
            part=part,
        )
        self._journal.add(news)
        self._news = []
        self._remember()

    def _remember(self) -> None:
        outcome = self.outcome
        self._noted = Outcome(outcome.done, [], outcome.labels.copy(), outcome.paths.copy(), len(outcome.failures))

    def end(self) -> None:
        if self._journal is not None:
            outcome = self.outcome
            summary = {"done": outcome.done, "failed": len(outcome.failures), "labels": dict(outcome.labels)}
            self._journal.end(summary | ({"paths": dict(outcome.paths)} if outcome.paths else {}))


@contextmanager
def writing(path: Path) -> Generator[BinaryIO]:
    """`replacing`, or standard output for `-`."""
    if path != STANDARD:
        with replacing(path) as stream:
            yield stream
        return
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


def worked(
    runner: Runner, paths: Sequence[Path], outcome: Outcome, *, forms: Forms | None = None
) -> Iterator[Document]:
    """Every document of the paths, worked on, in order; failures counted and passed over."""
    forms = forms or Forms()
    found, unreadable = _found(paths, forms)
    outcome.failures += unreadable
    tasks = (
        task
        for number, (source, name) in enumerate(found)
        for task in tasks_of(Task(number, source, name, "", forms.limit, gather=True))
    )
    most = 1 if runner.workers == 0 else CHUNK_TASKS
    for _, made in runner.run(chunks_of(tasks, most)):
        for one in made:
            outcome.failures += one.failures
            outcome.labels.update(one.labels)
            for doc in one.documents:
                outcome.done += 1
                yield doc


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
    formats.check_target(name)
    main = formats.load(name).SUFFIXES[0]
    unwritten = Outcome()
    if (piecewise(name) or holds_many(name)) and out.is_dir():
        raise UsageError(f"{name} holds many notes in one file, so the output must be a file, and {out} is a folder")
    if piecewise(name):
        with writing(out) as stream:
            for doc in done:
                files = written(Record((doc,)), name, doc.id, unwritten.failures)
                if files is not None:
                    stream.write(files[main])
    elif holds_many(name):
        kept = holdable(tuple(done), name, unwritten.failures)
        with writing(out) as stream:
            stream.write(formats.load(name).write(Record(kept))[main])
    else:
        output = Output(out, unwritten)
        for doc in done:
            output.add(Record((doc,)), name, doc.id)
    outcome.done -= len(unwritten.failures)
    outcome.failures += unwritten.failures
