"""Variance of the samples in a study's cells, shrunk towards the variance of all cells.

Source: Smyth, Linear models and empirical Bayes methods for assessing differential expression in
microarray experiments, Statistical Applications in Genetics and Molecular Biology 3 (2004).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, variance

CELLS_LEAST = 3
"""Least cells for an estimate of how alike they scatter."""

_ALIKE = 1e5
"""Degrees of freedom from which the number counts as infinite."""


@dataclass(frozen=True, kw_only=True)
class Spread:
    """A variance of logarithms with its degrees of freedom.

    `most` bounds the degrees of freedom of a variance shrunk towards it: all samples together have
    no more.
    """

    variance: float
    free: float
    most: float

    def shrink(self, estimate: float, free: float) -> Spread:
        """Shrink a variance `estimate` with `free` degrees of freedom towards this one."""
        both = min(self.free + free, max(self.most, free))
        if math.isinf(self.free):
            return Spread(variance=self.variance, free=both, most=self.most)
        shrunk = (self.free * self.variance + free * estimate) / (self.free + free)
        return Spread(variance=shrunk, free=both, most=self.most)


NONE = Spread(variance=0.0, free=0.0, most=0.0)
"""Spread without prior knowledge of the cells."""


def usual(cells: Iterable[Sequence[float]]) -> Spread:
    """Estimate the prior variance of the logarithms of samples in cells, and how alike cells are.

    Cells with one sample, with samples of 0 or without any scatter are ignored. The more the
    variances of cells differ beyond sampling error, the fewer degrees of freedom the result has.
    """
    known = [
        (variance([math.log(sample) for sample in cell]), len(cell) - 1)
        for cell in cells
        if len(cell) > 1 and min(cell) > 0
    ]
    known = [(cell_variance, free) for cell_variance, free in known if cell_variance > 0]
    if len(known) < CELLS_LEAST:
        return NONE
    most = sum(free for _, free in known)
    logs = [math.log(cell_variance) - _mean_of_log(free) for cell_variance, free in known]
    beyond = variance(logs) - fmean(trigamma(free / 2) for _, free in known)
    free = 2 * _inverse_trigamma(beyond) if beyond > 0 else math.inf
    if free > _ALIKE:
        mean = sum(cell_variance * free for cell_variance, free in known) / most
        return Spread(variance=mean, free=math.inf, most=most)
    return Spread(variance=math.exp(fmean(logs) + _mean_of_log(free)), free=free, most=most)


def _mean_of_log(free: float) -> float:
    """Mean of the logarithm of a chi-square over its degrees of freedom."""
    return _digamma(free / 2) - math.log(free / 2)


def _digamma(x: float) -> float:
    """Digamma to twelve digits: recurrence, then asymptotic series (Abramowitz & Stegun 6.3.18)."""
    below = 0.0
    while x < 12:
        below += 1 / x
        x += 1
    return math.log(x) - 1 / (2 * x) - 1 / (12 * x**2) + 1 / (120 * x**4) - 1 / (252 * x**6) - below


def trigamma(x: float) -> float:
    """Return trigamma to ten digits, likewise (6.4.12)."""
    below = 0.0
    while x < 12:
        below += 1 / x**2
        x += 1
    return 1 / x + 1 / (2 * x**2) + 1 / (6 * x**3) - 1 / (30 * x**5) + 1 / (42 * x**7) + below


def _inverse_trigamma(value: float) -> float:
    """Invert the trigamma function by bisection: it falls from infinity to 0."""
    low, high = 1e-6, 1e7
    while high / low > 1 + 1e-9:
        half = math.sqrt(low * high)
        low, high = (half, high) if trigamma(half) > value else (low, half)
    return low
