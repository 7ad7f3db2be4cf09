"""The way back, for those who may go it: an encrypted table of what stood where, and what stands there now.

    deident scrub notes/ -o clean/ --policy safe-harbor --replace number --vault study.vault --vault-key vault.key
    deident vault lookup study.vault "[PATIENT-1]" --note n17 --key-file vault.key

One SQLite file. Each row is sealed by AES-256-GCM under a nonce of its own, bound to the vault and to its place in it;
what is searched for (a note, a stand-in) is there as an HMAC only. Rows, and the log of who looked, are chained by
HMACs whose last is sealed with their number: a row that is changed, moved, taken away or added is found out. A whole
file that was put back to an older state is not: keep the number of rows, which `deident vault log` prints.

Keys come from a key file (`deident key new`) or by scrypt (RFC 7914) from a passphrase. No key is in the file; a wrong
one is refused before anything is opened.
"""

import getpass
import hashlib
import hmac
import json
import os
import secrets
import sqlite3
import tempfile
from collections.abc import Generator, Iterable
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from deident.document import Document
from deident.errors import MissingPackageError, UsageError, VaultError
from deident.replace import Rewritten
from deident.surrogates import purpose_key, read_key

_VERSION = 1
_PURPOSES = ("seal", "index", "chain", "check")
_WAIT = 60.0  # seconds for another process to finish writing
_SCHEMA = """
CREATE TABLE about (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE entries (number INTEGER PRIMARY KEY, nonce BLOB NOT NULL, sealed BLOB NOT NULL,
    once BLOB NOT NULL UNIQUE, note BLOB NOT NULL, stand_in BLOB NOT NULL, chain BLOB NOT NULL);
CREATE INDEX entries_note ON entries (note);
CREATE INDEX entries_stand_in ON entries (stand_in);
CREATE TABLE log (number INTEGER PRIMARY KEY, time TEXT NOT NULL, user TEXT NOT NULL, what TEXT NOT NULL,
    entries INTEGER NOT NULL, chain BLOB NOT NULL);
"""


@dataclass(frozen=True, slots=True)
class Entry:
    """What stood in a note, and what stands there now; the offsets are those of the new text."""

    note: str = field(repr=False)
    patient: str = field(repr=False)
    label: str
    start: int
    end: int
    original: str = field(repr=False)
    stand_in: str = field(repr=False)

    def to_json(self) -> dict[str, Any]:
        names = ("note", "patient", "label", "start", "end", "original", "stand_in")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class Secret:
    """What opens a vault: the bytes of a key file, or a passphrase."""

    value: bytes = field(repr=False)
    passphrase: bool = False

    @classmethod
    def of_files(cls, key_file: str | Path = "", passphrase_file: str | Path = "") -> "Secret":
        if bool(key_file) == bool(passphrase_file):
            raise UsageError("a vault is opened by a key file or by a passphrase: name one of the two")
        if key_file:
            return cls(read_key(Path(key_file)))
        try:
            lines = Path(passphrase_file).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError):
            raise UsageError(f"the passphrase file {passphrase_file} cannot be read") from None
        return cls.of_passphrase(lines[0] if lines else "")

    @classmethod
    def of_passphrase(cls, text: str) -> "Secret":
        if len(text) < 12:
            raise UsageError("a passphrase must have 12 characters or more")
        return cls(text.encode(), passphrase=True)

    def master(self, salt: bytes) -> bytes:
        if not self.passphrase:
            return self.value
        return hashlib.scrypt(self.value, salt=salt, n=1 << 15, r=8, p=1, maxmem=1 << 26, dklen=32)


@dataclass(frozen=True, slots=True)
class _Keys:
    """A key for each purpose, from one master key and the salt of the vault."""

    seal: bytes = field(repr=False)
    index: bytes = field(repr=False)
    chain: bytes = field(repr=False)
    check: bytes = field(repr=False)

    @classmethod
    def of(cls, secret: Secret, salt: bytes) -> "_Keys":
        master = secret.master(salt)
        return cls(*(purpose_key(master, f"vault/{_VERSION}/{salt.hex()}/{name}") for name in _PURPOSES))


def _mac(key: bytes, *parts: bytes | str | int) -> bytes:
    """An HMAC over parts that cannot run into each other."""
    made = hmac.new(key, digestmod="sha256")
    for part in parts:
        data = part if isinstance(part, bytes) else str(part).encode("utf-8", "surrogatepass")
        made.update(len(data).to_bytes(8, "big") + data)
    return made.digest()


def _cipher(key: bytes) -> Any:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise MissingPackageError("cryptography", "vault") from None
    return AESGCM(key)


