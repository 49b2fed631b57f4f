"""Says beforehand how long a study takes."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

from cuesta.lab.study.cells import Combination
from cuesta.lab.study.model import Study
from cuesta.lab.study.result import Found, Result
from cuesta.units import format_seconds


def sentence(study: Study, combined: Sequence[Combination], kept: Result | None) -> str:
    """How many runs there are, and how long they take at most; `kept` is what was found before."""
    able = [one for one in combined if one.left_out is None]
    most = f"at most {format_seconds(study.minutes * 60)}, its budget"
    before = _before(able, kept)
    if before is not None:
        seconds = min(before * study.repeats, study.minutes * 60)
        most = f"about {format_seconds(seconds)}, as when it was run before, and {most}"
    return (
        f"{len(able)} of {len(combined)} combinations, each run up to {study.repeats} times: {most}"
    )


def remaining(found: Sequence[Found], runs: int) -> float | None:
    """Seconds that so many more runs take, at the mean of those that are done; None without any."""
    typed = [seconds for one in found for seconds in one.measures.get("typed", ())]
    return fmean(typed) * runs if typed else None


def _before(able: Sequence[Combination], kept: Result | None) -> float | None:
    """Seconds of one run of each, where all of them were run before."""
    known = {
        tuple(sorted(cell["levels"].items())): median(cell["measures"]["typed"])
        for cell in (kept or {}).get("cells", ())
        if cell["measures"].get("typed")
    }
    found = [known.get(tuple(sorted(one.levels.items()))) for one in able]
    times = [seconds for seconds in found if seconds is not None]
    return sum(times) if times and len(times) == len(found) else None
