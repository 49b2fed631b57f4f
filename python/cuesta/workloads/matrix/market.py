"""Matrices in the folders of 10x: Matrix Market, with names in files of their own."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cuesta.errors import InputError
from cuesta.workloads.matrix import nonzeros
from cuesta.workloads.matrix.annotated import rows_of_transposed
from cuesta.workloads.matrix.files import BARCODES, FEATURES, MATRIX, single
from cuesta.workloads.matrix.needs import no_layers, require, unreadable
from cuesta.workloads.matrix.table import Matrix, with_unique_genes

_EXPRESSION = "Gene Expression"


def read(path: str, layer: str | None) -> Matrix:
    """Read a folder of 10x, or its matrix. Errors: `InputError`; `EngineMissing` without SciPy."""
    require(path, "a Matrix Market file", "anndata", "scipy", "numpy")
    no_layers(path, "a Matrix Market file", layer)
    from scipy.io import mmread
    from scipy.sparse import csr_matrix

    place = Path(path)
    file = single(place, MATRIX) if place.is_dir() else place
    try:
        values = csr_matrix(mmread(str(file)))
    except (OSError, ValueError, AttributeError) as error:
        raise unreadable(str(file), error) from None
    folder = place if place.is_dir() else place.parent
    if not place.is_dir() and not any(single(folder, names) for names in (FEATURES, BARCODES)):
        return _numbered(values)
    features = _table(folder, path, FEATURES)
    barcodes = [row[0] for row in _table(folder, path, BARCODES)]
    if values.shape != (len(features), len(barcodes)):
        rows, columns = values.shape
        raise InputError(
            f"{path} has {rows:,} x {columns:,} values, {len(features):,} features and "
            f"{len(barcodes):,} barcodes beside it; give files that belong together"
        )
    chosen, remarks = expression_only([row[2] if len(row) > 2 else "" for row in features])
    names = [features[place][1 if len(features[place]) > 1 else 0] for place in chosen]
    genes, repeated = with_unique_genes(names)
    values = (values if len(chosen) == len(features) else values[chosen]).T
    return Matrix(
        genes=genes,
        samples=barcodes,
        rows=rows_of_transposed(values),
        nonzeros=nonzeros.of_transposed(values),
        kind="10x mtx",
        remarks=(*remarks, *repeated),
    )


def _numbered(values: Any) -> Matrix:
    """Return the matrix of a file alone, whose rows and columns are numbered."""
    genes, samples = values.shape
    return Matrix(
        genes=[f"gene{number}" for number in range(1, genes + 1)],
        samples=[f"sample{number}" for number in range(1, samples + 1)],
        rows=rows_of_transposed(values.T),
        nonzeros=nonzeros.of_transposed(values.T),
        kind="Matrix Market",
        remarks=("no files name its rows and columns, so they are numbered; rows are genes",),
    )


def expression_only(kinds: Sequence[str]) -> tuple[list[int], tuple[str, ...]]:
    """Return the places of genes among features by their kinds, and a remark on the others."""
    chosen = [place for place, kind in enumerate(kinds) if kind in ("", _EXPRESSION)]
    further = sorted(set(kinds) - {"", _EXPRESSION})
    if not further or not chosen:
        return list(range(len(kinds))), ()
    count = len(kinds) - len(chosen)
    return chosen, (f"{count:,} features of kind {', '.join(further)} are left out",)


def _table(folder: Path, path: str, names: Sequence[str]) -> list[list[str]]:
    """Return the rows of the file with any of some names, packed or not. Errors: `InputError`."""
    file = single(folder, names)
    if file is None:
        raise InputError(
            f"{path}: there is no {' or '.join(names)} beside it, which names its rows; put it "
            "there"
        )
    try:
        is_packed = file.suffix == ".gz"
        text = (gzip.decompress(file.read_bytes()) if is_packed else file.read_bytes()).decode()
    except (OSError, EOFError, UnicodeDecodeError) as error:
        raise unreadable(str(file), error) from None
    return [line.split("\t") for line in text.splitlines() if line]
