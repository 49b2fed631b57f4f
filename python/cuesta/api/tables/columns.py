"""The columns that the tables of answers have: their kinds, and their values before any form.

A reader returns `Columns`: by name a `Column`, whose values are a list, a NumPy array or an Arrow
array, whatever was at hand; `cuesta.api.tables.forms` makes one table of them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

Kind = Literal["integer", "number", "text", "sequence", "flag", "bytes"]
"""`number` is a float; a missing one is null. `sequence` is text without a limit of 2 GiB in all,
`bytes` are as many of each row."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """Values of one kind, one a row; None where there is none."""

    kind: Kind
    values: Any


Columns = dict[str, Column]

_INTEGERS = frozenset({
    "gene", "gene1", "gene2", "cluster", "in", "out", "total", "degree", "community", "size",
    "iteration", "empty", "smallest", "largest", "image", "page", "height", "width", "pixels",
    "objects", "block", "vectors", "sum_x", "sum_y", "sum_z", "count", "kmers", "input", "requests",
    "bytes", "module", "merge", "first", "second", "power", "edges", "components",
    "largest_component", "genes_with_edges", "n", "length", "samples", "a_samples", "b_samples",
})  # fmt: skip
_NUMBERS = frozenset({
    "score", "score_a", "score_b", "difference", "inertia", "shift", "threshold", "mean_x",
    "mean_y", "mean_z", "kme", "depth", "copies", "r", "p", "q", "fdr", "density", "r_squared",
    "slope", "a_score", "a_p", "b_score", "b_p", "z",
    "truncated_r_squared", "mean_connectivity", "median_connectivity", "max_connectivity",
})  # fmt: skip
_COORDINATE = re.compile(r"(x|ME)\d+")


def kind_of(name: str) -> Kind:
    """Kind of a column of a tab-separated answer file; text when it is unknown."""
    if name in _INTEGERS:
        return "integer"
    return "number" if name in _NUMBERS or _COORDINATE.fullmatch(name) else "text"


def chosen(columns: Columns, wanted: Sequence[str] | None) -> Columns:
    """The wanted columns, in that order; all of them when None."""
    return columns if wanted is None else {name: columns[name] for name in wanted}
