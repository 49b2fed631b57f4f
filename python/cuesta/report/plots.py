"""Charts with two axes as SVG text, from plain values: one pure function a chart.

Nothing here knows a workload, an engine or a record.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup

from cuesta.report import shapes
from cuesta.report.scales import Axis

AXIS_CHARACTERS_MAX = 36
"""Longest name of an axis; a longer one would not fit in half of a page."""
MARK_CHARACTERS_MAX = 18
"""Longest label of a mark; a longer one would not fit on a telephone's screen."""

_PLOT_TOP = 24.0
_PLOT_FOOT = 68
_LABEL_HEIGHT = 17
_LABEL_GAP = 6
_LABEL_LEFT = 55
_NAME_UP, _NAME_HEIGHT, _NAME_SHARE = 5, 14, 30
"""Pixels that the name of a point is above its middle, its height, and its per cent across."""
_LABEL_SHARE = 45
"""Per cent that a label takes at most, on a telephone's screen."""


@dataclass(frozen=True, kw_only=True)
class Axes:
    """The two axes of a plot, their names (across, up), and the plot's height in pixels."""

    across: Axis
    up: Axis
    names: tuple[str, str]
    height: float = 260

    def down(self, value: float) -> float:
        """Pixels from the top of a plot."""
        return _PLOT_TOP + self.height * (1 - self.up.place(value) / 100)


@dataclass(frozen=True, kw_only=True)
class Series:
    """Points of a `scatter` that belong together."""

    name: str
    tone: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, kw_only=True)
class Spot:
    """A point of a `cloud`, its `radius` in pixels; `text` describes it."""

    x: float
    y: float
    radius: float
    tone: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Name:
    """The name of the point at a place of a `cloud`."""

    text: str
    x: float
    y: float


