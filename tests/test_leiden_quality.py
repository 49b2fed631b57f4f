"""Leiden against igraph's, on networks with and without communities.

igraph is licensed under GPL-2.0-or-later: only tests use it, nothing that is installed does.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

import cuesta

igraph = pytest.importorskip("igraph")

SEEDS = 10
LEAST = 0.995
"""Least part of the best quality of igraph's seeds."""

Edges = dict[tuple[int, int], float]
Objective = Literal["modularity", "cpm"]


def planted(draw: random.Random) -> Edges:
    """Thirty groups of twenty genes, with weights."""
    edges: Edges = {}
    for first in range(600):
        for second in range(first):
            alike = first % 30 == second % 30
            if draw.random() < (0.4 if alike else 0.01):
                edges[second, first] = round(draw.uniform(0.5, 1.0) if alike else 0.4, 6)
    return edges


def ring(draw: random.Random) -> Edges:
    """Genes beside each other, whose communities have no sharp bounds, and some chance."""
    edges = {}
    for first in range(1500):
        for step in range(1, 6):
            second = (first + step) % 1500 if draw.random() > 0.1 else draw.randrange(1500)
            if second != first:
                edges[min(first, second), max(first, second)] = round(draw.uniform(0.3, 1.0), 6)
    return edges


def chance(draw: random.Random) -> Edges:
    """Genes with edges by chance alone."""
    pairs = {tuple(sorted(draw.sample(range(800), 2))) for _ in range(3000)}
    return {(first, second): round(draw.uniform(0.2, 1.0), 6) for first, second in sorted(pairs)}


def write_pairs(path: Path, edges: Edges) -> Path:
    """Write edges between genes from 0 as gene pairs."""
    rows = (
        f"{second + 1}\t{first + 1}\t1\t1\t4\t0\t0\t0\t0\t{score:.6f}\t1111\n"
        for (first, second), score in edges.items()
    )
    path.write_text("".join(rows))
    return path


def quality_of(graph: Any, labels: list[int], objective: Objective, resolution: float) -> float:
    """Modularity, or the constant Potts model by its definition."""
    weights = graph.es["weight"]
    if objective == "modularity":
        return float(graph.modularity(labels, weights=weights, resolution=resolution))
    sizes: dict[int, int] = {}
    for label in labels:
        sizes[label] = sizes.get(label, 0) + 1
    pairs = sum(size * (size - 1) / 2 for size in sizes.values())
    ends = zip(graph.get_edgelist(), weights, strict=True)
    within = sum(weight for (a, b), weight in ends if labels[a] == labels[b])
    return float(within - resolution * pairs)


@pytest.mark.parametrize(
    ("objective", "resolution"), [("modularity", 1.0), ("modularity", 2.5), ("cpm", 0.1)]
)
@pytest.mark.parametrize("make", [planted, ring, chance])
def test_the_quality_is_that_of_the_best_of_ten_seeds(
    make: Callable[[random.Random], Edges], objective: Objective, resolution: float, tmp_path: Path
) -> None:
    edges = make(random.Random(1))
    genes = 1 + max(second for _, second in edges)
    table = write_pairs(tmp_path / "pairs.txt", edges)
    answer = cuesta.run(
        "communities", table, genes=genes, method="leiden", weights="score", quality=objective,
        resolution=resolution, output=tmp_path / "answer", progress=False,
    )  # fmt: skip
    labels = list(answer.table("communities", as_="python")["community"])
    graph = igraph.Graph(n=genes, edges=list(edges), edge_attrs={"weight": list(edges.values())})
    ours = quality_of(graph, labels, objective, resolution)
    reported = answer.counts[f"{objective}_millionths"]
    assert reported == pytest.approx(1e6 * ours, rel=1e-6, abs=2)
    best = 0.0
    for seed in range(SEEDS):
        igraph.set_random_number_generator(random.Random(seed))
        groups = graph.community_leiden(
            objective_function={"modularity": "modularity", "cpm": "CPM"}[objective],
            weights="weight", resolution=resolution, n_iterations=2,
        ).membership  # fmt: skip
        best = max(best, quality_of(graph, groups, objective, resolution))
    assert ours >= LEAST * best


def test_options_of_leiden_are_refused_where_they_change_nothing(tmp_path: Path) -> None:
    table = write_pairs(tmp_path / "pairs.txt", {(0, 1): 0.5})
    options: list[dict[str, Any]] = [{"quality": "cpm"}, {"resolution": 2.0}, {"weights": "score"}]
    for option in options:
        with pytest.raises(cuesta.CuestaError, match="is for method leiden alone; leave it out"):
            cuesta.run(
                "communities", table, method="louvain", output=tmp_path / "answer", progress=False,
                **option,
            )  # fmt: skip
