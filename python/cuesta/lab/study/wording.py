"""A claim's result in one sentence, with its figures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from cuesta.lab.study.comparisons import (
    HOLDS,
    MEASURE,
    UNDECIDED,
    ClaimComparisons,
    Factors,
    Part,
)
from cuesta.lab.study.intervals import FAR

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
"""Levels that are listed; of more, the lowest and the highest."""
_REPEATS_MOST = 100
"""A difference that takes more repeats than this to see is too small to look for."""

Table = Mapping[str, Any]


def sentence(claim: Table, factors: Factors, found: ClaimComparisons) -> str:
    """What was found of a claim, with the intervals that decide it."""
    where = [
        factors.title(name, level)
        for name, level in claim.get("where", {}).items()
        if name != MEASURE
    ]
    opening = f"{', '.join(where)}: " if where else ""
    told = _told(claim, factors, found)
    return f"{opening}{told}{_closing(claim, factors, found)}."


def _told(claim: Table, factors: Factors, found: ClaimComparisons) -> str:
    if not found.parts:
        return "nothing to compare"
    if "exponent" in claim:
        title = next(row["title"] or row["name"] for row in factors.rows if _is(row, claim))
        told = _interval(found.parts[0], inverse=False)
        bent = [f"{_interval(part)} up{_at(factors, part)}" for part in found.parts[1:]]
        bends = f", but to {_listed(bent)}" if bent else ""
        return f"{quantity(claim)} went with {title} to the power {told}{bends}"
    if "trend" in claim:
        return _trend(claim, factors, found)
    if "same" in claim:
        return _same(claim, factors, found)
    return _faster(claim, factors, found)


def _is(row: Table, claim: Table) -> bool:
    return bool(row["name"] == claim["over"])


def _faster(claim: Table, factors: Factors, found: ClaimComparisons) -> str:
    first = _named(factors, claim["faster"], claim["than"])
    second = _named(factors, claim["than"], claim["faster"])
    return _compared(claim, factors, found, (second, first))


def _same(claim: Table, factors: Factors, found: ClaimComparisons) -> str:
    first, *others = claim["same"]
    titles = " and ".join(_named(factors, other, first) for other in others)
    return _compared(claim, factors, found, (titles, _named(factors, first, others[0])))


def _compared(
    claim: Table, factors: Factors, found: ClaimComparisons, sides: tuple[str, str]
) -> str:
    """How many times what is measured of the second side it was on the first, by level."""
    told: list[str] = []
    for part in _shown(found.parts):
        words = _number(part.ratio.median)
        if not told:
            that = "that of " if MEASURE in claim else ""
            words = f"{words} times {that}{sides[1]}"
        told.append(f"{words}{_at(factors, part)} ({_bounds(part)})")
    whose = f"{quantity(claim)} of {sides[0]}" if MEASURE in claim else sides[0]
    return f"{whose} was {_listed(told)}"


def _trend(claim: Table, factors: Factors, found: ClaimComparisons) -> str:
    over = claim["over"]
    titles = {
        row["name"]: factors.title(over, row["name"])
        for row in factors.levels(over)
        if factors.is_planned({**claim.get("where", {}), over: row["name"]})
    }
    run = [name for name in titles if name not in found.missing]
    falls = claim["trend"] == "falls"
    if claim["trend"] == "flat":
        told = [f"{_interval(part)}{_at(factors, part)}" for part in _shown(found.parts)]
        return f"{quantity(claim)} was, as a multiple of that at {titles[run[0]]}, {_listed(told)}"
    steps = found.parts[: len(run) - 1]
    told = [f"{_interval(part, inverse=falls)}{_at(factors, part)}" for part in _shown(steps)]
    whole = ""
    if len(found.parts) > 1:
        moved = _interval(found.parts[-1], inverse=falls)
        whole = f", and {moved} from {titles[run[0]]} to {titles[run[-1]]}"
    return f"{quantity(claim)} was, as a multiple of that a level before, {_listed(told)}{whole}"


def _closing(claim: Table, factors: Factors, found: ClaimComparisons) -> str:
    """What was claimed, and what lacks to decide."""
    told = ""
    if "faster" in claim:
        below = f" and less than {claim['under']:g}" if "under" in claim else ""
        told = f"; claimed: more than {claim.get('by', 1):g}{below}"
    elif "exponent" in claim:
        told = f"; claimed: {claim['exponent'][0]:g} to {claim['exponent'][1]:g}"
    elif "within" in claim:
        told = f"; claimed: within {claim['within']:g} times"
    if not found.parts and not found.missing:
        return "; no verified run on a side"
    if found.missing:
        names = ", ".join(_missing_title(claim, factors, name) for name in found.missing)
        told += f"; no verified run to compare at {names}"
    if found.verdict == UNDECIDED and any(part.verdict == UNDECIDED for part in found.parts):
        told += f"; {_lacking(found.parts)}"
    elif found.verdict == UNDECIDED and len(found.parts) < found.needed:
        told += "; too few levels to decide"
    return told


def _missing_title(claim: Table, factors: Factors, name: str) -> str:
    """Of a level of what a claim must hold over, or else of one that a side names."""
    named = [claim["over"]] if "over" in claim else [row["name"] for row in factors.rows]
    titles = (factors.title(factor, name) for factor in named)
    return next((title for title in titles if title != name), name)


def _lacking(parts: Sequence[Part]) -> str:
    """How many repeats would decide the parts that are not."""
    needed = max(repeats_to_decide(part) for part in parts if part.verdict != HOLDS)
    if needed > _REPEATS_MOST:
        return f"more than {_REPEATS_MOST} repeats would be needed to decide"
    return f"about {needed} repeats would be needed to decide"


def repeats_to_decide(part: Part) -> int:
    """Repeats with which the interval of an undecided part would leave the claimed bound.

    The width falls with the square root of the repeats, and the ratio is taken to stay.
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
"""Fewer say nothing of the spread."""


