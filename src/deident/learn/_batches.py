"""What both networks do with notes while they learn: cut, bucket, hide, judge. Imports torch."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from deident.learn.bits import Ints
from deident.learn.examples import Examples, Longs

Stretch = tuple[int, int]  # tokens: the first, one past the last


def cuts(
    ends: Longs, sizes: Ints, first: int, last: int, room: int, random: np.random.Generator | None
) -> list[Stretch]:
    """Tokens cut into stretches of at most `room` pieces; with `random`, at other places in each pass.

    sizes: pieces of each token; ends: their sums.
    """
    found: list[Stretch] = []
    space = room if random is None else int(random.integers(room // 3, room + 1))
    while first < last:
        before = int(ends[first]) - int(sizes[first])
        until = min(last, max(first + 1, int(np.searchsorted(ends, before + space, side="right"))))
        found.append((first, until))
        first, space = until, room
    return found


def bucketed(
    ends: Longs, sizes: Ints, stretches: list[Stretch], most: int, random: np.random.Generator, *, more: int = 0
) -> list[list[Stretch]]:
    """Stretches of about one length together, at most `most` pieces with what pads them; in a drawn order.

    more: what is added to each. At least one stretch is in each batch, so `most=1` gives each its own.
    """
    lengths = [int(ends[last - 1] - ends[first] + sizes[first]) + more for first, last in stretches]
    order = np.argsort(np.array(lengths) + random.uniform(0, 8, len(lengths)), kind="stable").tolist()
    found: list[list[Stretch]] = []
    longest = 0
    for at in order:
        longest = max(longest, lengths[at])
        if not found or longest * (len(found[-1]) + 1) > most:
            found.append([])
            longest = lengths[at]
        found[-1].append(stretches[at])
    return [found[at] for at in random.permutation(len(found)).tolist()]


def chosen_features(data: Examples, tokens: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the features of these tokens stand, in a row, and where in that row each token's begin."""
    counts = (data.bounds[tokens + 1] - data.bounds[tokens]).astype(np.int64)
    starts = np.cumsum(counts) - counts
    return np.arange(int(counts.sum())) + np.repeat(data.bounds[tokens] - starts, counts), starts


def shown(
    features: Tensor, bounds: Tensor, listed: Tensor, vectors: Tensor, *, hide: float, hide_lists: float, training: bool
) -> Tensor:
    """The sum of the vectors of each token's features.

    While it learns some are hidden: each by itself, and all that the lists say of a token, so that the network does not
    lean on lists that lack the next hospital's names.
    """
    weights = torch.ones(len(features))
    if training:
        weights = (torch.rand(len(features)) >= hide) / (1.0 - hide)
        sizes = torch.diff(bounds, append=torch.tensor([len(features)]))
        owner = torch.repeat_interleave(torch.arange(len(bounds)), sizes)
        weights = weights * ~((torch.rand(len(bounds)) < hide_lists)[owner] & listed)
    return functional.embedding_bag(features, vectors, bounds, mode="sum", per_sample_weights=weights.float())


def kinds_of(tags: Sequence[str]) -> NDArray[np.int64]:
    """Which label each tag is of, by number; 0 is "O"."""
    names = ["", *sorted({tag[2:] for tag in tags if tag != "O"})]
    return np.array([0 if tag == "O" else names.index(tag[2:]) for tag in tags])


def token_f(gold: NDArray[np.int64], found: NDArray[np.int64], kinds: NDArray[np.int64]) -> float:
    """F of the tokens' labels; `kinds` says which label each tag is of (0: none)."""
    true, said = kinds[gold], kinds[found]
    right = int(((true == said) & (true > 0)).sum())
    return 2 * right / max(1, int((true > 0).sum()) + int((said > 0).sum()))
