"""Median of a few repeats, with an interval that assumes nothing about their distribution."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95


@dataclass(frozen=True, kw_only=True)
class Statistic:
    """A median and the interval `low` to `high` that holds the true one with `confidence`."""

    median: float
    low: float
    high: float
    confidence: float


def median_interval(samples: Sequence[float]) -> Statistic:
    """Median and order-statistic interval of at least one sample.

    The interval runs from the k-th smallest to the k-th largest sample with the largest k that
    gives 95 % confidence. Fewer than six samples cannot give it: then it spans all of them, with
    the confidence of that: 0 for a single sample, 0.75 for three. Source: Hahn and Meeker,
    Statistical Intervals, 5.2.
    """
    if not samples:
        raise ValueError("no samples")
    ordered = sorted(samples)
    count = len(ordered)
    depth = 1
    while 2 * (depth + 1) <= count and coverage(count, depth + 1) >= CONFIDENCE:
        depth += 1
    return Statistic(
        median=(ordered[(count - 1) // 2] + ordered[count // 2]) / 2,
        low=ordered[depth - 1],
        high=ordered[count - depth],
        confidence=coverage(count, depth),
    )


def coverage(count: int, depth: int) -> float:
    """Chance that the median lies between the `depth`-th smallest and largest of `count`."""
    below = sum(math.comb(count, index) for index in range(depth))
    return max(0.0, 1 - math.ldexp(below, 1 - count))


def representative(samples: Sequence[float]) -> int:
    """Index of the median sample; of an even number, the smaller of the middle two."""
    order = sorted(range(len(samples)), key=lambda index: (samples[index], index))
    return order[(len(order) - 1) // 2]
