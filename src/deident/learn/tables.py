"""A linear model as tables: a text is scored by gathering rows of label scores and adding them.

All features of one word at one distance are one row, worked out when the word is first met; so are those of one value
of a text column. Then the best tags (Viterbi) or the probability of each (forward–backward). The kernels are compiled
by numba.
"""

from dataclasses import dataclass, field
from typing import cast

import numpy as np
from numpy.typing import NDArray

from deident.learn import columns as c
from deident.learn._compiled import compiled
from deident.learn.bits import (
    TOGETHER,
    Floats,
    Hashes,
    Ints,
    bits_at,
    bits_of_values,
    fill_rows,
    find,
    of_pair,
    table_of,
)
from deident.learn.features import FeatureSet

_WORDS_KEPT = 1 << 15  # words whose rows are kept; then the cache begins anew, so that memory stays bounded
_VALUES_KEPT = 1 << 14


@compiled
def _add_features(
    found: Ints, bounds: Ints, labels: NDArray[np.uint8], weights: Floats, scores: Floats, first: int
) -> None:
    for place in range(len(found)):
        feature = found[place]
        if feature >= 0:
            for at in range(bounds[feature], bounds[feature + 1]):
                scores[first + place, labels[at]] += weights[at]


@compiled
def _add_rows(scores: Floats, ids: Ints, rows: Floats, offsets: Ints, low: Ints, high: Ints, outside: int) -> None:
    """scores[t] += rows[ids[t + offset], offset] for every offset; beyond a unit's ends the row of `outside`."""
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
            for label in range(size):
                scores[place, label] += rows[which, number, label]


@compiled
def _viterbi(
    scores: Floats, moves: Floats, first: Floats, begins: Ints, free: int, low: Floats, high: Floats,
    path: NDArray[np.uint8],
) -> None:  # fmt: skip
    """The best path. The first `free` tags may follow any; each other one only itself and the tag it `begins` with.

    low and high are the least and the greatest of a tag's moves to the free ones: a tag that could not overtake the
    best one by any of its moves need not be looked at, and in most places that is true of nearly all.
    """
    length, size = scores.shape
    if length == 0:
        return
    back = np.empty((length, size), dtype=np.uint8)
    now = np.empty(size, dtype=np.float32)
    best = np.empty(size, dtype=np.float32)
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


_LITTLE = np.float32(1e-10)  # what is less likely than that changes no probability that float32 can show


@compiled
def _marginals(scores: Floats, moves: Floats, moves_back: Floats, first: Floats, out: Floats) -> None:
    """P(tag | text) of every token. `moves` and `first` are exponentials; `moves_back` is `moves` transposed."""
    length, size = scores.shape
    if length == 0:
        return
    local = np.empty((length, size), dtype=np.float32)
    for place in range(length):
        top = scores[place, 0]
        for label in range(1, size):
            top = max(top, scores[place, label])
        for label in range(size):
            local[place, label] = max(np.exp(scores[place, label] - top), 1e-18)
    total = np.float32(0.0)
    for label in range(size):
        out[0, label] = local[0, label] * first[label]
        total += out[0, label]
    for label in range(size):
        out[0, label] /= total
    for place in range(1, length):
        for label in range(size):
            out[place, label] = 0.0
        for before in range(size):
            base = out[place - 1, before]
            if base > _LITTLE:
                for label in range(size):
                    out[place, label] += base * moves[before, label]
        total = np.float32(0.0)
        for label in range(size):
            out[place, label] *= local[place, label]
            total += out[place, label]
        for label in range(size):
            out[place, label] /= total
    behind = np.ones(size, dtype=np.float32)
    ahead = np.empty(size, dtype=np.float32)
    for place in range(length - 2, -1, -1):
        total = np.float32(0.0)
        for label in range(size):
            ahead[label] = 0.0
        most = np.float32(0.0)
        for after in range(size):
            behind[after] *= local[place + 1, after]
            most = max(most, behind[after])
        for after in range(size):
            base = behind[after]
            if base > _LITTLE * most:
                for label in range(size):
                    ahead[label] += base * moves_back[after, label]
        for label in range(size):
            total += ahead[label]
        for label in range(size):
            behind[label] = ahead[label] / total
        total = np.float32(0.0)
        for label in range(size):
            out[place, label] *= behind[label]
            total += out[place, label]
        for label in range(size):
            out[place, label] /= total


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


