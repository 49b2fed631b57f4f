"""NetworKit: connected components in parallel of an edge list in memory.

Built from arrays, because its reader of edge lists is slow by far.
"""

from __future__ import annotations

from typing import Any

import networkit
import numpy as np

from harness.model import THREADS


def components(genes1: Any, genes2: Any) -> Any:
    """The component of every gene from 0 on, numbered as NetworKit does."""
    networkit.setNumberOfThreads(THREADS)
    count = int(max(genes1.max(), genes2.max())) + 1
    pairs = (genes1.astype(np.uint64), genes2.astype(np.uint64))
    graph = networkit.GraphFromCoo(pairs, n=count)
    algorithm = networkit.components.ParallelConnectedComponents(graph, True)
    algorithm.run()
    return np.asarray(algorithm.getPartition().getVector())
