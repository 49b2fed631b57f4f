"""With which power of the bytes of its input the work of a workload grows."""

from __future__ import annotations

PAIRS = 2
"""Of workloads that look at all pairs of rows, where rows are equally long."""
_POWERS = {"correlate": PAIRS}


def power(workload: str) -> int:
    """1 for what goes over its input."""
    return _POWERS.get(workload, 1)
