"""Read depth of contigs by length and by GC, in which unusual contigs stand out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cuesta.workloads.assembly.files import Files, Graph, View, name_of

SPOTS_MAX = 300
"""Limit of points in a picture; beyond it, contigs that are close together are one point."""

CELLS = ((72, 40), (48, 28), (32, 20), (20, 12))
"""Grids by which contigs are combined, columns and rows, the finest first."""

NAMED_MAX = 5
NAMED_BASES_MIN = 500
NAMED_DEPTH_RATIO = 1.6
NAMED_GC_APART = 0.08
"""Contigs of at least `NAMED_BASES_MIN` bases are named if their depth differs from that of most
bases by the ratio, or their GC by the difference, or if they are circular; the longest of them."""

NAMED_OF_MAX = 40
"""Number of unusual contigs above which none is named."""

GROUPS = ("linked to others", "linear, without links", "circular")


@dataclass(frozen=True, kw_only=True)
class Spot:
    """A contig in the picture."""

    segment: int
    length: int
    depth: float
    gc: float
    group: int


def views(answer: Files) -> list[View]:
    """Show depth against length and GC; none for a single contig."""
    graph = answer.graph
    spots = _spots(graph, int(answer.stats["min_contig"]))
    if len(spots) < 2:
        return []
    named = _named(spots, graph)
    lengths = [(float(spot.length), spot.depth, spot.group) for spot in spots]
    gc = [(100 * spot.gc, spot.depth, spot.group) for spot in spots]
    points = [_binned(lengths, log=True), _binned(gc, log=False)]
    panels = [
        {"title": title, "x": x, "log": log, "points": drawn, "names": [
            [name_of(spot.segment), _short(across), _short(up)]
            for spot, (across, up, _) in zip(spots, places, strict=True) if spot.segment in named
        ]}
        for title, x, log, places, drawn in zip(
            ("by length", "by GC"), ("bases", "GC, %"), (True, False), (lengths, gc), points,
            strict=True,
        )
    ]  # fmt: skip
    note = (
        f"Contigs of one genome lie level, at its depth ({graph.usual_depth:.3g} here); copies of "
        "a repeat higher, at a multiple; another organism at a depth and a GC of its own."
    )
    if max(map(len, points)) < len(spots):
        note += (
            f" {len(spots):,} contigs; where several lie close together they are one point, the "
            "larger the more there are."
        )
    return [
        {"kind": "scatter", "title": "Depth of the contigs", "y": "depth of the reads",
         "groups": list(GROUPS), "panels": panels, "note": note}
    ]  # fmt: skip


def _spots(graph: Graph, least_bases: int) -> list[Spot]:
    spots = []
    for segment, length in enumerate(graph.lengths):
        depth = graph.depths[segment]
        if length < least_bases or depth <= 0:
            continue
        group = 2 if segment in graph.circular else 0 if graph.is_linked(segment) else 1
        spots.append(
            Spot(segment=segment, length=length, depth=depth, gc=graph.gc[segment], group=group)
        )
    return spots


def _named(spots: Sequence[Spot], graph: Graph) -> set[int]:
    """Return the longest of the unusual segments."""
    depth, gc = graph.usual_depth, graph.usual_gc
    apart = [
        spot
        for spot in spots
        if spot.length >= NAMED_BASES_MIN
        and (
            not 1 / NAMED_DEPTH_RATIO <= spot.depth / depth <= NAMED_DEPTH_RATIO
            or abs(spot.gc - gc) >= NAMED_GC_APART
            or spot.group == 2
        )
    ]
    if len(apart) > NAMED_OF_MAX:
        return set()
    apart.sort(key=lambda spot: (-spot.length, spot.segment))
    return {spot.segment for spot in apart[:NAMED_MAX]}


def _binned(places: Sequence[tuple[float, float, int]], *, log: bool) -> list[list[object]]:
    """Combine points by cells of the finest grid with few enough of them, at the mean of each cell.

    A result has its x and y, the number of contigs, and their group.
    """
    across = _scaled([math.log(x) if log else x for x, _, _ in places])
    up = _scaled([math.log(y) for _, y, _ in places])
    cells: dict[tuple[int, int, int], list[float]] = {}
    for wide, high in CELLS:
        cells = {}
        for (x, y, group), right, above in zip(places, across, up, strict=True):
            cell = cells.setdefault((group, int(right * wide), int(above * high)), [0, 0.0, 0.0])
            cell[0] += 1
            cell[1] += x
            cell[2] += y
        if len(cells) <= SPOTS_MAX:
            break
    return [
        [_short(x / count), _short(y / count), int(count), group]
        for (group, _, _), (count, x, y) in sorted(cells.items())
    ]


def _scaled(values: Iterable[float]) -> list[float]:
    """Scale values to the range from 0 to just below 1."""
    values = list(values)
    low, high = min(values), max(values)
    span = (high - low) * (1 + 1e-9) or 1.0
    return [(value - low) / span for value in values]


def _short(value: float) -> float:
    """Round to four figures, the resolution of the picture."""
    return float(f"{value:.4g}")
