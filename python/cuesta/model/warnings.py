"""What looks wrong in runs before any model: phases that must not depend on the nodes and do."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from cuesta.model.observed import Observed

LOCAL_PHASES = ("generate", "shift")
"""Phases without communication: with as much work for a core their time does not change."""
CHANGE_MAX = 1.5


def of(runs: Sequence[Observed]) -> Iterator[str]:
    """A sentence for each local phase whose time changes though the work of a core does not."""
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
