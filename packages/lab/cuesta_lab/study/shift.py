"""Rank-sum test of whether the samples of one run are larger than those of another.

Two runs of an unchanged program differ in two ways. Repeats scatter, to the right more than to the
left. And between the runs the machine drifts: all repeats of a run are a little faster than those
of the other run, however many there are. The test is the exact rank-sum test of Wilcoxon (Mann and
Whitney, 1947), which assumes nothing about the scatter, averaged over the distribution of the
drift, which is normal on logarithms. If the scatter is normal as well, that average is exactly the
test of both variances together.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from statistics import NormalDist, median

DRIFT_POINTS = 32
"""Number of values of the drift over which the test is averaged."""
EXACT_MAX = 60
"""Most repeats of a run for the exact test; with more it uses the normal approximation."""
BISECTIONS = 24
SPREAD_OF_RANKS = math.pi / 3
"""Repeats of a rank-sum test by those of a test of means, if the scatter is normal."""
CORRELATED = 2.5
"""Standard deviations from which a correlation of consecutive turns counts as significant."""
CORRELATION_MAX = 0.9
SLACK = 20
"""Least ratio of the requested p-value to the smallest one that the repeats can give."""

_NORMAL = NormalDist()
_PValue = Callable[[float], float]


@dataclass(frozen=True, kw_only=True)
class Drift:
    """Drift of a machine between two runs: standard deviation of the logarithm of the ratio.

    `values` are equally likely drifts.
    """

    deviation: float
    values: tuple[float, ...] = field(init=False)

    def __post_init__(self) -> None:
        middles = [(index + 0.5) / DRIFT_POINTS for index in range(DRIFT_POINTS)]
        normal = [_NORMAL.inv_cdf(quantile) for quantile in middles]
        # The middles of equal parts scatter a little less than the normal distribution.
        scale = self.deviation / math.sqrt(sum(value * value for value in normal) / DRIFT_POINTS)
        values = (0.0,) if self.deviation == 0 else tuple(scale * value for value in normal)
        object.__setattr__(self, "values", values)


class Shift:
    """Ratio of `after` to `before`, positive samples of two runs, at least one each."""

    def __init__(self, before: Sequence[float], after: Sequence[float], drift: Drift) -> None:
        self._before, self._after, self._drift = len(before), len(after), drift
        self._differences = sorted(math.log(new / old) for old in before for new in after)

    @property
    def ratio(self) -> float:
        """Hodges-Lehmann estimate: the median of the ratios of all pairs."""
        return math.exp(median(self._differences))

    def p_larger(self, factor: float = 1.0) -> float:
        """P-value of samples at least as large as these, if the true ratio were `factor`."""
        count = len(self._differences)
        larger = [count - bisect_right(self._differences, shift) for shift in self._shifts(factor)]
        return self._mean_tail(larger)

    def p_smaller(self, factor: float) -> float:
        """P-value of samples at most as large as these, if the true ratio were `factor`."""
        return self._mean_tail([
            bisect_left(self._differences, shift) for shift in self._shifts(factor)
        ])  # fmt: skip

    def interval(self, confidence: float) -> tuple[float, float]:
        """Confidence interval of the true ratio; from 0 or to infinity if samples are too few."""
        reach = 1.0 + 10 * self._drift.deviation
        return interval(self.p_larger, self.p_smaller, self._differences, confidence, reach)

    def _shifts(self, factor: float) -> list[float]:
        return [math.log(factor) + drift for drift in self._drift.values]

    def _mean_tail(self, ordered: Sequence[int]) -> float:
        return sum(map(_tail(self._before, self._after), ordered)) / len(ordered)


def interval(
    p_larger: _PValue,
    p_smaller: _PValue,
    differences: Sequence[float],
    confidence: float,
    reach: float = 1.0,
) -> tuple[float, float]:
    """Invert two one-sided tests to an interval; `differences` are sorted logarithms of ratios."""

    def bound(p_value: _PValue, far: float, endless: float) -> float:
        near = median(differences)
        if p_value(math.exp(far)) > part:
            return endless
        for _ in range(BISECTIONS):
            middle = (far + near) / 2
            far, near = (far, middle) if p_value(math.exp(middle)) > part else (middle, near)
        return math.exp(far)

    part = (1 - confidence) / 2
    low = bound(p_larger, differences[0] - reach, 0.0)
    return low, bound(p_smaller, differences[-1] + reach, math.inf)


def scatter(samples: Sequence[float]) -> float:
    """Relative scatter of the repeats of a run, from Gini's mean difference of their logarithms.

    For a normal scatter it is the standard deviation; a single outlier has less weight.
    """
    if len(samples) < 2:
        return 0.0
    logs = sorted(map(math.log, samples))
    count = len(logs)
    total = sum((2 * index - count + 1) * log for index, log in enumerate(logs))
    return math.sqrt(math.pi) * total / (count * (count - 1))


def unsteadiness(runs: Sequence[Sequence[Sequence[float]]]) -> float:
    """Deviation of the logarithm of the ratio of two runs that slow waves within them cause.

    A run is the samples of its combinations, taken by turns. If consecutive turns are correlated,
    the mean of a run scatters more than its samples show: (1 + r) / (1 - r) times as much for noise
    whose correlation is `r` from one turn to the next and falls from there. 0 if the correlation of
    turns is not significant.
    """
    waves = [_turns(run) for run in runs]
    count = sum(map(len, waves))
    squares = sum(value * value for wave in waves for value in wave)
    if count < 2 * len(runs) or squares == 0:
        return 0.0
    steps = sum((new - old) ** 2 for wave in waves for old, new in pairwise(wave))
    # Noise without waves has a correlation a little below 0, because the mean is subtracted.
    correlation = min(CORRELATION_MAX, 1 - steps / (2 * squares) + len(runs) / count)
    if correlation * math.sqrt(count) < CORRELATED:
        return 0.0
    more = 2 * correlation / (1 - correlation)
    return math.sqrt(sum(_variance(wave) / len(wave) * more for wave in waves if len(wave) > 1))


def _turns(run: Sequence[Sequence[float]]) -> list[float]:
    """Mean slow-down of all combinations in each turn, on logarithms."""
    logs = [[math.log(sample) for sample in samples] for samples in run]
    centred = [[log - median(row) for log in row] for row in logs if row]
    turns = [[row[index] for row in centred if index < len(row)] for index in range(_longest(run))]
    means = [sum(turn) / len(turn) for turn in turns]
    middle = sum(means) / len(means) if means else 0.0
    return [mean - middle for mean in means]


def _longest(run: Sequence[Sequence[float]]) -> int:
    return max(map(len, run), default=0)


def _variance(wave: Sequence[float]) -> float:
    return sum(value * value for value in wave) / (len(wave) - 1)


@dataclass(frozen=True, kw_only=True)
class Demand:
    """Power and size of a test: it misses a ratio of `factor` in a part `missed` of cases.

    It raises false alarms in a part `alarms` of the cases in which nothing has changed.
    """

    factor: float
    missed: float
    alarms: float


def room(demand: Demand) -> float:
    """Largest standard error of the logarithm of a ratio at which a demand is met."""
    return -math.log(demand.factor) / (
        _NORMAL.inv_cdf(demand.alarms) + _NORMAL.inv_cdf(demand.missed)
    )


def repeats_needed(deviation: float, drift: Drift, demand: Demand) -> int | None:
    """Repeats of each run for a scatter of `deviation`; None if the drift is too large."""
    margin = room(demand) ** 2 - drift.deviation**2
    if margin <= 0:
        return None
    needed = max(2, math.ceil(2 * SPREAD_OF_RANKS * deviation**2 / margin))
    while math.comb(2 * needed, needed) < SLACK / demand.alarms:
        needed += 1
    return needed


@lru_cache(maxsize=64)
def _tail(before: int, after: int) -> Callable[[int], float]:
    """Chance, by number of pairs in order, of at least that number if nothing has changed."""
    pairs = before * after
    if max(before, after) > EXACT_MAX:
        deviation = math.sqrt(pairs * (before + after + 1) / 12)
        return lambda ordered: 1 - _NORMAL.cdf((ordered - 0.5 - pairs / 2) / deviation)
    orders = _count_orders(before, after)
    total = sum(orders)
    tail, chances = 0, [0.0] * (pairs + 1)
    for ordered in range(pairs, -1, -1):
        tail += orders[ordered]
        chances[ordered] = tail / total
    return chances.__getitem__


def _count_orders(before: int, after: int) -> list[int]:
    """Count the orders of all samples by their pairs with the larger sample after: q-binomials."""
    pairs = before * after
    orders = [1] + [0] * pairs
    for index in range(1, before + 1):
        factor = after + index
        for ordered in range(pairs, factor - 1, -1):
            orders[ordered] -= orders[ordered - factor]
        for ordered in range(index, pairs + 1):
            orders[ordered] += orders[ordered - index]
    return orders
