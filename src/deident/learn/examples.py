"""Examples as numbers: each token a row of the features it has, each feature a number.

What is said of a word is worked out once, its features at every distance are drawn from 64 bits by compiled code, so a
million tokens are read in half a minute. All trainers but CRFsuite's, which wants strings, learn from these.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from deident.learn import bridge
from deident.learn import columns as c
from deident.learn._compiled import compiled
from deident.learn.bits import Floats, Hashes, Ints, bits_at, bits_of_values, moved, of_pair
from deident.learn.columns import Page
from deident.learn.features import FeatureSet, Pair, TextUse
from deident.learn.tables import units

Longs = NDArray[np.int64]


# --- columns → features by their bits --------------------------------------------------------------------------------


@compiled
def _emit(
    ids: Ints, value_bounds: Longs, raws: Hashes, uses: Ints, seen: NDArray[np.bool_], offsets: Ints, outside: int,
    kind_of_use: NDArray[np.uint8], low: Ints, high: Ints, out: Hashes, kinds: NDArray[np.uint8], ends: Longs,
    write: bool,
) -> None:  # fmt: skip
    """For every token the bits of what `ids` says at each offset, written from `ends` on; write=False: only counted.

    Beyond `low` and `high`, the ends of a token's unit, stands what `outside` says.
    """
    for place in range(len(ids)):
        to = ends[place]
        for number in range(len(offsets)):
            at = place + offsets[number]
            if at < low[place] or at >= high[place]:
                if outside < 0:
                    continue
                which = outside
            else:
                which = ids[at]
            for value in range(value_bounds[which], value_bounds[which + 1]):
                use = uses[value]
                if seen[use, number]:
                    if write:
                        out[to] = moved(raws[value], offsets[number])
                        kinds[to] = kind_of_use[use]
                    to += 1
        ends[place] = to


@compiled
def _count(hashes: Hashes, slots: Hashes, numbers: Ints, counts: Ints, used: int, out: Ints) -> int:
    """The number of each feature, new ones appended; returns how many there are now."""
    mask = np.uint64(len(slots) - 1)
    for place in range(len(hashes)):
        key = hashes[place]
        slot = key & mask
        while numbers[slot] >= 0 and slots[slot] != key:
            slot = (slot + np.uint64(1)) & mask
        if numbers[slot] < 0:
            slots[slot] = key
            numbers[slot] = used
            used += 1
        counts[numbers[slot]] += 1
        out[place] = numbers[slot]
    return used


LEXICAL, LISTED, OTHER = 1, 2, 0
_LEXICAL = frozenset(("word", "lower", "digits_as_zero", "prefix4", "suffix4", "prefix3", "grams3", "grams4"))
_LISTED = frozenset(
    ("kinds", "cased_kinds", "counts", "likelihood", "cased_likelihood", "first_or_last", "phrase", "known_form")
)


def _kind(name: str) -> int:
    return LEXICAL if name in _LEXICAL else LISTED if name in _LISTED or name.startswith("brown") else OTHER


@dataclass(frozen=True, slots=True)
class Examples:
    """Token i has the features `features[bounds[i]:bounds[i + 1]]`; a unit is a range of tokens."""

    features: Ints = field(repr=False)
    kinds: NDArray[np.uint8] = field(repr=False)
    bounds: Longs = field(repr=False)
    gold: NDArray[np.uint8] = field(repr=False)
    units: Longs = field(repr=False)
    labels: tuple[str, ...]
    keys: Hashes = field(repr=False)
    page_of: Longs = field(repr=False)  # which of the pages a unit is of
    held: int = 0  # of how many of the last units nothing is learned
    # after `adapted`: how many features there are but for those of the keys, and which of them is key i in the target
    # (-1: none)
    own: int = 0
    target: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int32), repr=False)


# the arguments of `_emit` that say what stands where
_Stream = tuple[Ints, Longs, Hashes, Ints, NDArray[np.bool_], Ints, int, NDArray[np.uint8]]


class _Reader:
    """Pages → features by number, each word worked out once."""

    def __init__(self, features: FeatureSet) -> None:
        self.features = features
        self.offsets = np.arange(-features.reach, features.reach + 1, dtype=np.int32)
        seen = [at in use.offsets for use in features.words for at in self.offsets]
        self.seen = np.array(seen, dtype=np.bool_).reshape(-1, len(self.offsets))
        self.use_kinds = np.array([_kind(use.name) for use in features.words], dtype=np.uint8)
        self.words: dict[str, int] = {}
        self.raws: list[Hashes] = []
        self.uses: list[Ints] = []
        self.meet(c.OUTSIDE)

    def meet(self, word: str) -> int:
        number = self.words[word] = len(self.raws)
        names: list[str] = []
        owners: list[int] = []
        for place, use in enumerate(self.features.words):
            for value in use.column(word):
                names.append(f"{use.name}={value}")
                owners.append(place)
        self.raws.append(bits_of_values(names))
        self.uses.append(np.array(owners, dtype=np.int32))
        return number

    def read(self, page: Page, spans: Sequence[tuple[int, int]]) -> tuple[Hashes, NDArray[np.uint8], Longs]:
        """The bits of all features of the tokens of a page, their kinds, and how many each token has.

        spans: what is read at once, as ranges of tokens.
        """
        size = len(page.words)
        low, high = np.zeros(size, dtype=np.int32), np.zeros(size, dtype=np.int32)
        for start, end in spans:
            low[start:end], high[start:end] = start, end
        streams = [self._words(page), *(_text(use, page) for use in self.features.texts)]
        pairs = [self._pair(pair, page, low, high) for pair in self.features.pairs]
        sizes = np.zeros(size, dtype=np.int64)
        for stream in streams:
            _emit(*stream, low, high, np.zeros(0, np.uint64), np.zeros(0, np.uint8), sizes, False)
        sizes += len(pairs)
        ends = np.cumsum(sizes) - sizes
        out = np.empty(int(sizes.sum()), dtype=np.uint64)
        kinds = np.zeros(len(out), dtype=np.uint8)
        for stream in streams:
            _emit(*stream, low, high, out, kinds, ends, True)
        for pair, column in zip(self.features.pairs, pairs, strict=True):
            out[ends] = column
            kinds[ends] = max(_kind(pair.left.__name__), _kind(pair.right.__name__)) and LEXICAL
            ends += 1
        return out, kinds, sizes

    def _words(self, page: Page) -> _Stream:
        different, inverse = page.distinct
        words = [c.OUTSIDE, *different]
        numbers = [self.words[word] if word in self.words else self.meet(word) for word in words]
        return (
            (inverse + 1).astype(np.int32),
            _bounds([len(self.raws[number]) for number in numbers]),
            np.concatenate([self.raws[number] for number in numbers]),
            np.concatenate([self.uses[number] for number in numbers]),
            self.seen,
            self.offsets,
            0,
            self.use_kinds,
        )

    def _pair(self, pair: Pair, page: Page, low: Ints, high: Ints) -> Hashes:
        left = _one(pair.left, pair.left_offset, page, low, high)
        return of_pair(left, _one(pair.right, pair.right_offset, page, low, high))


def _text(use: TextUse, page: Page) -> _Stream:
    said = use.column(page)
    names = [[f"{use.name}={value}" for value in values] for values in said.values]
    raws = bits_of_values(name for row in names for name in row)
    return (
        said.codes,
        _bounds([len(row) for row in names]),
        raws,
        np.zeros(len(raws), dtype=np.int32),
        np.ones((1, len(use.offsets)), dtype=np.bool_),
        np.array(use.offsets, dtype=np.int32),
        -1,
        np.array([_kind(use.name)], dtype=np.uint8),
    )


def _one(column: c.WordColumn, offset: int, page: Page, low: Ints, high: Ints) -> Hashes:
    """What a column of one value says at this distance from each token."""
    different, inverse = page.distinct
    name = column.__name__
    known = np.array(
        [next((bits_at(f"{name}={value}", offset) for value in column(word)), 0) for word in (c.OUTSIDE, *different)],
        dtype=np.uint64,
    )
    at = np.arange(len(inverse)) + offset
    inside = (at >= low) & (at < high)
    return known[np.where(inside, inverse[np.clip(at, 0, len(inverse) - 1)] + 1, 0)]


def _bounds(sizes: Sequence[int]) -> Longs:
    return np.cumsum([0, *sizes]).astype(np.int64)


def read(
    examples: Iterable[tuple[Page, list[str]]],
    features: FeatureSet,
    *,
    least: int = 2,
    held: Iterable[tuple[Page, list[str]]] = (),
) -> Examples:
    """All examples as numbers, and after them those held out; features seen fewer than `least` times are dropped.

    A token whose tag is `SKIPPED` is seen by its neighbours, but is no example itself: a unit ends there.
    """
    reader = _Reader(features)
    slots = np.zeros(1 << 20, dtype=np.uint64)
    numbers = np.full(1 << 20, -1, dtype=np.int32)
    counts = np.zeros(1 << 20, dtype=np.int32)
    used = 0
    rows: list[Ints] = []
    kinds: list[NDArray[np.uint8]] = []
    sizes: list[Longs] = []
    gold: list[list[str]] = []
    unit_ends = [0]
    page_of: list[int] = []
    held_units = 0
    marked = chain(((page, tags, False) for page, tags in examples), ((page, tags, True) for page, tags in held))
    for number_of_page, (page, tags, is_held) in enumerate(marked):
        spans = units(page, features)
        if not spans:
            continue
        hashes, kind, size = reader.read(page, spans)
        if SKIPPED in tags:
            kept = np.array([tag != SKIPPED for tag in tags])
            of_feature = np.repeat(kept, size)
            hashes, kind, size = hashes[of_feature], kind[of_feature], size[kept]
            spans = list(runs(tags, spans))
        while used + len(hashes) > len(slots) // 2:
            slots, numbers = _grown(slots, numbers, used)
            counts = np.concatenate([counts, np.zeros_like(counts)])
        out = np.empty(len(hashes), dtype=np.int32)
        used = _count(hashes, slots, numbers, counts, used, out)
        rows.append(out)
        kinds.append(kind)
        sizes.append(size)
        held_units += len(spans) if is_held else 0
        for start, end in spans:
            gold.append(tags[start:end])
            page_of.append(number_of_page)
            unit_ends.append(unit_ends[-1] + end - start)
    keys = np.zeros(used, dtype=np.uint64)
    taken = numbers >= 0
    keys[numbers[taken]] = slots[taken]
    kept = counts[:used] >= least
    renumber = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
    found = np.concatenate(rows)
    rows.clear()
    found = renumber[found]
    good = found >= 0
    all_sizes = np.concatenate(sizes)
    owners_end = np.cumsum(all_sizes)
    good_before = np.concatenate([[0], np.cumsum(good)])
    bounds = np.concatenate([[0], good_before[owners_end]]).astype(np.int64)
    seen_tags = {tag for unit in gold for tag in unit} | {bridge.OUT}
    labels = (bridge.OUT, *sorted(seen_tags - {bridge.OUT}))
    number = {label: place for place, label in enumerate(labels)}
    return Examples(
        found[good],
        np.concatenate(kinds)[good],
        bounds,
        np.array([number[tag] for unit in gold for tag in unit], dtype=np.uint8),
        np.array(unit_ends, dtype=np.int64),
        labels,
        keys[kept],
        np.array(page_of, dtype=np.int64),
        held_units,
    )


SKIPPED = ""


def runs(tags: Sequence[str], spans: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """The stretches of the units that are not skipped."""
    for start, end in spans:
        first = start
        for place in range(start, end + 1):
            if place == end or tags[place] == SKIPPED:
                if first < place:
                    yield first, place
                first = place + 1


def _grown(slots: Hashes, numbers: Ints, used: int) -> tuple[Hashes, Ints]:
    keys = np.zeros(used, dtype=np.uint64)
    taken = numbers >= 0
    keys[numbers[taken]] = slots[taken]
    bigger = np.zeros(2 * len(slots), dtype=np.uint64)
    places = np.full(2 * len(slots), -1, dtype=np.int32)
    _count(keys, bigger, places, np.zeros(used, dtype=np.int32), 0, np.empty(used, dtype=np.int32))
    return bigger, places


def selected(data: Examples, most: int) -> Examples:
    """Only the `most` features that tell most of the tag (mutual information; Tafvizi 2011, 7.2.4); all where `most`
    is 0."""
    if not 0 < most < len(data.keys):
        return data
    told = information(data)
    kept = np.zeros(len(told), dtype=np.bool_)
    kept[np.argsort(-told, kind="stable")[:most]] = True
    renumber = np.where(kept, np.cumsum(kept) - 1, -1).astype(np.int32)
    features = renumber[data.features]
    good = features >= 0
    before = np.concatenate([[0], np.cumsum(good)])
    return replace(
        data, features=features[good], kinds=data.kinds[good], bounds=before[data.bounds].astype(np.int64),
        keys=data.keys[kept],
    )  # fmt: skip


def information(data: Examples) -> NDArray[np.float64]:
    """The mutual information of each feature, present or absent, and the tag, over the tokens that are learned from."""
    last = int(data.units[len(data.units) - 1 - data.held])
    used = slice(0, int(data.bounds[last]))
    size = len(data.labels)
    tags = np.repeat(data.gold[:last], np.diff(data.bounds[: last + 1])).astype(np.int64)
    joint = np.bincount(data.features[used] * np.int64(size) + tags, minlength=len(data.keys) * size)
    joint = joint.reshape(-1, size).astype(np.float64)
    of_tag = np.bincount(data.gold[:last], minlength=size).astype(np.float64)
    total = np.zeros(len(joint))
    for there, count in ((joint, joint.sum(axis=1)), (of_tag - joint, last - joint.sum(axis=1))):
        expected = count[:, None] * of_tag[None, :] / last
        with np.errstate(divide="ignore", invalid="ignore"):
            terms = np.where(there > 0, there * np.log2(there / expected), 0.0)
        total += terms.sum(axis=1)
    return total / last


def adapted(data: Examples, domains: Sequence[int]) -> Examples:
    """EasyAdapt (Daumé 2007; Lee 2017, 3.3.3): every feature once for all domains and once for its own.

    domains: that of each page; 0 is the target, whose texts the model is for. After learning, the weights of the
    general features and those of the target's own are added up (`folded`), so that the model is no larger.
    """
    count = len(data.keys)
    sizes = np.diff(data.bounds)
    of_page = np.zeros(max(len(domains), int(data.page_of.max(initial=0)) + 1), dtype=np.int64)
    of_page[: len(domains)] = domains  # what is held out is of the target's domain
    of_token = np.repeat(of_page[data.page_of], np.diff(data.units))
    places = data.features + np.repeat(of_token, sizes) * count
    there = np.zeros((1 + int(of_page.max(initial=0))) * count, dtype=np.bool_)
    there[places] = True
    number = np.where(there, count + np.cumsum(there) - 1, -1).astype(np.int32)
    # a token's own features follow its general ones
    features = np.empty(2 * len(places), dtype=np.int32)
    kinds = np.empty(2 * len(places), dtype=np.uint8)
    first = np.arange(len(places)) + np.repeat(data.bounds[:-1], sizes)
    shift = np.repeat(sizes, sizes)
    for at, numbers in ((first, data.features), (first + shift, number[places])):
        features[at] = numbers
        kinds[at] = data.kinds
    return replace(
        data, features=features, kinds=kinds, bounds=2 * data.bounds, own=int(there.sum()), target=number[:count]
    )


def folded(values: Floats, data: Examples) -> Floats:
    """The weights by which the target's texts are judged."""
    if not len(data.target):
        return values
    own = values[data.target]
    own[data.target < 0] = 0.0
    return values[: len(data.keys)] + own
