"""The kernels of the AdaGrad trainer: a pass over the examples, and the pull of all weights towards zero."""

import numpy as np
from numpy.typing import NDArray

from deident.learn._compiled import compiled_with_room
from deident.learn.bits import Floats, Ints
from deident.learn.examples import Longs


@compiled_with_room
def _hidden(key: int, share: float) -> bool:
    """Whether what has this number is hidden: true for `share` of all numbers, as if by chance."""
    x = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bool(np.float64(x >> np.uint64(11)) / 9007199254740992.0 < share)


@compiled_with_room
def descend(
    order: Longs, unit_ends: Longs, bounds: Longs, features: Ints, kinds: NDArray[np.uint8], gold: NDArray[np.uint8],
    costs: Floats, values: Floats, squares: Floats, moves: Floats, move_squares: Floats, rate: float,
    drop: Floats, seed: int,
) -> float:  # fmt: skip
    """One pass over the units in this order; returns the mean loss of a token."""
    size = moves.shape[0]
    loss = 0.0
    tokens = 0
    tiny = np.float32(1e-3)
    for unit in order:
        low, high = unit_ends[unit], unit_ends[unit + 1]
        length = high - low
        if length == 0:
            continue
        scores = np.zeros((length, size), dtype=np.float32)
        # kind k of token t is hidden as a whole with chance drop[k]; each feature with chance drop[0]
        hide = np.zeros((length, 3), dtype=np.bool_)
        for place in range(length):
            for kind in range(1, 3):
                hide[place, kind] = _hidden(((low + place) * 3 + kind) * 8191 + seed, drop[kind])
            for at in range(bounds[low + place], bounds[low + place + 1]):
                if kinds[at] and hide[place, kinds[at]]:
                    continue
                if drop[0] > 0.0 and _hidden(at * 131071 + seed, drop[0]):
                    continue
                feature = features[at]
                for label in range(size):
                    scores[place, label] += values[feature, label]
        e_moves = np.exp(moves)
        # forward
        alpha = np.empty((length, size), dtype=np.float32)
        local = np.empty((length, size), dtype=np.float32)
        log_z = 0.0
        for place in range(length):
            top = scores[place, 0]
            for label in range(1, size):
                top = max(top, scores[place, label])
            for label in range(size):
                local[place, label] = max(np.exp(scores[place, label] - top), 1e-18)
            log_z += top
            total = np.float32(0.0)
            if place == 0:
                for label in range(size):
                    alpha[0, label] = local[0, label]
            else:
                for label in range(size):
                    alpha[place, label] = 0.0
                for before in range(size):
                    base = alpha[place - 1, before]
                    if base > 1e-10:
                        for label in range(size):
                            alpha[place, label] += base * e_moves[before, label]
                for label in range(size):
                    alpha[place, label] *= local[place, label]
            for label in range(size):
                total += alpha[place, label]
            for label in range(size):
                alpha[place, label] /= total
            log_z += np.log(total)
        # backward
        back = np.ones(size, dtype=np.float32)
        ahead = np.empty(size, dtype=np.float32)
        move_grad = np.zeros((size, size), dtype=np.float32)
        for place in range(length - 1, -1, -1):
            here = np.empty(size, dtype=np.float32)
            total = np.float32(0.0)
            for label in range(size):
                here[label] = alpha[place, label] * back[label]
                total += here[label]
            for label in range(size):
                here[label] /= total
            right = gold[low + place]
            log_z -= scores[place, right]
            cost = costs[right]
            for label in range(size):
                scores[place, label] = cost * here[label]  # from here on the gradient
            scores[place, right] -= cost
            if place > 0:
                for label in range(size):
                    ahead[label] = back[label] * local[place, label]
                norm = np.float32(0.0)
                for before in range(size):
                    base = alpha[place - 1, before]
                    if base > 1e-6:
                        for label in range(size):
                            norm += base * e_moves[before, label] * ahead[label]
                for before in range(size):
                    base = alpha[place - 1, before] / norm
                    if base * norm > 1e-6:
                        for label in range(size):
                            move_grad[before, label] += base * e_moves[before, label] * ahead[label]
                before_right = gold[low + place - 1]
                move_grad[before_right, right] -= 1.0
                log_z -= moves[before_right, right]
                total = np.float32(0.0)
                for before in range(size):
                    value = np.float32(0.0)
                    for label in range(size):
                        value += e_moves[before, label] * ahead[label]
                    back[before] = value
                    total += value
                for before in range(size):
                    back[before] /= total
        loss += log_z
        tokens += length
        # descend
        for place in range(length):
            for at in range(bounds[low + place], bounds[low + place + 1]):
                if kinds[at] and hide[place, kinds[at]]:
                    continue
                if drop[0] > 0.0 and _hidden(at * 131071 + seed, drop[0]):
                    continue
                feature = features[at]
                for label in range(size):
                    grad = scores[place, label]
                    if grad > tiny or grad < -tiny:
                        squares[feature, label] += grad * grad
                        values[feature, label] -= rate * grad / np.sqrt(squares[feature, label])
        for before in range(size):
            for label in range(size):
                grad = move_grad[before, label]
                if grad != 0.0:
                    move_squares[before, label] += grad * grad
                    moves[before, label] -= rate * grad / np.sqrt(move_squares[before, label])
    return float(loss / max(1, tokens))


@compiled_with_room
def loss_of(
    among: Longs, unit_ends: Longs, bounds: Longs, features: Ints, gold: NDArray[np.uint8], values: Floats,
    moves: Floats, keep: float,
) -> float:  # fmt: skip
    """The mean loss of a token in these units, with all weights of features times `keep`."""
    size = moves.shape[0]
    e_moves = np.exp(moves)
    loss = 0.0
    tokens = 0
    alpha = np.empty(size, dtype=np.float32)
    ahead = np.empty(size, dtype=np.float32)
    scores = np.empty(size, dtype=np.float32)
    for unit in among:
        for at in range(unit_ends[unit], unit_ends[unit + 1]):
            scores[:] = 0.0
            for place in range(bounds[at], bounds[at + 1]):
                for label in range(size):
                    scores[label] += values[features[place], label]
            scores *= keep
            top = scores.max()
            begins = at == unit_ends[unit]
            total = np.float32(0.0)
            for label in range(size):
                ahead[label] = 1.0
                if not begins:
                    ahead[label] = 0.0
                    for before in range(size):
                        ahead[label] += alpha[before] * e_moves[before, label]
                ahead[label] *= max(np.exp(scores[label] - top), 1e-18)
                total += ahead[label]
            for label in range(size):
                alpha[label] = ahead[label] / total
            loss += np.log(total) + top - scores[gold[at]]
            if not begins:
                loss -= moves[gold[at - 1], gold[at]]
            tokens += 1
    return float(loss / max(1, tokens))


@compiled_with_room
def shrink(values: Floats, squares: Floats, l1: float, l2: float) -> None:
    for feature in range(values.shape[0]):
        for label in range(values.shape[1]):
            value = values[feature, label]
            if value != 0.0:
                value *= 1.0 - l2
                less = l1 / np.sqrt(squares[feature, label] + 1.0)
                values[feature, label] = max(0.0, value - less) if value > 0 else min(0.0, value + less)