@dataclass(frozen=True, kw_only=True)
class Place:
    """A point of a `Curve` with the interval around it; `text` describes it."""

    x: float
    y: float
    low: float
    high: float
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Points of `curves` that are joined; the class `ideal` is drawn without its points."""

    name: str
    tone: str
    places: tuple[Place, ...]


@dataclass(frozen=True, kw_only=True)
class Bin:
    """A bar of a `histogram`: `count` things from `low` up to `high`; `tone` colours it."""

    low: float
    high: float
    count: float
    text: str
    tone: str = ""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """A labelled line on a `histogram`: upright at `x`, or level at `y`; with both a spot on it."""

    text: str
    x: float | None = None
    y: float | None = None


@dataclass(frozen=True, kw_only=True)
class Overlay:
    """Overlay of the bars of a `histogram`: a line through points, and marks."""

    line: tuple[tuple[float, float], ...] = ()
    marks: tuple[Mark, ...] = ()


def scatter(frame: shapes.Frame, series: Sequence[Series], axes: Axes) -> Markup:
    """Points, not joined: between two whole degrees there is nothing to interpolate."""
    parts = [_plot_frame(axes)]
    for group in series:
        for x, y in group.points:
            parts.append(
                shapes.tag(
                    "circle",
                    cx=shapes.percent(axes.across.place(x)),
                    cy=shapes.number(axes.down(y)),
                    r=3.2,
                    class_=f"point {group.tone}",
                )
            )
    return shapes.chart(frame, axes.height + _PLOT_FOOT, parts, "plot")


def cloud(frame: shapes.Frame, spots: Sequence[Spot], names: Sequence[Name], axes: Axes) -> Markup:
    """Points of different sizes, and names of some of them where there is room."""
    # Names below the points, so that none hides a point.
    parts = [_plot_frame(axes), _where_free(names, axes)]
    for spot in spots:
        x, y = axes.across.place(spot.x), axes.down(spot.y)
        place = {"cx": shapes.percent(x), "cy": shapes.number(y), "r": shapes.number(spot.radius)}
        parts.append(
            shapes.group(spot.text, shapes.tag("circle", **place, class_=f"point {spot.tone}"))
        )
    return shapes.chart(frame, axes.height + _PLOT_FOOT, parts, "plot")


def _where_free(names: Sequence[Name], axes: Axes) -> Markup:
    """Names next to their places, without those that would overlap an earlier one."""
    taken: list[tuple[float, float]] = []
    labels = []
    for name in names:
        x, y = axes.across.place(name.x), axes.down(name.y) - _NAME_UP
        near = (
            abs(y - other_y) < _NAME_HEIGHT
            and abs(_label_begin(x) - _label_begin(other_x)) < _NAME_SHARE
            for other_x, other_y in taken
        )
        if not any(near):
            taken.append((x, y))
            labels.append(_label(name.text, x, y))
    return Markup("").join(labels)


def curves(frame: shapes.Frame, lines: Sequence[Curve], axes: Axes) -> Markup:
    """Lines through points, each with its interval."""
    parts = [_plot_frame(axes)]
    for curve in lines:
        spots = [(axes.across.place(place.x), axes.down(place.y)) for place in curve.places]
        for (x1, y1), (x2, y2) in pairwise(spots):
            parts.append(shapes.line(x1, y1, x2, y2, f"curve {curve.tone}"))
        if curve.tone == "ideal":
            continue
        for place, (x, y) in zip(curve.places, spots, strict=True):
            low, high = axes.down(place.low), axes.down(place.high)
            whisker = shapes.line(x, low, x, high, "whisker")
            caps = shapes.cap(x, low) + shapes.cap(x, high) if low - high > 3 else Markup()
            text = place.text or f"{curve.name}: {place.x:g}, {place.y:.4g}"
            spot = shapes.marker(curve.tone, x, y)
            parts.append(shapes.group(text, whisker, caps, spot))
    return shapes.chart(frame, axes.height + _PLOT_FOOT, parts, "plot")


def histogram(
    frame: shapes.Frame, bins: Sequence[Bin], axes: Axes, over: Overlay | None = None
) -> Markup:
    """Counts in neighbouring bins, as upright bars that touch, cut where they leave the plot."""
    parts = [_plot_frame(axes)]
    bottom = axes.down(axes.up.low)
    for item in bins:
        if item.count <= 0:
            continue
        top = axes.down(item.count)
        rect = shapes.tag(
            "rect",
            **shapes.span(axes.across.place(item.low), axes.across.place(item.high)),
            y=shapes.number(min(top, bottom - 1.5)),
            height=shapes.number(max(bottom - top, 1.5)),
            class_=f"bin {item.tone}".strip(),
        )
        parts.append(shapes.group(item.text, rect))
    if over is not None:
        parts += [_through(over.line, axes), _marks(over.marks, axes)]
    return shapes.chart(frame, axes.height + _PLOT_FOOT, parts, "plot")


def _through(points: Sequence[tuple[float, float]], axes: Axes) -> Markup:
    """A line through points, on a ground that sets it off from the bars."""
    spots = [(axes.across.place(x), axes.down(y)) for x, y in points]
    pieces = [
        shapes.line(x1, y1, x2, y2, tone)
        for tone in ("halo", "curve fit")
        for (x1, y1), (x2, y2) in pairwise(spots)
    ]
    return Markup("").join(pieces)


def _marks(marks: Sequence[Mark], axes: Axes) -> Markup:
    """Lines of all marks, their spots, then labels, each next to its line and none on another."""
    lines: list[Markup] = []
    spots: list[Markup] = []
    labels: list[Markup] = []
    taken: list[tuple[float, float]] = []
    bottom = axes.down(axes.up.low)
    for mark in marks:
        x = None if mark.x is None else axes.across.place(mark.x)
        y = None if mark.y is None else axes.down(mark.y)
        if x is not None:
            end, label, step = (x, _PLOT_TOP, x, bottom), (x, _PLOT_TOP + 12), 1
        elif y is not None:
            end, label, step = (0.0, y, 100.0, y), (100.0, y - _LABEL_GAP), -1
        else:
            continue
        lines += [shapes.line(*end, tone) for tone in ("halo", "mark")]
        if x is not None and y is not None:
            spot = {"cx": shapes.percent(x), "cy": shapes.number(y), "class_": "spot"}
            spots.append(shapes.tag("circle", r=4.5, **spot))
        labels.append(_label(mark.text, *_free(label, taken, step)))
    return Markup("").join((*lines, *spots, *labels))


def _free(
    place: tuple[float, float], taken: list[tuple[float, float]], step: int
) -> tuple[float, float]:
    """The nearest height at which a label touches no other one; it is taken from then on."""
    x, height = place
    begin = _label_begin(x)
    while any(
        abs(height - other_height) < _LABEL_HEIGHT
        and abs(begin - _label_begin(other)) < _LABEL_SHARE
        for other, other_height in taken
    ):
        height += step
    taken.append((x, height))
    return x, height


def _label_begin(x: float) -> float:
    """Per cent at which a label begins: on that side of its line where there is more room."""
    return x if x < _LABEL_LEFT else x - _LABEL_SHARE


def _label(words: str, x: float, height: float) -> Markup:
    """A label next to an upright line at `x`, or at the end of a level one."""
    gap = 0 if x >= 100 else _LABEL_GAP if x < _LABEL_LEFT else -_LABEL_GAP
    return shapes.tag(
        "text",
        shapes.shortened(words, MARK_CHARACTERS_MAX),
        x=shapes.percent(x),
        dx=gap,
        y=shapes.number(height),
        class_="mark-name",
        text_anchor="start" if x < _LABEL_LEFT else "end",
    )


def _plot_frame(axes: Axes) -> Markup:
    """Horizontal grid, tick labels on both axes and the axes' names, all of them level."""
    across, up, names = axes.across, axes.up, axes.names
    parts = [shapes.text("0%", 12, shapes.shortened(names[1], AXIS_CHARACTERS_MAX), "name")]
    bottom = axes.down(up.low)
    for tick in up.ticks:
        y = axes.down(tick.value)
        parts.append(shapes.line(0, y, 100, y, "grid"))
        parts.append(shapes.tag("text", tick.label, x=-8, y=shapes.number(y + 4), class_="tick",
                          text_anchor="end"))  # fmt: skip
    for tick in across.ticks:
        place = across.place(tick.value)
        parts.append(shapes.line(place, bottom, place, bottom + 5, "base"))
        parts.append(shapes.tick_across(place, bottom + 19, tick.label, tick.anchor))
    parts.append(shapes.line(0, bottom, 100, bottom, "base"))
    name = shapes.shortened(names[0], AXIS_CHARACTERS_MAX)
    parts.append(shapes.text("100%", bottom + 38, name, "name", "end"))
    return Markup("").join(parts)
