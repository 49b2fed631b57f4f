"""Makes of columns the table that was asked for: of Arrow, pandas, Polars, NumPy, or of lists."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Literal

from cuesta.api.tables.columns import Column, Columns
from cuesta.errors import EngineMissing, InputError

Form = Literal["arrow", "pandas", "polars", "numpy", "python"]

_PACKAGES = {"arrow": "pyarrow", "pandas": "pandas", "polars": "polars", "numpy": "numpy"}


def form_here(asked: Form | None) -> Form:
    """The form that was asked for, else the first that is installed; plain lists always are.

    Errors: `InputError` for an unknown form, `EngineMissing` naming what to install.
    """
    if asked is None:
        return next((form for form in _FORMS if _is_installed(form)), "python")
    if asked not in _FORMS:
        raise InputError(f"as_ is {asked!r}, give one of {', '.join(_FORMS)}")
    if not _is_installed(asked):
        raise EngineMissing(f"as_ is {asked!r}; pip install {_PACKAGES[asked]} to have such tables")
    return asked


def made(columns: Columns, form: Form) -> Any:
    """The table."""
    return _FORMS[form](columns)


def _is_installed(form: str) -> bool:
    package = _PACKAGES.get(form)
    return package is None or find_spec(package) is not None


def _arrow(columns: Columns) -> Any:
    import pyarrow as pa

    return pa.table({name: _arrow_array(column) for name, column in columns.items()})


def _arrow_array(column: Column) -> Any:
    import pyarrow as pa

    values = column.values
    if isinstance(values, pa.Array | pa.ChunkedArray):
        return values
    if column.kind == "bytes":
        size = values.dtype.itemsize
        data = pa.py_buffer(values.tobytes())
        return pa.FixedSizeBinaryArray.from_buffers(pa.binary(size), len(values), [None, data])
    types = {
        "integer": pa.int64(),
        "number": pa.float64(),
        "text": pa.string(),
        "sequence": pa.large_string(),
        "flag": pa.bool_(),
    }
    found = pa.array(values, from_pandas=True)
    return found.cast(types[column.kind])


def _pandas(columns: Columns) -> Any:
    import pandas

    return pandas.DataFrame({name: _series(column) for name, column in columns.items()})


def _series(column: Column) -> Any:
    values = _plain(column) if column.kind == "bytes" else column.values
    return values.to_pandas() if hasattr(values, "to_pandas") else values


def _polars(columns: Columns) -> Any:
    import polars

    types = {
        "integer": polars.Int64,
        "number": polars.Float64,
        "text": polars.String,
        "sequence": polars.String,
        "flag": polars.Boolean,
        "bytes": polars.Binary,
    }
    if find_spec("pyarrow"):
        return polars.from_arrow(_arrow(columns))
    return polars.DataFrame(
        {name: _plain(column) for name, column in columns.items()},
        schema={name: types[column.kind] for name, column in columns.items()},
    )


def _numpy(columns: Columns) -> Any:
    """A structured array, so that rows and columns are both at hand; text is of Python."""
    import numpy as np

    types = {"integer": "i8", "number": "f8", "flag": "?"}
    layout: list[tuple[str, Any]] = [
        (name, column.values.dtype if column.kind == "bytes" else types.get(column.kind, "O"))
        for name, column in columns.items()
    ]
    rows = len(next(iter(columns.values())).values) if columns else 0
    table = np.empty(rows, np.dtype(layout))
    for name, column in columns.items():
        values = column.values
        table[name] = values.to_numpy() if hasattr(values, "to_numpy") else values
    return table


def _python(columns: Columns) -> dict[str, list[Any]]:
    return {name: _plain(column) for name, column in columns.items()}


def _plain(column: Column) -> list[Any]:
    """The values as a list of Python's own."""
    values = column.values
    if isinstance(values, list):
        return values
    if column.kind == "bytes":
        return [value.tobytes() for value in values]
    found: list[Any] = values.to_pylist() if hasattr(values, "to_pylist") else values.tolist()
    return [None if value != value else value for value in found]


_FORMS: dict[Form, Callable[[Columns], Any]] = {
    "arrow": _arrow,
    "pandas": _pandas,
    "polars": _polars,
    "numpy": _numpy,
    "python": _python,
}
"""In the order in which they are chosen where none is asked for."""
