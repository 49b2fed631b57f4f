"""Stages for a replay, from the tasks in a run record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from cuesta.errors import InputError
from cuesta.model.tasks import Stage

LEADER = "leader"
"""Name of the stage for the time between stages, in which the engine's leader works: one task."""
CLOCK_SECONDS = 1e-3
"""Resolution of the engines' clocks."""
_WAITS = ("scheduler_delay_seconds", "fetch_wait_seconds")
"""Waits of a task in the recorded run; a replay has them by its bytes and its launch rate."""

Ends = tuple[float, float]
"""Seconds at which a stage began and ended."""


def before(ends: Sequence[Ends], began: float) -> list[int]:
    """Indices of stages that ended by `began`, without those that another of them waited for."""
    ended = [index for index, (_, end) in enumerate(ends) if end <= began + CLOCK_SECONDS]
    latest = max((ends[index][0] for index in ended), default=0.0)
    return [index for index in ended if ends[index][1] > latest + CLOCK_SECONDS]


def stages(record: Mapping[str, Any], path: Path) -> list[Stage]:
    """Return the stages of a run, each after a stage of the leader, from the run's start on.

    The computing time of a task is its time without its waits. It includes reading and writing that
    the engine does not count in bytes, at the recorded speed. Errors: `InputError` for a run
    without times of tasks.
    """
    rows = [
        row for row in record.get("stages") or [] if (row.get("each") or {}).get("task_seconds")
    ]
    if not rows:
        raise InputError(
            f"{path}: its engine has no log of tasks; give a run of spark, mpi, or hadoop on YARN"
        )
    rows.sort(key=lambda row: (row["began"], row["seconds"]))
    ends = [(float(row["began"]), float(row["began"] + row["seconds"])) for row in rows]
    start = sum(phase["seconds"] for phase in record["phases"] if phase["name"] == "start")
    replayed: list[Stage] = []
    for row, (began, _) in zip(rows, ends, strict=True):
        earlier = before(ends, began)
        since = max((ends[index][1] for index in earlier), default=start)
        after = tuple(2 * index + 1 for index in earlier)
        replayed.append(_leader(max(0.0, began - since), after))
        replayed.append(_stage(row, len(replayed) - 1))
    last = before(ends, float(record["wall_seconds"]))
    since = max((ends[index][1] for index in last), default=start)
    after = tuple(2 * index + 1 for index in last)
    return [*replayed, _leader(max(0.0, record["wall_seconds"] - since), after)]


def _leader(seconds: float, after: tuple[int, ...]) -> Stage:
    none = (0.0,)
    return Stage(
        name=LEADER, count=1, after=after, place="disk", cpu_s=(seconds,), input_bytes=none,
        exchange_bytes=none, output_bytes=none,
    )  # fmt: skip


def _stage(row: Mapping[str, Any], leader: int) -> Stage:
    each: Mapping[str, Sequence[float]] = row["each"]
    columns = [each.get(name, ()) for name in ("task_seconds", *_WAITS)]
    seconds = tuple(
        max(0.0, task_seconds - sum(waits))
        for task_seconds, *waits in zip_longest(*columns, fillvalue=0.0)
    )
    moved = {
        name: tuple(map(float, each.get(name, ()))) or (0.0,)
        for name in ("input_bytes", "exchange_bytes", "output_bytes")
    }
    name, count = str(row["name"]), len(seconds)
    return Stage(name=name, count=count, after=(leader,), place="disk", cpu_s=seconds, **moved)
