"""Expression matrix of any source, and its text for the kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cuesta import machine, removal
from cuesta.errors import InputError
from cuesta.units import format_bytes
from cuesta.workloads.matrix.nonzeros import Nonzeros

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TILE_VALUES = 1 << 20
"""Values that are dense at once."""

_TEXT_BYTES_A_VALUE = 3
"""Fewest bytes of a value and its tab that are worth a look at the disk."""

_MISSING = frozenset({"None", "nan", "<NA>", "NaT"})
"""Values of Python, NumPy and pandas for a missing label, as text."""


@dataclass(frozen=True, kw_only=True)
class Matrix:
    """A matrix with a row for each gene and a column for each sample.

    Attributes
    ----------
    genes, samples
        Names in the order of rows and columns.
    rows
        Function of two numbers, which returns the dense rows from the first up to the last, as
        numbers of any type.
    kind
        Description of the source, e.g. `h5ad`.
    remarks
        Sentences on choices that were made for the user.
    nonzeros
        Entries of a sparse matrix.
    """

    genes: Sequence[str]
    samples: Sequence[str]
    rows: Callable[[int, int], NDArray[np.generic]]
    kind: str
    remarks: tuple[str, ...] = ()
    nonzeros: Nonzeros | None = None

    def sentence(self) -> str:
        """Describe the matrix in words."""
        return (
            f"{_count(self.genes, 'gene')} ({_first(self.genes)}), "
            f"{_count(self.samples, 'sample')} ({_first(self.samples)}), {self.kind}"
        )


def _count(names: Sequence[str], noun: str) -> str:
    return f"{len(names):,} {noun}" + ("" if len(names) == 1 else "s")


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:2]) + (", ..." if len(names) > 2 else "")


def gene_names(labels: Iterable[object], source: str) -> list[str]:
    """Return the labels of rows as names. Errors: `InputError` for a missing or empty one."""
    names = []
    for row, label in enumerate(labels, start=1):
        name = str(label)
        is_missing = not isinstance(label, str) and name in _MISSING
        if is_missing or not name.strip():
            raise InputError(f"{source}: row {row} has no name of a gene; give every gene one")
        names.append(name)
    return names


def unique(names: Sequence[str]) -> tuple[list[str], int]:
    """Return names that are all different, and the number of those that were changed.

    The second `X` becomes `X-1`, as in `anndata.AnnData.var_names_make_unique`.
    """
    taken = set(names)
    repeats: dict[str, int] = {}
    result: list[str] = []
    changed = 0
    for name in names:
        if name not in repeats:
            repeats[name] = 0
            result.append(name)
            continue
        while True:
            repeats[name] += 1
            candidate = f"{name}-{repeats[name]}"
            if candidate not in taken:
                break
        taken.add(candidate)
        result.append(candidate)
        changed += 1
    return result, changed


def with_unique_genes(genes: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """Return names of genes that are all different, and a remark if some were changed."""
    names, changed = unique(genes)
    if not changed:
        return names, ()
    example = next(new for new, old in zip(names, genes, strict=True) if new != old)
    noun = "name of a gene is" if changed == 1 else "names of genes are"
    return names, (f"{changed:,} {noun} repeated and got a number, such as {example}",)


def write(matrix: Matrix, path: Path, source: str) -> None:
    """Write a matrix as text with tabs, numbers with all digits, missing ones as NA.

    Errors: `InputError` for a full disk, an infinite value, or names that are no text; `source` is
    the name of the matrix in them.
    """
    check_names(matrix, source)
    needed = len(matrix.genes) * len(matrix.samples) * _TEXT_BYTES_A_VALUE
    if needed > machine.free_bytes(path.parent):
        raise InputError(
            f"{path.parent}: {source} as text needs more than {format_bytes(needed)} there, which "
            "is more than is free; choose another --scratch"
        )
    partial = path.with_suffix(".partial")
    tile_rows = max(1, TILE_VALUES // max(1, len(matrix.samples)))
    with partial.open("w", encoding="utf-8", newline="\n") as file:
        file.write("\t".join(["gene", *map(_quoted, matrix.samples)]) + "\n")
        for start in range(0, len(matrix.genes), tile_rows):
            end = min(len(matrix.genes), start + tile_rows)
            names = matrix.genes[start:end]
            for name, row in zip(names, _numbers(matrix, start, end, source), strict=True):
                file.write(f"{_quoted(name)}\t{row}\n")
    removal.put(partial, path)


def check_names(matrix: Matrix, source: str) -> None:
    """Check that genes and samples have names. Errors: `InputError`."""
    if not matrix.genes or not matrix.samples:
        raise InputError(
            f"{source} has {len(matrix.genes)} genes and {len(matrix.samples)} samples; give a "
            "matrix that has both"
        )
    for noun, names in (("gene", matrix.genes), ("sample", matrix.samples)):
        for number, name in enumerate(names, 1):
            if not name or not name.isprintable():
                raise InputError(f"{source}: {noun} {number} is called {name!r}; give it a name")


def _numbers(matrix: Matrix, start: int, end: int, source: str) -> list[str]:
    """Return the values of some rows as text. Errors: `InputError` for an infinite value."""
    import numpy as np

    try:
        rows = np.asarray(matrix.rows(start, end), dtype=np.float64)
    except (TypeError, ValueError) as error:
        if "not in range" in str(error):
            # Arrow's words for an integer beyond 2^53.
            raise InputError(
                f"{source} has integers that a double cannot hold ({error}); subtract an offset "
                "from them, or cast them to float64 yourself, which rounds them"
            ) from None
        raise InputError(
            f"{source} has values that are no numbers ({error}); leave them out"
        ) from None
    if np.isinf(rows).any():
        row, column = map(int, np.argwhere(np.isinf(rows))[0])
        raise InputError(
            f"{source}: gene {matrix.genes[start + row]}, sample {matrix.samples[column]} is "
            "infinite; replace it by a number or a missing value"
        )
    return ["\t".join(map(repr, row.tolist())).replace("nan", "NA") for row in rows]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
