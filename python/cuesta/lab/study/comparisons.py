"""What a claim compares: the cells of a study it names, and the interval of each comparison."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from cuesta.lab.study.intervals import Interval, ratio, slope
from cuesta.lab.study.measures import DEVICE, LOG, PHASE, PRESSURE
from cuesta.lab.study.spread import Spread, usual

HOLDS = "holds"
DOES_NOT_HOLD = "does not hold"
UNDECIDED = "undecided"
UNTESTED = "cannot be tested"

MEASURE = "measure"
"""Names another measure in a side of a comparison, where a level of a factor may stand."""
_MAY_BE_NOTHING = (PHASE, LOG, PRESSURE, DEVICE)
"""Measures that are not told of where there was nothing."""
LEVELS_LEAST = 3
"""Levels of a factor over which a claim must hold, where there are so many."""
FLAT_WITHIN = 1.1
"""How far a measure that is claimed to be flat may move, where the claim does not say."""

Table = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Factors:
    """The factors of a study's result, and its cells by their levels."""

    rows: Sequence[Table]
    cells: Mapping[frozenset[tuple[str, str]], Table]
    without: Sequence[Mapping[str, Sequence[str]]] = ()
    planned: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @classmethod
    def of(cls, result: Table) -> Factors:
        """Of a `study.json`."""
        cells = {frozenset(cell["levels"].items()): cell for cell in result["cells"]}
        without = [
            {name: [one] if isinstance(one, str) else one for name, one in row["where"].items()}
            for row in result["file"].get("without", [])
        ]
        # What is tried at a smaller size has fewer levels, and is not held to the others.
        rows = [] if result.get("smoke") else result["file"].get("factor", [])
        meant = {row["name"]: [level["name"] for level in row["levels"]] for row in rows}
        return cls(rows=result["factors"], cells=cells, without=without, planned=meant)

    def levels(self, factor: str) -> list[Table]:
        """The levels of a factor, in the order of the file."""
        return next((list(row["levels"]) for row in self.rows if row["name"] == factor), [])

    def planned_levels(self, factor: str) -> list[str]:
        """Names of the levels that the file gives a factor, also those that were not run."""
        return list(self.planned.get(factor) or (row["name"] for row in self.levels(factor)))

    def title(self, factor: str, level: str) -> str:
        """What a level is called."""
        found = (row for row in self.levels(factor) if row["name"] == level)
        return str(next((row.get("title") or level for row in found), level))

    def is_planned(self, levels: Mapping[str, str]) -> bool:
        """Whether the study means to run the cell of these levels."""
        whole = self._whole(levels)
        return not any(
            all(whole.get(name) in given for name, given in row.items()) for row in self.without
        )

    def _whole(self, levels: Mapping[str, str]) -> dict[str, str]:
        """Levels with those of factors that have one alone."""
        return {row["name"]: row["levels"][0]["name"] for row in self.rows} | dict(levels)

    def samples(self, levels: Mapping[str, str], measure: str) -> list[float]:
        """Samples of a measure in the cell of these levels; none where it was not run.

        What other cells tell of, and this one does not, was nothing.
        """
        cell = self.cells.get(frozenset(self._whole(levels).items()))
        if cell is None:
            return []
        known = cell["measures"]
        if measure not in known and measure.startswith(_MAY_BE_NOTHING) and self._is_there(measure):
            return [0.0] * max((len(samples) for samples in known.values()), default=0)
        return list(known.get(measure, []))

    def usual(self, claim: Table) -> Spread:
        """How the measures that a claim compares scatter in the cells of the study."""
        sides = [claim, *(claim.get(one, {}) for one in ("faster", "than")), *claim.get("same", [])]
        asked = {str(side[MEASURE]) for side in sides if MEASURE in side}
        return usual(
            cell["measures"].get(measure, []) for cell in self.cells.values() for measure in asked
        )

    def _is_there(self, measure: str) -> bool:
        return any(measure in cell["measures"] for cell in self.cells.values())


