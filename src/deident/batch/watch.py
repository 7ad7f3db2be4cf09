"""A folder whose files are scrubbed as they arrive, each once.

A file is taken when it is whole: its size and time have been still for a while, or it came with an old time (it was
moved in). Its output is written aside; then the ledger, a line a file, says so; then the output gets its name. So a
kill at any point leaves either a file that nobody has done, whose pieces are thrown away, or one that is done, whose
output gets its name when the watch goes on: nothing is lost, doubled or half there. What a consumer takes out of the
output folder is not put there again.

A file that failed stays where it is, and is tried again when it is changed. Originals are never touched, but moved
where `Taking.moved` says so, when all of a file went through.
"""

import contextlib
import errno
import os
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from pathlib import Path
from typing import Any

from deident import formats
from deident.batch import (
    CHUNK_TASKS,
    Forms,
    Outcome,
    Output,
    Runner,
    Stream,
    chunks_of,
    files_of,
    replacing,
    task_of,
    tasks_of,
    told,
)
from deident.batch._journal import Lines, sync_folder
from deident.batch._tasks import Chunk, Task, Written, unwritable
from deident.document import Failure
from deident.errors import UsageError
from deident.formats import Source

FOLDER = ".deident-watch"
# What programs call a file that they are still writing
UNFINISHED = (".part", ".tmp", ".temp", ".partial", ".filepart", ".crdownload", ".swp", "~")
_SLACK = 1000  # lines of the ledger that may be out of date before it is written anew


@dataclass(frozen=True, slots=True)
class Taking:
    """When a file is taken (seconds that it was still), how often is looked, and where what is done goes."""

    settle: float = 5.0
    every: float = 2.0
    moved: Path | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """What became of one file: its notes, and what failed of it."""

    id: str
    notes: int
    failures: tuple[Failure, ...]


@dataclass(slots=True)
class _Entry:
    """What the ledger knows of a file: what it was (sizes and times), the file it belongs to, its outputs."""

    stamp: str
    of: str
    outputs: tuple[str, ...] = ()
    whole: bool = True  # all of it went through


class Ledger(Lines):
    """Which files are done, and what their outputs are called."""

    def __init__(self, out: Path) -> None:
        super().__init__(out, FOLDER)
        self.entries: dict[str, _Entry] = {}
        self.owners: dict[str, str] = {}  # outputs, and the files whose they are
        self.going: dict[str, str] = {}  # files that are being moved, and the number that they have there
        self._halves: dict[str, list[str]] = {}

    def of(self, main: str) -> list[tuple[str, _Entry]]:
        """A file and those beside it that belong to it."""
        return [(path, self.entries[path]) for path in (main, *self._halves.get(main, ())) if path in self.entries]

    def begin(self) -> None:
        """Reads what is done, and gives their names to outputs that a kill left without."""
        lines = self._lines()
        for line in lines:
            self._count(line)
        if lines:  # of those before it all outputs have their names
            self._name(lines[-1])
        self._clear()
        if len(lines) > 2 * len(self.entries) + _SLACK:
            going = ({"going": main, "number": number} for main, number in self.going.items())
            self._instead(chain(map(self._told, self.entries), going))
            self._whole = self._path.stat().st_size
        self._append_to(self._whole)

    def close(self, main: str, stamps: Mapping[str, str], parts: Sequence[tuple[Path, str]], *, whole: bool) -> None:
        """The file is done: from here on its outputs will have their names, whatever happens."""
        line = {"file": main, "stamps": stamps, "parts": [(part.name, name) for part, name in parts], "whole": whole}
        self._write(line)
        self._count(line)
        self._name(line)

    def send(self, main: str, number: str) -> None:
        """The file and those beside it are about to be moved, under this number."""
        line = {"going": main, "number": number}
        self._write(line)
        self._count(line)

    def forget(self, main: str) -> None:
        """The file is not there any more: another one may come under its name."""
        self._write({"gone": main})
        self._count({"gone": main})

    def _told(self, path: str) -> dict[str, Any]:
        entry = self.entries[path]
        names = [("", name) for name in entry.outputs]
        return {"file": entry.of, "stamps": {path: entry.stamp}, "parts": names, "whole": entry.whole}

    def _count(self, line: Mapping[str, Any]) -> None:
        try:
            if "going" in line:
                self.going[str(line["going"])] = str(line["number"])
                return
            if "gone" in line:
                self.going.pop(str(line["gone"]), None)
                for path, entry in self.of(str(line["gone"])):
                    del self.entries[path]
                    for name in entry.outputs:
                        self.owners.pop(name, None)
                self._halves.pop(str(line["gone"]), None)
                return
            main = str(line["file"])
            names = tuple(str(name) for _, name in line["parts"])
            for path, stamp in line["stamps"].items():
                self.entries[path] = _Entry(str(stamp), main, names if path == main else (), bool(line["whole"]))
                if path != main and path not in self._halves.setdefault(main, []):
                    self._halves[main].append(path)
            self.owners |= dict.fromkeys(names, main)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise UsageError(f"the journal in {self.folder} is damaged; remove the folder to begin anew") from None

    def _name(self, line: Mapping[str, Any]) -> None:
        for part, name in line.get("parts", ()):
            place = self.out / name
            if part and (self.folder / part).exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                (self.folder / part).replace(place)
                sync_folder(place.parent)


