"""Matrices in HDF5: AnnData, 10x of versions 2 and 3, loom."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from cuesta.errors import InputError
from cuesta.workloads.matrix import nonzeros, stored_entries
from cuesta.workloads.matrix.annotated import matrix_of, rows_of_transposed
from cuesta.workloads.matrix.market import expression_only
from cuesta.workloads.matrix.needs import no_layers, require, unreadable
from cuesta.workloads.matrix.table import Matrix, with_unique_genes


def read(path: str, layer: str | None) -> Matrix:
    """Read a matrix. Errors: `InputError`; `EngineMissing` without AnnData."""
    require(path, "an HDF5 file (such as h5ad or 10x h5)", "anndata", "anndata", "h5py")
    import h5py

    try:
        with h5py.File(path, "r") as file:
            if "obs" in file and "var" in file:
                stored = stored_entries.matrix_of(
                    file, path, layer, lambda: _annotated(path, layer).rows
                )
                return stored or _annotated(path, layer)
            if "row_attrs" in file and "matrix" in file:
                return _loom(file, path, layer)
            no_layers(path, "a file of 10x", layer)
            if "matrix" in file and "features" in file["matrix"]:
                return _version_3(file["matrix"])
            genomes = [name for name in file if "gene_names" in file[name]]
            if len(genomes) == 1:
                return _version_2(file[genomes[0]])
    except (OSError, KeyError, ValueError, TypeError) as error:
        raise unreadable(path, error) from None
    if genomes:
        raise InputError(f"{path} has the genomes {', '.join(genomes)}; save one of them")
    raise InputError(
        f"{path} is an HDF5 file without an expression matrix; give h5ad, 10x h5 or loom"
    )


def _annotated(path: str, layer: str | None) -> Matrix:
    import anndata

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            data = anndata.read_h5ad(path)
        except InputError:
            raise
        except Exception as error:  # Of any kind, in files of any version.
            raise unreadable(path, error) from None
    return matrix_of(data, layer, path, "h5ad")


def _texts(values: Any) -> list[str]:
    return [text.decode() if isinstance(text, bytes) else str(text) for text in values[...]]


def _sparse(group: Any) -> Any:
    """Return the sparse matrix of a group, barcodes by genes: the file has it by barcode."""
    from scipy.sparse import csr_matrix

    genes, barcodes = (int(size) for size in group["shape"][...])
    parts = (group["data"][...], group["indices"][...], group["indptr"][...])
    return csr_matrix(parts, shape=(barcodes, genes))


def _version_3(group: Any) -> Matrix:
    features = group["features"]
    kinds = _texts(features["feature_type"])
    chosen, remarks = expression_only(kinds)
    names = _texts(features["name"])
    values = _sparse(group)
    if len(chosen) < len(kinds):
        values = values[:, chosen]
    return _of_barcodes([names[place] for place in chosen], group, values, remarks)


def _version_2(group: Any) -> Matrix:
    return _of_barcodes(_texts(group["gene_names"]), group, _sparse(group), ())


def _of_barcodes(names: Sequence[str], group: Any, values: Any, remarks: tuple[str, ...]) -> Matrix:
    genes, repeated = with_unique_genes(names)
    return Matrix(
        genes=genes,
        samples=_texts(group["barcodes"]),
        rows=rows_of_transposed(values),
        nonzeros=nonzeros.of_transposed(values),
        kind="10x h5",
        remarks=(*remarks, *repeated),
    )


def _loom(file: Any, path: str, layer: str | None) -> Matrix:
    layers = file.get("layers", {})
    if layer is not None and layer not in layers:
        has = f"it has {', '.join(layers)}" if len(layers) else "it has none"
        raise InputError(f"{path} has no layer {layer!r}; {has}")
    values = (file["matrix"] if layer is None else layers[layer])[...]
    genes, remarks = with_unique_genes(_names(file["row_attrs"], ("Gene", "var_names"), "g", path))
    return Matrix(
        genes=genes,
        samples=_names(file["col_attrs"], ("CellID", "obs_names"), "c", path),
        rows=lambda start, end: values[start:end],
        kind="loom",
        remarks=remarks,
    )


def _names(attributes: Any, names: tuple[str, ...], letter: str, path: str) -> list[str]:
    for name in names:
        if name in attributes:
            return _texts(attributes[name])
    noun = "genes" if letter == "g" else "cells"
    raise InputError(f"{path} has no attribute {names[0]} with the names of {noun}; add it")
