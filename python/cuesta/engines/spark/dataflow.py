"""`dataflow`: blocks and their sums stay in tasks, which add them; the driver writes the table.

With `--kernels native` kept blocks are binary rows of DataFrames and the Rust kernels work on them
where Arrow put them. With `--kernels numpy` blocks are NumPy arrays in RDDs, as a Python programmer
writes it who has Spark and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from cuesta.engines.dataflow import (
    ANSWER_FILE,
    VECTOR_BYTES,
    Kernels,
    NativeKernels,
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
from cuesta.engines.spark.failures import refusing
from cuesta.engines.spark.options import options_of
from cuesta.engines.spark.source import on_disk
from cuesta.errors import InputError
from cuesta.units import format_bytes

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import RDD
    from pyspark.sql import DataFrame

    from cuesta.engines.dataflow import Block
    from cuesta.engines.spark.session import Session

TASKS_A_SLOT = 3
"""Tasks for each slot, so that all slots end at about the same time."""
COPIES = 4
"""Of a block while it goes from the JVM to a Python worker and back."""

BLOCKS = "block long, data binary"
SUMS = "x long, y long, z long"


def run(context: Context) -> dict[str, int]:
    """Write `averages.tsv`; return the counts."""
    trial = on_disk(context)
    asked = plan(trial.parameters, trial.seed, trial.inputs)
    options = options_of(context.trial)
    tasks = options.partitions or min(asked.blocks, TASKS_A_SLOT * context.session.slots)
    if asked.stores:
        _check_memory(context, asked)
    stages = (_Arrays if options.kernels == "numpy" else _Frames)(context, asked, tasks)
    if asked.keep == "none":
        with _phase(context, asked, "pipeline"):
            sums = _computed(stages.pipeline())
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


def _computed(sums: RDD[Sums]) -> RDD[Sums]:
    """The sums of blocks, computed and kept where they are."""
    from pyspark import StorageLevel

    sums.persist(StorageLevel.MEMORY_AND_DISK)
    sums.count()
    return sums


def _check_memory(context: Context, asked: Plan) -> None:
    """A block is a row, and rows must fit. Errors: `InputError`."""
    block_bytes = asked.vectors_of(0) * VECTOR_BYTES
    needed = COPIES * block_bytes * context.session.slots
    if block_bytes > 1 << 30 or needed > context.trial.memory_bytes:
        raise InputError(
            f"engine spark: a block of {format_bytes(block_bytes)} is too large for --memory "
            f"{format_bytes(context.trial.memory_bytes)} and {context.session.slots} tasks at once;"
            " give smaller --block-vectors and more --blocks"
        )


def _staged(context: Context, asked: Plan, stages: _Frames | _Arrays) -> RDD[Sums]:
    try:
        with _phase(context, asked, asked.making):
            stages.make()
        with _phase(context, asked, "shift"):
            stages.shift()
        with _phase(context, asked, "average"):
            return _computed(stages.average())
    finally:
        stages.forget()


class _Frames:
    """The stages on DataFrames with our kernels."""

    def __init__(self, context: Context, asked: Plan, tasks: int) -> None:
        self.stored: dict[str, int] = {}
        self._session = context.session
        self._asked = asked
        self._tasks = tasks
        self._kept: list[DataFrame] = []

    def pipeline(self) -> RDD[Sums]:
        """The sums of blocks that go through all stages one after the other."""
        return _pipelines(self._session, NativeKernels(), self._asked, self._tasks)

    def make(self) -> None:
        """Make the blocks and keep them."""
        rows = self._session.spark.range(0, self._asked.blocks, 1, self._tasks)
        self._keep(rows, _generated)

    def shift(self) -> None:
        """Keep the shifted blocks beside the first ones: a DataFrame can't be changed."""
        self._keep(self._kept[-1], _shifted)

    def average(self) -> RDD[Sums]:
        """The sums of the kept blocks."""
        return self._session.map_arrow(self._kept[-1], _summed, SUMS).rdd.map(tuple)

    def forget(self) -> None:
        """Give back what was kept."""
        for frame in self._kept:
            frame.unpersist(blocking=True)

    def _keep(self, rows: DataFrame, function: Any) -> None:
        mapped = self._session.map_arrow(rows, partial(function, self._asked), BLOCKS)
        mapped.persist(_level(self._asked))
        self._kept.append(mapped)
        mapped.foreachPartition(_nothing)
        self.stored |= _stored(self._session)


