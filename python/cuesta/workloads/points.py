"""Conversion of points in Parquet to `.npy` files in scratch, for the kernels."""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.util import find_spec
from itertools import islice, zip_longest
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from cuesta import machine, removal, uris
from cuesta.errors import EngineMissing, InputError
from cuesta.native import native_module
from cuesta.trial import Phase, Trial, is_remote, is_stored
from cuesta.units import format_bytes
from cuesta.workloads import point_columns, point_doubts
from cuesta.workloads.matrix.columnar import STREAM

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BATCH_BYTES = 4 << 20
"""Bytes of points that are converted at once."""

_MAGIC = b"PAR1"
_SINGLE_IS_EXACT = frozenset({"float", "halffloat", "int8", "int16", "uint8", "uint16"})
_DOUBLE = frozenset({"double", "int32", "int64", "uint32", "uint64"})


def readable(trial: Trial, scratch: Path) -> tuple[Trial, tuple[Phase, ...]]:
    """Return the trial with `.npy` files in `scratch` for its Parquet files, unchanged without any.

    A file that was converted into `scratch` before is not converted again. Errors: `InputError`
    naming a column without numbers; `EngineMissing` without PyArrow.
    """
    if any(is_remote(path) and not is_stored(path) for path in trial.inputs):
        return trial, ()
    size_bytes = sum(_size_bytes(file) for file in files(trial) if _is_parquet(file))
    if not size_bytes:
        return trial, ()
    started = time.perf_counter()
    columns = _columns_of(trial)
    listed = _points(trial)
    inputs = tuple(
        str(_array(file, number, scratch, columns)) for number, file in enumerate(listed)
    )
    parameters = dict(trial.parameters)
    if centres := parameters.get("centres"):
        parameters["centres"] = str(_array(str(centres), len(listed), scratch, None))
    seconds = time.perf_counter() - started
    changed = replace(trial, inputs=inputs, parameters=parameters)
    return changed, (Phase(name="convert", seconds=seconds, bytes=size_bytes),)


def files(trial: Trial) -> list[str]:
    """List the files of the points, and last that of the first centres, in the kernels' order."""
    centres = trial.parameters.get("centres")
    return [*_points(trial), *([str(centres)] if centres else [])]


def _points(trial: Trial) -> list[str]:
    return [file for path in trial.inputs for file in _files(path)]


def parts(trial: Trial, readable: Trial) -> list[tuple[str, ...]]:
    """Return what each input is in its `readable` form, by the numbers of their files."""
    arrays = iter(readable.inputs)
    return [tuple(islice(arrays, sum(1 for _ in _files(path)))) for path in trial.inputs]


def sentences(trial: Trial) -> list[str]:
    """Describe the columns of Parquet files that are coordinates.

    Errors: as for `readable`; `InputError` for files that name coordinates differently.
    """
    texts: list[str] = []
    named: dict[tuple[str, ...], str] = {}
    for file in filter(_is_parquet, _points(trial)):
        shape = _shape_of(file, _columns_of(trial))
        text = _words(shape)
        if not any(before.endswith(text) for before in texts):
            texts.append(f"{file}: {text}")
        if shape.dimensions == len(shape.names):
            named.setdefault(shape.names, file)
    if len(named) > 1:
        (names, first), (others, other) = list(named.items())[:2]
        place, pair = next(
            (place, pair)
            for place, pair in enumerate(zip_longest(names, others, fillvalue="none"), 1)
            if pair[0] != pair[1]
        )
        raise InputError(
            f"{first} and {other} name coordinate {place} differently, {pair[0]} and {pair[1]}; "
            "give all files the same columns in the same order"
        )
    return texts


def check(trial: Trial) -> None:
    """Check that no file is a stream of Arrow, and `--columns` for all of them.

    Errors: `InputError`; for columns, as for `point_columns.check`.
    """
    columns = _columns_of(trial)
    for file in _points(trial):
        if not is_stored(file) and _starts_with(file, STREAM):
            raise InputError(
                f"{file} is a stream of Arrow (IPC); write it as Parquet, such as with "
                f"polars.read_ipc_stream({file!r}).write_parquet('points.parquet')"
            )
        if columns is not None:
            names = _names_of(file) if _is_parquet(file) else None
            point_columns.check(file, columns, names, _opened)


def _names_of(path: str) -> list[str]:
    _need_pyarrow(path)
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with _opened(path) as file, pq.ParquetFile(file) as source:
            return [str(name) for name in source.schema_arrow.names]
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from None


