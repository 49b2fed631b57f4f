"""`dataflow` in Spark and NumPy alone, `--kernels numpy`: blocks are arrays in RDDs, and tasks add
the sums; the driver writes the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from cuesta.engines.dataflow import (
    ANSWER_FILE,
    VECTOR_BYTES,
    NumpyKernels,
    Plan,
    Sums,
    add,
    make_block,
    make_room,
    plan,
    sums_of,
    write_table,
)
from cuesta.engines.spark.context import Context
from cuesta.engines.spark.executor import counted
from cuesta.engines.spark.failures import refusing
from cuesta.engines.spark.options import options_of, tasks_bytes
from cuesta.errors import InputError
from cuesta.units import format_bytes

if TYPE_CHECKING:
    from pyspark import RDD

    from cuesta.engines.dataflow import Block
    from cuesta.engines.spark.session import Session

TASKS_A_SLOT = 3
"""Tasks for each slot, so that all slots end at about the same time."""
COPIES = 4
"""Copies of a block in memory while it is sent from the JVM to a Python worker and back."""
ROW_BYTES_MAX = 1 << 30
SUMS_BYTES = 256
"""Memory of a block's sums in the driver's Python."""


def run(context: Context) -> dict[str, int]:
    """Write `averages.tsv`; return the counts."""
    trial = context.trial
    plan_ = plan(trial.parameters, trial.seed, trial.inputs)
    options = options_of(context.trial)
    tasks = options.partitions or min(plan_.blocks, TASKS_A_SLOT * context.session.slots)
    _check_memory(context, plan_)
    stages = _Stages(context, plan_, tasks)
    if plan_.keep == "none":
        with _phase(context, plan_, "pipeline"):
            sums = _computed(context, stages.pipeline())
    else:
        sums = _staged(context, plan_, stages)
    with _phase(context, plan_, "reduce"):
        total = sums.reduce(add)
    with _phase(context, plan_, "write"):
        write_table(context.output / ANSWER_FILE, sums.collect(), total, plan_)
    # Not in a `finally`: after a failure the session may be closed, and sums take little memory.
    sums.unpersist(blocking=True)
    return {
        "blocks": plan_.blocks,
        "vectors": plan_.vectors,
        "partitions": tasks,
        **stages.stored,
    }


@contextmanager
def _phase(context: Context, plan_: Plan, name: str) -> Iterator[None]:
    with context.phase(name) as measure:
        yield
        amounts = plan_.amounts(name)
        measure.rows, measure.bytes = amounts["rows"], amounts.get("bytes")


def _computed(context: Context, sums: RDD[Sums]) -> RDD[Sums]:
    """Compute the sums of blocks and persist them on the executors."""
    from pyspark import StorageLevel

    sums = _counted(context, sums)
    sums.persist(StorageLevel.MEMORY_AND_DISK)
    sums.count()
    return sums


def _check_memory(context: Context, plan_: Plan) -> None:
    """Check that data of tasks and driver fit into Python's memory. Errors: `InputError`."""
    session, available = context.session, tasks_bytes(context.trial)
    if plan_.blocks * SUMS_BYTES > available:
        raise InputError(
            f"engine spark: the sums of {plan_.blocks} blocks do not fit in the "
            f"{format_bytes(available)} that --memory leaves them; give larger --block-vectors and "
            "fewer --blocks"
        )
    if not plan_.stores:
        return
    at_once = -(-session.slots // session.nodes)
    block_bytes = plan_.vectors_of(0) * VECTOR_BYTES
    is_stored = plan_.keep != "none"
    needed = (COPIES if is_stored else 1) * block_bytes * at_once
    # A stored block is a row.
    if needed > available or (is_stored and block_bytes > ROW_BYTES_MAX):
        raise InputError(
            f"engine spark: a block of {format_bytes(block_bytes)} is too large for --memory "
            f"{format_bytes(context.trial.memory_bytes)} and {at_once} tasks at once on a node; "
            "give smaller --block-vectors and more --blocks"
        )


def _staged(context: Context, plan_: Plan, stages: _Stages) -> RDD[Sums]:
    try:
        with _phase(context, plan_, plan_.making):
            stages.make()
        with _phase(context, plan_, "shift"):
            stages.shift()
        with _phase(context, plan_, "average"):
            return _computed(context, stages.average())
    finally:
        stages.forget()


class _Stages:
    """The stages on RDDs of NumPy arrays."""

    def __init__(self, context: Context, plan_: Plan, tasks: int) -> None:
        self.stored: dict[str, int] = {}
        self._context = context
        self._plan = plan_
        self._tasks = tasks
        self._persisted: list[RDD[Any]] = []

    def pipeline(self) -> RDD[Sums]:
        """Return the sums of blocks that pass through all stages in one task."""
        numbers = _numbers(self._context.session, self._plan, self._tasks)
        return numbers.mapPartitions(partial(_all_sums, NumpyKernels(), self._plan))

    def make(self) -> None:
        """Make the blocks and persist them."""
        numbers = _numbers(self._context.session, self._plan, self._tasks)
        self._persist(numbers.map(partial(_made, NumpyKernels(), self._plan)))

    def shift(self) -> None:
        """Persist the shifted blocks in addition to the first: RDDs are immutable."""
        by = self._plan.shift
        self._persist(self._persisted[-1].map(lambda block: (block.reshape(-1, 3) + by).ravel()))

    def average(self) -> RDD[Sums]:
        """Return the sums of the persisted blocks."""
        return self._persisted[-1].map(NumpyKernels().sum)

    def forget(self) -> None:
        """Release all persisted blocks."""
        for rdd in self._persisted:
            rdd.unpersist(blocking=True)

    def _persist(self, rdd: RDD[Any]) -> None:
        rdd = _counted(self._context, rdd)
        rdd.persist(_level(self._plan))
        self._persisted.append(rdd)
        rdd.count()
        self.stored |= _stored(self._context.session)


def _counted(context: Context, rdd: RDD[Any]) -> RDD[Any]:
    """Return the same rows, with the time of Python workers counted."""
    return rdd.mapPartitions(partial(counted, context.times, iter))


def _level(plan_: Plan) -> Any:
    from pyspark import StorageLevel

    return StorageLevel.MEMORY_AND_DISK if plan_.keep == "memory" else StorageLevel.DISK_ONLY


def _stored(session: Any) -> dict[str, int]:
    """Return the bytes of persisted blocks in memory and, beyond its size, on disk."""
    storage = session.spark.sparkContext._jsc.sc().getRDDStorageInfo()
    return {
        "kept_memory_bytes": sum(info.memSize() for info in storage),
        "kept_disk_bytes": sum(info.diskSize() for info in storage),
    }


def _made(kernels: NumpyKernels, plan_: Plan, number: int) -> Block:
    """Make a block in a new array. Errors: marked for the driver to recognize."""
    import numpy as np

    with refusing():
        return make_block(kernels, plan_, number, np.empty(3 * plan_.vectors_of(number)))


def _numbers(session: Session, plan_: Plan, tasks: int) -> RDD[int]:
    return session.spark.sparkContext.range(0, plan_.blocks, 1, tasks)


def _all_sums(kernels: NumpyKernels, plan_: Plan, numbers: Iterable[int]) -> Iterator[Sums]:
    with refusing():
        room = make_room(plan_)
        for number in numbers:
            yield sums_of(kernels, plan_, number, room)
