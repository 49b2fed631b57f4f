"""What runs in the tasks of `assemble`: the Rust kernels on shares of the reads and on parts."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from cuesta.engines.assembly import Feed
from cuesta.engines.spark.failures import refusing
from cuesta.native import native_module

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_SCHEMA = "part int, blocks binary"
FOUND_SCHEMA = "found binary"
TOLD = ("messages", "bytes", "changed", "live", "kmers", "count_sum")
"""What a part tells of a superstep, in the order of the native module."""
VERTEX_SCHEMA = ", ".join(["part int, kind int, data binary", *(f"{one} long" for one in TOLD)])
FOUND, STATE, VERTICES, MESSAGES = range(4)
"""Kinds of rows: what is for the driver, a part between supersteps, and what parts are sent."""

_Row = tuple[int, int, bytes, Sequence[int]]


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

    found = _found(job, batches)
    if found is not None:
        yield pa.RecordBatch.from_pydict({"found": [found]})


def compact_apart(job: Job, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """What is found in a part for the driver, and its fragments for the parts of the vertices."""
    found = _found(job, batches)
    if found is not None:
        with refusing():
            rest, parts = native_module().assembly_spread(found, job.parts)
        yield from _rows([(0, FOUND, rest, _NOTHING), *_sent(parts, VERTICES)])


def _found(job: Job, batches: Iterable[pa.RecordBatch]) -> bytes | None:
    rows = (row.as_py() for batch in batches for row in batch.column("blocks"))
    first = next(rows, None)
    if first is None:
        return None
    request = json.loads(job.request)
    with refusing(), TemporaryDirectory(dir=Path(request["scratch"])) as scratch:
        own = json.dumps(request | {"scratch": scratch})
        found: bytes = native_module().assembly_part(own, job.ask, Feed(chain([first], rows)))
    return found


def vertices(given: Sequence[bytes]) -> Iterator[pa.RecordBatch]:
    """The rows of vertices for each part."""
    return _rows(_sent(given, VERTICES))


def step(
    place: tuple[int, int], order: str, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """A superstep of the part whose state, vertices and messages are in `batches`."""
    state, messages, part = b"", [], None
    for batch in batches:
        columns = [batch.column(name).to_pylist() for name in ("part", "kind", "data")]
        for number, kind, data in zip(*columns, strict=True):
            part = number
            if kind == STATE:
                state = data
            else:
                messages.append(data)
    if part is None:
        return
    with refusing():
        state, sent, told = native_module().assembly_step(place, order, state, messages)
    yield from _rows([(part, STATE, state, told), *_sent(sent, MESSAGES)])


_NOTHING = (0,) * len(TOLD)


def _sent(parts: Sequence[bytes], kind: int) -> list[_Row]:
    return [(part, kind, data, _NOTHING) for part, data in enumerate(parts) if data]


def _rows(rows: Sequence[_Row]) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa

    for part, kind, data, told in rows:
        columns = {"part": [part], "kind": [kind], "data": [data]}
        numbers = {name: [number] for name, number in zip(TOLD, told, strict=True)}
        yield pa.RecordBatch.from_pydict(columns | numbers, schema=vertex_columns())


def vertex_columns() -> pa.Schema:
    """`VERTEX_SCHEMA` as Arrow has it."""
    import pyarrow as pa

    numbers = [(name, pa.int64()) for name in TOLD]
    return pa.schema([("part", pa.int32()), ("kind", pa.int32()), ("data", pa.binary()), *numbers])
