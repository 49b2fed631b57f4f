"""Order of the runs of a study: each repeat of all combinations is shuffled anew.

Changes of the machine over time then affect all combinations alike.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence

from cuesta.lab.stats import CONFIDENCE, median_interval
from cuesta_lab.study.cells import Combination

TIGHT_LEAST = 3
"""Least repeats of a combination, however tight its interval is."""


def rounds(
    combined: Sequence[Combination],
    repeats: int,
    seed: int,
    is_done: Callable[[Combination], bool],
) -> Iterator[tuple[Combination, int]]:
    """Yield combinations with the number of the repeat, from 1, until `repeats` or `is_done`."""
    for repeat in range(1, repeats + 1):
        shuffled = list(combined)
        random.Random(f"{seed} {repeat}").shuffle(shuffled)
        for combination in shuffled:
            if not is_done(combination):
                yield combination, repeat


def is_tight(samples: Sequence[float], tight: float | None) -> bool:
    """Whether half the interval of the median is below the part `tight` of the median."""
    if tight is None or len(samples) < TIGHT_LEAST:
        return False
    estimate = median_interval(samples)
    if estimate.confidence < CONFIDENCE:
        return False
    return (estimate.high - estimate.low) / 2 < tight * estimate.median
