"""How sure a figure is, and whether two differ: tests and intervals, each equal to the program it stands for.

    two_proportions      thesis, section 3.5.4: z of two shares, pooled as there, and unpooled
    randomization_test   approximate randomization paired by document (Chinchor 1992, Yeh 2000), or its exact value
    bootstrap            percentile, basic, normal and BCa intervals by patient, as R's `boot` computes them
    wilcoxon             signed ranks with Pratt's zeros, as R's `coin` and scipy compute them
    binomial_interval    Wilson, Clopper-Pearson, Agresti-Coull, Jeffreys, normal
    difference_interval  of two shares: Wald, Newcombe, Agresti-Caffo
    mcnemar, fisher      two systems on the same items; two shares of small samples
    adjust               p-values of many comparisons at once

Only the two intervals by the beta distribution need scipy (`deident[stats]`); it is imported where they are asked for.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from deident.errors import UsageError
from deident.evaluate.scores import Counts

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Figure = Literal["p", "r", "f"]
Alternative = Literal["two-sided", "greater", "less"]
Resampled = Literal["bca", "percentile", "basic", "normal"]
Influence = Literal["jackknife", "regression"]
Zeros = Literal["pratt", "wilcox", "zsplit"]
Binomial = Literal["wilson", "wilson-cc", "beta", "agresti-coull", "jeffreys", "normal"]
Difference = Literal["wald", "newcombe", "agresti-caffo"]
Adjustment = Literal["holm", "hochberg", "bonferroni", "bh"]
Statistic = Callable[[Ints], Floats]

SHUFFLES = 9999
RESAMPLES = 1999
# Up to so many documents the exact p-value is given unasked.
EXACT_DOCUMENTS = 20
# Differences closer than this are the same number, differently rounded.
TIE = 1e-12
# The exact null distribution is refused beyond so many steps (cells of its lattice × documents).
EXACT_STEPS = 2_000_000_000

_NORMAL = NormalDist()


@dataclass(frozen=True, slots=True)
class Outcome:
    """A test statistic (nan where the test has none), its p-value, and the difference it judges."""

    statistic: float
    p: float
    difference: float = math.nan
    method: str = ""

    def to_json(self) -> dict[str, Any]:
        return _json(self)


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval and the estimate it is of; `se` where resampling gives one."""

    low: float
    high: float
    estimate: float
    confidence: float
    method: str
    se: float = math.nan
    mean: float = math.nan
    extreme: bool = False  # an end is the smallest or largest resample: too few resamples for this confidence

    def to_json(self) -> dict[str, Any]:
        return _json(self)


def _json(value: Outcome | Interval) -> dict[str, Any]:
    """JSON has no "not a number": it is null."""
    return {
        name: None if isinstance(item, float) and not math.isfinite(item) else item
        for name, item in asdict(value).items()
    }


def _check_proportion(x: int, n: int) -> None:
    if not 0 <= x <= n or n == 0:
        raise UsageError(f"{x} of {n} is no proportion")


