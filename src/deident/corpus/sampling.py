"""Drawing notes without duplicates, as NLM Scrubber did ("Characteristics of the Datasets"): of each patient's visit
the latest report of a type, and of near-duplicates (copied-forward text) one."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from heapq import nsmallest

from deident.document import Document
from deident.errors import UsageError

_WORD = re.compile(r"\w+")
SHINGLE = 8  # words; shorter ones meet by chance in clinical phrases
LIKE = 0.5  # shares of shingles above which two notes count as one


def latest(documents: Iterable[Document]) -> list[Document]:
    """The last report of each patient, visit and kind: earlier ones are drafts and copies of it.

    Visit, kind and date (ISO 8601) are read from `meta`; a note without a date counts as the earliest, of two of the
    same date the second stays. A document without a patient, or without a kind, stands for itself.
    """
    kept: dict[tuple[str, ...], Document] = {}
    for doc in documents:
        grouped = doc.patient is not None and doc.patient.id and "kind" in doc.meta
        visit, kind = str(doc.meta.get("visit", "")), str(doc.meta.get("kind", ""))
        key = (doc.patient.id, visit, kind) if doc.patient is not None and grouped else (doc.id,)
        if key not in kept or _written(kept[key]) <= _written(doc):
            kept[key] = doc
    return list(kept.values())


def _written(doc: Document) -> datetime:
    if "date" not in doc.meta:
        return datetime.min.replace(tzinfo=UTC)
    try:
        found = datetime.fromisoformat(str(doc.meta["date"]))
    except ValueError:  # another order of day and month would sort wrongly, and silently
        raise UsageError(f"the date in meta of note {doc.id} is not written as YYYY-MM-DD") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _shingles(text: str) -> set[int]:
    words = _WORD.findall(text.lower())
    grams = (" ".join(words[i : i + SHINGLE]) for i in range(max(1, len(words) - SHINGLE + 1)))
    return {int.from_bytes(hashlib.blake2b(gram.encode(), digest_size=8).digest()) for gram in grams}


def near_duplicates(documents: Sequence[Document], *, like: float = LIKE) -> Iterator[tuple[str, str]]:
    """Pairs (earlier, later) of ids that share most shingles of the smaller of the two, so that a note inside a
    longer one is found as well.

    Two notes that share more than `like` of the smaller one's shingles share one of its rarest as well, if the rest
    is no more than `like` of them: only these are looked up, so a letterhead that all notes have costs nothing.
    """
    shingles = [_shingles(doc.text) for doc in documents]
    owners: dict[int, list[int]] = {}
    for place, found in enumerate(shingles):
        for shingle in found:
            owners.setdefault(shingle, []).append(place)
    pairs: list[tuple[int, int]] = []
    for place, found in enumerate(shingles):
        size = len(found)
        rarest = nsmallest(int((1 - like) * size) + 1, found, key=lambda shingle: len(owners[shingle]))
        for other in {owner for shingle in rarest for owner in owners[shingle]}:
            smaller = (size, place) < (len(shingles[other]), other)
            if smaller and len(found & shingles[other]) > like * size:
                pairs.append((max(place, other), min(place, other)))
    for later, earlier in sorted(pairs):
        yield documents[earlier].id, documents[later].id


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
