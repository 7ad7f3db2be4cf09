"""Tests and intervals equal R (boot, coin, stats), scipy and statsmodels, number by number."""

import doctest
import json
import sys
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deident.document import Document, Span
from deident.errors import UsageError
from deident.evaluate import compare
from deident.evaluate import statistics as stats
from deident.evaluate.scores import Counts
from deident.evaluate.statistics import Adjustment, Alternative, Binomial, Difference, Figure, Zeros
from deident.labels import Label

GOLDEN = Path(__file__).parent / "golden" / "stats"

# How far each family of numbers may be from its golden one, absolutely.
TOLERANCES = {
    "micro": 1e-12,
    "R boot": 1e-12,  # estimate, mean, se, z0, a, influences, and all five kinds of interval
    "scipy boot": 1e-12,
    "randomization exact": 1e-12,
    "randomization shuffled": 4.5,  # in standard deviations of the shuffling
    "Yeh 2000": 1e-12,
    "Wilcoxon z": 1e-10,
    "Wilcoxon p": 1e-10,
    "Wilcoxon exact": 1e-12,
    "proportions": 1e-12,
    "difference": 1e-12,
    "binomial": 1e-9,
    "McNemar": 1e-12,
    "p.adjust": 1e-12,
}
NUMBERS = 678

Row = tuple[str, str, float, float]  # family, name, golden, ours


@cache
def load(name: str) -> Any:
    return json.loads((GOLDEN / name).read_text(encoding="utf-8"))


def counts(system: Literal["A", "B"]) -> list[Counts]:
    data = load("data.json")
    found = zip(data["gold"], data[system]["tp"], data[system]["fp"], strict=True)
    return [Counts(tp, fp, gold - tp) for gold, tp, fp in found]


FIGURES: dict[str, Figure] = {"f1": "f", "recall": "r", "precision": "p"}


def micro_rows() -> Iterator[Row]:
    a, b = sum(counts("A"), Counts()), sum(counts("B"), Counts())
    ours = {"recallA": a.r, "precisionA": a.p, "f1A": a.f, "f1B": b.f, "f1diff": a.f - b.f}
    for name, value in load("golden_R.json")["micro"].items():
        yield "micro", name, value, ours[name]


def bootstraps() -> dict[str, stats.Bootstrap]:
    indices = np.array(load("boot_indices_1999x20_zero_based.json"), dtype=np.int64)
    a, b = stats.as_array(counts("A")), stats.as_array(counts("B"))
    return {
        "recallA": stats.bootstrap(a, stats.micro("r"), indices=indices),
        "precisionA": stats.bootstrap(a, stats.micro("p"), indices=indices),
        "f1A": stats.bootstrap(a, stats.micro("f"), indices=indices),
        "f1B": stats.bootstrap(b, stats.micro("f"), indices=indices),
        "f1diff": stats.bootstrap(np.hstack([a, b]), stats.micro_difference("f"), indices=indices),
    }


def boot_rows() -> Iterator[Row]:
    for name, ours in bootstraps().items():
        golden = load("golden_R.json")["bootstrap"][name]
        yield "R boot", f"{name} t0", golden["t0"], ours.estimate
        yield "R boot", f"{name} mean", golden["mean"], ours.mean
        yield "R boot", f"{name} se", golden["se"], ours.se
        yield "R boot", f"{name} z0", golden["z0_strictly_less"], ours.bias_correction
        yield "R boot", f"{name} a", golden["a_jack"], ours.acceleration()
        for at, (value, found) in enumerate(zip(golden["L_jack"], ours.jackknife.tolist(), strict=True)):
            yield "R boot", f"{name} L[{at}]", value, found
        intervals: dict[str, Callable[[float], stats.Interval]] = {
            "percent": lambda level, ours=ours: ours.interval(level, method="percentile"),
            "basic": lambda level, ours=ours: ours.interval(level, method="basic"),
            "normal": lambda level, ours=ours: ours.interval(level, method="normal"),
            "bca_jack": lambda level, ours=ours: ours.interval(level),
            "bca_regression": lambda level, ours=ours: ours.interval(level, influence="regression"),
        }
        for kind, interval in intervals.items():
            for level, low, high in golden[kind]:
                found = interval(level)
                assert not found.extreme
                yield "R boot", f"{name} {kind} {level} low", low, found.low
                yield "R boot", f"{name} {kind} {level} high", high, found.high


