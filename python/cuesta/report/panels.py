"""Previews that are several small pictures side by side: points with two axes, and graphs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from cuesta import numerals as n
from cuesta.report import drawings, plots, scales, shapes
from cuesta.report.blocks import Block, Figure, Key, Panels
from cuesta.report.records import Fields, number, objects, text

PANELS_MAX = 6
POINTS_MAX = 1000
LINES_MAX = 200
NAMES_MAX = 8
"""Most elements of a panel that are drawn."""

TONES = ("s1", "s2", "s3")

HIGH, HIGH_MAX = 750, 2100
"""Height of a drawing without one of its own, and the largest height."""

RADIUS = 3.2
RADIUS_A_TENFOLD = 1.7
"""Pixels of a point, and its growth for ten times as many things."""

DEEP_RATIO, THIN_RATIO = 1.6, 0.6
"""Ratio from which a line is coloured as deeper than most, and below which as thinner."""

_DEPTH_TONES = {"p2": "1.6 times as deep as most, or more", "p1": "as deep as most",
                "p0": "less than 0.6 times as deep"}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class _Point:
    """A point of a panel: its place, how many things are there, and their group."""

    x: float
    y: float
    count: int
    group: int


def scatter(identifier: str, view: Fields) -> Block | None:
    """Panels of points with one axis up."""
    raw = view.get("groups")
    groups = [str(name) for name in raw][: len(TONES)] if isinstance(raw, list) else []
    panels = [(panel, list(_points(panel, len(groups)))) for panel in objects(view.get("panels"))]
    panels = [panel for panel in panels[:PANELS_MAX] if panel[1]]
    if not panels:
        return None
    depths = [point.y for _, points in panels for point in points]
    up = scales.geometric(min(depths), max(depths), n.terse)
    met = sorted({point.group for _, points in panels for point in points})
    keys = tuple(Key(tone=f"dot {TONES[group]}", text=groups[group]) for group in met)
    items = tuple(
        _cloud(f"{identifier}-{at}", view, panel, points, up)
        for at, (panel, points) in enumerate(panels)
    )
    return Panels(
        items=items,
        keys=keys if len(keys) > 1 else (),
        heading=text(view.get("title")),
        caption=text(view.get("note")),
        columns=2,
    )


def graph(identifier: str, view: Fields) -> Block | None:
    """Panels of lines that meet."""
    usual = number(view.get("depth")) or 0.0
    title = text(view.get("title"))
    panels = [(panel, list(_strands(panel, usual))) for panel in objects(view.get("panels"))]
    panels = [panel for panel in panels[:PANELS_MAX] if panel[1]]
    if not panels:
        return None
    items = []
    for at, (panel, strands) in enumerate(panels):
        name = text(panel.get("title"))
        high = min(max(int(number(panel.get("high")) or HIGH), 1), HIGH_MAX)
        frame = shapes.Frame(
            identifier=f"{identifier}-{at}", title=f"{title}: {name}", description=f"{name}."
        )
        items.append(Figure(svg=drawings.strands(frame, strands, high), heading=name))
    met = {strand.tone for _, strands in panels for strand in strands}
    keys = tuple(Key(tone=tone, text=words) for tone, words in _DEPTH_TONES.items() if tone in met)
    return Panels(
        items=tuple(items),
        keys=keys if len(keys) > 1 else (),
        heading=title,
        caption=text(view.get("note")),
        columns=min(max(len(items), 2), 3),
    )


def _cloud(
    identifier: str, view: Fields, panel: Fields, points: Sequence[_Point], up: scales.Axis
) -> Figure:
    xs = [point.x for point in points]
    low, high = min(xs), max(xs)
    log = panel.get("log") is True and low > 0
    across = scales.logarithmic(low, high, n.terse) if log else scales.linear(high, n.terse, low)
    names = text(panel.get("x")) or "value", text(view.get("y")) or "count"
    axes = plots.Axes(across=across, up=up, names=names, height=220)
    spots = [
        plots.Spot(
            x=point.x,
            y=point.y,
            radius=RADIUS + RADIUS_A_TENFOLD * math.log10(point.count),
            tone=TONES[point.group],
            text=_words(point, names),
        )
        for point in sorted(points, key=lambda point: (point.group, -point.count))
    ]
    title = text(panel.get("title"))
    ys = [point.y for point in points]
    frame = shapes.Frame(
        identifier=identifier,
        title=f"{text(view.get('title'))} {title}",
        description=(
            f"{names[0]} from {n.terse(low)} to {n.terse(high)} across, {names[1]} from "
            f"{n.terse(min(ys))} to {n.terse(max(ys))} up, logarithmic."
        ),
    )
    return Figure(svg=plots.cloud(frame, spots, tuple(_names(panel)), axes), heading=title)


def _words(point: _Point, names: tuple[str, str]) -> str:
    place = f"{names[0]} {n.significant(point.x)}, {names[1]} {n.significant(point.y)}"
    return place if point.count == 1 else f"{n.count(point.count)} together: {place}"


def _points(panel: Fields, groups: int) -> Iterator[_Point]:
    raw = panel.get("points")
    for entry in (raw if isinstance(raw, list) else [])[:POINTS_MAX]:
        numbers = [number(value) for value in entry] if isinstance(entry, list) else []
        values = [value for value in numbers if value is not None]
        if len(values) == len(numbers) == 4 and values[1] > 0 and values[2] >= 1:
            x, y, count, group = values
            if group in range(groups):
                yield _Point(x=x, y=y, count=int(count), group=int(group))


def _names(panel: Fields) -> Iterator[plots.Name]:
    raw = panel.get("names")
    for entry in (raw if isinstance(raw, list) else [])[:NAMES_MAX]:
        if isinstance(entry, list) and len(entry) == 3:
            x, y = number(entry[1]), number(entry[2])
            if x is not None and y is not None and y > 0:
                yield plots.Name(text=text(entry[0]), x=x, y=y)


def _strands(panel: Mapping[str, object], usual: float) -> Iterator[drawings.Strand]:
    """Lines as the preview has them: name, bases, depth, radius of a ring or 0, places."""
    raw = panel.get("lines")
    for entry in (raw if isinstance(raw, list) else [])[:LINES_MAX]:
        if not isinstance(entry, list) or len(entry) != 5 or not isinstance(entry[4], list):
            continue
        bases, depth, radius = (number(value) for value in entry[1:4])
        flat = [value for value in map(number, entry[4]) if value is not None]
        if bases is None or depth is None or radius is None or len(flat) != (2 if radius else 6):
            continue
        ratio = depth / usual if usual else 1.0
        yield drawings.Strand(
            points=tuple(zip(flat[::2], flat[1::2], strict=True)),
            radius=radius,
            ratio=ratio,
            tone="p2" if ratio >= DEEP_RATIO else "p0" if ratio < THIN_RATIO else "p1",
            text=f"{text(entry[0])}: {n.count(int(bases))} bases, depth {n.significant(depth)}",
        )
