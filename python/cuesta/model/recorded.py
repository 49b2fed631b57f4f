"""The tasks of a run, out of its record, as stages for a replay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from cuesta.errors import InputError
from cuesta.model.tasks import Stage

LEADER = "leader"
"""Name of a stage of one task: the time between stages, in which the engine's leader works."""
CLOCK_SECONDS = 1e-3
"""The unit of the engines' clocks."""
_WAITS = ("scheduler_delay_seconds", "fetch_wait_seconds")
"""What a task waited for there, and gets elsewhere by bytes and by the launch rate."""

Ends = tuple[float, float]
"""When a stage began and ended."""


def before(ends: Sequence[Ends], began: float) -> list[int]:
    """The stages that had ended by then, without those that others of them had waited for."""
    ended = [index for index, (_, end) in enumerate(ends) if end <= began + CLOCK_SECONDS]
    latest = max((ends[index][0] for index in ended), default=0.0)
    return [index for index in ended if ends[index][1] > latest + CLOCK_SECONDS]


def stages(record: Mapping[str, Any], path: Path) -> list[Stage]:
    """Before each stage of a run one of its leader, from its start on.

    A task computes for what it took without its waits: reading and writing that its engine does not
    count in bytes are in it, at the speed that they had there. Errors: `InputError` for a run
    without times of tasks.
    """
    rows = [
        one for one in record.get("stages") or [] if (one.get("each") or {}).get("task_seconds")
    ]
    if not rows:
        raise InputError(
            f"{path}: its engine has no log of tasks; give a run of spark, mpi, or hadoop on YARN"
        )
    rows.sort(key=lambda one: (one["began"], one["seconds"]))
    ends = [(float(one["began"]), float(one["began"] + one["seconds"])) for one in rows]
    start = sum(one["seconds"] for one in record["phases"] if one["name"] == "start")
    found: list[Stage] = []
    for row, (began, _) in zip(rows, ends, strict=True):
        earlier = before(ends, began)
        since = max((ends[index][1] for index in earlier), default=start)
        after = tuple(2 * index + 1 for index in earlier)
        found.append(_leader(max(0.0, began - since), after))
        found.append(_stage(row, len(found) - 1))
    last = before(ends, float(record["wall_seconds"]))
    since = max((ends[index][1] for index in last), default=start)
    after = tuple(2 * index + 1 for index in last)
    return [*found, _leader(max(0.0, record["wall_seconds"] - since), after)]


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
        max(0.0, whole - sum(waits)) for whole, *waits in zip_longest(*columns, fillvalue=0.0)
    )
    moved = {
        name: tuple(map(float, each.get(name, ()))) or (0.0,)
        for name in ("input_bytes", "exchange_bytes", "output_bytes")
    }
    name, count = str(row["name"]), len(seconds)
    return Stage(name=name, count=count, after=(leader,), place="disk", cpu_s=seconds, **moved)
