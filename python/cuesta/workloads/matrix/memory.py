"""Matrices in memory: AnnData, data frames of pandas and Polars, Arrow tables, arrays.

Objects are recognised by the module of their class, so that no library is imported for it.
"""

from __future__ import annotations

from typing import Any

from cuesta.errors import InputError
from cuesta.workloads.matrix import nonzeros
from cuesta.workloads.matrix.annotated import matrix_of
from cuesta.workloads.matrix.columnar import of_arrow
from cuesta.workloads.matrix.table import Matrix, gene_names, with_unique_genes


def is_matrix(value: object) -> bool:
    """Whether an object is a matrix in memory of a kind that is read."""
    return _library(value) is not None


def matrix_in_memory(value: Any, layer: str | None) -> Matrix:
    """Return the matrix of an object. Errors: `InputError` for a shape or names that do not fit."""
    library = _library(value)
    if library == "anndata":
        return matrix_of(value, layer, "the AnnData object")
    name = f"the {type(value).__name__}"
    if layer is not None:
        raise InputError(f"{name} has no layers, layer is {layer!r}; leave it out")
    if library == "polars":
        return of_arrow(value.to_arrow(), name, "Polars")
    if library == "pyarrow":
        return of_arrow(value, name, "Arrow")
    if library == "pandas":
        return _of_pandas(value, name)
    return _of_array(value, name)


def _library(value: object) -> str | None:
    for kind in type(value).__mro__:
        library = kind.__module__.partition(".")[0]
        if (library, kind.__name__) in _KINDS or (library == "scipy" and hasattr(value, "tocsr")):
            return library
    return None


_KINDS = frozenset({
    ("anndata", "AnnData"), ("pandas", "DataFrame"), ("polars", "DataFrame"),
    ("pyarrow", "Table"), ("numpy", "ndarray"),
})  # fmt: skip


def _of_pandas(frame: Any, name: str) -> Matrix:
    """Return the matrix of a frame: genes are its index, or its first column of text."""
    kinds = [kind.kind for kind in frame.dtypes]
    is_number = [kind in "iuf" for kind in kinds]
    texts = [place for place, kind in enumerate(kinds) if kind not in "biufc"]
    is_numbered = frame.index.dtype.kind in "iu" and frame.index.name is None
    if is_numbered and not texts and kinds[:1] in (["i"], ["u"]) and set(kinds[1:]) == {"f"}:
        # Whole numbers before fractions: identifiers of genes.
        texts, is_number[0] = [0], False
    labels = frame.iloc[:, texts[0]] if texts and is_numbered else frame.index
    genes, remarks = with_unique_genes(gene_names(labels, name))
    left_out = [str(name) for name, kind in zip(frame.columns, kinds, strict=True) if kind in "bc"]
    if left_out:
        remarks = (*remarks, f"columns without numbers are left out: {', '.join(left_out[:5])}")
    values = frame.loc[:, is_number]
    if not values.shape[1]:
        raise InputError(f"{name} has no column of numbers; give a row a gene, a column a sample")
    return Matrix(
        genes=genes,
        samples=[str(column) for column in values.columns],
        rows=lambda start, end: values.iloc[start:end].to_numpy(dtype=float, na_value=float("nan")),
        kind="pandas",
        remarks=remarks,
    )


def _of_array(array: Any, name: str) -> Matrix:
    """Return the matrix of an array, whose genes and samples are numbered from 1."""
    if len(array.shape) != 2:
        raise InputError(f"{name} has the shape {array.shape}; give genes x samples")
    if array.dtype.kind not in "biuf":
        raise InputError(f"{name} has values of type {array.dtype}; give real numbers")
    if hasattr(array, "mask"):
        array = array.astype(float).filled(float("nan"))
    is_sparse = hasattr(array, "tocsr")
    values = array.tocsr() if is_sparse else array
    genes, samples = values.shape

    def rows(start: int, end: int) -> Any:
        return values[start:end].toarray() if is_sparse else values[start:end]

    return Matrix(
        genes=[f"gene{number}" for number in range(1, genes + 1)],
        samples=[f"sample{number}" for number in range(1, samples + 1)],
        rows=rows,
        nonzeros=nonzeros.of_transposed(array.T) if is_sparse else None,
        kind="SciPy" if is_sparse else "NumPy",
    )
