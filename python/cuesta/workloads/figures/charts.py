"""Charts of powers, cut-offs and traits."""

from __future__ import annotations

import math
from pathlib import Path

from cuesta.workloads.colours import css
from cuesta.workloads.figures import svg
from cuesta.workloads.figures.tables import as_csv, colours_of, header_and_rows, number

FIT = 0.85
"""Coefficient of determination that a recommended network exceeds."""

_P_MIN = 1e-300


def powers(folder: Path) -> tuple[bytes, bytes]:
    """Draw fit and mean connectivity by power, as WGCNA's tutorials do."""
    header, rows = header_and_rows(folder / "powers.tsv")
    fits = [
        (float(row[0]), -math.copysign(number(row[1]), number(row[2])))
        for row in rows
        if "NA" not in row[:3]
    ]
    chosen = next((float(row[0]) for row in rows if number(row[1]) > FIT), None)
    left = svg.Chart(
        title="Fit to a power law", x="power", y="-sign(slope) R²", points=fits, level=FIT,
        mark=chosen,
    )  # fmt: skip
    mean = [(float(row[0]), number(row[4])) for row in rows]
    right = svg.Chart(
        title="Mean connectivity", x="power", y="mean connectivity", points=mean, is_log=True,
        mark=chosen,
    )  # fmt: skip
    return _pair(left, right), as_csv(header, rows)


def thresholds(folder: Path) -> tuple[bytes, bytes]:
    """Draw edges and fit by cut-off."""
    header, rows = header_and_rows(folder / "thresholds.tsv")
    good = (row for row in rows if number(row[9]) > FIT and number(row[10]) < 0)
    chosen = next((float(row[0]) for row in good), None)
    edges = [(float(row[0]), float(row[1])) for row in rows]
    left = svg.Chart(
        title="Edges", x="cut-off of |r|", y="edges", points=edges, is_log=True, mark=chosen
    )
    fits = [
        (float(row[0]), -math.copysign(number(row[9]), number(row[10])))
        for row in rows
        if "NA" not in row[9:11]
    ]
    right = svg.Chart(
        title="Fit to a power law", x="cut-off of |r|", y="-sign(slope) R²", points=fits,
        level=FIT, mark=chosen,
    )  # fmt: skip
    return _pair(left, right), as_csv(header, rows)


def volcano(folder: Path) -> tuple[bytes, bytes]:
    """Draw significance by correlation of each module with each trait."""
    header, rows = header_and_rows(folder / "traits.tsv")
    colours = colours_of(folder)
    known = [row for row in rows if "NA" not in row[2:4]]
    points = [(number(row[2]), -math.log10(max(number(row[3]), _P_MIN))) for row in known]
    frame = svg.Chart(
        title="Modules and traits", x="r of eigengene and trait", y="-log10 p", points=points
    )
    parts = svg.chart(frame, 0)
    # The dots of a chart are last, in the order of its points.
    dots = parts[len(parts) - len(points) :] if points else []
    coloured = [
        dot.replace("#1f77b4", css(colours[int(row[0])])).replace(
            "<title>", f"<title>module {row[0]}, {_escaped(row[1])}, "
        )
        for dot, row in zip(dots, known, strict=True)
    ]
    shown = parts[: len(parts) - len(points)] + coloured
    return svg.picture(svg.WIDTH, svg.HEIGHT, shown), as_csv(header, rows)


def _escaped(name: str) -> str:
    return name.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _pair(left: svg.Chart, right: svg.Chart) -> bytes:
    parts = [*svg.chart(left, 0), *svg.chart(right, svg.WIDTH)]
    return svg.picture(2 * svg.WIDTH, svg.HEIGHT, parts)
