"""Whether a program is slower than another one that was run by turns with it.

Both of a pair met the same spell of the machine, so that however it drifts, the ratio of the pair
tells the programs apart. The test is the exact signed-rank test of Wilcoxon (1945) of those ratios
on logarithms: it asks that their scatter be symmetric, which that of a ratio of like things is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from statistics import median

from cuesta.lab.study.shift import SLACK, SPREAD_OF_RANKS, Demand, interval, room, scatter


class Turns:
    """The ratio of `after` to `before`, positive samples, as many, each the other's neighbour."""

    def __init__(self, before: Sequence[float], after: Sequence[float]) -> None:
        self._logs = [math.log(new / old) for old, new in zip(before, after, strict=True)]
        logs = self._logs
        # Of each two pairs, and of each pair with itself, as Walsh has it.
        self._means = sorted(
            (one + other) / 2 for index, one in enumerate(logs) for other in logs[: index + 1]
        )

    @property
    def ratio(self) -> float:
        """Hodges and Lehmann's estimate: the median of the means of all two pairs."""
        return math.exp(median(self._means))

    @property
    def scatter(self) -> float:
        """Relative scatter of the ratios."""
        return scatter([math.exp(one) for one in self._logs])

    def p_larger(self, factor: float = 1.0) -> float:
        """Chance of pairs like these, or larger still, if the true ratio were `factor`."""
        return _chance([one - math.log(factor) for one in self._logs])

    def p_smaller(self, factor: float) -> float:
        """Chance of pairs like these, or smaller still, if the true ratio were `factor`."""
        return _chance([math.log(factor) - one for one in self._logs])

    def interval(self, confidence: float) -> tuple[float, float]:
        """Where the true ratio lies; from 0 or to infinity where the pairs are too few."""
        return interval(self.p_larger, self.p_smaller, self._means, confidence)


def pairs_needed(deviation: float, demand: Demand) -> int:
    """Pairs whose ratios scatter by `deviation` that are enough for a demand."""
    needed = max(2, math.ceil(SPREAD_OF_RANKS * (deviation / room(demand)) ** 2))
    while 2**needed < SLACK / demand.alarms:
        needed += 1
    return needed


def _chance(differences: Sequence[float]) -> float:
    """Of a sum of the ranks of those above 0 that is at least as large, were the sign chance."""
    # Of two that are as far from 0 the one above has the lower rank: never too sure.
    order = sorted(differences, key=lambda one: (abs(one), one < 0))
    ranks = sum(rank for rank, one in enumerate(order, 1) if one > 0)
    return _tail(len(order))(ranks)


@lru_cache(maxsize=64)
def _tail(count: int) -> Callable[[int], float]:
    """Chance that a sum of some of the ranks 1 to `count` is at least so large."""
    ways = [1]
    for rank in range(1, count + 1):
        more = [0] * rank
        ways = [one + other for one, other in zip(ways + more, more + ways, strict=True)]
    above, found = 0, [0.0] * len(ways)
    for ranks in range(len(ways) - 1, -1, -1):
        above += ways[ranks]
        found[ranks] = above / 2**count
    return found.__getitem__
