"""Sentences on the results of claims, with their figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from cuesta_lab.study.comparisons import (
    HOLDS,
    MEASURE,
    UNDECIDED,
    ClaimComparisons,
    Factors,
    Part,
)
from cuesta_lab.study.intervals import FAR

_QUANTITIES = {
    "work": "time of work",
    "wall": "time of the engine",
    "typed": "time in all",
    "cpu": "processor time",
    "peak": "memory",
    "input": "bytes of input",
    "read": "bytes read",
    "written": "bytes written",
    "device-read": "bytes read from devices",
    "device-written": "bytes written to devices",
}
_NAMED = ("count", "log", "machine", "pressure", "device")
_SHOWN = 4
"""Most levels that are listed; of more, the lowest and the highest are."""
_REPEATS_MOST = 100
"""Most repeats that are recommended; a difference that needs more is too small to look for."""

Table = Mapping[str, Any]


def sentence(claim: Table, factors: Factors, comparisons: ClaimComparisons) -> str:
    """Describe the result of a claim, with the intervals that decide it."""
    where = [
        factors.title(name, level)
        for name, level in claim.get("where", {}).items()
        if name != MEASURE
    ]
    opening = f"{', '.join(where)}: " if where else ""
    result = _result(claim, factors, comparisons)
    return f"{opening}{result}{_closing(claim, factors, comparisons)}."


def _result(claim: Table, factors: Factors, comparisons: ClaimComparisons) -> str:
    if not comparisons.parts:
        return "nothing to compare"
    if "exponent" in claim:
        title = next(row["title"] or row["name"] for row in factors.rows if _is(row, claim))
        power = _interval(comparisons.parts[0], inverse=False)
        bent = [f"{_interval(part)} up{_at(factors, part)}" for part in comparisons.parts[1:]]
        bends = f", but to {_listed(bent)}" if bent else ""
        return f"{quantity(claim)} went with {title} to the power {power}{bends}"
    if "trend" in claim:
        return _trend(claim, factors, comparisons)
    if "same" in claim:
        return _same(claim, factors, comparisons)
    if "order" in claim:
        return _order(claim, factors, comparisons)
    if "linear" in claim:
        return _linear(claim, factors, comparisons)
    if "steadier" in claim:
        return _steadier(claim, factors, comparisons)
    return _faster(claim, factors, comparisons)


def _is(row: Table, claim: Table) -> bool:
    return bool(row["name"] == claim["over"])


def _faster(claim: Table, factors: Factors, comparisons: ClaimComparisons) -> str:
    first = _named(factors, claim["faster"], claim["than"])
    second = _named(factors, claim["than"], claim["faster"])
    return _compared(claim, factors, comparisons, (second, first))


def _same(claim: Table, factors: Factors, comparisons: ClaimComparisons) -> str:
    first, *further = claim["same"]
    titles = " and ".join(_named(factors, side, first) for side in further)
    return _compared(claim, factors, comparisons, (titles, _named(factors, first, further[0])))


def _compared(
    claim: Table, factors: Factors, comparisons: ClaimComparisons, sides: tuple[str, str]
) -> str:
    """Describe the measure of the first side as a multiple of the second, by level."""
    phrases: list[str] = []
    for part in _shown(comparisons.parts):
        words = _number(part.ratio.median)
        if not phrases:
            that = "that of " if MEASURE in claim else ""
            words = f"{words} times {that}{sides[1]}"
        phrases.append(f"{words}{_at(factors, part)} ({_bounds(part)})")
    whose = f"{quantity(claim)} of {sides[0]}" if MEASURE in claim else sides[0]
    mean = ""
    if "mean" in claim:
        levels = [
            factors.title(claim["mean"], name) for name in factors.planned_levels(claim["mean"])
        ]
        mean = f", on average over {_listed(levels)},"
    return f"{whose} was{mean} {_listed(phrases)}"


def _order(claim: Table, factors: Factors, comparisons: ClaimComparisons) -> str:
    """Describe each system as a multiple of the one before it."""
    by_pair: dict[str, list[str]] = {}
    for part in comparisons.parts:
        by_pair.setdefault(part.label, []).append(f"{_interval(part)}{_at(factors, part)}")
    pairs = [f"{label} {_listed(phrases)}" for label, phrases in by_pair.items()]
    return f"ratios of {quantity(claim)}: {'; '.join(pairs)}"


def _linear(claim: Table, factors: Factors, comparisons: ClaimComparisons) -> str:
    *residuals, ends = comparisons.parts
    phrases = [f"{_interval(part)}{_at(factors, part)}" for part in _shown(residuals)]
    direction = "last by first" if claim["linear"] == "rises" else "first by last"
    return (
        f"{quantity(claim)} was, by a straight line through all, {_listed(phrases)};"
        f" {direction} {_interval(ends)}"
    )


def _steadier(claim: Table, factors: Factors, comparisons: ClaimComparisons) -> str:
    first = _named(factors, claim["than"], claim["steadier"])
    second = _named(factors, claim["steadier"], claim["than"])
    phrases = [f"{_interval(part)}{_at(factors, part)}" for part in _shown(comparisons.parts)]
    return f"scatter of {quantity(claim)} of {first}, by that of {second}, was {_listed(phrases)}"


def near_words(figure: Table) -> str:
    """Describe how near a result is to the paper's figure."""
    words = {
        "agrees": "within a factor {near:g}",
        "differs": "not within a factor {near:g}",
        "unclear": "the interval does not say whether within a factor {near:g}",
    }[figure["verdict"]].format(near=figure["near"])
    ratio = f"{_number(figure['median'])} ({_number(figure['low'])} to {_number(figure['high'])})"
    return f"Paper {figure['figure']:g}, here {ratio}: {words}."


