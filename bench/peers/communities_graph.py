"""Communities of a network by leidenalg or NetworKit, as a process of its own.

    python bench/peers/communities_graph.py leidenalg|networkit EDGES FOLDER [SEEDS]

EDGES is text with a header, `gene1 gene2 score`. Writes the community of each gene with an edge; of
several SEEDS of leidenalg the one with the largest modularity.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

THREADS = 2


def edges_of(path: Path) -> Any:
    """Both genes of every edge, from 0."""
    from pyarrow import csv

    options = csv.ParseOptions(delimiter="\t")
    names = ["gene1", "gene2"]
    table = csv.read_csv(
        path, parse_options=options, convert_options=csv.ConvertOptions(include_columns=names)
    )
    return np.column_stack([table[name].to_numpy() for name in names]) - 1


def leidenalg(edges: Any, seeds: int) -> Any:
    """The community of every gene by the modularity, two iterations, as is the default."""
    import igraph
    import leidenalg

    graph = igraph.Graph(n=int(edges.max()) + 1, edges=edges)
    made = (
        leidenalg.find_partition(graph, leidenalg.ModularityVertexPartition, seed=seed)
        for seed in range(seeds)
    )
    return np.asarray(max(made, key=lambda partition: partition.quality()).membership)


def networkit(edges: Any, _: int) -> Any:
    """The community of every gene by NetworKit's parallel Leiden."""
    import networkit

    networkit.setNumberOfThreads(THREADS)
    columns = tuple(np.ascontiguousarray(edges[:, side], dtype=np.uint64) for side in (0, 1))
    graph = networkit.GraphFromCoo(columns, n=int(edges.max()) + 1)
    algorithm = networkit.community.ParallelLeiden(graph)
    algorithm.run()
    return np.asarray(algorithm.getPartition().getVector())


def main(words: Sequence[str]) -> int:
    """Find communities and write them."""
    name, path, folder, *seeds = words
    edges = edges_of(Path(path))
    find = {"leidenalg": leidenalg, "networkit": networkit}[name]
    communities = find(edges, int(seeds[0]) if seeds else 1)
    genes = np.unique(edges)
    table = np.column_stack([genes + 1, communities[genes]])
    np.savetxt(Path(folder) / "communities.tsv", table, fmt="%d", delimiter="\t")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
