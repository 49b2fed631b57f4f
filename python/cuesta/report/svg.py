"""Charts of rows as SVG text, from plain values: one pure function a chart.

Nothing here knows a workload, an engine or a record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from cuesta.report import shapes
from cuesta.report.scales import Axis

DETAIL_CHARACTERS_MAX = 52
"""A second line has the width of a telephone's screen to itself."""

_ROW = 46
_BAR = 14
_AXIS = 30


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A row of `bars`: a value, the interval around it, the raw samples, and how it is written."""

    label: str
    text: str
    value: float
    low: float | None = None
    high: float | None = None
    samples: tuple[float, ...] = ()
    tone: str = "other"


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A part of a stacked row; `tone` is the class that colours it."""

    name: str
    text: str
    value: float
    tone: str


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A row of `stacked`: its parts from left to right."""

    label: str
    text: str
    segments: tuple[Segment, ...]


@dataclass(frozen=True, kw_only=True)
class Bullet:
    """A row of `bullets`: the share of a ceiling, 1 at the ceiling, with a second line of words."""

    label: str
    text: str
    detail: str
    share: float
    tone: str = "other"


def bars(frame: shapes.Frame, rows: Sequence[Bar], axis: Axis, unit: str) -> Markup:
    """Horizontal bars from zero; on a logarithmic axis, which has no zero, stems with a head."""
    height = len(rows) * _ROW + _AXIS
    parts = [_grid(axis, 20, len(rows) * _ROW), _axis(axis, len(rows) * _ROW, unit)]
    for index, row in enumerate(rows):
        parts.append(_bar_row(row, axis, index * _ROW))
    return shapes.chart(frame, height, parts, "bars")


def stacked(frame: shapes.Frame, rows: Sequence[Stack], axis: Axis, unit: str) -> Markup:
    """Horizontal bars made of parts; the axis must be linear, or the parts would not add up."""
    if axis.log:
        raise ValueError("parts cannot be stacked on a logarithmic axis")
    height = len(rows) * _ROW + _AXIS
    parts = [_grid(axis, 20, len(rows) * _ROW), _axis(axis, len(rows) * _ROW, unit)]
    for index, row in enumerate(rows):
        top, start = index * _ROW, 0.0
        parts.append(_labels(row.label, row.text, top))
        for segment in row.segments:
            left, right = axis.place(start), axis.place(start + segment.value)
            start += segment.value
            rect = shapes.tag(
                "rect",
                **shapes.span(left, right),
                y=top + 20,
                height=_BAR,
                class_=f"part {segment.tone}",
            )
            parts.append(shapes.group(f"{row.label}, {segment.name}: {segment.text}", rect))
    return shapes.chart(frame, height, parts, "stacked")


def bullets(frame: shapes.Frame, rows: Sequence[Bullet]) -> Markup:
    """Shares of a ceiling: a track that ends at the ceiling, a bar, and half way marked."""
    row_height = 64
    parts: list[Markup] = []
    full = max([1.0, *(row.share for row in rows)])
    for index, row in enumerate(rows):
        top = index * row_height
        ceiling = 100 / full
        bar_top = top + 39
        wide, size = shapes.percent(ceiling), shapes.span(0, 100 * row.share / full)
        drawing = (
            shapes.tag("rect", x="0%", width=wide, y=bar_top, height=12, class_="track"),
            shapes.tag("rect", **size, y=bar_top + 2, height=8, class_=f"bar {row.tone}"),
            shapes.line(ceiling / 2, bar_top, ceiling / 2, bar_top + 12, "half"),
            shapes.line(ceiling, bar_top - 4, ceiling, bar_top + 16, "ceiling"),
        )
        parts.append(_labels(row.label, row.text, top))
        parts.append(shapes.text("0%", top + 31, row.detail[:DETAIL_CHARACTERS_MAX], "detail"))
        parts.append(shapes.group(f"{row.label}: {row.text}, {row.detail}", *drawing))
    return shapes.chart(frame, len(rows) * row_height, parts, "bullets")


def _bar_row(row: Bar, axis: Axis, top: int) -> Markup:
    """Labels above, the bar below them, then interval and samples on the bar's middle line."""
    middle = top + 20 + _BAR / 2
    end = axis.place(row.value)
    drawn: list[Markup] = []
    if axis.log:
        drawn.append(shapes.line(0, middle, end, middle, f"stem {row.tone}"))
        drawn.append(
            shapes.tag(
                "circle",
                cx=shapes.percent(end),
                cy=shapes.number(middle),
                r=6,
                class_=f"bar {row.tone}",
            )
        )
    else:
        drawn.append(
            shapes.tag(
                "rect", **shapes.span(0, end), y=top + 20, height=_BAR, class_=f"bar {row.tone}"
            )
        )
    if row.low is not None and row.high is not None:
        left, right = axis.place(row.low), axis.place(row.high)
        drawn.append(shapes.line(left, middle, right, middle, "whisker"))
        for place in (left, right):
            drawn.append(shapes.line(place, middle - 5, place, middle + 5, "whisker"))
    for sample in row.samples:
        place = axis.place(sample)
        drawn.append(shapes.line(place, top + 22 + _BAR, place, top + 27 + _BAR, "sample"))
    return _labels(row.label, row.text, top) + shapes.group(f"{row.label}: {row.text}", *drawn)


def _labels(label: str, text: str, top: int) -> Markup:
    """Name on the left and value on the right of a row."""
    return shapes.text("0%", top + 14, shapes.shortened(label), "label") + shapes.text(
        "100%", top + 14, text, "value", "end"
    )


def _grid(axis: Axis, top: float, bottom: float) -> Markup:
    lines = [
        shapes.line(axis.place(tick.value), top, axis.place(tick.value), bottom, "grid")
        for tick in axis.ticks
    ]
    return Markup("").join(lines)


def _axis(axis: Axis, top: float, unit: str) -> Markup:
    """Tick labels under the rows; the unit follows the last number."""
    parts: list[Markup] = []
    for index, tick in enumerate(axis.ticks):
        last = index == len(axis.ticks) - 1
        label = f"{tick.label} {unit}".strip() if last else tick.label
        parts.append(shapes.tick_across(axis.place(tick.value), top + 18, label))
    return Markup("").join(parts)
