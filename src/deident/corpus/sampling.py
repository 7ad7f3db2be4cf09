"""Drawing notes without duplicates, as NLM Scrubber did ("Characteristics of the Datasets"): of each patient's visit
the latest report of a type, and of near-duplicates (copied-forward text) one."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from deident.document import Document

_WORD = re.compile(r"\w+")
SHINGLE = 8  # words; shorter ones meet by chance in clinical phrases
LIKE = 0.5  # shares of shingles above which two notes count as one


@dataclass(frozen=True, slots=True)
class Report:
    """A document with what sampling needs to know of it; `moment` sorts as text (an ISO date or a number)."""

    doc: Document
    patient: str
    visit: str
    kind: str
    moment: str


def latest(reports: Iterable[Report]) -> list[Report]:
    """The last report of each patient, visit and kind: earlier ones are drafts and copies of it."""
    kept: dict[tuple[str, str, str], Report] = {}
    for report in reports:
        key = (report.patient, report.visit, report.kind)
        if key not in kept or kept[key].moment <= report.moment:
            kept[key] = report
    return list(kept.values())


def _shingles(text: str) -> set[int]:
    words = _WORD.findall(text.lower())
    grams = (" ".join(words[i : i + SHINGLE]) for i in range(max(1, len(words) - SHINGLE + 1)))
    return {int.from_bytes(hashlib.blake2b(gram.encode(), digest_size=8).digest()) for gram in grams}


def without_near_duplicates(documents: Sequence[Document], *, like: float = LIKE) -> Iterator[Document]:
    """The documents, without those most of whose shingles an earlier one already has."""
    owners: dict[int, list[int]] = {}
    sizes: list[int] = []
    for doc in documents:
        shingles = _shingles(doc.text)
        shared: dict[int, int] = {}
        for shingle in shingles:
            for owner in owners.get(shingle, ()):
                shared[owner] = shared.get(owner, 0) + 1
        # containment in the smaller of the two, so that a note inside a longer one is found as well
        if any(count / min(len(shingles), sizes[owner]) > like for owner, count in shared.items()):
            continue
        for shingle in shingles:
            owners.setdefault(shingle, []).append(len(sizes))
        sizes.append(len(shingles))
        yield doc


def draw(documents: Sequence[Document], count: int, *, seed: int) -> list[Document]:
    """`count` documents, chosen by a hash of seed and id: the same ones whatever the order of the input."""

    def rank(doc: Document) -> bytes:
        return hashlib.sha256(f"{seed}\0{doc.id}".encode()).digest()

    return sorted(documents, key=rank)[:count]
