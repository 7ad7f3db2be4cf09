"""Which notes come next: those the machine doubts, those unlike the rest, and always a random slice.

Learning from doubtful notes needs fewer of them (Hanauer et al. 2013, in batches of 10 to 40), but whoever sees only
those cannot tell how good the machine is: figures come from the random ones.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deident.document import Span
from deident.view import view

_MOST = 5  # doubtful spans of a note that count: a long note is not doubtful by its length
_WIDTH = 512
_POOL = 400  # doubtful candidates among which the different ones are looked for


@dataclass(frozen=True, slots=True)
class Candidate:
    """A note that may come next: how doubtful, what it is like, and whether detectors disagree on it."""

    id: int
    doubt: float
    shape: NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Shares:
    """Of a batch. What neither is random nor different is doubtful."""

    random: float = 0.25
    different: float = 0.25


def doubt_of(span: Span, finds: Iterable[Mapping[str, Any]]) -> float:
    """0 (sure) to 1: by its score, by the margin to the next label that was found there, by disagreement."""
    by_label: dict[str, float] = {}
    for find in finds:
        by_label[find["label"]] = max(by_label.get(find["label"], 0.0), float(find["score"]))
    best, second = (*sorted(by_label.values(), reverse=True), 0.0, 0.0)[:2]
    margin = best - second if len(by_label) > 1 else 1.0
    return min(1.0, max(1.0 - span.score, (1.0 - margin) / 2))


def disagree(finds: Sequence[Mapping[str, Any]]) -> bool:
    """Whether detectors that looked at the same place say different types or extents."""
    return len({(find["label"], find["start"], find["end"]) for find in finds}) > 1


def doubt(doubts: Iterable[float]) -> float:
    """Of a note: the mean of its most doubtful spans."""
    worst = sorted(doubts, reverse=True)[:_MOST]
    return sum(worst) / _MOST


def shape(text: str) -> NDArray[np.float32]:
    """What words it has: hashed counts, square roots, length one."""
    counts = np.zeros(_WIDTH, dtype=np.float32)
    for word in view(text).lower:
        counts[
            int.from_bytes(hashlib.blake2s(word.encode("utf-8", "surrogatepass"), digest_size=4).digest()) % _WIDTH
        ] += 1
    np.sqrt(counts, out=counts)
    length = float(np.linalg.norm(counts))
    return counts / length if length else counts


def share_of(key: str, seed: int, what: str) -> float:
    """A number between 0 and 1 for a note, the same every time: whether it is read twice, bare, or held out."""
    digest = hashlib.blake2s(f"{seed}\0{what}\0{key}".encode("utf-8", "surrogatepass"), digest_size=6).digest()
    return int.from_bytes(digest) / 2**48


def plan(
    candidates: Sequence[Candidate], count: int, *, seed: int, shares: Shares | None = None
) -> list[tuple[int, str]]:
    """The next notes, and why each: random, different, doubtful. They are mixed, so that no reader knows which."""
    shares = shares or Shares()
    random = Random(seed)  # noqa: S311 (no secret is drawn)
    left = sorted(candidates, key=lambda candidate: candidate.id)
    count = min(count, len(left))
    slice_ = min(count, max(1, round(count * shares.random)))  # at least one
    chosen = [(candidate.id, "random") for candidate in random.sample(left, slice_)]
    taken = {identifier for identifier, _ in chosen}
    pool = sorted((c for c in left if c.id not in taken), key=lambda c: (-c.doubt, c.id))[:_POOL]
    nearest = {c.id: _nearest(c, [other for other in left if other.id in taken]) for c in pool}
    for _ in range(min(round(count * shares.different), count - len(chosen), len(pool))):
        best = max(pool, key=lambda c: (c.doubt + 1 - nearest[c.id], -c.id))
        pool.remove(best)
        chosen.append((best.id, "different"))
        for other in pool:
            nearest[other.id] = max(nearest[other.id], float(best.shape @ other.shape))
    chosen += [(candidate.id, "doubtful") for candidate in pool[: count - len(chosen)]]
    random.shuffle(chosen)
    return chosen


def _nearest(candidate: Candidate, others: Sequence[Candidate]) -> float:
    return max((float(candidate.shape @ other.shape) for other in others), default=0.0)