def scipy_boot_rows() -> Iterator[Row]:
    """scipy reads its intervals from the same resampled values by other rules: linear quantiles, ties with the estimate
    count half in z0, and the influences are centred. By these rules our values give its numbers; so that is all in
    which R and scipy differ."""
    normal = NormalDist()
    for name, ours in bootstraps().items():
        golden = load("golden_py.json")["bootstrap_same_resamples"][name]
        yield "scipy boot", f"{name} mean", golden["mean"], ours.mean
        yield "scipy boot", f"{name} se", golden["se_ddof1"], ours.se
        below, upto = (ours.values < ours.estimate).mean(), (ours.values <= ours.estimate).mean()
        influence = ours.jackknife - ours.jackknife.mean()
        z0 = normal.inv_cdf(float(below + upto) / 2)
        a = float((influence**3).sum() / (6 * (influence**2).sum() ** 1.5))
        for level in (0.9, 0.95, 0.99):
            z = normal.inv_cdf((1 + level) / 2)
            plain = (1 - level) / 2, (1 + level) / 2
            moved = [normal.cdf(z0 + (z0 + end) / (1 - a * (z0 + end))) for end in (-z, z)]
            percentile = np.quantile(ours.values, plain).tolist()
            for kind, found in (
                ("percentile", percentile),
                ("basic", [2 * ours.estimate - percentile[1], 2 * ours.estimate - percentile[0]]),
                ("BCa", np.quantile(ours.values, moved).tolist()),
            ):
                low, high = golden[f"{kind}_{level}"]
                yield "scipy boot", f"{name} {kind} {level} low", low, found[0]
                yield "scipy boot", f"{name} {kind} {level} high", high, found[1]


def randomization_rows() -> Iterator[Row]:
    a, b = counts("A"), counts("B")
    for name, figure in FIGURES.items():
        golden = load("golden_py.json")["approximate_randomization"][name]
        two = stats.randomization_test(a, b, figure=figure)
        one = stats.randomization_test(a, b, figure=figure, alternative="greater")
        family = "randomization exact"
        yield family, f"{name} difference", golden["observed_diff"], two.difference
        yield family, f"{name} two-sided", golden["exact_p_two_sided_abs"], two.p
        yield family, f"{name} count", golden["exact_count"], two.p * golden["of"]
        yield family, f"{name} one-sided", golden["exact_p_one_sided"], one.p
        yield family, f"{name} scipy two-sided", golden["scipy_permutation_test"]["two-sided"], two.p
        yield family, f"{name} scipy greater", golden["scipy_permutation_test"]["greater"], one.p
        shuffled = stats.randomization_test(a, b, figure=figure, exact=False, seed=1)
        p = golden["exact_p_two_sided_abs"]
        sd = (p * (1 - p) / stats.SHUFFLES) ** 0.5
        yield "randomization shuffled", f"{name} shuffled", p / sd, shuffled.p / sd
        if "monte_carlo_sd_at_9999" in golden:
            yield family, f"{name} sd of shuffling", golden["monte_carlo_sd_at_9999"], sd


# Yeh (2000), section on page 952: of 103 relations system I finds 47, II finds 25; I has 48 spurious ones, II 14. How
# many they share is what the three cases differ in: (relations, spurious).
YEH_SHARED = {"pg952": (19, 5), "maxOverlap": (25, 14), "minOverlap": (0, 0)}


def yeh_units(both: int, spurious: int) -> tuple[list[Counts], list[Counts]]:
    """One unit a relation or spurious response."""
    hit, miss, false, none = Counts(1), Counts(0, 0, 1), Counts(0, 1, 0), Counts()
    pairs = [
        (both, hit, hit),
        (47 - both, hit, miss),
        (25 - both, miss, hit),
        (103 - 47 - 25 + both, miss, miss),
        (spurious, false, false),
        (48 - spurious, false, none),
        (14 - spurious, none, false),
    ]
    return (
        [one for number, one, _ in pairs for _ in range(number)],
        [two for number, _, two in pairs for _ in range(number)],
    )


