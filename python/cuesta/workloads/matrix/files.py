"""Files in a folder of 10x."""

from __future__ import annotations

from pathlib import Path


def matrix_file(folder: Path) -> Path | None:
    """Return the Matrix Market file of a folder of 10x, if it has one."""
    files = (folder / name for name in ("matrix.mtx.gz", "matrix.mtx"))
    return next((file for file in files if file.is_file()), None)
