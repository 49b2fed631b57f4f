"""Power of the input size with which the work of a workload grows."""

from __future__ import annotations

PAIRS = 2
"""Power of workloads that look at all pairs of rows of equal length."""
_POWERS = {"correlate": PAIRS}


def power(workload: str) -> int:
    """Return the power of a workload; 1 if it passes over its input."""
    return _POWERS.get(workload, 1)
