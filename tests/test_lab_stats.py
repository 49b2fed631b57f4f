"""The interval of the median compared with its definition."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as some

from cuesta.lab.stats import CONFIDENCE, coverage, median_interval, representative


def test_the_median_of_a_single_sample_is_that_sample_and_has_no_confidence() -> None:
    interval = median_interval([2.5])
    assert (interval.median, interval.low, interval.high, interval.confidence) == (
        2.5,
        2.5,
        2.5,
        0.0,
    )


@pytest.mark.parametrize(("count", "depth"), [(5, 1), (6, 1), (8, 1), (9, 2), (20, 6), (100, 40)])
def test_the_interval_takes_the_ranks_of_the_published_table(count: int, depth: int) -> None:
    interval = median_interval([float(value) for value in range(1, count + 1)])
    assert (interval.low, interval.high) == (depth, count + 1 - depth)


def test_three_samples_have_75_per_cent_confidence() -> None:
    assert median_interval([3.0, 1.0, 2.0]).confidence == 0.75


def test_the_interval_covers_the_true_median_as_often_as_claimed() -> None:
    generator = random.Random(7)
    hits = 0
    for _ in range(4000):
        interval = median_interval([generator.expovariate(1.0) for _ in range(11)])
        hits += interval.low <= 0.693147 <= interval.high
    assert abs(hits / 4000 - coverage(11, 2)) < 0.01
    assert coverage(11, 2) >= CONFIDENCE > coverage(11, 3)


@given(some.lists(some.floats(0, 1e6), min_size=1, max_size=60))
def test_the_median_is_in_its_interval(samples: list[float]) -> None:
    interval = median_interval(samples)
    assert min(samples) <= interval.low <= interval.median <= interval.high <= max(samples)


def test_the_representative_of_an_even_number_is_the_faster_of_the_middle_two() -> None:
    assert representative([4.0, 1.0, 3.0, 2.0]) == 3
    assert representative([1.0]) == 0


def test_no_samples_are_a_callers_mistake() -> None:
    with pytest.raises(ValueError, match="no samples"):
        median_interval([])
