"""Training from documents to a model, and cross-validation; which learners there are.

A learner is a module of this room that meets `Learner`: its file name is the registration.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import tee
from random import Random
from typing import Any, Protocol, cast, get_type_hints

from deident import plugins
from deident.document import Document, corpus_hash
from deident.errors import UnknownNameError, UsageError
from deident.learn.store import Manifest, Model
from deident.tokens import tokenize

Told = Callable[[int, float], None]


def _silent(number: int, loss: float) -> None:
    del number, loss


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be learned from.

    sources: corpora of other kinds of text with the same labels, from which it learns by adapting.
    held: notes that are not learned from; a learner that goes over its examples many times stops by them.
    told: is called after each pass with its number and its loss: of the notes held out, where there are any.
    """

    documents: Sequence[Document] = field(repr=False)
    sources: Sequence[Sequence[Document]] = field(default=(), repr=False)
    held: Sequence[Document] = field(default=(), repr=False)
    features: str = "deident"
    told: Told = _silent

    @property
    def every(self) -> list[Document]:
        """What is learned from: the documents, then those of the sources."""
        return [*self.documents, *(doc for source in self.sources for doc in source)]

    def manifest(self, learner: str, labels: Iterable[str], options: Any, *, features: str | None = None) -> Manifest:
        """What is to be said of the model; `options` is the dataclass it was made with."""
        return Manifest(
            learner,
            self.features if features is None else features,
            tuple(labels),
            corpus=corpus_hash(self.every),
            documents=len(self.every),
            tokens=sum(len(tokenize(doc.text)) for doc in self.every),
            options=asdict(options),
        )


class Learner(Protocol):
    """The face of a learner module. `Options` is a frozen dataclass with a default for each field.

    load(folder, manifest) gives back what `learn` made and `Model.write` wrote.
    """

    Options: Callable[..., Any]

    def learn(self, task: Task, options: Any) -> Model: ...

    def load(self, folder: Any, manifest: Manifest) -> Model: ...


def learners() -> list[str]:
    """The names of the learners there are."""
    return [name for name in plugins.names("learn") if hasattr(plugins.load("learn", name), "learn")]


def load_learner(name: str) -> Learner:
    canonical = name.lower().replace("_", "-")
    found = plugins.load("learn", canonical) if canonical in plugins.names("learn") else None
    if not hasattr(found, "learn"):
        raise UnknownNameError("learner", name, learners())
    return cast(Learner, found)


def options_of(name: str, said: Mapping[str, str]) -> Any:
    """The options of a learner, with some of them said in words: {"passes": "20", "costs": "O=0.5,DATE=2"}."""
    kind = cast(Any, load_learner(name).Options)
    hints = get_type_hints(kind)
    known = [item.name for item in fields(kind)]
    for key in said:
        if key not in known:
            raise UnknownNameError(f"option of the learner {name}", key, known)
    return kind(**{key: _value(hints[key], value, key) for key, value in said.items()})


def _value(hint: Any, said: str, key: str) -> Any:
    try:
        if hint is bool:
            return {"true": True, "false": False}[said.lower()]
        if hint in (int, float, str):
            return hint(said)
        pairs = (part.rsplit("=", 1) for part in said.split(",") if part)
        return tuple((name.strip(), float(number)) for name, number in pairs)
    except (ValueError, KeyError):
        kinds: dict[Any, str] = {bool: "true or false", int: "a whole number", float: "a number"}
        what = kinds.get(hint, "NAME=NUMBER,…")
        raise UsageError(f"the option '{key}' must be {what}") from None


def train(
    documents: Sequence[Document],
    *,
    sources: Sequence[Sequence[Document]] = (),
    held: Sequence[Document] = (),
    learner: str = "crf",
    features: str = "deident",
    options: Any = None,
    told: Told = _silent,
) -> Model:
    """A model of these documents and their gold spans (`Task` says what the arguments are)."""
    if not any(doc.spans for doc in documents):
        raise UsageError("there is nothing to learn from: no document has a span")
    chosen = load_learner(learner)
    made = chosen.Options() if options is None else options
    if not isinstance(made, cast(type, chosen.Options)):
        raise UsageError(f"these options are not those of the learner '{learner}'")
    return chosen.learn(Task(documents, sources, held, features, told), made)


def predict(model: Model, documents: Iterable[Document], *, bias: float = 0.0) -> Iterator[Document]:
    """The documents with the spans that the model finds, in place of those they had."""
    given, read = tee(documents)
    for doc, spans in zip(given, model.finder().find(read, bias=bias), strict=True):
        yield doc.with_spans(spans)


def parted(documents: Sequence[Document], share: float, *, seed: int = 1) -> tuple[list[Document], list[Document]]:
    """The documents to learn from and those held out, about `share` of all; a patient's notes stay together."""
    held: list[Document] = []
    kept: list[Document] = []
    for group in _by_patient(documents, seed):
        (held if len(held) < share * len(documents) else kept).extend(group)
    return kept, held


def _by_patient(documents: Sequence[Document], seed: int) -> list[list[Document]]:
    groups: dict[str, list[Document]] = {}
    for doc in documents:
        groups.setdefault(doc.patient.id if doc.patient and doc.patient.id else f"\0{doc.id}", []).append(doc)
    order = sorted(groups)
    Random(seed).shuffle(order)  # noqa: S311 (no secret is drawn)
    return [groups[name] for name in order]


def folds(documents: Sequence[Document], count: int, *, seed: int = 1) -> list[list[Document]]:
    """The documents in `count` parts of about equal size; a patient's notes stay together."""
    groups = _by_patient(documents, seed)
    if not 2 <= count <= len(groups):
        raise UsageError(f"{len(groups)} patients cannot be parted into {count} folds")
    parts: list[list[Document]] = [[] for _ in range(count)]
    for group in groups:
        min(parts, key=len).extend(group)
    return parts


def cross_validate(
    documents: Sequence[Document],
    count: int,
    *,
    always: Sequence[Document] = (),
    sources: Sequence[Sequence[Document]] = (),
    learner: str = "crf",
    features: str = "deident",
    options: Any = None,
    bias: float = 0.0,
    seed: int = 1,
    told: Told = _silent,
) -> Iterator[list[Document]]:
    """Each fold with the spans found by a model of all others (and of `always`, which is never scored)."""
    parts = folds(documents, count, seed=seed)
    for place, part in enumerate(parts):
        rest = [doc for other, docs in enumerate(parts) if other != place for doc in docs]
        model = train([*rest, *always], sources=sources, learner=learner, features=features, options=options, told=told)
        yield list(predict(model, part, bias=bias))


def biased(model: Model, bias: float) -> Model:
    """The model with this bias in its manifest: it is taken from the score of "O" in use (MIST's −4)."""
    return model.described(replace(model.manifest, bias=bias))