class _Aside:
    """An output that lies in the ledger's folder until its file is done."""

    def __init__(self, path: Path) -> None:
        self.done = 0
        self._stream = path.open("wb")

    def write(self, data: bytes) -> None:
        self._stream.write(data)

    def flush(self) -> None:
        self._stream.flush()

    def finish(self) -> None:
        self._stream.flush()
        os.fsync(self._stream.fileno())
        self._stream.close()

    def abandon(self, error: BaseException) -> None:  # noqa: ARG002
        with contextlib.suppress(OSError):
            self._stream.close()


class _Aimed(Output):
    """The output folder, in which a file's output appears when the ledger says that the file is done."""

    def __init__(self, ledger: Ledger, outcome: Outcome, *, numbered: bool, rename: bytes | None) -> None:
        """numbered: a file that comes under a name that was there before has an output with a number."""
        super().__init__(ledger.out, outcome, rename=rename)
        self._stops = True
        self._ledger = ledger
        self._numbered = numbered
        self._number = ""
        self.main = ""  # the file at hand
        self._parts: list[tuple[Path, str]] = []

    def begin(self, main: str) -> None:
        self.main, self._number, self._parts, self._written = main, "", [], set()

    def name(self, source: Source, suffix: str) -> str:
        name = super().name(source, suffix)
        ending = f"{suffix}{formats.PACKED if source.packed else ''}"
        stem = name.removesuffix(ending)
        if self._numbered and not self._number:
            self._number = _free(lambda number: self._others(f"{stem}{number}{ending}"))
        return f"{stem}{self._number}{ending}"

    def _others(self, name: str) -> bool:
        """Whether there is an output of this name that is not of the file at hand."""
        owner = self._ledger.owners.get(name)
        return owner != self.main if owner is not None else (self.folder / name).exists()

    def check(self, name: str) -> None:
        super().check(name)
        if self._others(name):
            raise UsageError("there is an output of its name, which is not of this file")

    def close(self, stamps: Mapping[str, str], *, whole: bool) -> None:
        for place in {(self.folder / name).parent for _, name in self._parts}:
            place.mkdir(parents=True, exist_ok=True)
        sync_folder(self._ledger.folder)
        self._ledger.close(self.main, stamps, self._parts, whole=whole)

    def _part(self, name: str) -> Path:
        self.check(name)
        self._written.add((self.folder / name).resolve())
        # a name that no line of the ledger has: the last one may be read again after a kill
        return self._ledger.folder / f"{secrets.token_hex(8)}.part"

    def _append(self, task: Task, record: Written) -> None:
        try:
            super()._append(task, record)
        except UsageError as error:  # it cannot have its name
            self._broken = task.number
            self.outcome.failures.append(unwritable(task.source.id, task.target, error))

    def _opened(self, task: Task, suffix: str) -> Stream:
        name = self.name(task.source, suffix)
        part = self._part(name)
        stream = _Aside(part)
        self._parts.append((part, name))
        return stream

    def _write(self, files: Mapping[str, bytes]) -> None:
        written: list[tuple[Path, str]] = []
        for name, data in files.items():
            part = self._part(name)
            stream = _Aside(part)
            stream.write(data)
            stream.finish()
            written.append((part, name))
        self._parts += written


