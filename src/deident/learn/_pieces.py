"""Our tokens as the word pieces of an encoder, and long notes as windows that overlap.

A token's pieces are a function of its text and of whether a blank stands before it, so each is worked out once. Offsets
are those of our tokens: nothing is asked of the tokenizer but numbers.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deident.errors import FormatError, MissingPackageError, UsageError
from deident.learn import networks
from deident.learn.bits import Ints
from deident.learn.columns import Page

MOST = 8  # pieces of one token that are looked at: longer ones are rules and codes, whose rest tells nothing more
_KEPT = 1 << 16


class Pieces:
    """A tokenizer (what stands in its `tokenizer.json`), and the pieces of the words met so far."""

    def __init__(self, tokenizer: bytes) -> None:
        self._tokenizer = _read(tokenizer)
        self._known: dict[str, list[int]] = {}
        self.begin = self._special("[CLS]", "<s>")
        self.end = self._special("[SEP]", "</s>")
        self.unknown = self._special("[UNK]", "<unk>")
        self.mask = self._special("[MASK]", "<mask>")

    def _special(self, *names: str) -> int:
        for name in names:
            number = self._tokenizer.token_to_id(name)
            if number is not None:
                return int(number)
        raise FormatError(f"the tokenizer has none of {', '.join(names)}")

    def of(self, page: Page) -> tuple[Ints, Ints]:
        """The pieces of all tokens in a row, and how many each token has (at least one)."""
        tokens = page.view.tokens
        blank = np.ones(len(page.words), dtype=np.bool_)
        blank[1:] = tokens.starts[1:] > tokens.ends[:-1]
        found = [self._pieces(f" {w}" if b else w) for w, b in zip(page.words, blank.tolist(), strict=True)]
        sizes = np.fromiter(map(len, found), dtype=np.int32, count=len(found))
        flat = [piece for row in found for piece in row]
        return np.array(flat, dtype=np.int32), sizes

    def _pieces(self, word: str) -> list[int]:
        known = self._known.get(word)
        if known is None:
            if len(self._known) >= _KEPT:
                self._known.clear()
            # half a surrogate pair, which broken files hold, is no text to the tokenizer
            text = word.encode("utf-8", "replace").decode("utf-8")
            known = list(self._tokenizer.encode(text, add_special_tokens=False).ids[:MOST]) or [self.unknown]
            self._known[word] = known
        return known

    def written(self) -> bytes:
        return self._tokenizer.to_str().encode("utf-8")


def _read(tokenizer: bytes) -> Any:
    try:
        made = networks.package("tokenizers", extra="neural").Tokenizer.from_str(tokenizer.decode("utf-8"))
    except MissingPackageError:
        raise
    except Exception:  # noqa: BLE001 (the library raises nothing narrower)
        raise FormatError("this is no tokenizer") from None
    made.no_truncation()
    made.no_padding()
    return made


def of_folder(folder: Path) -> Pieces:
    """The tokenizer of an encoder's folder: its `tokenizer.json`, or the `vocab.txt` of a BERT."""
    whole, words = folder / "tokenizer.json", folder / "vocab.txt"
    if whole.is_file():
        return Pieces(whole.read_bytes())
    if not words.is_file():
        raise UsageError(f"there is no tokenizer in {folder}: it has neither tokenizer.json nor vocab.txt")
    tokenizers = networks.package("tokenizers", extra="neural")
    made = tokenizers.BertWordPieceTokenizer(str(words), lowercase=_lowercase(folder))
    return Pieces(made.to_str().encode("utf-8"))


def _lowercase(folder: Path) -> bool:
    path = folder / "tokenizer_config.json"
    try:
        said: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise FormatError(f"{path} cannot be read") from None
    return bool(said.get("do_lower_case", True))


@dataclass(frozen=True, slots=True)
class Window:
    """Tokens `first:last` are read together; those of `kept_first:kept_last` are judged by this window."""

    first: int
    last: int
    kept_first: int
    kept_last: int


def windows(sizes: Sequence[int] | NDArray[np.int32], room: int, overlap: int) -> list[Window]:
    """Stretches of tokens of at most `room` pieces; neighbours share about `overlap` pieces.

    A token that two windows read is judged by the one in which it stands further from the edge.

    >>> windows([1] * 10, 6, 2)
    [Window(first=0, last=6, kept_first=0, kept_last=5), Window(first=4, last=10, kept_first=5, kept_last=10)]
    """
    ends = np.cumsum(np.asarray(sizes, dtype=np.int64))
    count = len(ends)
    stretches: list[tuple[int, int]] = []
    first = 0
    while count:
        before = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, before + room, side="right")))
        stretches.append((first, last))
        if last >= count:
            break
        back = int(np.searchsorted(ends, int(ends[last - 1]) - overlap, side="right"))
        first = min(last, max(first + 1, back))
    found: list[Window] = []
    kept = 0
    for number, (first, last) in enumerate(stretches):
        until = last if number + 1 == len(stretches) else (stretches[number + 1][0] + last) // 2
        if until > kept:
            found.append(Window(first, last, kept, until))
        kept = until
    return found
