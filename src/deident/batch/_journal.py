"""What a run has finished, on disk, so that it can be killed at any point and go on as if it had not been.

A folder `.deident` in the output folder holds `journal`, one JSON object a line, appended and synced after each chunk
of work whose output stands; files not yet whole (`*.part`); and a lock. A line says how far the run is (file and
piece), what it wrote (name, size, SHA-256) and what failed. No line holds text of a note or a span.

What a kill can leave: half a last line (dropped), outputs that no line tells of (written anew, the same), a part that
is longer than the last line says (cut), an output whose renaming was announced and not done (done now). Before going
on everything is compared with what the lines say: the settings, the inputs (name, size, time), and the outputs, byte
for byte. When the run has ended the journal says what its outputs are, and counts: the ids of notes that failed go.
"""

import contextlib
import hashlib
import json
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Self

from deident.document import Failure
from deident.errors import UsageError

FOLDER = ".deident"
_JOURNAL = "journal"
_LOCK = "lock"
_VERSION = 1
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Stands:
    """A file, or the first bytes of one, as it must be found again."""

    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One chunk done: the run goes on at piece `place` of file `number`."""

    number: int
    place: int = 0
    done: int = 0
    failures: tuple[Failure, ...] = ()
    labels: Mapping[str, int] = field(default_factory=dict[str, int])
    paths: Mapping[str, int] = field(default_factory=dict[str, int])
    files: tuple[Stands, ...] = ()
    part: Stands | None = None  # of the output that is being written
    closes: Stands | None = None  # a part that is whole now and gets its name


def digest(path: Path, size: int | None = None) -> tuple[int, Any]:
    """The size and the SHA-256 object of a file, or of its first `size` bytes."""
    hashed = hashlib.sha256()
    count = 0
    with path.open("rb") as stream:
        while block := stream.read(_BLOCK if size is None else min(_BLOCK, size - count)):
            hashed.update(block)
            count += len(block)
    return count, hashed


def sync_folder(folder: Path) -> None:
    """A new name in a folder outlives a power cut only when the folder itself is synced."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Lines:
    """JSON objects, one a line, each on the disk before the next; in a folder of their own, which one process holds."""

    def __init__(self, out: Path, folder: str) -> None:
        self.out = out
        self.folder = out / folder
        self._path = self.folder / _JOURNAL
        self._stream: BinaryIO | None = None
        self._lock: BinaryIO | None = None

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        self.folder.chmod(0o700)
        self._lock = (self.folder / _LOCK).open("wb")
        try:
            _lock(self._lock, self.out)
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for stream in (self._stream, self._lock):
            if stream is not None:
                stream.close()

    def _lines(self) -> list[dict[str, Any]]:
        """The whole lines; `_whole` is where they end."""
        self._whole = 0
        found: list[dict[str, Any]] = []
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return found
        *lines, _ = data.split(b"\n")  # what stands behind the last line end is none, or half a line
        for number, line in enumerate(lines, 1):
            try:
                found.append(json.loads(line))
            except ValueError:
                raise UsageError(
                    f"line {number} of {self._path} is damaged; remove {self.folder} to begin anew"
                ) from None
            self._whole += len(line) + 1
        return found

    def _append_to(self, size: int) -> None:
        self._stream = self._path.open("ab")
        self._path.chmod(0o600)
        self._stream.truncate(size)
        sync_folder(self.folder)

    def _write(self, data: Mapping[str, Any]) -> None:
        assert self._stream is not None
        self._stream.write(_line(data))
        self._stream.flush()
        os.fsync(self._stream.fileno())

    def _instead(self, lines: Iterable[Mapping[str, Any]]) -> None:
        """These lines and no others."""
        whole = self.folder / f"{_JOURNAL}.new"
        with whole.open("wb") as stream:
            whole.chmod(0o600)
            stream.writelines(map(_line, lines))
            stream.flush()
            os.fsync(stream.fileno())
        whole.replace(self._path)
        sync_folder(self.folder)

    def _clear(self, kept: Collection[str] = ()) -> None:
        """Takes away what lies in the folder beside the journal."""
        for left in self.folder.iterdir():
            if left.name not in (_JOURNAL, _LOCK, *kept):
                left.unlink()

    def part(self, number: int) -> Path:
        """Where the output of a file lies until it is whole."""
        return self.folder / f"{number}.part"


