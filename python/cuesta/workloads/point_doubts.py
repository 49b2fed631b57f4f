"""Columns of points in Parquet that number or group the rows and may be no coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cuesta.errors import InputError
from cuesta.native import native_module

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

ROWS_MAX = 1000
"""Rows that are looked at."""


def check(path: str, source: Any, left_out: Sequence[str]) -> None:
    """Check an open file by the rules of points in text, without the columns that are left out.

    Errors: `InputError` that names the `--columns` for both readings.
    """
    import pyarrow.types as types

    fields = list(source.schema_arrow)
    numeric = [
        field.name
        for field in fields
        if (types.is_integer(field.type) or types.is_floating(field.type))
        and field.name not in left_out
    ]
    if len(numeric) < 2 or len({field.name for field in fields}) < len(fields):
        return
    batch = next(source.iter_batches(batch_size=ROWS_MAX, columns=numeric), None)
    if batch is None or batch.num_rows == 0:
        return
    facts = []
    for field in fields:
        if field.name in numeric:
            values = batch.column(field.name).to_numpy(zero_copy_only=False)
            facts.append((field.name, *_facts(values, types.is_integer(field.type)), False))
        else:
            facts.append((field.name, False, False, False, True))
    doubt = native_module().point_doubt(facts, batch.num_rows)
    if doubt is not None:
        raise InputError(f"{path} {doubt}")


def _facts(values: NDArray[np.generic], is_integer: bool) -> tuple[bool, bool, bool]:
    """Return whether numbers are whole, count the rows from 0 or 1, and have a fraction."""
    import numpy as np

    numbers = values.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    has_fraction = bool(np.any(finite != np.floor(finite)))
    is_integral = len(finite) == len(numbers) and not has_fraction
    places = np.arange(len(numbers))
    counts = is_integer and numbers[0] in (0, 1) and bool(np.all(numbers - numbers[0] == places))
    return is_integral, bool(counts), has_fraction