def yeh_rows() -> Iterator[Row]:
    for case, golden in load("golden_yeh2000.json").items():
        one, two = yeh_units(*YEH_SHARED[case])
        first, second = sum(one, Counts()), sum(two, Counts())
        figures: tuple[Figure, ...] = ("r", "p", "f")
        for figure in figures:
            yield "Yeh 2000", f"{case} I {figure}", golden["I"][figure], getattr(first, figure)
            yield "Yeh 2000", f"{case} II {figure}", golden["II"][figure], getattr(second, figure)
            test = stats.randomization_test(one, two, figure=figure, exact=True)
            yield "Yeh 2000", f"{case} diff {figure}", golden["diff"][figure], test.difference
            yield "Yeh 2000", f"{case} p {figure}", golden["exact_p_two_sided"][figure], test.p
            # one-sided is toward the system that is better by this figure
            better, worse = (one, two) if test.difference > 0 else (two, one)
            side = stats.randomization_test(better, worse, figure=figure, exact=True, alternative="greater")
            yield "Yeh 2000", f"{case} p1 {figure}", golden["exact_p_one_sided"][figure], side.p


def wilcoxon_rows() -> Iterator[Row]:
    golden = load("golden_R.json")["wilcoxon"]
    a, b = golden["per_doc_f1_A"], golden["per_doc_f1_B"]
    # F of each document; that of one with neither gold nor output is 1
    for row, found in ((a, counts("A")), (b, counts("B"))):
        for at, (value, count) in enumerate(zip(row, found, strict=True)):
            yield "micro", f"F of document {at}", value, count.f
    yield "Wilcoxon exact", "zeros", golden["n_zero"], sum(x == y for x, y in zip(a, b, strict=True))
    handled: list[tuple[str, Zeros]] = [("Pratt", "pratt"), ("Wilcoxon", "wilcox")]
    sides: list[tuple[str, Alternative]] = [("two.sided", "two-sided"), ("greater", "greater")]
    for name, zeros in handled:
        for key, side in sides:
            expected = golden[f"{name}_{key}"]
            test = stats.wilcoxon(a, b, zeros=zeros, alternative=side)
            exact = stats.wilcoxon(a, b, zeros=zeros, alternative=side, exact=True)
            yield "Wilcoxon z", f"{name} {side} z", expected["Z"], test.statistic
            yield "Wilcoxon p", f"{name} {side} p", expected["p_asymptotic"], test.p
            yield "Wilcoxon exact", f"{name} {side} exact", expected["p_exact"], exact.p
    plain = golden["stats_wilcox_test"]
    yield "Wilcoxon exact", "V", plain["V"], stats.wilcoxon(a, b, zeros="wilcox", exact=True).statistic
    yield "Wilcoxon p", "no correction", plain["p_nocorrect"], stats.wilcoxon(a, b, zeros="wilcox").p
    yield "Wilcoxon p", "corrected", plain["p_correct"], stats.wilcoxon(a, b, zeros="wilcox", correction=True).p
    three: list[Zeros] = ["wilcox", "pratt", "zsplit"]
    for zeros in three:
        for correction in (False, True):
            for _, side in sides:
                expected = load("golden_py.json")["wilcoxon"][f"{zeros}_corr{int(correction)}_{side}"]
                test = stats.wilcoxon(a, b, zeros=zeros, correction=correction, alternative=side)
                # scipy takes the smaller rank sum where it tests both sides, and the sign that goes with it
                sign = -1 if side == "two-sided" else 1
                yield "Wilcoxon z", f"scipy {zeros} {correction} {side} z", expected["z"], sign * test.statistic
                yield "Wilcoxon p", f"scipy {zeros} {correction} {side} p", expected["p"], test.p


def proportion_rows() -> Iterator[Row]:
    r, py = load("golden_R.json")["two_proportions"], load("golden_py.json")["two_proportions"]
    (x1, x2), (n1, n2) = r["x"], r["n"]
    pooled = stats.two_proportions(x1, n1, x2, n2)
    unpooled = stats.two_proportions(x1, n1, x2, n2, pooled=False)
    yield "proportions", "R chi2", r["chi2"], pooled.statistic**2
    yield "proportions", "R z", r["z_abs"], pooled.statistic
    yield "proportions", "R p", r["p"], pooled.p
    yield "proportions", "R Yates", r["p_yates"], stats.two_proportions(x1, n1, x2, n2, yates=True).p
    yield "proportions", "R Fisher", r["fisher_p"], stats.fisher(x1, n1, x2, n2).p
    yield "proportions", "z pooled", py["z_pooled"], pooled.statistic
    yield "proportions", "p pooled", py["p_pooled"], pooled.p
    yield "proportions", "z unpooled", py["z_unpooled"], unpooled.statistic
    yield "proportions", "p unpooled", py["p_unpooled"], unpooled.p
    differences: list[tuple[str, Difference, list[float]]] = [
        ("R Wald", "wald", r["ci_diff_wald"]),
        ("Wald", "wald", py["ci_diff_wald"]),
        ("Newcombe", "newcombe", py["ci_diff_newcomb"]),
        ("Agresti-Caffo", "agresti-caffo", py["ci_diff_agresti-caffo"]),
    ]
    for name, method, golden in differences:
        interval = stats.difference_interval(x1, n1, x2, n2, method=method)
        yield "difference", f"{name} low", golden[0], interval.low
        yield "difference", f"{name} high", golden[1], interval.high


