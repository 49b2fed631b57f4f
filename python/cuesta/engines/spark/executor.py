"""What runs in Spark's tasks: the Rust kernel on a range of a file, columns out without a copy.

Everything here is found by name on the executors, which have this package too.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cuesta.engines.spark.failures import refusing

if TYPE_CHECKING:
    import pyarrow as pa

Split = tuple[str, int, int]
"""Path, first byte, bytes."""

WHOLE_FILE = (1 << 64) - 1
"""Bytes of a split that is a whole gzipped file."""

Tally = dict[tuple[str, str, int], tuple[int, int, int]]
"""By version, file and first byte: rows read, rows kept and bytes. What ran twice counts once."""

COLUMNS = {
    "join": {"gene1": "int32", "gene2": "int32", "cluster": "int32", "score": "int32"},
    "edges": {"gene1": "int32", "gene2": "int32"},
    "degrees": {"gene": "int32", "in": "int64", "out": "int64"},
    "communities": {"gene": "int32", "label": "int32"},
}
"""Columns of each kind. The kernel's are unsigned, but no value of them needs the highest bit."""

PART_SCHEMA = "task long, size_bytes long"


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a task needs to know to read its part of a version.

    Attributes
    ----------
    kind
        What the kernel is asked for, e.g. `degrees`.
    parameters
        The filter and the shape of a line, as JSON.
    version
        `a` or `b` of a join, else empty.
    tally
        A Spark accumulator of `Tally`.
    """

    kind: str
    parameters: str
    version: str
    tally: Any


class TallyParam:
    """Adds tallies. PySpark asks for the methods of its `AccumulatorParam`, not for the class."""

    def zero(self, _value: Tally) -> Tally:
        """Nothing read."""
        return {}

    def addInPlace(self, value1: Tally, value2: Tally) -> Tally:  # noqa: N802
        """Both."""
        value1.update(value2)
        return value1


def schema_of(kind: str) -> str:
    """The columns of a kind as Spark's DDL."""
    names = {"int32": "int", "int64": "long"}
    return ", ".join(f"`{name}` {names[kind]}" for name, kind in COLUMNS[kind].items())


def version() -> str:
    """Version of this package, with that of the kernels in it."""
    from cuesta import __version__, _native

    return f"{__version__}/{_native.__version__}"


def greet(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One row an executor's slot: its version."""
    import pyarrow as pa

    for batch in batches:
        yield pa.RecordBatch.from_pydict({"version": [version()] * batch.num_rows})


def columns(
    reading: Reading,
    tasks: tuple[tuple[Split, ...], ...],
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """The kernel's columns of each split of the tasks whose numbers are in `batches`."""
    from cuesta import _native

    with refusing():
        for task in _numbers(batches):
            for split in tasks[task]:
                found = _native.map_split(reading.kind, reading.parameters, split)
                count(reading, found, split)
                yield record_batch(reading.kind, found)


def scan(
    reading: Reading,
    tasks: tuple[tuple[Split, ...], ...],
    folder: str,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Write the lines that pass to one file a task; give its number and its bytes."""
    from cuesta import _native

    with refusing():
        for task in _numbers(batches):
            with Part(folder, part_name(task)) as part:
                for split in tasks[task]:
                    found = _native.map_split("scan", reading.parameters, split)
                    count(reading, found, split)
                    part.write(found["lines"])
            yield part_row(task, part.size_bytes)


class Part:
    """A file that gets its name when it is whole, whichever attempt of a task writes it."""

    def __init__(self, folder: str, name: str) -> None:
        from pyspark import TaskContext

        context = TaskContext.get()
        attempt = context.taskAttemptId() if context else 0
        self._path = Path(folder, name)
        self._temporary = Path(folder, f".{name}.{attempt}")
        self.size_bytes = 0

    def __enter__(self) -> Part:
        self._descriptor = os.open(self._temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        return self

    def write(self, text: bytes) -> None:
        """Append."""
        view = memoryview(text)
        while view:
            view = view[os.write(self._descriptor, view) :]
        self.size_bytes += len(text)

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        os.close(self._descriptor)
        if kind is None:
            self._temporary.replace(self._path)
        else:
            self._temporary.unlink(missing_ok=True)


def part_name(task: int) -> str:
    """Name of the file that a task writes."""
    return f"part-{task}"


def part_row(task: int, size_bytes: int) -> pa.RecordBatch:
    """A row of `PART_SCHEMA`."""
    import pyarrow as pa

    return pa.RecordBatch.from_pydict({"task": [task], "size_bytes": [size_bytes]})


def record_batch(kind: str, found: dict[str, bytes]) -> pa.RecordBatch:
    """The kernel's columns of a kind as Arrow's, on the same memory."""
    import pyarrow as pa

    arrays = []
    for name, type_name in COLUMNS[kind].items():
        arrow_type = pa.type_for_alias(type_name)
        rows = len(found[name]) // (arrow_type.bit_width // 8)
        arrays.append(pa.Array.from_buffers(arrow_type, rows, [None, pa.py_buffer(found[name])]))
    return pa.RecordBatch.from_arrays(arrays, names=list(COLUMNS[kind]))


def count(reading: Reading, found: dict[str, bytes], split: Split) -> None:
    """Tell the driver what was read."""
    path, number, size_bytes = split
    if size_bytes == WHOLE_FILE:
        size_bytes = Path(path).stat().st_size
    read, kept = (int.from_bytes(found[name], "little") for name in ("rows_read", "rows_kept"))
    reading.tally.add({(reading.version, path, number): (read, kept, size_bytes)})


def _numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[int]:
    for batch in batches:
        yield from batch.column(0).to_pylist()
