"""`dataflow`: blocks in tasks; only sums come to the driver.

With `--kernels native` blocks are binary rows of DataFrames and the Rust kernels work on them where
Arrow put them. With `--kernels numpy` they are NumPy arrays in RDDs, as a Python programmer writes
it who has Spark and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    make_block,
    make_room,
    plan,
    sums_of,
    write_table,
)
from cuesta.engines.spark.context import Context
from cuesta.engines.spark.failures import refusing
from cuesta.engines.spark.options import options_of
from cuesta.engines.spark.plan import TASKS_A_SLOT
from cuesta.engines.spark.source import on_disk
from cuesta.errors import InputError
from cuesta.units import format_bytes

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark import RDD
    from pyspark.sql import DataFrame

    from cuesta.engines.dataflow import Block

COPIES = 4
"""Of a block while it goes from the JVM to a Python worker and back."""

BLOCKS = "block long, data binary"
SUMS = "block long, x long, y long, z long"


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
        with context.phase("pipeline") as measure:
            measure.rows, measure.bytes = asked.vectors, asked.file_bytes or None
            sums = stages.pipeline()
    else:
        sums = _staged(context, asked, stages)
    with context.phase("reduce") as measure:
        measure.rows = asked.blocks
        write_table(context.output / ANSWER_FILE, iter(sums), asked)
    return {
        "blocks": asked.blocks,
        "vectors": asked.vectors,
        "partitions": tasks,
        **stages.stored,
    }


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


def _staged(context: Context, asked: Plan, stages: _Frames | _Arrays) -> list[Sums]:
    vectors = asked.vectors
    moved = vectors * VECTOR_BYTES
    try:
        with context.phase(asked.making) as measure:
            measure.rows, measure.bytes = vectors, asked.file_bytes + moved
            stages.make()
        with context.phase("shift") as measure:
            measure.rows, measure.bytes = vectors, 2 * moved
            stages.shift()
        with context.phase("average") as measure:
            measure.rows, measure.bytes = vectors, moved
            return stages.average()
    finally:
        stages.forget()


class _Frames:
    """The stages on DataFrames with our kernels."""

    def __init__(self, context: Context, asked: Plan, tasks: int) -> None:
        self.stored: dict[str, int] = {}
        self._session = context.session
        self._asked = asked
        self._rows = context.session.spark.range(0, asked.blocks, 1, tasks)
        self._kept: list[DataFrame] = []

    def pipeline(self) -> list[Sums]:
        """All stages of a block, one after the other."""
        return self._sums(self._rows, partial(_pipelines, NativeKernels(), self._asked))

    def make(self) -> None:
        """Make the blocks and keep them."""
        self._keep(self._rows, _generated)

    def shift(self) -> None:
        """Keep the shifted blocks beside the first ones: a DataFrame can't be changed."""
        self._keep(self._kept[-1], _shifted)

    def average(self) -> list[Sums]:
        """The sums of the kept blocks."""
        return self._sums(self._kept[-1], _summed)

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

    def _sums(self, rows: DataFrame, function: Any) -> list[Sums]:
        table = self._session.map_arrow(rows, function, SUMS).toArrow().sort_by("block")
        x, y, z = (table.column(name).to_pylist() for name in "xyz")
        return list(zip(x, y, z, strict=True))


class _Arrays:
    """The stages on RDDs of NumPy arrays."""

    def __init__(self, context: Context, asked: Plan, tasks: int) -> None:
        self.stored: dict[str, int] = {}
        self._session = context.session
        self._asked = asked
        spark = context.session.spark.sparkContext
        self._numbers: RDD[int] = spark.range(0, asked.blocks, 1, tasks)
        self._kept: list[RDD[Any]] = []

    def pipeline(self) -> list[Sums]:
        """See `_Frames`."""
        return self._numbers.mapPartitions(partial(_array_sums, self._asked)).collect()

    def make(self) -> None:
        """See `_Frames`."""
        self._keep(self._numbers.map(partial(_made, NumpyKernels(), self._asked)))

    def shift(self) -> None:
        """See `_Frames`."""
        by = self._asked.shift
        self._keep(self._kept[-1].map(lambda block: (block.reshape(-1, 3) + by).ravel()))

    def average(self) -> list[Sums]:
        """See `_Frames`."""
        sums: list[Sums] = self._kept[-1].map(NumpyKernels().sum).collect()
        return sums

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


def _all_sums(kernels: Kernels, asked: Plan, numbers: Iterable[int]) -> list[Sums]:
    with refusing():
        room = make_room(asked)
        return [sums_of(kernels, asked, number, room) for number in numbers]


def _array_sums(asked: Plan, numbers: Iterable[int]) -> Iterator[Sums]:
    yield from _all_sums(NumpyKernels(), asked, numbers)


def _pipelines(
    kernels: Kernels, asked: Plan, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        numbers = batch.column(0).to_pylist()
        yield _sums_batch(numbers, _all_sums(kernels, asked, numbers))


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
    for number, block in _blocks(batches):
        yield _sums_batch([number], [kernels.sum(block)])


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


def _sums_batch(numbers: list[int], sums: list[Sums]) -> pa.RecordBatch:
    import pyarrow as pa

    columns = [list(axis) for axis in zip(*sums, strict=True)] or [[], [], []]
    arrays = [pa.array(column, pa.int64()) for column in (numbers, *columns)]
    return pa.RecordBatch.from_arrays(arrays, ["block", "x", "y", "z"])
