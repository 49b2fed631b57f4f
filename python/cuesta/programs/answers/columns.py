"""Answers in Parquet and Arrow, read by PyArrow in batches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cuesta.programs.answers.cells import Cell, Row
from cuesta.programs.answers.tables import Form, Table, UnreadableAnswer, checked_names
from cuesta.programs.answers.text import plain

BATCH_ROWS = 1 << 16


def parquet(files: Sequence[Path], _form: Form) -> Table:
    """Rows of Parquet files. Errors: `UnreadableAnswer`."""
    import pyarrow.parquet

    def batches(file: Path) -> Iterator[Any]:
        with pyarrow.parquet.ParquetFile(file) as opened:
            yield opened.schema_arrow
            yield from opened.iter_batches(batch_size=BATCH_ROWS)

    return _table(files, batches)


def arrow(files: Sequence[Path], _form: Form) -> Table:
    """Rows of files or streams of Arrow, also Feather. Errors: `UnreadableAnswer`."""
    import pyarrow as pa

    def batches(file: Path) -> Iterator[Any]:
        with pa.memory_map(str(file)) as source:
            try:
                reader = pa.ipc.open_file(source)
            except pa.ArrowInvalid:
                source.seek(0)
                stream = pa.ipc.open_stream(source)
                yield stream.schema
                yield from stream
                return
            yield reader.schema
            yield from (reader.get_batch(index) for index in range(reader.num_record_batches))

    return _table(files, batches)


def rows_of(batch: Any) -> Iterator[Row]:
    """Rows of a batch or a table of Arrow."""
    return zip(*(_cells(column) for column in batch.columns), strict=True)


def _table(files: Sequence[Path], batches: Any) -> Table:
    import pyarrow as pa

    def parts(file: Path) -> Iterator[Any]:
        try:
            yield from batches(file)
        except (pa.ArrowException, OSError) as error:
            words = str(error).partition("\n")[0]
            raise UnreadableAnswer(f"{file.name} cannot be read: {words}") from None

    columns = checked_names(next(parts(files[0])).names)

    def rows() -> Iterator[Row]:
        for file in files:
            content = parts(file)
            if tuple(next(content).names) != columns:
                raise UnreadableAnswer(f"{file.name} has other columns than {files[0].name}")
            for batch in content:
                yield from rows_of(batch)

    return Table(columns=columns, is_named=True, is_ordered=False, rows=rows)


def _cells(column: Any) -> list[Cell]:
    """Cells of a column; times are texts, since Python has no nanoseconds."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_temporal(kind) and not pa.types.is_duration(kind):
        column = column.cast(pa.string())
    elif pa.types.is_duration(kind):
        column = column.cast(pa.int64())
    elif pa.types.is_decimal(kind):
        return [None if value is None else plain(value) for value in column.to_pylist()]
    return [plain(value) for value in column.to_pylist()]
