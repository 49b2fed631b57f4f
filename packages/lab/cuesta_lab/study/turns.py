"""Signed-rank test of whether a program is slower than another one that ran by turns with it.

Both runs of a pair met the same state of the machine, so that drift cancels in their ratio. The
test is the exact signed-rank test of Wilcoxon (1945) of these ratios on logarithms. It assumes that
their scatter is symmetric, which holds for a ratio of like quantities.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from statistics import median

from cuesta_lab.study.shift import SLACK, SPREAD_OF_RANKS, Demand, interval, room, scatter


class Turns:
    """Ratio of `after` to `before`, positive samples in pairs that ran next to each other."""

    def __init__(self, before: Sequence[float], after: Sequence[float]) -> None:
        self._logs = [math.log(new / old) for old, new in zip(before, after, strict=True)]
        logs = self._logs
        # Walsh averages: of all two pairs, and of each pair with itself.
        self._means = sorted(
            (first + second) / 2 for index, first in enumerate(logs) for second in logs[: index + 1]
        )

    @property
    def ratio(self) -> float:
        """Hodges-Lehmann estimate: the median of the means of all two pairs."""
        return math.exp(median(self._means))

    @property
    def scatter(self) -> float:
        """Relative scatter of the ratios."""
        return scatter([math.exp(log) for log in self._logs])

    def p_larger(self, factor: float = 1.0) -> float:
        """P-value of pairs at least as large as these, if the true ratio were `factor`."""
        return _chance([log - math.log(factor) for log in self._logs])

    def p_smaller(self, factor: float) -> float:
        """P-value of pairs at most as large as these, if the true ratio were `factor`."""
        return _chance([math.log(factor) - log for log in self._logs])

    def interval(self, confidence: float) -> tuple[float, float]:
        """Confidence interval of the true ratio; from 0 or to infinity if pairs are too few."""
        return interval(self.p_larger, self.p_smaller, self._means, confidence)


def pairs_needed(deviation: float, demand: Demand) -> int:
    """Pairs whose ratios scatter by `deviation` that are enough for a demand."""
    needed = max(2, math.ceil(SPREAD_OF_RANKS * (deviation / room(demand)) ** 2))
    while 2**needed < SLACK / demand.alarms:
        needed += 1
    return needed


def _chance(differences: Sequence[float]) -> float:
    """Chance of at least as large a sum of ranks of positive differences, if signs were random."""
    # Of two differences as far from 0 the positive one has the lower rank: a cautious choice.
    order = sorted(differences, key=lambda difference: (abs(difference), difference < 0))
    ranks = sum(rank for rank, difference in enumerate(order, 1) if difference > 0)
    return _tail(len(order))(ranks)


@lru_cache(maxsize=64)
def _tail(count: int) -> Callable[[int], float]:
    """Chance, by sum, that a random subset of the ranks 1 to `count` has at least that sum."""
    counts = [1]
    for rank in range(1, count + 1):
        more = [0] * rank
        counts = [
            without + with_rank
            for without, with_rank in zip(counts + more, more + counts, strict=True)
        ]
    above, chances = 0, [0.0] * len(counts)
    for ranks in range(len(counts) - 1, -1, -1):
        above += counts[ranks]
        chances[ranks] = above / 2**count
    return chances.__getitem__
