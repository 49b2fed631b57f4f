"""Studies, models and advice: what measures Cuesta's runs, explains them and decides by them.

Adds `cuesta study`, `explain`, `model` and `advise` by the entry points of `pyproject.toml`. Uses
the package `cuesta` to run trials and read their records; `cuesta` imports nothing of this one.

>>> import cuesta_lab as lab
>>> lab.compare({"sum": lambda: [(sum(range(9)),)], "36": lambda: [(36,)]}, repeats=2).equal
True
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cuesta.programs.functions import FunctionComparison


def compare(functions: Mapping[str, Callable[[], Any]], **rules: Any) -> FunctionComparison:
    """Call functions that return tables in a drawn order; compare the tables, and the times.

    A table is a list of rows (tuples or dictionaries), a dictionary of columns, an array, or
    anything of Arrow, pandas, Polars or DuckDB. Functions run in this process, one at a time.

    Parameters
    ----------
    functions
        Functions without arguments, by the names to show; the first one is the reference.
    key
        Column, or columns, that identify a row.
    tolerance
        By column, the largest difference as a part of the larger value.
    rows
        `any` or `in-order`: whether the order of rows counts. It does for arrays.
    repeats
        Number of calls of each function, 6 unless given.
    seed
        Seed of the order of calls.

    Errors: `cuesta.InputError`. A function that raises, or whose table differs, has no time in the
    result.
    """
    from cuesta.errors import InputError
    from cuesta.programs.functions import FunctionRules
    from cuesta.programs.functions import compare as compare_functions

    try:
        known = FunctionRules(**rules)
    except TypeError:
        words = ", ".join(FunctionRules.__dataclass_fields__)
        raise InputError(f"compare takes {words}, not {', '.join(rules)}") from None
    return compare_functions(functions, known)
