"""Facts missing in the table of published phase times, from its papers and programs."""

from __future__ import annotations

BLOCK_BYTES = 24 * 2**20
"""A block of the dataflow: 2**20 vectors of three doubles."""

HEAPS_BYTES = {"spark-scala": 128 * 2**30, "spark-python": 32 * 2**30}
"""Heap of the executor on each node, by engine: they differ, so that the two engines are not
compared under equal terms. A column `heap_gib` overrides it."""

MACHINES = frozenset({"cooley", "theta"})
"""Machines for which `HEAPS_BYTES` is known."""

LAUNCHING = ("spark", "dask", "hadoop")
"""Prefixes of engines whose leader starts tasks one after the other; a stage has one task
for each core unless a column `tasks` overrides it."""


def cache_bytes(heap_bytes: float) -> float:
    """Memory of a Spark executor for cached data and execution together, in bytes.

    0.6 of the heap without 300 MiB, Spark's `spark.memory.fraction` and its reserve.
    """
    return max(0.0, 0.6 * (heap_bytes - 0.3 * 2**30))
