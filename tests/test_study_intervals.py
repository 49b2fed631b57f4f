"""Intervals of ratios and slopes are as wide as claimed, and cells share their spread."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from statistics import fmean

import pytest

from cuesta_lab.study.intervals import ratio, slope, student
from cuesta_lab.study.spread import NONE, Spread, usual

STUDIES = 120
CELLS = 12

Noise = Callable[[random.Random, int], float]
"""A time around 1 in the cell of a number."""


def normal(draw: random.Random, _cell: int) -> float:
    return math.exp(0.1 * draw.gauss(0, 1))


def exponential(draw: random.Random, _cell: int) -> float:
    return 1 + 0.15 * draw.expovariate(1)


def outlying(draw: random.Random, _cell: int) -> float:
    return math.exp(0.06 * draw.gauss(0, 1)) * (1.6 if draw.random() < 0.08 else 1)


def unlike(draw: random.Random, cell: int) -> float:
    return math.exp((0.03, 0.06, 0.12, 0.2)[cell % 4] * draw.gauss(0, 1))


def tenfold(draw: random.Random, cell: int) -> float:
    return math.exp((0.02, 0.2)[cell % 2] * draw.gauss(0, 1))


def study(noise: Noise, draw: random.Random, count: int) -> list[list[float]]:
    """Return cells whose true times are 1, 2, 3 and so on."""
    return [[(cell + 1) * noise(draw, cell) for _ in range(count)] for cell in range(CELLS)]


def holds_truth(cells: Sequence[Sequence[float]], known: Spread) -> list[bool]:
    """Return whether intervals of neighbours hold the true ratio."""
    intervals = [ratio(cells[cell + 1], cells[cell], known) for cell in range(len(cells) - 1)]
    return [
        interval.low <= (cell + 2) / (cell + 1) <= interval.high
        for cell, interval in enumerate(intervals)
    ]


@pytest.mark.parametrize("count", [3, 5, 7, 15])
@pytest.mark.parametrize(
    ("noise", "least"),
    [(normal, 0.93), (exponential, 0.92), (outlying, 0.93), (unlike, 0.91), (tenfold, 0.86)],
)
def test_intervals_of_ratios_hold_the_true_ratio_about_as_often_as_claimed(
    noise: Noise, least: float, count: int
) -> None:
    draw = random.Random(count)
    inside = []
    for _ in range(STUDIES):
        cells = study(noise, draw, count)
        inside.append(fmean(holds_truth(cells, usual(cells))))
    assert least <= fmean(inside) < 1


@pytest.mark.parametrize("noise", [normal, exponential, outlying])
def test_two_cells_alone_hold_it_as_often(noise: Noise) -> None:
    draw = random.Random(1)
    inside = [holds_truth([*study(noise, draw, 3)[:2]], NONE)[0] for _ in range(1500)]
    assert 0.93 <= fmean(inside) < 0.995


def test_cells_that_scatter_alike_make_intervals_narrower() -> None:
    draw = random.Random(2)
    alone: list[float] = []
    together: list[float] = []
    for _ in range(100):
        cells = study(normal, draw, 3)
        for spread, widths in ((NONE, alone), (usual(cells), together)):
            interval = ratio(cells[1], cells[0], spread)
            widths.append(math.log(interval.high / interval.low))
    assert fmean(together) < 0.8 * fmean(alone)


def test_slow_runs_among_many_do_not_widen_an_interval() -> None:
    draw = random.Random(4)
    usual_ones = [math.exp(0.03 * draw.gauss(0, 1)) for _ in range(19)]
    interval = ratio([*usual_ones, 1.5, 2.0], [*usual_ones, 1.4, 1.6])
    assert interval.high < 1.05


def test_intervals_of_slopes_hold_the_true_slope_about_as_often_as_claimed() -> None:
    draw = random.Random(1)
    inside = 0
    for _ in range(400):
        samples = {
            value: [value * math.exp(0.05 * draw.gauss(0, 1)) for _ in range(3)]
            for value in (1.0, 2.0, 4.0, 8.0)
        }
        interval = slope(samples, usual(samples.values()))
        inside += interval.low <= 1 <= interval.high
    assert 0.93 <= inside / 400 < 0.99


@pytest.mark.parametrize("free", [2.0, 6.0, 20.0])
def test_the_common_scatter_of_cells_is_estimated(free: float) -> None:
    draw = random.Random(3)
    cells = []
    for _ in range(4000):
        spread = 0.1 / math.sqrt(draw.gammavariate(free / 2, 2 / free))
        cells.append([math.exp(spread * draw.gauss(0, 1)) for _ in range(5)])
    scatter = usual(cells)
    assert scatter.free == pytest.approx(free, rel=0.25)
    assert scatter.variance == pytest.approx(0.01, rel=0.1)
    assert scatter.most == 16_000


def test_cells_without_information_on_their_spread_are_left_out() -> None:
    informative = [[1.0, 1.2, 1.1], [2.0, 2.1, 2.4], [3.0, 3.3, 2.9]]
    silent = [[1.0], [], [0.0, 1.0, 2.0], [5.0, 5.0]]
    assert usual([*informative, *silent]) == usual(informative)
    assert usual(informative[:2]) == NONE


def test_ratios_of_counts_that_never_vary_and_of_zeros_are_numbers() -> None:
    assert ratio([6, 6, 6], [3, 3, 3]).within(1.999, 2.001)
    assert ratio([0, 0, 0], [0, 0, 0]).within(1, 1)
    assert ratio([1, 1, 1], [0, 0, 0]).above(1e5)
    assert ratio([1.0], [2.0, 2.1]).high >= 1e9


def test_students_factor_is_that_of_tables() -> None:
    table = {1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 8: 2.306, 12: 2.179}
    table |= {30: 2.042}
    for free, factor_of_table in table.items():
        assert student(free) == pytest.approx(factor_of_table, abs=0.004)
    for below in range(1, 5):
        assert student(below + 1) < student(below + 0.5) < student(below)
