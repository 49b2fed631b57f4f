"""Rounds on Spark: a round is a job, with a shuffle where tasks send blocks to parts.

Workers have no state between rounds: any Python process may run any task.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from cuesta.engines import rounds
from cuesta.engines.rounds import Job, Means, Round, combined
from cuesta.engines.spark import rounds_tasks as tasks
from cuesta.engines.spark.executor import counted
from cuesta.engines.spark.options import options_of, tasks_bytes

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from cuesta.engines.spark.context import Context

SLICES_A_SLOT = 4
"""Spark's tasks for each slot at most, so that all slots end at about the same time."""
TASKS_A_SLICE = 16
"""Limit of a round's tasks in one task of Spark."""


def run(context: Context) -> dict[str, int]:
    """Run all rounds; return the counts. Errors: those of the tasks."""
    trial = context.trial
    means = Means(
        slots=context.session.slots,
        nodes=context.session.nodes,
        memory_bytes=tasks_bytes(trial),
        tasks=options_of(trial).partitions,
        task_bytes=context.task_bytes,
    )
    places = (context.output, context.scratch)
    outcome = rounds.run(trial, places, means, partial(_watched, context))
    context.phases += outcome.phases
    return dict(outcome.counts)


def _watched(context: Context, job: Job, round_: Round) -> list[bytes]:
    """Call `_execute`, and report progress meanwhile."""
    with context.watched(round_.size_bytes):
        return _execute(context, job, round_)


def _execute(context: Context, job: Job, round_: Round) -> list[bytes]:
    """Return the results of the tasks, or of the parts if any, in the order of their numbers."""
    count = len(round_.tasks)
    slots = context.session.slots
    slices = max(1, min(count, max(SLICES_A_SLOT * slots, count // TASKS_A_SLICE)))
    numbers = context.session.spark.range(0, count, 1, slices)
    rows = _mapped(context, job, round_, numbers)
    results: list[bytes] = rows.toArrow().sort_by("number").column("result").to_pylist()
    return combined(job.worker(), round_, results) if round_.combines else results


def _mapped(context: Context, job: Job, round_: Round, numbers: DataFrame) -> DataFrame:
    session, arguments = context.session, (job, round_, context.tally, context.times)
    do, send, receive = (
        partial(counted, context.times, partial(function, *arguments))
        for function in (tasks.do, tasks.send, tasks.receive)
    )
    if not round_.parts:
        return session.map_arrow(numbers, do, tasks.RESULT_SCHEMA)
    blocks = session.map_arrow(numbers, send, tasks.BLOCK_SCHEMA)
    blocks = blocks.repartitionById(round_.parts, "part")
    return session.map_arrow(blocks, receive, tasks.RESULT_SCHEMA)
