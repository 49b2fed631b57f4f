"""Answers of NumPy: a structured array is a table, any other array has its places as rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from cuesta.errors import in_words
from cuesta.programs.answers.cells import Row
from cuesta.programs.answers.tables import Form, Table, UnreadableAnswer, numbered
from cuesta.programs.answers.text import plain

BATCH_ROWS = 1 << 14


def numpy_file(files: Sequence[Path], _form: Form) -> Table:
    """Rows of `.npy` files. Errors: `UnreadableAnswer`."""
    import numpy as np

    arrays = []
    for file in files:
        try:
            arrays.append(np.load(file, mmap_mode="r", allow_pickle=False))
        except OSError as error:
            raise UnreadableAnswer(f"{file.name}: {in_words(error)}") from None
        except (ValueError, EOFError):
            raise UnreadableAnswer(
                f"{file.name} is no array of NumPy without Python objects; write it by numpy.save, "
                "or name its --format"
            ) from None
    shapes = {array.shape[1:] for array in arrays} | {array.dtype.names for array in arrays}
    if len(shapes) > 2:
        raise UnreadableAnswer("its arrays have different shapes")
    return of_arrays(arrays)


def of_arrays(arrays: Sequence[Any]) -> Table:
    """A table of arrays after each other, all of the same shape but for the first axis."""
    first = arrays[0]
    names = first.dtype.names
    if names:
        columns = tuple(names)
    elif first.ndim <= 1:
        columns = ("value",)
    else:
        width = 1
        for length in first.shape[1:]:
            width *= length
        columns = numbered(width)

    def rows() -> Iterator[Row]:
        for array in arrays:
            if not array.size:
                continue
            flat = array if names else array.reshape(len(array) if array.ndim else 1, -1)
            for begin in range(0, len(flat), BATCH_ROWS):
                for row in flat[begin : begin + BATCH_ROWS].tolist():
                    yield tuple([plain(value) for value in row])

    is_table = bool(names)
    return Table(columns=columns, is_named=is_table, is_ordered=not is_table, rows=rows)
