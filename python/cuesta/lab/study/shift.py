"""Whether samples of one run are larger than those of another, by a factor that chance cannot make.

Two runs of a program that has not changed differ in two ways. Repeats scatter, to the right more
than to the left. And between the runs the machine drifts: every repeat of one run is a little
faster than those of the other, however many there are. The test here is the exact rank-sum test of
Wilcoxon (Mann and Whitney, 1947), which asks nothing of how repeats scatter, averaged over what the
drift may have been: normal on logarithms. Where the scatter is normal as well, that average is
exactly the test of both variances together.
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
"""Values of the drift that the test is averaged over."""
EXACT_MAX = 60
"""Of more repeats than this, in either run, the normal distribution stands for counting."""
BISECTIONS = 24
SPREAD_OF_RANKS = math.pi / 3
"""Repeats that a rank-sum test needs for one of a test of means, where the scatter is normal."""
CORRELATED = 2.5
"""Deviations from 0 at which a correlation from one turn to the next is believed."""
CORRELATION_MAX = 0.9
SLACK = 20
"""What stands between the least p-value that repeats can give and the one they are asked for."""

_NORMAL = NormalDist()
_PValue = Callable[[float], float]


@dataclass(frozen=True, kw_only=True)
class Drift:
    """How far a machine drifts between two runs: standard deviation of the logarithm of the ratio.

    `values` are as likely as each other.
    """

    deviation: float
    values: tuple[float, ...] = field(init=False)

    def __post_init__(self) -> None:
        middles = [(index + 0.5) / DRIFT_POINTS for index in range(DRIFT_POINTS)]
        normal = [_NORMAL.inv_cdf(one) for one in middles]
        # The middles of equal parts lie a little closer together than the normal itself.
        scale = self.deviation / math.sqrt(sum(one * one for one in normal) / DRIFT_POINTS)
        values = (0.0,) if self.deviation == 0 else tuple(scale * one for one in normal)
        object.__setattr__(self, "values", values)


class Shift:
    """The ratio of `after` to `before`, positive samples of two runs, at least one each."""

    def __init__(self, before: Sequence[float], after: Sequence[float], drift: Drift) -> None:
        self._before, self._after, self._drift = len(before), len(after), drift
        self._differences = sorted(math.log(new / old) for old in before for new in after)

    @property
    def ratio(self) -> float:
        """Hodges and Lehmann's estimate: the median of the ratios of all pairs."""
        return math.exp(median(self._differences))

    def p_larger(self, factor: float = 1.0) -> float:
        """Chance of samples like these, or larger still, if the true ratio were `factor`."""
        count = len(self._differences)
        larger = [count - bisect_right(self._differences, one) for one in self._shifts(factor)]
        return self._mean_tail(larger)

    def p_smaller(self, factor: float) -> float:
        """Chance of samples like these, or smaller still, if the true ratio were `factor`."""
        return self._mean_tail([
            bisect_left(self._differences, one) for one in self._shifts(factor)
        ])  # fmt: skip

    def interval(self, confidence: float) -> tuple[float, float]:
        """Where the true ratio lies; from 0 or to infinity where the samples are too few."""
        reach = 1.0 + 10 * self._drift.deviation
        return interval(self.p_larger, self.p_smaller, self._differences, confidence, reach)

    def _shifts(self, factor: float) -> list[float]:
        return [math.log(factor) + one for one in self._drift.values]

    def _mean_tail(self, ordered: Sequence[int]) -> float:
        return sum(map(_tail(self._before, self._after), ordered)) / len(ordered)


