"""Claims of a study: results of a paper, tested against the measurements of the study.

A claim holds if the interval of each comparison is entirely on the claimed side, at three levels or
more of the factor it is made over, or at all levels if there are fewer. It does not hold if an
interval is entirely on the other side. Where the runs lack a premise of the claim, or nothing
counted what it is about, its premise is not met. Otherwise it is undecided. Sources:
`docs/adr/0023-a-verdict-needs-an-interval.md`, `docs/adr/0056-a-claim-has-premises.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cuesta.errors import InputError
from cuesta_lab.study import forms, premises
from cuesta_lab.study.comparisons import (
    MEASURE,
    UNDECIDED,
    UNMET,
    UNTESTED,
    ClaimComparisons,
    Factors,
    Part,
    compared,
)
from cuesta_lab.study.measures import is_measure
from cuesta_lab.study.wording import near_words, quantity, sentence

Table = Mapping[str, Any]

_COMPARISONS = ("faster", "same", "trend", "exponent", "order", "linear", "steadier")
_OPTIONS = ("than", "by", "under", "within", "mean", "paper", "near", "paper_at")
_COMPARING = frozenset({*_COMPARISONS, *_OPTIONS, "over", "at", "where", MEASURE, premises.PREMISE})
_TEXTS = ("name", "finding", "expected")
_FIELDS = frozenset({*_TEXTS, *_COMPARING, "figures", "untested"})
_WITH = {
    "faster": {"than", "by", "under", "mean", "paper", "near", "paper_at"},
    "same": {"within"},
    "trend": {"within"},
    "exponent": set[str](),
    "order": set[str](),
    "linear": {"within"},
    "steadier": {"than", "by", "under"},
}
_TRENDS = ("rises", "falls", "flat")
_FIGURE = re.compile(r"\d{3}:[a-z0-9-]+")
_NAME = re.compile(r"[a-z0-9][a-z0-9.-]*")


def judged(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Judge the claims of a `study.json`: each gets its `verdict`, sentence (`said`) and `parts`.

    The claims are those of the file in the result, which `check_claims` accepted. The verdicts are
    deterministic.
    """
    factors = Factors.of(result)
    return [_judged(claim, factors) for claim in result["file"].get("claim", [])]


def _judged(claim: Table, factors: Factors) -> dict[str, Any]:
    if "untested" in claim:
        return {**claim, "verdict": UNTESTED, "said": claim["untested"], "parts": []}
    if "at" in claim:
        factors = factors.at(claim["over"], claim["at"])
    meeting, unmet = premises.check(claim, factors)
    comparisons = _compared(claim, meeting)
    uncounted = comparisons.uncounted or _uncounted(claim, meeting)
    verdict = comparisons.verdict
    if verdict == UNDECIDED and (unmet or uncounted):
        verdict = UNMET
    text = sentence(claim, meeting, comparisons)
    if verdict == UNMET:
        reasons = [broken.text for broken in unmet] or [_not_counted(claim, factors, uncounted)]
        text = f"{'; '.join(reasons)}."
        complete = _compared(claim, factors)
        if complete.parts:
            measured = sentence(claim, factors, complete)
            text += f" Measured all the same: {measured[:1].upper()}{measured[1:]}"
    elif unmet:
        text += f" Left out: {'; '.join(broken.reason for broken in unmet)}."
    judged_claim = {
        **claim,
        "verdict": verdict,
        "said": text[:1].upper() + text[1:],
        "parts": [_row(part) for part in comparisons.parts],
    }
    figure = forms.near_figure(claim, comparisons) if verdict != UNMET else None
    if figure:
        judged_claim["near_paper"] = figure
        judged_claim["said"] += f" {near_words(figure)}"
    return judged_claim


def _compared(claim: Table, factors: Factors) -> ClaimComparisons:
    if "mean" in claim:
        return forms.averaged(claim, factors)
    if "order" in claim:
        return forms.ordered(claim, factors)
    if "linear" in claim:
        return forms.straight(claim, factors)
    if "steadier" in claim:
        return forms.steadier(claim, factors)
    return compared(claim, factors)


def _uncounted(claim: Table, factors: Factors) -> tuple[str, ...]:
    """Levels of `over` at which runs were made that lack the claim's only measure."""
    if MEASURE not in claim:
        return ()
    lacking = [
        levels
        for levels in premises.compared_levels(claim, factors)
        if factors.was_run(levels) and not factors.samples(levels, str(claim[MEASURE]))
    ]
    over = claim.get("over")
    return tuple(
        dict.fromkeys(levels[over] if over else next(iter(levels.values())) for levels in lacking)
    )


def _not_counted(claim: Table, factors: Factors, names: Sequence[str]) -> str:
    over = claim.get("over")
    titles = [factors.title(over, name) if over else name for name in names]
    what = quantity(claim) if MEASURE in claim else "the measure of a side"
    return (
        f"{what} was not counted, or 0 on both sides, at {', '.join(titles)}; to meet it: runs"
        " whose records count it"
    )


