"""Kinds of files with an expression matrix, by their first bytes, and their readers."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cuesta.errors import InputError
from cuesta.workloads.matrix.columnar import STREAM
from cuesta.workloads.matrix.files import matrix_file
from cuesta.workloads.matrix.table import Matrix

_HDF5 = b"\x89HDF\r\n\x1a\n"
_MARKET = b"%%MatrixMarket"
_GZIP = b"\x1f\x8b"
_ZARR = (".zgroup", "zarr.json")
_COLUMNAR = (b"PAR1", b"ARROW1", b"FEA1", STREAM)


@dataclass(frozen=True, kw_only=True)
class Question:
    """Part of a file that is asked for: a layer, or X."""

    layer: str | None = None


def kind_of(path: Path) -> str | None:
    """Return the kind of a matrix that is not text; None for text, and what cannot be opened."""
    try:
        if path.is_dir():
            if any((path / name).exists() for name in _ZARR):
                return "zarr"
            return "mtx" if matrix_file(path) else None
        with path.open("rb") as file:
            start = file.read(16)
        if start.startswith(_HDF5):
            return "hdf5"
        if start.startswith(_COLUMNAR):
            return "columnar"
        if start.startswith(_GZIP) and ".mtx" in path.name:
            with gzip.open(path) as unpacked:
                start = unpacked.read(16)
        return "mtx" if start.startswith(_MARKET) else None
    except (OSError, EOFError):
        return None  # The kernel reports the error.


def _hdf5(path: str, question: Question) -> Matrix:
    from cuesta.workloads.matrix.hdf5 import read

    return read(path, question.layer)


def _mtx(path: str, question: Question) -> Matrix:
    from cuesta.workloads.matrix.market import read

    return read(path, question.layer)


def _columnar(path: str, question: Question) -> Matrix:
    from cuesta.workloads.matrix.columnar import read

    return read(path, question.layer)


def _zarr(path: str, _question: Question) -> Matrix:
    raise InputError(
        f"{path} is a folder of Zarr, which is no matrix here; of AnnData, give "
        "anndata.read_zarr(...).write_h5ad('m.h5ad')"
    )


READERS: dict[str, Callable[[str, Question], Matrix]] = {
    "hdf5": _hdf5,
    "mtx": _mtx,
    "columnar": _columnar,
    "zarr": _zarr,
}
"""Reader of each kind."""
