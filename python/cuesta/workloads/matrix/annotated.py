"""Matrix of an AnnData object: observations are samples, variables are genes."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from cuesta.errors import InputError
from cuesta.workloads.matrix import nonzeros
from cuesta.workloads.matrix.table import Matrix, with_unique_genes

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

RAW = "raw"
"""Name of the layer that stands for `raw.X`, unless there is one of this name."""


def matrix_of(data: Any, layer: str | None, source: str, kind: str = "AnnData") -> Matrix:
    """Return the matrix of X or of a layer. Errors: `InputError` where there is none."""
    values, variables = _chosen(data, layer, source)
    if hasattr(values, "to_memory"):
        values = values.to_memory()
    genes, remarks = with_unique_genes([str(name) for name in variables])
    part = "X" if layer is None else layer
    return Matrix(
        genes=genes,
        samples=[str(name) for name in data.obs_names],
        rows=rows_of_transposed(values),
        nonzeros=nonzeros.of_transposed(values),
        kind=f"{kind}, {part}",
        remarks=remarks,
    )


def _chosen(data: Any, layer: str | None, source: str) -> tuple[Any, Any]:
    """Return values, observations by variables, and the names of the variables."""
    if layer is None and data.X is not None:
        return data.X, data.var_names
    if layer is not None and layer in data.layers:
        return data.layers[layer], data.var_names
    if layer == RAW and data.raw is not None:
        return data.raw.X, data.raw.var_names
    known = [*data.layers, *([RAW] if data.raw is not None else [])]
    has = f"it has {', '.join(known)}" if known else "it has none"
    if layer is None and not known:
        raise InputError(f"{source} has no X and no layer, so no values; give another file")
    if layer is None:
        raise InputError(f"{source} has no X; give one of its layers with --layer: {has}")
    raise InputError(f"{source} has no layer {layer!r}; {has}")


def rows_of_transposed(values: Any) -> Any:
    """Return a function of two numbers for dense columns of `values` as rows.

    Sparse values are brought into the order of columns at the first call; dense ones are copied by
    tiles.
    """
    if hasattr(values, "tocsc"):
        by_column = cache(values.tocsc)

        def sparse(start: int, end: int) -> NDArray[np.generic]:
            dense: NDArray[np.generic] = by_column()[:, start:end].toarray().T
            return dense

        return sparse
    array = values[...] if type(values).__module__.startswith("h5py") else values

    def dense_rows(start: int, end: int) -> NDArray[np.generic]:
        import numpy as np

        return np.asarray(array[:, start:end]).T

    return dense_rows