class _Book:
    """One connection to a vault, in a transaction, under one set of keys."""

    def __init__(self, base: sqlite3.Connection, keys: _Keys) -> None:
        self._base = base
        self._keys = keys
        self._cipher = _cipher(keys.seal)

    def begin(self, kind: bytes, salt: bytes) -> None:
        """An empty vault."""
        for table in ("entries", "log", "about"):
            self._base.execute(f"DELETE FROM {table}")  # noqa: S608 (no input)
        about = {"kind": kind, "salt": salt, "check": _mac(self._keys.check, "check", kind)}
        self._base.executemany("INSERT INTO about VALUES (?, ?)", about.items())
        for table in ("entries", "log"):
            self._seal_head(table, 0, b"")

    # the chains

    def head(self, table: str) -> tuple[int, bytes]:
        """The number of rows and the last link; an error where they are not what was sealed."""
        row = self._base.execute(f"SELECT number, chain FROM {table} ORDER BY number DESC LIMIT 1").fetchone()  # noqa: S608
        number, chain = row if row is not None else (0, b"")
        sealed = self._base.execute("SELECT value FROM about WHERE name = ?", (f"head {table}",)).fetchone()
        if sealed is None or not hmac.compare_digest(bytes(sealed[0]), _mac(self._keys.chain, table, number, chain)):
            raise VaultError(_CHANGED)
        return number, chain

    def _seal_head(self, table: str, number: int, chain: bytes) -> None:
        head = (f"head {table}", _mac(self._keys.chain, table, number, chain))
        self._base.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", head)

    def check(self) -> None:
        """That no row of either table was changed, moved, taken away or added."""
        for table, columns in _CHAINED.items():
            last, chain = self.head(table)
            link, expected = b"", 0
            for number, *row, kept in self._base.execute(f"SELECT {columns} FROM {table} ORDER BY number"):  # noqa: S608
                expected += 1
                link = _mac(self._keys.chain, link, number, *row)
                if number != expected or not hmac.compare_digest(link, bytes(kept)):
                    raise VaultError(_CHANGED)
            if expected != last or link != chain:
                raise VaultError(_CHANGED)

    # entries

    def indexed(self, kind: str, text: str) -> bytes:
        return _mac(self._keys.index, kind, text)

    def add(self, entries: Iterable[Entry]) -> int:
        """How many were not there already."""
        first, chain = self.head("entries")
        number = first
        for entry in entries:
            plain = json.dumps(list(entry.to_json().values())).encode()
            once = _mac(self._keys.index, "once", plain)
            if self._base.execute("SELECT 1 FROM entries WHERE once = ?", (once,)).fetchone():
                continue
            number += 1
            nonce = secrets.token_bytes(12)
            sealed = self._cipher.encrypt(nonce, plain, b"deident/vault/%d" % number)
            row = (nonce, sealed, once, self.indexed("note", entry.note), self.indexed("stand-in", entry.stand_in))
            chain = _mac(self._keys.chain, chain, number, *row)
            self._base.execute("INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", (number, *row, chain))
        self._seal_head("entries", number, chain)
        return number - first

    def entries(self, where: str = "", values: tuple[bytes, ...] = ()) -> list[Entry]:
        from cryptography.exceptions import InvalidTag

        found: list[Entry] = []
        for number, nonce, sealed in self._base.execute(
            f"SELECT number, nonce, sealed FROM entries {where} ORDER BY number",  # noqa: S608 (no input)
            values,
        ):
            try:
                plain = self._cipher.decrypt(nonce, sealed, b"deident/vault/%d" % number)
            except InvalidTag:
                raise VaultError(_CHANGED) from None
            found.append(Entry(*json.loads(plain)))
        return found

    # the log

    def log(self, *row: str | int) -> None:
        """time, user, what, and with how many entries"""
        number, chain = self.head("log")
        link = _mac(self._keys.chain, chain, number + 1, *row)
        self._base.execute("INSERT INTO log VALUES (?, ?, ?, ?, ?, ?)", (number + 1, *row, link))
        self._seal_head("log", number + 1, link)

    def logged(self) -> list[tuple[str, str, str, int]]:
        return self._base.execute("SELECT time, user, what, entries FROM log ORDER BY number").fetchall()


_CHANGED = "the vault was changed by something else than deident, or is damaged: nothing in it can be trusted"
_CHAINED = {
    "entries": "number, nonce, sealed, once, note, stand_in, chain",
    "log": "number, time, user, what, entries, chain",
}


