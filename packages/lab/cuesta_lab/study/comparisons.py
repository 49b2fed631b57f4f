"""Comparisons of a claim: the cells of a study that it names, and the interval of each ratio."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from cuesta.lab.rules import REPEATS_MIN
from cuesta_lab.study.intervals import Interval, ratio, slope
from cuesta_lab.study.measures import DEVICE, LOG, MACHINE, PRESSURE
from cuesta_lab.study.spread import Spread, usual

HOLDS = "holds"
DOES_NOT_HOLD = "does not hold"
UNDECIDED = "undecided"
UNTESTED = "cannot be tested"
UNMET = "premise not met"

MEASURE = "measure"
"""Key for another measure in a side of a comparison, among the levels of factors."""
_COUNTERS = (LOG, PRESSURE, DEVICE, MACHINE, "device-", "read", "written")
"""Measures of which 0 on both sides of a comparison says that nothing counted them."""
LEVELS_LEAST = 3
"""Levels of a factor over which a claim must hold, if there are so many."""
FLAT_WITHIN = 1.1
"""Largest change of a measure claimed to be flat, as a ratio, if the claim sets none."""

Table = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Factors:
    """Factors of a study's result, and its cells by their levels."""

    rows: Sequence[Table]
    cells: Mapping[frozenset[tuple[str, str]], Table]
    without: Sequence[Mapping[str, Sequence[str]]] = ()
    planned: Mapping[str, Sequence[str]] = field(default_factory=dict)
    file: Table = field(default_factory=dict)

    @classmethod
    def of(cls, result: Table) -> Factors:
        """Take factors and cells from a `study.json`."""
        cells = {frozenset(cell["levels"].items()): cell for cell in result["cells"]}
        without = [
            {
                name: [levels] if isinstance(levels, str) else levels
                for name, levels in row["where"].items()
            }
            for row in result["file"].get("without", [])
        ]
        # A run at the smoke size has fewer levels, and needs no others.
        rows = [] if result.get("smoke") else result["file"].get("factor", [])
        planned = {row["name"]: [level["name"] for level in row["levels"]] for row in rows}
        return cls(
            rows=result["factors"],
            cells=cells,
            without=without,
            planned=planned,
            file=result["file"],
        )

    def at(self, factor: str, names: Sequence[str]) -> Factors:
        """Return the same with some levels of a factor alone."""
        rows = [
            {**row, "levels": [level for level in row["levels"] if level["name"] in names]}
            if row["name"] == factor
            else row
            for row in self.rows
        ]
        return replace(self, rows=rows, planned={**self.planned, factor: list(names)})

    def levels(self, factor: str) -> list[Table]:
        """Return the levels of a factor, in the order of the file."""
        return next((list(row["levels"]) for row in self.rows if row["name"] == factor), [])

    def planned_levels(self, factor: str) -> list[str]:
        """Names of the levels of a factor in the file, including levels that were not run."""
        return list(self.planned.get(factor) or (row["name"] for row in self.levels(factor)))

    def title(self, factor: str, level: str) -> str:
        """Return the title of a level."""
        rows = (row for row in self.levels(factor) if row["name"] == level)
        return str(next((row.get("title") or level for row in rows), level))

    def is_planned(self, levels: Mapping[str, str]) -> bool:
        """Whether the study file includes the cell of these levels."""
        complete = self.complete(levels)
        return not any(
            all(complete.get(name) in excluded for name, excluded in row.items())
            for row in self.without
        )

    def complete(self, levels: Mapping[str, str]) -> dict[str, str]:
        """Complete levels by those of factors with a single level.

        A factor has none if a claim is about levels that were not run.
        """
        single = {row["name"]: row["levels"][0]["name"] for row in self.rows if row["levels"]}
        return single | dict(levels)

    def samples(self, levels: Mapping[str, str], measure: str) -> list[float]:
        """Return the samples of a measure in the cell of these levels.

        There are none if it was not run, or if nothing counted the measure: that is not 0.
        """
        cell = self.cells.get(frozenset(self.complete(levels).items()))
        return [] if cell is None else list(cell["measures"].get(measure, []))

    def was_run(self, levels: Mapping[str, str]) -> bool:
        """Whether the cell of these levels has samples of any measure."""
        cell = self.cells.get(frozenset(self.complete(levels).items()))
        return cell is not None and any(cell["measures"].values())

    def prior_spread(self, claim: Table) -> Spread:
        """Estimate the spread of the measures of a claim in the cells of the study."""
        sides = [
            claim,
            *(claim.get(side, {}) for side in ("faster", "than", "steadier")),
            *claim.get("same", []),
            *claim.get("order", []),
        ]
        wanted = {str(side[MEASURE]) for side in sides if MEASURE in side}
        return usual(
            cell["measures"].get(measure, []) for cell in self.cells.values() for measure in wanted
        )


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Claimed bounds of a ratio."""

    low: float
    high: float = math.inf


@dataclass(frozen=True, kw_only=True)
class Sides:
    """Samples of the two sides of a comparison."""

    upper: Sequence[float]
    lower: Sequence[float]

    def are_empty_counters(self, claim: Table, pair: Sequence[Table]) -> bool:
        """Whether both sides are 0 throughout, of measures that count."""
        measures = [str(side.get(MEASURE, claim.get(MEASURE))) for side in pair]
        return (
            bool(self.upper and self.lower)
            and max(*self.upper, *self.lower) <= 0
            and all(measure.startswith(_COUNTERS) for measure in measures)
        )


@dataclass(frozen=True, kw_only=True)
class Part:
    """A comparison of a claim.

    `levels` are the level of the factor that the claim is made over; `low` and `high` are the
    claimed bounds of the `ratio`; `repeats` is the number of samples of the side with fewer;
    `label` names the pair where a claim has several.
    """

    levels: Mapping[str, str]
    ratio: Interval
    low: float
    high: float
    repeats: int
    label: str = ""

    @property
    def holds(self) -> bool:
        """Whether the interval is entirely inside the claimed bounds."""
        inside = self.ratio.low > self.low and self.ratio.high < self.high
        return inside and self.repeats >= REPEATS_MIN

    @property
    def refuted(self) -> bool:
        """Whether the interval is entirely outside the claimed bounds."""
        outside = self.ratio.high < self.low or self.ratio.low > self.high
        return outside and self.repeats >= REPEATS_MIN

    @property
    def verdict(self) -> str:
        """Verdict on this comparison alone."""
        return HOLDS if self.holds else DOES_NOT_HOLD if self.refuted else UNDECIDED


@dataclass(frozen=True, kw_only=True)
class ClaimComparisons:
    """Comparisons of a claim; `missing` are the levels without a verified run on a side.

    They are `complete` if each pair of sides has comparisons at the `needed` number of levels.
    `uncounted` are the levels whose runs lack the measure, or have 0 of a counter on both sides.
    """

    parts: tuple[Part, ...]
    missing: tuple[str, ...]
    needed: int
    complete: bool = True
    uncounted: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        """Verdict: holds if all parts do and there are enough; does not if any is refuted."""
        if any(part.refuted for part in self.parts):
            return DOES_NOT_HOLD
        enough = len({tuple(part.levels.values()) for part in self.parts}) >= self.needed
        holds = enough and self.complete and all(part.holds for part in self.parts)
        return HOLDS if holds else UNDECIDED


def compared(claim: Table, factors: Factors) -> ClaimComparisons:
    """Make the comparisons of a claim with one of the older forms."""
    if "exponent" in claim:
        return _exponent(claim, factors)
    if "trend" in claim:
        return _trend(claim, factors)
    if "same" in claim:
        within = float(claim.get("within", FLAT_WITHIN))
        first, *further = claim["same"]
        pairs = [(side, first) for side in further]
        return over_levels(claim, factors, pairs, Bounds(low=1 / within, high=within))
    bounds = Bounds(low=float(claim.get("by", 1.0)), high=float(claim.get("under", math.inf)))
    return over_levels(claim, factors, [(claim["than"], claim["faster"])], bounds)


def over_levels(
    claim: Table,
    factors: Factors,
    pairs: Iterable[tuple[Table, Table]],
    bounds: Bounds,
) -> ClaimComparisons:
    """Compare each pair of sides, at each level of `over` if the claim has it."""
    over = claim.get("over")
    levels = [{over: name} for name in factors.planned_levels(over)] if over else [{}]
    pairs = list(pairs)
    planned = [
        chosen
        for chosen in levels
        if all(factors.is_planned(_named(claim, side, chosen)) for pair in pairs for side in pair)
    ]
    parts: list[Part] = []
    missing: dict[str, None] = {}
    needed = min(LEVELS_LEAST, max(1, len(planned)))
    complete = True
    uncounted: dict[str, None] = {}
    prior = factors.prior_spread(claim)
    for pair in pairs:
        before = len(parts)
        for chosen in planned:
            upper, lower = (side_samples(claim, factors, side, chosen) for side in pair)
            sides = Sides(upper=upper, lower=lower)
            if _is_uncounted(claim, factors, pair, chosen) or sides.are_empty_counters(claim, pair):
                names = chosen or _named({}, pair[0], chosen)
                uncounted |= dict.fromkeys(names.values())
                continue
            if upper and lower:
                parts.append(part_of(chosen, sides, bounds, prior))
                continue
            for side, samples in zip(pair, (upper, lower), strict=True):
                if not samples:
                    named = _named({}, side, chosen)
                    missing |= dict.fromkeys(chosen.values() or named.values())
        complete &= len(parts) - before >= needed
    return ClaimComparisons(
        parts=tuple(parts), missing=tuple(missing), needed=needed, complete=complete,
        uncounted=tuple(uncounted),
    )  # fmt: skip


def _is_uncounted(
    claim: Table, factors: Factors, pair: Sequence[Table], chosen: Mapping[str, str]
) -> bool:
    """Whether the runs of a side were made, and nothing counted the measure."""
    return any(
        factors.was_run(_named(claim, side, chosen))
        and not side_samples(claim, factors, side, chosen)
        for side in pair
    )


def _trend(claim: Table, factors: Factors) -> ClaimComparisons:
    """Compare steps from level to level and, unless the trend is flat, the last with the first.

    A trend holds if the interval of the last level is entirely on the claimed side of the first,
    and that of no step is entirely on the other side. A flat trend holds if each level is close to
    the first.
    """
    over = claim["over"]
    names = [
        name
        for name in factors.planned_levels(over)
        if factors.is_planned(_named(claim, {}, {over: name}))
    ]
    samples = {name: side_samples(claim, factors, {}, {over: name}) for name in names}
    run = [name for name in names if samples[name]]
    missing = tuple(name for name in names if not samples[name])
    needed = max(1, min(LEVELS_LEAST, len(names)) - 1)
    prior = factors.prior_spread(claim)
    if claim["trend"] == "flat":
        within = float(claim.get("within", FLAT_WITHIN))
        bounds = Bounds(low=1 / within, high=within)
        parts = [
            part_of({over: name}, Sides(upper=samples[name], lower=samples[run[0]]), bounds, prior)
            for name in run[1:]
        ]
        return ClaimComparisons(parts=tuple(parts), missing=missing, needed=needed)
    rises = claim["trend"] == "rises"
    parts = []
    steps = list(pairwise(run))
    for before, after in [*steps, (run[0], run[-1])] if len(run) > 2 else steps:
        upper, lower = (after, before) if rises else (before, after)
        spans_all = (before, after) == (run[0], run[-1])
        pair = Sides(upper=samples[upper], lower=samples[lower])
        part = part_of({over: after}, pair, Bounds(low=1.0), prior)
        parts.append(part if spans_all or part.refuted else _allowed(part))
    return ClaimComparisons(parts=tuple(parts), missing=missing, needed=needed)


def _allowed(part: Part) -> Part:
    """Relax the bounds of a step: it only must not move against the trend."""
    return Part(levels=part.levels, ratio=part.ratio, low=0.0, high=part.high, repeats=part.repeats)


def _exponent(claim: Table, factors: Factors) -> ClaimComparisons:
    """Compare the slope over the values of a factor with the claimed exponent.

    Each step to the next value that refutes the claim by itself is a further part. Errors:
    `ValueError` for a value that is not above 0.
    """
    over = claim["over"]
    rows = factors.levels(over)
    samples = {row["name"]: side_samples(claim, factors, {}, {over: row["name"]}) for row in rows}
    run = {float(row["value"]): samples[row["name"]] for row in rows if samples[row["name"]]}
    planned = [
        name
        for name in factors.planned_levels(over)
        if factors.is_planned(_named(claim, {}, {over: name}))
    ]
    missing = tuple(name for name in planned if not samples.get(name))
    low, high = (float(bound) for bound in claim["exponent"])
    enough = len(run) >= max(2, min(LEVELS_LEAST, len(planned)))
    if not enough or not any(sample > 0 for side in run.values() for sample in side):
        return ClaimComparisons(parts=(), missing=missing, needed=1)
    repeats = min(len(side) for side in run.values())
    prior = factors.prior_spread(claim)
    parts = [Part(levels={}, ratio=slope(run, prior), low=low, high=high, repeats=repeats)]
    named = {float(row["value"]): row["name"] for row in rows}
    for before, after in pairwise(sorted(run)):
        part = Part(
            levels={over: named[after]},
            ratio=_step_slope(run, before, after, prior),
            low=low,
            high=high,
            repeats=min(len(run[before]), len(run[after])),
        )
        # The line through all points of a curve may have a slope that no step has.
        if part.refuted:
            parts.append(part)
    return ClaimComparisons(parts=tuple(parts), missing=missing, needed=1)


def _step_slope(
    run: Mapping[float, Sequence[float]], before: float, after: float, prior: Spread
) -> Interval:
    """Estimate the slope from a value to the next, in logarithms."""
    step, moved = math.log(after / before), ratio(run[after], run[before], prior)
    median, low, high = (math.log(end) / step for end in (moved.median, moved.low, moved.high))
    return Interval(median=median, low=low, high=high)


def side_samples(
    claim: Table, factors: Factors, side: Table, over: Mapping[str, str]
) -> list[float]:
    """Return the samples of a side of a comparison."""
    measure = side.get(MEASURE, claim.get(MEASURE))
    return factors.samples(_named(claim, side, over), str(measure))


def _named(claim: Table, side: Table, over: Mapping[str, str]) -> dict[str, str]:
    """Return the levels of a side."""
    named = {**claim.get("where", {}), **side, **over}
    return {name: level for name, level in named.items() if name != MEASURE}


def part_of(levels: Mapping[str, str], sides: Sides, bounds: Bounds, prior: Spread) -> Part:
    """Compare two sides at these levels."""
    return Part(
        levels=levels,
        ratio=ratio(sides.upper, sides.lower, prior),
        low=bounds.low,
        high=bounds.high,
        repeats=min(len(sides.upper), len(sides.lower)),
    )
