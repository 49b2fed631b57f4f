"""Axes: from a value to a place between 0 and 100 per cent, and ticks that people would choose."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

TICKS_MAX = 5
"""So many labels fit side by side on a telephone."""

LOG_RATIO = 30.0
"""A chart goes logarithmic when its largest value is this many times its smallest."""


@dataclass(frozen=True, kw_only=True)
class Tick:
    """A labelled place on an axis."""

    value: float
    label: str


@dataclass(frozen=True, kw_only=True)
class Axis:
    """A range of values laid over 0 to 100 per cent.

    Attributes
    ----------
    low, high
        The values at 0 and at 100 per cent; `low` > 0 when `log`.
    log
        Whether equal ratios, not equal differences, take equal room.
    ticks
        In rising order, all within the range.
    """

    low: float
    high: float
    log: bool
    ticks: tuple[Tick, ...]

    def place(self, value: float) -> float:
        """Per cent of the way along the axis; values outside sit on its ends."""
        inside = min(max(value, self.low), self.high)
        if self.log:
            span = math.log(self.high) - math.log(self.low)
            return 100 * (math.log(inside) - math.log(self.low)) / span
        return 100 * (inside - self.low) / (self.high - self.low)


def linear(high: float, label: Callable[[float], str], low: float = 0.0) -> Axis:
    """An axis that contains `low` to `high`, both ends on round numbers."""
    span = high - low if high > low else abs(high) or 1.0
    step = _round_step(span / (TICKS_MAX - 1))
    first, last = math.floor(low / step + 1e-9), math.ceil(max(high, low + step) / step - 1e-9)
    while last - first > TICKS_MAX:
        step = _round_step(step * 1.01)
        first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    values = [round(index * step, 12) for index in range(first, last + 1)]
    ticks = tuple(Tick(value=value, label=label(value)) for value in values)
    return Axis(low=values[0], high=values[-1], log=False, ticks=ticks)


def ending(axis: Axis, high: float) -> Axis:
    """A linear axis cut off at `high`, with the ticks up to there."""
    ticks = tuple(tick for tick in axis.ticks if tick.value <= high)
    return replace(axis, high=high, ticks=ticks)


def logarithmic(low: float, high: float, label: Callable[[float], str]) -> Axis:
    """An axis over powers of ten that contains `low` to `high`, both positive."""
    first = math.floor(math.log10(low) + 1e-9)
    last = max(math.ceil(math.log10(high) - 1e-9), first + 1)
    stride = math.ceil((last - first + 1) / (TICKS_MAX + 1))
    ticks = tuple(
        Tick(value=10.0**power, label=label(10.0**power))
        for power in range(first, last + 1, stride)
    )
    return Axis(low=10.0**first, high=10.0**last, log=True, ticks=ticks)


def for_bars(values: Sequence[float], label: Callable[[float], str]) -> Axis:
    """The axis of a bar chart: linear from zero, or logarithmic when the ratios are large."""
    positive = [value for value in values if value > 0]
    if not positive:
        return linear(1.0, label)
    if max(positive) / min(positive) >= LOG_RATIO:
        return logarithmic(min(positive) * 0.999, max(positive), label)
    return linear(max(positive), label)


def _round_step(raw: float) -> float:
    """The smallest of 1, 2, 2.5, 5 times a power of ten that is not below `raw`."""
    power = 10.0 ** math.floor(math.log10(raw))
    for factor in (1.0, 2.0, 2.5, 5.0, 10.0):
        if raw <= factor * power * (1 + 1e-9):
            return factor * power
    return 10.0 * power
