"""The twelve rules of Hoefler and Belli, held against the result of a study by machine.

Source: Hoefler and Belli, Scientific Benchmarking of Parallel Computing Systems, SC 2015. Before
them comes a rule of ours: every answer is verified. A study that breaks a rule of `SPOILING`
gravely has figures that nobody may compare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cuesta.lab.study import rules_claims, rules_setup, rules_times
from cuesta.lab.study.evidence import Breach, Evidence, Judged

SPOILING = ("verification", "intervals", "provenance")

MET = "met"
BROKEN = "broken"
DOES_NOT_APPLY = "does not apply"


@dataclass(frozen=True, kw_only=True)
class Rule:
    """A rule: its number in the paper, a word for it, a sentence, and who looks."""

    number: int
    name: str
    text: str
    judge: Callable[[Evidence], Judged]


@dataclass(frozen=True, kw_only=True)
class Ruling:
    """What came of a rule; `text` is the evidence where it is met, or why it does not apply."""

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
        text="Ratios are not averaged, but what they are made of.",
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
        text="How parallel time was measured is recorded, on a machine that nobody else used.",
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
    """What came of each rule, in their order.

    Arguments: `result` is a `study.json`; `records` are the run records that it names, by their
    places, as far as they were kept.
    """
    evidence = Evidence(result=result, records=records)
    return tuple(_ruling(rule, rule.judge(evidence)) for rule in RULES)


def alarms(
    result: Mapping[str, Any], records: Mapping[str, Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Every breach: `rule` (its name), `number`, `text`, `grave`; grave ones first."""
    found = [
        {"rule": one.rule.name, "number": one.rule.number, "text": each.text, "grave": each.grave}
        for one in rulings(result, records)
        for each in one.breaches
    ]
    return sorted(found, key=lambda alarm: not alarm["grave"])


def comparable(found: list[dict[str, Any]]) -> bool:
    """Whether these alarms leave figures that may be compared."""
    return not any(alarm["grave"] and alarm["rule"] in SPOILING for alarm in found)


def lines(found: tuple[Ruling, ...]) -> Iterator[str]:
    """A line a rule, and one a breach."""
    for one in found:
        number = str(one.rule.number or "-")
        yield f"{number:>2} {one.state:15} {one.rule.text} {one.text}".rstrip()
        for breach in one.breaches:
            yield f"{'':19}{'!' if breach.grave else '-'} {breach.text}"


def _ruling(rule: Rule, judged: Judged) -> Ruling:
    if judged.breaches:
        return Ruling(rule=rule, state=BROKEN, breaches=judged.breaches)
    state = MET if judged.applies else DOES_NOT_APPLY
    return Ruling(rule=rule, state=state, text=judged.text)
