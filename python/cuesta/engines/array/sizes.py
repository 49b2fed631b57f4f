"""Limits of the engine, derived from its memory."""

from __future__ import annotations

from dataclasses import dataclass

from cuesta.units import format_bytes

KIB = 1 << 10
MIB = 1 << 20

GENE_MAX = 1 << 24
CLUSTER_MAX = 1 << 16
LINE_BYTES_MAX = 4 * MIB
"""Limit of a line; equal to that of the native readers."""

TILE_ROWS_MAX = 10_000
"""Rows of a data tile without the option `capacity`, at most."""

CAPACITY_MAX = 10_000_000

QUERY_BYTES_ENOUGH = 256 * MIB
"""Memory beyond which a query that merges few fragments is not faster."""

COLUMN_BYTES = 12 * 4
"""Bytes of a row's columns without the mask, at most: three dimensions, six counts, scores."""

CHUNK_BYTES = 512 * KIB
CHUNK_ROWS = 1 << 14
"""Rows that are formatted as text at once."""

EDGE_BYTES = 144
"""Peak memory of label propagation for an edge."""


@dataclass(frozen=True)
class Extents:
    """Lengths of a space tile in each dimension; powers of two.

    Rows are stored space tile by space tile, both tiles and rows within a tile in the order of
    (gene1, gene2, cluster).
    """

    gene1: int = GENE_MAX
    gene2: int = GENE_MAX
    cluster: int = CLUSTER_MAX

    @property
    def keep_order(self) -> bool:
        """Whether rows are stored in the order of coordinates: tiles are as wide as the array."""
        return self.gene2 == GENE_MAX and self.cluster == CLUSTER_MAX

    @property
    def lengths(self) -> tuple[int, int, int]:
        """Lengths in all three dimensions."""
        return self.gene1, self.gene2, self.cluster

    def __str__(self) -> str:
        return "x".join(map(str, self.lengths))


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """Bytes of each buffer, and the shape of the array.

    Attributes
    ----------
    split
        Text parsed at once by a thread.
    batch
        Rows that are sorted in memory when the text is not in the order of the array.
    tile
        Masks in one data tile of the array.
    query
        Memory of TileDB for a query (`sm.mem.total_budget`).
    wide, narrow
        A column of a result, for queries with and without the mask.
    enough
        Limit of a query's memory, unless it has to merge fragments.
    extents, capacity
        Extents of space tiles, and rows of a data tile; None unless chosen.
    """

    split: int
    batch: int
    tile: int
    query: int
    wide: int
    narrow: int
    enough: int = QUERY_BYTES_ENOUGH
    extents: Extents | None = None
    capacity: int | None = None

    def tile_rows(self, samples: int) -> int:
        """Return the rows of a data tile, for rows with `samples` samples."""
        return self.capacity or _within(self.tile // samples, 1, TILE_ROWS_MAX)


def sizes(memory_bytes: int, threads: int) -> Sizes:
    """Return the buffer sizes of a run in `memory_bytes`."""
    return Sizes(
        split=_within(memory_bytes // (16 * (threads + 1)), 256 * KIB, 4 * MIB),
        batch=max(memory_bytes // 12, MIB),
        tile=_within(memory_bytes // 256, 64 * KIB, 2 * MIB),
        query=max(memory_bytes // 4, 8 * MIB),
        wide=_within(memory_bytes // 32, 512 * KIB, 4 * MIB),
        narrow=_within(memory_bytes // 256, 64 * KIB, MIB),
    )


def too_little(what: str, needed_bytes: int, memory_bytes: int) -> str:
    """Return the message for insufficient memory."""
    return (
        f"memory: {what} needs {format_bytes(needed_bytes)}, the limit is "
        f"{format_bytes(memory_bytes)}; raise --memory"
    )


def _within(value: int, least: int, most: int) -> int:
    return max(least, min(value, most))
