"""Figures of modules and thresholds as SVG, and their data as CSV, made of the answer's tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path

from cuesta.workloads.figures import charts, heat, tree

Content = Callable[[], Iterator[bytes]]

_FIGURES: Mapping[str, tuple[str, Callable[[Path], tuple[bytes, bytes]]]] = {
    "tree": ("tree.tsv", tree.figure),
    "eigengenes": ("eigengenes.tsv", heat.eigengenes),
    "traits": ("traits.tsv", heat.traits),
    "volcano": ("traits.tsv", charts.volcano),
    "powers": ("powers.tsv", charts.powers),
    "thresholds": ("thresholds.tsv", charts.thresholds),
}
"""By name, the table without which there is no figure, and a function of the answer folder that
returns the picture and its data."""


def contents(folder: Path) -> Mapping[str, Content]:
    """Return the contents of the figures of the answer in `folder`, by file name."""
    files: dict[str, Content] = {}
    for name, (table, figure) in _FIGURES.items():
        if (folder / table).is_file():
            files[f"figure_{name}.svg"] = partial(_part, figure, folder, 0)
            files[f"figure_{name}.csv"] = partial(_part, figure, folder, 1)
    return files


def _part(
    figure: Callable[[Path], tuple[bytes, bytes]], folder: Path, part: int
) -> Iterator[bytes]:
    """Draw a figure, and yield its picture (part 0) or its data (part 1)."""
    yield figure(folder)[part]
