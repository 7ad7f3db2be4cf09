"""Keyed draws: one master key, a key for each purpose, a key for each patient, and no table.

A draw is HMAC-SHA256 under HMAC(key, patient) of what is drawn ("first", "month" …) and the normal form of the text.
Whoever has the key gets the same draw, in any process and order; whoever has not cannot tell two patients' draws from
independent random numbers.
"""

import hmac
from collections.abc import Sequence
from typing import TypeVar

from deident.errors import UsageError

T = TypeVar("T")

LEAST_KEY = 16  # bytes


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


class Draw:
    """The draws of one patient."""

    __slots__ = ("_key",)

    def __init__(self, key: bytes, patient: str) -> None:
        self._key = hmac.digest(key, patient.encode("utf-8", "surrogatepass"), "sha256")

    def number(self, what: str, text: str = "") -> int:
        """256 bits; `what` says for which purpose, `text` is the normal form of the identifier."""
        message = f"{what}\0{text}".encode("utf-8", "surrogatepass")
        return int.from_bytes(hmac.digest(self._key, message, "sha256"), "big")

    def below(self, size: int, what: str, text: str = "") -> int:
        return self.number(what, text) % size

    def choice(self, items: Sequence[T], what: str, text: str = "") -> T:
        return items[self.number(what, text) % len(items)]
