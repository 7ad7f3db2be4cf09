"""The linear-chain CRF, by two trainers, read into tables.

`adagrad` is our own: stochastic gradients over numbers (`examples.py`), some twenty times faster than CRFsuite on the
same features, and with dropout: features of one kind are hidden at random while it learns, so that it does not lean on
words and lists that the next hospital's notes will not have. `lbfgs`, `l2sgd` and `ap` are CRFsuite's.
"""

import importlib
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from deident.errors import MissingPackageError, UnknownNameError, UsageError
from deident.learn import bridge, linear, tagged
from deident.learn._adagrad import descend, loss_of, shrink
from deident.learn.bits import Floats, Hashes, bits_of_name
from deident.learn.columns import Page
from deident.learn.examples import Examples, Longs, adapted, folded, read, runs, selected
from deident.learn.features import FeatureSet, feature_set
from deident.learn.tables import Weights, names_of, units
from deident.learn.train import Task

CRFSUITE: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "lbfgs": {"c1": 0.1, "c2": 0.01, "max_iterations": 120, "feature.minfreq": 2},
        "l2sgd": {"c2": 0.1, "max_iterations": 30, "period": 5, "delta": 1e-4, "feature.minfreq": 2},
        "ap": {"max_iterations": 20, "feature.minfreq": 2},
    }
)
ALGORITHMS = ("adagrad", *CRFSUITE)


@dataclass(frozen=True, slots=True)
class Options:
    """How it learns; but for the first, these are settings of `adagrad`.

    costs: weighs mistakes on tags of a label ("O": 0.5 makes for recall; thesis 7.2.1).
    crfsuite: what overrides CRFSUITE's settings.
    """

    algorithm: str = "adagrad"
    crfsuite: tuple[tuple[str, float], ...] = ()
    passes: int = 12
    rate: float = 0.2
    l1: float = 0.005
    l2: float = 0.002
    least: int = 2  # how often a feature must be seen
    select: int = 0  # how many features are kept, those that tell most (thesis 7.2.4); 0: all
    drop_feature: float = 0.2
    drop_words: float = 0.3
    drop_lists: float = 0.05
    stretch: int = 64  # tokens of a note that are learned from at once
    averaged: int = 4  # the weights of so many last passes are averaged
    patience: int = 1  # passes without gain on what is held out, before the last ones begin
    prune: float = 0.07  # weights nearer to zero are dropped in the end
    seed: int = 1
    costs: tuple[tuple[str, float], ...] = ()


def stretches(units: Longs, gold: NDArray[np.uint8], most: int) -> Longs:
    """The bounds of the units, and of the parts that long ones are cut into, between two tokens that are nothing.

    All tokens of a unit are judged by the weights before it, so in a long one what is common is pushed too far.
    """
    free = np.flatnonzero((gold[1:] == 0) & (gold[:-1] == 0)) + 1  # a part may begin here
    bounds: list[int] = [int(units[0])]
    for end in units[1:].tolist():
        while end - bounds[-1] > most:
            place = int(np.searchsorted(free, bounds[-1] + most))
            if place == len(free) or free[place] >= end:
                break
            bounds.append(int(free[place]))
        bounds.append(end)
    return np.array(bounds, dtype=np.int64)


def _silent(number: int, loss: float) -> None:
    del number, loss


