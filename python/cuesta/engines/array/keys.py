"""64-bit keys that sort as (gene1, gene2, cluster), or in the order of space tiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cuesta.engines.array.sizes import Extents
from cuesta.engines.array.store import DIMENSIONS, Batch

Keys = NDArray[np.uint64]

_WIDTHS = (24, 24, 16)
_SHIFTS = (np.uint64(40), np.uint64(16), np.uint64(0))
"""Positions of 24, 24 and 16 bits; numbers are from 0, so that the largest fits."""

_MASKS = (np.uint64(0xFF_FFFF), np.uint64(0xFF_FFFF), np.uint64(0xFFFF))
_FIRST = np.uint64(1)


def row_keys(columns: Batch) -> Keys:
    """Return the key of each row."""
    gene1, gene2, cluster = (
        (columns[name].astype(np.uint64) - _FIRST) << shift
        for name, shift in zip(DIMENSIONS, _SHIFTS, strict=True)
    )
    keys: Keys = gene1 | gene2 | cluster
    return keys


def order_keys(columns: Batch, extents: Extents) -> Keys:
    """Return the key of each row that sorts in the order of an array with these space tiles.

    The bits of the tile's number are first, then those of the position in it.
    """
    if extents.keep_order:
        return row_keys(columns)
    numbers = [columns[name].astype(np.uint64) - _FIRST for name in DIMENSIONS]
    within = [extent.bit_length() - 1 for extent in extents.lengths]
    parts = [(number >> np.uint64(bits), width - bits)
             for number, bits, width in zip(numbers, within, _WIDTHS, strict=True)]  # fmt: skip
    parts += [(number & np.uint64((1 << bits) - 1), bits)
              for number, bits in zip(numbers, within, strict=True)]  # fmt: skip
    keys = np.zeros(len(numbers[0]), np.uint64)
    for part, bits in parts:
        keys = (keys << np.uint64(bits)) | part
    return keys


def split_keys(keys: Keys) -> list[NDArray[Any]]:
    """Return gene1, gene2 and cluster of each key."""
    return [((keys >> shift) & mask) + _FIRST for shift, mask in zip(_SHIFTS, _MASKS, strict=True)]
