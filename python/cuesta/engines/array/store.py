"""The array: its schema, its queries, and its size on disk.

A sparse array with the dimensions (gene1, gene2, cluster), row-major. Unless smaller space tiles
are chosen there is one, so that TileDB's global order is the order of the coordinates: a query in
global order needs no sort, and a slab of genes is a range of neighbouring data tiles. With smaller
tiles a query in the order of coordinates sorts bands of genes in memory. Duplicate rows are
possible, as in the text.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tiledb
from numpy.typing import NDArray

from cuesta.engines.array.sizes import CLUSTER_MAX, COLUMN_BYTES, GENE_MAX, Extents
from cuesta.errors import EngineError, InputError

Batch = dict[str, NDArray[Any]]

DIMENSIONS = ("gene1", "gene2", "cluster")
COUNTS = (
    "num_clusters",
    "cluster_samples",
    "missing",
    "outliers",
    "pair_outliers",
    "threshold",
)

GLOBAL = "G"
ANY = "U"
"""TileDB's names for orders of rows: global order, as stored, and none."""

_META = "cuesta"
_ZSTD_LEVEL = 1
"""Level 3 makes masks 0.2 % smaller and takes half as long again."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Numbers of samples and of scores, equal for all rows."""

    samples: int
    score_count: int

    @property
    def scores(self) -> tuple[str, ...]:
        """Attributes with scores, in millionths."""
        return tuple(f"score{index}" for index in range(self.score_count))

    @property
    def attributes(self) -> tuple[str, ...]:
        """All attributes, in the order of the schema."""
        return (*self.scores, *COUNTS, "mask")


@dataclass(frozen=True, kw_only=True)
class Facts:
    """Facts about a loaded array; stored with it as metadata.

    Attributes
    ----------
    format
        Version of the schema.
    samples, score_count
        The `Shape` of its rows.
    rows
        Rows in the array: those that have a score at `score_index`.
    rows_read, text_bytes
        Rows and bytes of the text it was loaded from.
    score_index
        Index of the score; rows without it were left out.
    sources
        Fingerprint of the files it was loaded from.
    tile_rows
        Rows of a data tile.
    extents
        Lengths of the space tiles, by dimension.
    """

    format: int
    samples: int
    score_count: int
    rows: int
    rows_read: int
    text_bytes: int
    score_index: int
    sources: str
    tile_rows: int
    extents: tuple[int, ...]

    @property
    def shape(self) -> Shape:
        """The shape of the rows."""
        return Shape(samples=self.samples, score_count=self.score_count)

    @property
    def keep_order(self) -> bool:
        """Whether rows are stored in the order of their coordinates."""
        return Extents(*self.extents).keep_order


@contextmanager
def session(threads: int, settings: dict[str, int | str]) -> Iterator[Any]:
    """Open a TileDB context with `threads`, in which all other functions here are called.

    Errors: TileDB's errors become `InputError` when a disk is full, else `EngineError`.
    """
    config = {
        "sm.compute_concurrency_level": threads,
        "sm.io_concurrency_level": threads,
        **settings,
    }
    try:
        with tiledb.scope_ctx({key: str(value) for key, value in config.items()}) as context:
            yield context
    except tiledb.TileDBError as error:
        text = " ".join(str(error).split())
        if "No space left" in text or "Disk quota" in text:
            file = re.search("'([^']+)'", text)
            raise InputError(
                f"array: writing {file[1] if file else 'an array'} failed: the disk is full; "
                "free some space or choose another --scratch"
            ) from None
        raise EngineError(
            f"array: TileDB failed: {text}; try a new --scratch, or another engine"
        ) from None


def query_session(threads: int, query_bytes: int, column_bytes: int) -> Any:
    """Open a session for queries with `query_bytes` that return columns of `column_bytes`."""
    settings = {"sm.mem.total_budget": query_bytes, "py.init_buffer_bytes": column_bytes}
    return session(threads, dict(settings))


def create(place: Path, shape: Shape, extents: Extents, tile_rows: int) -> None:
    """Create an empty array with these space tiles, and `tile_rows` rows in a data tile."""
    zstd = tiledb.ZstdFilter(_ZSTD_LEVEL)
    numbers = tiledb.FilterList([tiledb.ByteShuffleFilter(), zstd])

    def dimension(name: str, largest: int, extent: int) -> Any:
        domain = (1, largest)
        return tiledb.Dim(name=name, domain=domain, tile=extent, dtype=np.uint32, filters=numbers)

    def attribute(name: str, dtype: Any) -> Any:
        return tiledb.Attr(name=name, dtype=dtype, filters=numbers)

    largest = (GENE_MAX, GENE_MAX, CLUSTER_MAX)
    domain = tiledb.Domain(*map(dimension, DIMENSIONS, largest, extents.lengths))
    mask = tiledb.Attr(name="mask", dtype=f"S{shape.samples}", filters=tiledb.FilterList([zstd]))
    schema = tiledb.ArraySchema(
        domain=domain,
        attrs=[
            *(attribute(name, np.int32) for name in shape.scores),
            *(attribute(name, np.uint32) for name in COUNTS),
            mask,
        ],
        sparse=True,
        allows_duplicates=True,
        capacity=tile_rows,
        cell_order="row-major",
        tile_order="row-major",
    )
    tiledb.Array.create(str(place), schema)


