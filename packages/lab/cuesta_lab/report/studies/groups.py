"""Groups of thin bars as SVG text, for panels that may be narrow: one pure function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from cuesta.report import shapes
from cuesta.report.scales import Axis

_LABEL = 20
_ROW = 21
_BAR = 13
_GAP = 9
_AXIS = 26
_SHARE = 0.72
"""Part of the width that bars may take: their values stand next to them."""


@dataclass(frozen=True, kw_only=True)
class ThinBar:
    """A value with its interval and samples; `text` describes all, `value_text` the value."""

    text: str
    value_text: str
    value: float
    low: float
    high: float
    tone: str
    samples: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class BarGroup:
    """Bars under a label."""

    label: str
    bars: tuple[ThinBar, ...]


def grouped(frame: shapes.Frame, rows: Sequence[BarGroup], axis: Axis, unit: str) -> Markup:
    """Horizontal bars from zero; on a logarithmic axis, which has no zero, stems with a head."""
    bottom = sum(_LABEL + _ROW * len(row.bars) + _GAP for row in rows)
    parts: list[Markup] = []
    for tick in axis.ticks:
        place = _place(axis, tick.value)
        parts.append(shapes.line(place, 0, place, bottom, "grid"))
    top = 0
    for row in rows:
        parts.append(shapes.text("0%", top + 14, shapes.shortened(row.label, 38), "label"))
        top += _LABEL
        for bar in row.bars:
            parts.append(_bar(bar, axis, top))
            top += _ROW
        top += _GAP
    for index, (place, label) in enumerate(_spread(axis)):
        words = f"{label} {unit}" if index == 0 else label
        parts.append(shapes.tick_across(place, bottom + 16, words.strip()))
    return shapes.chart(frame, bottom + _AXIS, parts, "bars")


def _spread(axis: Axis) -> list[tuple[float, str]]:
    """Places and labels of ticks from the right, every second one left out where there are many."""
    ticks = [(_place(axis, tick.value), tick.label) for tick in reversed(axis.ticks)]
    return ticks if len(ticks) < 5 else ticks[::2]


def _bar(bar: ThinBar, axis: Axis, top: int) -> Markup:
    middle = top + _BAR / 2 + 2
    end = _place(axis, bar.value)
    drawn: list[Markup] = []
    if axis.log:
        drawn.append(shapes.line(0, middle, end, middle, f"stem {bar.tone}"))
        drawn.append(shapes.marker(bar.tone, end, middle))
    else:
        drawn.append(
            shapes.tag(
                "rect", **shapes.span(0, end), y=top + 2, height=_BAR, class_=f"bar {bar.tone}"
            )
        )
    if bar.high > bar.low:
        left, right = _place(axis, bar.low), _place(axis, bar.high)
        drawn.append(shapes.line(left, middle, right, middle, "whisker"))
        for place in (left, right):
            drawn.append(shapes.line(place, middle - 4, place, middle + 4, "whisker"))
    for sample in bar.samples:
        place = _place(axis, sample)
        drawn.append(shapes.line(place, top + _BAR + 3, place, top + _BAR + 6, "sample"))
    value = shapes.text("100%", middle + 4, bar.value_text, "value", "end")
    return shapes.group(bar.text, *drawn) + value


def _place(axis: Axis, value: float) -> float:
    return axis.place(value) * _SHARE
