"""Reader of task traces, `cuesta.tasks/1`: the work of a job's stages, for a replay elsewhere.

A run record with the times of its tasks is a trace, too.

The format is `spec/formats/task-trace.md`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from cuesta.errors import InputError, in_words
from cuesta.lab import record as records
from cuesta.untrusted import read_json

SCHEMA = "cuesta.tasks/1"
TASKS_MAX = 20_000_000
AMOUNTS = ("cpu_s", "input_bytes", "exchange_bytes", "output_bytes")
PLACES = ("disk", "shared")
LEADER = "leader"
"""Name of the stage for the time between stages, in which the engine's leader works: one task."""
CLOCK_SECONDS = 1e-3
"""Resolution of the engines' clocks."""
_WAITS = ("scheduler_delay_seconds", "fetch_wait_seconds")
"""Waits of a task in the recorded run; a replay has them by its bytes and its launch rate."""

Ends = tuple[float, float]
"""Seconds at which a stage began and ended."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Tasks that may run at the same time.

    Attributes
    ----------
    count
        Number of tasks; their amounts cycle through the lists.
    after
        Indices of stages that must end before.
    cpu_s
        Core seconds of each task.
    input_bytes, output_bytes
        Bytes that each task reads and writes at `place`: the node's disks, or shared storage.
    exchange_bytes
        Bytes that each task receives from other nodes.
    """

    name: str
    count: int
    after: tuple[int, ...]
    place: str
    cpu_s: tuple[float, ...]
    input_bytes: tuple[float, ...]
    exchange_bytes: tuple[float, ...]
    output_bytes: tuple[float, ...]


def read(path: Path) -> list[Stage]:
    """Read the stages of a trace or run record. Errors: `InputError` with file, stage and field."""
    path = path / records.FILE_NAME if path.is_dir() else path
    try:
        trace = read_json(path)
    except OSError as error:
        raise InputError(f"{path}: {in_words(error)}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not a trace of tasks ({error}); obtain it again") from None
    schema = trace.get("schema") if isinstance(trace, dict) else None
    if schema == records.SCHEMA:
        return recorded(trace, path)
    if schema != SCHEMA:
        raise InputError(f"{path}: a file of schema {schema}, expected {SCHEMA}")
    rows = trace.get("stages")
    if not isinstance(rows, list) or not rows:
        raise InputError(f"{path}: has no stages; obtain it again")
    stages: list[Stage] = []
    for index, row in enumerate(rows):
        stages.append(_stage(f"{path}: stage {index}", row, [stage.name for stage in stages]))
    if sum(stage.count for stage in stages) > TASKS_MAX:
        raise InputError(f"{path}: more than {TASKS_MAX:,} tasks; give a part of it")
    return stages


def before(ends: Sequence[Ends], began: float) -> list[int]:
    """Indices of stages that ended by `began`, without those that another of them waited for."""
    ended = [index for index, (_, end) in enumerate(ends) if end <= began + CLOCK_SECONDS]
    latest = max((ends[index][0] for index in ended), default=0.0)
    return [index for index in ended if ends[index][1] > latest + CLOCK_SECONDS]


def recorded(record: Mapping[str, Any], path: Path) -> list[Stage]:
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
        replayed.append(_recorded_stage(row, len(replayed) - 1))
    last = before(ends, float(record["wall_seconds"]))
    since = max((ends[index][1] for index in last), default=start)
    after = tuple(2 * index + 1 for index in last)
    return [*replayed, _leader(max(0.0, record["wall_seconds"] - since), after)]


def scaled(stages: Sequence[Stage], factor: float) -> list[Stage]:
    """Stages with `factor` times as many tasks, at least one per stage, of unchanged amounts."""
    return [
        Stage(**{**vars(stage), "count": max(1, round(stage.count * factor))}) for stage in stages
    ]


def _leader(seconds: float, after: tuple[int, ...]) -> Stage:
    none = (0.0,)
    return Stage(
        name=LEADER, count=1, after=after, place="disk", cpu_s=(seconds,), input_bytes=none,
        exchange_bytes=none, output_bytes=none,
    )  # fmt: skip


def _recorded_stage(row: Mapping[str, Any], leader: int) -> Stage:
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


def _stage(place: str, row: Any, before: Sequence[str]) -> Stage:
    if not isinstance(row, dict):
        raise InputError(f"{place}: not an object; correct it")
    name = str(row.get("name", len(before)))
    count = row.get("count")
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise InputError(f"{place}, {name}: count is {count!r}, give a number of tasks")
    at = row.get("place", "disk")
    if at not in PLACES:
        raise InputError(f"{place}, {name}: place is {at!r}, give one of {', '.join(PLACES)}")
    amounts = {field: _amounts(f"{place}, {name}", field, row) for field in AMOUNTS}
    return Stage(name=name, count=count, after=_after(place, row, before), place=at, **amounts)


def _after(place: str, row: Mapping[str, Any], before: Sequence[str]) -> tuple[int, ...]:
    """Indices of the named stages, or of the preceding stage if none is named."""
    names = row.get("after", before[-1:])
    unknown = [name for name in names if name not in before]
    if unknown:
        raise InputError(f"{place}: after {unknown[0]!r}, which is no stage before it; correct it")
    return tuple(before.index(name) for name in names)


def _amounts(place: str, field: str, row: Mapping[str, Any]) -> tuple[float, ...]:
    """Parse an amount: a number for all tasks, or a list."""
    raw = row.get(field, 0.0)
    values = raw if isinstance(raw, list) else [raw]
    if not values or not all(
        isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e18
        for value in values
    ):
        raise InputError(f"{place}: {field} is not a number, or numbers, from zero up; correct it")
    return tuple(float(value) for value in values)
