"""Formats: one file each, `read` and `write`; this module finds the files and hands them over.

A record is one or more files that differ only by suffix (brat: `.ann` beside `.txt`). A format is a module with

    SUFFIXES: tuple[str, ...]                     of one record; the first one is the file that names it
    read(files, *, name) -> Record                files: suffix → bytes
    write(record) -> dict[str, bytes]             not in a format that can only be read (docx, rtf, pdf)

and, where it has them,

    sniff(suffix, head) -> bool                   whether a file that starts with these bytes is in this format
    pieces(stream) -> Iterator[(line, bytes)]     cuts one long file into records that can be read one by one;
                                                  the bytes that `write` makes of them, joined, are the file

    MANY = True                                   one file of it holds many documents, but must be written whole
    ALSO: tuple[str, ...]                         other suffixes of such files, which they keep
    configured(option) -> a format                what `name:option` is
    STRUCTURED = True                             it reads a record with a `document.Skeleton` as its frame (HL7, FHIR,
                                                  CDA), and writes no other record

Offsets inside deident count code points; a format that counts otherwise converts at its own door.
"""

import codecs
import gzip
import sys
import zlib
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from deident import plugins
from deident.document import Failure, Record
from deident.errors import DeidentError, FormatError, UsageError

Files = Mapping[str, bytes]
Pieces = Callable[[BinaryIO], Iterator[tuple[int, bytes]]]
HEAD_BYTES = 4096
DEFAULT_LIMIT = 64 * 1024 * 1024
PACKED = ".gz"
STANDARD = Path("-")  # standard input, or output

# What standard input, which has no suffix, is by its first character; anything else is plain text.
_SUFFIX_BY_START: Mapping[bytes, str] = {b"{": ".jsonl", b"[": ".json", b"<": ".xml"}


class Format(Protocol):
    SUFFIXES: tuple[str, ...]

    def read(self, files: Files, *, name: str) -> Record: ...

    def write(self, record: Record) -> dict[str, bytes]: ...


@dataclass(frozen=True, slots=True)
class Source:
    """One file to read: where it is, and the id of its record (its name without suffix, below the folder given).

    A file packed with gzip is read as what is in it. `content` is what standard input held, for another process.
    """

    path: Path
    id: str
    content: bytes | None = field(default=None, repr=False)

    @property
    def packed(self) -> bool:
        return self.path.suffix.lower() == PACKED

    @property
    def suffix(self) -> str:
        return Path(self.path.stem if self.packed else self.path.name).suffix.lower()

    def beside(self, suffix: str) -> Path:
        """The file that differs in its suffix only."""
        bare = self.path.with_suffix("") if self.packed else self.path
        other = bare.with_suffix(suffix)
        return other.with_name(other.name + self.path.suffix) if self.packed else other

    @contextmanager
    def opened(self) -> Generator[BufferedReader]:
        if self.content is not None:
            yield BufferedReader(cast(Any, BytesIO(self.content)))
        elif self.path == STANDARD:
            yield cast(BufferedReader, sys.stdin.buffer)
        elif self.packed:
            try:
                with gzip.open(self.path, "rb") as unpacked, BufferedReader(cast(Any, unpacked)) as stream:
                    yield stream
            except EOFError:
                raise FormatError("the compressed file is cut off") from None
            except (gzip.BadGzipFile, zlib.error):
                raise FormatError("the compressed file is damaged") from None
        else:
            with self.path.open("rb") as stream:
                yield stream

    def size(self) -> int:
        """Bytes as they lie on the disk; 0 where nobody can say."""
        return self.path.stat().st_size if self.path != STANDARD and self.path.is_file() else 0


def named(path: Path) -> str:
    """The name of a file without its suffix, and without that of its packing."""
    bare = path.with_suffix("") if path.suffix.lower() == PACKED else path
    return bare.with_suffix("").as_posix()


def load(name: str) -> Format:
    """The format of a name; `hl7:site.toml` is one with an option."""
    name, _, option = name.partition(":")
    form = plugins.load("formats", name)
    if not option:
        return cast(Format, form)
    if not hasattr(form, "configured"):
        raise UsageError(f"{name} takes no option behind a colon")
    return cast(Format, form.configured(option))


def suffixes(name: str) -> tuple[str, ...]:
    """The suffixes of the files that name a record of this format; the first one is ours."""
    form = load(name)
    return (form.SUFFIXES[0], *getattr(form, "ALSO", ()))


def structured(name: str) -> bool:
    """Whether its records are structured ones (HL7, FHIR, CDA)."""
    return bool(getattr(load(name), "STRUCTURED", False))


def names() -> list[str]:
    return plugins.names("formats")


def check_target(name: str) -> None:
    """An error if files of this format cannot be written."""
    if not hasattr(load(name), "write"):
        raise UsageError(f"{name} can only be read: name another format for the output, such as text")


def guess(source: Source) -> str:
    """The format of a file by its suffix and first bytes; plain text only where the suffix is `.txt` or `.text`."""
    path = source.path
    if path != STANDARD and not path.is_file():  # a pipe, of which the first bytes can be read only once
        raise UsageError(f"cannot tell the format of {path}, which is no regular file; say --from")
    with source.opened() as stream:
        head = stream.peek(HEAD_BYTES)[:HEAD_BYTES].removeprefix(codecs.BOM_UTF8)
    suffix = source.suffix if path != STANDARD else _SUFFIX_BY_START.get(head.lstrip()[:1], ".txt")
    name = told(suffix, head)
    if name is not None:
        return name
    what = path if path != STANDARD else "standard input"
    raise UsageError(f"cannot tell the format of {what}; say --from, one of: {', '.join(names())}")


