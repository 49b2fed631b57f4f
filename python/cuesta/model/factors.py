"""Limits of memory, disks and links that runs had, and how far from them a question may be.

What such a limit does is known where runs differ in it. A question within their range is answered;
one beyond it up to `BEYOND` times where the fit has a term for it, up to `UNSEEN` times, with a
wider interval, where it has none, and not at all where all runs had the same limit. A limit that
cannot matter is no reason to refuse.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cuesta.model.candidates import NOISE
from cuesta.model.observed import Observed
from cuesta.model.terms import term

MEMORY = "memory_bytes"
TERMS = {
    MEMORY: ("spilled", "spilled-2", "beyond-1", "beyond-2"),
    "disk_bytes_per_s": ("disk",),
    "link_bytes_per_s": ("links",),
}
"""Each limit with the terms that know of it."""
BEYOND = 4.0
"""How many times tighter, or looser, than any measured limit one may be that a term describes."""
UNSEEN = 2.0
"""The same where runs differ in the limit and no term shows that it mattered to them."""
SAME = 1.1
"""Limits that differ by less are one."""
COPIES = 2.0
"""Copies of its data that a node holds at most: with room for them memory does not matter. The
terms know of as many."""
PASSES = 4.0
"""How often a run moves its data at most, where nobody measured it; a guess."""
FITTED = 0.5
"""Weight of the forms with a term from which on the runs are said to show it."""


@dataclass(frozen=True, kw_only=True)
class Reach:
    """Whether the limits of a question are near enough, and what distance does to its interval.

    Attributes
    ----------
    refused
        Why they are not; empty where they are.
    faster, slower
        What the ends of the interval are multiplied with.
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
        """How many times tighter or looser a value is than the nearest one; 1 or more."""
        near = self.nearest(value)
        return max(value / near, near / value) if math.isfinite(near * value) else math.inf


def ranges(runs: Sequence[Observed]) -> dict[str, Any]:
    """By limit that any of the runs had: `low`, `high`, and whether some had none (`without`).

    Memory has `room` too, from the least to the most copies of the data of a node that it holds,
    null for any number of them, where the size of the data is known.
    """
    found: dict[str, Any] = {}
    for name in TERMS:
        values = [one.factors[name] for one in runs if name in one.factors]
        if values:
            low, high = min(values), max(values)
            found[name] = {"low": low, "high": high, "without": len(values) < len(runs)}
    if MEMORY in found:
        rooms = [room for one in runs if (room := _room(one)) is not None]
        if len(rooms) == len(runs):
            ends = (min(rooms), max(rooms))
            found[MEMORY]["room"] = [end if math.isfinite(end) else None for end in ends]
    return found


def completed(found: Mapping[str, Any], asked: Observed) -> Observed:
    """The question with the limits that all runs had alike, where it names no other."""
    common = {name: one["low"] for name, one in found.items() if not _span(one).varies}
    return replace(asked, factors={**common, **asked.factors})


def reach(group: Mapping[str, Any], asked: Observed, seconds: float) -> Reach:
    """How far the limits of a question, which is predicted to take `seconds`, are from the runs'.

    A model file from before its groups had `range.factors` answers questions without limits only.
    """
    found = group["range"].get("factors")
    if found is None:
        if not asked.factors:
            return Reach()
        names = ", ".join(asked.factors)
        return Reach(refused=f"the model does not say what {names} its runs had; fit it anew")
    parts = [_reach(name, group, asked, seconds) for name in TERMS]
    return Reach(
        refused=next((one.refused for one in parts if one.refused), ""),
        faster=math.prod(one.faster for one in parts),
        slower=math.prod(one.slower for one in parts),
    )


def _reach(name: str, group: Mapping[str, Any], asked: Observed, seconds: float) -> Reach:
    """The same of one limit."""
    found = group["range"]["factors"].get(name)
    weight = _weight(group["views"]["overall"], TERMS[name])
    room = _room(asked) if name == MEMORY and "room" in (found or {"room": None}) else None
    if room is not None:
        held, rooms = min(COPIES, room), _rooms(found)
        return _near(held, rooms, weight) or Reach(refused=_no_room(held, rooms))
    given, span = asked.factors.get(name, math.inf), _span(found)
    if span.holds(given):
        return Reach()
    moves = _passes(name, asked, given, span.nearest(given))
    if moves is None:
        return Reach(refused=_unmeasured(name, given, span))
    if PASSES * moves <= NOISE * seconds:
        return Reach()
    return _near(given, span, weight) or Reach(refused=_unmeasured(name, given, span))


def _near(given: float, span: _Span, weight: float) -> Reach | None:
    """How a limit within or near the span of the runs is answered; None where it is too far.

    `weight` is that of the forms with a term for the limit. Without such a term the interval grows
    as if time were in proportion to the limit.
    """
    if span.holds(given):
        return Reach()
    ratio = span.ratio(given)
    if not span.varies or ratio > (BEYOND if weight >= FITTED else UNSEEN):
        return None
    if weight >= FITTED:
        return Reach()
    return Reach(slower=ratio) if given < span.low else Reach(faster=1 / ratio)


def _span(found: Mapping[str, Any] | None) -> _Span:
    if found is None:
        return _Span(low=math.inf, high=math.inf)
    return _Span(low=found["low"], high=math.inf if found["without"] else found["high"])


def _rooms(found: Mapping[str, Any] | None) -> _Span:
    """Copies of a node's data that its memory has room for, as far as that matters."""
    low, high = found["room"] if found else (None, None)
    return _Span(
        low=COPIES if low is None else min(COPIES, low),
        high=COPIES if high is None else min(COPIES, high),
    )


def _room(one: Observed) -> float | None:
    """How many copies of a node's data its memory has room for; None where nobody knows."""
    if one.data_bytes is None:
        return None
    return one.factors.get(MEMORY, math.inf) * one.nodes / one.data_bytes


def _passes(name: str, asked: Observed, given: float, near: float) -> float | None:
    """Seconds between a pass over the data at one rate and at another; None where nobody knows."""
    if name == MEMORY:
        return None
    (only,) = TERMS[name]
    first, second = (
        term(only).value(replace(asked, factors={name: rate})) for rate in (given, near)
    )
    return None if first is None or second is None else abs(first - second)


def _weight(forms: Sequence[Mapping[str, Any]], names: Iterable[str]) -> float:
    """Share of the weight that forms with one of these terms have."""
    wanted = frozenset(names)
    total = sum(one["weight"] for one in forms)
    having = sum(one["weight"] for one in forms if not wanted.isdisjoint(one["terms"]))
    return float(having / total) if total else 0.0


def _no_room(given: float, span: _Span) -> str:
    return (
        f"memory_bytes has room for {_copies(given)} of a node's data, the runs had room for"
        f" {_copies(span.low)}{f' to {_copies(span.high)}' if span.varies else ''}; measure a run"
        f" with room for about {_copies(given)}"
    )


def _copies(room: float) -> str:
    if room >= COPIES:
        return f"{COPIES:g} or more copies"
    return f"{room:.2g} copies"


def _unmeasured(name: str, given: float, span: _Span) -> str:
    if math.isinf(span.low):
        runs = "no run had such a limit"
    elif math.isinf(span.high):
        runs = f"the runs had {span.low:.3g} and more, or none"
    elif span.varies:
        runs = f"the runs had {span.low:.3g} to {span.high:.3g}"
    else:
        runs = f"all runs had {span.low:.3g}"
    if math.isinf(given):
        return f"the question has no {name}, {runs}; give it, or measure a run without it"
    return f"{name} is {given:.3g}, {runs}; measure a run with about {given:.3g}"
