"""NumPy: counting, and the product of a standardised matrix with itself on OpenBLAS."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

_BLOCK_GENES = 2048


def degrees(genes1: Any, genes2: Any, path: Path) -> None:
    """In-degree and out-degree of every gene as text."""
    count = int(max(genes1.max(), genes2.max())) + 1
    inward = np.bincount(genes2, minlength=count)
    outward = np.bincount(genes1, minlength=count)
    table = np.column_stack([np.arange(count), inward, outward])
    np.savetxt(path, table[1:], fmt="%d", delimiter="\t")


def labels(communities: Any, path: Path) -> None:
    """The community of every gene as text."""
    table = np.column_stack([np.arange(len(communities)), communities])
    np.savetxt(path, table[1:], fmt="%d", delimiter="\t")


def expression(path: Path) -> Any:
    """A matrix of genes by samples from text with a header and gene names."""
    with path.open() as stream:
        stream.readline()
        columns = len(stream.readline().split("\t"))
    return np.loadtxt(path, delimiter="\t", skiprows=1, usecols=range(1, columns), dtype=float)


def correlate(expressions: Any, min_abs_score: float) -> tuple[Any, Any, Any]:
    """Both genes (from 0, the first the larger) and the score of every pair that scores enough.

    Blocks of rows times the rows up to them in single precision, so that nothing is computed
    twice and a block of products stays small.
    """
    centred = expressions - expressions.mean(axis=1, keepdims=True)
    unit = (centred / np.linalg.norm(centred, axis=1, keepdims=True)).astype(np.float32)
    blocks: list[tuple[Any, Any, Any]] = []
    for first in range(0, len(unit), _BLOCK_GENES):
        block = unit[first : first + _BLOCK_GENES]
        products = block @ unit[: first + len(block)].T
        genes1, genes2 = np.nonzero(np.abs(products) >= min_abs_score)
        below = genes2 < genes1 + first
        genes1, genes2 = genes1[below], genes2[below]
        blocks.append((genes1 + first, genes2, products[genes1, genes2]))
    genes1, genes2, scores = (np.concatenate(columns) for columns in zip(*blocks, strict=True))
    return genes1, genes2, scores


def square_product(size: int, numbers: Any = np.float32) -> Callable[[], None]:
    """A product of two square matrices of `numbers`, ready to be timed."""
    random = np.random.default_rng(1)
    left, right = (random.random((size, size), dtype=numbers) for _ in range(2))
    result = np.empty((size, size), dtype=numbers)

    def multiply() -> None:
        np.matmul(left, right, out=result)

    return multiply
