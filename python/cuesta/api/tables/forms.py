"""Tables made of columns: of Arrow, pandas, Polars, NumPy, or of lists."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Literal

from cuesta.api.tables.columns import Column, Columns
from cuesta.errors import EngineMissing, InputError

Form = Literal["arrow", "pandas", "polars", "numpy", "python"]

_PACKAGES = {"arrow": "pyarrow", "pandas": "pandas", "polars": "polars", "numpy": "numpy"}


def form_here(form: Form | None) -> Form:
    """Return the requested form, else the first that is installed; plain lists always are.

    Errors: `InputError` for an unknown form, `EngineMissing` naming what to install.
    """
    if form is None:
        return next((each for each in _FORMS if _is_installed(each)), "python")
    if form not in _FORMS:
        raise InputError(f"as_ is {form!r}, give one of {', '.join(_FORMS)}")
    if not _is_installed(form):
        raise EngineMissing(f"as_ is {form!r}; pip install {_PACKAGES[form]} to have such tables")
    return form


def made(columns: Columns, form: Form) -> Any:
    """Make the table of a form."""
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
    array = pa.array(values, from_pandas=True)
    return array.cast(types[column.kind])


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
    values_list: list[Any] = values.to_pylist() if hasattr(values, "to_pylist") else values.tolist()
    return [None if value != value else value for value in values_list]


_FORMS: dict[Form, Callable[[Columns], Any]] = {
    "arrow": _arrow,
    "pandas": _pandas,
    "polars": _polars,
    "numpy": _numpy,
    "python": _python,
}
"""Forms, in the order in which they are chosen where none is requested."""