def _row(part: Part) -> dict[str, Any]:
    ends = {"median": part.ratio.median, "low": part.ratio.low, "high": part.ratio.high}
    return {
        "levels": dict(part.levels),
        "ratio": ends,
        "holds": part.holds,
        "verdict": part.verdict,
    }


def check_claims(file: Mapping[str, Any], factors: Sequence[Table]) -> None:
    """Raise `InputError` for claims of a study file that cannot be judged.

    `factors` are as in `study.json`, with all levels of the file. Errors: `InputError` with the
    claim and the key.
    """
    names: set[object] = set()
    rows = file.get("claim", [])
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise InputError("claim is not a list of tables; write [[claim]]")
    for number, claim in enumerate(rows, 1):
        name = claim.get("name", number)
        try:
            _check(claim, factors)
            if name in names:
                raise InputError("there are two claims of this name")
        except InputError as error:
            raise InputError(f"claim {name}: {error}") from None
        names.add(name)


def _check(claim: Table, factors: Sequence[Table]) -> None:
    unknown = sorted(claim.keys() - _FIELDS)
    if unknown:
        raise InputError(f"{unknown[0]} is not known; a claim takes {', '.join(sorted(_FIELDS))}")
    for key in _TEXTS:
        if not isinstance(claim.get(key), str) or not claim[key].strip():
            raise InputError(f"{key} is {claim.get(key)!r}, give text")
    if not _NAME.fullmatch(claim["name"]):
        raise InputError("name: give small letters, digits, dots and hyphens")
    figures = claim.get("figures", [])
    if not isinstance(figures, list) or not all(_is_figure(figure) for figure in figures):
        raise InputError(f"figures is {figures!r}, give a list such as ['000:figure-2']")
    if "untested" in claim:
        _check_untested(claim)
        return
    kinds = [key for key in _COMPARISONS if key in claim]
    if len(kinds) != 1:
        raise InputError(f"give one of {', '.join(_COMPARISONS)}, or untested")
    _check_comparison(claim, kinds[0])
    _check_figure(claim)
    premises.check_tables(
        claim, {row["name"]: [level["name"] for level in row["levels"]] for row in factors}
    )
    _check_levels(claim, kinds[0], factors)


def _is_figure(value: object) -> bool:
    return isinstance(value, str) and _FIGURE.fullmatch(value) is not None


def _check_untested(claim: Table) -> None:
    if not isinstance(claim["untested"], str) or not claim["untested"].strip():
        raise InputError(f"untested is {claim['untested']!r}, give text that says why")
    conflicting = sorted(claim.keys() & _COMPARING)
    if conflicting:
        raise InputError(f"{conflicting[0]} stands beside untested; leave one of them out")


def _check_comparison(claim: Table, kind: str) -> None:
    """Check the values of a comparison, but not the levels that they name."""
    stray = sorted((claim.keys() & {*_OPTIONS}) - _WITH[kind])
    if stray:
        raise InputError(f"{stray[0]} does not go with {kind}")
    if kind == "trend" and (claim["trend"] not in _TRENDS):
        raise InputError(f"trend is {claim['trend']!r}, give {', '.join(_TRENDS)}")
    if kind == "trend" and "within" in claim and claim["trend"] != "flat":
        raise InputError("within goes with trend = 'flat' alone; leave it out")
    if kind == "exponent":
        ends = claim["exponent"]
        if not _are_numbers(ends) or len(ends) != 2 or ends[0] >= ends[1]:
            raise InputError(f"exponent is {ends!r}, give two numbers such as [0.9, 1.1]")
    _check_bounds(claim)
    if kind in ("faster", "steadier") and "than" not in claim:
        raise InputError(f"than is missing; give the levels that it is {kind} than")
    if kind in ("same", "order") and (not isinstance(claim[kind], list) or len(claim[kind]) < 2):
        raise InputError(f"{kind} is {claim[kind]!r}, give a list of two tables or more")
    if kind == "linear" and claim["linear"] not in ("rises", "falls"):
        raise InputError(f"linear is {claim['linear']!r}, give rises or falls")


def _check_figure(claim: Table) -> None:
    """Check the paper's figure and how near to it a result must be."""
    for key, least in (("paper", 0.0), ("near", 1.0)):
        if key in claim and (not _are_numbers([claim[key]]) or claim[key] <= least):
            raise InputError(f"{key} is {claim[key]!r}, give a number above {least:g}")
    if ("near" in claim or "paper_at" in claim) and "paper" not in claim:
        raise InputError("paper is missing; give the paper's figure")


def _check_bounds(claim: Table) -> None:
    for key, least in (("by", 0.0), ("under", 0.0), ("within", 1.0)):
        if key in claim and (not _are_numbers([claim[key]]) or claim[key] <= least):
            raise InputError(f"{key} is {claim[key]!r}, give a number above {least:g}")
    if claim.get("by", 0) >= claim.get("under", float("inf")):
        raise InputError("by is not below under, so that nothing can hold; raise under")


def _are_numbers(values: object) -> bool:
    return isinstance(values, list) and all(
        isinstance(number, (int, float)) and not isinstance(number, bool) for number in values
    )


