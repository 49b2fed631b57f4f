"""Strips over one axis of time as SVG text, with bands below them: one pure function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from cuesta.report import shapes
from cuesta.report.scales import Axis

_STRIP = 84
_TITLE = 22
_LANE = 19
_BAND = 12
_AXIS = 40
_WIDE = 1000
"""Units across a strip's drawing, which is stretched to the chart's width."""
_NAME_CHARACTERS = 24
_LETTER_SHARE = 2.7
"""Per cent of a narrow chart's width that a letter takes."""


@dataclass(frozen=True, kw_only=True)
class Trace:
    """A quantity over the times of a chart; `tone` colours it."""

    name: str
    tone: str
    values: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class Strip:
    """Traces with one axis up; `stacked` ones lie on each other as areas, others are lines."""

    title: str
    traces: tuple[Trace, ...]
    up: Axis
    stacked: bool = False


@dataclass(frozen=True, kw_only=True)
class Band:
    """A stretch of time; `text` describes it."""

    name: str
    begin: float
    end: float
    text: str
    tone: str = "p0"


@dataclass(frozen=True, kw_only=True)
class Lanes:
    """Rows of bands under a title; bands of a lane do not overlap; `named` ones show names."""

    title: str
    lanes: tuple[tuple[Band, ...], ...]
    named: bool = True


def lanes_of(bands: Sequence[Band], most: int) -> tuple[tuple[Band, ...], ...]:
    """Bands in as few lanes as hold them; what finds no place in `most` lanes is left out."""
    lanes: list[list[Band]] = []
    for band in sorted(bands, key=lambda band: band.begin):
        free = next((lane for lane in lanes if lane[-1].end <= band.begin), None)
        if free is not None:
            free.append(band)
        elif len(lanes) < most:
            lanes.append([band])
    return tuple(tuple(lane) for lane in lanes)


@dataclass(frozen=True, kw_only=True)
class Clock:
    """The times of traces, with their axis and its unit."""

    times: Sequence[float]
    axis: Axis
    unit: str


def drawn(
    frame: shapes.Frame, clock: Clock, strips: Sequence[Strip], lanes: Sequence[Lanes]
) -> Markup:
    """All strips and lanes below each other."""
    axis = clock.axis
    parts: list[Markup] = []
    top = 0.0
    for strip in strips:
        parts.append(_strip(strip, clock.times, axis, top))
        top += _TITLE + _STRIP + 10
    height = top
    for group in lanes:
        parts.append(shapes.text("0%", top + 14, group.title, "name"))
        top += _TITLE
        for lane in group.lanes:
            parts += [_band(band, axis, top, named=group.named) for band in lane]
            top += _LANE
        top += 6
    for tick in axis.ticks:
        place = axis.place(tick.value)
        parts.insert(0, shapes.line(place, _TITLE, place, top, "grid"))
        parts.append(shapes.tick_across(place, top + 16, tick.label))
    parts.append(shapes.line(0, top, 100, top, "base"))
    parts.append(shapes.text("100%", top + 33, f"time, {clock.unit}", "name", "end"))
    edges = {band.begin for group in lanes[:1] for lane in group.lanes for band in lane}
    parts += [
        shapes.line(axis.place(edge), _TITLE, axis.place(edge), height, "edge")
        for edge in sorted(edges)
        if edge > axis.low
    ]
    return shapes.chart(frame, top + _AXIS, parts, "plot strips")


def _strip(strip: Strip, times: Sequence[float], axis: Axis, top: float) -> Markup:
    """Title, two ticks, and the traces in a drawing that is stretched across the chart."""
    parts = [shapes.text("0%", top + 14, shapes.shortened(strip.title, 40), "name")]
    begin = top + _TITLE
    ends = [strip.up.ticks[0], strip.up.ticks[-1]] if strip.up.ticks else []
    for tick in ends:
        y = begin + _STRIP * (1 - strip.up.place(tick.value) / 100)
        parts.append(shapes.line(0, y, 100, y, "grid"))
        parts.append(shapes.tag("text", tick.label, x=-8, y=shapes.number(y + 4), class_="tick",
                                text_anchor="end"))  # fmt: skip
    below = [0.0] * len(times)
    paths: list[Markup] = []
    for trace in strip.traces:
        values = trace.values
        if strip.stacked:
            values = tuple(low + high for low, high in zip(below, values, strict=True))
            path = _area(times, below, values, axis, strip.up)
            below = list(values)
        else:
            path = _line(times, values, axis, strip.up)
        kind = "area" if strip.stacked else "trace"
        drawing = shapes.tag("path", d=path, class_=f"{kind} {trace.tone}")
        paths.append(shapes.group(f"{strip.title}: {trace.name}", drawing))
    parts.append(
        shapes.tag("svg", Markup("").join(paths), x=0, y=shapes.number(begin), width="100%",
                   height=_STRIP, viewBox=f"0 0 {_WIDE} {_STRIP}", preserveAspectRatio="none")
    )  # fmt: skip
    return Markup("").join(parts)


def _area(
    times: Sequence[float],
    below: Sequence[float],
    above: Sequence[float],
    axis: Axis,
    up: Axis,
) -> str:
    """The outline between two lines of steps."""
    forward = _steps(times, above, axis, up)
    back = _steps(times, below, axis, up)[::-1]
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in (*forward, *back)) + "Z"


def _line(times: Sequence[float], values: Sequence[float], axis: Axis, up: Axis) -> str:
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in _steps(times, values, axis, up))


def _steps(
    times: Sequence[float], values: Sequence[float], axis: Axis, up: Axis
) -> list[tuple[float, float]]:
    """Corners of a line of steps: a value holds from the time before to its own."""
    corners = []
    for (begin, end), value in zip(pairwise((axis.low, *times)), values, strict=True):
        y = _STRIP * (1 - up.place(value) / 100)
        corners += [(_WIDE * axis.place(time) / 100, y) for time in (begin, end)]
    return corners


def _band(band: Band, axis: Axis, top: float, *, named: bool) -> Markup:
    left, right = axis.place(band.begin), axis.place(band.end)
    rect = shapes.tag(
        "rect", **shapes.span(left, right), y=shapes.number(top), height=_BAND,
        class_=f"band {band.tone}",
    )  # fmt: skip
    drawn = shapes.group(band.text, rect)
    if not named:
        return drawn
    # The name stands behind the bar where there is room, else where there is more of it.
    long = (min(len(band.name), _NAME_CHARACTERS) + 1) * _LETTER_SHARE
    behind = 98 - right
    after = behind >= long or behind >= left
    place, anchor, gap = (right, "start", 5) if after else (left, "end", -5)
    letters = int((behind if after else left) / _LETTER_SHARE) - 1
    name = shapes.shortened(band.name, max(3, min(letters, _NAME_CHARACTERS)))
    words = shapes.tag(
        "text",
        name,
        x=shapes.percent(place),
        dx=gap,
        y=shapes.number(top + 10),
        class_="band-name",
        text_anchor=anchor,
    )
    return drawn + words
