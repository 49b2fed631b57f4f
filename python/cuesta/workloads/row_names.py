"""Edge lists with names of rows, as R's `write.table` makes them by default."""

from __future__ import annotations

import csv

from cuesta.errors import InputError
from cuesta.native import native_module

HEAD_BYTES = 64 << 10
LINES_MAX = 20
"""Lines that are looked at."""


def check(path: str) -> None:
    """Check that lines of a list have no name that the header lacks, so that columns are shifted.

    A matrix has such names too; an edge has two names that are no numbers, and a number.
    Errors: `InputError`.
    """
    try:
        head: bytes = native_module().UnpackedFile(path).read(HEAD_BYTES)
        lines = head.decode().splitlines()
    except (OSError, ValueError, InputError):
        return  # The kernel reports the error.
    lines = lines[: LINES_MAX + 1] if len(head) < HEAD_BYTES else lines[:-1][: LINES_MAX + 1]
    for delimiter in ("\t", ";", ",", " "):
        header, *rows = [_fields(line, delimiter) for line in lines] or [[]]
        if rows and len(header) >= 3 and all(_is_shifted(header, row) for row in rows):
            raise InputError(
                f"{path}, line 2: has a name of the row, which its header ({', '.join(header)}) "
                "lacks; write it without: write.table(..., row.names = FALSE)"
            )


def _fields(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def _is_shifted(header: list[str], row: list[str]) -> bool:
    is_longer = len(row) == len(header) + 1
    return is_longer and not (_is_number(row[1]) or _is_number(row[2])) and _is_number(row[3])


def _is_number(text: str) -> bool:
    try:
        float(text.replace(",", ".", 1))
    except ValueError:
        return False
    return True
