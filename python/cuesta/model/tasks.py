"""Reader of task traces, `cuesta.tasks/1`: the work of a job's stages, for a replay elsewhere.

A run record with the times of its tasks is a trace, too (`recorded`).

The format is `spec/formats/task-trace.md`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuesta.errors import InputError
from cuesta.lab import record as records

SCHEMA = "cuesta.tasks/1"
TASKS_MAX = 20_000_000
AMOUNTS = ("cpu_s", "input_bytes", "exchange_bytes", "output_bytes")
PLACES = ("disk", "shared")


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
        trace = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {(error.strerror or str(error)).lower()}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not a trace of tasks ({error})") from None
    schema = trace.get("schema") if isinstance(trace, dict) else None
    if schema == records.SCHEMA:
        from cuesta.model import recorded

        return recorded.stages(trace, path)
    if schema != SCHEMA:
        raise InputError(f"{path}: a file of schema {schema}, expected {SCHEMA}")
    rows = trace.get("stages")
    if not isinstance(rows, list) or not rows:
        raise InputError(f"{path}: has no stages")
    stages: list[Stage] = []
    for index, row in enumerate(rows):
        stages.append(_stage(f"{path}: stage {index}", row, [stage.name for stage in stages]))
    if sum(stage.count for stage in stages) > TASKS_MAX:
        raise InputError(f"{path}: more than {TASKS_MAX:,} tasks")
    return stages


def scaled(stages: Sequence[Stage], factor: float) -> list[Stage]:
    """Stages with `factor` times as many tasks, at least one per stage, of unchanged amounts."""
    return [
        Stage(**{**vars(stage), "count": max(1, round(stage.count * factor))}) for stage in stages
    ]


def _stage(place: str, row: Any, before: Sequence[str]) -> Stage:
    if not isinstance(row, dict):
        raise InputError(f"{place}: not an object")
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
        raise InputError(f"{place}: after {unknown[0]!r}, which is no stage before it")
    return tuple(before.index(name) for name in names)


def _amounts(place: str, field: str, row: Mapping[str, Any]) -> tuple[float, ...]:
    """Parse an amount: a number for all tasks, or a list."""
    raw = row.get(field, 0.0)
    values = raw if isinstance(raw, list) else [raw]
    if not values or not all(
        isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e18
        for value in values
    ):
        raise InputError(f"{place}: {field} is not a number, or numbers, from zero up")
    return tuple(float(value) for value in values)