def binomial_rows() -> Iterator[Row]:
    of_r: list[tuple[str, Binomial]] = [
        ("clopper_pearson95", "beta"),
        ("wilson95", "wilson"),
        ("wilson95_cc", "wilson-cc"),
    ]
    of_statsmodels: list[tuple[str, Binomial]] = [
        ("normal", "normal"),
        ("agresti_coull", "agresti-coull"),
        ("beta", "beta"),
        ("wilson", "wilson"),
        ("jeffreys", "jeffreys"),
    ]
    for file, columns in (("golden_R.json", of_r), ("golden_py.json", of_statsmodels)):
        for row in load(file)["binomial"]:
            x, n = row["x"], row["n"]
            for key, method in columns:
                interval = stats.binomial_interval(x, n, method=method)
                yield "binomial", f"{x}/{n} {key} low", row[key][0], interval.low
                yield "binomial", f"{x}/{n} {key} high", row[key][1], interval.high
            if "cp_onesided95" in row:
                yield "binomial", f"{x}/{n} one-sided", row["cp_onesided95"], stats.binomial_bound(x, n)


def mcnemar_rows() -> Iterator[Row]:
    r, py = load("golden_R.json")["mcnemar"], load("golden_py.json")["mcnemar"]
    only = r["table"][0][1], r["table"][1][0]
    plain = stats.mcnemar(*only, method="chi2")
    corrected = stats.mcnemar(*only, method="corrected")
    for name, golden, ours in (
        ("R chi2", r["chi2_nocorrect"], plain.statistic),
        ("R p", r["p_nocorrect"], plain.p),
        ("R corrected", r["p_correct"], corrected.p),
        ("R exact", r["p_exact"], stats.mcnemar(*only).p),
        ("chi2", py["chi2"], plain.statistic),
        ("p", py["p"], plain.p),
        ("corrected", py["p_correct"], corrected.p),
        ("exact", py["exact_p"], stats.mcnemar(*only).p),
    ):
        yield "McNemar", name, golden, ours


def adjust_rows() -> Iterator[Row]:
    golden = load("golden_R.json")["p_adjust"]
    named = {str(at): p for at, p in enumerate(golden["input"])}
    methods: list[tuple[str, Adjustment]] = [
        ("holm", "holm"),
        ("BH", "bh"),
        ("bonferroni", "bonferroni"),
        ("hochberg", "hochberg"),
    ]
    for name, method in methods:
        ours = stats.adjust(named, method=method)
        for at, value in enumerate(golden[name]):
            yield "p.adjust", f"{name} {at}", value, ours[str(at)]


SOURCES: list[Callable[[], Iterable[Row]]] = [
    micro_rows,
    boot_rows,
    scipy_boot_rows,
    randomization_rows,
    yeh_rows,
    wilcoxon_rows,
    proportion_rows,
    binomial_rows,
    mcnemar_rows,
    adjust_rows,
]


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.__name__.removesuffix("_rows"))
def test_golden_numbers(source: Callable[[], Iterable[Row]]) -> None:
    for family, name, golden, ours in source():
        assert ours == pytest.approx(golden, abs=TOLERANCES[family], rel=0), f"{family}: {name}"


def test_number_of_golden_numbers_compared(golden: Callable[[str, int], None]) -> None:
    rows = [row for source in SOURCES for row in source()]
    assert len(rows) == NUMBERS
    assert {family for family, *_ in rows} == set(TOLERANCES)
    golden("statistics", len(rows))


# ---- what the golden files do not show -----------------------------------------------------------------------------


