"""Limits of memory, disks and links that runs had, and the distance from them that is answered.

The effect of a limit is known if the runs differ in it. A question within their range is answered.
A question beyond it is answered up to `BEYOND` times if the fit has a term for the limit, and up to
`UNSEEN` times, with a wider interval, if it has none. It is refused if all runs had the same limit,
unless the limit cannot matter.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cuesta_lab.model.candidates import NOISE
from cuesta_lab.model.observed import Observation
from cuesta_lab.model.terms import term

MEMORY = "memory_bytes"
TERMS = {
    MEMORY: ("spilled", "spilled-2", "beyond-1", "beyond-2"),
    "disk_bytes_per_s": ("disk",),
    "link_bytes_per_s": ("links",),
}
"""Terms that describe each limit."""
BEYOND = 4.0
"""Largest ratio of a limit to the nearest one measured, where a term describes the limit."""
UNSEEN = 2.0
"""Largest such ratio where runs differ in the limit but no term shows an effect."""
SAME = 1.1
"""Smallest ratio of two limits that counts as a difference."""
COPIES = 2.0
"""Most copies of its data that a node holds; with room for them memory does not matter. The terms
describe as many."""
PASSES = 4.0
"""Assumed upper bound of the passes of a run over its data; not measured."""
FITTED = 0.5
"""Least weight of the forms with a term for the runs to count as showing its effect."""


@dataclass(frozen=True, kw_only=True)
class Reach:
    """Verdict on the distance of a question's limits from those of the runs.

    Attributes
    ----------
    refused
        Reason why they are too far; empty if they are not.
    faster, slower
        Factors for the low and the high end of the interval.
    """

    refused: str = ""
    faster: float = 1.0
    slower: float = 1.0


@dataclass(frozen=True, kw_only=True)
class _Span:
    """The tightest and the loosest limit of the runs; infinite for none."""

    low: float
    high: float

    @property
    def varies(self) -> bool:
        return self.high > SAME * self.low

    def holds(self, value: float) -> bool:
        return self.low / SAME <= value <= self.high * SAME

    def nearest(self, value: float) -> float:
        return self.low if value < self.low else self.high

    def ratio(self, value: float) -> float:
        """Ratio of a value to the nearest end of the span, 1 or more in either direction."""
        near = self.nearest(value)
        return max(value / near, near / value) if math.isfinite(near * value) else math.inf


def ranges(runs: Sequence[Observation]) -> dict[str, Any]:
    """Return `low`, `high` and `without` (whether some runs had none) for each limit of the runs.

    Memory also has `room` if the size of the data is known: the fewest and the most copies of a
    node's data that it holds, null for any number of copies.
    """
    limits: dict[str, Any] = {}
    for name in TERMS:
        values = [run.factors[name] for run in runs if name in run.factors]
        if values:
            low, high = min(values), max(values)
            limits[name] = {"low": low, "high": high, "without": len(values) < len(runs)}
    if MEMORY in limits:
        rooms = [room for run in runs if (room := _room(run)) is not None]
        if len(rooms) == len(runs):
            ends = (min(rooms), max(rooms))
            limits[MEMORY]["room"] = [end if math.isfinite(end) else None for end in ends]
    return limits


def with_common_limits(limits: Mapping[str, Any], question: Observation) -> Observation:
    """Add to a question the limits that all runs had in common, unless it has its own."""
    common = {name: limit["low"] for name, limit in limits.items() if not _span(limit).varies}
    return replace(question, factors={**common, **question.factors})


def reach(group: Mapping[str, Any], question: Observation, seconds: float) -> Reach:
    """Check the distance of a question's limits from the runs'; `seconds` is its predicted time.

    An older model file, without `range.factors` in its groups, answers questions without limits.
    """
    limits = group["range"].get("factors")
    if limits is None:
        if not question.factors:
            return Reach()
        names = ", ".join(question.factors)
        return Reach(refused=f"the model does not say what {names} its runs had; fit it anew")
    parts = [_reach(name, group, question, seconds) for name in TERMS]
    return Reach(
        refused=next((part.refused for part in parts if part.refused), ""),
        faster=math.prod(part.faster for part in parts),
        slower=math.prod(part.slower for part in parts),
    )


def _reach(name: str, group: Mapping[str, Any], question: Observation, seconds: float) -> Reach:
    """Check one limit as `reach` does all."""
    limits = group["range"]["factors"].get(name)
    weight = _weight(group["views"]["overall"], TERMS[name])
    room = _room(question) if name == MEMORY and "room" in (limits or {"room": None}) else None
    if room is not None:
        held, rooms = min(COPIES, room), _rooms(limits)
        return _near(held, rooms, weight) or Reach(refused=_no_room(held, rooms))
    limit, span = question.factors.get(name, math.inf), _span(limits)
    if span.holds(limit):
        return Reach()
    moves = _passes(name, question, limit, span.nearest(limit))
    if moves is None:
        return Reach(refused=_unmeasured(name, limit, span))
    if PASSES * moves <= NOISE * seconds:
        return Reach()
    return _near(limit, span, weight) or Reach(refused=_unmeasured(name, limit, span))


def _near(limit: float, span: _Span, weight: float) -> Reach | None:
    """Judge a limit within or near the span of the runs; None if it is too far.

    `weight` is that of the forms with a term for the limit. Without such a term the interval grows
    as if time were in proportion to the limit.
    """
    if span.holds(limit):
        return Reach()
    ratio = span.ratio(limit)
    if not span.varies or ratio > (BEYOND if weight >= FITTED else UNSEEN):
        return None
    if weight >= FITTED:
        return Reach()
    return Reach(slower=ratio) if limit < span.low else Reach(faster=1 / ratio)


def _span(limits: Mapping[str, Any] | None) -> _Span:
    if limits is None:
        return _Span(low=math.inf, high=math.inf)
    return _Span(low=limits["low"], high=math.inf if limits["without"] else limits["high"])


def _rooms(limits: Mapping[str, Any] | None) -> _Span:
    """Span of the copies of a node's data that its memory holds, capped at `COPIES`."""
    low, high = limits["room"] if limits else (None, None)
    return _Span(
        low=COPIES if low is None else min(COPIES, low),
        high=COPIES if high is None else min(COPIES, high),
    )


