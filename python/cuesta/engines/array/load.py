"""Loads text into an array: the paper's loading phase (its Figure 2).

Rows in the order of the array are written to one fragment as they arrive. Other rows are gathered,
sorted, and written as a separate fragment; overlapping fragments are merged when a query could not
do so within its memory, or when the array is for later runs.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cuesta.engines.array import store
from cuesta.engines.array.store import Facts, Shape
from cuesta.engines.array.text_source import pieces
from cuesta.engines.array.writer import (
    LoadCounts,
    LoadRequest,
    Writer,
    check_piece,
    create,
    session_settings,
)

if TYPE_CHECKING:
    from cuesta.engines.array.loaders import Loaders

FORMAT = 2
"""Version of the schema; a stored array of another version is refused."""


def load(request: LoadRequest, place: Path, loaders: Loaders | None = None) -> Facts:
    """Load the text into a new array at `place`.

    Arguments: `loaders` are processes that load and send rows to each other, without which this
    process loads. Errors: `InputError`, `EngineError`.
    """
    sizes = request.sizes
    with store.session(request.threads, session_settings(sizes)):
        facts = _write_apart(request, place, loaders) if loaders else _write(request, place)
        overlap = store.overlapping(place)
        if overlap > 1 and (
            request.is_permanent or store.merge_bytes(overlap, facts) > sizes.query
        ):
            store.consolidate(place, sizes.query // store.merge_bytes(1, facts))
        store.write_facts(place, facts)
    return facts


def _write_apart(request: LoadRequest, place: Path, loaders: Loaders) -> Facts:
    """Write the rows in several processes."""
    sources = request.text.fingerprint()
    shape, done = loaders.load(request, place)
    return _facts(request, shape, sources, done)


def _write(request: LoadRequest, place: Path) -> Facts:
    """Write the rows; create the array once the first row determines its shape."""
    text, sizes = request.text, request.sizes
    rows = rows_read = text_bytes = done = 0
    total = text.size_bytes
    sources = text.fingerprint()
    shape: Shape | None = None
    writer = None
    for piece in pieces(text, request.threads, sizes.split):
        rows_read += piece.rows_read
        text_bytes += piece.text_bytes
        if piece.rows:
            if shape is None or writer is None:
                shape = Shape(samples=text.samples, score_count=piece.score_count)
                create(place, shape, request)
                writer = Writer(place=place, batch_bytes=sizes.batch, extents=request.extents)
            check_piece(piece, shape)
            rows += piece.rows
            writer.add(piece.columns)
        done += piece.disk_bytes
        if request.progress:
            request.progress(done, total)
    if shape is None or writer is None:
        shape = Shape(samples=text.samples, score_count=request.score_index + 1)
        create(place, shape, request)
    else:
        writer.close()
    counts = LoadCounts(rows=rows, rows_read=rows_read, text_bytes=text_bytes)
    return _facts(request, shape, sources, counts)


def _facts(request: LoadRequest, shape: Shape, sources: str, counts: LoadCounts) -> Facts:
    return Facts(
        format=FORMAT,
        samples=shape.samples,
        score_count=shape.score_count,
        rows=counts.rows,
        rows_read=counts.rows_read,
        text_bytes=counts.text_bytes,
        score_index=request.score_index,
        sources=sources,
        tile_rows=request.sizes.tile_rows(shape.samples),
        extents=request.extents.lengths,
    )