def _trend(claim: Table, factors: Factors, comparisons: ClaimComparisons) -> str:
    over = claim["over"]
    titles = {
        row["name"]: factors.title(over, row["name"])
        for row in factors.levels(over)
        if factors.is_planned({**claim.get("where", {}), over: row["name"]})
    }
    run = [name for name in titles if name not in comparisons.missing]
    falls = claim["trend"] == "falls"
    if claim["trend"] == "flat":
        phrases = [f"{_interval(part)}{_at(factors, part)}" for part in _shown(comparisons.parts)]
        return (
            f"{quantity(claim)} was, as a multiple of that at {titles[run[0]]}, {_listed(phrases)}"
        )
    steps = comparisons.parts[: len(run) - 1]
    phrases = [f"{_interval(part, inverse=falls)}{_at(factors, part)}" for part in _shown(steps)]
    total = ""
    if len(comparisons.parts) > 1:
        moved = _interval(comparisons.parts[-1], inverse=falls)
        total = f", and {moved} from {titles[run[0]]} to {titles[run[-1]]}"
    return f"{quantity(claim)} was, as a multiple of that a level before, {_listed(phrases)}{total}"


def _closing(claim: Table, factors: Factors, comparisons: ClaimComparisons) -> str:
    """Describe the claim, and the runs that a decision lacks."""
    text = ""
    if "faster" in claim or "steadier" in claim:
        below = f" and less than {claim['under']:g}" if "under" in claim else ""
        text = f"; claimed: more than {claim.get('by', 1):g}{below}"
    elif "exponent" in claim:
        text = f"; claimed: {claim['exponent'][0]:g} to {claim['exponent'][1]:g}"
    elif "within" in claim:
        text = f"; claimed: within {claim['within']:g} times"
    if not comparisons.parts and not comparisons.missing:
        return "; no verified run on a side"
    if comparisons.missing:
        names = ", ".join(_missing_title(claim, factors, name) for name in comparisons.missing)
        text += f"; no verified run to compare at {names}"
    if comparisons.verdict == UNDECIDED and any(
        part.verdict == UNDECIDED for part in comparisons.parts
    ):
        text += f"; {_lacking(comparisons.parts)}"
    elif comparisons.verdict == UNDECIDED and len(comparisons.parts) < comparisons.needed:
        text += "; too few levels to decide"
    return text


def _missing_title(claim: Table, factors: Factors, name: str) -> str:
    """Title of a level of `over`, or else of a level that a side names."""
    named = [claim["over"]] if "over" in claim else [row["name"] for row in factors.rows]
    titles = (factors.title(factor, name) for factor in named)
    return next((title for title in titles if title != name), name)