class _Arrays:
    """The stages on RDDs of NumPy arrays."""

    def __init__(self, context: Context, asked: Plan, tasks: int) -> None:
        self.stored: dict[str, int] = {}
        self._session = context.session
        self._asked = asked
        self._tasks = tasks
        self._kept: list[RDD[Any]] = []

    def pipeline(self) -> RDD[Sums]:
        """See `_Frames`."""
        return _pipelines(self._session, NumpyKernels(), self._asked, self._tasks)

    def make(self) -> None:
        """See `_Frames`."""
        numbers = _numbers(self._session, self._asked, self._tasks)
        self._keep(numbers.map(partial(_made, NumpyKernels(), self._asked)))

    def shift(self) -> None:
        """See `_Frames`."""
        by = self._asked.shift
        self._keep(self._kept[-1].map(lambda block: (block.reshape(-1, 3) + by).ravel()))

    def average(self) -> RDD[Sums]:
        """See `_Frames`."""
        return self._kept[-1].map(NumpyKernels().sum)

    def forget(self) -> None:
        """See `_Frames`."""
        for rdd in self._kept:
            rdd.unpersist(blocking=True)

    def _keep(self, rdd: RDD[Any]) -> None:
        rdd.persist(_level(self._asked))
        self._kept.append(rdd)
        rdd.count()
        self.stored |= _stored(self._session)


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


def _nothing(_rows: Iterable[Any]) -> None:
    return None


def _made(kernels: Kernels, asked: Plan, number: int) -> Block:
    """A block of its own. Errors: what a driver finds again."""
    import numpy as np

    with refusing():
        return make_block(kernels, asked, number, np.empty(3 * asked.vectors_of(number)))


def _numbers(session: Session, asked: Plan, tasks: int) -> RDD[int]:
    return session.spark.sparkContext.range(0, asked.blocks, 1, tasks)


def _pipelines(session: Session, kernels: Kernels, asked: Plan, tasks: int) -> RDD[Sums]:
    return _numbers(session, asked, tasks).mapPartitions(partial(_all_sums, kernels, asked))


def _all_sums(kernels: Kernels, asked: Plan, numbers: Iterable[int]) -> Iterator[Sums]:
    with refusing():
        room = make_room(asked)
        for number in numbers:
            yield sums_of(kernels, asked, number, room)


def _generated(asked: Plan, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    kernels = NativeKernels()
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield _block_batch(number, _made(kernels, asked, number))


def _shifted(asked: Plan, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    kernels = NativeKernels()
    for number, block in _blocks(batches):
        moved = block.copy()
        kernels.shift(moved, asked.shift)
        yield _block_batch(number, moved)


def _summed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    kernels = NativeKernels()
    for _, block in _blocks(batches):
        yield _sums_batch(kernels.sum(block))


def _blocks(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[int, Block]]:
    """Blocks on the memory of Arrow, one row at a time."""
    import numpy as np

    for batch in batches:
        numbers = batch.column(0).to_pylist()
        for number, data in zip(numbers, batch.column(1), strict=True):
            yield number, np.frombuffer(data.as_buffer(), dtype=np.float64)


def _block_batch(number: int, block: Block) -> pa.RecordBatch:
    import numpy as np
    import pyarrow as pa

    ends = pa.py_buffer(np.array([0, block.nbytes], dtype=np.int32))
    data = pa.Array.from_buffers(pa.binary(), 1, [None, ends, pa.py_buffer(block)])
    return pa.RecordBatch.from_arrays([pa.array([number], pa.int64()), data], ["block", "data"])


def _sums_batch(sums: Sums) -> pa.RecordBatch:
    import pyarrow as pa

    return pa.RecordBatch.from_pydict({name: [one] for name, one in zip("xyz", sums, strict=True)})
