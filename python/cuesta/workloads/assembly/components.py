"""The largest components of the graph as pictures: segments as lines between their junctions.

A junction is where ends of segments meet. Short segments of a large component are not drawn: their
ends are one junction, so that their neighbours remain connected. Distances in the picture
approximate those along the segments; the same graph always has the same picture.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cuesta import numerals as n
from cuesta.native import native_module
from cuesta.workloads.assembly.files import Files, Graph, Groups, View, name_of

COMPONENTS_MAX = 5
LINES_MAX = 90
"""Limit of the segments of a component that are drawn, the longest."""
ALONE_MAX = 14
"""Limit of the segments without a neighbour that are drawn, the longest."""

SIDE, HIGH, MARGIN = 1000, 750, 40
"""Width, largest height and margin of the frame; places are integers."""
LINE_ROW, RING_ROW = 70, 250
"""Heights of rows of contigs without a neighbour: lines, and rings."""

BEND = 0.35
LOOP = 0.9
"""Offset of lines between the same junctions, relative to their distance; and size of a loop,
relative to the length of its segment."""

Place = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class Line:
    """A segment between two junctions."""

    segment: int
    begin: int
    end: int
    length: float


def views(answer: Files) -> list[View]:
    """Show components of several segments, each in a panel, then contigs without neighbours.

    None for a single segment, unless it is a circle.
    """
    graph, least_bases = answer.graph, int(answer.stats["min_contig"])
    joined, alone = [], []
    for component in graph.components:
        first = component[0]
        # A circle is linked to itself.
        if len(component) > 1 or (graph.is_linked(first) and first not in graph.circular):
            joined.append(component)
        elif graph.lengths[first] >= least_bases:
            alone.append(first)
    if not joined and len(alone) < 2 and not graph.circular.intersection(alone):
        return []
    panels = [_panel(graph, component) for component in joined[:COMPONENTS_MAX]]
    if alone:
        panels.append(_rows(graph, alone))
    note = "Segments are the longer the more bases they have (by logarithm), the wider the deeper."
    undrawn = len(joined) - COMPONENTS_MAX
    if undrawn > 0:
        note += f" Not drawn: {undrawn:,} smaller {'component' if undrawn == 1 else 'components'}."
    return [
        {"kind": "graph", "title": "Largest components of the graph", "panels": panels,
         "depth": graph.usual_depth, "note": note}
    ]  # fmt: skip


def _panel(graph: Graph, component: Sequence[int]) -> Mapping[str, object]:
    longest = sorted(component, key=lambda segment: (-graph.lengths[segment], segment))[:LINES_MAX]
    lines, junctions = _lines(graph, component, longest)
    ends = [(line.begin, line.end, line.length) for line in lines]
    places = native_module().graph_layout(ends, junctions)
    bases = sum(graph.lengths[segment] for segment in component)
    title = f"{n.plural(len(component), 'segment')}, {bases:,} bases"
    if len(longest) < len(component):
        title += f"; the {len(longest)} longest are drawn"
    drawn, high = _drawn(graph, lines, places)
    return {"title": title, "high": high, "lines": drawn}


def _rows(graph: Graph, alone: Sequence[int]) -> Mapping[str, object]:
    """Draw contigs without a neighbour in rows: circles as rings, then others as lines."""
    shown = alone[:ALONE_MAX]
    bases = sum(graph.lengths[segment] for segment in alone)
    title = f"{n.plural(len(alone), 'contig')} without links, {bases:,} bases"
    if len(shown) < len(alone):
        title += f"; the {len(shown)} longest are drawn"
    longest = max(_length(graph, segment) for segment in shown)
    lines: list[list[object]] = []
    top = 0
    for ring, columns, height in ((True, 4, RING_ROW), (False, 2, LINE_ROW)):
        alike = [segment for segment in shown if (segment in graph.circular) is ring]
        columns = min(columns, len(alike)) or 1
        for index, segment in enumerate(alike):
            y, x = top + height * (index // columns + 0.5), SIDE * (index % columns + 0.5) / columns
            share = _length(graph, segment) / longest
            half = 0.42 * SIDE / columns * share
            places = [(x, y)] if ring else [(x - half, y), (x, y), (x + half, y)]
            radius = round(0.42 * height * share) if ring else 0
            lines.append(_record(graph, segment, places, radius))
        top += height * -(-len(alike) // columns)
    return {"title": title, "high": top, "lines": lines}


def _lines(graph: Graph, component: Sequence[int], shown: Sequence[int]) -> tuple[list[Line], int]:
    """Return drawn segments with the numbers of their junctions, and the number of junctions."""
    inside = {segment: index for index, segment in enumerate(component)}
    groups = Groups(2 * len(component))
    drawn = set(shown)
    for segment, index in inside.items():
        if segment not in drawn:
            groups.join(2 * index, 2 * index + 1)
    for end, linked in graph.links:
        if end >> 1 in inside:
            groups.join(2 * inside[end >> 1] + (end & 1), 2 * inside[linked >> 1] + (linked & 1))
    numbers: dict[int, int] = {}
    lines = []
    for segment in shown:
        index = inside[segment]
        begin, end = (
            numbers.setdefault(groups.find(2 * index + side), len(numbers)) for side in (0, 1)
        )
        lines.append(Line(segment=segment, begin=begin, end=end, length=_length(graph, segment)))
    return lines, len(numbers)


def _length(graph: Graph, segment: int) -> float:
    """Return the drawn length of a segment: 1 for 100 bases, 1 more for each factor of ten."""
    return 1 + math.log10(max(graph.lengths[segment], 100) / 100)


def _drawn(
    graph: Graph, lines: Sequence[Line], places: Sequence[Place]
) -> tuple[list[list[object]], int]:
    """Return lines as curves of three points, and their height.

    Lines between the same junctions are bent apart.
    """
    alike: dict[tuple[int, int], int] = {}
    curves = []
    for line in lines:
        ends = (min(line.begin, line.end), max(line.begin, line.end))
        number = alike[ends] = alike.get(ends, -1) + 1
        curves.append(_curve(line, places, number))
    bounds = [point for curve in curves for point in _bounds(curve)]
    flat, high = _fitted([point for curve in curves for point in curve], bounds)
    records = []
    for line in lines:
        points, flat = flat[:3], flat[3:]
        records.append(_record(graph, line.segment, points))
    return records, high


def _curve(line: Line, places: Sequence[Place], number: int) -> list[Place]:
    """Return begin, control point and end of the `number`th line between two junctions."""
    (x1, y1), (x2, y2) = places[line.begin], places[line.end]
    if line.begin == line.end:
        # Away from the middle of the picture, each loop rotated further.
        angle = math.atan2(y1, x1) + 0.9 * number
        reach = LOOP * line.length
        return [(x1, y1), (x1 + reach * math.cos(angle), y1 + reach * math.sin(angle)), (x2, y2)]
    if (line.begin, line.end) != tuple(sorted((line.begin, line.end))):
        x1, y1, x2, y2 = x2, y2, x1, y1
    aside = BEND * ((number + 1) // 2) * (1 if number % 2 else -1)
    middle = ((x1 + x2) / 2 - aside * (y2 - y1), (y1 + y2) / 2 + aside * (x2 - x1))
    return [(x1, y1), middle, (x2, y2)]


def _bounds(curve: Sequence[Place]) -> list[Place]:
    """Return points whose hull contains a curve; a loop is drawn as a drop."""
    begin, control, end = curve
    if begin != end:
        return list(curve)
    across, down = control[0] - begin[0], control[1] - begin[1]
    far = [(begin[0] + 0.75 * across + side * down, begin[1] + 0.75 * down - side * across)
           for side in (-0.2, 0.2)]  # fmt: skip
    return [begin, *far]


def _fitted(points: Sequence[Place], bounds: Sequence[Place]) -> tuple[list[Place], int]:
    """Rotate points so that `bounds` are wider than high, and scale them to a frame of `SIDE`.

    Returns the points and the height of the frame, `HIGH` at most.
    """
    x_mean = sum(x for x, _ in bounds) / len(bounds)
    y_mean = sum(y for _, y in bounds) / len(bounds)
    centred = [(x - x_mean, y - y_mean) for x, y in bounds]
    xx, yy = sum(x * x for x, _ in centred), sum(y * y for _, y in centred)
    xy = sum(x * y for x, y in centred)
    angle = math.atan2(2 * xy, xx - yy) / 2
    outline = _turned(bounds, angle)
    left, top = min(x for x, _ in outline), min(y for _, y in outline)
    wide = max(x for x, _ in outline) - left or 1e-9
    high = max(y for _, y in outline) - top or 1e-9
    scale = min((SIDE - 2 * MARGIN) / wide, (HIGH - 2 * MARGIN) / high)
    right = (SIDE - scale * wide) / 2
    fitted = [
        (right + scale * (x - left), MARGIN + scale * (y - top)) for x, y in _turned(points, angle)
    ]
    return fitted, math.ceil(scale * high + 2 * MARGIN)


def _turned(points: Sequence[Place], angle: float) -> list[Place]:
    cos, sin = math.cos(angle), math.sin(angle)
    return [(cos * x + sin * y, cos * y - sin * x) for x, y in points]


def _record(graph: Graph, segment: int, points: Sequence[Place], radius: int = 0) -> list[object]:
    """Return a line for the preview: name, bases, depth, radius of a ring or 0, places."""
    flat = [round(value) for point in points for value in point]
    depth = float(f"{graph.depths[segment]:.4g}")
    return [name_of(segment), graph.lengths[segment], depth, radius, flat]
