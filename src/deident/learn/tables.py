"""A linear model as tables: a text is scored by gathering rows of label scores and adding them.

All features of one word at one distance are one row, worked out when the word is first met; so are those of one value
of a text column. Then the best tags (Viterbi) or the probability of each (forward–backward). The kernels are compiled
by numba.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from deident.learn import bridge
from deident.learn import columns as c
from deident.learn._compiled import compiled
from deident.learn.bits import (
    TOGETHER,
    Floats,
    Hashes,
    Ints,
    bits_of_value,
    bits_of_values,
    fill_rows,
    moved,
    moved_all,
    sieve_of,
    table_of,
)
from deident.learn.features import FeatureSet, Pair
from deident.view import View

_WORDS_KEPT = 3 << 13  # words whose rows are kept; then the rarer half goes, so that memory stays bounded
_VALUES_KEPT = 1 << 14  # of a text column
_SLOTS_KEPT = 1 << 18  # values of word columns

Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]

# --- kernels ---------------------------------------------------------------------------------------------------------


@compiled
def _add_rows(scores: Floats, ids: Ints, rows: Floats, offsets: Ints, low: Ints, high: Ints, outside: int) -> None:
    """scores[t] += rows[ids[t + offset], offset] for every offset; beyond a unit's ends the row of `outside`.

    outside < 0: nothing stands there, and row 0 is that of nothing.
    """
    size = scores.shape[1]
    for place in range(len(ids)):
        for number in range(len(offsets)):
            at = place + offsets[number]
            if at < low[place] or at >= high[place]:
                if outside < 0:
                    continue
                which = outside
            else:
                which = ids[at]
                if outside < 0 and which == 0:
                    continue
            for label in range(size):
                scores[place, label] += rows[which, number, label]


@compiled
def _add_pairs(
    scores: Floats, ids: Ints, sides: Hashes, pairs: Ints, low: Ints, high: Ints, keys: Hashes, sieve: Hashes,
    table: Ints, bounds: Ints, labels: Bytes, weights: Floats,
) -> None:  # fmt: skip
    """Adds the weights of two columns seen together. pairs: the offset and the side of the left one, of the right one;
    sides: the bits of each word there."""
    mask, bits = np.uint64(len(table) - 1), np.uint64(64 * len(sieve) - 1)
    for place in range(len(ids)):
        start, end = low[place], high[place]
        for number in range(len(pairs)):
            at, other = place + pairs[number, 0], place + pairs[number, 2]
            left = sides[ids[at] if start <= at < end else 0, pairs[number, 1]]
            right = sides[ids[other] if start <= other < end else 0, pairs[number, 3]]
            key = left * np.uint64(3) + right
            key = (key ^ (key >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            key = (key ^ (key >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            key ^= key >> np.uint64(31)
            bit = key >> np.uint64(32) & bits
            if sieve[bit >> np.uint64(6)] >> (bit & np.uint64(63)) & np.uint64(1) == np.uint64(0):
                continue
            slot = key & mask
            while table[slot] >= 0 and keys[table[slot]] != key:
                slot = (slot + np.uint64(1)) & mask
            feature = table[slot]
            if feature >= 0:
                for one in range(bounds[feature], bounds[feature + 1]):
                    scores[place, labels[one]] += weights[one]


@compiled
def _seek(
    raws: Hashes, uses: Ints, seen: Bools, offsets: Ints, keys: Hashes, table: Ints, features: Ints, counts: Bytes,
) -> None:  # fmt: skip
    """For each value the features that it is: their offsets and numbers in turn, and how many there are."""
    mask = np.uint64(len(table) - 1)
    for place in range(len(raws)):
        count = 0
        for number in range(len(offsets)):
            if not seen[uses[place], number]:
                continue
            key = moved(raws[place], offsets[number])
            slot = key & mask
            while table[slot] >= 0 and keys[table[slot]] != key:
                slot = (slot + np.uint64(1)) & mask
            if table[slot] >= 0:
                features[place, 2 * count] = number
                features[place, 2 * count + 1] = table[slot]
                count += 1
        counts[place] = count


@compiled
def _fill_words(
    slots: Ints, ends: Ints, features: Ints, counts: Bytes, bounds: Ints, labels: Bytes, weights: Floats, rows: Floats,
) -> None:  # fmt: skip
    """The rows of words, each of which has the values `slots[ends[word]:ends[word + 1]]`."""
    for word in range(len(ends) - 1):
        rows[word] = 0.0
        for place in range(ends[word], ends[word + 1]):
            slot = slots[place]
            for number in range(counts[slot]):
                offset, feature = features[slot, 2 * number], features[slot, 2 * number + 1]
                for at in range(bounds[feature], bounds[feature + 1]):
                    rows[word, offset, labels[at]] += weights[at]


@compiled
def _count(ids: Ints, uses: Ints) -> None:
    for word in ids:
        uses[word] += 1


@compiled
def _viterbi(
    scores: Floats, moves: Floats, first: Floats, begins: Ints, free: int, low: Floats, high: Floats,
    path: NDArray[np.uint8], back: NDArray[np.uint8], now: Floats, best: Floats,
) -> None:  # fmt: skip
    """The best path. The first `free` tags may follow any; each other one only itself and the tag it `begins` with.

    low and high are the least and the greatest of a tag's moves to the free ones: a tag that could not overtake the
    best one by any of its moves need not be looked at, and in most places that is true of nearly all.
    back, now, best: room, which the caller gives.
    """
    length, size = scores.shape
    if length == 0:
        return
    for label in range(size):
        now[label] = scores[0, label] + first[label]
    for place in range(1, length):
        top = 0
        for label in range(1, size):
            if now[label] > now[top]:
                top = label
        bound = now[top] + low[top]
        for label in range(free):
            best[label] = -np.inf
        for before in range(size):
            base = now[before]
            if base + high[before] < bound:
                continue
            for label in range(free):
                reached = base + moves[before, label]
                better = reached > best[label]
                best[label] = reached if better else best[label]
                back[place, label] = before if better else back[place, label]
        for label in range(free, size):
            begin = begins[label]
            stay, enter = now[label] + moves[label, label], -np.inf
            if begin >= 0:
                enter = now[begin] + moves[begin, label]
            best[label] = max(stay, enter)
            back[place, label] = begin if enter >= stay else label
        for label in range(size):
            now[label] = best[label] + scores[place, label]
    label = 0
    for other in range(1, size):
        if now[other] > now[label]:
            label = other
    path[length - 1] = label
    for place in range(length - 1, 0, -1):
        label = back[place, label]
        path[place - 1] = label


@compiled
def _chances(
    scores: Floats, moves: Floats, first: Floats, reach: float, label: int, path: Bytes, near: Bools, chances: Floats,
    every: Floats, likely: Floats, active: Bytes, counts: Ints, behind: Floats, ahead: Floats,
) -> bool:  # fmt: skip
    """P(tag is not `label` | text) of every token. `moves` and `first` are exponentials.

    Of each token only the tags within `reach` of its best one are followed, and where it is not `near` only that of
    the best path; False where that leaves no path. every: where it has rows, they become P(tag | text) of each tag.
    likely, active, counts, behind, ahead: room, which the caller gives.
    """
    length, size = scores.shape
    for place in range(length):
        top = scores[place, path[place]]
        if near[place]:
            for tag in range(size):
                top = max(top, scores[place, tag])
        count = 0
        total = np.float32(0.0)
        for tag in range(size):
            away = scores[place, tag] - top
            if away < -reach or (tag != path[place] and not near[place]):
                continue
            value = np.float32(0.0)
            if place == 0:
                value = first[tag]
            else:
                for number in range(counts[place - 1]):
                    before = active[place - 1, number]
                    value += likely[place - 1, before] * moves[before, tag]
            value *= np.exp(max(away, np.float32(-60.0)))
            likely[place, tag] = value
            active[place, count] = tag
            count += 1
            total += value
        counts[place] = count
        if not total > 0.0:
            return False
        for number in range(count):
            likely[place, active[place, number]] /= total
    behind[:] = 1.0
    ahead[:] = 0.0
    for place in range(length - 1, -1, -1):
        whole, own = np.float32(0.0), np.float32(0.0)
        for number in range(counts[place]):
            tag = active[place, number]
            value = likely[place, tag] * behind[tag]
            whole += value
            if tag == label:
                own = value
        if not whole > 0.0:
            return False
        chances[place] = (whole - own) / whole
        if len(every):
            for number in range(counts[place]):
                tag = active[place, number]
                every[place, tag] = likely[place, tag] * behind[tag] / whole
        if place == 0:
            break
        top = scores[place, path[place]]
        if near[place]:
            for tag in range(size):
                top = max(top, scores[place, tag])
        for number in range(counts[place]):
            tag = active[place, number]
            ahead[tag] = behind[tag] * np.exp(max(scores[place, tag] - top, np.float32(-60.0)))
        whole = np.float32(0.0)
        for number in range(counts[place - 1]):
            before = active[place - 1, number]
            value = np.float32(0.0)
            for other in range(counts[place]):
                tag = active[place, other]
                value += moves[before, tag] * ahead[tag]
            behind[before] = value
            whole += value
        if not whole > 0.0:
            return False
        for number in range(counts[place - 1]):
            behind[active[place - 1, number]] /= whole
    return True


_REACH = 18.0  # what is e⁻¹⁸ as likely as the best tag of its token changes no probability by a thousandth of a percent
_FURTHER = 1e6
_NEAR = 4  # tokens from a find up to which it matters for its chance what else they might be


@dataclass(frozen=True, slots=True)
class Weights:
    """What was learned: for each feature (by its bits, in order) the labels it speaks for; moves between labels."""

    labels: tuple[str, ...]
    keys: Hashes = field(repr=False)
    bounds: Ints = field(repr=False)  # feature i has labels_of[bounds[i]:bounds[i+1]]
    labels_of: NDArray[np.uint8] = field(repr=False)
    values: Floats = field(repr=False)
    moves: Floats = field(repr=False)
    first: Floats = field(repr=False)


_NEVER = np.float32(-1e4)


def constrained(labels: tuple[str, ...], moves: Floats, first: Floats) -> tuple[Floats, Floats]:
    """The moves without those that BIO forbids: "I-X" follows "B-X" or "I-X" only."""
    moves, first = moves.copy(), first.copy()
    for after, label in enumerate(labels):
        if label.startswith("I-"):
            first[after] = _NEVER
            for before, other in enumerate(labels):
                if other[2:] != label[2:]:
                    moves[before, after] = _NEVER
    return moves, first


def _order(labels: tuple[str, ...], free: bool) -> tuple[Ints, int]:
    """For each tag the one it begins with (none: -1), and how many of the first tags may follow any."""
    begins = np.full(len(labels), -1, dtype=np.int32)
    if free:
        return begins, len(labels)
    inside = [label.startswith("I-") for label in labels]
    if inside != sorted(inside):
        raise ValueError("the tags of a model must have those that go on after all others")
    for place, label in enumerate(labels):
        if inside[place] and f"B-{label[2:]}" in labels:
            begins[place] = labels.index(f"B-{label[2:]}")
    return begins, inside.count(False)


@dataclass(frozen=True, slots=True)
class Tagged:
    """The tag of each token by its place in the labels, and the probability that it is tagged at all (empty where it
    was not asked for)."""

    labels: tuple[str, ...]
    path: Bytes = field(repr=False)
    likely: Floats = field(repr=False)

    @property
    def tags(self) -> list[str]:
        return [self.labels[label] for label in self.path.tolist()]

    @property
    def chances(self) -> list[float]:
        return self.likely.tolist()


def _around(marked: Bools, distance: int) -> Bools:
    """What is marked, and what lies up to so far from it."""
    sums = np.concatenate([np.zeros(distance + 1, dtype=np.int32), np.cumsum(marked, dtype=np.int32)])
    sums = np.concatenate([sums, np.full(distance, sums[-1])])
    return sums[2 * distance + 1 :] > sums[: len(marked)]


NO_LIFTS: Mapping[str, float] = MappingProxyType({})


class Decoder:
    """From the score of each tag at each token to the best tags: the last step of every learner."""

    def __init__(
        self,
        labels: tuple[str, ...],
        moves: Floats,
        first: Floats,
        *,
        free: bool = False,
        lifts: Mapping[str, float] = NO_LIFTS,
        calibration: Sequence[tuple[float, float]] = (),
    ) -> None:
        """free: tags may follow each other in any order, as CRFsuite has it. lifts: what is added to the scores of a
        label's tags. calibration: what a chance turned out to be, at points between which it is straight."""
        self.labels = labels
        self._lift = np.array([lifts.get(label[2:], 0.0) for label in labels], dtype=np.float32)
        self._calibration = np.array(calibration, dtype=np.float32).reshape(-1, 2)
        self._moves, self._first = (moves, first) if free else constrained(labels, moves, first)
        self._begins, self._free = _order(labels, free)
        open_moves = self._moves[:, : self._free]
        self._low, self._high = open_moves.min(axis=1), open_moves.max(axis=1)
        self._moves_exp = np.exp(self._moves)
        self._first_exp = np.exp(self._first)

    def decode(
        self,
        scores: Floats,
        spans: Sequence[tuple[int, int]],
        *,
        chances: bool = True,
        quick: bool = False,
        bias: float = 0.0,
    ) -> Tagged:
        """The best tags of each stretch of tokens; `bias` is taken from the score of "O", in place, so that more is
        found (MIST's recall bias).

        quick: chances are asked for what is found, so tokens far from any find are taken to be what they seem.
        """
        out = self.labels.index(bridge.OUT)
        if bias:
            scores[:, out] -= np.float32(bias)
        if self._lift.any():
            scores += self._lift
        path = np.empty(len(scores), dtype=np.uint8)
        back, room = np.empty(scores.shape, dtype=np.uint8), np.empty((2, len(self.labels)), dtype=np.float32)
        for start, end in spans:
            _viterbi(
                scores[start:end], self._moves, self._first, self._begins, self._free, self._low, self._high,
                path[start:end], back[start:end], room[0], room[1],
            )  # fmt: skip
        likely = np.zeros(0, dtype=np.float32)
        if chances:
            likely = np.empty(len(scores), dtype=np.float32)
            near = _around(path != out, _NEAR) if quick else np.ones(len(path), dtype=np.bool_)
            self._judge(scores, spans, path, near, likely, np.zeros((0, scores.shape[1]), dtype=np.float32))
            if len(self._calibration):
                likely = np.interp(likely, self._calibration[:, 0], self._calibration[:, 1]).astype(np.float32)
        return Tagged(self.labels, path, likely)

    def marginals(self, scores: Floats, spans: Sequence[tuple[int, int]]) -> Floats:
        """P(tag | text) of each tag at each token, for those who set models side by side."""
        every = np.zeros_like(scores)
        path = np.zeros(len(scores), dtype=np.uint8)
        self._judge(
            scores, spans, path, np.ones(len(path), dtype=np.bool_), np.empty(len(scores), dtype=np.float32), every
        )
        return every

    def _judge(
        self, scores: Floats, spans: Sequence[tuple[int, int]], path: Bytes, near: Bools, found: Floats, every: Floats
    ) -> None:
        out = self.labels.index(bridge.OUT)
        given = self._moves_exp, self._first_exp
        sides = np.empty((2, scores.shape[1]), dtype=np.float32)
        likely, active = np.empty_like(scores), np.empty(scores.shape, dtype=np.uint8)
        room = likely, active, np.empty(len(scores), dtype=np.int32), *sides
        for start, end in spans:
            where, part = (path[start:end], near[start:end]), every[start:end]
            for reach in (_REACH, _FURTHER):
                part[:] = 0.0
                if _chances(scores[start:end], *given, reach, out, *where, found[start:end], part, *room):
                    break


