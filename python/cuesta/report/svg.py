"""Charts as SVG text, from plain values: one pure function a chart.

Places across are percentages and places down are pixels, so a chart is as wide as its column while
its letters keep their size. Nothing here knows a workload, an engine or a record. Every text is
escaped. Colours are classes that the style sheet fills, for light and for dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markupsafe import Markup, escape

from cuesta.report.scales import Axis

LABEL_CHARACTERS_MAX = 26
"""A longer label is cut in its middle; the whole of it is in the tooltip."""

DETAIL_CHARACTERS_MAX = 52
"""A second line has the width of a telephone's screen to itself."""

_ROW = 46
_BAR = 14
_AXIS = 30
_PLOT_HEIGHT = 260
_PLOT_FOOT = 68


@dataclass(frozen=True, kw_only=True)
class Frame:
    """What a chart is called: `identifier` is unique in the page, `description` is read aloud."""

    identifier: str
    title: str
    description: str


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


@dataclass(frozen=True, kw_only=True)
class Series:
    """Points of a `scatter` that belong together."""

    name: str
    tone: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, kw_only=True)
class Place:
    """A point of a `Curve` with the interval around it."""

    x: float
    y: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True)
class Curve:
    """Points of `curves` that are joined; the class `ideal` is drawn without its points."""

    name: str
    tone: str
    places: tuple[Place, ...]


@dataclass(frozen=True, kw_only=True)
class Bin:
    """A bar of a `histogram`: `count` things from `low` up to `high`."""

    low: float
    high: float
    count: float
    text: str


def bars(frame: Frame, rows: Sequence[Bar], axis: Axis, unit: str) -> Markup:
    """Horizontal bars from zero; on a logarithmic axis, which has no zero, stems with a head."""
    height = len(rows) * _ROW + _AXIS
    parts = [_grid(axis, 20, len(rows) * _ROW), _axis(axis, len(rows) * _ROW, unit)]
    for index, row in enumerate(rows):
        parts.append(_bar_row(row, axis, index * _ROW))
    return _chart(frame, height, parts, "bars")


def stacked(frame: Frame, rows: Sequence[Stack], axis: Axis, unit: str) -> Markup:
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
            rect = _tag(
                "rect",
                **_span(left, right),
                y=top + 20,
                height=_BAR,
                class_=f"part {segment.tone}",
            )
            parts.append(_group(f"{row.label}, {segment.name}: {segment.text}", rect))
    return _chart(frame, height, parts, "stacked")


def bullets(frame: Frame, rows: Sequence[Bullet]) -> Markup:
    """Shares of a ceiling: a track that ends at the ceiling, a bar, and half way marked."""
    row_height = 64
    parts: list[Markup] = []
    full = max([1.0, *(row.share for row in rows)])
    for index, row in enumerate(rows):
        top = index * row_height
        ceiling = 100 / full
        bar_top = top + 39
        drawing = (
            _tag("rect", x="0%", width=_percent(ceiling), y=bar_top, height=12, class_="track"),
            _tag("rect", **_span(0, 100 * row.share / full), y=bar_top + 2, height=8,
                 class_=f"bar {row.tone}"),
            _line(ceiling / 2, bar_top, ceiling / 2, bar_top + 12, "half"),
            _line(ceiling, bar_top - 4, ceiling, bar_top + 16, "ceiling"),
        )  # fmt: skip
        parts.append(_labels(row.label, row.text, top))
        parts.append(_text("0%", top + 31, row.detail[:DETAIL_CHARACTERS_MAX], "detail"))
        parts.append(_group(f"{row.label}: {row.text}, {row.detail}", *drawing))
    return _chart(frame, len(rows) * row_height, parts, "bullets")


