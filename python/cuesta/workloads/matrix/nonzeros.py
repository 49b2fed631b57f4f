"""Entries of a sparse matrix, in the order of their source."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class Numbers(Protocol):
    """Numbers in one dimension, in memory or in a file, read by slices."""

    @property
    def dtype(self) -> Any:
        """Type of the numbers."""

    def __len__(self) -> int:
        """Return the count of the numbers."""

    def __getitem__(self, places: slice, /) -> Any:
        """Return some of the numbers as an array."""


@dataclass(frozen=True, kw_only=True)
class Entries:
    """Entries of a sparse matrix.

    Attributes
    ----------
    starts
        Number of entries before each line, and in all; a line is a gene or a sample.
    places
        Sample or gene of each entry, from 0.
    values
        Value of each entry.
    """

    starts: NDArray[np.int64]
    places: Numbers
    values: Numbers


@dataclass(frozen=True, kw_only=True)
class Nonzeros:
    """Entries of a sparse matrix, by gene or by sample.

    Attributes
    ----------
    is_by_gene
        Whether a line is a gene; else it is a sample.
    count
        Number of entries.
    opened
        Function that opens the entries.
    """

    is_by_gene: bool
    count: int
    opened: Callable[[], AbstractContextManager[Entries]]


def of_transposed(values: Any) -> Nonzeros | None:
    """Return the entries of samples by genes in memory; None for a matrix that is dense."""
    if not hasattr(values, "tocsr") or len(values.shape) != 2:
        return None
    if values.format not in ("csr", "csc"):
        values = values.tocsr()
    entries = Entries(starts=values.indptr, places=values.indices, values=values.data)
    return Nonzeros(
        is_by_gene=values.format == "csc",
        count=len(values.data),
        opened=lambda: nullcontext(entries),
    )
