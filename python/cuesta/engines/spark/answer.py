"""Writes answer files: part files put together in the kernel of the system, tables by Arrow."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Column = np.ndarray[Any, np.dtype[Any]]

COPY_BYTES = 1 << 30
"""Bytes asked of the system in one call."""


def concatenate(target: Path, head: bytes, parts: Sequence[Path]) -> int:
    """Write `head` and then the parts, which are removed, to `target`; return its bytes."""
    with target.open("wb", buffering=0) as out:
        out.write(head)
        for part in parts:
            _append(out.fileno(), part)
            part.unlink()
        return out.tell()


def write_table(target: Path, names: Sequence[str], columns: Sequence[Column]) -> int:
    """Write integer columns of equal length as text with a header; return the file's bytes."""
    import pyarrow as pa
    from pyarrow import csv

    table = pa.Table.from_arrays([pa.array(column) for column in columns], names=list(names))
    options = csv.WriteOptions(include_header=False, delimiter="\t", quoting_style="none")
    with target.open("wb") as out:
        out.write(("\t".join(names) + "\n").encode())
        csv.write_csv(table, out, options)
        return out.tell()


def _append(out: int, part: Path) -> None:
    """Copy a file to where `out` stands; inside one file system no byte comes up to us."""
    source = os.open(part, os.O_RDONLY)
    try:
        rest = os.fstat(source).st_size
        copy: Callable[..., int] = os.copy_file_range
        while rest:
            try:
                copied = copy(source, out, min(rest, COPY_BYTES))
            except OSError:
                if copy is not os.copy_file_range:
                    raise
                # Not every file system, and not every pair of them, can do this.
                copy = _send
                continue
            if not copied:
                raise OSError(f"{part}: {rest} bytes are missing at its end")
            rest -= copied
    finally:
        os.close(source)


def _send(source: int, out: int, count: int) -> int:
    return os.sendfile(out, source, None, count)
