"""Figures that several papers' tables share."""

from collections.abc import Collection, Mapping
from typing import Literal

from deident.document import Document
from deident.evaluate import Counts, View, i2b2, per_document, statistics
from deident.evaluate.scores import HIPAA, of_category
from deident.experiments._lab import Found
from deident.labels import Category, Label

PRF = ("P", "R", "F")


def prf(counts: Counts) -> tuple[float, float, float]:
    return counts.p, counts.r, counts.f


def counted(
    gold: Found, found: Found, view: View = View.TOKEN_BINARY, labels: Collection[Label] = frozenset(Label)
) -> Counts:
    """The micro counts of one view, of some labels."""
    return sum(per_document(gold, found, view=view, labels=labels).values(), Counts())


def official(gold: Found, found: Found, names: Collection[str]) -> dict[str, tuple[float, float, float]]:
    """Micro precision, recall and F of the challenge's own script, by the script's own names."""
    made = i2b2.evaluate_documents(gold, found)
    return {name: (made[name]["micro"]["p"], made[name]["micro"]["r"], made[name]["micro"]["f"]) for name in names}


def groups(gold: Found, found: Found) -> dict[str, frozenset[Label]]:
    """Every category that occurs, each followed by its types where it has several."""
    there = {span.label for docs in (gold, found) for doc in docs.values() for span in doc.spans}
    made: dict[str, frozenset[Label]] = {}
    for category in Category:
        types = [label for label in Label if label.category is category and label in there]
        if types:
            made |= {label.value: frozenset({label}) for label in types if len(types) > 1 or label.value != category}
            made[category.value] = of_category(category)
    return made


def spans_of(documents: Mapping[str, Document] | Collection[Document], labels: Collection[Label]) -> int:
    docs = documents.values() if isinstance(documents, Mapping) else documents
    return sum(span.label in labels for doc in docs for span in doc.spans)


Figure = Literal["p", "r", "f"]


def randomized(
    gold: Found,
    first: Found,
    second: Found,
    *,
    shuffles: int,
    seed: int,
    figure: Figure = "f",
    view: View = View.STRICT,
    labels: Collection[Label] = frozenset(Label),
) -> float:
    """The p-value of approximate randomization: how often swapped outputs differ as much."""
    a, b = (per_document(gold, found, view=view, labels=labels) for found in (first, second))
    names = sorted(a)
    rows = [a[name] for name in names], [b[name] for name in names]
    return statistics.randomization_test(*rows, figure=figure, shuffles=shuffles, seed=seed).p


def binary_hipaa(gold: Found, found: Found) -> Counts:
    return counted(gold, found, View.TOKEN_BINARY, HIPAA)


def strict(gold: Found, found: Found) -> Counts:
    return counted(gold, found, View.STRICT)


def summary(gold: Found, found: Found) -> tuple[float, ...]:
    """Strict, then binary HIPAA by token: precision, recall, F of each."""
    return *prf(strict(gold, found)), *prf(binary_hipaa(gold, found))


SUMMARY = ("strict P", "strict R", "strict F", "binary HIPAA P", "binary HIPAA R", "binary HIPAA F")
