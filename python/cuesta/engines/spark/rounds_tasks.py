"""The code in Spark's tasks for a round: the tasks of the round, and its parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from cuesta.engines.rounds import Job, Round, combined
from cuesta.engines.spark.failures import refusing
from cuesta.errors import InputError
from cuesta.units import format_bytes

if TYPE_CHECKING:
    import pyarrow as pa

    from cuesta.engines.spark.executor import PythonTimes

RESULT_SCHEMA = "number int, result binary"
BLOCK_SCHEMA = "part int, first int, block binary"
BLOCKS_BYTES_MAX = (1 << 31) - 1
"""Limit of the bytes in a column of Arrow's binary values."""


def do(
    job: Job, round_: Round, tally: Any, times: PythonTimes, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield results of the tasks numbered in `batches`, as one row if they can be combined."""
    with refusing():
        worker = job.worker()
        results: list[bytes] = []
        last = 0
        for number in _numbers(batches):
            with times.in_kernel():
                result, _, _ = worker.task(number, round_.shared, round_.tasks[number])
            _count_done(tally, round_, number, len(round_.tasks))
            if not round_.combines:
                yield _row(number, result)
                continue
            results, last = combined(worker, round_, [*results, result]), number
        for result in results:
            yield _row(last, result)


def send(
    job: Job, round_: Round, _tally: Any, times: PythonTimes, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield blocks of the tasks numbered in `batches`, a row for each part that receives bytes."""
    import numpy as np
    import pyarrow as pa

    with refusing():
        worker = job.worker()
        for number in _numbers(batches):
            with times.in_kernel():
                _, blocks, ends = worker.task(number, round_.shared, round_.tasks[number])
            if len(blocks) > BLOCKS_BYTES_MAX:
                raise InputError(
                    f"a task sends {format_bytes(len(blocks))}, Arrow takes less than 2 GiB; give "
                    "fewer with --engine-option task-bytes=64MiB"
                )
            offsets = np.array([0, *ends], dtype=np.int32)
            parts = pa.array(np.arange(len(ends), dtype=np.int32))
            first = pa.array(np.full(len(ends), number, dtype=np.int32))
            data = [None, pa.py_buffer(offsets), pa.py_buffer(blocks)]
            block = pa.Array.from_buffers(pa.binary(), len(ends), data)
            batch = pa.RecordBatch.from_arrays([parts, first, block], ["part", "first", "block"])
            yield batch.filter(pa.array(np.diff(offsets) > 0))


def receive(
    job: Job, round_: Round, tally: Any, times: PythonTimes, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Yield the result of a part from its blocks in `batches`; part i is Spark's partition i."""
    import numpy as np
    from pyspark import TaskContext

    task = TaskContext.get()
    part = task.partitionId() if task else 0
    with refusing():
        worker = job.worker()
        for batch in batches:
            columns = [batch.column(name) for name in ("part", "first", "block")]
            for number, first, block in zip(*columns, strict=True):
                if number.as_py() != part:
                    raise AssertionError(f"part {number} came to partition {part}")
                data = np.frombuffer(block.as_buffer(), np.uint8)
                worker.take((part, first.as_py()), round_.shared, data)
        with times.in_kernel():
            result = worker.part(part, round_.shared)
        _count_done(tally, round_, part, round_.parts)
    yield _row(part, result)


def _row(number: int, result: bytes) -> pa.RecordBatch:
    import pyarrow as pa

    columns = [pa.array([number], pa.int32()), pa.array([result], pa.binary())]
    return pa.RecordBatch.from_arrays(columns, ["number", "result"])


def _count_done(tally: Any, round_: Round, number: int, count: int) -> None:
    """Add an even part of the round's bytes to the tally."""
    tally.add({(round_.phase, number): round_.size_bytes // count})


def _numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()
