"""Single cells drawn by seed: logarithms of counts of genes in modules, as a sparse `h5ad`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

MODULES = 50
CELLS_AT_ONCE = 1000
LOG_MEAN, LOG_DEVIATION = -3.8, 1.0
"""Logarithm of the mean count of a gene, and its deviation: some 5 % of the values are not zero."""

FACTOR_DEVIATION = 0.9
"""Deviation of the logarithm of the factor that a cell has for the genes of a module."""


@dataclass(frozen=True, kw_only=True)
class Cells:
    """Shape of a dataset, and its seed."""

    cells: int
    genes: int
    seed: int = 7


def cells_h5ad(folder: Path, cells: Cells) -> Path:
    """The file of `cells`, made if it is not there."""
    path = folder / f"cells-{cells.cells}x{cells.genes}-seed{cells.seed}.h5ad"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = path.with_name(f"partial-{os.getpid()}-{path.name}")
        with h5py.File(partial, "w") as file:
            _write(file, cells)
        partial.rename(path)
    return path


def _write(file: h5py.File, cells: Cells) -> None:
    _mark(file, "anndata", "0.1.0")
    group = file.create_group("X")
    _mark(group, "csr_matrix", "0.1.0")
    group.attrs["shape"] = np.array([cells.cells, cells.genes])
    chunk = {"shape": (0,), "maxshape": (None,), "chunks": (1 << 20,)}
    data = group.create_dataset("data", dtype="f4", **chunk)
    indices = group.create_dataset("indices", dtype="i4", **chunk)
    starts = [np.zeros(1, dtype=np.int64)]
    random = np.random.default_rng(cells.seed)
    means = np.exp(random.normal(LOG_MEAN, LOG_DEVIATION, cells.genes))
    modules = np.arange(cells.genes) % MODULES
    for first in range(0, cells.cells, CELLS_AT_ONCE):
        count = min(CELLS_AT_ONCE, cells.cells - first)
        depths = random.gamma(4, 0.25, (count, 1))
        factors = np.exp(FACTOR_DEVIATION * random.normal(size=(count, MODULES)))
        counts = random.poisson(means * depths * factors[:, modules])
        rows, columns = np.nonzero(counts)
        logarithms = np.log1p(counts[rows, columns] / depths[rows, 0]).astype(np.float32)
        for dataset, values in ((data, logarithms), (indices, columns)):
            dataset.resize(len(dataset) + len(values), 0)
            dataset[-len(values) :] = values
        starts.append(starts[-1][-1] + np.cumsum(np.bincount(rows, minlength=count)))
    group["indptr"] = np.concatenate(starts)
    for name, size, letter in (("obs", cells.cells, "c"), ("var", cells.genes, "g")):
        table = file.create_group(name)
        _mark(table, "dataframe", "0.2.0")
        table.attrs["_index"] = "_index"
        table.attrs.create("column-order", np.empty(0, dtype="f8"))
        names = np.array([f"{letter}{number}" for number in range(size)], dtype=object)
        index = table.create_dataset("_index", data=names, dtype=h5py.string_dtype())
        _mark(index, "string-array", "0.2.0")
    for name in ("layers", "obsm", "varm", "obsp", "varp", "uns"):
        _mark(file.create_group(name), "dict", "0.1.0")


def _mark(item: h5py.File | h5py.Group | h5py.Dataset, kind: str, version: str) -> None:
    item.attrs["encoding-type"], item.attrs["encoding-version"] = kind, version
