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
"""Rows of a data tile where nobody asks for a capacity."""

CAPACITY_MAX = 10_000_000

QUERY_BYTES_ENOUGH = 256 * MIB
"""A query that merges few fragments is not faster with more."""

COLUMN_BYTES = 12 * 4
"""Of the columns beside the mask, at most: three dimensions, six counts, some scores."""

CHUNK_BYTES = 512 * KIB
CHUNK_ROWS = 1 << 14
"""Text is made of so many rows at a time."""

EDGE_BYTES = 144
"""Memory that label propagation takes for an edge, at its peak."""


@dataclass(frozen=True)
class Extents:
    """How many coordinates of each dimension a space tile has; powers of two.

    Rows lie in the array space tile by space tile, the tiles and the rows of each in the order of
    (gene1, gene2, cluster).
    """

    gene1: int = GENE_MAX
    gene2: int = GENE_MAX
    cluster: int = CLUSTER_MAX

    @property
    def keep_order(self) -> bool:
        """Whether rows lie in the order of their coordinates: tiles are as wide as the array."""
        return self.gene2 == GENE_MAX and self.cluster == CLUSTER_MAX

    @property
    def whole(self) -> tuple[int, int, int]:
        """All three."""
        return self.gene1, self.gene2, self.cluster

    def __str__(self) -> str:
        return "x".join(map(str, self.whole))


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
        What TileDB may hold for one query (`sm.mem.total_budget`).
    wide, narrow
        One column of a result, for queries with and without the mask.
    enough
        More than this a query does not get, unless it has to merge fragments.
    extents, capacity
        Of the space tiles, and rows of a data tile; None where nobody asked for one.
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
        """Rows of a data tile of rows with so many samples."""
        return self.capacity or _within(self.tile // samples, 1, TILE_ROWS_MAX)


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


def too_little(what: str, needed_bytes: int, memory_bytes: int) -> str:
    """The sentence for memory that does not suffice."""
    return (
        f"memory: {what} needs {format_bytes(needed_bytes)}, the limit is "
        f"{format_bytes(memory_bytes)}; raise --memory"
    )


def _within(value: int, least: int, most: int) -> int:
    return max(least, min(value, most))