class _Slots(dict[str, int]):
    """The number of each value of one column that was met."""

    def __init__(self, name: str, use: int, raws: list[int], uses: list[int]) -> None:
        super().__init__()
        self._name, self._use, self._raws, self._uses = name, use, raws, uses

    def __missing__(self, value: str) -> int:
        number = self[value] = len(self._raws)
        self._raws.append(bits_of_value(f"{self._name}={value}"))
        self._uses.append(self._use)
        return number


class _Values:
    """The values of word columns that were met, and the features of the model that each is."""

    def __init__(self, weights: "Weights", table: Ints, features: FeatureSet, offsets: Ints) -> None:
        self._weights, self._table, self._features, self._offsets = weights, table, features, offsets
        seen = [at in use.offsets for use in features.words for at in offsets]
        self._seen = np.array(seen, dtype=np.bool_).reshape(-1, len(offsets))
        self._forget()

    def _forget(self) -> None:
        self._raws: list[int] = []
        self._uses: list[int] = []
        self._columns = [
            (use.column, _Slots(use.name, place, self._raws, self._uses))
            for place, use in enumerate(self._features.words)
        ]
        self._found = np.zeros((1024, 2 * len(self._offsets)), dtype=np.int32)
        self._counts = np.zeros(1024, dtype=np.uint8)
        self._known = 0

    def fill(self, words: Sequence[str], rows: Floats) -> None:
        """Works out the rows of these words."""
        if self._known > _SLOTS_KEPT:
            self._forget()
        slots: list[int] = []
        ends = [0]
        for word in words:
            for column, numbers in self._columns:
                slots += map(numbers.__getitem__, column(word))
            ends.append(len(slots))
        self._seek()
        w = self._weights
        _fill_words(
            np.array(slots, dtype=np.int32), np.array(ends, dtype=np.int32), self._found, self._counts, w.bounds,
            w.labels_of, w.values, rows,
        )  # fmt: skip

    def _seek(self) -> None:
        start, count = self._known, len(self._raws)
        if start == count:
            return
        while count > len(self._counts):
            self._found = np.concatenate([self._found, np.zeros_like(self._found)])
            self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])
        raws = np.array(self._raws[start:], dtype=np.uint64)
        uses = np.array(self._uses[start:], dtype=np.int32)
        w = self._weights
        _seek(
            raws, uses, self._seen, self._offsets, w.keys, self._table, self._found[start:count],
            self._counts[start:count],
        )  # fmt: skip
        self._known = count


