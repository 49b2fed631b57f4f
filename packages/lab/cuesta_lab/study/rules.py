"""Automatic check of a study's result by the twelve rules of Hoefler and Belli.

Source: Hoefler and Belli, Scientific Benchmarking of Parallel Computing Systems, SC 2015. Before
them comes a rule of Cuesta: every answer is verified. A study that gravely breaks a rule of
`cuesta.lab.rules.SPOILING` has figures that must not be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cuesta.lab.rules import SPOILING
from cuesta_lab.study import rules_claims, rules_setup, rules_times
from cuesta_lab.study.evidence import Breach, Evidence, Judgement

MET = "met"
BROKEN = "broken"
DOES_NOT_APPLY = "does not apply"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule: its number in the paper, a short name, a sentence, and its check."""

    number: int
    name: str
    text: str
    judge: Callable[[Evidence], Judgement]


@dataclass(frozen=True, kw_only=True)
class Ruling:
    """Result of a rule; `text` is the evidence that it is met, or the reason it does not apply."""

    rule: Rule
    state: str
    text: str = ""
    breaches: tuple[Breach, ...] = ()


RULES = (
    Rule(
        number=0,
        name="verification",
        text="Every answer is verified, and equal where it must be.",
        judge=rules_setup.verification,
    ),
    Rule(
        number=1,
        name="base",
        text="With a speed-up stands its base case, and the time of that.",
        judge=rules_claims.base,
    ),
    Rule(
        number=2,
        name="selection",
        text="What was not run or not used has a reason.",
        judge=rules_setup.selection,
    ),
    Rule(
        number=3,
        name="means",
        text="Arithmetic means are of costs only, harmonic ones of rates.",
        judge=rules_times.means,
    ),
    Rule(
        number=4,
        name="ratios",
        text="Ratios are not averaged but by their geometric mean.",
        judge=rules_claims.ratios,
    ),
    Rule(
        number=5,
        name="intervals",
        text="What is not deterministic has an interval.",
        judge=rules_times.intervals,
    ),
    Rule(
        number=6,
        name="normality",
        text="Nothing is taken for normal without a test.",
        judge=rules_times.normality,
    ),
    Rule(
        number=7,
        name="comparison",
        text="What is said to differ differs beyond its intervals.",
        judge=rules_claims.comparison,
    ),
    Rule(
        number=8,
        name="summary",
        text="The median sums up what was measured.",
        judge=rules_times.summary,
    ),
    Rule(
        number=9,
        name="provenance",
        text="Every factor, its levels, and all of the set-up are recorded.",
        judge=rules_setup.provenance,
    ),
    Rule(
        number=10,
        name="timing",
        text="How parallel time was measured is recorded, and how busy the machine was.",
        judge=rules_times.timing,
    ),
    Rule(
        number=11,
        name="bounds",
        text="Upper bounds of the machine stand beside what it did.",
        judge=rules_setup.bounds,
    ),
    Rule(
        number=12,
        name="plots",
        text="Lines join only points with something between them.",
        judge=rules_claims.plots,
    ),
)


def rulings(
    result: Mapping[str, Any], records: Mapping[str, Mapping[str, Any]]
) -> tuple[Ruling, ...]:
    """Check all rules, in their order.

    Arguments: `result` is a `study.json`; `records` are its existing run records, by their
    places.
    """
    evidence = Evidence(result=result, records=records)
    return tuple(_ruling(rule, rule.judge(evidence)) for rule in RULES)


def alarms(
    result: Mapping[str, Any], records: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """List all breaches: `rule` (its name), `number`, `text`, `grave`; grave ones first."""
    breaches = [
        {
            "rule": ruling.rule.name,
            "number": ruling.rule.number,
            "text": breach.text,
            "grave": breach.grave,
        }
        for ruling in rulings(result, records)
        for breach in ruling.breaches
    ]
    return sorted(breaches, key=lambda alarm: not alarm["grave"])


def comparable(breaches: list[dict[str, Any]]) -> bool:
    """Whether figures may be compared in spite of these alarms."""
    return not any(alarm["grave"] and alarm["rule"] in SPOILING for alarm in breaches)


def lines(results: tuple[Ruling, ...]) -> Iterator[str]:
    """Yield a line for each rule, and for each breach."""
    for ruling in results:
        number = str(ruling.rule.number or "-")
        yield f"{number:>2} {ruling.state:15} {ruling.rule.text} {ruling.text}".rstrip()
        for breach in ruling.breaches:
            yield f"{'':19}{'!' if breach.grave else '-'} {breach.text}"


def _ruling(rule: Rule, judged: Judgement) -> Ruling:
    if judged.breaches:
        return Ruling(rule=rule, state=BROKEN, breaches=judged.breaches)
    state = MET if judged.applies else DOES_NOT_APPLY
    return Ruling(rule=rule, state=state, text=judged.text)