def _z(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise UsageError(f"a confidence lies between 0 and 1, not at {confidence}")
    return _NORMAL.inv_cdf(1 - (1 - confidence) / 2)


def _tail(z: float, alternative: Alternative) -> float:
    """The p-value of a normal statistic; by erfc, so that small ones keep their digits."""
    match alternative:
        case "two-sided":
            return math.erfc(abs(z) / math.sqrt(2))
        case "greater":
            return math.erfc(z / math.sqrt(2)) / 2
        case "less":
            return math.erfc(-z / math.sqrt(2)) / 2


# ---- two shares ----------------------------------------------------------------------------------------------------


def two_proportions(
    x1: int,
    n1: int,
    x2: int,
    n2: int,
    *,
    pooled: bool = True,
    yates: bool = False,
    alternative: Alternative = "two-sided",
) -> Outcome:
    """z of x1/n1 against x2/n2. Thesis, equations 3.4 and 3.5, where |z| > 1.96 is significant.

    The two samples are taken as independent, which two systems on the same text are not: see `randomization_test`.
    """
    _check_proportion(x1, n1)
    _check_proportion(x2, n2)
    p1, p2 = x1 / n1, x2 / n2
    difference = p1 - p2
    if pooled:
        p = (x1 + x2) / (n1 + n2)
        variance = p * (1 - p) * (1 / n1 + 1 / n2)
    else:
        variance = p1 * (1 - p1) / n1 + p2 * (1 - p2) / n2
    method = f"z of two proportions, {'pooled' if pooled else 'unpooled'}{', Yates' if yates else ''}"
    if variance == 0:  # no variance: both shares are 0 or 1; either the same, or as different as can be
        z = math.copysign(math.inf, difference) if difference else 0.0
        return Outcome(z, _tail(z, alternative), difference, method)
    shift = min((1 / n1 + 1 / n2) / 2, abs(difference)) if yates else 0.0
    z = math.copysign(abs(difference) - shift, difference) / math.sqrt(variance)
    return Outcome(z, _tail(z, alternative), difference, method)


def difference_interval(
    x1: int,
    n1: int,
    x2: int,
    n2: int,
    *,
    confidence: float = 0.95,
    method: Difference = "newcombe",
) -> Interval:
    """An interval for x1/n1 - x2/n2, the samples independent."""
    _check_proportion(x1, n1)
    _check_proportion(x2, n2)
    z = _z(confidence)
    p1, p2 = x1 / n1, x2 / n2
    estimate = p1 - p2
    match method:
        case "wald":
            half = z * math.sqrt(p1 * (1 - p1) / n1 + p2 * (1 - p2) / n2)
            low, high = estimate - half, estimate + half
        case "newcombe":
            one = binomial_interval(x1, n1, confidence=confidence)
            two = binomial_interval(x2, n2, confidence=confidence)
            low = estimate - math.hypot(p1 - one.low, two.high - p2)
            high = estimate + math.hypot(one.high - p1, p2 - two.low)
        case "agresti-caffo":
            q1, q2 = (x1 + 1) / (n1 + 2), (x2 + 1) / (n2 + 2)
            half = z * math.sqrt(q1 * (1 - q1) / (n1 + 2) + q2 * (1 - q2) / (n2 + 2))
            low, high = q1 - q2 - half, q1 - q2 + half
    return Interval(low, high, estimate, confidence, method)


def fisher(x1: int, n1: int, x2: int, n2: int) -> Outcome:
    """Fisher's exact test of two shares, two-sided: all tables as rare as this one, or rarer."""
    _check_proportion(x1, n1)
    _check_proportion(x2, n2)
    total = x1 + x2
    tables = range(max(0, total - n2), min(total, n1) + 1)
    ways = {x: math.comb(n1, x) * math.comb(n2, total - x) for x in tables}
    rare = sum(count for count in ways.values() if count <= ways[x1])
    return Outcome(math.nan, rare / sum(ways.values()), x1 / n1 - x2 / n2, "Fisher's exact test")


def mcnemar(only_first: int, only_second: int, *, method: Literal["exact", "chi2", "corrected"] = "exact") -> Outcome:
    """Two systems on the same items, from the numbers of items that only the one, or only the other, got right."""
    n = only_first + only_second
    if min(only_first, only_second) < 0:
        raise UsageError("counts cannot be negative")
    difference = float(only_first - only_second)
    if method == "exact" or n == 0:
        tail = sum(math.comb(n, k) for k in range(min(only_first, only_second) + 1))
        return Outcome(float(min(only_first, only_second)), min(1.0, 2 * tail / 2**n), difference, "McNemar, exact")
    shift = min(1.0, abs(difference)) if method == "corrected" else 0.0
    chi2 = (abs(difference) - shift) ** 2 / n
    return Outcome(chi2, _tail(math.sqrt(chi2), "two-sided"), difference, f"McNemar, {method}")


# ---- one share -----------------------------------------------------------------------------------------------------


def binomial_interval(
    x: int,
    n: int,
    *,
    confidence: float = 0.95,
    method: Binomial = "wilson",
) -> Interval:
    """An interval for x/n. `beta` is Clopper-Pearson's; it and `jeffreys` need scipy.

    >>> interval = binomial_interval(0, 50)
    >>> round(interval.high, 4)
    0.0713
    """
    _check_proportion(x, n)
    z = _z(confidence)
    p = x / n
    match method:
        case "normal":
            half = z * math.sqrt(p * (1 - p) / n)
            low, high = p - half, p + half
        case "wilson":
            low, high = _score_end(p, n, -z), _score_end(p, n, z)
        case "wilson-cc":  # R's prop.test
            shift = min(0.5, abs(x - n / 2)) / n
            low = _score_end(p - shift, n, -z) if p - shift > 0 else 0.0
            high = _score_end(p + shift, n, z) if p + shift < 1 else 1.0
        case "agresti-coull":
            q = (x + z * z / 2) / (n + z * z)
            half = z * math.sqrt(q * (1 - q) / (n + z * z))
            low, high = q - half, q + half
        case "beta":
            tail = (1 - confidence) / 2
            low = _beta_quantile(tail, x, n - x + 1) if x > 0 else 0.0
            high = _beta_quantile(1 - tail, x + 1, n - x) if x < n else 1.0
        case "jeffreys":
            tail = (1 - confidence) / 2
            low = _beta_quantile(tail, x + 0.5, n - x + 0.5)
            high = _beta_quantile(1 - tail, x + 0.5, n - x + 0.5)
    return Interval(max(low, 0.0), min(high, 1.0), p, confidence, method)


def binomial_bound(x: int, n: int, *, confidence: float = 0.95) -> float:
    """The least share that x of n is compatible with, by Clopper and Pearson, one-sided; needs scipy."""
    _check_proportion(x, n)
    _z(confidence)
    return _beta_quantile(1 - confidence, x, n - x + 1) if x > 0 else 0.0


def _score_end(p: float, n: int, z: float) -> float:
    """One end of the score interval; the sign of z says which."""
    centre = p + z * z / (2 * n)
    return (centre + z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))) / (1 + z * z / n)