def _columns_of(trial: Trial) -> str | None:
    columns = trial.parameters.get("columns")
    return None if columns is None else str(columns)


def _shape_of(path: str, columns: str | None) -> _Shape:
    _need_pyarrow(path)
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with _opened(path) as file, pq.ParquetFile(file) as source:
            return _shape(path, source, columns)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from None


def _words(shape: _Shape) -> str:
    noun = "dimension" if shape.dimensions == 1 else "dimensions"
    left_out = "".join(f", {column} left out" for column in shape.left_out)
    names = ", ".join(shape.names[:2]) + (", ..." if len(shape.names) > 2 else "")
    return f"{shape.points:,} points, {shape.dimensions:,} {noun} ({names}), Parquet{left_out}"


def _files(path: str) -> Iterator[str]:
    """Yield the files of an input, in the order in which the kernels list them."""
    if is_stored(path):
        yield from _stored_files(path)
        return
    if not Path(path).is_dir():
        yield path
        return
    try:
        inside = native_module().input_list(path)
    except OSError:
        inside = []  # The kernel reports the error.
    for inner in inside:
        if not Path(inner).name.startswith((".", "_")):
            yield from _files(inner)


def _stored_files(path: str) -> Iterator[str]:
    try:
        _, is_folder = uris.facts(path)
        inside = uris.entries(path) if is_folder else []
    except OSError:
        is_folder = False  # The kernel reports the error.
    if not is_folder:
        yield path
        return
    for inner in sorted(inside, key=os.fsencode):
        if not inner.rpartition("/")[2].startswith((".", "_")):
            yield from _stored_files(inner)


def _opened(path: str) -> IO[bytes]:
    return uris.opened(path) if is_stored(path) else Path(path).open("rb")


def _size_bytes(path: str) -> int:
    return uris.facts(path)[0] if is_stored(path) else Path(path).stat().st_size


def _is_parquet(path: str) -> bool:
    if is_stored(path) and not path.endswith((".parquet", ".pq")):
        return False
    return _starts_with(path, _MAGIC)


def _starts_with(path: str, start: bytes) -> bool:
    try:
        with _opened(path) as file:
            return file.read(len(start)) == start
    except (OSError, InputError):
        return False  # The kernel reports the error.


def _array(path: str, number: int, scratch: Path, columns: str | None) -> Path | str:
    """Return the array made from a Parquet file, or `path` for another file."""
    if not _is_parquet(path):
        return path
    made = scratch / f"parquet-{number}.npy"
    if not made.exists():
        _convert(path, made, columns)
    return made


def _need_pyarrow(path: str) -> None:
    if any(find_spec(name) is None for name in ("pyarrow", "numpy")):
        raise EngineMissing(f"{path} is Parquet; pip install pyarrow numpy to read it")


def _unreadable(path: str, error: Exception) -> InputError:
    first_line = (str(error).splitlines() or ["it cannot be read"])[0]
    return InputError(f"{path}: {first_line.rstrip('.')}; obtain it again, or write it anew")