def write_facts(place: Path, facts: Facts) -> None:
    """Store `facts` with the array."""
    with tiledb.open(str(place), "w") as array:
        array.meta[_META] = json.dumps(asdict(facts))


def read_facts(place: Path) -> Facts | None:
    """Return the facts of the array, None when it has none of this version."""
    if not tiledb.array_exists(str(place)):
        return None
    with tiledb.open(str(place)) as array:
        text = array.meta.get(_META)
    try:
        fields = json.loads(text or "null")
        return Facts(**(fields | {"extents": tuple(fields["extents"])}))
    except (TypeError, ValueError, KeyError):
        return None


def batches(
    place: Path, columns: tuple[str, ...], condition: str | None, order: str
) -> Iterator[Batch]:
    """Yield rows that pass `condition` in bounded batches, in `GLOBAL` or `ANY` order.

    A query that TileDB reports as incomplete is continued until it is complete.
    """
    dimensions = [name for name in columns if name in DIMENSIONS]
    attributes = [name for name in columns if name not in DIMENSIONS]
    with tiledb.open(str(place)) as array:
        if array.nonempty_domain() is None:
            return
        query = array.query(
            attrs=attributes,
            dims=dimensions,
            cond=condition,
            order=order,
            return_incomplete=True,
        )
        yield from query.multi_index[:]


def bands(
    place: Path, columns: tuple[str, ...], condition: str | None, band_bytes: int
) -> Iterator[Batch]:
    """Yield rows that pass `condition` in bands of ascending gene1, unordered within a band.

    A band has at most `band_bytes` of rows, or one gene; a larger one is read again as halves.
    """
    attributes = [name for name in columns if name not in DIMENSIONS]
    with tiledb.open(str(place)) as array:
        domain = array.nonempty_domain()
        if domain is None:
            return
        query = array.query(
            attrs=attributes, dims=list(DIMENSIONS), cond=condition, order=ANY,
            return_incomplete=True,
        )  # fmt: skip
        first, last = (int(end) for end in domain[0])
        step = array.schema.domain.dim(0).tile
        while first <= last:
            # Bands do not cross tiles, so that no data tile is read for two of them.
            end = min(last, first + int(step) - 1 - (first - 1) % int(step))
            batch = _within(query.multi_index[first:end], band_bytes if end > first else None)
            if batch is None:
                step = max(1, (end - first + 1) // 2)
                continue
            yield batch
            first = end + 1


def _within(batches: Iterator[Batch], limit_bytes: int | None) -> Batch | None:
    """Return all rows of a query, None where they exceed `limit_bytes`."""
    parts: list[Batch] = []
    size_bytes = 0
    for batch in batches:
        parts.append(dict(batch))
        size_bytes += sum(column.nbytes for column in batch.values())
        if limit_bytes is not None and size_bytes > limit_bytes:
            return None
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def stored_bytes(place: Path, shape: Shape, columns: tuple[str, ...] | None = None) -> int:
    """Return the bytes on disk of `columns`, or of the complete array."""
    files = {name: f"d{index}.tdb" for index, name in enumerate(DIMENSIONS)}
    files |= {name: f"a{index}.tdb" for index, name in enumerate(shape.attributes)}
    wanted = None if columns is None else {files[name] for name in columns}
    return sum(
        Path(folder, name).stat().st_size
        for folder, _, names in os.walk(place)
        for name in names
        if wanted is None or name in wanted
    )


def drop_pages(place: Path) -> None:
    """Write the files of an array to the device, and evict their pages from the page cache."""
    for folder, _, names in os.walk(place):
        for name in names:
            with Path(folder, name).open("rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def overlapping(place: Path) -> int:
    """Return the largest number of fragments with rows of the same gene1.

    TileDB merges this many data tiles at once to return rows in the order of the coordinates.
    """
    ends = []
    for fragment in tiledb.FragmentInfoList(str(place)):
        first, last = fragment.nonempty_domain[0]
        ends += [(int(first), 0, 1), (int(last), 1, -1)]
    depth = most = 0
    for _, _, step in sorted(ends):
        depth += step
        most = max(most, depth)
    return most


def merge_bytes(overlap: int, facts: Facts) -> int:
    """Return memory of a query that merges `overlap` fragments without reading a tile twice."""
    return overlap * tile_merge_bytes(facts.tile_rows, facts.shape)


def tile_merge_bytes(tile_rows: int, shape: Shape) -> int:
    """Return memory of a query for a data tile, all columns: TileDB has two in memory."""
    return 2 * tile_rows * (shape.samples + COLUMN_BYTES)


def consolidate(place: Path, at_once: int) -> None:
    """Rewrite the fragments as one, merging at most `at_once` of them in a step."""
    config = tiledb.Config(
        {
            **tiledb.default_ctx().config().dict(),
            "sm.consolidation.step_min_frags": "2",
            "sm.consolidation.step_max_frags": str(max(2, at_once)),
        }
    )
    tiledb.consolidate(str(place), config=config)
    tiledb.vacuum(str(place), config=config)