class Journal(Lines):
    """The journal of one output folder. `facts` says what must not have changed when a run goes on."""

    def __init__(self, out: Path, facts: Mapping[str, str]) -> None:
        super().__init__(out, FOLDER)
        self._facts = {**facts, "journal": str(_VERSION)}

    def begin(self) -> list[Entry] | dict[str, Any]:
        """The entries of the run that was interrupted (none at first), or the summary of the one that has ended."""
        lines = self._lines()
        if not lines:
            self._check([])
            self._append_to(0)
            self._write(self._facts)
            return []
        self._compare(lines[0])
        summary = lines.pop()["summary"] if "summary" in lines[-1] else None
        entries = [_entry(line) for line in lines[1:]]
        self._check(entries)
        if summary is not None:
            return dict(summary)
        self._append_to(self._whole)
        return entries

    def add(self, entry: Entry) -> None:
        data = {key: value for key, value in asdict(entry).items() if value or key == "number"}
        self._write(data)

    def end(self, summary: Mapping[str, Any]) -> None:
        """Leaves the facts, the outputs and the counts."""
        kept = [{key: line[key] for key in ("number", "files", "closes") if key in line} for line in self._lines()[1:]]
        self._instead((self._facts, *(line for line in kept if len(line) > 1), {"summary": dict(summary)}))
        self._clear()

    def _compare(self, before: Mapping[str, str]) -> None:
        for name, fact in self._facts.items():
            if before.get(name) != fact:
                raise UsageError(
                    f"the {name} changed since the run into {self.out} was begun: give what it had, "
                    f"or remove {self.folder} to begin anew"
                )

    def _check(self, entries: list[Entry]) -> None:
        """All outputs are as they were left; what a kill left half done is put right."""
        for stands in _outputs(entries):
            self._must_stand(self.out / stands.name, stands, whole=True)
        last = entries[-1] if entries else None
        if last is not None and last.closes is not None:
            part = self.part(last.number - 1)
            if part.exists():
                self._must_stand(part, last.closes, whole=True)
                place = self.out / last.closes.name
                part.replace(place)
                sync_folder(place.parent)
            self._must_stand(self.out / last.closes.name, last.closes, whole=True)
        kept: set[str] = set()
        if last is not None and last.part is not None:
            part = self.part(last.number)
            self._must_stand(part, last.part, whole=False)
            os.truncate(part, last.part.size)
            kept.add(part.name)
        self._clear(kept)

    def _must_stand(self, path: Path, stands: Stands, *, whole: bool) -> None:
        try:
            size, hashed = digest(path, None if whole else stands.size)
        except FileNotFoundError:
            size, hashed = -1, None
        if hashed is None or size != stands.size or hashed.hexdigest() != stands.sha256:
            raise UsageError(
                f"the output {path} is gone, or was changed, since this run wrote it: "
                f"remove {self.folder} to begin anew"
            )


def _outputs(entries: list[Entry]) -> Iterator[Stands]:
    for place, entry in enumerate(entries, 1):
        yield from entry.files
        if entry.closes is not None and place < len(entries):
            yield entry.closes


def _line(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, ensure_ascii=True).encode("ascii") + b"\n"


def _entry(data: dict[str, Any]) -> Entry:
    try:
        return Entry(
            int(data["number"]),
            int(data.get("place", 0)),
            int(data.get("done", 0)),
            tuple(Failure(**failure) for failure in data.get("failures", ())),
            Counter(data.get("labels", {})),
            Counter(data.get("paths", {})),
            tuple(Stands(**stands) for stands in data.get("files", ())),
            *(Stands(**data[name]) if name in data else None for name in ("part", "closes")),
        )
    except (TypeError, ValueError, KeyError):
        raise UsageError("the journal of the run is damaged") from None


def _lock(stream: BinaryIO, out: Path) -> None:
    """Held until the process ends, however it ends."""
    with contextlib.suppress(ImportError):
        import fcntl

        try:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise UsageError(f"another run is writing into {out}") from None
