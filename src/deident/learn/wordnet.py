"""WordNet, read from its own files: base forms, synsets, and the synsets above them.

The files (`index.noun`, `data.noun`, `noun.exc` …) are those of Princeton's WordNet 3.0, which Debian's `wordnet-base`
puts in /usr/share/wordnet. WordNet's own variable WNSEARCHDIR names another folder.
"""

import os
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path

from deident.errors import MissingPackageError

KINDS = ("noun", "verb", "adj", "adv")
_DEBIAN = "/usr/share/wordnet"
# the endings that morphy(7WN) takes off, and what it puts instead
_ENDINGS = {
    "noun": "ses:s xes:x zes:z ches:ch shes:sh men:man ies:y s:",
    "verb": "ies:y es:e es: s: ed:e ed: ing:e ing:",
    "adj": "er: est: er:e est:e",
    "adv": "",
}
_SENSES = 2  # of each part of speech, the most frequent first


def folder() -> Path:
    found = Path(os.environ.get("WNSEARCHDIR", _DEBIAN))
    names = [name for kind in KINDS for name in (f"index.{kind}", f"data.{kind}", f"{kind}.exc")]
    if not all((found / name).is_file() for name in names):
        raise MissingPackageError(
            "WordNet 3.0 with its lists of exceptions",
            how="install Debian's wordnet-base, or let WNSEARCHDIR name the folder",
        )
    return found


def _lines(name: str) -> Iterator[str]:
    with (folder() / name).open(encoding="utf-8") as stream:
        yield from (line for line in stream if not line.startswith("  "))  # the licence


@cache
def _index(kind: str) -> dict[str, tuple[int, ...]]:
    """lemma → the offsets of its synsets in the data file."""
    found: dict[str, tuple[int, ...]] = {}
    for line in _lines(f"index.{kind}"):
        parts = line.split()
        found[parts[0]] = tuple(map(int, parts[-int(parts[2]) :][:_SENSES]))
    return found


@cache
def _data(kind: str) -> bytes:
    return (folder() / f"data.{kind}").read_bytes()


@cache
def _exceptions(kind: str) -> dict[str, str]:
    return {parts[0]: parts[1] for parts in map(str.split, _lines(f"{kind}.exc")) if len(parts) > 1}


@lru_cache(maxsize=1 << 16)
def _base(word: str, kind: str) -> str | None:
    if word in _exceptions(kind):
        return _exceptions(kind)[word]
    known = _index(kind)
    if word in known:
        return word
    for ending, instead in (pair.split(":") for pair in _ENDINGS[kind].split()):
        if word.endswith(ending) and len(word) > len(ending):
            form = word.removesuffix(ending) + instead
            if form in known:
                return form
    return None


def lemma(word: str, tag: str) -> str:
    """The base form of a lower-case word that has this Penn Treebank tag; the word itself where there is none."""
    kind = {"N": "noun", "V": "verb", "J": "adj", "R": "adv"}.get(tag[:1])
    return (_base(word, kind) if kind is not None else None) or word


def _synset(kind: str, offset: int) -> tuple[list[str], list[int]]:
    """The lemmas of a synset, and the offsets of those above it."""
    data = _data(kind)
    parts = data[offset : data.index(b"|", offset)].decode("utf-8").split()
    count = int(parts[3], 16)
    lemmas = [parts[4 + 2 * place].lower() for place in range(count)]
    pointers = parts[4 + 2 * count :]
    above = [
        int(pointers[2 + 4 * place]) for place in range(int(pointers[0])) if pointers[1 + 4 * place] in ("@", "@i")
    ]
    return lemmas, above


@lru_cache(maxsize=1 << 16)
def senses(word: str) -> tuple[str, ...]:
    """The first synsets of a lower-case word, their lemmas, and the synsets above them."""
    found: dict[str, None] = {}
    for kind in KINDS:
        base = _base(word, kind)
        for offset in _index(kind).get(base, ()) if base is not None else ():
            lemmas, above = _synset(kind, offset)
            found[f"sense {kind[0]}{offset}"] = None
            found |= {f"lemma {name}": None for name in lemmas}
            found |= {f"above {kind[0]}{higher}": None for higher in above}
    return tuple(found)
