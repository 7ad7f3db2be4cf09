"""The thesis' multi-de-identifier: an SVM over what several systems decide of a token (Tafvizi 2011, figure 1-2).

Its bases are Stat-De-id's SVM, a CRF with Stanford's features and one with MIST's, the two stages of the Illinois
tagger and the rules of the MIMIC de-identifier; `bases` names others. What the SVM learns of a base must be how it does
on notes that it has not seen, so each part of the training notes is read by bases made of the others.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from deident.document import Document, Span
from deident.errors import UsageError
from deident.learn import bridge, linear, pages, store, svm, train
from deident.learn.columns import Page
from deident.learn.features import feature_set
from deident.learn.store import Manifest
from deident.learn.tables import Weights
from deident.learn.train import Task

BASES = "svm:statdeid,crf:stanford,crf:mist,two-stage:illinois"
FEATURES = "decisions"


@dataclass(frozen=True, slots=True)
class Options(svm.Options):
    """Those of `svm`, for the machine above. bases: LEARNER:FEATURES of each system, beside the rules of MIMIC.

    parts: how many parts the notes are read in. ours: whether the CRF with our own features is a base, too.
    passes: those of every base that counts its passes; 0: as it has them.
    """

    bases: str = BASES
    parts: int = 4
    ours: bool = False
    passes: int = 0


@dataclass(frozen=True, slots=True)
class Multi:
    manifest: Manifest
    weights: Weights = field(repr=False)
    bases: Mapping[str, store.Model] = field(repr=False)

    def finder(self) -> "Finder":
        return Finder(self)

    def described(self, manifest: Manifest) -> "Multi":
        return replace(self, manifest=manifest)

    def write(self, folder: Path) -> None:
        linear.write_weights(self.weights, folder / "weights.npz")
        for name, base in self.bases.items():
            room = folder / _folder(name)
            room.mkdir()
            store.put(base, room)


class Finder:
    """Lets each base read the document, then judges every token by what they said."""

    def __init__(self, model: Multi) -> None:
        self._bias = model.manifest.bias
        self._lay_out = _decided(model.bases)
        self._tables = linear.Linear(replace(model.manifest, learner="svm"), model.weights).tables()

    def find(self, documents: Iterable[Document], *, bias: float = 0.0) -> Iterator[list[Span]]:
        for doc in documents:
            yield linear.found(self._lay_out(doc), self._tables, bias=self._bias + bias)


def _decided(bases: Mapping[str, store.Model]) -> Any:
    """Lays a document out with the decisions of the bases."""
    lay_out = pages(feature_set(FEATURES))
    finders = {name: base.finder() for name, base in bases.items()}

    def page(doc: Document) -> Page:
        found = (
            Span(span.start, span.end, span.label, name)
            for name, finder in finders.items()
            for span in next(finder.find((doc,)))
        )
        return replace(lay_out(doc), earlier=tuple(found))

    return page


def _folder(name: str) -> str:
    return name.replace(":", "-")


def _named(options: Options) -> tuple[str, ...]:
    """The bases, by names that are those of a learner and a feature set."""
    given = tuple(part.strip() for part in options.bases.split(",") if part.strip())
    names = tuple(dict.fromkeys((*given, "crf:deident") if options.ours else given))
    if not names:
        raise UsageError("the multi-de-identifier needs a base: LEARNER:FEATURES,…")
    for name in names:
        learner, _, features = name.partition(":")
        train.load_learner(learner)
        feature_set(features)
    return names


def _made(name: str, documents: list[Document], task: Task, options: Options) -> store.Model:
    learner, _, features = name.partition(":")
    kind = train.load_learner(learner)
    own: Any = kind.Options()
    if hasattr(own, "seed"):
        own = replace(own, seed=options.seed)
    if options.passes and hasattr(own, "passes"):
        own = replace(own, passes=options.passes)
    return kind.learn(replace(task, documents=documents, features=features), own)


def learn(task: Task, options: Options) -> Multi:
    if task.sources:
        raise UsageError("the multi-de-identifier does not adapt to a domain: use crf")
    names = _named(options)
    parts = train.folds(task.documents, options.parts, seed=options.seed)
    examples: list[tuple[Page, list[str]]] = []
    for place, part in enumerate(parts):
        others = [doc for other, docs in enumerate(parts) if other != place for doc in docs]
        lay_out = _decided({name: _made(name, others, task, options) for name in names})
        for doc in part:
            page = lay_out(doc)
            examples.append((page, bridge.tags(page.view.tokens, doc.spans)))
    machine = svm.SVM(feature_set(FEATURES), options).fit(examples)
    bases = {name: _made(name, list(task.documents), task, options) for name in names}
    manifest = task.manifest("multi", machine.weights_.labels, options, features=FEATURES)
    return Multi(manifest, machine.weights_, bases)


def load(folder: Path, manifest: Manifest) -> Multi:
    weights = linear.read_weights(folder / "weights.npz", manifest.labels)
    try:
        names = _named(Options(bases=manifest.options["bases"], ours=manifest.options["ours"]))
    except (KeyError, TypeError, AttributeError):
        raise store.unreadable(folder) from None
    return Multi(manifest, weights, {name: store.load(folder / _folder(name)) for name in names})
