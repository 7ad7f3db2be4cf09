"""What every rule detector wants to know of a text, worked out once: tokens, words, what the lists say of each word."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from threading import Lock
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from deident import lexicons
from deident.tokens import Layout, Tokens, layout, tokenize

T = TypeVar("T")
# Words that are kept, then they are met anew, so that memory stays bounded. Fewer than the lists keep of theirs
# (`lexicons.Phrases.met`): else those would begin anew for every text, and meet all words of this set again.
_KEPT = 1 << 15


@lru_cache(maxsize=1 << 16)
def row_of(word: str) -> lexicons.WordRow:
    """The lists' row of a word; a function of the word alone, so each is looked up once."""
    return lexicons.words().get(word)


class OfWord(dict[str, T]):
    """A function of one word, worked out once for each word that is met; emptied when it has grown large.

    >>> length = OfWord(len)
    >>> length["Foley"]
    5
    """

    def __init__(self, work: Callable[[str], T]) -> None:
        super().__init__()
        self._work = work

    def __missing__(self, word: str) -> T:
        if len(self) >= _KEPT:
            self.clear()
        found = self[word] = self._work(word)
        return found


class _Types(dict[str, int]):
    """A number for each word met so far, so that what depends on a word alone is a look-up in an array."""

    def __init__(self) -> None:
        super().__init__()
        self.words: list[str] = []
        self._lock = Lock()
        self._lowers = np.zeros(0, dtype=np.int32)

    def __missing__(self, word: str) -> int:
        with self._lock:
            if word not in self:
                self.words.append(word)
                self[word] = len(self.words) - 1
        return self[word]

    def lowers(self) -> NDArray[np.int32]:
        """For each number that of the word in lower case, which is a word as well."""
        table = self._lowers
        while len(table) < len(self.words):
            met = self.words[len(table) :]
            table = np.concatenate((table, np.array([self[word.lower()] for word in met], dtype=np.int32)))
        self._lowers = table
        return table


_types = _Types()


def _registry() -> _Types:
    """The numbers in use; when they have grown many a new set begins, and the old one goes with its last view."""
    global _types
    if len(_types) >= _KEPT:
        _types = _Types()
    return _types


class Marks:
    """A whole number for each word (flags, mostly), worked out once for each word that is met.

    >>> long = Marks(lambda word: len(word) > 4)
    >>> long.of(view("a Foley of 16 French")).tolist()
    [0, 1, 0, 0, 1]
    """

    def __init__(self, work: Callable[[str], int]) -> None:
        self._work = work
        self._held: tuple[_Types, NDArray[np.int32]] | None = None

    def of(self, seen: "View") -> NDArray[np.int32]:
        """The number of each token."""
        numbers, types = seen.types, seen.registry
        held = self._held
        table = held[1] if held is not None and held[0] is types else np.zeros(0, dtype=np.int32)
        met = len(types.words)
        if len(table) < met:  # two threads at once do the same work twice, no more
            new = np.array([self._work(word) for word in types.words[len(table) : met]], dtype=np.int32)
            table = np.concatenate((table, new))
            self._held = (types, table)
        return table[numbers]


@dataclass(frozen=True)
class View:
    """A text and its parts; offsets of token `i` are `starts[i]`, `ends[i]`."""

    text: str = field(repr=False)
    tokens: Tokens = field(repr=False)
    words: list[str] = field(repr=False)
    starts: list[int] = field(repr=False)
    ends: list[int] = field(repr=False)
    registry: _Types = field(repr=False)

    @cached_property
    def types(self) -> NDArray[np.int32]:
        """The number of each token's word."""
        return np.fromiter(map(self.registry.__getitem__, self.words), dtype=np.int32, count=len(self.words))

    @cached_property
    def lower_types(self) -> NDArray[np.int32]:
        """The number of each token's word in lower case."""
        types = self.types
        return self.registry.lowers()[types]

    @cached_property
    def lower(self) -> list[str]:
        return [word.lower() for word in self.words]

    @cached_property
    def vocabulary(self) -> frozenset[str]:
        """The words that the text has."""
        return frozenset(self.words)

    @cached_property
    def rows(self) -> list[lexicons.WordRow]:
        return [row_of(word) for word in self.words]

    @cached_property
    def layout(self) -> Layout:
        return layout(self.text)


@lru_cache(maxsize=8)
def view(text: str) -> View:
    """The view of a text; the last few are kept, since several detectors look at one document in turn."""
    return of_tokens(tokenize(text))


def of_tokens(tokens: Tokens, written: Callable[[str], str] = str) -> View:
    """The view of a text cut in another way, or of words written in another way; its offsets are the text's."""
    words = list(map(written, tokens.words()))
    return View(tokens.text, tokens, words, tokens.starts.tolist(), tokens.ends.tolist(), _registry())
