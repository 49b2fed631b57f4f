"""Comparison of the runs of a group: ratios, ceilings, bounds. No words, no mark-up.

The best run is the one that takes the least time from nothing. Times are compared on the work,
without starting a session or loading an array, and then again from nothing. An interval that
overlaps another is no difference.
"""

from __future__ import annotations

from dataclasses import dataclass

from cuesta.report.records import SETUP_PHASES, Group, Phase, Run

OTHER = "other"
"""Name of the time that no phase covers."""

NEAR_CEILING = 0.7
"""Smallest share of a ceiling at which the ceiling bounds a phase."""

FAR_FROM_CEILING = 0.35
"""Smallest share of a ceiling at which the ceiling may bound a phase."""

BOUND_SHARE = 0.25
"""Smallest share of the work at which a phase may bound it."""

HINT_RATIO = 1.5
"""Ratio from which a difference is believed even with fewer samples than `SAMPLES_MIN`."""

SAMPLES_MIN = 3

BUSY = 0.8
IDLE = 0.5
"""Shares of the cores' time: at least `BUSY` is bound by computing, below `IDLE` by waiting."""

NOISY_SPREAD = 0.2
"""Spread of the samples, over their median, that is worth a warning."""

CEILING_SLACK = 1.05
"""A measured ceiling is itself a little uncertain; more than this share of it is a warning."""


@dataclass(frozen=True, kw_only=True)
class Versus:
    """A run compared with the best: the ratio of their work, and of their complete times.

    `slower` and `faster` are about the work; neither is set where the samples show no difference.
    """

    label: str
    run: Run
    work_ratio: float
    total_ratio: float
    slower: bool
    faster: bool


@dataclass(frozen=True, kw_only=True)
class Finding:
    """Comparison of a group; `compared` in rising order of time."""

    best_label: str
    best: Run
    compared: tuple[Versus, ...]
    digests_equal: bool | None
    all_verified: bool
    bound: Phase | None


def find(group: Group) -> Finding:
    """Compare the runs of a group.

    The best one takes the least time from nothing to the answer, start-up and loading included; a
    run whose answer is not verified is never the best while there is one that is.
    """
    ordered = sorted(
        group.named(), key=lambda item: (item[1].verified is not True, item[1].total_seconds)
    )
    best_label, best = ordered[0]
    digests = {run.digest for run in group.runs}
    return Finding(
        best_label=best_label,
        best=best,
        compared=tuple(_versus(best, label, run) for label, run in ordered[1:]),
        digests_equal=None if len(group.runs) < 2 or "" in digests else len(digests) == 1,
        all_verified=all(run.verified is True for run in group.runs),
        bound=bounding_phase(best),
    )


def bounding_phase(run: Run) -> Phase | None:
    """The longest phase of the work that was compared with a ceiling and is a good part of it."""
    work = [phase for phase in run.phases if phase.name not in SETUP_PHASES and phase.seconds > 0]
    least = BOUND_SHARE * sum(phase.seconds for phase in work)
    compared = [phase for phase in work if phase.fraction is not None and phase.seconds >= least]
    return max(compared, key=lambda phase: phase.seconds, default=None)


def longest_phase(run: Run) -> Phase | None:
    """The phase that took most of the run."""
    return max(run.phases, key=lambda phase: phase.seconds, default=None)


def busy_share(run: Run) -> float | None:
    """CPU time over wall time and threads; more than 1 when helpers ran too."""
    cpu, wall, threads = (
        run.number(name) for name in ("cpu_seconds", "wall_seconds", "threads")
    )  # fmt: skip
    if not cpu or not wall or not threads:
        return None
    return cpu / (wall * threads)


def spread(run: Run) -> float:
    """Range of the work's samples over their median; 0 for a single sample."""
    samples = [sample.work_seconds for sample in run.samples]
    median = run.work.median
    return (max(samples) - min(samples)) / median if median > 0 else 0.0


def spans(run: Run) -> dict[str, float]:
    """Seconds by phase of a run from nothing, in order; what no phase covers is `OTHER`.

    A retained session starts in the first sample only, so `start` is taken from the sample that
    has it.
    """
    seconds_by_phase = {
        name: run.setup_seconds(name) for name in SETUP_PHASES if run.setup_seconds(name) > 0
    }
    for phase in run.phases:
        if phase.name not in SETUP_PHASES:
            seconds_by_phase[phase.name] = seconds_by_phase.get(phase.name, 0.0) + phase.seconds
    covered = sum(phase.seconds for phase in run.phases)
    wall = run.number("wall_seconds") or covered
    if wall > covered:
        seconds_by_phase[OTHER] = seconds_by_phase.get(OTHER, 0.0) + wall - covered
    return seconds_by_phase


def spans_seconds(run: Run) -> float:
    """Sum of all `spans`: start-up, loading and work."""
    return sum(spans(run).values())


def throughput_bytes_per_s(run: Run) -> float | None:
    """Input bytes over the work's time."""
    seconds = run.work.median
    return run.input_bytes / seconds if run.input_bytes and seconds > 0 else None


def rows_per_s(run: Run) -> float | None:
    """Rows read over the work's time."""
    rows, seconds = run.counts.get("rows_read"), run.work.median
    return rows / seconds if rows and seconds > 0 else None


def machines_to_draw_level(best: Run, other: Run) -> float | None:
    """Machines like this one that `other` needs, scaling perfectly, to match `best` on one.

    None when not even endless machines would do: when its start-up alone takes longer than `best`.
    """
    left = best.total_seconds - other.setup_seconds("start")
    if left <= 0:
        return None
    return max(1.0, (other.work.median + other.setup_seconds("load")) / left)


def _versus(best: Run, label: str, run: Run) -> Versus:
    work_ratio = _over(run.work.median, best.work.median)
    several = min(len(run.samples), len(best.samples)) >= SAMPLES_MIN
    return Versus(
        label=label,
        run=run,
        work_ratio=work_ratio,
        total_ratio=_over(run.total_seconds, best.total_seconds),
        slower=run.work.low > best.work.high and (several or work_ratio >= HINT_RATIO),
        faster=run.work.high < best.work.low and (several or work_ratio <= 1 / HINT_RATIO),
    )


def _over(numerator: float, denominator: float) -> float:
    return numerator / denominator if denominator > 0 else 1.0
