"""Forms of claims on several systems: means over analytics, orders, straight lines, scatter."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import variance
from typing import Any

from cuesta_lab.study.comparisons import (
    FLAT_WITHIN,
    LEVELS_LEAST,
    MEASURE,
    Bounds,
    ClaimComparisons,
    Factors,
    Part,
    Sides,
    over_levels,
    part_of,
    side_samples,
)
from cuesta_lab.study.intervals import FAR, Interval, line_residuals
from cuesta_lab.study.spread import trigamma

REPEATS_OF_SCATTER = 3
"""Least samples of a side whose scatter is compared."""

Table = Mapping[str, Any]


def averaged(claim: Table, factors: Factors) -> ClaimComparisons:
    """Compare geometric means of ratios over the levels of a factor, at each level of `over`.

    A mean needs all levels of its factor that the study plans.
    """
    mean, over = str(claim["mean"]), claim.get("over")
    levels = [{over: name} for name in factors.planned_levels(over)] if over else [{}]
    bounds = Bounds(low=float(claim.get("by", 1.0)), high=float(claim.get("under", math.inf)))
    parts: list[Part] = []
    missing: list[str] = []
    uncounted: list[str] = []
    for chosen in levels:
        fixed = {**claim, "where": {**claim.get("where", {}), **chosen}, "over": mean}
        pair = (claim["than"], claim["faster"])
        each = over_levels(fixed, factors, [pair], bounds)
        missing += each.missing
        uncounted += each.uncounted
        if each.parts and not each.missing and not each.uncounted:
            parts.append(_mean(chosen, each.parts, bounds))
    return ClaimComparisons(
        parts=tuple(parts),
        missing=tuple(dict.fromkeys(missing)),
        needed=min(LEVELS_LEAST, max(1, len(levels))),
        uncounted=tuple(dict.fromkeys(uncounted)),
    )


def _mean(levels: Mapping[str, str], parts: Sequence[Part], bounds: Bounds) -> Part:
    """Geometric mean of ratios; their errors are independent, so that squares of widths add up."""
    count = len(parts)
    centre = sum(math.log(part.ratio.median) for part in parts) / count
    halves = [math.log(part.ratio.high / part.ratio.median) for part in parts]
    half = math.sqrt(sum(width**2 for width in halves)) / count
    is_known = all(part.ratio.high < FAR for part in parts)
    ratio = Interval(
        median=math.exp(centre),
        low=math.exp(centre - half) if is_known else 1 / FAR,
        high=math.exp(centre + half) if is_known else FAR,
    )
    repeats = min(part.repeats for part in parts)
    return Part(levels=levels, ratio=ratio, low=bounds.low, high=bounds.high, repeats=repeats)


def ordered(claim: Table, factors: Factors) -> ClaimComparisons:
    """Compare each system with the next of the order, the one with the least first."""
    results = [
        (faster, slower, over_levels(claim, factors, [(slower, faster)], Bounds(low=1.0)))
        for faster, slower in pairwise(claim["order"])
    ]
    parts = [
        replace(part, label=f"{_titles(factors, slower)} by {_titles(factors, faster)}")
        for faster, slower, each in results
        for part in each.parts
    ]
    return ClaimComparisons(
        parts=tuple(parts),
        missing=tuple(dict.fromkeys(name for *_, each in results for name in each.missing)),
        needed=results[0][2].needed,
        complete=all(each.complete for *_, each in results),
        uncounted=tuple(dict.fromkeys(name for *_, each in results for name in each.uncounted)),
    )


def _titles(factors: Factors, side: Table) -> str:
    return ", ".join(factors.title(name, level) for name, level in side.items() if name != MEASURE)


def straight(claim: Table, factors: Factors) -> ClaimComparisons:
    """Compare the measure at each value with a straight line through all, and its ends.

    The line holds where each median is within a factor of it (`within`), and the last is on the
    claimed side of the first.
    """
    over, within = claim["over"], float(claim.get("within", FLAT_WITHIN))
    rows = factors.levels(over)
    planned = [
        name
        for name in factors.planned_levels(over)
        if factors.is_planned({**claim.get("where", {}), over: name})
    ]
    sides = {row["name"]: side_samples(claim, factors, {}, {over: row["name"]}) for row in rows}
    by_value = {
        float(row["value"]): row["name"]
        for row in sorted(rows, key=lambda row: float(row["value"]))
        if sides[row["name"]]
    }
    missing = tuple(name for name in planned if not sides.get(name))
    if len(by_value) < LEVELS_LEAST or any(min(sides[name]) <= 0 for name in by_value.values()):
        return ClaimComparisons(parts=(), missing=missing, needed=LEVELS_LEAST)
    prior = factors.prior_spread(claim)
    residuals = line_residuals({value: sides[name] for value, name in by_value.items()}, prior)
    parts = [
        Part(
            levels={over: by_value[value]}, ratio=residual, low=1 / within, high=within,
            repeats=len(sides[by_value[value]]),
        )
        for value, residual in residuals.items()
    ]  # fmt: skip
    names = list(by_value.values())
    upper, lower = names[-1], names[0]
    if claim["linear"] == "falls":
        upper, lower = lower, upper
    pair = Sides(upper=sides[upper], lower=sides[lower])
    parts.append(part_of({over: names[-1]}, pair, Bounds(low=1.0), prior))
    return ClaimComparisons(parts=tuple(parts), missing=missing, needed=LEVELS_LEAST)


def steadier(claim: Table, factors: Factors) -> ClaimComparisons:
    """Compare how much samples scatter: the ratio of standard deviations of their logarithms.

    The interval is that of normal logarithms, by the variance of a logarithm of a variance.
    """
    over = claim.get("over")
    levels = [{over: name} for name in factors.planned_levels(over)] if over else [{}]
    parts, missing = [], []
    low, high = float(claim.get("by", 1.0)), float(claim.get("under", math.inf))
    for chosen in levels:
        upper = side_samples(claim, factors, claim["than"], chosen)
        lower = side_samples(claim, factors, claim["steadier"], chosen)
        ratio = _scatter_ratio(upper, lower)
        if ratio is None:
            missing += list(chosen.values()) or ["a side"]
            continue
        repeats = min(len(upper), len(lower))
        parts.append(Part(levels=chosen, ratio=ratio, low=low, high=high, repeats=repeats))
    needed = min(LEVELS_LEAST, max(1, len(levels)))
    return ClaimComparisons(parts=tuple(parts), missing=tuple(missing), needed=needed)


def _scatter_ratio(upper: Sequence[float], lower: Sequence[float]) -> Interval | None:
    logs, free = [], []
    for samples in (upper, lower):
        if len(samples) < REPEATS_OF_SCATTER or min(samples) <= 0:
            return None
        spread = variance([math.log(sample) for sample in samples])
        if spread <= 0:
            return None
        logs.append(math.log(spread))
        free.append(len(samples) - 1)
    centre = (logs[0] - logs[1]) / 2
    half = 1.959964 / 2 * math.sqrt(sum(trigamma(count / 2) for count in free))
    return Interval(
        median=math.exp(centre), low=math.exp(centre - half), high=math.exp(centre + half)
    )


def near_figure(claim: Table, comparisons: ClaimComparisons) -> dict[str, Any] | None:
    """Compare the mean ratio found with the paper's figure; None without one.

    The verdict is `agrees` where the whole interval is within a factor (`near`) of the figure,
    `differs` where it is wholly outside, else `unclear`.
    """
    if "paper" not in claim or not comparisons.parts:
        return None
    parts = comparisons.parts
    if "paper_at" in claim:
        parts = tuple(part for part in parts if claim["paper_at"] in part.levels.values())
        if not parts:
            return None
    bounds = Bounds(low=0.0)
    ratio = _mean({}, parts, bounds).ratio if len(parts) > 1 else parts[0].ratio
    figure, near = float(claim["paper"]), float(claim.get("near", 1.5))
    if ratio.within(figure / near, figure * near):
        verdict = "agrees"
    elif ratio.above(figure * near) or ratio.below(figure / near):
        verdict = "differs"
    else:
        verdict = "unclear"
    return {
        "figure": figure, "near": near, "median": ratio.median,
        "low": ratio.low, "high": ratio.high, "verdict": verdict,
    }  # fmt: skip