def _only(column: c.WordColumn, word: str) -> int:
    """The bits of what a column of one value says; 0 where it says nothing."""
    for value in column(word):
        return bits_of_value(f"{column.__name__}={value}")
    return 0


class _Words:
    """The rows of the words met so far. Row 0 is that of `OUTSIDE`."""

    def __init__(self, fill: Callable[[Sequence[str], Floats], None], row: tuple[int, int], pairs: Iterable[Pair]):
        ends = [end for pair in pairs for end in ((pair.left, pair.left_offset), (pair.right, pair.right_offset))]
        self._columns = {column.__name__: column for column, _ in ends}
        self._sides = list(dict.fromkeys((column.__name__, offset) for column, offset in ends))
        self._fill = fill
        self.number: dict[str, int] = {}
        self.rows = np.zeros((1024, *row), dtype=np.float32)
        self.sides = np.zeros((1024, len(self._sides)), dtype=np.uint64)  # the bits of what the columns of pairs say
        self.uses = np.zeros(1024, dtype=np.int32)
        self._registry: object = None
        self._of_type = np.zeros(0, dtype=np.int32)
        self._meet([c.OUTSIDE])

    def side(self, column: c.WordColumn, offset: int) -> int:
        return self._sides.index((column.__name__, offset))

    def of(self, seen: View) -> Ints:
        """The row of each token."""
        if len(self.number) > _WORDS_KEPT:
            self._drop()
        types, words = seen.types, seen.registry.words
        if self._registry is not seen.registry:
            self._registry = seen.registry
            self._of_type = np.full(0, -1, dtype=np.int32)
        if len(self._of_type) < len(words):
            more = np.full(len(words), -1, dtype=np.int32)
            self._of_type = np.concatenate([self._of_type, more])
        ids = self._of_type[types]
        if len(ids) and ids.min() < 0:
            missing = np.unique(types[ids < 0])
            named = [words[number] for number in missing.tolist()]
            self._meet([word for word in named if word not in self.number])
            self._of_type[missing] = [self.number[word] for word in named]
            ids = self._of_type[types]
        _count(ids, self.uses)
        return ids

    def _meet(self, words: Sequence[str]) -> None:
        start = len(self.number)
        end = start + len(words)
        while end > len(self.rows):
            self.rows = np.concatenate([self.rows, np.zeros_like(self.rows)])
            self.sides = np.concatenate([self.sides, np.zeros_like(self.sides)])
            self.uses = np.concatenate([self.uses, np.zeros_like(self.uses)])
        self.number |= {word: number for number, word in enumerate(words, start)}
        self._fill(words, self.rows[start:end])
        if self._sides:
            said = {name: [_only(column, word) for word in words] for name, column in self._columns.items()}
            for place, (name, offset) in enumerate(self._sides):
                self.sides[start:end, place] = moved_all(np.array(said[name], dtype=np.uint64), offset)

    def _drop(self) -> None:
        """Keeps the words that were used most since last time, half of them at most."""
        count = len(self.number)
        uses = self.uses[:count]
        uses[0] = np.iinfo(np.int32).max
        kept = np.sort(np.argsort(-uses, kind="stable")[: count // 2])
        words = list(self.number)
        self.number = {words[old]: number for number, old in enumerate(kept.tolist())}
        self.rows[: len(kept)] = self.rows[kept]
        self.sides[: len(kept)] = self.sides[kept]
        self.uses[: len(kept)] = uses[kept] // 2
        self.uses[len(kept) :] = 0
        self._registry = None


class _Said:
    """The rows of what one text column says."""

    def __init__(self, weights: "Weights", table: Ints, name: str, offsets: tuple[int, ...]) -> None:
        self._weights, self._table, self._name = weights, table, name
        self.offsets = np.array(offsets, dtype=np.int32)
        self._seen = np.ones((1, len(offsets)), dtype=np.bool_)
        self._number: dict[tuple[str, ...], int] = {(): 0}
        self.rows = np.zeros((64, len(offsets), len(weights.labels)), dtype=np.float32)
        self._fixed: tuple[object, Ints] = (None, np.zeros(0, dtype=np.int32))

    def of(self, said: c.Said) -> Ints:
        """The row of each token."""
        if said.values is self._fixed[0]:
            return self._fixed[1][said.codes]
        if len(self._number) > _VALUES_KEPT:
            self._number = {(): 0}
        numbers = np.array([self._row(values) for values in said.values], dtype=np.int32)
        self._fixed = (said.values, numbers)  # most columns always have the same values
        return numbers[said.codes]

    def _row(self, values: tuple[str, ...]) -> int:
        number = self._number.get(values)
        if number is not None:
            return number
        number = self._number[values] = len(self._number)
        if number == len(self.rows):
            self.rows = np.concatenate([self.rows, np.zeros_like(self.rows)])
        raws = bits_of_values([f"{self._name}={value}" for value in values])
        w = self._weights
        owners = np.zeros(len(values), dtype=np.int32)
        fill_rows(
            raws, owners, self._seen, self.offsets, w.keys, self._table, w.bounds, w.labels_of, w.values,
            self.rows[number],
        )  # fmt: skip
        return number


class Tables:
    """The weights of a model laid out for scoring. Its caches belong to one thread."""

    def __init__(
        self,
        weights: Weights,
        features: FeatureSet,
        *,
        free: bool = False,
        lifts: Mapping[str, float] = NO_LIFTS,
        calibration: Sequence[tuple[float, float]] = (),
    ) -> None:
        """free, lifts, calibration: as `Decoder` has them."""
        self.weights = weights
        self.features = features
        self._lifts, self._calibration = lifts, calibration
        self._table = table_of(weights.keys)
        self._sieve = sieve_of(weights.keys)
        self._free = free
        self._offsets = np.arange(-features.reach, features.reach + 1, dtype=np.int32)
        values = _Values(weights, self._table, features, self._offsets)
        self._words = _Words(values.fill, (len(self._offsets), len(weights.labels)), features.pairs)
        self._pairs = np.array(
            [
                (place, self._words.side(column, place))
                for pair in features.pairs
                for column, place in ((pair.left, pair.left_offset), (pair.right, pair.right_offset))
            ],
            dtype=np.int32,
        ).reshape(-1, 4)
        self._said = [_Said(weights, self._table, use.name, use.offsets) for use in features.texts]

    def scores(self, page: c.Page) -> tuple[Floats, list[tuple[int, int]]]:
        """The score of each tag at each token, and the units (first token, one past the last) that are read at once."""
        size = len(page.words)
        total = np.zeros((size, len(self.weights.labels)), dtype=np.float32)
        spans = units(page, self.features)
        low, high = np.empty(size, dtype=np.int32), np.empty(size, dtype=np.int32)
        for start, end in spans:
            low[start:end], high[start:end] = start, end
        ids = self._words.of(page.view)
        _add_rows(total, ids, self._words.rows, self._offsets, low, high, 0)
        for use, said in zip(self.features.texts, self._said, strict=True):
            rows = said.of(use.column(page))
            _add_rows(total, rows, said.rows, said.offsets, low, high, -1)
        if len(self._pairs):
            w = self.weights
            _add_pairs(
                total, ids, self._words.sides, self._pairs, low, high, w.keys, self._sieve, self._table, w.bounds,
                w.labels_of, w.values,
            )  # fmt: skip
        return total, spans

    @cached_property
    def decoder(self) -> Decoder:
        w = self.weights
        return Decoder(w.labels, w.moves, w.first, free=self._free, lifts=self._lifts, calibration=self._calibration)

    def tag(self, page: c.Page, *, chances: bool = True, quick: bool = False, bias: float = 0.0) -> Tagged:
        """The best tags, as `Decoder.decode` finds them."""
        total, spans = self.scores(page)
        return self.decoder.decode(total, spans, chances=chances, quick=quick, bias=bias)


def units(page: c.Page, features: FeatureSet) -> list[tuple[int, int]]:
    """What a learner reads at once, as ranges of tokens."""
    size = len(page.words)
    if features.unit == "document" or size == 0:
        return [(0, size)] if size else []
    return page.sentences


def names_of(page: c.Page, features: FeatureSet) -> list[list[list[str]]]:
    """The written names of every token's features, unit by unit: what a trainer is given."""
    cache: dict[tuple[str, int], list[str]] = {}
    words, said = page.words, [(use, use.column(page)) for use in features.texts]

    def of_word(word: str, offset: int) -> list[str]:
        if (word, offset) not in cache:
            cache[word, offset] = [
                f"{use.name}[{offset}]={value}"
                for use in features.words
                if offset in use.offsets
                for value in use.column(word)
            ]
        return cache[word, offset]

    found: list[list[list[str]]] = []
    for start, end in units(page, features):
        unit: list[list[str]] = []
        for place in range(start, end):
            names: list[str] = []
            for offset in range(-features.reach, features.reach + 1):
                at = place + offset
                names += of_word(words[at] if start <= at < end else c.OUTSIDE, offset)
            for use, says in said:
                for offset in use.offsets:
                    if start <= place + offset < end:
                        values = says.values[says.codes[place + offset]]
                        names += [f"{use.name}[{offset}]={value}" for value in values]
            for pair in features.pairs:
                left_at, right_at = place + pair.left_offset, place + pair.right_offset
                left = words[left_at] if start <= left_at < end else c.OUTSIDE
                right = words[right_at] if start <= right_at < end else c.OUTSIDE
                names += [
                    f"{pair.left.__name__}[{pair.left_offset}]={a}{TOGETHER}"
                    f"{pair.right.__name__}[{pair.right_offset}]={b}"
                    for a in pair.left(left)
                    for b in pair.right(right)
                ]
            unit.append(names)
        found.append(unit)
    return found
