"""One linear decision a token, by LIBLINEAR (as scikit-learn carries it), read into tables.

The thesis' classifier (Tafvizi 2011, 3.1): each token by itself is put into a class, so tags are "I-DATE" and "O" only,
and neighbours of one class are one span. Crammer and Singer's machine is one problem over all classes; the others
are one class against the rest. `logistic` gives likelihoods; `libsvm` is LIBSVM's linear machine, for small corpora.
"""

import importlib
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deident import labels
from deident.errors import MissingPackageError, UnknownNameError
from deident.labels import Label
from deident.learn import bridge, linear, tagged
from deident.learn.bits import Floats, of_pair
from deident.learn.columns import Page
from deident.learn.crf import costs_of, domains, pruned
from deident.learn.examples import SKIPPED, Examples, Longs, adapted, folded, read, selected
from deident.learn.features import FeatureSet, feature_set
from deident.learn.tables import Weights, names_of
from deident.learn.train import Task

KINDS = ("crammer-singer", "one-vs-rest", "logistic", "libsvm")


def _nine(label: Label) -> str:
    name = labels.to_scheme(label, "i2b2-2006")
    return labels.parse(name, scheme="i2b2-2006") if name else ""


# what a label is learned as; "" is not learned. The thesis has the eight classes of i2b2-2006 and "none" (table 5.1).
CLASSES: Mapping[str, Callable[[Label], str]] = MappingProxyType(
    {"all": lambda label: label, "nine": _nine, "two": lambda _: Label.OTHER}
)


@dataclass(frozen=True, slots=True)
class Options:
    """`costs` weighs mistakes on a class ("O": 0.5 makes for recall; thesis 7.2.1)."""

    kind: str = "crammer-singer"
    classes: str = "all"
    cost: float = 0.1  # LIBLINEAR's C
    tolerance: float = 0.1  # as LIBLINEAR itself has it
    most: int = 100  # passes at most
    least: int = 2  # how often a feature must be seen
    select: int = 0  # how many features are kept, those that tell most (thesis 7.2.4); 0: all
    prune: float = 0.0
    seed: int = 1
    costs: tuple[tuple[str, float], ...] = ()


@dataclass
class SVM:
    """`fit(examples)` learns, from pages with the tag of each token; `weights_` is what was learned."""

    features: FeatureSet
    options: Options = Options()

    def fit(self, examples: Iterable[tuple[Page, list[str]]], *, domains: Sequence[int] = ()) -> "SVM":
        """domains: that of each page, 0 being the one the model is for; none: all are one (`examples.adapted`)."""
        if self.options.kind not in KINDS:
            raise UnknownNameError("kind of SVM", self.options.kind, KINDS)
        classes = self.classes
        given = ((page, [classes(tag) for tag in tags]) for page, tags in examples)
        data = selected(read(given, self.features, least=self.options.least), self.options.select)
        self.learn(adapted(data, domains) if domains else data)
        return self

    @property
    def classes(self) -> Callable[[str], str]:
        """From a tag to the class that is learned."""
        if self.options.classes not in CLASSES:
            raise UnknownNameError("set of classes", self.options.classes, CLASSES)
        learned_as = CLASSES[self.options.classes]
        known: dict[str, str] = {bridge.OUT: bridge.OUT, SKIPPED: SKIPPED}

        def of_tag(tag: str) -> str:
            if tag not in known:
                name = learned_as(labels.parse(tag[2:]))
                known[tag] = f"I-{name}" if name else bridge.OUT
            return known[tag]

        return of_tag

    def learn(self, data: Examples) -> None:
        x = matrix(data)
        chosen, weight = _different(data)
        weight *= costs_of(self.options.costs, data.labels)[data.gold[chosen]]
        with warnings.catch_warnings():
            # stopping after `most` passes is a choice
            warnings.simplefilter("ignore", _package("sklearn.exceptions").ConvergenceWarning)
            model = self._machine().fit(x[chosen], data.gold[chosen], sample_weight=weight)
        self.machine_, self.keys_ = model, data.keys
        values: Floats = model.coef_.astype(np.float32)
        constant: Floats = np.broadcast_to(model.intercept_, len(values)).astype(np.float32)
        if len(values) == 1:  # two classes: one row that speaks for the second
            values = np.concatenate([np.zeros_like(values), values])
            constant = np.concatenate([np.zeros_like(constant), constant])
        size = len(data.labels)
        table = np.zeros((size, values.shape[1]), dtype=np.float32)
        table[model.classes_] = values
        first = np.zeros(size, dtype=np.float32)
        first[model.classes_] = constant
        self.weights_: Weights = pruned(
            data.keys, data.labels, folded(table.T, data), np.tile(first, (size, 1)), first,
            least=max(self.options.prune, 1e-9),
        )  # fmt: skip

    def _machine(self) -> Any:
        options = self.options
        linear_ = _package("sklearn.svm")
        shared = {"C": options.cost, "tol": options.tolerance, "max_iter": options.most}
        if options.kind == "libsvm":
            return _OneVsRest(linear_.SVC(kernel="linear", **shared | {"max_iter": -1}))
        shared |= {"random_state": options.seed, "fit_intercept": False}
        if options.kind == "logistic":
            return _OneVsRest(_package("sklearn.linear_model").LogisticRegression(solver="liblinear", **shared))
        kind = "crammer_singer" if options.kind == "crammer-singer" else "ovr"
        return linear_.LinearSVC(multi_class=kind, **shared)