class Vault:
    """A vault on the disk. Every call opens the file anew, so that processes may share it."""

    def __init__(self, path: Path, secret: Secret) -> None:
        if not path.is_file():
            raise UsageError(f"there is no vault {path}")
        self.path = path
        with self._base() as base:
            about = {name: bytes(value) for name, value in base.execute("SELECT name, value FROM about")}
        if not {"kind", "salt", "check"} <= about.keys():
            raise VaultError(f"{path} is no vault, or is damaged")
        if about["kind"] != _kind(secret):
            raise VaultError(f"the vault {path} is opened by {'a key file' if secret.passphrase else 'a passphrase'}")
        self._keys = _Keys.of(secret, about["salt"])
        if not hmac.compare_digest(about["check"], _mac(self._keys.check, "check", about["kind"])):
            raise VaultError(f"this key does not open the vault {path}")

    @classmethod
    def make(cls, path: Path, secret: Secret) -> "Vault":
        """A new vault, in a new file that its owner alone may read."""
        salt = secrets.token_bytes(16)
        keys = _Keys.of(secret, salt)
        handle, name = tempfile.mkstemp(prefix=".deident-", dir=path.parent)  # of mode 0600
        os.close(handle)
        made = Path(name)
        try:
            with closing(sqlite3.connect(made, isolation_level=None)) as base:
                base.executescript(_SCHEMA)
                base.execute("BEGIN IMMEDIATE")
                _Book(base, keys).begin(_kind(secret), salt)
                base.execute("COMMIT")
            os.link(made, path)  # whole or not at all, and in nobody's place
        except FileExistsError:
            raise UsageError(f"{path} exists already") from None
        finally:
            made.unlink()
        return cls(path, secret)

    @contextmanager
    def _base(self) -> Generator[sqlite3.Connection]:
        """A transaction: all of it happens or nothing."""
        try:
            with closing(sqlite3.connect(self.path, timeout=_WAIT, isolation_level=None)) as base:
                base.execute("PRAGMA secure_delete = ON")
                base.execute("BEGIN IMMEDIATE")
                yield base
                base.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
                raise VaultError(f"the vault {self.path} is held by another process") from None
            raise VaultError(f"{self.path} is no vault, or cannot be written") from None
        except (sqlite3.DatabaseError, ValueError, TypeError, OverflowError):
            raise VaultError(f"{self.path} is no vault, or is damaged") from None

    def record(self, before: Document, after: Rewritten) -> None:
        """Keeps what was replaced in a note, and what became of it: for `Pipeline.record`."""
        patient = before.patient.id if before.patient is not None else ""
        entries: list[Entry] = []
        for move in after.moves:
            old, new = before.text[move.start : move.end], after.document.text[move.new_start : move.new_end]
            if old != new:
                entries.append(Entry(before.id, patient, move.label.value, move.new_start, move.new_end, old, new))
        self.add(entries)

    def add(self, entries: Iterable[Entry]) -> int:
        """Keeps entries; says how many were not there already, so that a run may be done twice."""
        with self._base() as base:
            return _Book(base, self._keys).add(entries)

    def lookup(self, *, stand_in: str = "", note: str = "") -> list[Entry]:
        """What stood where a stand-in stands: in a note, or in all of them."""
        if not (stand_in or note):
            raise UsageError("say what to look up: a stand-in, a note, or both")
        with self._base() as base:
            book = _Book(base, self._keys)
            book.check()
            wanted = [("stand_in = ?", book.indexed("stand-in", stand_in))] if stand_in else []
            wanted += [("note = ?", book.indexed("note", note))] if note else []
            where = "WHERE " + " AND ".join(clause for clause, _ in wanted)
            found = book.entries(where, tuple(value for _, value in wanted))
            book.log(*_now(), "lookup", len(found))
        return found

    def export(self) -> list[Entry]:
        """Everything, in order."""
        with self._base() as base:
            book = _Book(base, self._keys)
            book.check()
            found = book.entries()
            book.log(*_now(), "export", len(found))
        return found

    def log(self) -> tuple[int, list[tuple[str, str, str, int]]]:
        """How many entries there are, and who did what when with how many of them."""
        with self._base() as base:
            book = _Book(base, self._keys)
            book.check()
            return book.head("entries")[0], book.logged()

    def rotate(self, secret: Secret) -> int:
        """Seals everything anew; the old key opens nothing any more. Says how many entries there are."""
        salt = secrets.token_bytes(16)
        keys = _Keys.of(secret, salt)
        with self._base() as base:
            old, new = _Book(base, self._keys), _Book(base, keys)
            old.check()
            entries, rows = old.entries(), old.logged()
            new.begin(_kind(secret), salt)
            new.add(entries)
            for row in rows:
                new.log(*row)
            new.log(*_now(), "rotate", len(entries))
        self._keys = keys
        with closing(sqlite3.connect(self.path, timeout=_WAIT, isolation_level=None)) as base:
            base.execute("VACUUM")  # nothing that the old key opens is left in free pages
        return len(entries)


def _kind(secret: Secret) -> bytes:
    return b"passphrase" if secret.passphrase else b"key"


def _now() -> tuple[str, str]:
    return datetime.now(UTC).isoformat(timespec="seconds"), getpass.getuser()


def opened(path: str | Path, secret: Secret) -> Vault:
    """The vault of a run: a new one where there is none."""
    path = Path(path)
    if not path.exists():
        try:
            return Vault.make(path, secret)
        except UsageError:
            if not path.exists():
                raise
    return Vault(path, secret)  # perhaps another process of the run was first