def _log(value: float) -> float:
    return math.log(max(value, 1 / FAR))


def quantity(claim: Table) -> str:
    """What a claim measures, in words."""
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
    """A side by the levels that tell it from the other."""
    own = {key: value for key, value in side.items() if other.get(key) != value} or side
    titles = [factors.title(key, value) for key, value in own.items() if key != MEASURE]
    if MEASURE in own:
        titles.append(quantity(own))
    return ", ".join(titles) or "it"


def _at(factors: Factors, part: Part) -> str:
    return "".join(
        f" {_preposition(factors, *chosen)} {factors.title(*chosen)}"
        for chosen in part.levels.items()
    )


def _preposition(factors: Factors, factor: str, level: str) -> str:
    """At a value, for a thing."""
    rows = (row for row in factors.levels(factor) if row["name"] == level)
    return "for" if next(rows, {}).get("value") is None else "at"


def _shown(parts: Sequence[Part]) -> list[Part]:
    """The parts that are listed."""
    if len(parts) <= _SHOWN:
        return list(parts)
    ordered = sorted(parts, key=lambda part: part.ratio.median)
    against = [part for part in parts if part.refuted][: _SHOWN - 2]
    chosen = [ordered[0], *against, ordered[-1]]
    return [part for part in parts if part in chosen]


def _listed(told: Sequence[str]) -> str:
    return told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"


def _interval(part: Part, *, inverse: bool = False) -> str:
    return f"{_number(part.ratio.median, inverse=inverse)} ({_bounds(part, inverse=inverse)})"


def _bounds(part: Part, *, inverse: bool = False) -> str:
    ends = (part.ratio.high, part.ratio.low) if inverse else (part.ratio.low, part.ratio.high)
    if ends in ((1 / FAR, FAR), (FAR, 1 / FAR), (-FAR, FAR)):
        return "one run alone"
    return " to ".join(_number(end, inverse=inverse) for end in ends)


def _number(value: float, *, inverse: bool = False) -> str:
    """A ratio with three figures."""
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
