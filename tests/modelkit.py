"""Runs of a known law as CSV files, and the path of published runs."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from cuesta.cli.app import call

PUBLISHED = Path(__file__).resolve().parents[2] / "shared" / "data" / "spark-on-hpc-small.csv"
"""Published runs next to a checkout; their licence does not let us redistribute them."""

SHAPES = tuple(
    (nodes, blocks) for nodes in (1, 2, 4, 8) for blocks in (96 * nodes, 1000)
)  # Weak and strong scaling.


def published() -> Path:
    """Return the CSV of published phase times; skip the test without it."""
    for place in (PUBLISHED, Path.cwd() / "shared" / "data" / PUBLISHED.name):
        if place.exists():
            return place
    pytest.skip("the published phase times (shared/data) are not here")


def write(path: Path, lines: Iterable[Mapping[str, Any]]) -> Path:
    rows = list(lines)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return path


def runs(
    seconds: Callable[[int, int], float],
    shapes: Iterable[tuple[int, int]] = SHAPES,
    **group: str,
) -> list[dict[str, Any]]:
    """Return a row for each (nodes, blocks), on 4 cores each, with the time by `seconds`."""
    return [
        {
            "machine": group.get("machine", "made"),
            "engine": group.get("engine", "mpi"),
            "cached": group.get("cached", "0"),
            "nodes": nodes,
            "cores_per_node": 4,
            "blocks": blocks,
            "overall_s": seconds(nodes, blocks),
        }
        for nodes, blocks in shapes
    ]


def predictions(tmp_path: Path, fitted: Path, questions: Path) -> list[dict[str, str]]:
    """Return the rows of OUT.csv of `model fit` on a file and `model predict` on another."""
    model, out = tmp_path / "model.json", tmp_path / "out.csv"
    assert call(["model", "fit", str(fitted), "-o", str(model)]) == 0
    assert call(["model", "predict", str(model), str(questions), "-o", str(out)]) == 0
    with out.open() as file:
        return list(csv.DictReader(file))
