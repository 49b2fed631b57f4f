"""Modules of the user's `PYTHONPATH` that come before those that were installed with Cuesta."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

VARIABLE = "PYTHONPATH"
_NAMES = (
    "numpy", "pyarrow", "pandas", "pyspark", "py4j", "mpi4py", "dask", "distributed", "tiledb",
    "typer", "rich", "fsspec", "cloudpickle", "tornado",
)  # fmt: skip
"""Packages that engines and the command line import."""


def remark(environment: Mapping[str, str] = os.environ) -> str:
    """Return a hint where an engine fails and `PYTHONPATH` has such modules; else nothing."""
    folders = filter(None, environment.get(VARIABLE, "").split(os.pathsep))
    modules = [
        f"{name} in {folder}"
        for folder in folders
        for name in _NAMES
        if Path(folder, name).is_dir() or Path(folder, f"{name}.py").is_file()
    ]
    if not modules:
        return ""
    return f"; {VARIABLE} has {', '.join(modules)}: try `env -u {VARIABLE} cuesta ...`"
