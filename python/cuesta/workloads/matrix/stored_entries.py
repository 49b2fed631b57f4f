"""Sparse matrices of AnnData whose entries stay in the file until they are needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from cuesta.workloads.matrix.annotated import RAW
from cuesta.workloads.matrix.needs import unreadable
from cuesta.workloads.matrix.nonzeros import Entries, Nonzeros
from cuesta.workloads.matrix.table import Matrix, with_unique_genes

_BY_GENE = {"csr_matrix": False, "csc_matrix": True}
"""Whether a line of each encoding of samples by genes is a gene."""


def matrix_of(
    file: Any, path: str, layer: str | None, dense_rows: Callable[[], Any]
) -> Matrix | None:
    """Return the matrix of a sparse X or layer; None for another, which AnnData must read.

    `dense_rows` reads the matrix completely, for its rows. Errors: `InputError` for names that
    cannot be read.
    """
    place, variables = _place(file, layer)
    group = file.get(place)
    if group is None or _encoding(group) not in _BY_GENE:
        return None
    names, samples = _names(file.get(variables)), _names(file.get("obs"))
    if names is None or samples is None:
        return None
    if tuple(group.attrs.get("shape", ())) != (len(samples), len(names)):
        return None
    genes, remarks = with_unique_genes(names)
    rows = cache(dense_rows)
    return Matrix(
        genes=genes,
        samples=samples,
        rows=lambda start, end: rows()(start, end),
        kind=f"h5ad, {'X' if layer is None else layer}",
        remarks=remarks,
        nonzeros=Nonzeros(
            is_by_gene=_BY_GENE[_encoding(group)],
            count=len(group["data"]),
            opened=lambda: _opened(path, place),
        ),
    )


def _place(file: Any, layer: str | None) -> tuple[str, str]:
    """Return the places of the values, and of the table of their variables."""
    if layer is None:
        return "X", "var"
    if layer == RAW and f"layers/{layer}" not in file:
        return "raw/X", "raw/var"
    return f"layers/{layer}", "var"


def _encoding(item: Any) -> str:
    return str(item.attrs.get("encoding-type", ""))


def _names(table: Any) -> list[str] | None:
    """Return the index of a table, where it is text as AnnData writes it."""
    if table is None or _encoding(table) != "dataframe":
        return None
    index = table.get(table.attrs.get("_index", ""))
    if index is None or _encoding(index) != "string-array":
        return None
    return [str(name) for name in index.asstr()[...]]


@contextmanager
def _opened(path: str, place: str) -> Iterator[Entries]:
    """Open the entries of a file. Errors: `InputError`, of their slices too."""
    import h5py

    with h5py.File(path, "r") as file:
        group = file[place]
        try:
            starts = group["indptr"][...].astype("int64")
            parts = group["indices"], group["data"]
        except (OSError, KeyError, ValueError) as error:
            raise unreadable(path, error) from None
        places, values = (_Stored(path, part) for part in parts)
        yield Entries(starts=starts, places=places, values=values)


class _Stored:
    """Numbers of a file."""

    def __init__(self, path: str, numbers: Any) -> None:
        self._path = path
        self._numbers = numbers
        self.dtype = numbers.dtype

    def __len__(self) -> int:
        return len(self._numbers)

    def __getitem__(self, places: slice) -> Any:
        try:
            return self._numbers[places]
        except OSError as error:
            raise unreadable(self._path, error) from None
