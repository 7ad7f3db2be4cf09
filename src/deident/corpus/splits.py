"""Dividing documents into train, dev and test, the same way for ever: by a hash of the group, not by chance.

Documents of one patient, and near-duplicates of each other, stay together: a note in test must not have a twin in
train. The style split is not drawn; it is named by whoever knows the layouts.
"""

import hashlib
from collections.abc import Mapping, Sequence
from itertools import accumulate

from deident.corpus.sampling import near_duplicates
from deident.document import Document
from deident.errors import UsageError


def assign(documents: Sequence[Document], shares: Mapping[str, float], *, seed: int) -> dict[str, str]:
    """Document id → split. Shares are of documents, as nearly as whole groups allow."""
    if not shares or any(share <= 0 for share in shares.values()):
        raise UsageError("every split needs a share above zero")
    groups = _groups(documents)
    ordered = sorted(groups.values(), key=lambda members: _rank(seed, min(members)))
    total = sum(shares.values())
    bounds = [bound / total * len(documents) for bound in accumulate(shares.values())]
    names = list(shares)
    result: dict[str, str] = {}
    for members in ordered:
        place = next((i for i, bound in enumerate(bounds) if len(result) + len(members) / 2 <= bound), len(names) - 1)
        result |= dict.fromkeys(members, names[place])
    return result


def _rank(seed: int, key: str) -> bytes:
    return hashlib.sha256(f"{seed}\0{key}".encode()).digest()


def _groups(documents: Sequence[Document]) -> dict[str, list[str]]:
    """Ids that must stay together, by one of them (union of patients and near-duplicates)."""
    parent = {doc.id: doc.id for doc in documents}

    def root(name: str) -> str:
        while parent[name] != name:
            parent[name] = parent[parent[name]]
            name = parent[name]
        return name

    first_of: dict[str, str] = {}
    for doc in documents:
        if doc.patient is not None and doc.patient.id:
            parent[root(doc.id)] = root(first_of.setdefault(doc.patient.id, doc.id))
    for left, right in near_duplicates(documents):
        parent[root(left)] = root(right)
    groups: dict[str, list[str]] = {}
    for doc in documents:
        groups.setdefault(root(doc.id), []).append(doc.id)
    return groups
