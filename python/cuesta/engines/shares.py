"""Dividing a count of things among parts."""

from __future__ import annotations

Share = tuple[int, int]
"""A range: the first, and how many."""


def share_of(count: int, index: int, parts: int) -> Share:
    """Share `index` of `parts`, as even as they can be; some may be empty."""
    first, end = index * count // parts, (index + 1) * count // parts
    return first, end - first