def _lacking(parts: Sequence[Part]) -> str:
    """Describe the repeats that would decide the undecided parts."""
    needed = max(repeats_to_decide(part) for part in parts if part.verdict != HOLDS)
    if needed > _REPEATS_MOST:
        return f"more than {_REPEATS_MOST} repeats would be needed to decide"
    return f"about {needed} repeats would be needed to decide"


def repeats_to_decide(part: Part) -> int:
    """Repeats with which the interval of an undecided part would exclude the claimed bound.

    The width falls with the square root of the repeats; the ratio is assumed to be constant.
    """
    if part.repeats < 2:
        return LEAST_REPEATS
    ends = (part.ratio.low, part.ratio.high)
    bounds = [bound for bound in (part.low, part.high) if ends[0] <= bound <= ends[1]]
    widths = []
    for bound in bounds:
        toward = ends[0] if bound < part.ratio.median else ends[1]
        have = abs(_log(part.ratio.median) - _log(toward))
        lack = abs(_log(part.ratio.median) - _log(bound))
        widths.append(have / lack if lack > 0 else math.inf)
    widest = min(max(widths, default=1.0), 1e6)
    return max(part.repeats + 1, math.ceil(part.repeats * widest**2))


LEAST_REPEATS = 3
"""Least repeats for an estimate of the spread."""


def _log(value: float) -> float:
    return math.log(max(value, 1 / FAR))


def quantity(claim: Table) -> str:
    """Name of the measure of a claim, in words."""
    measure = str(claim.get(MEASURE, ""))
    if not measure:
        return "of what each is measured by"
    kind, _, name = measure.partition(" ")
    if kind == "phase":
        return f"time in {name}"
    if kind == "rate":
        return f"rate of {name}"
    return name.replace("_", " ") if kind in _NAMED else _QUANTITIES.get(measure, measure)


def _named(factors: Factors, side: Table, other: Table) -> str:
    """Name a side by the levels that differ from the other side."""
    differing = {key: value for key, value in side.items() if other.get(key) != value} or side
    titles = [factors.title(key, value) for key, value in differing.items() if key != MEASURE]
    if MEASURE in differing:
        titles.append(quantity(differing))
    return ", ".join(titles) or "it"


def _at(factors: Factors, part: Part) -> str:
    return "".join(
        f" {_preposition(factors, *chosen)} {factors.title(*chosen)}"
        for chosen in part.levels.items()
    )


def _preposition(factors: Factors, factor: str, level: str) -> str:
    """Preposition before a level: `at` a value, `for` other levels."""
    rows = (row for row in factors.levels(factor) if row["name"] == level)
    return "for" if next(rows, {}).get("value") is None else "at"


def _shown(parts: Sequence[Part]) -> list[Part]:
    """Select the parts that are listed."""
    if len(parts) <= _SHOWN:
        return list(parts)
    ordered = sorted(parts, key=lambda part: part.ratio.median)
    against = [part for part in parts if part.refuted][: _SHOWN - 2]
    chosen = [ordered[0], *against, ordered[-1]]
    return [part for part in parts if part in chosen]


def _listed(phrases: Sequence[str]) -> str:
    return phrases[0] if len(phrases) == 1 else f"{', '.join(phrases[:-1])} and {phrases[-1]}"


def _interval(part: Part, *, inverse: bool = False) -> str:
    return f"{_number(part.ratio.median, inverse=inverse)} ({_bounds(part, inverse=inverse)})"


def _bounds(part: Part, *, inverse: bool = False) -> str:
    ends = (part.ratio.high, part.ratio.low) if inverse else (part.ratio.low, part.ratio.high)
    if ends in ((1 / FAR, FAR), (FAR, 1 / FAR), (-FAR, FAR)):
        return "one run alone"
    return " to ".join(_number(end, inverse=inverse) for end in ends)


def _number(value: float, *, inverse: bool = False) -> str:
    """Format a ratio with three figures."""
    value = 1 / max(value, 1 / FAR) if inverse else value
    if abs(value) >= 1000:
        return "over 1000"
    return (
        f"{value:.0f}"
        if abs(value) >= 100
        else f"{value:.3g}"
        if abs(value) >= 1
        else f"{value:.2f}"
    )