def scatter(
    frame: Frame, series: Sequence[Series], across: Axis, up: Axis, names: tuple[str, str]
) -> Markup:
    """Points, not joined: between two whole degrees there is nothing to interpolate."""
    parts = [_plot_frame(across, up, names)]
    for group in series:
        for x, y in group.points:
            parts.append(
                _tag(
                    "circle",
                    cx=_percent(across.place(x)),
                    cy=_number(_down(up, y)),
                    r=3.2,
                    class_=f"point {group.tone}",
                )
            )
    return _chart(frame, _PLOT_HEIGHT + _PLOT_FOOT, parts, "plot")


def curves(
    frame: Frame, lines: Sequence[Curve], across: Axis, up: Axis, names: tuple[str, str]
) -> Markup:
    """Lines through points, each with its interval."""
    parts = [_plot_frame(across, up, names)]
    for curve in lines:
        spots = [(across.place(one.x), _down(up, one.y)) for one in curve.places]
        for (x1, y1), (x2, y2) in pairwise(spots):
            parts.append(_line(x1, y1, x2, y2, f"curve {curve.tone}"))
        if curve.tone == "ideal":
            continue
        for one, (x, y) in zip(curve.places, spots, strict=True):
            whisker = _line(x, _down(up, one.low), x, _down(up, one.high), "whisker")
            dot = _tag("circle", cx=_percent(x), cy=_number(y), r=4, class_=f"dot {curve.tone}")
            parts.append(_group(f"{curve.name}: {one.x:g}, {one.y:.4g}", whisker, dot))
    return _chart(frame, _PLOT_HEIGHT + _PLOT_FOOT, parts, "plot")


def histogram(
    frame: Frame, bins: Sequence[Bin], across: Axis, up: Axis, names: tuple[str, str]
) -> Markup:
    """Counts in neighbouring bins, as upright bars that touch."""
    parts = [_plot_frame(across, up, names)]
    bottom = _down(up, up.low)
    for item in bins:
        if item.count <= 0:
            continue
        top = _down(up, item.count)
        rect = _tag(
            "rect",
            **_span(across.place(item.low), across.place(item.high)),
            y=_number(min(top, bottom - 1.5)),
            height=_number(max(bottom - top, 1.5)),
            class_="bin",
        )
        parts.append(_group(item.text, rect))
    return _chart(frame, _PLOT_HEIGHT + _PLOT_FOOT, parts, "plot")


def _bar_row(row: Bar, axis: Axis, top: int) -> Markup:
    """Labels above, the bar below them, then interval and samples on the bar's middle line."""
    middle = top + 20 + _BAR / 2
    end = axis.place(row.value)
    shapes: list[Markup] = []
    if axis.log:
        shapes.append(_line(0, middle, end, middle, f"stem {row.tone}"))
        shapes.append(
            _tag("circle", cx=_percent(end), cy=_number(middle), r=6, class_=f"bar {row.tone}")
        )
    else:
        shapes.append(
            _tag("rect", **_span(0, end), y=top + 20, height=_BAR, class_=f"bar {row.tone}")
        )
    if row.low is not None and row.high is not None:
        left, right = axis.place(row.low), axis.place(row.high)
        shapes.append(_line(left, middle, right, middle, "whisker"))
        for place in (left, right):
            shapes.append(_line(place, middle - 5, place, middle + 5, "whisker"))
    for sample in row.samples:
        place = axis.place(sample)
        shapes.append(_line(place, top + 22 + _BAR, place, top + 27 + _BAR, "sample"))
    return _labels(row.label, row.text, top) + _group(f"{row.label}: {row.text}", *shapes)


def _labels(label: str, text: str, top: int) -> Markup:
    """Name on the left and value on the right of a row."""
    return _text("0%", top + 14, _shortened(label), "label") + _text(
        "100%", top + 14, text, "value", "end"
    )


def _shortened(label: str) -> str:
    """`label` with its middle cut out when it is too long to fit beside a value."""
    if len(label) <= LABEL_CHARACTERS_MAX:
        return label
    half = (LABEL_CHARACTERS_MAX - 1) // 2
    return f"{label[:half]}…{label[-half:]}"


