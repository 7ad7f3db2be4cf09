"""What is done to one file, or to one piece of a long one: read, work, write; in whatever process it is done.

A task goes to a process with a path or the piece's bytes; what comes back is bytes to write, or documents, and why
what failed has failed.
"""

import gzip
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

from deident import formats
from deident.batch import _names
from deident.config import Config
from deident.document import Document, Failure, Record, Skeleton
from deident.errors import DeidentError, MissingPackageError
from deident.formats import Source
from deident.pipeline import Pipeline, attempt_all

Work = Callable[[Document], Document]
Verb = Literal["scrub", "detect"]


@dataclass(frozen=True, slots=True)
class Task:
    """One file, or one piece of it.

    number: which of the run's files it is; place: which of its pieces; last: whether it is the file's last task.
    target: the format that it is written in; gather: the documents themselves are wanted.
    """

    number: int
    source: Source
    form: str
    target: str
    limit: int
    gather: bool = False
    place: int = 1
    line: int = 0
    piece: bytes | Failure | None = field(default=None, repr=False)
    last: bool = True
    size: int = 0


@dataclass(frozen=True, slots=True)
class Written:
    """A record as the files that hold it, by suffix; its name where that is not the name of its source."""

    files: dict[str, bytes] = field(repr=False)
    documents: int
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Made:
    """What became of a task; of the values of structured records by path: "blocked OBX-5.5", and how often."""

    records: tuple[Written, ...] = ()
    documents: tuple[Document, ...] = ()
    failures: tuple[Failure, ...] = ()
    labels: Counter[str] = field(default_factory=Counter[str])
    paths: Counter[str] = field(default_factory=Counter[str])


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some tasks, done by one process."""

    tasks: tuple[Task, ...]

    def parts(self) -> "list[Chunk]":
        return [Chunk((task,)) for task in self.tasks]

    def died(self, reason: str) -> tuple[Made, ...]:
        return tuple(Made(failures=(_dead(task, reason),)) for task in self.tasks)


def _dead(task: Task, reason: str) -> Failure:
    return Failure(task.source.id, f"line {task.line}: {reason}" if task.piece is not None else reason)


def make(
    config: Config, run_key: bytes | None, verb: Verb, rename: bytes | None
) -> Callable[[Chunk], tuple[Made, ...]]:
    """What a process does with a chunk: loads words and models, once."""
    pipeline = Pipeline.from_config(config, run_key=run_key)
    work = pipeline.rewrite if verb == "scrub" else pipeline.detect
    shown = pipeline.shown if verb == "scrub" else _whole
    return partial(do_all, work if rename is None else _names.renaming(work, rename), shown=shown)


def _whole(doc: Document) -> Document:
    return doc


def do_all(work: Work, chunk: Chunk, *, shown: Work = _whole) -> tuple[Made, ...]:
    """shown: what is written of a document, whose spans have been counted."""
    made = tuple(do(work, task, shown=shown) for task in chunk.tasks)
    first = chunk.tasks[0]
    if not first.source.packed or first.gather:
        return made
    if not (piecewise(first.form) and piecewise(first.target)):
        return tuple(_packed(one, first) for one in made)
    together = _together(made)
    return (_packed(together, first), *(replace(one, records=()) for one in made[1:])) if together.records else made


def _together(made: Sequence[Made]) -> Made:
    """The records of a chunk as one, which packs better than each by itself."""
    records = [record for one in made for record in one.records]
    if not records:
        return made[0]
    (suffix,) = records[0].files
    data = b"".join(record.files[suffix] for record in records)
    return replace(made[0], records=(Written({suffix: data}, sum(record.documents for record in records)),))


def _packed(made: Made, task: Task) -> Made:
    records = (
        replace(record, files=packed_files(record.files, task.source)) if record.name is None else record
        for record in made.records
    )
    return replace(made, records=tuple(records))


def packed_files(files: dict[str, bytes], source: Source) -> dict[str, bytes]:
    """The files, packed if their source is; the same bytes at any time."""
    if not source.packed:
        return files
    return {suffix: gzip.compress(data, 6, mtime=0) for suffix, data in files.items()}


def do(work: Work, task: Task, *, shown: Work = _whole) -> Made:
    """The task done."""
    form = formats.load(task.form)
    failures: list[Failure] = []
    records: list[Record] = []
    paths = Counter[str]()
    if isinstance(task.piece, Failure):
        found: Iterable[Record | Failure] = (task.piece,)
    elif task.piece is not None:
        found = (formats.of_piece(task.source, form, task.line, task.piece),)
    elif piecewise(task.form):  # the end of a file of pieces, which all are done
        found = ()
    else:
        found = formats.records(task.source, task.form, limit=task.limit)
    for record in found:
        if isinstance(record, Failure):
            failures.append(record)
            continue
        done, failed = attempt_all(work, record.documents)
        failures += failed
        if failed:
            continue
        if isinstance(record.frame, Skeleton):
            paths.update({f"{what} {path}": count for (what, path), count in record.frame.paths.items()})
            records.append(Record(done, record.frame))
        else:  # without its frame, which may hold pieces of the input that no detector has seen
            records.append(Record(done))
    labels = Counter(span.label.value for record in records for doc in record.documents for span in doc.spans)
    records = [record.with_documents(map(shown, record.documents)) for record in records]
    if task.gather:
        return Made((), tuple(doc for record in records for doc in record.documents), tuple(failures), labels, paths)
    outputs = _outputs(task, records, failures)
    return Made(tuple(outputs), (), tuple(failures), labels, paths)


def _outputs(task: Task, records: Sequence[Record], failures: list[Failure]) -> list[Written]:
    """The files that the records become; what the target cannot hold is added to the failures."""
    target = task.target
    many = piecewise(task.form) or holds_many(task.form)
    named: list[tuple[Record, str | None]] = []
    if piecewise(target) or target == task.form:
        named = [(record, None) for record in records]
    elif holds_many(target):
        held = holdable([doc for record in records for doc in record.documents], target, failures)
        named = [(Record(held), None)] if held else []
    else:
        for record in records:
            alone = len(record.documents) == 1 and not many
            named += [(Record((doc,)), None if alone else doc.id) for doc in record.documents]
    outputs: list[Written] = []
    for record, name in named:
        identifier = record.documents[0].id if piecewise(target) and record.documents else name or task.source.id
        files = written(record, target, identifier, failures)
        if files is not None:
            if target == task.form:
                main = formats.load(target).SUFFIXES[0]
                files = {own_suffix(task) if suffix == main else suffix: data for suffix, data in files.items()}
            # a structured record is one note, however many texts it has
            outputs.append(Written(files, 1 if isinstance(record.frame, Skeleton) else len(record.documents), name))
    return outputs


def own_suffix(task: Task) -> str:
    """What the name of the output ends in: as that of the input, where the format knows several."""
    known = formats.suffixes(task.target)
    return task.source.suffix if task.target == task.form and task.source.suffix in known else known[0]


def piecewise(name: str) -> bool:
    return hasattr(formats.load(name), "pieces")


def holds_many(name: str) -> bool:
    return bool(getattr(formats.load(name), "MANY", False))


def written(record: Record, name: str, identifier: str, failures: list[Failure]) -> dict[str, bytes] | None:
    """The files of a record; None, and a failure, where the format cannot hold it."""
    try:
        return formats.load(name).write(record)
    except MissingPackageError:  # no other note fares better
        raise
    except DeidentError as error:
        failures.append(unwritable(identifier, name, error))
        return None


def holdable(docs: Sequence[Document], name: str, failures: list[Failure]) -> tuple[Document, ...]:
    return tuple(doc for doc in docs if written(Record((doc,)), name, doc.id, failures) is not None)


def unwritable(identifier: str, name: str, error: DeidentError | OSError) -> Failure:
    if isinstance(error, OSError):
        return Failure(identifier, f"cannot be written ({error.strerror})")
    return Failure(identifier, f"cannot be written as {name}: {error}")
