"""Every bound of the engine, from the memory it may use."""

from __future__ import annotations

from dataclasses import dataclass

from cuesta.units import format_bytes

KIB = 1 << 10
MIB = 1 << 20

GENE_MAX = 1 << 24
CLUSTER_MAX = 1 << 16
LINE_BYTES_MAX = 4 * MIB
"""The same as of the native readers."""

TILE_ROWS_MAX = 10_000

QUERY_BYTES_ENOUGH = 256 * MIB
"""A query that merges few fragments is not faster with more."""

COLUMN_BYTES = 12 * 4
"""Of the columns beside the mask, at most: three dimensions, six counts, some scores."""

CHUNK_BYTES = 512 * KIB
CHUNK_ROWS = 1 << 14
"""Text is made of so many rows at a time."""

EDGE_BYTES = 144
"""Memory that label propagation takes for an edge, at its peak."""


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Bytes of each buffer.

    Attributes
    ----------
    split
        Text parsed at once by a thread.
    batch
        Rows that are sorted in memory when the text is not in the order of the array.
    tile
        Masks in one data tile of the array.
    query
        What TileDB may hold for one query (`sm.mem.total_budget`).
    wide, narrow
        One column of a result, for queries with and without the mask.
    """

    split: int
    batch: int
    tile: int
    query: int
    wide: int
    narrow: int


def sizes(memory_bytes: int, threads: int) -> Sizes:
    """The buffers of a run in `memory_bytes`."""
    return Sizes(
        split=_within(memory_bytes // (16 * (threads + 1)), 256 * KIB, 4 * MIB),
        batch=max(memory_bytes // 12, MIB),
        tile=_within(memory_bytes // 256, 64 * KIB, 2 * MIB),
        query=max(memory_bytes // 4, 8 * MIB),
        wide=_within(memory_bytes // 32, 512 * KIB, 4 * MIB),
        narrow=_within(memory_bytes // 256, 64 * KIB, MIB),
    )


def tile_rows(samples: int, tile_bytes: int) -> int:
    """Rows of a data tile whose masks have `tile_bytes`."""
    return _within(tile_bytes // samples, 1, TILE_ROWS_MAX)


def too_little(what: str, needed_bytes: int, memory_bytes: int) -> str:
    """The sentence for memory that does not suffice."""
    return (
        f"memory: {what} needs {format_bytes(needed_bytes)}, the limit is "
        f"{format_bytes(memory_bytes)}; raise --memory"
    )


def _within(value: int, least: int, most: int) -> int:
    return max(least, min(value, most))