def _free(taken: Callable[[str], bool]) -> str:
    """Nothing, or the first of ".2", ".3" … that is not taken."""
    return next(number for number in chain([""], (f".{place}" for place in count(2))) if not taken(number))


@dataclass(slots=True)
class Watch:
    """A folder, what is done with its files, and where to; `stop()` ends it after the files at hand."""

    runner: Runner
    folder: Path
    out: Path
    forms: Forms = field(default_factory=Forms)
    taking: Taking = field(default_factory=Taking)
    rename: bytes | None = field(default=None, repr=False)
    stopped: bool = field(default=False, init=False)
    # files that are not done: what they were when they were last seen, and since when they are so
    _still: dict[str, tuple[str, float]] = field(default_factory=dict[str, tuple[str, float]], init=False)

    def __post_init__(self) -> None:
        if not self.folder.is_dir():
            raise UsageError(f"there is no folder {self.folder} to watch")
        places = [self.out, *((self.taking.moved,) if self.taking.moved is not None else ())]
        for place in places:
            inner, outer = place.resolve(), self.folder.resolve()
            if inner.is_relative_to(outer) or outer.is_relative_to(inner):
                raise UsageError(f"{place} and the folder that is watched must not lie within each other")

    def stop(self) -> None:
        self.stopped = True

    def run(self, wait: Callable[[float], object] | None) -> Iterator[Done]:
        """Each file, when it is done. wait: sleeps so many seconds, or less; None: one look, and no more."""
        with Ledger(self.out) as ledger:
            ledger.begin()
            for main in tuple(ledger.going):  # what a kill left half moved
                self._away(ledger, main)
            while not self.stopped:
                begun = time.monotonic()
                yield from self._look(ledger)
                if wait is None:
                    return
                if not self.stopped:  # a folder of many files is not looked through all the time
                    wait(max(self.taking.every, 3 * (time.monotonic() - begun)))

    def _look(self, ledger: Ledger) -> Iterator[Done]:
        arrived = list(self._arrived(ledger))
        stamps = {main: stamps for _, main, stamps in arrived}
        found: list[tuple[Source, str]] = []
        for item, main, _ in arrived:
            if isinstance(item, Failure):
                ledger.close(main, stamps[main], (), whole=False)
                yield Done(main, 0, (item,))
            else:
                found.append(item)
        outcome = Outcome()
        output = _Aimed(ledger, outcome, numbered=self.taking.moved is not None, rename=self.rename)
        at = -1
        try:
            for chunk, made in self.runner.run(chunks_of(self._tasks(found), CHUNK_TASKS)):
                for task, one in zip(chunk.tasks, made, strict=True):
                    main = self._inner(task.source.path)
                    if task.number != at:
                        at = task.number
                        output.begin(main)
                    output.take(Chunk((task,)), (one,))
                    if task.last:
                        done = Done(main, outcome.done, tuple(outcome.failures))
                        outcome.done, outcome.failures = 0, []
                        output.close(stamps[main], whole=not done.failures)
                        unmoved = self._away(ledger, main)
                        yield done if unmoved is None else replace(done, failures=(*done.failures, unmoved))
        except BaseException as error:
            output.abandon(error)
            raise

    def _tasks(self, found: Sequence[tuple[Source, str]]) -> Iterator[Task]:
        for number, (source, name) in enumerate(found):
            if self.stopped:
                return
            yield from tasks_of(task_of(number, source, name, self.forms))

    # ---- what has arrived -------------------------------------------------------------------------------------------

    def _inner(self, path: Path) -> str:
        return path.relative_to(self.folder).as_posix()

    def _arrived(self, ledger: Ledger) -> Iterator[tuple[tuple[Source, str] | Failure, str, dict[str, str]]]:
        """The files that are whole and not done, with their formats; or why they cannot be read. With each its name,
        and what it and the files beside it are now."""
        items = [(source, told(source, self.forms.read_as)) for source in self._whole(ledger)]
        second = {half for _, item in items if not isinstance(item, Failure) for half in files_of(*item)[1:]}
        for source, item in items:
            if source.path in second:
                continue
            main = self._inner(source.path)
            paths = [source.path] if isinstance(item, Failure) else [p for p in files_of(*item) if p.exists()]
            stamps = {self._inner(path): stamp for path in paths if (stamp := _stamp(path)) is not None}
            if main not in stamps or not all(self._settled(path, stamp) for path, stamp in stamps.items()):
                continue  # it has gone again, or what lies beside it is not whole
            try:
                main.encode()
                if not isinstance(item, Failure):
                    formats.check_target(self.forms.write_as or item[1])
            except UnicodeEncodeError:
                continue  # the ledger could not name it; `deident scrub` says so
            except UsageError as error:
                item = Failure(source.id, str(error))
            yield item, main, stamps

    def _whole(self, ledger: Ledger) -> Iterator[Source]:
        """The files that are not done and were still for long enough."""
        suffixes = formats.suffixes(self.forms.read_as) if self.forms.read_as is not None else ()
        waiting: set[str] = set()
        found: dict[Path, Source] = {}
        for source in formats.sources([self.folder], suffixes):
            path = self._inner(source.path)
            stamp = _stamp(source.path)
            if stamp is None or path.lower().endswith(UNFINISHED):
                continue
            entry = ledger.entries.get(path)
            if entry is not None and entry.stamp == stamp:
                self._away(ledger, entry.of)
                continue
            waiting.add(path)
            if not self._settled(path, stamp):
                continue
            if entry is not None and entry.of != path:  # it belongs to another file, which is to be done anew
                source = Source(self.folder / entry.of, formats.named(Path(entry.of)))
            found[source.path] = source
        self._still = {path: seen for path, seen in self._still.items() if path in waiting}
        yield from found.values()

    def _settled(self, path: str, stamp: str) -> bool:
        seen, now = self._still.get(path), time.monotonic()
        if seen is not None and seen[0] == stamp:
            return now - seen[1] >= self.taking.settle
        written = time.time() - int(stamp.partition(":")[2]) / 1e9  # seconds ago
        # what is seen for the first time and was written long ago has been moved in, or lay there
        self._still[path] = stamp, now - self.taking.settle if seen is None and written >= self.taking.settle else now
        return now - self._still[path][1] >= self.taking.settle

    # ---- where originals go -----------------------------------------------------------------------------------------

    def _away(self, ledger: Ledger, main: str) -> Failure | None:
        """Moves a file that went through, and those beside it, where they were asked to go. What cannot be moved is
        a Failure, and is tried again at the next look."""
        goal, files = self.taking.moved, dict(ledger.of(main))
        if goal is None or not all(entry.whole for entry in files.values()):
            return None
        if any(_stamp(self.folder / path) not in (entry.stamp, None) for path, entry in files.items()):
            return None  # it was changed meanwhile, and is taken again
        number = ledger.going.get(main)
        if number is None:
            number = _free(lambda number: any((goal / _numbered(path, number)).exists() for path in files))
            ledger.send(main, number)
        try:
            for path in files:
                if (self.folder / path).exists():
                    _move(self.folder / path, goal / _numbered(path, number))
        except OSError as error:
            return Failure(main, f"went through, but cannot be moved ({error.strerror})")
        ledger.forget(main)
        return None


def _numbered(path: str, number: str) -> str:
    stem = formats.named(Path(path))
    return f"{stem}{number}{path.removeprefix(stem)}"


def _stamp(path: Path) -> str | None:
    """Size and time of a regular file; None where there is none."""
    try:
        facts = path.stat()
    except OSError:
        return None
    return f"{facts.st_size}:{facts.st_mtime_ns}" if stat.S_ISREG(facts.st_mode) else None


def _move(path: Path, place: Path) -> None:
    """By renaming; to another disk by a copy that is whole before the original goes."""
    place.parent.mkdir(parents=True, exist_ok=True)
    try:
        path.rename(place)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        with replacing(place, private=True) as copy, path.open("rb") as original:
            shutil.copyfileobj(original, copy)
        shutil.copystat(path, place)
        path.unlink()
    sync_folder(place.parent)