def _room(run: Observation) -> float | None:
    """Count the copies of a node's data that its memory holds; None if the data size is unknown."""
    if run.data_bytes is None:
        return None
    return run.factors.get(MEMORY, math.inf) * run.nodes / run.data_bytes


def _passes(name: str, question: Observation, limit: float, near: float) -> float | None:
    """Difference in seconds of a pass over the data at two rates; None if unknown."""
    if name == MEMORY:
        return None
    (only,) = TERMS[name]
    first, second = (
        term(only).value(replace(question, factors={name: rate})) for rate in (limit, near)
    )
    return None if first is None or second is None else abs(first - second)


def _weight(forms: Sequence[Mapping[str, Any]], names: Iterable[str]) -> float:
    """Share of the weight of the forms with any of these terms."""
    wanted = frozenset(names)
    total = sum(form["weight"] for form in forms)
    having = sum(form["weight"] for form in forms if not wanted.isdisjoint(form["terms"]))
    return float(having / total) if total else 0.0


def _no_room(room: float, span: _Span) -> str:
    return (
        f"memory_bytes has room for {_copies(room)} of a node's data, the runs had room for"
        f" {_copies(span.low)}{f' to {_copies(span.high)}' if span.varies else ''}; measure a run"
        f" with room for about {_copies(room)}"
    )


def _copies(room: float) -> str:
    if room >= COPIES:
        return f"{COPIES:g} or more copies"
    return f"{room:.2g} copies"


def _unmeasured(name: str, limit: float, span: _Span) -> str:
    if math.isinf(span.low):
        runs = "no run had such a limit"
    elif math.isinf(span.high):
        runs = f"the runs had {span.low:.3g} and more, or none"
    elif span.varies:
        runs = f"the runs had {span.low:.3g} to {span.high:.3g}"
    else:
        runs = f"all runs had {span.low:.3g}"
    if math.isinf(limit):
        return f"the question has no {name}, {runs}; give it, or measure a run without it"
    return f"{name} is {limit:.3g}, {runs}; measure a run with about {limit:.3g}"
