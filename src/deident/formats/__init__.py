"""Formats: one file each, `read` and `write`; this module finds the files and hands them over.

A record is one or more files that differ only by suffix (brat: `.ann` beside `.txt`). A format is a module with

    SUFFIXES: tuple[str, ...]                     of one record; the first one is the file that names it
    read(files, *, name) -> Record                files: suffix → bytes
    write(record) -> dict[str, bytes]

and, where it has them,

    sniff(suffix, head) -> bool                   whether a file that starts with these bytes is in this format
    pieces(stream) -> Iterator[(line, bytes)]     cuts one long file into records that can be read one by one;
                                                  the bytes that `write` makes of them, joined, are the file

Offsets inside deident count code points; a format that counts otherwise converts at its own door.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol, cast

from deident import plugins
from deident.document import Failure, Record
from deident.errors import DeidentError, FormatError, UsageError

Files = Mapping[str, bytes]
Pieces = Callable[[BinaryIO], Iterator[tuple[int, bytes]]]
HEAD_BYTES = 4096
DEFAULT_LIMIT = 64 * 1024 * 1024


class Format(Protocol):
    SUFFIXES: tuple[str, ...]

    def read(self, files: Files, *, name: str) -> Record: ...

    def write(self, record: Record) -> dict[str, bytes]: ...


@dataclass(frozen=True, slots=True)
class Source:
    """One file to read: where it is, and the id of its record (its name without suffix, below the folder given)."""

    path: Path
    id: str


def load(name: str) -> Format:
    return cast(Format, plugins.load("formats", name))


def names() -> list[str]:
    return plugins.names("formats")


def guess(path: Path) -> str:
    """The format of a file by its suffix and first bytes; plain text only where the suffix is `.txt` or `.text`."""
    with path.open("rb") as stream:
        head = stream.read(HEAD_BYTES)
    for name in names():
        sniff = getattr(load(name), "sniff", None)
        if sniff is not None and sniff(path.suffix.lower(), head):
            return name
    raise UsageError(f"cannot tell the format of {path}; say --from, one of: {', '.join(names())}")


def sources(inputs: Iterable[Path], suffix: str | None = None) -> Iterator[Source]:
    """The files named, and every file below the folders named, in a fixed order; hidden ones are passed over.

    `suffix` narrows folders to a format's main file.
    """
    seen: set[str] = set()
    for given in inputs:
        if given.is_dir():
            found = [
                Source(path, path.relative_to(given).with_suffix("").as_posix())
                for path in sorted(given.rglob("*"))
                if path.is_file()
                and (suffix is None or path.suffix.lower() == suffix)
                and not any(part.startswith(".") for part in path.relative_to(given).parts)
            ]
        elif given.exists():
            found = [Source(given, given.stem)]
        else:
            raise UsageError(f"there is no file or folder {given}")
        for source in found:
            if source.id in seen:
                raise UsageError(f"two inputs have the id '{source.id}': give their folder, or rename one")
            seen.add(source.id)
            yield source


def records(source: Source, name: str, *, limit: int = DEFAULT_LIMIT) -> Iterator[Record | Failure]:
    """The records of one file. What cannot be read comes as a Failure with its reason, and reading goes on."""
    form = load(name)
    pieces: Pieces | None = getattr(form, "pieces", None)
    if pieces is not None:
        yield from _piecewise(source, form, pieces, limit)
        return
    try:
        files = {form.SUFFIXES[0]: _content(source.path, limit)}
        for suffix in form.SUFFIXES[1:]:
            beside = source.path.with_suffix(suffix)
            if beside.exists():
                files[suffix] = _content(beside, limit)
        record = form.read(files, name=source.id)
    except (DeidentError, OSError) as error:
        yield Failure(source.id, _reason(error))
        return
    yield record


def _piecewise(source: Source, form: Format, pieces: Pieces, limit: int) -> Iterator[Record | Failure]:
    try:
        stream = source.path.open("rb")
    except OSError as error:
        yield Failure(source.id, _reason(error))
        return
    with stream:
        if stream.peek(1) == b"":
            yield Failure(source.id, "the file is empty")
        for line, piece in pieces(stream):
            if len(piece) > limit:
                yield Failure(source.id, f"line {line}: a record of {len(piece)} bytes is over the limit of {limit}")
                continue
            try:
                record = form.read({form.SUFFIXES[0]: piece}, name=f"{source.id}:{line}")
            except DeidentError as error:
                reason = error.reason if isinstance(error, FormatError) else str(error)
                yield Failure(source.id, f"line {line}: {reason}")
                continue
            yield record


def _content(path: Path, limit: int) -> bytes:
    size = path.stat().st_size
    if size > limit:
        raise FormatError(f"the file has {size} bytes, over the limit of {limit}; raise it with --max-bytes")
    return path.read_bytes()


def _reason(error: Exception) -> str:
    return f"cannot be read ({error.strerror})" if isinstance(error, OSError) else str(error)


def decode(data: bytes) -> str:
    """UTF-8 bytes as text. What is not text is refused, by offset, never replaced: a lost byte may hide a name."""
    if not data:
        raise FormatError("the file is empty")
    at = data.find(b"\0")
    if at >= 0:
        raise FormatError(f"NUL byte at offset {at}: not a text file")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FormatError(f"not UTF-8 at byte offset {error.start}") from None


def encode(text: str) -> bytes:
    return text.encode("utf-8")


def lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """`pieces` of every format that has one record a line: the non-blank lines with their numbers."""
    for number, line in enumerate(stream, 1):
        if line.strip():
            yield number, line
