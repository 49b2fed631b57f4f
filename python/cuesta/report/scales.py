"""Axes: from a value to a place between 0 and 100 per cent, and ticks that people would choose."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

TICKS_MAX = 5
"""Most labels that fit side by side on a telephone."""

LOG_RATIO = 30.0
"""A chart goes logarithmic when its largest value is this many times its smallest."""

MARGIN = 0.07
"""Part of the span that is left free at both ends of an axis across levels."""

LETTER = 7.0
"""Pixels that a letter of a tick takes at most, on average."""


@dataclass(frozen=True, kw_only=True)
class Tick:
    """A labelled place on an axis; `anchor`, where given, is the end of the label that is there."""

    value: float
    label: str
    anchor: str = ""


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


def geometric(low: float, high: float, label: Callable[[float], str]) -> Axis:
    """A logarithmic axis that ends at 1, 2 or 5 times powers of ten around positive values."""
    powers = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    fine = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
    first = max(value for value in fine if value <= low * (1 + 1e-9))
    last = min(value for value in fine if value >= high * (1 - 1e-9) and value > first)
    inside = [value for value in fine if first <= value <= last]
    if len(inside) > TICKS_MAX + 1:
        # One tick of three: those that are powers of ten, where there are enough of them.
        tens = [value for value in inside if _is_integer(math.log10(value))]
        inside = tens[:: math.ceil(len(tens) / (TICKS_MAX + 1))] if len(tens) > 2 else inside[::2]
    ticks = tuple(Tick(value=value, label=label(value)) for value in inside)
    return Axis(low=first, high=last, log=True, ticks=ticks)


def over(places: Sequence[tuple[float, str]], width: float) -> Axis:
    """An axis across levels, labelled at those of them that fit into `width` pixels.

    `places` are at least two values with their labels, in rising order. It is logarithmic where
    the ratios of neighbours are more alike than their differences.
    """
    values = [value for value, _ in places]
    log = values[0] > 0 and len(values) > 2 and _is_geometric(values)
    log = log or (len(values) == 2 and values[0] > 0 and values[1] >= 4 * values[0])
    if log:
        margin = (values[-1] / values[0]) ** MARGIN
        low, high = values[0] / margin, values[-1] * margin
    else:
        margin = (values[-1] - values[0]) * MARGIN
        low, high = values[0] - margin, values[-1] + margin
    bare = Axis(low=low, high=high, log=log, ticks=())
    # The ends are labelled first, then what finds room between them.
    taken: list[tuple[float, float]] = []
    ticks: list[Tick] = []
    for index in (0, len(places) - 1, *range(1, len(places) - 1)):
        value, label = places[index]
        middle, long = bare.place(value) * width / 100, len(label) * LETTER
        anchor, left = "middle", middle - long / 2
        if left < 0:
            anchor, left = "start", middle
        elif left + long > width:
            anchor, left = "end", middle - long
        if all(left > end + LETTER or left + long < begin - LETTER for begin, end in taken):
            taken.append((left, left + long))
            ticks.append(Tick(value=value, label=label, anchor=anchor))
    return replace(bare, ticks=tuple(sorted(ticks, key=lambda tick: tick.value)))


def _is_integer(value: float) -> bool:
    return abs(value - round(value)) < 1e-9


def _is_geometric(values: Sequence[float]) -> bool:
    """Whether ratios of neighbours vary less than their differences do."""
    pairs = list(pairwise(values))
    ratios = [math.log(b / a) for a, b in pairs]
    steps = [b - a for a, b in pairs]
    return max(ratios) / min(ratios) < max(steps) / min(steps)


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