def _convert(path: str, made: Path, columns: str | None) -> None:
    _need_pyarrow(path)
    import pyarrow as pa
    import pyarrow.parquet as pq
    from numpy.lib import format as npy

    partial = made.with_suffix(".partial")
    try:
        with _opened(path) as file, pq.ParquetFile(file) as source, partial.open("wb") as out:
            shape = _shape(path, source, columns)
            size_bytes = shape.points * shape.dimensions * int(shape.descr[-1])
            if size_bytes > machine.free_bytes(made.parent):
                raise InputError(
                    f"{made.parent}: {path} as numbers needs {format_bytes(size_bytes)} there, "
                    "which is more than is free; choose another --scratch"
                )
            header = {"descr": shape.descr, "fortran_order": False}
            rows_and_columns = (shape.points, shape.dimensions)
            npy.write_array_header_1_0(out, header | {"shape": rows_and_columns})
            rows = max(1, BATCH_BYTES // (8 * max(1, shape.dimensions)))
            for batch in source.iter_batches(batch_size=rows, columns=list(shape.names)):
                out.write(_numbers(path, batch, shape).data)
    except (pa.ArrowException, OSError) as error:
        raise _unreadable(path, error) from None
    removal.put(partial, made)


@dataclass(frozen=True, kw_only=True)
class _Shape:
    """Shape of a file: `descr` is NumPy's name of a type for all its numbers.

    `names` are the columns of coordinates, `left_out` describes other columns.
    """

    points: int
    dimensions: int
    descr: str
    names: tuple[str, ...]
    left_out: tuple[str, ...]


def _coordinates(path: str, source: Any, columns: str | None) -> tuple[list[Any], list[str]]:
    """Return the fields with coordinates, and columns left out. Errors: `InputError`."""
    from cuesta.workloads.matrix.columnar import index_columns

    fields = list(source.schema_arrow)
    if columns is not None:
        chosen = _chosen(path, columns, [field.name for field in fields])
        left_out = len(fields) - len(chosen)
        text = [f"{left_out} of {len(fields)} columns"] if left_out else []
        return [fields[index] for index in chosen], text
    index = index_columns(source.schema_arrow)
    values = [field for field in fields if field.name not in index]
    if not values:
        return fields, []
    point_doubts.check(path, source, index)
    return values, [f"index {name}" for name in index]


def _chosen(path: str, columns: str, names: list[str]) -> list[int]:
    """Return the positions of the columns in `--columns`. Errors: `InputError`."""
    chosen: set[int] = set()
    for item in filter(None, (item.strip() for item in columns.split(","))):
        first, dash, last = item.partition("-")
        if item in names:
            chosen.add(names.index(item))
        elif first.isdigit() and (not last or last.isdigit()):
            end = int(last) if last else len(names) if dash else int(first)
            chosen.update(range(int(first) - 1, end))
        else:
            chosen.add(-1)
        if not chosen <= set(range(len(names))):
            raise InputError(
                f"{path}: has no column {item!r} for --columns; give names, or numbers from 1 to "
                f"{len(names)}"
            )
    if not chosen:
        raise InputError(f"{path}: --columns names no column; give names or numbers")
    return sorted(chosen)


def _shape(path: str, source: Any, columns: str | None) -> _Shape:
    """Return the shape of a file. Errors: `InputError` for a column without numbers."""
    fields, left_out = _coordinates(path, source, columns)
    points = source.metadata.num_rows
    types = [getattr(field.type, "value_type", field.type) for field in fields]
    lists = [field.name for field in fields if hasattr(field.type, "value_type")]
    if lists and len(fields) > len(lists):
        single = next(field for field in fields if field.name not in lists)
        raise InputError(
            f"{path}: column {single.name} ({single.type}) is beside {lists[0]}, whose lists of "
            f"numbers are points; leave it out with --columns {shlex.quote(lists[0])}"
        )
    for field, kind in zip(fields, types, strict=True):
        listed = kind is not field.type
        if str(kind) not in _SINGLE_IS_EXACT | _DOUBLE or (listed and len(fields) > 1):
            raise InputError(
                f"{path}: column {field.name} is {field.type}; points are columns of numbers, or "
                "one column of lists of numbers; leave it out with --columns"
            )
    single = all(str(kind) in _SINGLE_IS_EXACT for kind in types)
    dimensions = len(fields)
    if fields and types[0] is not fields[0].type:
        first = next(source.iter_batches(batch_size=1, columns=[fields[0].name]), None)
        dimensions = len(first.column(0)[0]) if first is not None and first.num_rows else 0
    return _Shape(
        points=points,
        dimensions=dimensions,
        descr="<f4" if single else "<f8",
        names=tuple(field.name for field in fields),
        left_out=tuple(left_out),
    )


def _numbers(path: str, batch: Any, shape: _Shape) -> NDArray[np.generic]:
    """Return the points of a batch. Errors: `InputError` where a number is missing."""
    import numpy as np

    values = np.empty((batch.num_rows, shape.dimensions), dtype=shape.descr)
    for index, name in enumerate(batch.schema.names):
        column = batch.column(index)
        listed = hasattr(column.type, "value_type")
        flat = column.flatten() if listed else column
        if column.null_count or flat.null_count:
            raise InputError(f"{path}: column {name} has empty cells; fill them or leave them out")
        if listed:
            lengths = column.value_lengths().to_numpy() if len(column) else np.empty(0)
            if np.any(lengths != shape.dimensions):
                raise InputError(
                    f"{path}: column {name} has lists of different lengths; give points of "
                    f"{shape.dimensions} numbers, as the first one has"
                )
            values[:] = flat.to_numpy(zero_copy_only=False).reshape(values.shape)
        else:
            values[:, index] = flat.to_numpy(zero_copy_only=False)
    return values