@dataclass
class CRF:
    """`fit(examples)` learns, from pages with the tag of each token; `weights_` is what was learned."""

    features: FeatureSet
    options: Options = field(default_factory=Options)
    told: Callable[[int, float], None] = _silent  # after each pass: its number, the mean loss

    def fit(
        self,
        examples: Iterable[tuple[Page, list[str]]],
        *,
        domains: Sequence[int] = (),
        held: Iterable[tuple[Page, list[str]]] = (),
    ) -> "CRF":
        """domains: that of each page, 0 being the one the model is for; none: all are one (`examples.adapted`).

        held: pages that are not learned from; when their loss falls no more, the last passes begin.
        """
        algorithm = self.options.algorithm
        if algorithm not in ALGORITHMS:
            raise UnknownNameError("algorithm", algorithm, ALGORITHMS)
        if algorithm == "adagrad":
            data = selected(read(examples, self.features, least=self.options.least, held=held), self.options.select)
            self.weights_ = self.learn(adapted(data, domains) if domains else data)
        elif domains:
            raise UsageError("CRFsuite does not adapt to a domain here: use adagrad")
        else:
            self.weights_ = self._by_crfsuite(examples)
        return self

    def _by_crfsuite(self, examples: Iterable[tuple[Page, list[str]]]) -> Weights:
        try:
            crfsuite: Any = importlib.import_module("pycrfsuite")
        except ImportError:
            raise MissingPackageError("python-crfsuite", "learn") from None
        algorithm = self.options.algorithm
        settings = {**CRFSUITE[algorithm], **dict(self.options.crfsuite)}
        trainer = crfsuite.Trainer(algorithm=algorithm, params=settings, verbose=False)
        for page, tags in examples:
            names = [row for unit in names_of(page, self.features) for row in unit]
            for start, end in runs(tags, units(page, self.features)):
                trainer.append(crfsuite.ItemSequence(names[start:end]), tags[start:end])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model"
            trainer.train(str(path))
            tagger = crfsuite.Tagger()
            tagger.open(str(path))
            info = tagger.info()
            found = weights(info.state_features, info.transitions, info.labels)
            tagger.close()
        return found

    def learn(self, data: Examples) -> Weights:
        options = self.options
        random = np.random.default_rng(options.seed)
        count, size = data.own + len(data.keys), len(data.labels)
        values = np.zeros((count, size), dtype=np.float32)
        squares = np.full((count, size), 1e-2, dtype=np.float32)
        moves = np.zeros((size, size), dtype=np.float32)
        move_squares = np.full((size, size), 1.0, dtype=np.float32)
        costs = costs_of(options.costs, data.labels)
        drop = np.array([options.drop_feature, options.drop_words, options.drop_lists], dtype=np.float32)
        keep = np.float32(1.0 - options.drop_feature)  # what was hidden while learning is always seen in use
        mean, mean_moves, taken = np.zeros_like(values), np.zeros_like(moves), 0
        learned_from = stretches(data.units[: len(data.units) - data.held], data.gold, options.stretch)
        last, best, since = options.passes, np.inf, 0
        for number in range(options.passes):
            order = random.permutation(len(learned_from) - 1).astype(np.int64)
            rate = options.rate * (1.0 - 0.8 * number / options.passes)
            loss = descend(
                order, learned_from, data.bounds, data.features, data.kinds, data.gold, costs, values, squares, moves,
                move_squares, rate, drop, int(random.integers(1 << 30)),
            )  # fmt: skip
            shrink(values, squares, options.l1, options.l2)
            if data.held:
                among = np.arange(len(data.units) - 1 - data.held, len(data.units) - 1)
                loss = loss_of(among, data.units, data.bounds, data.features, data.gold, values, moves, keep)
                since = 0 if loss < best else since + 1
                best = min(best, loss)
                if since == options.patience:
                    last = min(last, number + 1 + options.averaged)
            self.told(number, float(loss))
            if number >= last - options.averaged:
                mean += values
                mean_moves += moves
                taken += 1
            if number + 1 == last:
                break
        mean *= keep / taken
        first = np.zeros(size, dtype=np.float32)
        return pruned(
            data.keys, data.labels, folded(mean, data), mean_moves / np.float32(taken), first, least=options.prune
        )


def costs_of(costs: Iterable[tuple[str, float]], tags: Sequence[str]) -> Floats:
    """What a mistake on each tag costs; a label's cost is that of all its tags."""
    found = np.ones(len(tags), dtype=np.float32)
    for label, cost in costs:
        chosen = [place for place, tag in enumerate(tags) if label in (tag, tag[2:])]
        if not chosen:
            raise UnknownNameError("label in these notes", label, {tag.removeprefix("B-") for tag in tags})
        found[chosen] = cost
    return found


def learn(task: Task, options: Options) -> linear.Linear:
    features = feature_set(task.features)
    held = tagged(task.held, features)
    made = CRF(features, options, task.told).fit(tagged(task.every, features), domains=domains(task), held=held)
    return linear.Linear(task.manifest("crf", made.weights_.labels, options), made.weights_)


def domains(task: Task) -> list[int]:
    """Which of the corpora each document is of; none where there is one only."""
    of_sources = [at for at, source in enumerate(task.sources, 1) for _ in source]
    return [0] * len(task.documents) + of_sources if task.sources else []


load = linear.load


def pruned(
    keys: Hashes, labels: tuple[str, ...], values: Floats, moves: Floats, first: Floats, *, least: float
) -> Weights:
    """The tables without weights that are near zero."""
    strong = np.abs(values) >= least
    kept = strong.any(axis=1)
    keys, values, strong = keys[kept], values[kept], strong[kept]
    order = np.argsort(keys)
    keys, values, strong = keys[order], values[order], strong[order]
    return Weights(
        labels,
        keys,
        np.concatenate([[0], np.cumsum(strong.sum(axis=1))]).astype(np.int32),
        np.nonzero(strong)[1].astype(np.uint8),
        values[strong].astype(np.float32),
        moves.astype(np.float32),
        first,
    )


def weights(
    state: Mapping[tuple[str, str], float], moves: Mapping[tuple[str, str], float], tags: Iterable[str]
) -> Weights:
    """The tables of a trained model: (feature's name, tag) → weight, (tag, next tag) → weight.

    A tag without any weight still takes its share of the probability.
    """
    labels = (bridge.OUT, *sorted(set(tags) - {bridge.OUT}))
    number = {label: place for place, label in enumerate(labels)}
    by_name: dict[str, list[tuple[int, float]]] = {}
    for (name, label), value in state.items():
        by_name.setdefault(name, []).append((number[label], value))
    rows = sorted((bits_of_name(name), sorted(row)) for name, row in by_name.items())
    table = np.zeros((len(labels), len(labels)), dtype=np.float32)
    for (before, after), value in moves.items():
        table[number[before], number[after]] = value
    return Weights(
        labels,
        np.array([key for key, _ in rows], dtype=np.uint64),
        np.cumsum([0, *(len(row) for _, row in rows)]).astype(np.int32),
        np.array([label for _, row in rows for label, _ in row], dtype=np.uint8),
        np.array([value for _, row in rows for _, value in row], dtype=np.float32),
        table,
        np.zeros(len(labels), dtype=np.float32),
    )