def constrained(weights: Weights) -> tuple[Floats, Floats]:
    """The moves without those that BIO forbids: "I-X" follows "B-X" or "I-X" only."""
    moves, first = weights.moves.copy(), weights.first.copy()
    for after, label in enumerate(weights.labels):
        if label.startswith("I-"):
            first[after] = _NEVER
            for before, other in enumerate(weights.labels):
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
    """The tag of each token, and the probability that it is tagged at all (empty where it was not asked for)."""

    tags: list[str]
    chances: list[float]


class Tables:
    """The weights of a model laid out for scoring. Its caches belong to one thread."""

    def __init__(self, weights: Weights, features: FeatureSet, *, free: bool = False) -> None:
        """free: tags may follow each other in any order, as CRFsuite has it."""
        self.weights = weights
        self.features = features
        self._table = table_of(weights.keys)
        self._moves, self._first = (weights.moves, weights.first) if free else constrained(weights)
        self._begins, self._free = _order(weights.labels, free)
        open_moves = self._moves[:, : self._free]
        self._low, self._high = open_moves.min(axis=1), open_moves.max(axis=1)
        self._moves_exp = np.exp(self._moves)
        self._moves_back = np.ascontiguousarray(self._moves_exp.T)
        self._first_exp = np.exp(self._first)
        self._reach = tuple(range(-features.reach, features.reach + 1))
        self._offsets = np.array(self._reach, dtype=np.int32)
        self._seen = np.array([[at in use.offsets for at in self._reach] for use in features.words], dtype=np.bool_)
        self._text_seen = [np.ones((1, len(use.offsets)), dtype=np.bool_) for use in features.texts]
        self._text_offsets = [np.array(use.offsets, dtype=np.int32) for use in features.texts]
        self._forget_words()
        self._values: list[dict[tuple[str, ...], int]] = [{} for _ in features.texts]
        self._value_rows: list[Floats] = [self._room(64, len(use.offsets)) for use in features.texts]

    # --- rows --------------------------------------------------------------------------------------------------------

    def _room(self, count: int, offsets: int) -> Floats:
        return np.zeros((count, offsets, len(self.weights.labels)), dtype=np.float32)

    def _forget_words(self) -> None:
        self._words: dict[str, int] = {}
        self._word_rows = self._room(1024, len(self._reach))
        self._lefts = np.zeros((1024, len(self.features.pairs)), dtype=np.uint64)
        self._rights = np.zeros((1024, len(self.features.pairs)), dtype=np.uint64)
        self._meet(c.OUTSIDE)

    def _find(self, hashes: Hashes) -> Ints:
        found = np.empty(len(hashes), dtype=np.int32)
        find(hashes, self.weights.keys, self._table, found)
        return found

    def _fill(self, raws: Hashes, uses: list[int], seen: NDArray[np.bool_], offsets: Ints, rows: Floats) -> None:
        w = self.weights
        owners = np.array(uses, dtype=np.int32)
        fill_rows(raws, owners, seen, offsets, w.keys, self._table, w.bounds, w.labels_of, w.values, rows)

    def _meet(self, word: str) -> int:
        """Works out the rows of a word that is not in the cache."""
        number = len(self._words)
        if number == len(self._word_rows):
            self._word_rows = np.concatenate([self._word_rows, np.zeros_like(self._word_rows)])
            self._lefts = np.concatenate([self._lefts, np.zeros_like(self._lefts)])
            self._rights = np.concatenate([self._rights, np.zeros_like(self._rights)])
        self._words[word] = number
        names: list[str] = []
        owners: list[int] = []
        for place, use in enumerate(self.features.words):
            start = f"{use.name}="
            for value in use.column(word):
                names.append(start + value)
                owners.append(place)
        self._fill(bits_of_values(names), owners, self._seen, self._offsets, self._word_rows[number])
        for place, pair in enumerate(self.features.pairs):
            self._lefts[number, place] = _one(pair.left, word, pair.left_offset)
            self._rights[number, place] = _one(pair.right, word, pair.right_offset)
        return number

    def _value_row(self, place: int, values: tuple[str, ...]) -> int:
        """The number of the row of what a text column says."""
        known = self._values[place]
        number = known.get(values)
        if number is not None:
            return number
        use = self.features.texts[place]
        number = len(known)
        if number == len(self._value_rows[place]):
            rows = self._value_rows[place]
            self._value_rows[place] = np.concatenate([rows, np.zeros_like(rows)])
        known[values] = number
        raws = bits_of_values([f"{use.name}={value}" for value in values])
        owners = [0] * len(values)
        self._fill(raws, owners, self._text_seen[place], self._text_offsets[place], self._value_rows[place][number])
        return number

    # --- scoring -----------------------------------------------------------------------------------------------------

    def scores(self, page: c.Page) -> tuple[Floats, list[tuple[int, int]]]:
        """The score of each tag at each token, and the units (first token, one past the last) that are read at once."""
        words = page.words
        total = np.zeros((len(words), len(self.weights.labels)), dtype=np.float32)
        spans = units(page, self.features)
        low, high = np.empty(len(words), dtype=np.int32), np.empty(len(words), dtype=np.int32)
        for start, end in spans:
            low[start:end], high[start:end] = start, end
        if len(self._words) > _WORDS_KEPT:
            self._forget_words()
        known = self._words
        different, inverse = page.distinct
        found = [known[word] if word in known else self._meet(word) for word in different]
        ids = np.array(found, dtype=np.int32)[inverse]
        _add_rows(total, ids, self._word_rows, self._offsets, low, high, 0)
        for place, use in enumerate(self.features.texts):
            said = use.column(page)
            if len(self._values[place]) > _VALUES_KEPT:
                self._values[place].clear()
            rows = np.array([self._value_row(place, values) for values in said.values], dtype=np.int32)
            _add_rows(total, rows[said.codes], self._value_rows[place], self._text_offsets[place], low, high, -1)
        for start, end in spans:
            self._add_pairs(total, ids[start:end], start)
        return total, spans

    def _add_pairs(self, total: Floats, ids: Ints, start: int) -> None:
        reach = self.features.reach
        padded = np.concatenate([np.zeros(reach, dtype=np.int32), ids, np.zeros(reach, dtype=np.int32)])
        size, weights = len(ids), self.weights
        for place, pair in enumerate(self.features.pairs):
            lefts = self._lefts[padded[reach + pair.left_offset : reach + pair.left_offset + size], place]
            rights = self._rights[padded[reach + pair.right_offset : reach + pair.right_offset + size], place]
            found = self._find(of_pair(lefts, rights))
            _add_features(found, weights.bounds, weights.labels_of, weights.values, total, start)

    def tag(self, page: c.Page, *, chances: bool = True, bias: float = 0.0) -> Tagged:
        """The best tags; `bias` is taken from the score of "O", so that more is found (MIST's recall bias)."""
        total, spans = self.scores(page)
        names = self.weights.labels
        out = names.index("O")
        if bias:
            total[:, out] -= np.float32(bias)
        path = np.empty(len(total), dtype=np.uint8)
        likely = np.empty_like(total) if chances else total
        for start, end in spans:
            _viterbi(
                total[start:end], self._moves, self._first, self._begins, self._free, self._low, self._high,
                path[start:end],
            )  # fmt: skip
            if chances:
                _marginals(total[start:end], self._moves_exp, self._moves_back, self._first_exp, likely[start:end])
        found = cast(list[float], (1.0 - likely[:, out]).tolist()) if chances else []
        return Tagged([names[label] for label in path.tolist()], found)


def _one(column: c.WordColumn, word: str, offset: int) -> int:
    for value in column(word):
        return bits_at(f"{column.__name__}={value}", offset)
    return 0


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
