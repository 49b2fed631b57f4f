"""64-bit keys that sort as (gene1, gene2, cluster)."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cuesta.engines.array.store import DIMENSIONS, Batch

Keys = NDArray[np.uint64]

_SHIFTS = (np.uint64(40), np.uint64(16), np.uint64(0))
"""24, 24 and 16 bits; each number is counted from 0, so that the largest one fits."""

_MASKS = (np.uint64(0xFF_FFFF), np.uint64(0xFF_FFFF), np.uint64(0xFFFF))
_ONE = np.uint64(1)


def row_keys(columns: Batch) -> Keys:
    """The key of each row."""
    gene1, gene2, cluster = (
        (columns[name].astype(np.uint64) - _ONE) << shift
        for name, shift in zip(DIMENSIONS, _SHIFTS, strict=True)
    )
    keys: Keys = gene1 | gene2 | cluster
    return keys


def split_keys(keys: Keys) -> list[NDArray[Any]]:
    """gene1, gene2 and cluster of each key."""
    return [((keys >> shift) & mask) + _ONE for shift, mask in zip(_SHIFTS, _MASKS, strict=True)]
