"""Who may ask for what: tokens with roles, stored as hashes in a file that its owner alone may read.

    deident_3f2a9c01_R4nd0m…
            id       secret

A token's secret has 256 random bits, so one SHA-256 of it is as good as a slow hash: there is nothing to guess.
"""

import fcntl
import hashlib
import hmac
import json
import os
import secrets
import stat
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any

from deident.errors import UnknownNameError, UsageError

# What each role may do.
ROLES: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "scrub": frozenset({"scrub"}),
        "review": frozenset({"review"}),
        "admin": frozenset({"scrub", "review", "admin"}),
    }
)
_PREFIX = "deident"
_VERSION = 1


@dataclass(frozen=True, slots=True)
class Token:
    """One that may come in; its secret is known to its bearer alone."""

    id: str
    name: str
    role: str
    digest: str = field(repr=False)
    created: str = ""

    def may(self, what: str) -> bool:
        return what in ROLES[self.role]


def new(file: Path, *, name: str, role: str) -> str:
    """A new token in the file, which is made where there is none. The answer is the only time it is seen."""
    if role not in ROLES:
        raise UnknownNameError("role", role, ROLES)
    with _locked(file):
        held = read(file) if file.exists() else ()
        if name in {token.name for token in held}:
            raise UsageError(f"there is a token of this name in {file}; revoke it, or choose another name")
        identifier, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
        made = Token(identifier, name, role, _digest(secret), datetime.now(UTC).isoformat(timespec="seconds"))
        _write(file, (*held, made))
    return f"{_PREFIX}_{identifier}_{secret}"


def revoke(file: Path, name: str) -> None:
    """Takes a token away, by its name or its id; a service that runs knows it at the next request."""
    with _locked(file):
        held = read(file)
        kept = tuple(token for token in held if name not in (token.name, token.id))
        if len(kept) == len(held):
            raise UnknownNameError("token", name, (token.name for token in held))
        _write(file, kept)


def read(file: Path) -> tuple[Token, ...]:
    """The tokens of a file; one that others may read is refused."""
    try:
        mode = stat.S_IMODE(file.stat().st_mode)
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise UsageError(f"there is no token file {file}; make one: deident token new --file {file}") from None
    if mode & 0o077:
        raise UsageError(f"others may read the token file {file} (mode {mode:o}); chmod 600 it")
    try:
        data = json.loads(text)
        if data["version"] != _VERSION:
            raise KeyError("version")
        tokens = tuple(Token(**row) for row in data["tokens"])
    except (ValueError, TypeError, KeyError):
        raise UsageError(f"{file} is not a token file of this version") from None
    for token in tokens:
        if token.role not in ROLES:
            raise UsageError(f"{file}: the token {token.id} has a role that does not exist")
    return tokens


def _write(file: Path, tokens: tuple[Token, ...]) -> None:
    data = {"version": _VERSION, "tokens": [asdict(token) for token in tokens]}
    temporary = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(json.dumps(data, indent=1, ensure_ascii=False) + "\n")
            stream.flush()
            os.fsync(stream.fileno())
        temporary.replace(file)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextmanager
def _locked(file: Path) -> Generator[None]:
    """One writer at a time: two `token new` at once lose neither token. The folder is locked, as the file changes."""
    try:
        folder = os.open(file.absolute().parent, os.O_RDONLY)
    except OSError as error:
        raise UsageError(f"there is no folder for the token file {file} ({error.strerror})") from None
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


class Access:
    """The tokens of a file as they are now: it is read anew when it has changed."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._seen: tuple[int, int, int] | None = None
        self._tokens: Mapping[str, Token] = {}
        self._refresh()

    def _refresh(self) -> None:
        try:
            status = self._file.stat()
            seen = (status.st_mtime_ns, status.st_ino, status.st_mode)
        except OSError:
            seen = None
        if seen is None or seen != self._seen:
            self._tokens = {token.id: token for token in read(self._file)}
            self._seen = seen

    def bearer(self, presented: str) -> Token | None:
        """The token that this string is, or None. A file that cannot be read any more lets nobody in."""
        try:
            self._refresh()
        except (UsageError, OSError):
            return None
        prefix, _, rest = presented.partition("_")
        identifier, _, secret = rest.partition("_")
        token = self._tokens.get(identifier)
        # an unknown id costs the same work as a known one
        right = hmac.compare_digest(_digest(secret), token.digest if token is not None else _digest(""))
        return token if right and token is not None and prefix == _PREFIX else None

    def held(self, identifier: str) -> Token | None:
        """The token of this id, if it is still there."""
        try:
            self._refresh()
        except (UsageError, OSError):
            return None
        return self._tokens.get(identifier)


class Rate:
    """So many requests a minute for each who asks, with a burst of as many as ten seconds hold (token bucket)."""

    def __init__(self, per_minute: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._each = per_minute / 60
        self._most = max(1.0, self._each * 10)
        self._clock = clock
        self._held: dict[str, tuple[float, float]] = {}

    def wait(self, who: str) -> float:
        """0 where `who` may go on, else in how many seconds."""
        now = self._clock()
        left, since = self._held.get(who, (self._most, now))
        left = min(self._most, left + (now - since) * self._each)
        if left < 1:
            self._held[who] = (left, now)
            return (1 - left) / self._each
        self._held[who] = (left - 1, now)
        if len(self._held) > 4096:
            full = self._most - 1
            self._held = {key: row for key, row in self._held.items() if row[0] + (now - row[1]) * self._each < full}
        return 0.0


def listed(tokens: tuple[Token, ...]) -> list[dict[str, Any]]:
    """What may be shown of tokens."""
    return [{"id": token.id, "name": token.name, "role": token.role, "created": token.created} for token in tokens]