def _grid(axis: Axis, top: float, bottom: float) -> Markup:
    lines = [
        _line(axis.place(tick.value), top, axis.place(tick.value), bottom, "grid")
        for tick in axis.ticks
    ]
    return Markup("").join(lines)


def _axis(axis: Axis, top: float, unit: str) -> Markup:
    """Tick labels under the rows; the unit follows the last number."""
    parts: list[Markup] = []
    for index, tick in enumerate(axis.ticks):
        last = index == len(axis.ticks) - 1
        label = f"{tick.label} {unit}".strip() if last else tick.label
        parts.append(_tick_across(axis.place(tick.value), top + 18, label))
    return Markup("").join(parts)


def _tick_across(place: float, y: float, label: str) -> Markup:
    anchor = "start" if place < 3 else "end" if place > 94 else "middle"
    return _text(_percent(place), y, label, "tick", anchor)


def _plot_frame(across: Axis, up: Axis, names: tuple[str, str]) -> Markup:
    """Horizontal grid, tick labels on both axes and the axes' names, all of them level."""
    parts = [_text("0%", 12, _shortened(names[1]), "name")]
    bottom = _down(up, up.low)
    for tick in up.ticks:
        y = _down(up, tick.value)
        parts.append(_line(0, y, 100, y, "grid"))
        parts.append(_tag("text", tick.label, x=-8, y=_number(y + 4), class_="tick",
                          text_anchor="end"))  # fmt: skip
    for tick in across.ticks:
        place = across.place(tick.value)
        parts.append(_line(place, bottom, place, bottom + 5, "base"))
        parts.append(_tick_across(place, bottom + 19, tick.label))
    parts.append(_line(0, bottom, 100, bottom, "base"))
    parts.append(_text("100%", bottom + 38, _shortened(names[0]), "name", "end"))
    return Markup("").join(parts)


def _down(up: Axis, value: float) -> float:
    """Pixels from the top of a plot."""
    return 24 + _PLOT_HEIGHT * (1 - up.place(value) / 100)


def _chart(frame: Frame, height: float, parts: Iterable[Markup], kind: str) -> Markup:
    title_id, description_id = f"{frame.identifier}-title", f"{frame.identifier}-desc"
    head = _tag("title", frame.title, id=title_id) + _tag(
        "desc", frame.description, id=description_id
    )
    return _tag(
        "svg",
        head + Markup("").join(parts),
        class_=f"chart {kind}",
        role="img",
        aria_labelledby=f"{title_id} {description_id}",
        width="100%",
        height=_number(height),
    )


def _group(tooltip: str, *shapes: Markup) -> Markup:
    return _tag("g", _tag("title", tooltip) + Markup("").join(shapes))


def _line(x1: float, y1: float, x2: float, y2: float, tone: str) -> Markup:
    return _tag(
        "line",
        x1=_percent(x1),
        y1=_number(y1),
        x2=_percent(x2),
        y2=_number(y2),
        class_=tone,
    )


def _text(x: str, y: float, text: str, tone: str, anchor: str = "start") -> Markup:
    return _tag("text", text, x=x, y=_number(y), class_=tone, text_anchor=anchor)


def _span(left: float, right: float) -> dict[str, str]:
    """`x` and `width` of a rectangle, never thinner than can be seen."""
    width = max(right - left, 0.25)
    return {"x": _percent(min(left, 100 - width)), "width": _percent(width)}


def _percent(value: float) -> str:
    return f"{_number(value)}%"


def _number(value: float) -> str:
    """At most three decimals and no trailing zeros; the same text on every machine."""
    text = f"{value:.3f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _tag(name: str, content: str = "", **attributes: object) -> Markup:
    """An element; plain `content` is escaped, `Markup` is not."""
    words = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
    )
    return Markup(f"<{name}{words}>{escape(content)}</{name}>")
