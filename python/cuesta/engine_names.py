"""Names of engines, for modules that must not import an engine."""

from __future__ import annotations

ON_SEVERAL_MACHINES = frozenset({"spark", "spark-scala", "mpi", "dask", "hadoop"})
"""Engines that can run on several machines."""
