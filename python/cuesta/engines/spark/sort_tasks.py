"""What runs in the tasks of `sort`: the Rust kernel on shares and parts, never a row a record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cuesta.engines.shares import Share
from cuesta.engines.sort import RECORD_BYTES
from cuesta.engines.spark.failures import refusing
from cuesta.lab.request import native_module

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]

CUT_BYTES = 16
COUNT_SCHEMA = "share long, counts binary"
BLOCK_SCHEMA = "part int, place long, records binary"
WRITTEN_SCHEMA = "part int, records long"


@dataclass(frozen=True, kw_only=True)
class Job:
    """What every task knows: the inputs as JSON, the folder of the answer, the tally."""

    inputs: str
    output: str
    tally: Any


def count(
    job: Job, shares: tuple[Share, ...], cuts: bytes, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """How many records of each share each part has."""
    import numpy as np
    import pyarrow as pa

    native = native_module()
    with refusing():
        for share in _numbers(batches):
            found = np.array(native.sort_count(job.inputs, shares[share], cuts), dtype=np.int64)
            yield pa.RecordBatch.from_pydict({"share": [share], "counts": [found.tobytes()]})


def divide(
    job: Job,
    shares: tuple[Share, ...],
    plan: tuple[bytes, Numbers],
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """The block of each part in each share, with its place in the answer."""
    import numpy as np
    import pyarrow as pa

    native = native_module()
    cuts, places = plan
    with refusing():
        for share in _numbers(batches):
            first, records = shares[share]
            divided = np.empty(records * RECORD_BYTES, dtype=np.uint8)
            sizes = np.array(native.sort_divide(job.inputs, first, cuts, divided), dtype=np.int64)
            ends = np.concatenate([[0], np.cumsum(sizes)]) * RECORD_BYTES
            offsets = pa.py_buffer(ends.astype(np.int32))
            blocks = pa.Array.from_buffers(
                pa.binary(), len(sizes), [None, offsets, pa.py_buffer(divided)]
            )
            parts = pa.array(np.arange(len(sizes), dtype=np.int32))
            columns = [parts, pa.array(places[share]), blocks]
            batch = pa.RecordBatch.from_arrays(columns, names=["part", "place", "records"])
            yield batch.filter(pa.array(sizes > 0))


def write(job: Job, starts: Numbers, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Sort each part when all its blocks are there, and write it to its place."""
    import numpy as np
    import pyarrow as pa

    native = native_module()
    parts: dict[int, NDArray[np.uint8]] = {}
    with refusing():
        for batch in batches:
            columns = [batch.column(name) for name in ("part", "place", "records")]
            for part, place, block in zip(*columns, strict=True):
                number = part.as_py()
                start, end = starts[number], starts[number + 1]
                records = parts.get(number)
                if records is None:
                    records = np.empty((end - start) * RECORD_BYTES, dtype=np.uint8)
                    parts[number] = records
                bytes_ = np.frombuffer(block.as_buffer(), dtype=np.uint8)
                offset = (place.as_py() - start) * RECORD_BYTES
                records[offset : offset + bytes_.size] = bytes_
        for number in sorted(parts):
            records, first = parts.pop(number), int(starts[number])
            native.sort_write(records, job.output, first)
            written = records.size // RECORD_BYTES
            job.tally.add({("sort", "part", number): (written, written, records.size)})
            yield pa.RecordBatch.from_pydict(
                {"part": pa.array([number], pa.int32()), "records": [written]}
            )


def _numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()
