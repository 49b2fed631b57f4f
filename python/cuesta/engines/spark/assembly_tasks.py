"""What runs in the tasks of `assemble`: the Rust kernels on shares of the reads and on parts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from cuesta.engines.spark.failures import refusing
from cuesta.lab.request import native_module

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_SCHEMA = "part int, blocks binary"
FOUND_SCHEMA = "found binary"


@dataclass(frozen=True, kw_only=True)
class Job:
    """What every task knows.

    Attributes
    ----------
    request, ask
        Those of the native module, as JSON.
    shares
        Of the reads, each as JSON.
    trusted
        A broadcast of what is trusted, divided after the last share.
    parts
        How many there are.
    only_sampled
        Whether only a sample of the k-mers is counted.
    """

    request: str
    ask: str
    shares: tuple[str, ...]
    trusted: Any
    parts: int
    only_sampled: bool


def divide(job: Job, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The super-k-mers of the shares whose numbers are in `batches`, a row a part."""
    import numpy as np
    import pyarrow as pa

    with refusing():
        for batch in batches:
            for number in batch.column(0).to_pylist():
                blocks, ends, _ = _divided(job, number)
                offsets = pa.py_buffer(np.array([0, *ends], dtype=np.int32))
                data = pa.Array.from_buffers(
                    pa.binary(), len(ends), [None, offsets, pa.py_buffer(blocks)]
                )
                parts = pa.array(range(len(ends)), pa.int32())
                made = pa.RecordBatch.from_arrays([parts, data], names=["part", "blocks"])
                yield made.filter(pa.array(np.diff([0, *ends]) > 0))


def _divided(job: Job, number: int) -> tuple[bytes, list[int], int]:
    native = native_module()
    trusted = number == len(job.shares)
    divide = native.assembly_divide_trusted if trusted else native.assembly_divide
    what = job.trusted.value if trusted else job.shares[number]
    found: tuple[bytes, list[int], int] = divide(job.ask, what, job.parts, job.only_sampled)
    return found


def compact(job: Job, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What is found in a part; nothing where it is empty."""
    import pyarrow as pa

    rows = (row for batch in batches for row in batch.column("blocks"))
    first = next(rows, None)
    if first is None:
        return
    given = chain([first], rows)

    def blocks() -> bytes | None:
        row = next(given, None)
        return None if row is None else row.as_py()

    request = json.loads(job.request)
    with refusing(), TemporaryDirectory(dir=Path(request["scratch"])) as scratch:
        own = json.dumps(request | {"scratch": scratch})
        found = native_module().assembly_part(own, job.ask, blocks, lambda _sample: None)
    yield pa.RecordBatch.from_pydict({"found": [found]})
