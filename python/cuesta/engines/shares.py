"""Division of a number of items among parts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

Share = tuple[int, int]
"""A range: first item, and count."""


def share_of(count: int, index: int, parts: int) -> Share:
    """Return share `index` of `parts`, which differ by at most one item; some may be empty."""
    first, end = index * count // parts, (index + 1) * count // parts
    return first, end - first


@dataclass(frozen=True, kw_only=True)
class FileShare:
    """Consecutive items of files.

    Attributes
    ----------
    inputs
        The files that contain items of the share.
    base
        Number of the first item in these files.
    first, count
        First item of the share within these files, and number of items.
    """

    inputs: tuple[str, ...]
    base: int
    first: int
    count: int


def file_share(files: Iterable[tuple[str, int]], first: int, count: int) -> FileShare:
    """Return the share of `count` items from number `first` on; `files` has the count of each."""
    inputs: list[str] = []
    base = number = 0
    for path, items in files:
        if number < first + count and number + items > first:
            base = base if inputs else number
            inputs.append(path)
        number += items
    return FileShare(inputs=tuple(inputs), base=base, first=first - base, count=count)
