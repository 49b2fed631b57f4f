"""Warnings about runs before a fit: units, and local phases that change with the nodes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from cuesta_lab.model.observed import Observation

LOCAL_PHASES = ("generate", "shift")
"""Phases without communication: with equal work for a core their time does not change."""
CHANGE_MAX = 1.5
PHASES_LEAST = 1 / 30
"""Least share of a run's time that its phases add up to; less hints at another unit (60 and 1000
are usual)."""


def warn_of(runs: Sequence[Observation]) -> Iterator[str]:
    """Yield a sentence for each suspicious property of the runs."""
    yield from _units(runs)
    yield from _local(runs)


def _units(runs: Sequence[Observation]) -> Iterator[str]:
    """Warn of runs whose phases add up to a tiny share of their time."""
    parts = [(sum(run.phases.values()), run.seconds or 0.0, run) for run in runs if run.phases]
    few = [
        (phases, seconds, run) for phases, seconds, run in parts if phases < PHASES_LEAST * seconds
    ]
    for phases, seconds, run in few[:1]:
        yield (
            f"phases add up to {phases:.4g} s of {seconds:.4g} s in {run.source}, and to as little"
            f" in {len(few)} of {len(parts)} runs; are all columns in seconds?"
        )


def _local(runs: Sequence[Observation]) -> Iterator[str]:
    """Warn of local phases whose time changes with the nodes at equal work of a core."""
    if any(run.tasks is not None for run in runs):
        return  # A leader launches tasks within such phases, the more the more nodes.
    series: dict[float, dict[int, Observation]] = defaultdict(dict)
    for run in runs:
        series[round(run.work, 9)][run.nodes] = run
    for same in series.values():
        first, last = same[min(same)], same[max(same)]
        for name in LOCAL_PHASES:
            before, after = first.phases.get(name, 0.0), last.phases.get(name, 0.0)
            if before > 0 and after > CHANGE_MAX * before:
                yield (
                    f"{name} needs no communication, yet takes {after / before:.1f} times as long"
                    f" on {last.nodes} nodes as on {first.nodes} with as much work for a core"
                )
