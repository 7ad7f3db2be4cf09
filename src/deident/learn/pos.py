"""Parts of speech: an averaged perceptron over words, endings and the two tags before, from left to right.

The weights are those of Honnibal's tagger of 2013 (textblob-aptagger, MIT), trained on the Wall Street Journal; with
them stand the Penn Treebank's tags. `scripts/build_pos.py` packs them as numbers. It reads 45 tags, greedily, so the
features of the words are gathered from tables as in `tables.py`, and those of the tags before from small arrays.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import as_file, files
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from deident.learn._compiled import compiled
from deident.learn.bits import Floats, Hashes, Ints, bits_of_value, bits_of_values, fill_rows, table_of

OFFSETS = (-2, -1, 0, 1, 2)
# What is seen of a word, and from which of OFFSETS: itself, its last three letters, and, of the one to be tagged only,
# its ending as written, its first letter, and a constant.
SEEN = {
    "word": (True, True, True, True, True),
    "ending": (False, True, False, True, False),
    "written ending": (False, False, True, False, False),
    "first": (False, False, True, False, False),
    "bias": (False, False, True, False, False),
}
EDGES = ("-START-", "-START2-", "-END-", "-END2-")
_WORDS_KEPT = 1 << 15


def normal(word: str) -> str:
    """The word as the tagger knows it: lower case; numbers and hyphenated words by their kind."""
    if word in EDGES:
        return word
    if "-" in word and word[0] != "-":
        return "!HYPHEN"
    if word.isdigit() and len(word) == 4:
        return "!YEAR"
    return "!DIGITS" if word[0].isdigit() else word.lower()


def said_of(word: str) -> tuple[str, ...]:
    """One value for each of SEEN."""
    known = normal(word)
    return known, known[-3:], word[-3:], word[0], ""


@dataclass(frozen=True, slots=True)
class _Model:
    tags: tuple[str, ...]
    keys: Hashes = field(repr=False)
    bounds: Ints = field(repr=False)
    labels_of: NDArray[np.uint8] = field(repr=False)
    values: Floats = field(repr=False)
    table: Ints = field(repr=False)
    known: dict[int, int] = field(repr=False)  # words that have one tag only, by their bits
    before: Floats = field(repr=False)  # [tag before, tag]; the last two rows are the edges
    second: Floats = field(repr=False)  # [tag before that, tag]
    both: Floats = field(repr=False)  # [tag before, tag before that, tag]


@cache
def _model() -> _Model:
    with as_file(files("deident.learn") / "pos.npz") as path, np.load(path, allow_pickle=False) as stored:
        a = {name: stored[name] for name in stored.files}
    return _Model(
        tuple(a["tags"].tolist()),
        a["keys"],
        np.concatenate([[0], np.cumsum(a["sizes"], dtype=np.int64)]).astype(np.int32),
        a["labels_of"],
        a["values"].astype(np.float32),
        table_of(a["keys"]),
        dict(zip(a["known"].tolist(), a["known_tags"].tolist(), strict=True)),
        *(a[name].astype(np.float32) for name in ("before", "second", "both")),
    )


@compiled
def _greedy(
    ids: Ints, places: Ints, rows: Floats, only: Ints, raws: Hashes, tag_bits: Hashes, keys: Hashes, table: Ints,
    bounds: Ints, labels_of: NDArray[np.uint8], values: Floats, before: Floats, second: Floats, both: Floats,
    out: Ints, scores: Floats,
) -> None:  # fmt: skip
    size = before.shape[1]
    mask = np.uint64(len(table) - 1)
    last, last_but_one = size, size + 1
    for number in range(len(places)):
        at = places[number]
        word = ids[at]
        tag = only[word]
        if tag < 0:
            for label in range(size):
                scores[label] = before[last, label] + second[last_but_one, label] + both[last, last_but_one, label]
            for offset in range(5):
                row = rows[ids[at + offset - 2], offset]
                for label in range(size):
                    scores[label] += row[label]
            # the tag before together with the word
            x = tag_bits[last] * np.uint64(3) + raws[word]
            x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            key = x ^ (x >> np.uint64(31))
            slot = key & mask
            while table[slot] >= 0 and keys[table[slot]] != key:
                slot = (slot + np.uint64(1)) & mask
            feature = table[slot]
            if feature >= 0:
                for place in range(bounds[feature], bounds[feature + 1]):
                    scores[labels_of[place]] += values[place]
            tag = 0
            for label in range(1, size):
                if scores[label] >= scores[tag]:
                    tag = label
        out[number] = tag
        last_but_one = last
        last = tag


class _Words:
    """The rows of the words met so far; begins anew when there are too many."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.tag_bits = bits_of_values([f"tag={tag}" for tag in (*_model().tags, *EDGES[:2])])
        self._seen = np.array(list(SEEN.values()), dtype=np.bool_)
        self._offsets = np.array(OFFSETS, dtype=np.int32)
        self._uses = np.arange(len(SEEN), dtype=np.int32)
        self._forget()

    def _forget(self) -> None:
        self.number: dict[str, int] = {}
        self.rows = np.zeros((1024, len(OFFSETS), len(_model().tags)), dtype=np.float32)
        self.only = np.full(1024, -1, dtype=np.int32)
        self.raws = np.zeros(1024, dtype=np.uint64)
        for edge in EDGES:
            self._meet(edge)

    def _meet(self, word: str) -> int:
        number = self.number[word] = len(self.number)
        if number == len(self.rows):
            self.rows = np.concatenate([self.rows, np.zeros_like(self.rows)])
            self.only = np.concatenate([self.only, np.full_like(self.only, -1)])
            self.raws = np.concatenate([self.raws, np.zeros_like(self.raws)])
        model = _model()
        raws = bits_of_values([f"{name}={value}" for name, value in zip(SEEN, said_of(word), strict=True)])
        self.raws[number] = raws[0]
        fill_rows(
            raws, self._uses, self._seen, self._offsets, model.keys, model.table, model.bounds, model.labels_of,
            model.values, self.rows[number],
        )  # fmt: skip
        self.only[number] = model.known.get(bits_of_value(f"only={word}"), -1)
        return number

    def ids(self, words: Sequence[str]) -> list[int]:
        if len(self.number) > _WORDS_KEPT:
            self._forget()
        known = self.number
        return [known[word] if word in known else self._meet(word) for word in words]


@cache
def _words() -> _Words:
    return _Words()


def tags() -> tuple[str, ...]:
    """The tags there are, in the order of their codes."""
    return _model().tags


def codes(words: Sequence[str], units: Sequence[tuple[int, int]]) -> Ints:
    """The tag of each word by its place in `tags()`; `units` are the sentences, as ranges of words."""
    model, held = _model(), _words()
    out = np.empty(len(words), dtype=np.int32)
    with held.lock:
        numbers = held.ids(words)
        padded: list[int] = []
        places: list[int] = []
        for start, end in units:
            padded += (0, 1)
            places += range(len(padded), len(padded) + end - start)
            padded += numbers[start:end]
            padded += (2, 3)
        _greedy(
            np.array(padded, dtype=np.int32), np.array(places, dtype=np.int32), held.rows, held.only, held.raws,
            held.tag_bits, model.keys, model.table, model.bounds, model.labels_of, model.values, model.before,
            model.second, model.both, out, np.empty(len(model.tags), dtype=np.float32),
        )  # fmt: skip
    return out
