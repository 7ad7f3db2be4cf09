"""Keyed draws: one master key, a key for each purpose, a key for each patient, and no table.

A draw is HMAC-SHA256 under HMAC(key, patient) of what is drawn ("first", "month" …) and the normal form of the text.
Whoever has the key gets the same draw, in any process and order; whoever has not cannot tell two patients' draws from
independent random numbers.
"""

import hashlib
import hmac
import os
import re
import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from deident.errors import UsageError

T = TypeVar("T")

LEAST_KEY = 16  # bytes
_KNOWN = 2048  # draws that a patient's memory holds
_LONG = 80


def make_key(path: Path) -> None:
    """A new key in a new file that its owner alone may read: 64 hexadecimal digits."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise UsageError(f"{path} exists already; what was made with its key would be lost") from None
    with os.fdopen(descriptor, "w", encoding="ascii") as file:
        file.write(f"{secrets.token_hex(32)}\n")


def read_key(path: Path) -> bytes:
    """The key in a file; no message says what the file holds."""
    try:
        text = path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        raise UsageError(f"there is no key file {path}") from None
    except UnicodeDecodeError:
        text = ""
    if len(text) < 2 * LEAST_KEY or not _HEXADECIMAL.fullmatch(text):
        raise UsageError(f"{path} is no key file: it must hold {2 * LEAST_KEY} hexadecimal digits or more")
    return bytes.fromhex(text)


_HEXADECIMAL = re.compile(r"(?:[0-9a-fA-F]{2})+")


def hkdf(key: bytes, info: bytes, *, salt: bytes = b"", length: int = 32) -> bytes:
    """HKDF-SHA256 (RFC 5869): the key for one purpose, from which neither the master key nor another can be told."""
    step = secret = b""
    pseudorandom = hmac.digest(salt or bytes(32), key, "sha256")
    for number in range(1, -(-length // 32) + 1):
        step = hmac.digest(pseudorandom, step + info + bytes([number]), "sha256")
        secret += step
    return secret[:length]


def surrogate_key(master: bytes, project: str = "") -> bytes:
    """The key of this room for one project: two projects under one master key cannot be linked."""
    if len(master) < LEAST_KEY:
        raise UsageError(f"a key must have at least {LEAST_KEY} bytes, not {len(master)}")
    return hkdf(master, b"deident/surrogates/1/" + project.encode("utf-8", "surrogatepass"))


def purpose_key(master: bytes, purpose: str) -> bytes:
    """A key for something else than surrogates ("names" of files), from which these cannot be told."""
    if len(master) < LEAST_KEY:
        raise UsageError(f"a key must have at least {LEAST_KEY} bytes, not {len(master)}")
    return hkdf(master, b"deident/" + purpose.encode("ascii") + b"/1")


_INNER = bytes(byte ^ 0x36 for byte in range(256))
_OUTER = bytes(byte ^ 0x5C for byte in range(256))


class Draw:
    """The draws of one patient."""

    __slots__ = ("_inner", "_known", "_outer")

    def __init__(self, key: bytes, patient: str) -> None:
        own = hmac.digest(key, patient.encode("utf-8", "surrogatepass"), "sha256")
        # HMAC by its definition (RFC 2104), the key taken in once: half the time of hmac.digest
        self._inner = hashlib.sha256(own.translate(_INNER).ljust(64, b"\x36"))
        self._outer = hashlib.sha256(own.translate(_OUTER).ljust(64, b"\x5c"))
        self._known: dict[tuple[str, str], int] = {}  # one patient's names come again and again

    def number(self, what: str, text: str = "") -> int:
        """256 bits; `what` says for which purpose, `text` is the normal form of the identifier."""
        known = self._known.get((what, text))
        if known is not None:
            return known
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(f"{what}\0{text}".encode("utf-8", "surrogatepass"))
        outer.update(inner.digest())
        drawn = int.from_bytes(outer.digest(), "big")
        if len(self._known) < _KNOWN and len(text) < _LONG:
            self._known[what, text] = drawn
        return drawn

    def below(self, size: int, what: str, text: str = "") -> int:
        return self.number(what, text) % size

    def choice(self, items: Sequence[T], what: str, text: str = "") -> T:
        return items[self.number(what, text) % len(items)]
