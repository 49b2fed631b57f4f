"""What runs in tasks that get their lines from Spark's own reader: lines to a block, then the
kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import TYPE_CHECKING
from urllib.parse import unquote

from cuesta.engines.spark.executor import Part, Reading, record_batch
from cuesta.engines.spark.failures import refusing
from cuesta.errors import InputError

if TYPE_CHECKING:
    import pyarrow as pa

BLOCK_BYTES = 16 << 20
"""Text given to the kernel at a time."""

PART_SCHEMA = "path string, start long, name string, size_bytes long"

Place = tuple[str, int]
"""A file and the byte its piece starts at."""

_LINE = re.compile(r"line (\d+) of a block of text")


@dataclass(frozen=True, kw_only=True)
class Block:
    """Whole lines that follow each other in one piece of a file.

    Attributes
    ----------
    place
        The piece.
    lines_before
        Lines of the piece in front of the block.
    text
        The lines, each with its line feed.
    """

    place: Place
    lines_before: int
    text: bytes


def columns(reading: Reading, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The kernel's columns of the lines in `batches`."""
    with refusing():
        counter = Counter(reading)
        for block in blocks(batches):
            yield record_batch(reading.kind, counter.map(block))
        counter.close()


def scan(
    reading: Reading, folder: str, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Write the lines that pass to one file a piece; give its place, name and bytes."""
    import pyarrow as pa
    from pyspark import TaskContext

    context = TaskContext.get()
    partition = context.partitionId() if context else 0
    with refusing():
        counter = Counter(reading)
        for index, piece in enumerate(pieces(blocks(batches))):
            name = f"part-{partition}-{index}"
            with Part(folder, name) as part:
                for block in piece:
                    place = block.place
                    part.write(counter.map(block)["lines"])
            yield pa.RecordBatch.from_pydict(
                {
                    "path": [place[0]],
                    "start": [place[1]],
                    "name": [name],
                    "size_bytes": [part.size_bytes],
                }
            )
        counter.close()


class Counter:
    """Calls the kernel, and tells the driver what was read once a piece is done."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._place: Place = ("", 0)
        self._counts = (0, 0, 0)

    def map(self, block: Block) -> dict[str, bytes]:
        """The kernel's columns of a block. Errors: `InputError` that names file and line."""
        from cuesta import _native

        if block.place != self._place:
            self.close()
            self._place = block.place
        with located(block):
            found = _native.map_bytes(self._reading.kind, self._reading.parameters, block.text)
        read, kept, size_bytes = self._counts
        self._counts = (
            read + int.from_bytes(found["rows_read"], "little"),
            kept + int.from_bytes(found["rows_kept"], "little"),
            size_bytes + len(block.text),
        )
        return found

    def close(self) -> None:
        """Tell of the last piece."""
        if self._counts[2]:
            self._reading.tally.add({(self._reading.version, *self._place): self._counts})
        self._counts = (0, 0, 0)


@contextmanager
def located(block: Block) -> Iterator[None]:
    """Say where a line is in its file, not in the block."""
    path, start = block.place

    def place(found: re.Match[str]) -> str:
        line = int(found[1]) + block.lines_before
        after = f" after byte {start}" if start else ""
        return f"line {line}{after} of {path}"

    try:
        yield
    except InputError as error:
        raise InputError(_LINE.sub(place, str(error))) from None


def pieces(found: Iterable[Block]) -> Iterator[Iterator[Block]]:
    """The blocks of each piece. Each must be gone through before the next is asked for."""
    for _, piece in groupby(found, key=lambda block: block.place):
        yield piece


def blocks(batches: Iterable[pa.RecordBatch]) -> Iterator[Block]:
    """Lines as blocks. Columns of a batch: line, file, first byte of its piece."""
    held: list[bytes] = []
    held_bytes = lines = lines_before = 0
    place: Place | None = None
    for batch in batches:
        for first, last, here in runs(batch):
            if place is not None and (here != place or held_bytes >= BLOCK_BYTES):
                yield Block(place=place, lines_before=lines_before, text=b"".join(held))
                lines_before = 0 if here != place else lines_before + lines
                held, held_bytes, lines = [], 0, 0
            place = here
            held.append(joined(batch.column(0), first, last))
            held_bytes += len(held[-1])
            lines += last - first
    if place is not None:
        yield Block(place=place, lines_before=lines_before, text=b"".join(held))


def runs(batch: pa.RecordBatch) -> Iterator[tuple[int, int, Place]]:
    """First row, row behind the last, and place, of neighbouring rows of one piece."""
    import numpy as np

    if not batch.num_rows:
        return
    files = batch.column(1).dictionary_encode()
    codes, starts = files.indices.to_numpy(), batch.column(2).to_numpy()
    changes = np.flatnonzero((np.diff(codes) != 0) | (np.diff(starts) != 0)) + 1
    bounds = [0, *changes.tolist(), batch.num_rows]
    for first, last in pairwise(bounds):
        # Spark gives the file as a URI, so that a space is %20.
        path = unquote(files.dictionary[codes[first].item()].as_py())
        yield first, last, (path, int(starts[first]))


def joined(lines: pa.Array, first: int, last: int) -> bytes:
    """Rows `first` to `last` with a line feed behind each."""
    import pyarrow as pa
    import pyarrow.compute as pc

    chosen = lines.slice(first, last - first)
    whole = pa.ListArray.from_arrays(pa.array([0, len(chosen)], pa.int32()), chosen)
    text: bytes = pc.binary_join(whole, b"\n")[0].as_py()
    return text + b"\n"