def interval(
    p_larger: _PValue,
    p_smaller: _PValue,
    differences: Sequence[float],
    confidence: float,
    reach: float = 1.0,
) -> tuple[float, float]:
    """Between which factors neither is too improbable; `differences` are logarithms in order."""

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

    That of a normal scatter is its standard deviation; a single outlier weighs less than in it.
    """
    if len(samples) < 2:
        return 0.0
    logs = sorted(map(math.log, samples))
    count = len(logs)
    total = sum((2 * index - count + 1) * one for index, one in enumerate(logs))
    return math.sqrt(math.pi) * total / (count * (count - 1))


def unsteadiness(runs: Sequence[Sequence[Sequence[float]]]) -> float:
    """Deviation of the logarithm of the ratio of two runs that comes of slow waves within them.

    A run is the samples of its combinations, taken by turns. Where each turn resembles the one
    before, the mean of a run scatters more than its samples say: for noise whose correlation is `r`
    from one turn to the next and falls from there, (1 + r) / (1 - r) times as much. 0 where the
    turns do not resemble each other beyond chance.
    """
    waves = [_turns(run) for run in runs]
    count = sum(map(len, waves))
    squares = sum(one * one for wave in waves for one in wave)
    if count < 2 * len(runs) or squares == 0:
        return 0.0
    steps = sum((new - old) ** 2 for wave in waves for old, new in pairwise(wave))
    # Of noise without waves the correlation is a little below 0, because the mean is taken off.
    correlation = min(CORRELATION_MAX, 1 - steps / (2 * squares) + len(runs) / count)
    if correlation * math.sqrt(count) < CORRELATED:
        return 0.0
    more = 2 * correlation / (1 - correlation)
    return math.sqrt(sum(_variance(wave) / len(wave) * more for wave in waves if len(wave) > 1))


def _turns(run: Sequence[Sequence[float]]) -> list[float]:
    """By turn, how much slower than usual all combinations were together."""
    logs = [[math.log(one) for one in samples] for samples in run]
    beside = [[one - median(row) for one in row] for row in logs if row]
    turns = [[row[index] for row in beside if index < len(row)] for index in range(_longest(run))]
    means = [sum(turn) / len(turn) for turn in turns]
    middle = sum(means) / len(means) if means else 0.0
    return [one - middle for one in means]


def _longest(run: Sequence[Sequence[float]]) -> int:
    return max(map(len, run), default=0)


def _variance(wave: Sequence[float]) -> float:
    return sum(one * one for one in wave) / (len(wave) - 1)


@dataclass(frozen=True, kw_only=True)
class Demand:
    """What a test must do: find a ratio of `factor` but for a part `missed` of the times.

    It may be wrong in a part `alarms` of the times where nothing has changed.
    """

    factor: float
    missed: float
    alarms: float


def room(demand: Demand) -> float:
    """The deviation of an estimate of the logarithm of a ratio at which a demand is just met."""
    return -math.log(demand.factor) / (
        _NORMAL.inv_cdf(demand.alarms) + _NORMAL.inv_cdf(demand.missed)
    )


def repeats_needed(deviation: float, drift: Drift, demand: Demand) -> int | None:
    """Repeats of each run that a scatter of `deviation` needs; None where it drifts too much."""
    left = room(demand) ** 2 - drift.deviation**2
    if left <= 0:
        return None
    needed = max(2, math.ceil(2 * SPREAD_OF_RANKS * deviation**2 / left))
    while math.comb(2 * needed, needed) < SLACK / demand.alarms:
        needed += 1
    return needed


@lru_cache(maxsize=64)
def _tail(before: int, after: int) -> Callable[[int], float]:
    """Chance that at least so many of all pairs are in order, where nothing has changed."""
    pairs = before * after
    if max(before, after) > EXACT_MAX:
        deviation = math.sqrt(pairs * (before + after + 1) / 12)
        return lambda ordered: 1 - _NORMAL.cdf((ordered - 0.5 - pairs / 2) / deviation)
    ways = _ways(before, after)
    total = sum(ways)
    tail, found = 0, [0.0] * (pairs + 1)
    for ordered in range(pairs, -1, -1):
        tail += ways[ordered]
        found[ordered] = tail / total
    return found.__getitem__


def _ways(before: int, after: int) -> list[int]:
    """In how many orders of all samples so many pairs have the larger one after: q-binomials."""
    pairs = before * after
    ways = [1] + [0] * pairs
    for index in range(1, before + 1):
        factor = after + index
        for ordered in range(pairs, factor - 1, -1):
            ways[ordered] -= ways[ordered - factor]
        for ordered in range(index, pairs + 1):
            ways[ordered] += ways[ordered - index]
    return ways
