"""Files in a folder of 10x."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from cuesta.errors import InputError

MATRIX = ("matrix.mtx",)
"""Name of the Matrix Market file of a folder."""

FEATURES = ("features.tsv", "genes.tsv")
"""Names of the file of genes: of versions 3 and 2."""

BARCODES = ("barcodes.tsv",)
"""Name of the file of barcodes."""


def matrix_file(folder: Path) -> Path | None:
    """Return the Matrix Market file of a folder of 10x, if it has any."""
    return next(iter(_present(folder, MATRIX)), None)


def single(folder: Path, names: Sequence[str]) -> Path | None:
    """Return the file with any of these names, packed or not; None without any.

    Errors: `InputError` for several, of which any may be the right file.
    """
    files = _present(folder, names)
    if len(files) > 1:
        raise InputError(
            f"{folder} has both {files[0].name} and {files[1].name}; leave the file there that "
            "belongs to the others, and move the other elsewhere"
        )
    return next(iter(files), None)


def _present(folder: Path, names: Sequence[str]) -> list[Path]:
    files = (folder / f"{name}{suffix}" for name in names for suffix in (".gz", ""))
    return [file for file in files if file.is_file()]