@dataclass
class _OneVsRest:
    """One machine a class; scikit-learn's own takes no weights of examples."""

    of_one: Any

    def fit(self, x: Any, y: Any, *, sample_weight: Any) -> "_OneVsRest":
        clone = _package("sklearn.base").clone
        self.classes_ = np.unique(y)
        machines = [clone(self.of_one).fit(x, y == label, sample_weight=sample_weight) for label in self.classes_]
        rows = [machine.coef_ for machine in machines]
        self.coef_ = np.concatenate([row.toarray() if hasattr(row, "toarray") else row for row in rows])
        self.intercept_ = np.concatenate([np.broadcast_to(machine.intercept_, 1) for machine in machines])
        return self

    def predict(self, x: Any) -> Any:
        return self.classes_[np.asarray(x @ self.coef_.T + self.intercept_).argmax(axis=1)]


def learn(task: Task, options: Options) -> linear.Linear:
    features = feature_set(task.features)
    made = SVM(features, options).fit(tagged(task.every, features), domains=domains(task))
    return linear.Linear(task.manifest("svm", made.weights_.labels, options), made.weights_)


load = linear.load


def matrix(data: Examples) -> Any:
    """Tokens by features, as scipy has sparse matrices; all features are yes or no (thesis 4.2.1)."""
    ones = np.ones(len(data.features), dtype=np.float64)
    shape = (len(data.gold), data.own + len(data.keys))
    return _package("scipy.sparse").csr_matrix((ones, data.features, data.bounds.astype(np.int32)), shape=shape)


def _different(data: Examples) -> tuple[Longs, NDArray[np.float64]]:
    """One of each kind of token, and how many there are of it: equal rows of one class need not be seen twice."""
    numbers = np.arange(data.own + len(data.keys), dtype=np.uint64)
    mixed = np.concatenate([of_pair(numbers, numbers)[data.features], [np.uint64(0)]])
    rows = np.add.reduceat(mixed, data.bounds[:-1])
    rows[data.bounds[:-1] == data.bounds[1:]] = 0
    _, first, count = np.unique(of_pair(rows, data.gold.astype(np.uint64)), return_index=True, return_counts=True)
    return first, count.astype(np.float64)


def _package(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise MissingPackageError("scikit-learn", "learn") from None


def dump(examples: Iterable[tuple[Page, list[str]]], features: FeatureSet, folder: Path) -> None:
    """The examples as LIBLINEAR reads them (thesis 4.2, listing 4.1), beside the map of the features.

    `examples.txt` has a line for each token, "2 3:1 6:1"; `features.tsv` and `classes.tsv` say what the numbers mean.
    The map holds words of the notes, as every such map does: it is for the machine it was made on.
    """
    folder.mkdir(parents=True, exist_ok=True)
    number: dict[str, int] = {}
    classes: dict[str, int] = {bridge.OUT: 1}
    with (folder / "examples.txt").open("w", encoding="utf-8") as stream:
        for page, tags in examples:
            rows = (row for unit in names_of(page, features) for row in unit)
            for row, tag in zip(rows, tags, strict=True):
                found = sorted({number.setdefault(name, len(number) + 1) for name in row})
                own = classes.setdefault(tag, len(classes) + 1)
                stream.write(f"{own} {' '.join(f'{at}:1' for at in found)}\n")
    for name, held in (("features.tsv", number), ("classes.tsv", classes)):
        lines = (f"{at}\t{key.encode('unicode_escape').decode('ascii')}\n" for key, at in held.items())
        (folder / name).write_text("".join(lines), encoding="utf-8")