def test_the_thesis_threshold() -> None:
    """Section 3.5.4: beyond 1.96 the difference is significant at 95 percent."""
    assert stats.two_proportions(50, 100, 36, 100).statistic > 1.96
    assert stats.two_proportions(50, 100, 36, 100).p < 0.05
    assert stats.two_proportions(50, 100, 50, 100).p == 1.0
    assert stats.two_proportions(10, 10, 10, 10).p == 1.0
    assert stats.two_proportions(10, 10, 0, 10, pooled=False).p == 0.0
    assert stats.two_proportions(36, 100, 50, 100, alternative="less").p < 0.025
    with pytest.raises(UsageError, match="11 of 10 is no proportion"):
        stats.two_proportions(11, 10, 1, 10)


def test_shuffles_are_reproducible_and_smoothed() -> None:
    a, b = counts("A"), counts("B")
    one = stats.randomization_test(a, b, exact=False, shuffles=99, seed=3)
    assert one == stats.randomization_test(a, b, exact=False, shuffles=99, seed=3)
    assert one.p * 100 == pytest.approx(round(one.p * 100))  # (c + 1) / (99 + 1)
    far = [Counts(9)] * 30, [Counts(0, 0, 9)] * 30
    assert stats.randomization_test(*far, shuffles=199).p == 1 / 200
    assert stats.randomization_test(*far, exact=True).p == 2 / 2**30
    assert "9999 shuffles" in stats.randomization_test(a * 2, b * 2).method  # 40 documents: over the bound
    assert "exact" in stats.randomization_test(a, b).method


def test_what_cannot_be_paired() -> None:
    with pytest.raises(UsageError, match="1 cannot be paired with 2"):
        stats.randomization_test([Counts(1)], [Counts(1), Counts(1)])
    with pytest.raises(UsageError, match="pair 1: the two systems were not counted against the same gold"):
        stats.randomization_test([Counts(1), Counts(1)], [Counts(1), Counts(2)])
    with pytest.raises(UsageError, match="too large"):
        huge = [Counts(10**6, 0, 0)] * 3, [Counts(0, 10**6, 10**6)] * 3
        stats.randomization_test(*huge, exact=True)
    with pytest.raises(UsageError, match="0 cannot be paired"):
        stats.wilcoxon([], [1.0])


SMALL = st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 4), st.integers(0, 4)).map(
    lambda row: (Counts(min(row[0], row[1]), row[2], row[0] - min(row[0], row[1])), Counts(row[0], row[3], 0))
)


@settings(max_examples=50, deadline=None)
@given(st.lists(SMALL, min_size=1, max_size=6), st.sampled_from(list(FIGURES.values())))
def test_the_exact_value_is_that_of_all_swaps(pairs: list[tuple[Counts, Counts]], figure: Figure) -> None:
    def value(rows: Iterable[Counts]) -> float:
        return getattr(sum(rows, Counts()), figure)

    observed = abs(value(a for a, _ in pairs) - value(b for _, b in pairs))
    reached = 0
    for swaps in range(2 ** len(pairs)):
        turned = [pair[::-1] if swaps >> at & 1 else pair for at, pair in enumerate(pairs)]
        reached += abs(value(a for a, _ in turned) - value(b for _, b in turned)) >= observed - 1e-12
    test = stats.randomization_test([a for a, _ in pairs], [b for _, b in pairs], figure=figure, exact=True)
    assert test.p == pytest.approx(reached / 2 ** len(pairs), abs=1e-12)


def test_bootstrap_is_reproducible_and_draws_whole_units() -> None:
    units = stats.as_array(counts("A"))
    one, two = (stats.bootstrap(units, stats.micro("f"), resamples=99, seed=5) for _ in range(2))
    assert one.values.tolist() == two.values.tolist()
    assert one.draws.sum(axis=1).tolist() == [20] * 99
    assert one.interval().low < one.estimate < one.interval().high
    assert one.interval(0.999, method="percentile").extreme
    assert not one.interval(0.9, method="percentile").extreme


def test_bootstrap_without_spread_is_a_point() -> None:
    perfect = stats.bootstrap(stats.as_array([Counts(3)] * 5), stats.micro("f"), resamples=49)
    interval = perfect.interval()
    assert (interval.low, interval.high, interval.se) == (1.0, 1.0, 0.0)
    assert json.loads(json.dumps(interval.to_json(), allow_nan=False))["low"] == 1.0


