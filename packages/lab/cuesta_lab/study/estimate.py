"""Estimate of the time of a study before its runs."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

from cuesta.units import format_seconds
from cuesta_lab.study.cells import Combination
from cuesta_lab.study.model import Study
from cuesta_lab.study.result import CombinationRuns, Result


def sentence(study: Study, combined: Sequence[Combination], earlier: Result | None) -> str:
    """Describe the number of runs and their time; `earlier` is a previous result."""
    able = [combination for combination in combined if combination.left_out is None]
    most = f"at most {format_seconds(study.minutes * 60)}, its budget"
    before = _before(able, earlier)
    if before is not None:
        seconds = min(before * study.repeats, study.minutes * 60)
        most = f"about {format_seconds(seconds)}, as when it was run before, and {most}"
    return (
        f"{len(able)} of {len(combined)} combinations, each run up to {study.repeats} times: {most}"
    )


def remaining(all_runs: Sequence[CombinationRuns], runs: int) -> float | None:
    """Seconds of `runs` more runs, at the mean of the past ones; None without any."""
    typed = [
        seconds for combination in all_runs for seconds in combination.measures.get("typed", ())
    ]
    return fmean(typed) * runs if typed else None


def _before(able: Sequence[Combination], earlier: Result | None) -> float | None:
    """Seconds of a run of each combination, if all of them were run before; else None."""
    known = {
        tuple(sorted(cell["levels"].items())): median(cell["measures"]["typed"])
        for cell in (earlier or {}).get("cells", ())
        if cell["measures"].get("typed")
    }
    medians = [known.get(tuple(sorted(combination.levels.items()))) for combination in able]
    times = [seconds for seconds in medians if seconds is not None]
    return sum(times) if times and len(times) == len(medians) else None
