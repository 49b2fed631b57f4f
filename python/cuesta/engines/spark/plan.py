"""Cuts local files into tasks for Spark, and makes DataFrames whose rows come from the kernel."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from cuesta.engines.spark import executor
from cuesta.engines.spark.context import Context
from cuesta.engines.spark.executor import WHOLE_FILE, Reading, Split
from cuesta.native import from_response, native_module

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SPLIT_BYTES = 16 << 20
"""Text whose rows a worker holds at a time."""
TASK_BYTES_MAX = 256 << 20
TASKS_A_SLOT = 3
"""Tasks for each slot, so that all slots end at about the same time."""

_SUMMED = frozenset({"degrees", "communities"})
"""Kinds whose answer does not grow with the text, so that a task can be one split."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """One version of a dataset, cut.

    Attributes
    ----------
    tasks
        The splits of each task, in the order of the input.
    parameters
        The trial's, with the shape of a line, as JSON.
    size_bytes
        Bytes on disk of all splits.
    files_skipped
        Files whose folder's range can't pass the filter.
    """

    tasks: tuple[tuple[Split, ...], ...]
    parameters: str
    size_bytes: int
    files_skipped: int


def make_plan(context: Context, inputs: tuple[str, ...], kind: str) -> Plan:
    """Cut local files. Errors: `InputError` when there is no gene pair in them."""
    native = native_module()
    parameters = dict(context.trial.parameters)
    wanted = context.task_bytes
    largest = wanted or TASK_BYTES_MAX
    split_bytes = largest if kind in _SUMMED else min(SPLIT_BYTES, largest)
    found = from_response(native.splits(json.dumps(inputs), json.dumps(parameters), split_bytes))
    splits = [(path, offset, size_bytes) for path, offset, size_bytes in found["splits"]]
    size_bytes = sum(map(size_of, splits))
    even = -(-size_bytes // (TASKS_A_SLOT * context.session.slots))
    task_bytes = wanted or min(max(even, SPLIT_BYTES), TASK_BYTES_MAX)
    if kind in _SUMMED:
        splits = [piece for split in splits for piece in _pieces(split, task_bytes)]
    return Plan(
        tasks=tuple(_grouped(splits, task_bytes)),
        parameters=json.dumps(
            parameters | {"version": found["version"], "samples": found["samples"]}
        ),
        size_bytes=size_bytes,
        files_skipped=found["files_skipped"],
    )


def read(context: Context, plan: Plan, kind: str, version: str = "") -> DataFrame:
    """The columns of `kind` of every row that passes."""
    reading = Reading(kind=kind, parameters=plan.parameters, version=version, tally=context.tally)
    function = partial(executor.columns, reading, plan.tasks)
    return context.session.map_arrow(numbers(context, plan), function, executor.schema_of(kind))


def numbers(context: Context, plan: Plan) -> DataFrame:
    """A row and a partition for each task."""
    count = max(1, len(plan.tasks))
    return context.session.spark.range(0, len(plan.tasks), 1, count)


def size_of(split: Split) -> int:
    """Bytes on disk of a split."""
    path, _, size_bytes = split
    return Path(path).stat().st_size if size_bytes == WHOLE_FILE else size_bytes


def _pieces(split: Split, most: int) -> Iterator[Split]:
    """The split in pieces of at most `most` bytes."""
    path, offset, size_bytes = split
    if size_bytes == WHOLE_FILE:
        yield split
        return
    for start in range(0, size_bytes, most):
        yield path, offset + start, min(most, size_bytes - start)


def _grouped(splits: Iterable[Split], task_bytes: int) -> Iterator[tuple[Split, ...]]:
    """Neighbouring splits, as many as fill a task."""
    group: list[Split] = []
    held = 0
    for split in splits:
        group.append(split)
        held += size_of(split)
        if held >= task_bytes:
            yield tuple(group)
            group, held = [], 0
    if group:
        yield tuple(group)