def told(suffix: str, head: bytes) -> str | None:
    """The format of what has this suffix and begins with these bytes, if any of them knows it."""
    for name in names():
        sniff = getattr(load(name), "sniff", None)
        if sniff is not None and sniff(suffix, head):
            return name
    return None


def sources(inputs: Iterable[Path], suffixes: tuple[str, ...] = ()) -> Iterator[Source]:
    """The files named, and every file below the folders named, in a fixed order; hidden ones are passed over.

    `suffixes` narrow folders to a format's main files.
    """
    for given in inputs:
        if given == STANDARD:
            yield Source(given, "stdin")
        elif given.is_dir():
            for path in sorted(given.rglob("*")):
                inner = path.relative_to(given)
                hidden = any(part.startswith(".") for part in inner.parts)
                source = Source(path, named(inner))
                if path.is_file() and not hidden and (not suffixes or source.suffix in suffixes):
                    yield source
        elif given.exists():
            yield Source(given, named(Path(given.name)))
        else:
            raise UsageError(f"there is no file or folder {given}")


def records(source: Source, name: str, *, limit: int = DEFAULT_LIMIT) -> Iterator[Record | Failure]:
    """The records of one file. What cannot be read comes as a Failure with its reason, and reading goes on."""
    form = load(name)
    pieces: Pieces | None = getattr(form, "pieces", None)
    try:
        if pieces is not None:
            yield from _piecewise(source, form, pieces, limit)
            return
        files = {form.SUFFIXES[0]: _content(source, limit)}
        for suffix in form.SUFFIXES[1:]:
            beside = source.beside(suffix) if source.path != STANDARD else None
            if beside is not None and beside.exists():
                files[suffix] = _content(Source(beside, source.id), limit)
        record = form.read(files, name=source.id)
    except Exception as error:  # noqa: BLE001 (whatever a reader trips over, the other files are read)
        yield Failure(source.id, reason(error))
        return
    yield record


def _piecewise(source: Source, form: Format, pieces: Pieces, limit: int) -> Iterator[Record | Failure]:
    for line, piece in numbered(source, pieces, limit):
        yield piece if isinstance(piece, Failure) else of_piece(source, form, line, piece)


def of_piece(source: Source, form: Format, line: int, piece: bytes) -> Record | Failure:
    """The record of one piece of a file."""
    try:
        return form.read({form.SUFFIXES[0]: piece}, name=f"{source.id}:{line}")
    except Exception as error:  # noqa: BLE001 (as above: the other records are read)
        return Failure(source.id, at_line(line, error))


def numbered(source: Source, pieces: Pieces, limit: int) -> Iterator[tuple[int, bytes | Failure]]:
    """The pieces of a file with the lines they begin at; one that is too large is a Failure."""
    with source.opened() as stream:
        if stream.peek(1) == b"":
            yield 1, Failure(source.id, "the file is empty")
        for line, piece in pieces(stream):
            if len(piece) > limit:
                too_large = f"line {line}: a record of {len(piece)} bytes is over the limit of {limit}"
                yield line, Failure(source.id, f"{too_large}; raise it with --max-bytes")
            else:
                yield line, piece


def at_line(line: int, error: Exception) -> str:
    """What is wrong with a piece, and the line of the whole file that it begins at."""
    return f"line {line}: {error.reason if isinstance(error, FormatError) else reason(error)}"


def _content(source: Source, limit: int) -> bytes:
    size = 0 if source.packed else source.size()
    if size <= limit:
        with source.opened() as stream:
            data = stream.read(limit + 1)  # a pipe says no size
        if len(data) <= limit:
            return data
    has = f"{size}" if size > limit else f"more than {limit}"
    raise FormatError(f"the file has {has} bytes, over the limit of {limit}; raise it with --max-bytes")


def reason(error: Exception) -> str:
    """Why something cannot be read; of an error that we did not raise only its kind, for it may quote the text."""
    if isinstance(error, OSError):
        return f"cannot be read ({error.strerror})"
    return str(error) if isinstance(error, DeidentError) else f"cannot be read ({type(error).__name__})"


def decode(data: bytes, *, keep_mark: bool = False) -> str:
    """UTF-8 bytes as text, without the byte-order mark that Windows programs put first unless it is to be kept.

    What is not text is refused, by offset, never replaced: a lost byte may hide a name.
    """
    if not data:
        raise FormatError("the file is empty")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise FormatError("UTF-16 text; save it as UTF-8")
    at = data.find(b"\0")
    if at >= 0:
        raise FormatError(f"NUL byte at offset {at}: not a text file")
    try:
        return (data if keep_mark else data.removeprefix(codecs.BOM_UTF8)).decode("utf-8")
    except UnicodeDecodeError as error:
        skipped = 0 if keep_mark or not data.startswith(codecs.BOM_UTF8) else len(codecs.BOM_UTF8)
        raise FormatError(f"not UTF-8 at byte offset {skipped + error.start}") from None


def encode(text: str) -> bytes:
    """UTF-8 bytes; a NUL or a lone surrogate, which could not be read again, is refused by its offset."""
    at = text.find("\0")
    if at >= 0:
        raise FormatError(f"a NUL at offset {at} cannot be written")
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise FormatError(f"a lone surrogate at offset {error.start} cannot be written") from None


def lines(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """`pieces` of every format that has one record a line: the non-blank lines with their numbers."""
    for number, line in enumerate(stream, 1):
        if line.strip():
            yield number, line
