"""Names of files and ids of notes are identifiers too ("OKONKWO_ADA_1942.txt"): keyed ids in their place.

An id is HMAC-SHA256 under a key of its own purpose, drawn from the run's key, of the path down to it; a folder stays
one folder. Under one key a note has one name in all runs; without the key nobody can tell which name is whose.
"""

import hmac
from collections.abc import Callable
from dataclasses import replace

from deident.document import Document
from deident.surrogates import purpose_key

_BYTES = 10  # 80 bits: two of a hundred million notes share a name with a chance of 4e-9


def names_key(key: bytes) -> bytes:
    return purpose_key(key, "names")


def renamed(name: str, key: bytes) -> str:
    """`ward/OKONKWO_ADA` → `5f0c…/91be…`"""
    parts = name.split("/")
    paths = ("/".join(parts[: place + 1]) for place in range(len(parts)))
    return "/".join(hmac.digest(key, path.encode("utf-8", "surrogatepass"), "sha256")[:_BYTES].hex() for path in paths)


def renaming(work: Callable[[Document], Document], key: bytes) -> Callable[[Document], Document]:
    """The same work, and the documents that come of it renamed."""

    def renamed_work(doc: Document) -> Document:
        done = work(doc)
        return replace(done, id=renamed(done.id, key))

    return renamed_work
