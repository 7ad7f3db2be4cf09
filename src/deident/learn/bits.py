"""Features as 64 bits, and tables of them.

A feature is named "column[offset]=value"; a model knows it by 64 bits drawn from that name, so that a model folder
holds no word of any note.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from numpy.typing import NDArray

from deident.learn._compiled import compiled

Hashes = NDArray[np.uint64]
Floats = NDArray[np.float32]
Ints = NDArray[np.int32]

# --- names → bits ----------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1 << 18)
def bits_of_value(name: str) -> int:
    return int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


def bits_of_values(names: Iterable[str]) -> Hashes:
    """The bits of each "column=value"."""
    return np.array([bits_of_value(name) for name in names], dtype=np.uint64)


_ALL = (1 << 64) - 1


@lru_cache(maxsize=1 << 17)
def bits_at(name: str, offset: int) -> int:
    """The bits of the feature "column[offset]=value" (splitmix64 over the bits of "column=value" and the offset)."""
    x = (bits_of_value(name) + (offset + 64) * 0x9E3779B97F4A7C15) & _ALL
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & _ALL
    x = (x ^ (x >> 27)) * 0x94D049BB133111EB & _ALL
    return x ^ (x >> 31)


def of_pair(left: Hashes, right: Hashes) -> Hashes:
    """The bits of two features seen together."""
    return _mixed(left * np.uint64(3) + right)


def _mixed(x: Hashes) -> Hashes:
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


_NAME = re.compile(r"(?s)(?P<column>[^\[=]+)\[(?P<offset>[+-]?\d+)\]=(?P<value>.*)")
TOGETHER = "\x1f"  # between the two names of a pair


def bits_of_name(name: str) -> int:
    """The bits of a feature's written name, "suffix3[-1]=ski"."""
    if TOGETHER in name:
        left, right = (np.array([bits_of_name(part)], dtype=np.uint64) for part in name.split(TOGETHER))
        return int(of_pair(left, right)[0])
    match = _NAME.fullmatch(name)
    assert match is not None, "a feature's name is column[offset]=value"
    return bits_at(f"{match['column']}={match['value']}", int(match["offset"]))


# --- bits → weights --------------------------------------------------------------------------------------------------


def table_of(keys: Hashes) -> Ints:
    """Where each key stands: an open-addressed hash table of places, -1 where there is none."""
    table = np.full(1 << max(4, (2 * len(keys)).bit_length()), -1, dtype=np.int32)
    _index(keys, table)
    return table


@compiled
def _index(keys: Hashes, table: Ints) -> None:
    mask = np.uint64(len(table) - 1)
    for place in range(len(keys)):
        slot = keys[place] & mask
        while table[slot] >= 0:
            slot = (slot + np.uint64(1)) & mask
        table[slot] = place


SIEVE_BITS = 16  # for each key


def sieve_of(keys: Hashes) -> Hashes:
    """A field of bits in which that of each key is set: most of what is not among the keys is passed over by it."""
    size = 1 << max(10, (SIEVE_BITS * len(keys)).bit_length())
    sieve = np.zeros(size // 64, dtype=np.uint64)
    places = keys >> np.uint64(32) & np.uint64(size - 1)
    np.bitwise_or.at(sieve, (places >> np.uint64(6)).astype(np.int64), np.uint64(1) << (places & np.uint64(63)))
    return sieve


@compiled
def find(wanted: Hashes, keys: Hashes, table: Ints, found: Ints) -> None:
    mask = np.uint64(len(table) - 1)
    for place in range(len(wanted)):
        slot = wanted[place] & mask
        while table[slot] >= 0 and keys[table[slot]] != wanted[place]:
            slot = (slot + np.uint64(1)) & mask
        found[place] = table[slot]


@compiled
def moved(raw: np.uint64, offset: int) -> np.uint64:
    """`bits_at` of one number."""
    x = raw + np.uint64(offset + 64) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def moved_all(raws: Hashes, offset: int) -> Hashes:
    """`bits_at` of each number; of 0, which stands for nothing, 0."""
    out = np.zeros_like(raws)
    _move(raws, offset, out)
    return out


@compiled
def _move(raws: Hashes, offset: int, out: Hashes) -> None:
    for place in range(len(raws)):
        if raws[place] != np.uint64(0):
            out[place] = moved(raws[place], offset)


@compiled
def fill_rows(
    raws: Hashes, uses: Ints, seen: NDArray[np.bool_], offsets: Ints, keys: Hashes, table: Ints,
    bounds: Ints, labels: NDArray[np.uint8], weights: Floats, rows: Floats,
) -> None:  # fmt: skip
    """rows[offset] = the sum of the weights of all values at that offset; `seen` says which use sees which offset."""
    mask = np.uint64(len(table) - 1)
    rows[:] = 0.0
    for place in range(len(raws)):
        for number in range(len(offsets)):
            if not seen[uses[place], number]:
                continue
            key = moved(raws[place], offsets[number])
            slot = key & mask
            while table[slot] >= 0 and keys[table[slot]] != key:
                slot = (slot + np.uint64(1)) & mask
            feature = table[slot]
            if feature >= 0:
                for at in range(bounds[feature], bounds[feature + 1]):
                    rows[number, labels[at]] += weights[at]
