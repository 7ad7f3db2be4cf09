"""Two CRFs in turn: what the first finds, the second sees (Tafvizi 2011, 2.4 and 7.2.3, after the Illinois tagger).

The second learns what to think of the first, so it must see finds like those of new notes: the first reads each part
of the training notes after learning from the others. With `--features illinois` it is the Illinois tagger.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from deident.document import Document, Span
from deident.errors import UsageError
from deident.learn import bridge, crf, linear, pages, tagged
from deident.learn.columns import Page
from deident.learn.features import EARLIER, feature_set
from deident.learn.store import Manifest
from deident.learn.tables import Weights
from deident.learn.train import Task, folds

FIRST, SECOND = "first", "second"


@dataclass(frozen=True, slots=True)
class Options(crf.Options):
    """Those of `crf`, for both stages, and how many parts the notes are read in for the second."""

    parts: int = 4


@dataclass(frozen=True, slots=True)
class TwoStage:
    manifest: Manifest
    parts: linear.Parts = field(repr=False)

    def finder(self) -> "Finder":
        return Finder(self)

    def described(self, manifest: Manifest) -> "TwoStage":
        return replace(self, manifest=manifest)

    def write(self, folder: Path) -> None:
        linear.write_parts(self.parts, folder)


class Finder:
    """Reads a document twice."""

    def __init__(self, model: TwoStage) -> None:
        self._bias = model.manifest.bias
        self._lay_out = pages(feature_set(model.parts[SECOND].features))
        self._first, self._second = model.parts[FIRST].tables(), model.parts[SECOND].tables()

    def find(self, documents: Iterable[Document], *, bias: float = 0.0) -> Iterator[list[Span]]:
        for doc in documents:
            page = self._lay_out(doc)
            seen = replace(page, earlier=tuple(linear.found(page, self._first, source=FIRST)))
            yield linear.found(seen, self._second, bias=self._bias + bias)


def learn(task: Task, options: Options) -> TwoStage:
    if task.sources:
        raise UsageError("the two-stage learner does not adapt to a domain: use crf")
    features, both = feature_set(task.features), feature_set(task.features + EARLIER)
    lay_out = pages(features)

    def first(documents: Iterable[Document], held: Iterable[Document]) -> Weights:
        learner = crf.CRF(features, options, task.told)
        return learner.fit(tagged(documents, features), held=tagged(held, features)).weights_

    def read(documents: Iterable[Document], weights: Weights) -> Iterator[tuple[Page, list[str]]]:
        tables = linear.Part(task.features, weights).tables()
        for doc in documents:
            page = lay_out(doc)
            seen = replace(page, earlier=tuple(linear.found(page, tables, source=FIRST)))
            yield seen, bridge.tags(page.view.tokens, doc.spans)

    parts = folds(task.documents, options.parts, seed=options.seed)
    examples: list[tuple[Page, list[str]]] = []
    for place, part in enumerate(parts):
        others = [doc for other, docs in enumerate(parts) if other != place for doc in docs]
        examples += read(part, first(others, task.held))
    whole = first(task.documents, task.held)
    held = list(read(task.held, whole))
    second = crf.CRF(both, options, task.told).fit(examples, held=held).weights_
    made = {FIRST: linear.Part(features.name, whole), SECOND: linear.Part(both.name, second)}
    return TwoStage(task.manifest("two-stage", second.labels, options, features=both.name), made)


def load(folder: Path, manifest: Manifest) -> TwoStage:
    return TwoStage(manifest, linear.read_parts(folder))
