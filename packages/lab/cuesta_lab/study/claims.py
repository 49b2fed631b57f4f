"""Claims of a study: results of a paper, tested against the measurements of the study.

A claim holds if the interval of each comparison is entirely on the claimed side, at three levels or
more of the factor it is made over, or at all levels if there are fewer. It does not hold if an
interval is entirely on the other side. Otherwise it is undecided. Source:
`docs/adr/0023-a-verdict-needs-an-interval.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from cuesta.errors import InputError
from cuesta_lab.study.comparisons import MEASURE, UNTESTED, Factors, Part, compared
from cuesta_lab.study.measures import is_measure
from cuesta_lab.study.wording import sentence

Table = Mapping[str, Any]

_COMPARISONS = ("faster", "same", "trend", "exponent")
_COMPARING = frozenset({*_COMPARISONS, "than", "by", "under", "within", "over", "where", MEASURE})
_TEXTS = ("name", "finding", "expected")
_FIELDS = frozenset({*_TEXTS, *_COMPARING, "figures", "untested"})
_WITH = {
    "faster": {"than", "by", "under"},
    "same": {"within"},
    "trend": {"within"},
    "exponent": set[str](),
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
    comparisons = compared(claim, factors)
    text = sentence(claim, factors, comparisons)
    return {
        **claim,
        "verdict": comparisons.verdict,
        "said": text[:1].upper() + text[1:],
        "parts": [_row(part) for part in comparisons.parts],
    }


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
    stray = sorted((claim.keys() & {"than", "by", "under", "within"}) - _WITH[kind])
    if stray:
        raise InputError(f"{stray[0]} does not go with {kind}")
    if kind == "trend" and (claim["trend"] not in _TRENDS):
        raise InputError(f"trend is {claim['trend']!r}, give {', '.join(_TRENDS)}")
    if kind == "trend" and "within" in claim and claim["trend"] != "flat":
        raise InputError("within goes with trend = 'flat' alone")
    if kind == "exponent":
        ends = claim["exponent"]
        if not _are_numbers(ends) or len(ends) != 2 or ends[0] >= ends[1]:
            raise InputError(f"exponent is {ends!r}, give two numbers such as [0.9, 1.1]")
    _check_bounds(claim)
    if kind == "faster" and "than" not in claim:
        raise InputError("than is missing; give the levels that it is faster than")
    if kind == "same" and (not isinstance(claim["same"], list) or len(claim["same"]) < 2):
        raise InputError(f"same is {claim['same']!r}, give a list of two tables or more")


def _check_bounds(claim: Table) -> None:
    for key, least in (("by", 0.0), ("under", 0.0), ("within", 1.0)):
        if key in claim and (not _are_numbers([claim[key]]) or claim[key] <= least):
            raise InputError(f"{key} is {claim[key]!r}, give a number above {least:g}")
    if claim.get("by", 0) >= claim.get("under", float("inf")):
        raise InputError("by is not below under, so that nothing can hold")


def _are_numbers(values: object) -> bool:
    return isinstance(values, list) and all(
        isinstance(number, (int, float)) and not isinstance(number, bool) for number in values
    )


def _check_levels(claim: Table, kind: str, factors: Sequence[Table]) -> None:
    """Check that a claim fixes all factors, by levels that exist."""
    known = {row["name"]: [level["name"] for level in row["levels"]] for row in factors}
    over = _over(claim, kind, known)
    sides = _sides(claim, kind)
    where = claim.get("where", {})
    for key, table in [("where", where), *sides]:
        _check_table(key, table, known, over)
    measured = [_measure(claim.get(MEASURE), MEASURE)] if MEASURE in claim else []
    measured += [_measure(side[MEASURE], key) for key, side in sides if MEASURE in side]
    if MEASURE not in claim and len(measured) < max(1, len(sides)):
        raise InputError("measure is missing; give work, wall, cpu, peak, phase NAME or another")
    if MEASURE in where:
        raise InputError("where names a measure; give it as measure of the claim")
    named = [{*where, *side} for _, side in sides] or [set(where)]
    for factor, levels in known.items():
        lacking = any(factor not in levels for levels in named)
        if factor != over and len(levels) > 1 and lacking:
            raise InputError(
                f"{factor} is left open; name one of its levels in where: {', '.join(levels)}"
            )
    if kind == "exponent":
        rows = next(row["levels"] for row in factors if row["name"] == over)
        without = next((row["name"] for row in rows if not _is_above_zero(row.get("value"))), None)
        if without is not None or len(rows) < 2:
            raise InputError(
                f"exponent needs two levels of {over} or more, each with a value above 0"
            )


def _over(claim: Table, kind: str, known: Iterable[str]) -> str | None:
    """Return the factor of `over`; None for a claim on two cells that is about no figure."""
    over = claim.get("over")
    if over is None and kind in ("faster", "same"):
        if claim.get("figures"):
            raise InputError("over is missing; a claim about a figure must hold over a factor")
        return None
    if not isinstance(over, str) or over not in known:
        raise InputError(f"over is {over!r}, give one factor: {', '.join(known)}")
    return over


def _is_above_zero(value: object) -> bool:
    return isinstance(value, (int, float)) and value > 0


def _sides(claim: Table, kind: str) -> list[tuple[str, Table]]:
    if kind == "faster":
        return [("faster", claim["faster"]), ("than", claim["than"])]
    return [("same", side) for side in claim["same"]] if kind == "same" else []


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
