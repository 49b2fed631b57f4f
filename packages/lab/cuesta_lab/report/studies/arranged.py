"""Arrangement of a view's cells: panels, their curves, and the spots of each curve."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cuesta.lab.stats import Statistic
from cuesta_lab.report.studies.model import Factor, Level, StudyCell, StudyResult, View

PANELS_MAX = 12
"""Most panels that are drawn; the caption counts the others."""


@dataclass(frozen=True, kw_only=True)
class Spot:
    """A cell at its level of the factor across."""

    level: Level
    cell: StudyCell

    def statistic(self, measure: str) -> Statistic | None:
        """Median and interval of a measure of the cell."""
        return self.cell.statistic(measure)


@dataclass(frozen=True, kw_only=True)
class Line:
    """Cells of one level of the curves' factor, in the order across; `index` gives its colour."""

    title: str
    index: int
    spots: tuple[Spot, ...]


@dataclass(frozen=True, kw_only=True)
class Panel:
    """The curves at one level of the panels' factor."""

    title: str
    lines: tuple[Line, ...]


@dataclass(frozen=True, kw_only=True)
class Arranged:
    """A view with its cells; `fixed` names the levels that all cells share."""

    across: Factor
    curves: Factor | None
    panels: tuple[Panel, ...]
    panels_missing: int
    fixed: str

    @property
    def spots(self) -> list[Spot]:
        """Spots of all panels."""
        lines = [line for panel in self.panels for line in panel.lines]
        return [spot for line in lines for spot in line.spots]

    @property
    def names(self) -> list[tuple[int, str]]:
        """Colours and titles of the curves that are drawn."""
        names = {line.index: line.title for panel in self.panels for line in panel.lines}
        return sorted((index, title) for index, title in names.items() if title)


def arranged(study: StudyResult, view: View) -> Arranged | None:
    """Return the measured cells of a view; None where there are none.

    Factors that the view does not mention, and that have several levels here, split the panels
    further: no average is ever drawn.
    """
    cells = [cell for cell in study.measured if _fits(cell, view.where)]
    across = study.factor(view.across) or _first(study, cells)
    if across is None or not cells:
        return None
    curves = study.factor(view.curves)
    named = {across.name, curves.name if curves else ""}
    several = [factor for factor in study.factors if len(_levels(factor, cells)) > 1]
    free = [factor for factor in several if factor.name not in named]
    first = [factor for factor in free if factor.name == view.panels]
    splitting = first + [factor for factor in free if factor.name != view.panels]
    panels = []
    for combination in itertools.product(*(_levels(factor, cells) for factor in splitting)):
        pairs = zip(splitting, combination, strict=True)
        wanted = {factor.name: level.name for factor, level in pairs}
        matching = [
            cell for cell in cells if all(cell.levels.get(k) == v for k, v in wanted.items())
        ]
        lines = _lines(across, curves, matching)
        if lines:
            panels.append(Panel(title=_title(splitting, combination), lines=lines))
    if not panels:
        return None
    fixed = [
        factor for factor in study.factors if factor not in several and factor.name not in named
    ]
    return Arranged(
        across=across,
        curves=curves,
        panels=tuple(panels[:PANELS_MAX]),
        panels_missing=max(0, len(panels) - PANELS_MAX),
        fixed=_common(fixed, cells),
    )


def _fits(cell: StudyCell, where: Mapping[str, tuple[str, ...]]) -> bool:
    return all(cell.levels.get(name) in names for name, names in where.items())


def _first(study: StudyResult, cells: Sequence[StudyCell]) -> Factor | None:
    """The factor across where the view names none: one with values, else one that varies."""
    several = [factor for factor in study.factors if len(_levels(factor, cells)) > 1] or [
        *study.factors
    ]
    return next((factor for factor in several if factor.numeric), several[0] if several else None)


def _levels(factor: Factor, cells: Sequence[StudyCell]) -> list[Level]:
    names = {cell.levels.get(factor.name) for cell in cells}
    return [level for level in factor.levels if level.name in names]


def _lines(across: Factor, curves: Factor | None, cells: Sequence[StudyCell]) -> tuple[Line, ...]:
    lines = []
    levels: Sequence[Level | None] = curves.levels if curves else [None]
    for index, level in enumerate(levels):
        matching = [
            cell
            for cell in cells
            if level is None or (curves and cell.levels.get(curves.name) == level.name)
        ]
        spots = [
            Spot(level=place, cell=cell)
            for place in across.levels
            for cell in matching
            if cell.levels.get(across.name) == place.name
        ]
        if across.numeric:
            spots.sort(key=lambda spot: spot.level.value or 0.0)
        if spots:
            title = level.title if level else ""
            lines.append(Line(title=title, index=index, spots=tuple(spots)))
    return tuple(lines)


def _title(factors: Sequence[Factor], levels: Sequence[Level]) -> str:
    """The levels of a panel."""
    words = [factor.phrase(level) for factor, level in zip(factors, levels, strict=True)]
    return ", ".join(words)


def _common(factors: Sequence[Factor], cells: Sequence[StudyCell]) -> str:
    words = []
    for factor in factors:
        levels = _levels(factor, cells)
        if len(factor.levels) > 1 and len(levels) == 1:
            words.append(factor.phrase(levels[0]))
    return ", ".join(words)
