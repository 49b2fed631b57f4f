"""Runs whose law is known, as CSV files, and where published ones are."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from cuesta.cli.app import call

PUBLISHED = Path(__file__).resolve().parents[2] / "shared" / "data" / "spark-on-hpc-small.csv"
"""Beside a checkout, where a project keeps it; it is not ours to give on."""

SHAPES = tuple(
    (nodes, blocks) for nodes in (1, 2, 4, 8) for blocks in (96 * nodes, 1000)
)  # Weak and strong scaling.


def published() -> Path:
    """The CSV of published phase times, or a skipped test."""
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
    """A line for each (nodes, blocks), on 4 cores each, with the time that `seconds` gives it."""
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
    """The lines of OUT.csv of `model fit` on one file and `model predict` on another."""
    model, out = tmp_path / "model.json", tmp_path / "out.csv"
    assert call(["model", "fit", str(fitted), "-o", str(model)]) == 0
    assert call(["model", "predict", str(model), str(questions), "-o", str(out)]) == 0
    with out.open() as file:
        return list(csv.DictReader(file))
