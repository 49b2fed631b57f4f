"""Premises of a claim: the regime of the paper's finding, as measured in the runs it compares.

A premise bounds a measure of each of these runs, or the ratio of two. Runs out of these bounds are
not compared; where those that remain decide nothing, the verdict is "premise not met".
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from cuesta.errors import InputError
from cuesta.units import parse_size
from cuesta_lab.study.comparisons import MEASURE, Factors
from cuesta_lab.study.intervals import middle
from cuesta_lab.study.measures import MEMORY_LIMIT, is_measure

PREMISE = "premise"
SIDES = ("faster", "than", "steadier")
"""Keys of a claim with a side of a comparison."""
LISTS = ("same", "order")
"""Keys of a claim with several sides."""
_FIELDS = frozenset({"says", "measure", "of", "at_least", "at_most", "meet", "where"})

Table = Mapping[str, Any]
CellKey = frozenset[tuple[str, str]]


@dataclass(frozen=True, kw_only=True)
class Unmet:
    """A premise that some cells do not meet, the cells, and the reason."""

    cells: frozenset[CellKey]
    reason: str
    meet: str

    @property
    def text(self) -> str:
        """Reason, and what would meet the premise."""
        return f"{self.reason}; to meet it: {self.meet}"


def check(claim: Table, factors: Factors) -> tuple[Factors, list[Unmet]]:
    """Check the premises of a claim: return the cells that meet them, and the unmet premises."""
    unmet = [
        broken
        for row in claim.get(PREMISE, ())
        if (broken := _check(row, claim, factors)) is not None
    ]
    excluded = frozenset[CellKey]().union(*(broken.cells for broken in unmet))
    cells = {key: cell for key, cell in factors.cells.items() if key not in excluded}
    return replace(factors, cells=cells), unmet


def _check(row: Table, claim: Table, factors: Factors) -> Unmet | None:
    values: dict[CellKey, float | None] = {}
    for levels in compared_levels(claim, factors):
        if any(levels.get(name) != level for name, level in row.get("where", {}).items()):
            continue
        key = frozenset(factors.complete(levels).items())
        if key in factors.cells and any(factors.cells[key]["measures"].values()):
            values[key] = _value(row, levels, factors)
    failing = {key: value for key, value in values.items() if not _is_met(row, value)}
    if not failing:
        return None
    counted = sorted(value for value in failing.values() if value is not None)
    if not counted:
        lacking = [name for name in (row["measure"], row.get("of")) if name]
        reason = f"premise: {row['says']} ({' or '.join(lacking)} was not counted)"
    else:
        wanted = [
            f"{words} {row[bound]:g}"
            for bound, words in (("at_least", "at least"), ("at_most", "at most"))
            if bound in row
        ]
        ends = dict.fromkeys(f"{value:.3g}" for value in (counted[0], counted[-1]))
        of = f" by {row['of']}" if "of" in row else ""
        reason = (
            f"premise: {row['says']} ({row['measure']}{of} was {' to '.join(ends)},"
            f" {' and '.join(wanted)} is needed)"
        )
    return Unmet(cells=frozenset(failing), reason=reason, meet=row["meet"])


def _value(row: Table, levels: Table, factors: Factors) -> float | None:
    """Median of the measure, or its ratio to another; None if one was not counted."""
    value = _median(str(row["measure"]), levels, factors)
    if value is None or "of" not in row:
        return value
    base = _median(str(row["of"]), levels, factors)
    return None if not base else value / base


def _median(measure: str, levels: Table, factors: Factors) -> float | None:
    samples = factors.samples(dict(levels), measure)
    if samples:
        return middle(samples)
    planned = _PLANNED.get(measure)
    return planned(_settings(levels, factors)) if planned else None


def _settings(levels: Table, factors: Factors) -> list[Table]:
    """Tables of settings of a cell in the study file, the later ones over the earlier ones."""
    complete = factors.complete(levels)
    rows = factors.file.get("factor", ())
    return [
        factors.file.get("settings", {}),
        *(
            level
            for row in rows
            for level in row["levels"]
            if level["name"] == complete.get(row["name"])
        ),
    ]


def _limit(tables: Sequence[Table]) -> float | None:
    """Memory that the runs of a cell were held to, by the study file."""
    texts = [table.get("machine", {}).get("memory-group") for table in tables]
    texts = [text for text in texts if text] or [table.get("memory") for table in tables]
    texts = [text for text in texts if text]
    return float(parse_size(str(texts[-1]), "memory")) or None if texts else None


def _nodes(tables: Sequence[Table]) -> float:
    """Nodes of the runs of a cell, by the study file."""
    return float(next((table["nodes"] for table in reversed(tables) if "nodes" in table), 1))


_PLANNED: Mapping[str, Callable[[Sequence[Table]], float | None]] = {
    MEMORY_LIMIT: _limit,
    "nodes": _nodes,
}
"""Measures that a study file says, for results whose records are not at hand."""


def _is_met(row: Table, value: float | None) -> bool:
    if value is None:
        return False
    return bool(row.get("at_least", value) <= value <= row.get("at_most", value))


def compared_levels(claim: Table, factors: Factors) -> Iterator[dict[str, str]]:
    """Yield the levels of all cells that a claim compares."""
    sides = [claim[name] for name in SIDES if name in claim]
    sides += [side for name in LISTS for side in claim.get(name, ())]
    across = [name for name in (claim.get("over"), claim.get("mean")) if name]
    choices = [[(name, level) for level in factors.planned_levels(name)] for name in across]
    for side in sides or [{}]:
        fixed = {**claim.get("where", {}), **side}
        fixed.pop(MEASURE, None)
        for chosen in itertools.product(*choices):
            levels = {**fixed, **dict(chosen)}
            if factors.is_planned(levels):
                yield levels


def measures_of(claim: Table) -> set[str]:
    """Measures that the premises of a claim need."""
    return {
        str(row[name])
        for row in claim.get(PREMISE, ())
        for name in ("measure", "of")
        if name in row
    }


def check_tables(claim: Table, known: Mapping[str, Sequence[str]]) -> None:
    """Raise `InputError` for premises that cannot be checked. `known` are levels by factor."""
    rows = claim.get(PREMISE, [])
    if not isinstance(rows, list) or not all(isinstance(row, Mapping) for row in rows):
        raise InputError(f"premise is {rows!r}, give a list of tables")
    for row in rows:
        _check_table(row, known)


def _check_table(row: Table, known: Mapping[str, Sequence[str]]) -> None:
    unknown = sorted(row.keys() - _FIELDS)
    if unknown:
        raise InputError(f"premise: {unknown[0]} is not known; give {', '.join(sorted(_FIELDS))}")
    for name in ("says", "meet"):
        if not isinstance(row.get(name), str) or not row[name].strip():
            raise InputError(f"premise: {name} is {row.get(name)!r}, give text")
    for name in ("measure", "of"):
        if name in row or name == "measure":
            value = row.get(name)
            if not isinstance(value, str) or not is_measure(value):
                raise InputError(f"premise: {name} is {value!r}, which is no measure; name one")
    _check_bounds(row)
    where = row.get("where", {})
    if not isinstance(where, Mapping):
        raise InputError(f"premise: where is {where!r}, give a table such as {{factor = 'level'}}")
    for name, level in where.items():
        if name not in known or level not in known[name]:
            raise InputError(
                f"premise: where: {name} {level!r} is not a level of a factor; name one"
            )


def _check_bounds(row: Table) -> None:
    bounds = [row[name] for name in ("at_least", "at_most") if name in row]
    if not bounds or any(isinstance(b, bool) or not isinstance(b, (int, float)) for b in bounds):
        raise InputError("premise: give at_least or at_most, as numbers")
