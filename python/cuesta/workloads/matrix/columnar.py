"""Matrices in Parquet, Feather and streams of Arrow: a row for each gene.

Its name is in the index or the first column.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuesta.errors import InputError
from cuesta.workloads.matrix.needs import no_layers, require, unreadable
from cuesta.workloads.matrix.table import Matrix, gene_names, with_unique_genes

STREAM = b"\xff\xff\xff\xff"
"""First bytes of a stream of Arrow, which a file of Arrow, as Feather is, has not."""


@dataclass(frozen=True, kw_only=True)
class _RowNumbers:
    """Numbers of rows without a column of names; `is_named` if they are an index with a name."""

    rows: range
    is_named: bool


def read(path: str, layer: str | None) -> Matrix:
    """Read a matrix. Errors: `InputError`; `EngineMissing` without PyArrow."""
    require(path, "Parquet or Feather", "anndata", "pyarrow", "numpy")
    no_layers(path, "a table", layer)
    import pyarrow as pa
    import pyarrow.feather as feather
    import pyarrow.parquet as pq

    with Path(path).open("rb") as file:
        start = file.read(4)
    kind = {b"PAR1": "Parquet", STREAM: "Arrow stream"}.get(start, "Feather")
    try:
        if start == STREAM:
            with pa.OSFile(path) as source, pa.ipc.open_stream(source) as stream:
                table = stream.read_all()
        else:
            table = pq.read_table(path) if kind == "Parquet" else feather.read_table(path)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise unreadable(path, error) from None
    return of_arrow(table, path, kind)


def of_arrow(table: Any, source: str, kind: str) -> Matrix:
    """Return the matrix of an Arrow table. Errors: `InputError` for columns without numbers."""
    index = index_columns(table.schema)
    numbers = _row_numbers(table)
    named = None if numbers.is_named else _name_column(table, index)
    names = gene_names(table.column(named).to_pylist(), source) if named else []
    columns = [name for name in table.column_names if name != named and name not in index]
    left_out = [name for name in columns if _is_text(table.schema.field(name).type)]
    columns = [name for name in columns if name not in left_out]
    if not columns:
        raise InputError(f"{source} has no column of numbers; give a row a gene, a column a sample")
    if not named:
        names = [str(number) for number in numbers.rows]
    genes, remarks = with_unique_genes(names)
    if not (named or numbers.is_named):
        remarks = (*remarks, "no column names the genes, so they are numbered")
    if left_out:
        remarks = (*remarks, f"columns without numbers are left out: {', '.join(left_out[:5])}")
    values = table.select(columns)

    def rows(start: int, end: int) -> Any:
        import numpy as np

        part = values.slice(start, end - start)
        return np.column_stack([_numbers(part.column(name)) for name in columns])

    return Matrix(genes=genes, samples=columns, rows=rows, kind=kind, remarks=remarks)


def _numbers(column: Any) -> Any:
    import pyarrow as pa

    return column.cast(pa.float64()).to_numpy()


def _is_text(kind: Any) -> bool:
    import pyarrow.types as types

    return not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind))


def index_columns(schema: Any) -> list[str]:
    """Return the columns that are the index of a pandas frame, by metadata or by their name."""
    names = [name for name in _described(schema) if isinstance(name, str) and name in schema.names]
    levels = [name for name in schema.names if name.startswith("__index_level_")]
    return list(dict.fromkeys([*names, *levels]))


def _described(schema: Any) -> list[object]:
    """Return the description of an index by pandas, a column or a range each; empty without."""
    try:
        described = json.loads((schema.metadata or {}).get(b"pandas", b"{}"))["index_columns"]
    except (ValueError, LookupError, TypeError):
        return []
    return described if isinstance(described, list) else []


def _row_numbers(table: Any) -> _RowNumbers:
    """Return the `RangeIndex` of a pandas frame: not as default, which numbers no gene."""
    for level in _described(table.schema):
        if isinstance(level, dict) and level.get("kind") == "range":
            try:
                rows = range(level["start"], level["stop"], level["step"])
            except (LookupError, TypeError, ValueError):
                continue
            is_named = level.get("name") is not None
            if len(rows) == table.num_rows and (is_named or (rows.start, rows.step) != (0, 1)):
                return _RowNumbers(rows=rows, is_named=is_named)
    return _RowNumbers(rows=range(1, table.num_rows + 1), is_named=False)


def _name_column(table: Any, index: list[str]) -> str | None:
    """Return the column with the names of rows.

    That is an index of text or with a name, the first column of text, a first column of whole
    numbers before fractions, or the index.
    """
    import pyarrow.types as types

    kinds = {name: table.schema.field(name).type for name in table.column_names}
    for name in index:
        if _is_text(kinds[name]) or not name.startswith("__index_level_"):
            return name
    rest: list[str] = [name for name in table.column_names if name not in index]
    texts: list[str] = [name for name in rest if _is_name(kinds[name])]
    if texts:
        return texts[0]
    are_fractions = [types.is_floating(kinds[name]) for name in rest[1:]]
    if are_fractions and all(are_fractions) and types.is_integer(kinds[rest[0]]):
        return rest[0]
    return next(iter(index), None)


def _is_name(kind: Any) -> bool:
    import pyarrow.types as types

    return _is_text(kind) and not types.is_boolean(kind)
