"""Fit of a model to runs: one for each group of alike runs, with a cross-validation.

`spec/formats/model.md` describes the model file. It has all that a prediction needs, and each run
that it was fitted to.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import median
from typing import Any

from cuesta_lab.model import cross_validation, laws, warnings
from cuesta_lab.model.observed import Observation
from cuesta_lab.model.predict import SCHEMA
from cuesta_lab.model.views import fitted_range, views

RUNS_MIN = 3


Record = dict[str, Any]


def fit(observed: Sequence[Observation], sources: Iterable[str], seed: int) -> Record:
    """Fit the model of all groups, as a JSON object."""
    groups: dict[str, list[Observation]] = defaultdict(list)
    for run in observed:
        groups[run.key].append(run)
    return {
        "schema": SCHEMA,
        "sources": list(sources),
        "seed": seed,
        "groups": [_group(key, runs, seed) for key, runs in sorted(groups.items())],
    }


def merge_repeats(runs: Sequence[Observation]) -> list[Observation]:
    """Merge the repeats of each shape into one run with the median of their times.

    The slowest repeats show other load of the machine, and a repeat reveals too much of another
    one that is left out to test a model.
    """
    shapes: dict[tuple[object, ...], list[Observation]] = defaultdict(list)
    for run in runs:
        shapes[(run.unit, *run.shape)].append(run)
    return [_median(same) for same in shapes.values()]


def _median(same: Sequence[Observation]) -> Observation:
    first = same[0]
    if len(same) == 1:
        return first
    names = [name for name in first.phases if all(name in run.phases for run in same)]
    return replace(
        first,
        seconds=median(run.seconds or 0.0 for run in same),
        phases={name: median(run.phases[name] for run in same) for name in names},
        repeats=sum(run.repeats for run in same),
    )


def _group(key: str, repeated: Sequence[Observation], seed: int) -> Record:
    """Fit the model of alike runs, or state why there is none."""
    runs = merge_repeats(repeated)
    first = runs[0]
    group: Record = {
        "name": key,
        "group": dict(first.group),
        "unit": first.unit,
        "runs": [_run(run) for run in runs],
        "refused": _refused(runs),
    }
    if group["refused"]:
        return group
    group |= {"views": views(runs), "range": fitted_range(runs)}
    if not group["views"]["overall"]:
        return group | {"refused": "no sum of terms describes these runs within what is physical"}
    group["check"] = cross_validation.check(runs, group, seed)
    group["refused"] = cross_validation.structure(runs, group, seed)
    group["laws"] = [law.record() for law in _laws(runs, seed)]
    group["warnings"] = list(warnings.warn_of(runs))
    return group


def _refused(runs: Sequence[Observation]) -> str | None:
    """Reason why runs are too few or too different for a model; None if they are not."""
    units = sorted({run.unit for run in runs})
    if len(units) > 1:
        return f"runs of different units ({', '.join(units)}); give one column for all"
    shapes = {run.shape for run in runs}
    if len(shapes) < RUNS_MIN:
        return (
            f"{len(shapes)} different size{'s' * (len(shapes) != 1)} measured, at least"
            f" {RUNS_MIN} are needed; vary the nodes and the amount of data"
        )
    return None


def _run(run: Observation) -> Record:
    return {
        "source": run.source,
        "nodes": run.nodes,
        "cores_per_node": run.cores_per_node,
        "amount": run.amount,
        "seconds": run.seconds,
        "repeats": run.repeats,
    }


def _laws(runs: Sequence[Observation], seed: int) -> Iterable[laws.Law]:
    """Fit Amdahl and USL to the largest series of equal work, Gustafson to equal work by core."""
    fixed = _series(runs, lambda run: run.amount)
    if fixed:
        nodes = [run.nodes for run in fixed]
        seconds = [run.seconds or 0.0 for run in fixed]
        yield laws.amdahl(nodes, seconds, seed)
        yield laws.usl(nodes, [run.amount / (run.seconds or 1.0) for run in fixed], seed)
    scaled = _series(runs, lambda run: round(run.work, 9))
    if scaled:
        seconds = [run.seconds or 0.0 for run in scaled]
        yield laws.gustafson([run.nodes for run in scaled], seconds, seed)


def _series(runs: Sequence[Observation], key: Any) -> list[Observation]:
    """Longest series of runs that agree in `key`, by nodes; empty below `RUNS_MIN` node counts."""
    series: dict[Any, dict[int, Observation]] = defaultdict(dict)
    for run in runs:
        series[key(run)][run.nodes] = run
    longest = max(series.values(), key=len)
    return [longest[count] for count in sorted(longest)] if len(longest) >= RUNS_MIN else []
