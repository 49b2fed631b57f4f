"""What the table of published phase times leaves out, from the papers and programs behind it."""

from __future__ import annotations

BLOCK_BYTES = 24 * 2**20
"""A block of the dataflow: 2**20 vectors of three doubles."""

HEAPS_BYTES = {"spark-scala": 128 * 2**30, "spark-python": 32 * 2**30}
"""Heap of an executor, one on each node, by engine: they differ, so that the two engines are not
compared under equal terms. A column `heap_gib` says otherwise."""

MACHINES = frozenset({"cooley", "theta"})
"""Where `HEAPS_BYTES` is known."""

LAUNCHING = ("spark", "dask", "hadoop")
"""How names of engines begin whose leader starts tasks one after the other; a stage has one task
for each core unless a column `tasks` says otherwise."""


def cache_bytes(heap_bytes: float) -> float:
    """Memory that a Spark executor has for cached data and for its work together.

    0.6 of the heap without 300 MiB, Spark's `spark.memory.fraction` and its reserve.
    """
    return max(0.0, 0.6 * (heap_bytes - 0.3 * 2**30))