@dataclass(frozen=True, kw_only=True)
class Part:
    """One comparison of a claim.

    `levels` are those of the factor it must hold over; `low` and `high` bound what is claimed of
    the `ratio`; `repeats` is the number of samples of the side that has fewer.
    """

    levels: Mapping[str, str]
    ratio: Interval
    low: float
    high: float
    repeats: int

    @property
    def holds(self) -> bool:
        """Whether the interval lies wholly inside what is claimed."""
        return self.ratio.low > self.low and self.ratio.high < self.high

    @property
    def refuted(self) -> bool:
        """Whether the interval lies wholly outside what is claimed."""
        return self.ratio.high < self.low or self.ratio.low > self.high

    @property
    def verdict(self) -> str:
        """Of this comparison alone."""
        return HOLDS if self.holds else DOES_NOT_HOLD if self.refuted else UNDECIDED


@dataclass(frozen=True, kw_only=True)
class ClaimComparisons:
    """The comparisons of a claim; `missing` are the levels without a verified run on a side.

    Of several pairs of sides each must be there at as many levels as are `needed`, or the
    comparisons are not `complete`.
    """

    parts: tuple[Part, ...]
    missing: tuple[str, ...]
    needed: int
    complete: bool = True

    @property
    def verdict(self) -> str:
        """Holds where each part does and there are enough; does not where one is refuted."""
        if any(part.refuted for part in self.parts):
            return DOES_NOT_HOLD
        enough = len({tuple(part.levels.values()) for part in self.parts}) >= self.needed
        holds = enough and self.complete and all(part.holds for part in self.parts)
        return HOLDS if holds else UNDECIDED


def compared(claim: Table, factors: Factors) -> ClaimComparisons:
    """The comparisons that a claim, checked before, asks for."""
    if "exponent" in claim:
        return _exponent(claim, factors)
    if "trend" in claim:
        return _trend(claim, factors)
    if "same" in claim:
        within = float(claim.get("within", FLAT_WITHIN))
        first, *others = claim["same"]
        pairs = [(other, first) for other in others]
        return _over_levels(claim, factors, pairs, (1 / within, within))
    bounds = (float(claim.get("by", 1.0)), float(claim.get("under", math.inf)))
    return _over_levels(claim, factors, [(claim["than"], claim["faster"])], bounds)


def _over_levels(
    claim: Table,
    factors: Factors,
    pairs: Iterable[tuple[Table, Table]],
    bounds: tuple[float, float],
) -> ClaimComparisons:
    """The ratio of two sides at each level of `over`, if any, for each pair of sides."""
    over = claim.get("over")
    levels = [{over: name} for name in factors.planned_levels(over)] if over else [{}]
    pairs = list(pairs)
    meant = [
        chosen
        for chosen in levels
        if all(factors.is_planned(_named(claim, side, chosen)) for pair in pairs for side in pair)
    ]
    parts: list[Part] = []
    missing: dict[str, None] = {}
    needed = min(LEVELS_LEAST, max(1, len(meant)))
    complete = True
    usual = factors.usual(claim)
    for pair in pairs:
        before = len(parts)
        for chosen in meant:
            upper, lower = (_side(claim, factors, side, chosen) for side in pair)
            if upper and lower:
                parts.append(_part(chosen, upper, lower, bounds, usual))
                continue
            for side, samples in zip(pair, (upper, lower), strict=True):
                if not samples:
                    named = _named({}, side, chosen)
                    missing |= dict.fromkeys(chosen.values() or named.values())
        complete &= len(parts) - before >= needed
    return ClaimComparisons(
        parts=tuple(parts), missing=tuple(missing), needed=needed, complete=complete
    )


