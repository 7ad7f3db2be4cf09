"""Training from documents to a model, and cross-validation."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from random import Random

from deident.document import Document, corpus_hash
from deident.errors import UnknownNameError, UsageError
from deident.learn import bridge, crf, pages, svm, tagged
from deident.learn.features import FeatureSet, feature_set
from deident.learn.store import Manifest, Model
from deident.tokens import tokenize

Told = Callable[[int, float], None]
LEARNERS = ("crf", "svm")


def train(
    documents: Sequence[Document],
    *,
    sources: Sequence[Sequence[Document]] = (),
    learner: str = "crf",
    features: str = "deident",
    algorithm: str = "adagrad",
    options: crf.Options | svm.Options | None = None,
    told: Told | None = None,
) -> Model:
    """A model of these documents and their gold spans.

    sources: corpora of other kinds of text with the same labels, from which it learns by EasyAdapt.
    """
    if not any(doc.spans for doc in documents):
        raise UsageError("there is nothing to learn from: no document has a span")
    chosen = feature_set(features)
    made = _learner(learner, chosen, algorithm, options, told)
    every = [*documents, *(doc for source in sources for doc in source)]
    domains = [0] * len(documents) + [at for at, source in enumerate(sources, 1) for _ in source]
    made.fit(tagged(every, chosen), domains=domains if sources else ())
    how = {"algorithm": algorithm} if learner == "crf" else {}
    manifest = Manifest(
        learner,
        features,
        made.weights_.labels,
        corpus=corpus_hash(every),
        documents=len(every),
        tokens=sum(len(tokenize(doc.text)) for doc in every),
        options={**how, **asdict(made.options)},
    )
    return Model(manifest, made.weights_)


def _learner(
    name: str, features: FeatureSet, algorithm: str, options: crf.Options | svm.Options | None, told: Told | None
) -> crf.CRF | svm.SVM:
    if name == "crf" and not isinstance(options, svm.Options):
        made = crf.CRF(features, algorithm, options or crf.Options())
        return made if told is None else replace(made, told=told)
    if name == "svm" and not isinstance(options, crf.Options):
        return svm.SVM(features, options or svm.Options())
    if name not in LEARNERS:
        raise UnknownNameError("learner", name, LEARNERS)
    raise UsageError(f"these options are not those of the learner '{name}'")


def predict(model: Model, documents: Iterable[Document], *, bias: float = 0.0) -> Iterator[Document]:
    """The documents with the spans that the model finds, in place of those they had."""
    lay_out, tables = pages(model.features), model.tables()
    for doc in documents:
        page = lay_out(doc)
        tagged = tables.tag(page, bias=model.manifest.bias + bias)
        yield doc.with_spans(bridge.spans(page.view.tokens, tagged.tags, source="learned", scores=tagged.chances))


def folds(documents: Sequence[Document], count: int, *, seed: int = 1) -> list[list[Document]]:
    """The documents in `count` parts of about equal size; a patient's notes stay together."""
    groups: dict[str, list[Document]] = {}
    for doc in documents:
        groups.setdefault(doc.patient.id if doc.patient and doc.patient.id else f"\0{doc.id}", []).append(doc)
    if not 2 <= count <= len(groups):
        raise UsageError(f"{len(groups)} patients cannot be parted into {count} folds")
    order = sorted(groups)
    Random(seed).shuffle(order)  # noqa: S311 (no secret is drawn)
    parts: list[list[Document]] = [[] for _ in range(count)]
    for name in order:
        min(parts, key=len).extend(groups[name])
    return parts


def cross_validate(
    documents: Sequence[Document],
    count: int,
    *,
    always: Sequence[Document] = (),
    learner: str = "crf",
    features: str = "deident",
    algorithm: str = "adagrad",
    options: crf.Options | svm.Options | None = None,
    seed: int = 1,
) -> Iterator[list[Document]]:
    """Each fold with the spans found by a model of all others (and of `always`, which is never scored)."""
    parts = folds(documents, count, seed=seed)
    for held in range(count):
        rest = [doc for place, part in enumerate(parts) if place != held for doc in part]
        model = train([*rest, *always], learner=learner, features=features, algorithm=algorithm, options=options)
        yield list(predict(model, parts[held]))


def with_scores(model: Model, scores: dict[str, object]) -> Model:
    return Model(replace(model.manifest, scores=scores), model.weights)