def test_bootstrap_refuses_what_it_cannot_do() -> None:
    units = stats.as_array(counts("A"))
    with pytest.raises(UsageError, match="cannot be resampled"):
        stats.bootstrap(units[:1], stats.micro("f"))
    with pytest.raises(UsageError, match="two resamples"):
        stats.bootstrap(units, stats.micro("f"), resamples=1)
    with pytest.raises(UsageError, match="do not draw 20 of 20"):
        stats.bootstrap(units, stats.micro("f"), indices=np.full((3, 20), 20))
    with pytest.raises(UsageError, match="more resamples than there are units"):
        stats.bootstrap(units, stats.micro("f"), resamples=10).interval(influence="regression")
    one_sided = np.zeros((9, 20), dtype=np.int64)  # the first unit alone, whose recall is below the whole
    with pytest.raises(UsageError, match="one side of the estimate"):
        stats.bootstrap(units, stats.micro("r"), indices=one_sided).interval()
    with pytest.raises(UsageError, match="between 0 and 1"):
        stats.bootstrap(units, stats.micro("f"), resamples=9).interval(1.0)


def test_wilcoxon_edges() -> None:
    with pytest.raises(UsageError, match="all pairs are equal"):
        stats.wilcoxon([1.0, 2.0], [1.0, 2.0])
    with pytest.raises(UsageError, match="no exact distribution"):
        stats.wilcoxon([1.0, 2.0], [1.0, 3.0], zeros="zsplit", exact=True)
    # a difference that is rounding only is none: 0.1 + 0.2 against 0.3
    assert stats.wilcoxon([0.3, 1.0, 2.0], [0.1 + 0.2, 0.5, 1.0], exact=True).p == 0.5
    up, down = (stats.wilcoxon([1.0, 2.0, 4.0], [0.5, 0.9, 0.1], alternative=side).p for side in ("greater", "less"))
    assert up + down == pytest.approx(1.0)
    assert stats.wilcoxon([1.0, 2.0, 4.0], [0.5, 0.9, 0.1], exact=True, alternative="less").p == 1.0
    assert stats.wilcoxon([1.0, 0.0], [0.0, 1.0], correction=True).p == 1.0


def test_intervals_hold_the_estimate_and_narrow_with_numbers() -> None:
    methods: list[Binomial] = ["wilson", "wilson-cc", "beta", "agresti-coull", "jeffreys"]
    for method in methods:
        small = stats.binomial_interval(90, 100, method=method)
        large = stats.binomial_interval(9000, 10000, method=method)
        assert small.low < large.low < 0.9 < large.high < small.high
        assert stats.binomial_interval(90, 100, method=method, confidence=0.8).low > small.low
    with pytest.raises(UsageError, match="0 of 0"):
        stats.binomial_interval(0, 0)


@pytest.mark.parametrize("method", ["beta", "jeffreys"])
def test_without_scipy_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, method: Binomial) -> None:
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    with pytest.raises(UsageError, match=r"deident\[stats\]"):
        stats.binomial_interval(5, 10, method=method)
    assert stats.binomial_interval(5, 10).estimate == 0.5


def test_mcnemar_and_fisher_edges() -> None:
    assert stats.mcnemar(0, 0, method="chi2").p == 1.0
    assert stats.mcnemar(5, 5).p == 1.0
    assert stats.fisher(3, 3, 0, 3).p == pytest.approx(0.1)  # 2 of 20 tables
    with pytest.raises(UsageError, match="negative"):
        stats.mcnemar(-1, 3)


def test_json_has_no_nan() -> None:
    data = json.loads(json.dumps(stats.fisher(3, 3, 0, 3).to_json(), allow_nan=False))
    assert data["statistic"] is None
    assert stats.adjust({}) == {}


def test_the_examples_of_the_docstrings() -> None:
    result = doctest.testmod(stats)
    assert result.attempted >= 5
    assert result.failed == 0


def test_two_systems_that_agree_are_compared_all_the_same() -> None:
    """Equal pairs cannot be ranked; every other figure stands."""
    gold = {name: Document(name, "Seen by Okoro", (Span(8, 13, Label.DOCTOR),)) for name in ("a", "b")}
    without = {name: doc.with_spans(()) for name, doc in gold.items()}
    for system in (gold, without):
        recall = compare(gold, system, system)["figures"]["recall"]
        assert (recall["difference"], recall["wilcoxon"], recall["randomization"]["p"]) == (0, None, 1)
    assert compare(gold, gold, without)["figures"]["recall"]["wilcoxon"]["p"] < 1
