"""Intervals of ratios and slopes: exact where they can be, and as wide as they say."""

from __future__ import annotations

import math
import random

import pytest

from cuesta.lab.study.intervals import median_weights, ratio, slope, student


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6])
def test_the_chances_of_medians_are_those_of_all_resamples(count: int) -> None:
    samples = [float(value**2) for value in range(1, count + 1)]
    values, chances = median_weights(samples)
    counted: dict[float, int] = {}
    for number in range(count**count):
        drawn = sorted(samples[number // count**place % count] for place in range(count))
        median = (drawn[(count - 1) // 2] + drawn[count // 2]) / 2
        counted[median] = counted.get(median, 0) + 1
    assert values == sorted(counted)
    assert chances == pytest.approx([counted[value] / count**count for value in values])


@pytest.mark.parametrize("count", [3, 5, 7])
def test_intervals_of_ratios_hold_the_true_one_about_as_often_as_they_say(count: int) -> None:
    draw = random.Random(count)
    trials = 400
    inside = 0
    for _ in range(trials):
        over, under = (
            [math.exp(spread * draw.gauss(0, 1)) for _ in range(count)] for spread in (0.05, 0.02)
        )
        found = ratio([2 * value for value in over], under)
        inside += found.low <= 2 <= found.high
    assert 0.92 <= inside / trials <= 1


def test_intervals_of_slopes_hold_the_true_one_about_as_often_as_they_say() -> None:
    draw = random.Random(1)
    inside = 0
    for _ in range(60):
        samples = {
            value: [value * math.exp(0.05 * draw.gauss(0, 1)) for _ in range(3)]
            for value in (1.0, 2.0, 4.0, 8.0)
        }
        found = slope(samples, 1)
        inside += found.low <= 1 <= found.high
    assert inside >= 55


def test_ratios_of_counts_that_never_vary_and_of_zeros_are_numbers() -> None:
    assert ratio([6, 6, 6], [3, 3, 3]).within(1.999, 2.001)
    assert ratio([0, 0, 0], [0, 0, 0]).within(1, 1)
    assert ratio([1, 1, 1], [0, 0, 0]).above(1e5)


def test_students_factor_is_that_of_tables() -> None:
    table = {1: 12.706, 4: 2.776, 5: 2.571, 6: 2.447, 8: 2.306, 12: 2.179, 30: 2.042}
    for free, factor_of_table in table.items():
        assert student(free) == pytest.approx(factor_of_table, abs=0.004)
