"""Names of engines, for those that must not import one."""

from __future__ import annotations

ON_SEVERAL_MACHINES = frozenset({"spark", "spark-scala", "mpi", "dask", "hadoop"})
"""Engines that can run on several machines."""