def _beta_quantile(q: float, a: float, b: float) -> float:
    try:
        from scipy.special import betaincinv
    except ImportError:
        raise UsageError("this interval needs scipy: pip install 'deident[stats]'") from None
    return float(betaincinv(a, b, q))


# ---- approximate randomization -------------------------------------------------------------------------------------


def randomization_test(
    first: Sequence[Counts],
    second: Sequence[Counts],
    *,
    figure: Figure = "f",
    shuffles: int = SHUFFLES,
    seed: int = 0,
    exact: bool | None = None,
    alternative: Literal["two-sided", "greater"] = "two-sided",
) -> Outcome:
    """Would the micro figure of two systems differ as much, if each document's two outputs were swapped at random?

    The counts are paired by document and against the same gold. p = (c+1)/(N+1) over N shuffles, or, exactly, the
    share of all 2^D swaps; the exact value is taken unasked up to 20 documents (`exact=None`).
    """
    a, b = _paired(first, second)
    observed = float(_figure(a.sum(axis=0), figure) - _figure(b.sum(axis=0), figure))
    if exact is None:
        exact = len(a) <= EXACT_DOCUMENTS
    if exact:
        p = _exact_randomization(a, b, figure, observed, alternative)
        return Outcome(observed, p, observed, "randomization, exact")
    rng = np.random.default_rng(seed)
    total, change = a.sum(axis=0) + b.sum(axis=0), b - a
    reached = done = 0
    while done < shuffles:
        size = min(shuffles - done, max(1, 4_000_000 // len(a)))
        swap = rng.integers(0, 2, size=(size, len(a)), dtype=np.int8)
        sums = a.sum(axis=0) + swap.astype(np.float64) @ change.astype(np.float64)
        reached += int(_reached(_figure(sums, figure) - _figure(total - sums, figure), observed, alternative).sum())
        done += size
    return Outcome(
        observed, (reached + 1) / (shuffles + 1), observed, f"randomization, {shuffles} shuffles, seed {seed}"
    )


def _paired(first: Sequence[Counts], second: Sequence[Counts]) -> tuple[Ints, Ints]:
    if len(first) != len(second) or not first:
        raise UsageError(f"counts are paired by document: {len(first)} cannot be paired with {len(second)}")
    for at, (one, two) in enumerate(zip(first, second, strict=True)):
        if one.tp + one.fn != two.tp + two.fn:
            raise UsageError(f"pair {at}: the two systems were not counted against the same gold")
    return as_array(first), as_array(second)


def as_array(counts: Sequence[Counts]) -> Ints:
    """Counts as rows of tp, fp, fn: the units that `bootstrap` resamples."""
    return np.array([[c.tp, c.fp, c.fn] for c in counts], dtype=np.int64).reshape(-1, 3)


def _figure(sums: NDArray[Any], figure: Figure) -> Floats:
    """The figure of summed counts (tp, fp, fn in the last axis), with the 0/0 of `Counts`."""
    tp, fp, fn = (sums[..., i].astype(np.float64) for i in range(3))
    match figure:
        case "p":
            whole = tp + fp
        case "r":
            whole = tp + fn
        case "f":
            whole = tp + (fp + fn) / 2
    empty = (tp + fp + fn == 0).astype(np.float64)
    return np.divide(tp, whole, out=np.asarray(empty), where=whole > 0)


def _reached(differences: Floats, observed: float, alternative: str) -> NDArray[np.bool_]:
    if alternative == "two-sided":
        return np.abs(differences) >= abs(observed) - TIE
    return differences >= observed - TIE


def _exact_randomization(a: Ints, b: Ints, figure: Figure, observed: float, alternative: str) -> float:
    """The exact null distribution, not by walking over 2^D swaps but by adding one document at a time to the
    distribution of (tp, fp) of the first system; gold being the same, fn follows from tp."""
    change = b - a
    tp_steps, fp_steps = change[:, 0], change[:, 1]
    low = np.array([np.minimum(steps, 0).sum() for steps in (tp_steps, fp_steps)])
    shape = tuple(int(np.abs(steps).sum()) + 1 for steps in (tp_steps, fp_steps))
    if math.prod(shape) * len(a) > EXACT_STEPS:
        raise UsageError(f"the exact null of {len(a)} documents is too large; shuffle instead")
    weights: Floats = np.zeros(shape)
    weights[-int(low[0]), -int(low[1])] = 1.0
    for step_tp, step_fp in zip(tp_steps.tolist(), fp_steps.tolist(), strict=True):
        if step_tp or step_fp:
            weights = (weights + _moved(weights, step_tp, step_fp)) / 2
    first = a.sum(axis=0)
    tp = (first[0] + low[0] + np.arange(shape[0]))[:, None] + np.zeros(shape[1], dtype=np.int64)
    fp = (first[1] + low[1] + np.arange(shape[1]))[None, :] + np.zeros((shape[0], 1), dtype=np.int64)
    sums = np.stack([tp, fp, first[0] + first[2] - tp], axis=-1)
    other = a.sum(axis=0) + b.sum(axis=0) - sums
    reachable = weights > 0
    differences = _figure(sums[reachable], figure) - _figure(other[reachable], figure)
    return math.fsum(weights[reachable][_reached(differences, observed, alternative)].tolist())


def _moved(weights: Floats, down: int, right: int) -> Floats:
    """The lattice shifted; its size is such that nothing falls off."""
    moved = np.zeros_like(weights)
    rows, columns = weights.shape
    moved[max(down, 0) : rows + min(down, 0), max(right, 0) : columns + min(right, 0)] = weights[
        max(-down, 0) : rows - max(down, 0), max(-right, 0) : columns - max(right, 0)
    ]
    return moved


# ---- bootstrap -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """The resampled values of one statistic, from which any interval is read."""

    estimate: float
    values: Floats
    jackknife: Floats  # empirical influence of each unit, by leaving it out
    draws: Ints  # resample × unit: how often it was drawn

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    @property
    def se(self) -> float:
        return float(self.values.std(ddof=1))

    @property
    def bias_correction(self) -> float:
        """z0, from the share of values strictly below the estimate."""
        share = float((self.values < self.estimate).mean())
        if share in {0.0, 1.0}:
            raise UsageError(
                "the BCa interval does not exist: all resampled values lie on one side of the estimate; "
                "take the percentile interval, or a binomial one"
            )
        return _NORMAL.inv_cdf(share)

    def acceleration(self, influence: Influence = "jackknife") -> float:
        values = self.jackknife if influence == "jackknife" else _regressed(self.draws, self.values)
        spread = float((values**2).sum())
        return float((values**3).sum()) / (6 * spread**1.5) if spread else 0.0

    def interval(
        self,
        confidence: float = 0.95,
        *,
        method: Resampled = "bca",
        influence: Influence = "jackknife",
    ) -> Interval:
        """As R's `boot.ci`: quantiles between two resampled values are interpolated on the normal-quantile scale.

        Where every resample gives the estimate itself, the interval is that one point.
        """
        z = _z(confidence)
        tail = (1 - confidence) / 2
        name = f"{method} ({influence})" if method == "bca" else method
        extreme = False
        if bool((self.values == self.estimate).all()):
            low = high = self.estimate
        elif method == "normal":
            centre = 2 * self.estimate - self.mean
            low, high = centre - z * self.se, centre + z * self.se
        else:
            shares = (tail, 1 - tail)
            if method == "bca":
                z0, a = self.bias_correction, self.acceleration(influence)
                moved = [z0 + end for end in (-z, z)]
                low_share, high_share = (_NORMAL.cdf(z0 + end / (1 - a * end)) for end in moved)
                shares = (low_share, high_share)
            ordered: list[float] = np.sort(self.values).tolist()
            (low, low_extreme), (high, high_extreme) = (_quantile(ordered, share) for share in shares)
            extreme = low_extreme or high_extreme
            if method == "basic":
                low, high = 2 * self.estimate - high, 2 * self.estimate - low
        return Interval(low, high, self.estimate, confidence, name, self.se, self.mean, extreme)


def _quantile(ordered: Sequence[float], share: float) -> tuple[float, bool]:
    """R's `norm.inter`: the value of rank (R+1)·share, between ranks k and k+1 by their normal quantiles. Beyond the
    first or last value it is that value, which the flag says."""
    n = len(ordered)
    rank = (n + 1) * share
    below = math.floor(rank + 1e-9)  # 1 - 0.025 times 2000 is 1950, whatever its last bit
    if below < 1:
        return ordered[0], True
    if below >= n:
        return ordered[-1], below > n or rank - n > 1e-9
    left, right = _NORMAL.inv_cdf(below / (n + 1)), _NORMAL.inv_cdf((below + 1) / (n + 1))
    part = (_NORMAL.inv_cdf(share) - left) / (right - left)
    return ordered[below - 1] + max(part, 0.0) * (ordered[below] - ordered[below - 1]), False


def micro(figure: Figure) -> Statistic:
    """The micro figure of one system; its units are `as_array(counts)`."""
    return lambda sums: _figure(sums, figure)


def micro_difference(figure: Figure) -> Statistic:
    """First minus second; the units are the two systems' columns side by side, `np.hstack`ed."""
    return lambda sums: _figure(sums[..., :3], figure) - _figure(sums[..., 3:], figure)


def bootstrap(
    units: Ints,
    statistic: Statistic,
    *,
    resamples: int = RESAMPLES,
    seed: int = 0,
    indices: Ints | None = None,
) -> Bootstrap:
    """Draws whole units with replacement (patients, with all their documents: NLM Scrubber), as many as there are.

    `units` has one row of counts a unit, and `statistic` works on sums of rows, many at once. `indices` replays given
    draws (one row a resample, counted from 0) in place of drawing.

    >>> counts = [Counts(9, 1, 0), Counts(4, 0, 2), Counts(7, 1, 1)]
    >>> result = bootstrap(as_array(counts), micro("r"), resamples=199, seed=1)
    >>> round(result.estimate, 3)
    0.87
    """
    n = len(units)
    if n < 2:
        raise UsageError(f"{n} unit(s) cannot be resampled")
    if indices is None:
        if resamples < 2:
            raise UsageError("a bootstrap needs two resamples at least")
        indices = np.random.default_rng(seed).integers(0, n, size=(resamples, n))
    if indices.ndim != 2 or indices.shape[1] != n or int(indices.min()) < 0 or int(indices.max()) >= n:
        raise UsageError(f"the indices do not draw {n} of {n} units")
    drawn = np.zeros((len(indices), n), dtype=np.int64)
    np.add.at(drawn, (np.arange(len(indices))[:, None], indices), 1)
    values = statistic(drawn @ units)
    total = units.sum(axis=0)
    estimate = float(statistic(total[None, :])[0])
    without = statistic(total[None, :] - units)
    return Bootstrap(estimate, values, (n - 1) * (estimate - without), drawn)


def _regressed(drawn: Ints, values: Floats) -> Floats:
    """R's `empinf(type = "reg")`: the slopes of the values on the shares of the units, the first unit left out for
    the shares add up to 1, then centred."""
    n = drawn.shape[1]
    design = np.hstack([np.ones((len(drawn), 1)), drawn[:, 1:] / n])
    solution, _, rank, _ = np.linalg.lstsq(design, values, rcond=None)
    if int(rank) < n:
        raise UsageError("the acceleration by regression needs more resamples than there are units")
    slopes = np.concatenate([[0.0], solution[1:]])
    return slopes - slopes.mean()


# ---- signed ranks --------------------------------------------------------------------------------------------------


def wilcoxon(
    first: Sequence[float],
    second: Sequence[float],
    *,
    zeros: Zeros = "pratt",
    correction: bool = False,
    exact: bool = False,
    alternative: Alternative = "two-sided",
) -> Outcome:
    """Signed ranks of paired figures. The statistic is z, positive where the first is larger (exact: the rank sum W+).

    Pairs without difference: `pratt` ranks them, then drops their ranks; `wilcox` drops them before ranking; `zsplit`
    ranks them and gives half of their ranks to either side. `exact` goes over all signs of the ranks that there are,
    ties included, by adding one at a time. Differences are rounded to 12 digits, so that equal ones tie.
    """
    if len(first) != len(second):
        raise UsageError(f"figures are paired: {len(first)} cannot be paired with {len(second)}")
    differences = np.round(np.array(first, dtype=np.float64) - np.array(second, dtype=np.float64), 12)
    if zeros == "wilcox":
        differences = differences[differences != 0]
    ranks = _ranks(np.abs(differences))
    counted = np.ones(len(ranks), dtype=np.bool_) if zeros == "zsplit" else differences != 0
    if not bool((differences != 0).any()):
        raise UsageError("all pairs are equal: there is nothing to rank")
    plus = float(ranks[differences > 0].sum())
    if zeros == "zsplit":
        plus += float(ranks[differences == 0].sum()) / 2
    method = f"Wilcoxon signed ranks, zeros {zeros}"
    median = float(np.median(differences))
    if exact:
        if zeros == "zsplit":
            raise UsageError("split zeros have no exact distribution")
        return Outcome(plus, _exact_signs(ranks[counted], plus, alternative), median, f"{method}, exact")
    n, none = len(differences), int((differences == 0).sum()) if zeros == "pratt" else 0
    expected = (n * (n + 1) - none * (none + 1)) / 4
    ties = np.unique(ranks[counted], return_counts=True)[1].astype(np.float64)
    squares = n * (n + 1) * (2 * n + 1) - none * (none + 1) * (2 * none + 1)
    variance = squares / 24 - float((ties**3 - ties).sum()) / 48
    away = plus - expected
    if correction:
        away -= {"two-sided": math.copysign(0.5, away) if away else 0.0, "greater": 0.5, "less": -0.5}[alternative]
    z = away / math.sqrt(variance)
    return Outcome(z, _tail(z, alternative), median, f"{method}{', continuity correction' if correction else ''}")


def _ranks(values: Floats) -> Floats:
    """Ranks from 1; ties share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return (last - (counts - 1) / 2)[inverse]


def _exact_signs(ranks: Floats, plus: float, alternative: Alternative) -> float:
    """The p-value over all signs. Ranks are doubled, since ties have halves, and so are whole numbers."""
    doubled: list[int] = np.rint(2 * ranks).astype(np.int64).tolist()
    weights: Floats = np.zeros(sum(doubled) + 1)
    weights[0] = 1.0
    for rank in doubled:
        weights[rank:] = weights[rank:] / 2 + weights[:-rank] / 2
        weights[:rank] /= 2
    at, middle = 2 * plus, sum(doubled) / 2
    sums = np.arange(len(weights))
    match alternative:
        case "two-sided":
            reached = np.abs(sums - middle) >= abs(at - middle) - 1e-9
        case "greater":
            reached = sums >= at - 1e-9
        case "less":
            reached = sums <= at + 1e-9
    return math.fsum(weights[reached].tolist())


# ---- many tests ----------------------------------------------------------------------------------------------------


def adjust(p_values: Mapping[str, float], *, method: Adjustment = "holm") -> dict[str, float]:
    """The p-values of several comparisons, adjusted for their number (R's `p.adjust`)."""
    ordered = sorted(p_values, key=lambda name: p_values[name])
    n = len(ordered)
    factors = {
        "bonferroni": [n] * n,
        "holm": [n - at for at in range(n)],
        "hochberg": [n - at for at in range(n)],
        "bh": [n / (at + 1) for at in range(n)],
    }[method]
    raw = [min(1.0, factor * p_values[name]) for factor, name in zip(factors, ordered, strict=True)]
    if method == "holm":  # step down: none below the one before it
        for at in range(1, n):
            raw[at] = max(raw[at], raw[at - 1])
    elif method in {"hochberg", "bh"}:  # step up: none above the one after it
        for at in range(n - 2, -1, -1):
            raw[at] = min(raw[at], raw[at + 1])
    adjusted = dict(zip(ordered, raw, strict=True))
    return {name: adjusted[name] for name in p_values}
