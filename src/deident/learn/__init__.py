"""How it learns: columns → feature sets → learners → tables that score text; one file a learner.

tagged(documents, features)      # what a learner's `fit` takes
"""

from collections.abc import Callable, Iterable
from typing import Any

from deident import plugins
from deident.document import Document, Span
from deident.learn import bridge
from deident.learn.columns import Page
from deident.learn.features import FeatureSet
from deident.view import view

Paged = Callable[[Document], Page]


def pages(features: FeatureSet) -> Paged:
    """Lays a document out for a feature set, with the finds of the detectors whose hits it reads.

    Detectors stand above the learners in the house; they are met here as plugins, by the names the set gives.
    """
    rules: list[Any] = [plugins.load("detect", name).detector() for name in features.rules]

    def lay_out(doc: Document) -> Page:
        hits: list[Span] = [span for rule in rules for span in rule.detect(doc)]
        return Page(view(doc.text), tuple(hits))

    return lay_out


def tagged(documents: Iterable[Document], features: FeatureSet) -> Iterable[tuple[Page, list[str]]]:
    """Each document laid out, with the tag of each token."""
    lay_out = pages(features)
    for doc in documents:
        page = lay_out(doc)
        yield page, bridge.tags(page.view.tokens, doc.spans)
