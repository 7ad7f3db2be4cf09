"""Drawing notes without duplicates, as NLM Scrubber did ("Characteristics of the Datasets"): of each patient's visit
the latest report of a type, and of near-duplicates (copied-forward text) one."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence

from deident.document import Document

_WORD = re.compile(r"\w+")
SHINGLE = 8  # words; shorter ones meet by chance in clinical phrases
LIKE = 0.5  # shares of shingles above which two notes count as one


def latest(documents: Iterable[Document]) -> list[Document]:
    """The last report of each patient, visit and kind: earlier ones are drafts and copies of it.

    Visit, kind and date are read from `meta` (a date that sorts as text, such as ISO). A document without a patient,
    or without a kind, stands for itself.
    """
    kept: dict[tuple[str, ...], Document] = {}
    for doc in documents:
        grouped = doc.patient is not None and doc.patient.id and "kind" in doc.meta
        visit, kind = str(doc.meta.get("visit", "")), str(doc.meta.get("kind", ""))
        key = (doc.patient.id, visit, kind) if doc.patient is not None and grouped else (doc.id,)
        if key not in kept or str(kept[key].meta.get("date", "")) <= str(doc.meta.get("date", "")):
            kept[key] = doc
    return list(kept.values())


def _shingles(text: str) -> set[int]:
    words = _WORD.findall(text.lower())
    grams = (" ".join(words[i : i + SHINGLE]) for i in range(max(1, len(words) - SHINGLE + 1)))
    return {int.from_bytes(hashlib.blake2b(gram.encode(), digest_size=8).digest()) for gram in grams}


def near_duplicates(documents: Sequence[Document], *, like: float = LIKE) -> Iterator[tuple[str, str]]:
    """Pairs (earlier, later) of ids that share most shingles of the smaller of the two, so that a note inside a
    longer one is found as well."""
    owners: dict[int, list[int]] = {}
    sizes: list[int] = []
    for doc in documents:
        shingles = _shingles(doc.text)
        shared: dict[int, int] = {}
        for shingle in shingles:
            for owner in owners.get(shingle, ()):
                shared[owner] = shared.get(owner, 0) + 1
        for owner, count in shared.items():
            if count / min(len(shingles), sizes[owner]) > like:
                yield documents[owner].id, doc.id
        for shingle in shingles:
            owners.setdefault(shingle, []).append(len(sizes))
        sizes.append(len(shingles))


def without_near_duplicates(documents: Sequence[Document], *, like: float = LIKE) -> list[Document]:
    """The documents without those that a kept earlier one already says."""
    dropped: set[str] = set()
    for earlier, later in near_duplicates(documents, like=like):
        if earlier not in dropped:
            dropped.add(later)
    return [doc for doc in documents if doc.id not in dropped]


def draw(documents: Sequence[Document], count: int, *, seed: int) -> list[Document]:
    """`count` documents, chosen by a hash of seed and id: the same ones whatever the order of the input."""

    def rank(doc: Document) -> bytes:
        return hashlib.sha256(f"{seed}\0{doc.id}".encode()).digest()

    return sorted(documents, key=rank)[:count]
