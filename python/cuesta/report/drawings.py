"""Drawings without axes as SVG text, from plain values: lines that meet.

They grow with their column; lines keep their width. Nothing here knows a workload or a record.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from cuesta.report import shapes

WIDE = 1000
"""Width of the frame of all places."""

STROKE = 2.6
STROKE_MIN, STROKE_MAX = 1.2, 9.0
"""Pixels of a line that is as deep as most, and of the thinnest and the widest one."""

JOINT_RADIUS = 6


@dataclass(frozen=True, kw_only=True)
class Strand:
    """A curve of begin, control point and end, or, with a `radius`, a ring around a point.

    `ratio` is its depth by that of most.
    """

    points: tuple[tuple[float, float], ...]
    radius: float
    ratio: float
    tone: str
    text: str


def strands(frame: shapes.Frame, lines: Sequence[Strand], high: int) -> Markup:
    """All lines, then a dot wherever one ends; the frame is `high`, as places are."""
    parts = [shapes.group(strand.text, _line(strand)) for strand in lines]
    ends = {
        end
        for strand in lines
        if not strand.radius
        for end in (strand.points[0], strand.points[-1])
    }
    for x, y in sorted(ends):
        place = {"cx": shapes.number(x), "cy": shapes.number(y), "class_": "joint"}
        parts.append(shapes.tag("circle", r=JOINT_RADIUS, **place))
    return shapes.drawing(frame, (WIDE, high), parts, "strands")


def _line(strand: Strand) -> Markup:
    width = min(max(STROKE * math.sqrt(max(strand.ratio, 0.0)), STROKE_MIN), STROKE_MAX)
    look = {"class_": f"strand {strand.tone}", "stroke_width": shapes.number(width)}
    if strand.radius:
        ((x, y),) = strand.points
        place = {"cx": shapes.number(x), "cy": shapes.number(y)}
        return shapes.tag("circle", **place, r=shapes.number(strand.radius), **look)
    (x1, y1), (x2, y2), (x3, y3) = ((shapes.number(x), shapes.number(y)) for x, y in strand.points)
    if strand.points[0] == strand.points[2]:
        return shapes.tag("path", d=_loop(strand.points), **look)
    return shapes.tag("path", d=f"M{x1} {y1}Q{x2} {y2} {x3} {y3}", **look)


def _loop(points: Sequence[tuple[float, float]]) -> str:
    """A drop from a point out to another one and back."""
    (x, y), (far_x, far_y), _ = points
    across, down = far_x - x, far_y - y
    turns = [
        (far_x - 0.6 * down, far_y + 0.6 * across),
        (far_x + 0.6 * down, far_y - 0.6 * across),
    ]
    first, second = (f"{shapes.number(a)} {shapes.number(b)}" for a, b in turns)
    place = f"{shapes.number(x)} {shapes.number(y)}"
    return f"M{place}C{first} {second} {place}"
