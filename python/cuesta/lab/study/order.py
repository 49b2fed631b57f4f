"""In which order combinations are run: each repeat of all of them in an order of its own.

What changes in a machine with time then touches all combinations alike.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from cuesta.lab.stats import CONFIDENCE, median_interval
from cuesta.lab.study.cells import Combination

TIGHT_LEAST = 3
"""Repeats of every combination, however tight they are."""


def rounds(
    combined: Sequence[Combination],
    repeats: int,
    seed: int,
    is_done: Callable[[Combination], bool],
) -> Iterator[tuple[Combination, int]]:
    """Combination and number of the repeat, from 1, until `repeats` or `is_done`."""
    for repeat in range(1, repeats + 1):
        shuffled = list(combined)
        random.Random(f"{seed} {repeat}").shuffle(shuffled)
        for one in shuffled:
            if not is_done(one):
                yield one, repeat


def is_tight(samples: Sequence[float], tight: float | None) -> bool:
    """Whether half the interval of the median is below that part of the median."""
    if tight is None or len(samples) < TIGHT_LEAST:
        return False
    found = median_interval(samples)
    if found.confidence < CONFIDENCE:
        return False
    return (found.high - found.low) / 2 < tight * found.median
