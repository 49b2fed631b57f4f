"""Tree of genes with the colours of their modules below it."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

from cuesta.workloads.colours import css
from cuesta.workloads.figures import svg
from cuesta.workloads.figures.tables import as_csv, colours_of, rows_of

_WIDE, _TALL, _LEFT, _TOP, _BAND = 1000, 320, 60, 30, 26

_PIXELS_MIN = 0.3
"""Width of a merge that is drawn; a tree of many genes has more merges than pixels."""


def figure(folder: Path) -> tuple[bytes, bytes]:
    """Draw the tree; its data are the genes in the order of its leaves."""
    merges = [(int(row[1]), int(row[2]), float(row[3])) for row in rows_of(folder / "tree.tsv")]
    genes = {int(row[0]): (row[1], int(row[2])) for row in rows_of(folder / "modules.tsv")}
    colours = colours_of(folder)
    leaves = leaf_order(merges)
    places = {gene: place for place, gene in enumerate(leaves)}
    data = [
        (place + 1, gene, genes[gene][0], genes[gene][1], colours[genes[gene][1]])
        for place, gene in enumerate(leaves)
    ]
    parts = [
        svg.text(_LEFT, 20, f"Tree of {len(leaves):,} genes", 'font-weight="bold"'),
        *_axis(merges),
        svg.path(_lines(merges, places), "#333333", 0.6),
    ]
    width, left = _WIDE / max(1, len(leaves)), float(_LEFT)
    for (module, colour), run in groupby(data, key=lambda row: (row[3], row[4])):
        size = sum(1 for _ in run) * width
        box = svg.Box(x=left, y=_TOP + _TALL + 8, width=size, height=_BAND)
        parts.append(svg.rect(box, css(colour), f"module {module} {colour}"))
        left += size
    table = as_csv(("place", "gene", "name", "module", "colour"), data)
    return svg.picture(_LEFT + _WIDE + 20, _TOP + _TALL + _BAND + 20, parts), table


def leaf_order(merges: list[tuple[int, int, float]]) -> list[int]:
    """Return the genes of a tree from left to right: the first of a merge is left."""
    leaves: list[int] = []
    waiting = [len(merges)] if merges else []
    while waiting:
        node = waiting.pop()
        if node < 0:
            leaves.append(-node)
        else:
            first, second, _ = merges[node - 1]
            waiting += [second, first]
    return leaves


def _bottom_and_top(merges: list[tuple[int, int, float]]) -> tuple[float, float]:
    heights = [height for _, _, height in merges] or [0.0, 1.0]
    low, high = min(heights), max(heights)
    margin = 0.05 * (high - low) or 0.5
    return low - margin, high + margin


def _down(height: float, bottom: float, top: float) -> float:
    return _TOP + _TALL * (top - height) / (top - bottom)


def _lines(merges: list[tuple[int, int, float]], places: dict[int, int]) -> list[str]:
    bottom, top = _bottom_and_top(merges)
    width = _WIDE / max(1, len(places))
    middles: list[tuple[float, float]] = []
    parts = []

    def end(node: int, height: float) -> tuple[float, float]:
        if node > 0:
            return middles[node - 1]
        # A leaf hangs a little below its merge, as in plots of R.
        return _LEFT + (places[-node] + 0.5) * width, height - 0.02 * (top - bottom)

    for first, second, height in merges:
        (left, low), (right, other) = end(first, height), end(second, height)
        middles.append(((left + right) / 2, height))
        if abs(right - left) < _PIXELS_MIN:
            continue
        y = svg.number(_down(height, bottom, top))
        x = (svg.number(left), svg.number(right))
        ends = [svg.number(_down(max(low, bottom), bottom, top)) for low in (low, other)]
        parts.append(f"M{x[0]} {ends[0]}V{y}H{x[1]}V{ends[1]}")
    return parts


def _axis(merges: list[tuple[int, int, float]]) -> list[str]:
    bottom, top = _bottom_and_top(merges)
    parts = [svg.path([f"M{_LEFT - 6} {_TOP}v{_TALL}"], "#444444")]
    for step in range(5):
        height = bottom + (top - bottom) * step / 4
        place = _down(height, bottom, top)
        parts.append(svg.text(_LEFT - 10, place + 4, f"{height:.2f}", 'text-anchor="end"'))
    return parts
