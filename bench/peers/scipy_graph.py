"""SciPy: connected components of an edge list in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components


def components(genes1: Any, genes2: Any) -> Any:
    """The component of every gene from 0 on, numbered as SciPy does."""
    count = int(max(genes1.max(), genes2.max())) + 1
    ones = np.ones(len(genes1), dtype=np.int8)
    graph = coo_array((ones, (genes1, genes2)), shape=(count, count))
    return connected_components(graph, directed=False)[1]
