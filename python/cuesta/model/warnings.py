"""What looks wrong in runs before any model: units, and phases that nodes must not change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from cuesta.model.observed import Observed

LOCAL_PHASES = ("generate", "shift")
"""Phases without communication: with as much work for a core their time does not change."""
CHANGE_MAX = 1.5
PHASES_LEAST = 1 / 30
"""Phases that add up to less of the whole run may be in another unit: 60 and 1000 are usual."""


def of(runs: Sequence[Observed]) -> Iterator[str]:
    """A sentence for each thing that looks wrong."""
    yield from _units(runs)
    yield from _local(runs)


def _units(runs: Sequence[Observed]) -> Iterator[str]:
    """Runs whose phases add up to next to nothing of the whole."""
    parts = [(sum(one.phases.values()), one.seconds or 0.0, one) for one in runs if one.phases]
    few = [(phases, whole, one) for phases, whole, one in parts if phases < PHASES_LEAST * whole]
    for phases, whole, one in few[:1]:
        yield (
            f"phases add up to {phases:.4g} s of {whole:.4g} s in {one.source}, and to as little in"
            f" {len(few)} of {len(parts)} runs; are all columns in seconds?"
        )


def _local(runs: Sequence[Observed]) -> Iterator[str]:
    """Local phases whose time changes though the work of a core does not."""
    if any(one.tasks is not None for one in runs):
        return  # A leader launches tasks within such phases, the more the more nodes.
    series: dict[float, dict[int, Observed]] = defaultdict(dict)
    for one in runs:
        series[round(one.work, 9)][one.nodes] = one
    for same in series.values():
        first, last = same[min(same)], same[max(same)]
        for name in LOCAL_PHASES:
            before, after = first.phases.get(name, 0.0), last.phases.get(name, 0.0)
            if before > 0 and after > CHANGE_MAX * before:
                yield (
                    f"{name} needs no communication, yet takes {after / before:.1f} times as long"
                    f" on {last.nodes} nodes as on {first.nodes} with as much work for a core"
                )
