"""Writer of rows into an array as few fragments, and the request that sets its limits."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import tiledb
import tiledb.libtiledb as native
from numpy.typing import NDArray

from cuesta.engines import Progress
from cuesta.engines.array import store
from cuesta.engines.array.keys import order_keys
from cuesta.engines.array.sizes import MIB, Extents, Sizes
from cuesta.engines.array.store import Batch, Shape
from cuesta.engines.array.text_source import Piece, Text
from cuesta.errors import InputError
from cuesta.units import format_bytes


@dataclass(frozen=True, kw_only=True)
class LoadRequest:
    """A request to load text into an array.

    Attributes
    ----------
    text
        The source.
    score_index
        Index of the score; rows without it are left out, since no workload uses them.
    threads, sizes
        Limits.
    is_permanent
        Whether the array is also for later runs.
    progress
        Called with the bytes of the files.
    """

    text: Text
    score_index: int
    threads: int
    sizes: Sizes
    is_permanent: bool
    progress: Progress | None = None

    @property
    def extents(self) -> Extents:
        """Extents of the space tiles of a new array."""
        return self.sizes.extents or Extents()


@dataclass(frozen=True, kw_only=True)
class LoadCounts:
    """The amounts that a load has read and written."""

    rows: int
    rows_read: int
    text_bytes: int


def session_settings(sizes: Sizes) -> dict[str, int | str]:
    """Return settings of a loading session: when TileDB merges, its reader uses half the budget."""
    return {
        "sm.mem.total_budget": 2 * sizes.query,
        "sm.consolidation.buffer_size": max(sizes.tile, MIB),
    }


def create(place: Path, shape: Shape, request: LoadRequest) -> None:
    """Create the array. Errors: `InputError` when a data tile does not fit in a query's memory."""
    rows = request.sizes.tile_rows(shape.samples)
    needed = store.tile_merge_bytes(rows, shape)
    if request.sizes.capacity and needed > request.sizes.query:
        raise InputError(
            f"--engine-option capacity is {rows}: data tiles of so many rows need "
            f"{format_bytes(needed)}, a query has {format_bytes(request.sizes.query)}; "
            "give a smaller capacity, or raise --memory"
        )
    store.create(place, shape, request.extents, rows)


def check_piece(piece: Piece, shape: Shape) -> None:
    """Check the number of scores. Errors: `InputError` when rows and array differ in it."""
    if piece.score_count != shape.score_count:
        raise InputError(
            f"input.kinc: {piece.path} has rows with {piece.score_count} scores, the rows before "
            f"have {shape.score_count}; engine array needs the same number in every row"
        )


@dataclass(kw_only=True)
class Writer:
    """Writer of rows as few fragments, each in the order of the array.

    Attributes
    ----------
    place
        The array.
    batch_bytes
        Limit of bytes of unordered rows that are gathered for a fragment.
    extents
        Extents of the array's space tiles.
    """

    place: Path
    batch_bytes: int
    extents: Extents
    _waiting: list[Batch] = field(default_factory=list)
    _waiting_bytes: int = 0
    _fragment: _Fragment | None = None

    def add(self, columns: Batch) -> None:
        """Add rows in any order."""
        keys = order_keys(columns, self.extents)
        if not self._waiting and _ascending(keys) and self._follows(keys[0]):
            self._submit(columns, keys)
            return
        self._waiting.append(dict(columns))
        self._waiting_bytes += sum(column.nbytes for column in columns.values())
        if self._waiting_bytes >= self.batch_bytes:
            self._write_waiting()

    def close(self) -> None:
        """Write the remaining rows."""
        self._write_waiting()
        self._end_fragment()

    def _follows(self, key: np.uint64) -> bool:
        return self._fragment is None or bool(key >= self._fragment.last)

    def _write_waiting(self) -> None:
        if not self._waiting:
            return
        keys = np.concatenate([order_keys(columns, self.extents) for columns in self._waiting])
        places = np.argsort(keys, kind="stable")
        ordered = keys[places]
        columns = {}
        for name in list(self._waiting[0]):
            # Column by column, so that only one column has three copies in memory.
            columns[name] = np.concatenate([batch.pop(name) for batch in self._waiting])[places]
        self._waiting, self._waiting_bytes = [], 0
        if not self._follows(ordered[0]):
            self._end_fragment()
        self._submit(columns, ordered)

    def _submit(self, columns: Batch, keys: NDArray[np.uint64]) -> None:
        if self._fragment is None:
            self._fragment = _Fragment(self.place)
        self._fragment.write(columns, keys[-1])

    def _end_fragment(self) -> None:
        if self._fragment is not None:
            self._fragment.end()
            self._fragment = None


class _Fragment:
    """A write in global order that continues until `end`.

    TileDB's Python arrays offer only writes that sort every batch and end a fragment with it,
    which takes twice the time; hence the use of its lower layer.
    """

    def __init__(self, place: Path) -> None:
        self.last = np.uint64(0)
        context = tiledb.default_ctx()
        self._array = tiledb.open(str(place), "w")
        self._query = native.Query(
            context, native.Array(context, self._array), native.QueryType.WRITE
        )
        self._query.layout = native.LayoutType.GLOBAL_ORDER

    def write(self, columns: Batch, last: np.uint64) -> None:
        """Append rows in the order of the array; `last` is the key of the last one."""
        # TileDB reads the buffers during the submission, so they must exist until its end.
        buffers = {name: np.ascontiguousarray(column) for name, column in columns.items()}
        buffers["mask"] = buffers["mask"].view(np.uint8)
        for name, buffer in buffers.items():
            self._query.set_data_buffer(name, buffer, buffer.size)
        self._query._submit()
        self.last = last

    def end(self) -> None:
        """Make the fragment visible."""
        self._query.finalize()
        self._array.close()


def _ascending(keys: NDArray[np.uint64]) -> bool:
    return bool(np.all(keys[1:] >= keys[:-1]))
