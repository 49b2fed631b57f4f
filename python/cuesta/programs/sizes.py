"""Parts of an input, so that programs are timed at several sizes of real data.

The largest size is the complete input; a smaller one is its first rows, in the same format.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

from cuesta.errors import InputError
from cuesta.programs.answers import formats

SIZES_MAX = 20


def parse(text: str) -> tuple[Fraction, ...]:
    """Read sizes such as `1,2,4` as parts of the largest. Errors: `InputError`."""
    try:
        sizes = [Fraction(word.strip()) for word in text.split(",")]
    except (ValueError, ZeroDivisionError):
        sizes = []
    if not sizes or min(sizes) <= 0 or len(set(sizes)) < len(sizes) or len(sizes) > SIZES_MAX:
        raise InputError(
            f"--sizes is {text!r}, give up to {SIZES_MAX} different positive numbers, such as 1,2,4"
        )
    return tuple(sorted(size / max(sizes) for size in sizes))


def shown(part: Fraction) -> str:
    """A part as a short text: `1`, `1/4`."""
    return str(part)


def write_part(source: Path, target: Path, part: Fraction) -> None:
    """Write the first rows of an input. Errors: `InputError` for a format that has no rows."""
    kind = formats.kind_of(source.name)
    if kind in (formats.PARQUET, formats.ARROW):
        formats.check_readable(kind)
        _write_arrow(source, target, part)
    elif kind == formats.NUMPY:
        formats.check_readable(kind)
        _write_array(source, target, part)
    else:
        _write_lines(source, target, part, has_header=kind in (formats.CSV, formats.TSV))


def _write_lines(source: Path, target: Path, part: Fraction, *, has_header: bool) -> None:
    if source.suffix.lower() in (".gz", ".zst", ".bz2", ".xz"):
        raise InputError(f"--sizes: {source} is compressed; give the file without compression")
    with source.open("rb") as file:
        if b"\0" in file.read(1 << 16):
            raise InputError(
                f"--sizes: {source} is no text, Parquet, Arrow or NumPy file, so it has no rows to "
                "take a part of; give files of each size in commands of their own"
            )
        file.seek(0)
        lines = sum(1 for _ in file)
        head = 1 if has_header and lines else 0
        count = head + _rows(lines - head, part)
        file.seek(0)
        with target.open("wb") as output:
            for _ in range(count):
                output.write(file.readline())


def _write_arrow(source: Path, target: Path, part: Fraction) -> None:
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.parquet

    try:
        if formats.kind_of(source.name) == formats.PARQUET:
            table = pyarrow.parquet.read_table(source)
            pyarrow.parquet.write_table(table.slice(0, _rows(len(table), part)), target)
        else:
            table = pyarrow.feather.read_table(source)
            pyarrow.feather.write_feather(table.slice(0, _rows(len(table), part)), target)
    except pa.ArrowException as error:
        raise InputError(
            f"--input {source}: {str(error).partition(os.linesep)[0]}; give a whole file"
        ) from None


def _write_array(source: Path, target: Path, part: Fraction) -> None:
    import numpy as np

    try:
        array = np.load(source, mmap_mode="r", allow_pickle=False)
        count = _rows(len(array), part)
    except (ValueError, TypeError, EOFError) as error:
        raise InputError(
            f"--input {source}: not an array with rows: {error}; give one, or text"
        ) from None
    with target.open("wb") as output:
        np.save(output, array[:count])


def _rows(count: int, part: Fraction) -> int:
    return max(1, round(count * part)) if count else 0


def check(source: Path, sizes: Sequence[Fraction]) -> None:
    """Refuse sizes of a folder. Errors: `InputError`."""
    if len(sizes) > 1 and source.is_dir():
        raise InputError(f"--sizes: {source} is a folder; give one file")
