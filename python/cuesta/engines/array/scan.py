"""`scan`: the rows that pass a filter, as KINC version-1 text in the order of the array."""

from __future__ import annotations

from collections.abc import Iterator
from operator import add

from cuesta.engines.array.runs import FILE_READ, Run
from cuesta.engines.array.sizes import CHUNK_BYTES
from cuesta.engines.array.store import COUNTS, DIMENSIONS, GLOBAL, Batch, Shape
from cuesta.engines.array.table import Lines

PAIRS_FILE = "pairs.txt"

_CELLS = 16
"""Rows that a result buffer must hold, or TileDB makes no progress."""


def run(run: Run) -> None:
    """Query the array, and write the answer file."""
    (loaded,) = run.arrays
    shape = loaded.facts.shape
    columns = (*DIMENSIONS, *shape.attributes)
    column_bytes = max(run.sizes.wide, _CELLS * shape.samples)
    row_count = 0
    with (
        run.clock.timed("scan", FILE_READ) as measure,
        run.session(column_bytes),
        (run.output / PAIRS_FILE).open("wb") as file,
    ):
        for batch in run.batches(loaded, columns, GLOBAL):
            row_count += len(batch["gene1"])
            for chunk in _chunks(batch, shape.samples):
                file.write(lines(chunk, shape))
        measure.bytes = run.stored_bytes(loaded, columns)
        measure.rows = loaded.facts.rows
        run.counts["answer_bytes"] = file.tell()
    run.counts["rows_kept"] = row_count


def lines(rows: Batch, shape: Shape) -> bytes:
    """Format rows as KINC version-1 text."""
    if not len(rows["gene1"]):
        return b""
    head = Lines(len(rows["gene1"]))
    for name in (*DIMENSIONS, *COUNTS):
        head.integers(rows[name])
        head.text(b"\t")
    for index, name in enumerate(shape.scores):
        head.text(b"," * (index > 0))
        head.scores(rows[name])
    head.text(b"\t\n")
    # The mask is too long to copy character by character.
    heads = head.finish().split(b"\n")
    return b"\n".join([*map(add, heads, rows["mask"].tolist()), b""])


def _chunks(batch: Batch, samples: int) -> Iterator[Batch]:
    """Divide the rows of a batch into chunks of `CHUNK_BYTES` of text."""
    rows = len(batch["gene1"])
    step = max(1, CHUNK_BYTES // (samples + 64))
    for start in range(0, rows, step):
        yield {name: column[start : start + step] for name, column in batch.items()}