def _check_levels(claim: Table, kind: str, factors: Sequence[Table]) -> None:
    """Check that a claim fixes all factors, by levels that exist."""
    known = {row["name"]: [level["name"] for level in row["levels"]] for row in factors}
    over = _over(claim, kind, known)
    if "at" in claim:
        known = {**known, str(over): _at(claim["at"], over, known)}
    mean = _mean(claim, known, over)
    sides = _sides(claim, kind)
    where = claim.get("where", {})
    for key, table in [("where", where), *sides]:
        _check_table(key, table, known, over)
        _check_table(key, table, known, mean)
    measured = [_measure(claim.get(MEASURE), MEASURE)] if MEASURE in claim else []
    measured += [_measure(side[MEASURE], key) for key, side in sides if MEASURE in side]
    if MEASURE not in claim and len(measured) < max(1, len(sides)):
        raise InputError("measure is missing; give work, wall, cpu, peak, phase NAME or another")
    if MEASURE in where:
        raise InputError("where names a measure; give it as measure of the claim")
    named = [{*where, *side} for _, side in sides] or [set(where)]
    for factor, levels in known.items():
        lacking = any(factor not in levels for levels in named)
        if factor not in (over, mean) and len(levels) > 1 and lacking:
            raise InputError(
                f"{factor} is left open; name one of its levels in where: {', '.join(levels)}"
            )
    _check_values(kind, over, factors, claim.get("at"))


def _check_values(
    kind: str, over: str | None, factors: Sequence[Table], at: Sequence[str] | None
) -> None:
    """Check that the levels of `over` have the values that a claim needs."""
    if kind == "linear":
        values = next(row["levels"] for row in factors if row["name"] == over)
        values = [row for row in values if row["name"] in (at or [row["name"]])]
        if len(values) < 3 or any(_is_no_number(row.get("value")) for row in values):
            raise InputError(f"linear needs three levels of {over} or more, each with a value")
    if kind == "exponent":
        rows = next(row["levels"] for row in factors if row["name"] == over)
        without = next((row["name"] for row in rows if not _is_above_zero(row.get("value"))), None)
        if without is not None or len(rows) < 2:
            raise InputError(
                f"exponent needs two levels of {over} or more, each with a value above 0"
            )


def _at(at: object, over: str | None, known: Mapping[str, list[str]]) -> list[str]:
    """Return the levels of `over` that a claim is about."""
    if over is None or not isinstance(at, list) or not at or not set(at) <= set(known[over]):
        raise InputError(f"at is {at!r}, give a list of levels of over")
    return at


def _mean(claim: Table, known: Mapping[str, Sequence[str]], over: str | None) -> str | None:
    """Return the factor of `mean`, if a claim has it; check `paper_at` too."""
    mean = claim.get("mean")
    if mean is not None and (mean not in known or mean == over):
        raise InputError(f"mean is {mean!r}, give a factor other than over: {', '.join(known)}")
    at = claim.get("paper_at")
    if at is not None and at not in known.get(over or "", ()):
        raise InputError(f"paper_at is {at!r}, give a level of over")
    return mean


def _over(claim: Table, kind: str, known: Iterable[str]) -> str | None:
    """Return the factor of `over`; None for a claim on two cells that is about no figure."""
    over = claim.get("over")
    if over is None and kind in ("faster", "same", "order", "steadier"):
        if claim.get("figures") and "mean" not in claim:
            raise InputError("over is missing; a claim about a figure must hold over a factor")
        return None
    if not isinstance(over, str) or over not in known:
        raise InputError(f"over is {over!r}, give one factor: {', '.join(known)}")
    return over


def _is_above_zero(value: object) -> bool:
    return isinstance(value, (int, float)) and value > 0


def _is_no_number(value: object) -> bool:
    return isinstance(value, bool) or not isinstance(value, (int, float))


def _sides(claim: Table, kind: str) -> list[tuple[str, Table]]:
    if kind in ("faster", "steadier"):
        return [(kind, claim[kind]), ("than", claim["than"])]
    return [(kind, side) for side in claim[kind]] if kind in ("same", "order") else []


def _check_table(
    key: str, table: object, known: Mapping[str, Iterable[str]], over: str | None
) -> None:
    if not isinstance(table, Mapping):
        raise InputError(f"{key} is {table!r}, give a table such as {{factor = 'level'}}")
    for factor, level in table.items():
        if factor == MEASURE:
            continue
        if factor not in known:
            raise InputError(f"{key}: {factor} is not a factor; there are {', '.join(known)}")
        if factor == over:
            raise InputError(f"{key}: {factor} is what the claim is made over; leave it out")
        if not isinstance(level, str) or level not in known[factor]:
            raise InputError(f"{key}: {level!r} is not a level of {factor}")


def _measure(value: object, key: str) -> str:
    if not isinstance(value, str) or not is_measure(value):
        raise InputError(
            f"{key}: measure is {value!r}, give work, wall, typed, cpu, peak, read, "
            "written, device-read, device-written, phase NAME, count NAME or log NAME"
        )
    return value
