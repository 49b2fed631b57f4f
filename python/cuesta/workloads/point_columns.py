"""Check of `--columns` for points: in the order of each file, once each, and of a table.

The kernels read columns in the order of the file and number them so in `centres.tsv`: another order
would give coordinates other numbers than a user expects.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import IO

from cuesta.errors import InputError
from cuesta.native import native_module
from cuesta.trial import is_stored

HEADER_BYTES = 1 << 20
"""Bytes from the start of a text in which its names of columns are looked for."""

_ARRAY = b"\x93NUMPY"
_DELIMITERS = ("\t", ",", ";", None)
_OPEN_END = 1 << 62
"""Last column of a range without an end."""

Opened = Callable[[str], IO[bytes]]


def check(path: str, columns: str, names: Sequence[str] | None, opened: Opened) -> None:
    """Check the columns for a file of points, whose `names` are None if it is no Parquet.

    Errors: `InputError` for `.npy`, a column that comes twice, and another order.
    """
    if names is None and _starts(path, opened).startswith(_ARRAY):
        raise InputError(
            f"{path} is .npy, --columns is {columns}, which is for text and Parquet; leave it out, "
            "and save the columns alone, as by numpy.save(FILE, array[:, [0, 2]])"
        )
    items = [item for item in (part.strip() for part in columns.split(",")) if item]
    rows = [names] if names is not None else _headers(path, items, opened)
    ranges = next(
        (ends for row in rows if (ends := _ranges(items, row)) is not None),
        _ranges(items, ()),
    )
    if ranges is not None:
        _check_order(path, columns, items, ranges)


def _check_order(
    path: str, columns: str, items: Sequence[str], ranges: Sequence[tuple[int, int]]
) -> None:
    ordered = sorted(zip(ranges, items, strict=True))
    for (before, _), (after, item) in pairwise(ordered):
        if after[0] <= before[1]:
            raise InputError(
                f"{path}: --columns {columns} has column {item} twice; give each column once"
            )
    if [item for _, item in ordered] != list(items):
        in_order = shlex.quote(",".join(item for _, item in ordered))
        raise InputError(
            f"{path}: --columns {columns} is not in the order of its columns, in which they are "
            f"read and numbered; give --columns {in_order}"
        )


def _ranges(items: Sequence[str], names: Sequence[str]) -> list[tuple[int, int]] | None:
    """Return first and last number of each item; None if one is neither a name nor a number."""
    ranges = []
    for item in items:
        first, dash, last = item.partition("-")
        if item in names:
            number = names.index(item) + 1
            ranges.append((number, number))
        elif first.isdecimal() and (not last or last.isdecimal()):
            end = int(last) if last else _OPEN_END if dash else int(first)
            ranges.append((int(first), end))
        else:
            return None  # The reader reports the error.
    return ranges


def _headers(path: str, items: Sequence[str], opened: Opened) -> list[list[str]]:
    """Return the fields of lines that may name columns, by each delimiter; none for numbers."""
    if all(item.replace("-", "").isdecimal() for item in items):
        return []
    lines = _starts(path, opened).decode("utf-8-sig", "replace").splitlines()
    return [
        [field.strip().strip('"') for field in line.split(delimiter)]
        for line in lines[:2]
        for delimiter in _DELIMITERS
    ]


def _starts(path: str, opened: Opened) -> bytes:
    """Return the first bytes of a file, unpacked; none of a file that cannot be read."""
    try:
        if is_stored(path):
            with opened(path) as file:
                return file.read(HEADER_BYTES)
        start: bytes = native_module().UnpackedFile(path).read(HEADER_BYTES)
    except (OSError, ValueError, InputError):
        return b""  # The kernel reports the error.
    return start
