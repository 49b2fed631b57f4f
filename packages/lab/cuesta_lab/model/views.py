"""Views of a group of runs: sums of terms for the complete run, and for each of its phases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from cuesta_lab.model import factors
from cuesta_lab.model.candidates import Candidate, fitted
from cuesta_lab.model.observed import Observation
from cuesta_lab.model.terms import STEPS, over, values

OVERLAP_MAX = 0.02
"""Largest relative difference of a run's time and the sum of its phases for which each phase is
modelled."""


def views(runs: Sequence[Observation]) -> dict[str, list[dict[str, Any]]]:
    """Fit candidates to the complete run and, if its phases add up to it, to each phase."""
    rows = [values(run) for run in runs]
    overall = fitted(rows, [run.seconds or 0.0 for run in runs])
    candidates_of = {"overall": overall}
    names = list(runs[0].phases)
    if names and all(_adds_up(run, names) for run in runs):
        phases = {name: _phase(name, runs, rows) for name in names}
        if all(phases.values()):
            candidates_of |= phases
    return {
        name: [asdict(candidate) for candidate in candidates]
        for name, candidates in candidates_of.items()
    }


def fitted_range(runs: Sequence[Observation]) -> dict[str, Any]:
    """Ranges of the runs; a question far from them is refused."""
    works = [run.work for run in runs]
    nodes = sorted({run.nodes for run in runs})
    sides = {name: {over(run, copies) for run in runs} for name, copies in STEPS.items()}
    known = {
        name: sorted(side is True for side in sides_of)
        for name, sides_of in sides.items()
        if None not in sides_of
    }
    return {
        "nodes": nodes,
        "cores": sorted({run.cores_per_node for run in runs}),
        "work": [min(works), max(works)],
        "steps": known,
        "factors": factors.ranges(runs),
    }


def _phase(
    name: str, runs: Sequence[Observation], rows: Sequence[Mapping[str, float]]
) -> list[Candidate]:
    """Fit candidates to a phase; one that took no time counts as a thousandth of the run."""
    return fitted(rows, [max(run.phases[name], 1e-3 * (run.seconds or 0.0)) for run in runs])


def _adds_up(run: Observation, names: Sequence[str]) -> bool:
    if list(run.phases) != list(names) or not run.seconds:
        return False
    return abs(sum(run.phases.values()) / run.seconds - 1) <= OVERLAP_MAX
