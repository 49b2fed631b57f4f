"""Dividing a count of things among parts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

Share = tuple[int, int]
"""A range: the first, and how many."""


def share_of(count: int, index: int, parts: int) -> Share:
    """Share `index` of `parts`, as even as they can be; some may be empty."""
    first, end = index * count // parts, (index + 1) * count // parts
    return first, end - first


@dataclass(frozen=True, kw_only=True)
class FileShare:
    """Things of files that are next to each other.

    Attributes
    ----------
    inputs
        The files that they are in, and no others.
    base
        Number of the first thing in these files.
    first, count
        The first one within these files, and how many there are.
    """

    inputs: tuple[str, ...]
    base: int
    first: int
    count: int


def file_share(files: Iterable[tuple[str, int]], first: int, count: int) -> FileShare:
    """Things from number `first` on of `files`, each of which has so many."""
    inputs: list[str] = []
    base = number = 0
    for path, things in files:
        if number < first + count and number + things > first:
            base = base if inputs else number
            inputs.append(path)
        number += things
    return FileShare(inputs=tuple(inputs), base=base, first=first - base, count=count)
