"""How the cells of a study scatter: what each shows by itself, drawn to what all of them show.

Source: Smyth, Linear models and empirical Bayes methods for assessing differential expression in
microarray experiments, Statistical Applications in Genetics and Molecular Biology 3 (2004).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, variance

CELLS_LEAST = 3
"""Fewer cells cannot say how alike they scatter."""

_ALIKE = 1e5
"""As many degrees of freedom are as good as any number."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """A variance of logarithms, and with how many degrees of freedom it is known.

    `most` bounds those of what is drawn to it: all samples together know no more.
    """

    variance: float
    free: float
    most: float

    def draws(self, own: float, free: float) -> Spread:
        """What to take for a variance that was found to be `own` with `free` degrees of freedom."""
        both = min(self.free + free, max(self.most, free))
        if math.isinf(self.free):
            return Spread(variance=self.variance, free=both, most=self.most)
        drawn = (self.free * self.variance + free * own) / (self.free + free)
        return Spread(variance=drawn, free=both, most=self.most)


NONE = Spread(variance=0.0, free=0.0, most=0.0)
"""Of cells that nothing else is known of."""


def usual(cells: Iterable[Sequence[float]]) -> Spread:
    """How the logarithms of samples scatter in cells like these, and how alike.

    Cells with one sample, with samples of 0 or without any scatter say nothing of it. The more the
    variances of cells differ, beyond what so few samples make them, the fewer degrees of freedom it
    has.
    """
    told = [
        (variance([math.log(one) for one in cell]), len(cell) - 1)
        for cell in cells
        if len(cell) > 1 and min(cell) > 0
    ]
    told = [(one, free) for one, free in told if one > 0]
    if len(told) < CELLS_LEAST:
        return NONE
    most = sum(free for _, free in told)
    logs = [math.log(one) - _mean_of_log(free) for one, free in told]
    beyond = variance(logs) - fmean(_trigamma(free / 2) for _, free in told)
    free = 2 * _inverse_trigamma(beyond) if beyond > 0 else math.inf
    if free > _ALIKE:
        mean = sum(one * free for one, free in told) / most
        return Spread(variance=mean, free=math.inf, most=most)
    return Spread(variance=math.exp(fmean(logs) + _mean_of_log(free)), free=free, most=most)


def _mean_of_log(free: float) -> float:
    """Of a chi-square with so many degrees of freedom, over their number."""
    return _digamma(free / 2) - math.log(free / 2)


def _digamma(x: float) -> float:
    """To twelve digits, by recurrence and its asymptotic series (Abramowitz and Stegun, 6.3.18)."""
    below = 0.0
    while x < 12:
        below += 1 / x
        x += 1
    return math.log(x) - 1 / (2 * x) - 1 / (12 * x**2) + 1 / (120 * x**4) - 1 / (252 * x**6) - below


def _trigamma(x: float) -> float:
    """To ten digits, likewise (6.4.12)."""
    below = 0.0
    while x < 12:
        below += 1 / x**2
        x += 1
    return 1 / x + 1 / (2 * x**2) + 1 / (6 * x**3) - 1 / (30 * x**5) + 1 / (42 * x**7) + below


def _inverse_trigamma(value: float) -> float:
    """By halving: the function falls from infinity to 0."""
    low, high = 1e-6, 1e7
    while high / low > 1 + 1e-9:
        half = math.sqrt(low * high)
        low, high = (half, high) if _trigamma(half) > value else (low, half)
    return low
