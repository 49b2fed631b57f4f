"""Resource use of ranks that a run's probe does not observe: on other nodes, or siblings.

A probe adds up the descendants of its process. Ranks that `srun` starts are none, even on the same
node. So each rank checks whether it is a descendant, and reports its use if it is not.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from cuesta import markers
from cuesta.processes import (
    Use,
    identity,
    number_space,
    parents,
    peak_resident_bytes,
    reset_peak,
    use_of,
)
from cuesta.trial import RemoteUse

_SUMMED = (
    "cpu_seconds",
    "read_bytes",
    "written_bytes",
    "device_read_bytes",
    "device_written_bytes",
)
_PEAK = "peak_resident_bytes"

Place = Mapping[str, str]


def place() -> Place:
    """Return the identity of this process, unique among all machines."""
    return {
        "boot": markers.boot(),
        "numbers": number_space(),
        "process": identity(os.getpid()),
    }


class RankUse:
    """Resource use of this rank from now on, or since its start if it was spawned for the run."""

    def __init__(self, watcher: Place, *, is_spawned: bool) -> None:
        """Arguments: `watcher` is the `place` of the process that measures the run."""
        self._is_observed = _is_below(watcher)
        self._first = None if is_spawned else use_of(os.getpid())
        if not is_spawned and not self._is_observed:
            reset_peak()

    def measured(self) -> dict[str, Any] | None:
        """Return the use up to now; None for a rank that the watcher observes."""
        last = use_of(os.getpid())
        if self._is_observed:
            return None
        if last is None:
            return {"node": os.uname().nodename}
        used = {name: getattr(last, name) - _before(self._first, name) for name in _SUMMED}
        return {"node": os.uname().nodename, _PEAK: peak_resident_bytes(), **used}


def total(ranks: list[dict[str, Any] | None]) -> RemoteUse | None:
    """Return the use of all ranks that were not observed; None without such ranks."""
    remote = [rank for rank in ranks if rank is not None]
    if not remote:
        return None
    known = all(_PEAK in rank for rank in remote)
    sums = {name: sum(rank[name] for rank in remote) for name in (_PEAK, *_SUMMED)} if known else {}
    return RemoteUse(processes=len(remote), nodes=len({rank["node"] for rank in remote}), **sums)


def _before(first: Use | None, name: str) -> Any:
    return 0 if first is None else getattr(first, name)


def _is_below(watcher: Place) -> bool:
    """Whether this process is the watcher or one of its descendants."""
    here = place()
    if any(watcher.get(name) != here[name] for name in ("boot", "numbers")):
        return False
    above = {identity(pid) for pid in (os.getpid(), *parents(os.getpid()))}
    return watcher.get("process", "") in above - {""}
