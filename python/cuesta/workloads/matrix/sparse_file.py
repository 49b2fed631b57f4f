"""File of a sparse matrix for the kernels, and the matrices that become such a file.

The file is that of `spec/formats/sparse-matrix.md`. It is written in parts of bounded size, in the
order that the source has, by gene or by sample; the kernels bring it into the order of genes.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from cuesta import machine, removal
from cuesta.errors import InputError
from cuesta.units import format_bytes
from cuesta.workloads.matrix.nonzeros import Entries, Nonzeros
from cuesta.workloads.matrix.table import Matrix, check_names

DENSITY_MAX = 0.25
"""Largest part of the values that are entries of a matrix without its zeros."""

CHUNK_ENTRIES = 1 << 20
"""Entries of a chunk of the file."""

_MAGIC, _VERSION = b"CUESTASP", 1
_METHODS = ("pearson", "spearman")


def is_for(workload: str, parameters: Mapping[str, object], matrix: Matrix) -> bool:
    """Whether a workload with these parameters reads a matrix without its zeros.

    That is `correlate` by Pearson or Spearman of a matrix of which at most a quarter of the values
    are entries, as it is: not turned, with all its columns, without words for missing values.
    """
    if workload != "correlate" or parameters.get("method", "pearson") not in _METHODS:
        return False
    if any(parameters.get(name) for name in ("transpose", "missing", "columns")):
        return False
    size = len(matrix.genes) * len(matrix.samples)
    return matrix.nonzeros is not None and 0 < matrix.nonzeros.count <= DENSITY_MAX * size


def write(matrix: Matrix, path: Path, source: str) -> bool:
    """Write a matrix without its zeros; False, and no file, for values that only text has.

    These are missing and infinite values, and several entries of a gene and a sample. The file has
    single precision where the entries have it. Errors: `InputError` for a full disk.
    """
    nonzeros = matrix.nonzeros
    if nonzeros is None:
        return False
    check_names(matrix, source)
    with nonzeros.opened() as entries:
        lines = len(matrix.genes if nonzeros.is_by_gene else matrix.samples)
        places = len(matrix.samples if nonzeros.is_by_gene else matrix.genes)
        if not _has_all(entries, lines):
            return False
        kind = "<f4" if _is_single(entries.values.dtype) else "<f8"
        needed = len(entries.values) * (4 + int(kind[2]))
        if needed > machine.free_bytes(path.parent):
            raise InputError(
                f"{path.parent}: the values of {source} that are not zero need "
                f"{format_bytes(needed)} there, which is more than is free; choose another "
                "--scratch"
            )
        partial = path.with_suffix(".partial")
        with partial.open("wb") as file:
            summed = _SummedFile(file)
            summed.write(_head(matrix, nonzeros, len(entries.values), int(kind[2])))
            summed.write(entries.starts.astype("<u8").tobytes())
            chunks = _Chunks(summed, kind)
            for part in _parts(entries):
                if not _is_plain(*part, places):
                    partial.unlink()
                    return False
                chunks.add(*part[:2])
            chunks.end()
            file.write(summed.sum.to_bytes(4, "little"))
    removal.put(partial, path)
    return True


def _has_all(entries: Entries, lines: int) -> bool:
    """Whether each line has its entries, none of which is missing."""
    import numpy as np

    starts, count = entries.starts, len(entries.values)
    return (
        len(starts) == lines + 1
        and len(entries.places) == count
        and int(starts[0]) == 0
        and int(starts[-1]) == count
        and bool((np.diff(starts) >= 0).all())
        and entries.values.dtype.kind in "biuf"
        and entries.values.dtype.itemsize <= 8
    )


def _is_single(kind: Any) -> bool:
    """Whether single precision has all numbers of a type."""
    return bool(kind.itemsize <= (4 if kind.kind == "f" else 2))


def _head(matrix: Matrix, nonzeros: Nonzeros, count: int, value_bytes: int) -> bytes:
    names = "".join(f"{name}\n" for name in [*matrix.genes, *matrix.samples]).encode()
    words = (_VERSION, 0 if nonzeros.is_by_gene else 1, value_bytes, 0)
    sizes = (len(matrix.genes), len(matrix.samples), count, len(names))
    parts = [word.to_bytes(4, "little") for word in words]
    return b"".join([_MAGIC, *parts, *(size.to_bytes(8, "little") for size in sizes), names])


class _SummedFile:
    """A file, and the checksum of its bytes."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.sum = 0

    def write(self, content: bytes) -> None:
        self._file.write(content)
        self.sum = zlib.crc32(content, self.sum)


class _Chunks:
    """Entries on their way to chunks of a fixed number."""

    def __init__(self, file: _SummedFile, kind: str) -> None:
        self._file = file
        self._kind = kind
        self._pending: list[tuple[Any, Any]] = []
        self._count = 0

    def add(self, places: Any, values: Any) -> None:
        first = 0
        while first < len(places):
            end = first + CHUNK_ENTRIES - self._count
            some = places[first:end].astype("<u4"), values[first:end].astype(self._kind)
            self._pending.append(some)
            self._count += len(some[0])
            first = end
            if self._count == CHUNK_ENTRIES:
                self.end()

    def end(self) -> None:
        for column in (0, 1):
            for part in self._pending:
                self._file.write(part[column].tobytes())
        self._pending, self._count = [], 0


def _parts(entries: Entries) -> Iterator[tuple[Any, Any, Any]]:
    """Yield places, values and lines of the entries of some whole lines, sorted in each line."""
    import numpy as np

    starts, line, last = entries.starts, 0, len(entries.starts) - 1
    while line < last:
        first = int(starts[line])
        end_line = int(np.searchsorted(starts, first + CHUNK_ENTRIES, side="right")) - 1
        end_line = min(last, max(line + 1, end_line))
        end = int(starts[end_line])
        # Differences of unsigned numbers would never be negative.
        places = np.asarray(entries.places[first:end]).astype(np.int64)
        values = np.asarray(entries.values[first:end])
        counts = np.diff(starts[line : end_line + 1])
        lines = np.repeat(np.arange(end_line - line, dtype=np.int32), counts)
        line = end_line
        falls = (np.diff(places) <= 0) & (np.diff(lines) == 0)
        if falls.any():
            order = np.lexsort((places, lines))
            places, values = places[order], values[order]
        yield places, values, lines


def _is_plain(places: Any, values: Any, lines: Any, count: int) -> bool:
    """Whether all values are finite, and their places exist and differ in each line."""
    import numpy as np

    if not len(places):
        return True
    differ = (np.diff(places) != 0) | (np.diff(lines) != 0)
    are_inside = int(places.min()) >= 0 and int(places.max()) < count
    return are_inside and bool(differ.all()) and bool(np.isfinite(values).all())
