"""Two systems on the same gold: their figures, and how sure the differences are."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from deident.document import Document
from deident.errors import UsageError
from deident.evaluate import aligned, statistics
from deident.evaluate.scores import Counts, by_patient, per_document

FIGURES: Mapping[str, tuple[statistics.Figure, Callable[[Counts], float]]] = {
    "precision": ("p", lambda counts: counts.p),
    "recall": ("r", lambda counts: counts.r),
    "f": ("f", lambda counts: counts.f),
}


def compare(
    gold: Mapping[str, Document], first: Mapping[str, Document], second: Mapping[str, Document], *, seed: int = 0
) -> dict[str, Any]:
    """Precision, recall and F of tokens, whatever the label, with every test that fits; then aligned tokens."""
    counts = [per_document(gold, system) for system in (first, second)]
    names = sorted(counts[0].keys() & counts[1].keys())
    if not names:
        raise UsageError("there is no note on which both systems can be scored")
    a, b = ([found[name] for name in names] for found in counts)
    patients = [by_patient({name: found[name] for name in names}, gold) for found in counts]
    units = np.hstack([statistics.as_array([found[who] for who in sorted(found)]) for found in patients])
    totals = [sum(found, Counts()) for found in (a, b)]
    figures = {name: _figure(kind, value, a, b, totals, units, seed) for name, (kind, value) in FIGURES.items()}
    systems = {"A": first, "B": second}
    tagged = {
        name: {key: aligned.of_document(doc) for key, doc in system.items() if key in gold}
        for name, system in systems.items()
    }
    side_by_side = aligned.compare({key: aligned.of_document(doc) for key, doc in gold.items()}, tagged)
    return {"documents": len(names), "figures": figures, "aligned": side_by_side.to_json()}


def _figure(
    kind: statistics.Figure,
    value: Callable[[Counts], float],
    a: list[Counts],
    b: list[Counts],
    totals: list[Counts],
    units: statistics.Ints,
    seed: int,
) -> dict[str, Any]:
    result: dict[str, Any] = {
        "a": value(totals[0]),
        "b": value(totals[1]),
        "difference": value(totals[0]) - value(totals[1]),
        "randomization": statistics.randomization_test(a, b, figure=kind, seed=seed).to_json(),
        "wilcoxon": None,
        "bootstrap": {"low": None, "high": None},
    }
    pairs = [value(count) for count in a], [value(count) for count in b]
    if pairs[0] != pairs[1]:  # equal pairs cannot be ranked
        result["wilcoxon"] = statistics.wilcoxon(*pairs).to_json()
    if len(units) > 1:
        drawn = statistics.bootstrap(units, statistics.micro_difference(kind), seed=seed)
        try:
            result["bootstrap"] = drawn.interval().to_json()
        except UsageError:  # all resamples on one side: no BCa interval exists, the percentile one does
            result["bootstrap"] = drawn.interval(method="percentile").to_json()
    # the z-test needs a share of trials: tokens found of those in gold, or right of those marked; F is no share
    shares = {"r": [(t.tp, t.tp + t.fn) for t in totals], "p": [(t.tp, t.tp + t.fp) for t in totals]}.get(kind)
    if shares is not None and all(n for _, n in shares):
        result["z"] = statistics.two_proportions(*shares[0], *shares[1]).to_json()
    return result