def _trend(claim: Table, factors: Factors) -> ClaimComparisons:
    """Steps from level to level and, unless it is flat, from the first to the last.

    A trend holds when the last level is wholly on the claimed side of the first, and no step is
    wholly on the other one; a flat one when each level is close to the first.
    """
    over = claim["over"]
    names = [
        name
        for name in factors.planned_levels(over)
        if factors.is_planned(_named(claim, {}, {over: name}))
    ]
    samples = {name: _side(claim, factors, {}, {over: name}) for name in names}
    run = [name for name in names if samples[name]]
    missing = tuple(name for name in names if not samples[name])
    needed = max(1, min(LEVELS_LEAST, len(names)) - 1)
    usual = factors.usual(claim)
    if claim["trend"] == "flat":
        within = float(claim.get("within", FLAT_WITHIN))
        parts = [
            _part({over: name}, samples[name], samples[run[0]], (1 / within, within), usual)
            for name in run[1:]
        ]
        return ClaimComparisons(parts=tuple(parts), missing=missing, needed=needed)
    rises = claim["trend"] == "rises"
    parts = []
    steps = list(pairwise(run))
    for before, after in [*steps, (run[0], run[-1])] if len(run) > 2 else steps:
        upper, lower = (after, before) if rises else (before, after)
        whole = (before, after) == (run[0], run[-1])
        part = _part({over: after}, samples[upper], samples[lower], (1.0, math.inf), usual)
        parts.append(part if whole or part.refuted else _allowed(part))
    return ClaimComparisons(parts=tuple(parts), missing=missing, needed=needed)


def _allowed(part: Part) -> Part:
    """A step that need not move: it is enough that it is not seen to move the other way."""
    return Part(levels=part.levels, ratio=part.ratio, low=0.0, high=part.high, repeats=part.repeats)


def _exponent(claim: Table, factors: Factors) -> ClaimComparisons:
    """The slope over the values of a factor."""
    over = claim["over"]
    rows = factors.levels(over)
    samples = {row["name"]: _side(claim, factors, {}, {over: row["name"]}) for row in rows}
    run = {float(row["value"]): samples[row["name"]] for row in rows if samples[row["name"]]}
    meant = [
        name
        for name in factors.planned_levels(over)
        if factors.is_planned(_named(claim, {}, {over: name}))
    ]
    missing = tuple(name for name in meant if not samples.get(name))
    low, high = (float(one) for one in claim["exponent"])
    enough = len(run) >= max(2, min(LEVELS_LEAST, len(meant)))
    if not enough or not any(one > 0 for side in run.values() for one in side):
        return ClaimComparisons(parts=(), missing=missing, needed=1)
    repeats = min(len(side) for side in run.values())
    usual = factors.usual(claim)
    parts = [Part(levels={}, ratio=slope(run, usual), low=low, high=high, repeats=repeats)]
    named = {float(row["value"]): row["name"] for row in rows}
    for before, after in pairwise(sorted(run)):
        part = Part(
            levels={over: named[after]},
            ratio=_step_slope(run, before, after, usual),
            low=low,
            high=high,
            repeats=min(len(run[before]), len(run[after])),
        )
        # A line through points that bend may have any slope.
        if part.refuted:
            parts.append(part)
    return ClaimComparisons(parts=tuple(parts), missing=missing, needed=1)


def _step_slope(
    run: Mapping[float, Sequence[float]], before: float, after: float, usual: Spread
) -> Interval:
    """The slope from one value to the next, in logarithms."""
    step, moved = math.log(after / before), ratio(run[after], run[before], usual)
    median, low, high = (math.log(one) / step for one in (moved.median, moved.low, moved.high))
    return Interval(median=median, low=low, high=high)


def _side(claim: Table, factors: Factors, side: Table, over: Mapping[str, str]) -> list[float]:
    """Samples of one side of a comparison."""
    measure = side.get(MEASURE, claim.get(MEASURE))
    return factors.samples(_named(claim, side, over), str(measure))


def _named(claim: Table, side: Table, over: Mapping[str, str]) -> dict[str, str]:
    """The levels of one side."""
    named = {**claim.get("where", {}), **side, **over}
    return {name: level for name, level in named.items() if name != MEASURE}


def _part(
    levels: Mapping[str, str],
    upper: Sequence[float],
    lower: Sequence[float],
    bounds: tuple[float, float],
    usual: Spread,
) -> Part:
    return Part(
        levels=levels,
        ratio=ratio(upper, lower, usual),
        low=bounds[0],
        high=bounds[1],
        repeats=min(len(upper), len(lower)),
    )
