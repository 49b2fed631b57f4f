"""Fits a model to runs: one for each group of alike runs, with a test of itself.

The file that comes out is described in `spec/formats/model.md`. It has all that a prediction
needs, and each run that it was made from.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from statistics import median
from typing import Any

from cuesta.model import backtest, factors, laws, warnings
from cuesta.model.candidates import Candidate, fitted
from cuesta.model.observed import Observed
from cuesta.model.terms import STEPS, over, values

SCHEMA = "cuesta.model/1"
RUNS_MIN = 3
OVERLAP_MAX = 0.02
"""Phases that add up to the whole run but for this have models of their own."""

Record = dict[str, Any]


def fit(observed: Sequence[Observed], sources: Iterable[str], seed: int) -> Record:
    """The model of all groups, as a JSON object."""
    groups: dict[str, list[Observed]] = defaultdict(list)
    for one in observed:
        groups[one.key].append(one)
    return {
        "schema": SCHEMA,
        "sources": list(sources),
        "seed": seed,
        "groups": [_group(key, runs, seed) for key, runs in sorted(groups.items())],
    }


def once(runs: Sequence[Observed]) -> list[Observed]:
    """One run for each shape: repeats become the one with the median of their times.

    The slowest of them say what else the machine did, and one repeat says too much of another that
    is left out to test a model.
    """
    shapes: dict[tuple[object, ...], list[Observed]] = defaultdict(list)
    for one in runs:
        shapes[(one.unit, *one.shape)].append(one)
    return [_median(same) for same in shapes.values()]


def _median(same: Sequence[Observed]) -> Observed:
    first = same[0]
    if len(same) == 1:
        return first
    names = [name for name in first.phases if all(name in one.phases for one in same)]
    return replace(
        first,
        seconds=median(one.seconds or 0.0 for one in same),
        phases={name: median(one.phases[name] for one in same) for name in names},
        repeats=sum(one.repeats for one in same),
    )


def _group(key: str, repeated: Sequence[Observed], seed: int) -> Record:
    """The model of alike runs, or why there is none."""
    runs = once(repeated)
    first = runs[0]
    group: Record = {
        "name": key,
        "group": dict(first.group),
        "unit": first.unit,
        "runs": [_run(one) for one in runs],
        "refused": _refused(runs),
    }
    if group["refused"]:
        return group
    group |= {"views": views(runs), "range": fitted_range(runs)}
    if not group["views"]["overall"]:
        return group | {"refused": "no sum of terms describes these runs within what is physical"}
    group["check"] = backtest.check(runs, group, seed)
    group["refused"] = backtest.structure(runs, group, seed)
    group["laws"] = [law.record() for law in _laws(runs, seed)]
    group["warnings"] = list(warnings.of(runs))
    return group


def _refused(runs: Sequence[Observed]) -> str | None:
    """Why runs are too few or too different for a model."""
    units = sorted({one.unit for one in runs})
    if len(units) > 1:
        return f"runs of different units ({', '.join(units)}); give one column for all"
    shapes = {one.shape for one in runs}
    if len(shapes) < RUNS_MIN:
        return (
            f"{len(shapes)} different size{'s' * (len(shapes) != 1)} measured, at least"
            f" {RUNS_MIN} are needed; vary the nodes and the amount of data"
        )
    return None


def views(runs: Sequence[Observed]) -> dict[str, list[Record]]:
    """Candidates of the whole run and, where phases add up to it, of each phase."""
    rows = [values(one) for one in runs]
    overall = fitted(rows, [one.seconds or 0.0 for one in runs])
    found = {"overall": overall}
    names = list(runs[0].phases)
    if names and all(_adds_up(one, names) for one in runs):
        phases = {name: _phase(name, runs, rows) for name in names}
        if all(phases.values()):
            found |= phases
    return {name: [asdict(one) for one in candidates] for name, candidates in found.items()}


def _phase(
    name: str, runs: Sequence[Observed], rows: Sequence[Mapping[str, float]]
) -> list[Candidate]:
    """Candidates of a phase; a phase that took nothing counts as a thousandth of the run."""
    return fitted(rows, [max(one.phases[name], 1e-3 * (one.seconds or 0.0)) for one in runs])


def _adds_up(one: Observed, names: Sequence[str]) -> bool:
    if list(one.phases) != list(names) or not one.seconds:
        return False
    return abs(sum(one.phases.values()) / one.seconds - 1) <= OVERLAP_MAX


def fitted_range(runs: Sequence[Observed]) -> Record:
    """Between what the runs lie; a question far from it is refused."""
    works = [one.work for one in runs]
    nodes = sorted({one.nodes for one in runs})
    sides = {name: {over(one, copies) for one in runs} for name, copies in STEPS.items()}
    known = {
        name: sorted(side is True for side in found)
        for name, found in sides.items()
        if None not in found
    }
    return {
        "nodes": nodes,
        "cores": sorted({one.cores_per_node for one in runs}),
        "work": [min(works), max(works)],
        "steps": known,
        "factors": factors.ranges(runs),
    }


def _run(one: Observed) -> Record:
    return {
        "source": one.source,
        "nodes": one.nodes,
        "cores_per_node": one.cores_per_node,
        "amount": one.amount,
        "seconds": one.seconds,
        "repeats": one.repeats,
    }


def _laws(runs: Sequence[Observed], seed: int) -> Iterable[laws.Law]:
    """Amdahl and USL for the largest series of equal work, Gustafson for equal work by core."""
    fixed = _series(runs, lambda one: one.amount)
    if fixed:
        nodes = [one.nodes for one in fixed]
        seconds = [one.seconds or 0.0 for one in fixed]
        yield laws.amdahl(nodes, seconds, seed)
        yield laws.usl(nodes, [one.amount / (one.seconds or 1.0) for one in fixed], seed)
    scaled = _series(runs, lambda one: round(one.work, 9))
    if scaled:
        seconds = [one.seconds or 0.0 for one in scaled]
        yield laws.gustafson([one.nodes for one in scaled], seconds, seed)


def _series(runs: Sequence[Observed], key: Any) -> list[Observed]:
    """The longest series of runs that agree in `key`, by nodes; empty below three nodes' counts."""
    found: dict[Any, dict[int, Observed]] = defaultdict(dict)
    for one in runs:
        found[key(one)][one.nodes] = one
    longest = max(found.values(), key=len)
    return [longest[count] for count in sorted(longest)] if len(longest) >= RUNS_MIN else []
