"""Rules on what is said and drawn: 1 (base), 4 (ratios), 7 (comparison), 12 (plots)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any

from cuesta.lab.study.evidence import (
    Breach,
    Evidence,
    Fields,
    Judged,
    does_not_apply,
    judged,
    samples,
    some,
)

LEVELS_MIN = 3
"""A factor over which something holds has so many levels, or all that there are."""
_HOLDS = "holds"
_SAID = (_HOLDS, "does not hold")
_JOINED = ("lines", "efficiency")


def base(evidence: Evidence) -> Judged:
    """What something is called faster than, or scales from, was measured itself."""
    ratios = [one for one in evidence.claims if one.get("than") and one.get("verdict") in _SAID]
    views = [one for one in evidence.result.get("views") or () if one.get("kind") == "efficiency"]
    if not ratios and not views:
        return does_not_apply("no speed-up is claimed or drawn")
    breaches = [
        Breach(
            text=f"`{claim.get('name')}` names a ratio whose base case {claim['than']} was not "
            "measured."
        )
        for claim in ratios
        if not any(
            samples(cell, _measure({**claim, **claim["than"]}))
            for cell in _cells(evidence, claim, "than")
        )
    ]
    for view in views:
        breaches += _without_base(evidence, view)
    return judged(breaches, "the time of each base case stands in the result")


def _without_base(evidence: Evidence, view: Fields) -> Iterator[Breach]:
    """An efficiency is held against the least level of its factor."""
    across = str(view.get("across") or "")
    levels = [one for one in evidence.factors.get(across, ()) if one.get("value") is not None]
    if not levels:
        return
    first = min(levels, key=lambda one: float(one["value"]))
    where = {**(view.get("where") or {}), across: first["name"]}
    if not any(samples(cell, _measure(view)) for cell in evidence.matching(where)):
        yield Breach(
            text=f"An efficiency is drawn over {across}, whose least level {first['name']} was "
            "not measured."
        )


def ratios(evidence: Evidence) -> Judged:
    """A claim fixes all that it does not vary, so that no ratio is an average over anything."""
    if not evidence.claims:
        return does_not_apply("nothing is claimed")
    breaches = []
    for claim in evidence.claims:
        named = {str(claim.get("over") or ""), *(claim.get("where") or {})}
        sides: Sequence[Any] = [claim.get("faster"), claim.get("than"), *(claim.get("same") or ())]
        for side in sides:
            named |= set(side or {})
        free = [name for name, levels in evidence.factors.items() if len(levels) > 1]
        free = [name for name in free if name not in named]
        if free:
            text = f"`{claim.get('name')}` leaves {', '.join(free)} open, and so is an average."
            breaches.append(Breach(text=text))
    return judged(breaches, "every claim fixes each factor; ratios are of medians")


def comparison(evidence: Evidence) -> Judged:
    """A verdict has an interval for each level, and holds at three levels or at all there are."""
    said = [one for one in evidence.claims if one.get("verdict") in _SAID]
    if not said:
        return does_not_apply("no claim has a verdict")
    breaches = [breach for claim in said for breach in _unsound(evidence, claim)]
    return judged(breaches, f"{len(said)} verdicts, each by intervals")


def _unsound(evidence: Evidence, claim: Fields) -> Iterator[Breach]:
    name, parts = claim.get("name"), claim.get("parts") or ()
    bare = [one for one in parts if not _has_interval(one.get("ratio") or {})]
    if bare or not parts:
        where = some([str(one.get("levels") or "all") for one in bare]) or "anywhere"
        text = f"`{name}` has a verdict without an interval ({where})."
        yield Breach(text=text, grave=True)
    if claim["verdict"] == _HOLDS:
        failing = [one for one in parts if one.get("holds") is False]
        if failing:
            text = f"`{name}` is said to hold though it does not at {failing[0].get('levels')}."
            yield Breach(text=text, grave=True)
        over = str(claim.get("over") or "")
        exist = len(evidence.factors.get(over, ()))
        levels = {(one.get("levels") or {}).get(over) for one in parts} - {None}
        # A trend is seen at the levels after the first.
        least = min(LEVELS_MIN, exist) - ("trend" in claim)
        if over and levels and len(levels) < least:
            text = f"`{name}` is said to hold over {over}, of which {len(levels)} levels were seen."
            yield Breach(text=text)


def _has_interval(ratio: Fields) -> bool:
    ends = [ratio.get("low"), ratio.get("high")]
    return all(isinstance(one, (int, float)) and isfinite(one) for one in ends)


def plots(evidence: Evidence) -> Judged:
    """A line is drawn only over a factor whose levels are numbers."""
    lines = [one for one in evidence.result.get("views") or () if one.get("kind") in _JOINED]
    if not lines:
        return does_not_apply("no lines are asked for")
    breaches = []
    for view in lines:
        across = str(view.get("across") or "")
        words = [one for one in evidence.factors.get(across, ()) if one.get("value") is None]
        if words:
            breaches.append(
                Breach(
                    text=f"A line over {across} would join levels with nothing between them, such "
                    f'as {words[0]["name"]}; `kind = "bars"` draws them apart.'
                )
            )
    return judged(breaches, "lines run over numbers only")


def _cells(evidence: Evidence, claim: Fields, side: str) -> list[Fields]:
    named = {**(claim.get("where") or {}), **claim[side]}
    return evidence.matching({name: one for name, one in named.items() if name != "measure"})


def _measure(view: Fields) -> str:
    return str(view.get("measure") or "work")
