"""`dataflow` as it is written with Spark and NumPy alone, `--kernels numpy`: blocks are arrays in
RDDs, and sums stay in tasks, which add them; the driver writes the table.
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
"""Of a block while it goes from the JVM to a Python worker and back."""
ROW_BYTES_MAX = 1 << 30
SUMS_BYTES = 256
"""The sums of a block, in the driver's Python."""


def run(context: Context) -> dict[str, int]:
    """Write `averages.tsv`; return the counts."""
    trial = context.trial
    asked = plan(trial.parameters, trial.seed, trial.inputs)
    options = options_of(context.trial)
    tasks = options.partitions or min(asked.blocks, TASKS_A_SLOT * context.session.slots)
    _check_memory(context, asked)
    stages = _Stages(context, asked, tasks)
    if asked.keep == "none":
        with _phase(context, asked, "pipeline"):
            sums = _computed(context, stages.pipeline())
    else:
        sums = _staged(context, asked, stages)
    with _phase(context, asked, "reduce"):
        total = sums.reduce(add)
    with _phase(context, asked, "write"):
        write_table(context.output / ANSWER_FILE, sums.collect(), total, asked)
    # After a failure the session may be gone, and if it is not, sums take next to no memory.
    sums.unpersist(blocking=True)
    return {
        "blocks": asked.blocks,
        "vectors": asked.vectors,
        "partitions": tasks,
        **stages.stored,
    }


@contextmanager
def _phase(context: Context, asked: Plan, name: str) -> Iterator[None]:
    with context.phase(name) as measure:
        yield
        found = asked.amounts(name)
        measure.rows, measure.bytes = found["rows"], found.get("bytes")


def _computed(context: Context, sums: RDD[Sums]) -> RDD[Sums]:
    """The sums of blocks, computed and kept where they are."""
    from pyspark import StorageLevel

    sums = _counted(context, sums)
    sums.persist(StorageLevel.MEMORY_AND_DISK)
    sums.count()
    return sums


def _check_memory(context: Context, asked: Plan) -> None:
    """What tasks and the driver hold must fit into what Python has. Errors: `InputError`."""
    session, available = context.session, tasks_bytes(context.trial)
    if asked.blocks * SUMS_BYTES > available:
        raise InputError(
            f"engine spark: the sums of {asked.blocks} blocks do not fit in the "
            f"{format_bytes(available)} that --memory leaves them; give larger --block-vectors and "
            "fewer --blocks"
        )
    if not asked.stores:
        return
    at_once = -(-session.slots // session.nodes)
    block_bytes = asked.vectors_of(0) * VECTOR_BYTES
    kept = asked.keep != "none"
    needed = (COPIES if kept else 1) * block_bytes * at_once
    # A block that is kept is a row.
    if needed > available or (kept and block_bytes > ROW_BYTES_MAX):
        raise InputError(
            f"engine spark: a block of {format_bytes(block_bytes)} is too large for --memory "
            f"{format_bytes(context.trial.memory_bytes)} and {at_once} tasks at once on a node; "
            "give smaller --block-vectors and more --blocks"
        )


def _staged(context: Context, asked: Plan, stages: _Stages) -> RDD[Sums]:
    try:
        with _phase(context, asked, asked.making):
            stages.make()
        with _phase(context, asked, "shift"):
            stages.shift()
        with _phase(context, asked, "average"):
            return _computed(context, stages.average())
    finally:
        stages.forget()


class _Stages:
    """The stages on RDDs of NumPy arrays."""

    def __init__(self, context: Context, asked: Plan, tasks: int) -> None:
        self.stored: dict[str, int] = {}
        self._context = context
        self._asked = asked
        self._tasks = tasks
        self._kept: list[RDD[Any]] = []

    def pipeline(self) -> RDD[Sums]:
        """The sums of blocks that go through all stages one after the other."""
        numbers = _numbers(self._context.session, self._asked, self._tasks)
        return numbers.mapPartitions(partial(_all_sums, NumpyKernels(), self._asked))

    def make(self) -> None:
        """Make the blocks and keep them."""
        numbers = _numbers(self._context.session, self._asked, self._tasks)
        self._keep(numbers.map(partial(_made, NumpyKernels(), self._asked)))

    def shift(self) -> None:
        """Keep the shifted blocks beside the first ones: an RDD can't be changed."""
        by = self._asked.shift
        self._keep(self._kept[-1].map(lambda block: (block.reshape(-1, 3) + by).ravel()))

    def average(self) -> RDD[Sums]:
        """The sums of the kept blocks."""
        return self._kept[-1].map(NumpyKernels().sum)

    def forget(self) -> None:
        """Give back what was kept."""
        for rdd in self._kept:
            rdd.unpersist(blocking=True)

    def _keep(self, rdd: RDD[Any]) -> None:
        rdd = _counted(self._context, rdd)
        rdd.persist(_level(self._asked))
        self._kept.append(rdd)
        rdd.count()
        self.stored |= _stored(self._context.session)


def _counted(context: Context, rdd: RDD[Any]) -> RDD[Any]:
    """The same rows, of which the time of Python workers is counted."""
    return rdd.mapPartitions(partial(counted, context.spent, iter))


def _level(asked: Plan) -> Any:
    from pyspark import StorageLevel

    return StorageLevel.MEMORY_AND_DISK if asked.keep == "memory" else StorageLevel.DISK_ONLY


def _stored(session: Any) -> dict[str, int]:
    """Where Spark keeps the blocks: what does not fit in memory it has put on disk."""
    found = session.spark.sparkContext._jsc.sc().getRDDStorageInfo()
    return {
        "kept_memory_bytes": sum(one.memSize() for one in found),
        "kept_disk_bytes": sum(one.diskSize() for one in found),
    }


def _made(kernels: NumpyKernels, asked: Plan, number: int) -> Block:
    """A block of its own. Errors: what a driver finds again."""
    import numpy as np

    with refusing():
        return make_block(kernels, asked, number, np.empty(3 * asked.vectors_of(number)))


def _numbers(session: Session, asked: Plan, tasks: int) -> RDD[int]:
    return session.spark.sparkContext.range(0, asked.blocks, 1, tasks)


def _all_sums(kernels: NumpyKernels, asked: Plan, numbers: Iterable[int]) -> Iterator[Sums]:
    with refusing():
        room = make_room(asked)
        for number in numbers:
            yield sums_of(kernels, asked, number, room)
