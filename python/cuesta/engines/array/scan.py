"""`scan`: the rows that pass a filter, as KINC version-1 text in the order of the array."""

from __future__ import annotations

from collections.abc import Iterator
from operator import add

from cuesta.engines.array.runs import FILE_READ, Run
from cuesta.engines.array.sizes import CHUNK_BYTES
from cuesta.engines.array.store import COUNTS, DIMENSIONS, LIE, Batch, Shape
from cuesta.engines.array.table import Lines

PAIRS_FILE = "pairs.txt"

_CELLS = 16
"""A result must have room for some rows, or TileDB never gets on."""


def run(run: Run) -> None:
    """Query, and write the answer file."""
    (loaded,) = run.arrays
    shape = loaded.facts.shape
    columns = (*DIMENSIONS, *shape.attributes)
    column_bytes = max(run.sizes.wide, _CELLS * shape.samples)
    kept = 0
    with (
        run.clock.timed("scan", FILE_READ) as measure,
        run.session(column_bytes),
        (run.output / PAIRS_FILE).open("wb") as file,
    ):
        for batch in run.batches(loaded, columns, LIE):
            kept += len(batch["gene1"])
            for chunk in _chunks(batch, shape.samples):
                file.write(lines(chunk, shape))
        measure.bytes = run.stored_bytes(loaded, columns)
        measure.rows = loaded.facts.rows
        run.counts["answer_bytes"] = file.tell()
    run.counts["rows_kept"] = kept


def lines(rows: Batch, shape: Shape) -> bytes:
    """KINC version-1 text of some rows."""
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
    # The mask is too long to be copied character by character.
    heads = head.finish().split(b"\n")
    return b"\n".join([*map(add, heads, rows["mask"].tolist()), b""])


def _chunks(batch: Batch, samples: int) -> Iterator[Batch]:
    """The rows of a batch, a few megabytes of text at a time."""
    rows = len(batch["gene1"])
    step = max(1, CHUNK_BYTES // (samples + 64))
    for start in range(0, rows, step):
        yield {name: column[start : start + step] for name, column in batch.items()}
