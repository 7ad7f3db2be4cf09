"""What every rule detector wants to know of a text, worked out once: tokens, words, what the lists say of each word."""

from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from deident import lexicons
from deident.tokens import Layout, Tokens, layout, tokenize


@lru_cache(maxsize=1 << 16)
def row_of(word: str) -> lexicons.WordRow:
    """The lists' row of a word; a function of the word alone, so each is looked up once."""
    return lexicons.words().get(word)


@dataclass(frozen=True)
class View:
    """A text and its parts; offsets of token `i` are `starts[i]`, `ends[i]`."""

    text: str = field(repr=False)
    tokens: Tokens = field(repr=False)
    words: list[str] = field(repr=False)
    starts: list[int] = field(repr=False)
    ends: list[int] = field(repr=False)

    @cached_property
    def lower(self) -> list[str]:
        return [word.lower() for word in self.words]

    @cached_property
    def rows(self) -> list[lexicons.WordRow]:
        return [row_of(word) for word in self.words]

    @cached_property
    def layout(self) -> Layout:
        return layout(self.text)


@lru_cache(maxsize=8)
def view(text: str) -> View:
    """The view of a text; the last few are kept, since several detectors look at one document in turn."""
    tokens = tokenize(text)
    return View(text, tokens, tokens.words(), tokens.starts.tolist(), tokens.ends.tolist())
