"""Rows of numbers as lines of text, many at a time.

Each column adds a block of characters of equal width, and a mask of those that are used; the used
characters of all blocks, side by side, are the lines.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cuesta.engines.array.filters import MICRO, NAN
from cuesta.engines.array.sizes import CHUNK_ROWS

Numbers = NDArray[Any]
Characters = NDArray[np.uint8]
Present = NDArray[np.bool_]


class Lines:
    """The lines of `rows` rows, built from left to right."""

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._characters: list[Characters] = []
        self._present: list[Present] = []

    def text(self, characters: bytes) -> None:
        """Add the same text to each row."""
        row = np.frombuffer(characters, np.uint8)
        self._add(np.broadcast_to(row, (self._rows, len(row))), None)

    def words(self, words: Iterable[bytes], choice: Numbers) -> None:
        """Add to each row the word that `choice` indexes, from 0."""
        table = np.array(list(words), "S")
        characters = table.view(np.uint8).reshape(len(table), -1)[choice]
        self._add(characters, characters != 0)

    def integers(self, values: Numbers) -> None:
        """Add decimal integers, not negative."""
        width = len(str(int(values.max(initial=0))))
        self._add(_digits(values, width), _leading(values, width))

    def scores(self, values: Numbers, present: Present | None = None) -> None:
        """Add millionths with six decimals, or `nan`; nothing where `present` is false."""
        size = np.abs(values.astype(np.int64))
        missing = values == NAN
        size[missing] = 0
        units, places = np.divmod(size, MICRO)
        width = len(str(int(units.max(initial=0))))
        characters = np.empty((self._rows, width + 8), np.uint8)
        characters[:, 0] = ord("-")
        characters[:, 1 : width + 1] = _digits(units, width)
        characters[:, width + 1] = ord(".")
        characters[:, width + 2 :] = _digits(places, 6)
        keep = np.ones(characters.shape, np.bool_)
        keep[:, 0] = values < 0
        keep[:, 1 : width + 1] = _leading(units, width)
        if missing.any():
            characters[missing, -3:] = np.frombuffer(b"nan", np.uint8)
            keep[missing, :-3] = False
        if present is not None:
            keep &= present[:, None]
        self._add(characters, keep)

    def finish(self) -> bytes:
        """Return all lines; each column must have its own separator at the end."""
        characters = np.concatenate(self._characters, axis=1)
        return characters[np.concatenate(self._present, axis=1)].tobytes()

    def _add(self, characters: Characters, present: Present | None) -> None:
        self._characters.append(characters)
        everywhere = np.broadcast_to(np.True_, characters.shape)
        self._present.append(everywhere if present is None else present)


def write_table(path: Path, header: bytes, columns: list[Numbers]) -> int:
    """Write integer columns as a tab-separated file; return its bytes."""
    rows = len(columns[0])
    with path.open("wb") as file:
        file.write(header)
        for start in range(0, rows, CHUNK_ROWS):
            stop = min(start + CHUNK_ROWS, rows)
            lines = Lines(stop - start)
            for index, column in enumerate(columns):
                lines.text(b"\t" * (index > 0))
                lines.integers(column[start:stop])
            lines.text(b"\n")
            file.write(lines.finish())
        return file.tell()


def _digits(values: Numbers, width: int) -> Characters:
    """Return the last `width` digits of each value, including leading zeros."""
    fours = -(-width // 4)
    groups = np.empty((len(values), fours), "<u4")
    rest = values
    for place in reversed(range(fours)):
        rest, low = np.divmod(rest, 10_000)
        groups[:, place] = _four_digits()[low]
    return groups.view(np.uint8)[:, 4 * fours - width :]


def _leading(values: Numbers, width: int) -> Present:
    """Mask the leading zeros of `width` digits of each value; the last digit always counts."""
    powers = [10**place for place in range(width - 1, 0, -1)]
    least: Numbers = np.array([*powers, 0], np.int64).astype(values.dtype)
    counts: Present = values[:, None] >= least
    return counts


@cache
def _four_digits() -> NDArray[np.uint32]:
    """Return the four characters of 0000 to 9999, each as one number."""
    numbers = np.arange(10_000)[:, None] // np.array([1000, 100, 10, 1]) % 10
    characters = (numbers + ord("0")).astype(np.uint8)
    words: NDArray[np.uint32] = characters.view("<u4").reshape(-1)
    return words
