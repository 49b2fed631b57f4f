"""Rules on claims and plots: 1 (base), 4 (ratios), 7 (comparison), 12 (plots)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isfinite
from typing import Any

from cuesta_lab.study.evidence import (
    Breach,
    Evidence,
    Fields,
    Judgement,
    does_not_apply,
    judged,
    samples,
    some,
)

LEVELS_MIN = 3
"""Least levels of a factor over which a claim holds, unless it has fewer."""
_HOLDS = "holds"
_DECIDED = (_HOLDS, "does not hold")
_JOINED = ("lines", "efficiency")


def base(evidence: Evidence) -> Judgement:
    """Check that the base case of each claimed or drawn speed-up was measured."""
    ratios = [
        claim for claim in evidence.claims if claim.get("than") and claim.get("verdict") in _DECIDED
    ]
    views = [
        view for view in evidence.result.get("views") or () if view.get("kind") == "efficiency"
    ]
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
    """Check that the least level of an efficiency's factor, its base, was measured."""
    across = str(view.get("across") or "")
    levels = [level for level in evidence.factors.get(across, ()) if level.get("value") is not None]
    if not levels:
        return
    first = min(levels, key=lambda level: float(level["value"]))
    where = {**(view.get("where") or {}), across: first["name"]}
    if not any(samples(cell, _measure(view)) for cell in evidence.matching(where)):
        yield Breach(
            text=f"An efficiency is drawn over {across}, whose least level {first['name']} was "
            "not measured."
        )


def ratios(evidence: Evidence) -> Judgement:
    """Check that each claim fixes all factors that it does not vary, so that no ratio is a mean."""
    if not evidence.claims:
        return does_not_apply("nothing is claimed")
    breaches = []
    for claim in evidence.claims:
        named = {str(claim.get(name) or "") for name in ("over", "mean")}
        named |= {*(claim.get("where") or {})}
        sides: Sequence[Any] = [claim.get(name) for name in ("faster", "than", "steadier")]
        sides = [*sides, *(claim.get("same") or ()), *(claim.get("order") or ())]
        for side in sides:
            named |= set(side or {})
        free = [name for name, levels in evidence.factors.items() if len(levels) > 1]
        free = [name for name in free if name not in named]
        if free:
            text = f"`{claim.get('name')}` leaves {', '.join(free)} open, and so is an average."
            breaches.append(Breach(text=text))
    return judged(
        breaches, "every claim fixes each factor, or names that of its mean; ratios are of medians"
    )


def comparison(evidence: Evidence) -> Judgement:
    """Check that verdicts have intervals at all levels, and hold at three, or all, levels."""
    judged_claims = [claim for claim in evidence.claims if claim.get("verdict") in _DECIDED]
    if not judged_claims:
        return does_not_apply("no claim has a verdict")
    breaches = [breach for claim in judged_claims for breach in _unsound(evidence, claim)]
    return judged(breaches, f"{len(judged_claims)} verdicts, each by intervals")


def _unsound(evidence: Evidence, claim: Fields) -> Iterator[Breach]:
    name, parts = claim.get("name"), claim.get("parts") or ()
    bare = [part for part in parts if not _has_interval(part.get("ratio") or {})]
    if bare or not parts:
        where = some([str(part.get("levels") or "all") for part in bare]) or "anywhere"
        text = f"`{name}` has a verdict without an interval ({where})."
        yield Breach(text=text, grave=True)
    if claim["verdict"] == _HOLDS:
        failing = [part for part in parts if part.get("holds") is False]
        if failing:
            text = f"`{name}` is said to hold though it does not at {failing[0].get('levels')}."
            yield Breach(text=text, grave=True)
        over = str(claim.get("over") or "")
        exist = len(evidence.factors.get(over, ()))
        levels = {(part.get("levels") or {}).get(over) for part in parts} - {None}
        # A trend has parts only at the levels after the first.
        least = min(LEVELS_MIN, exist) - ("trend" in claim)
        if over and levels and len(levels) < least:
            text = f"`{name}` is said to hold over {over}, of which {len(levels)} levels were seen."
            yield Breach(text=text)


def _has_interval(ratio: Fields) -> bool:
    ends = [ratio.get("low"), ratio.get("high")]
    return all(isinstance(end, (int, float)) and isfinite(end) for end in ends)


def plots(evidence: Evidence) -> Judgement:
    """Check that lines are drawn only over factors whose levels are numbers."""
    lines = [view for view in evidence.result.get("views") or () if view.get("kind") in _JOINED]
    if not lines:
        return does_not_apply("no lines are asked for")
    breaches = []
    for view in lines:
        across = str(view.get("across") or "")
        words = [level for level in evidence.factors.get(across, ()) if level.get("value") is None]
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
    return evidence.matching({name: level for name, level in named.items() if name != "measure"})


def _measure(view: Fields) -> str:
    return str(view.get("measure") or "work")
