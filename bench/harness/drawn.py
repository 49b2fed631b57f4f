"""Results of studies that were never run: samples like those of machines, drawn by seed."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

DRIFT_OF_A_RUN = 0.007
"""Deviation of a run's drift: the ratio of two such runs drifts by 0.01."""

Noise = Callable[[random.Random, int], list[float]]
"""Samples of a number of repeats of a run, about 1."""


def result(
    samples: Mapping[str, Sequence[float]], *, turn: int | None = None, **more: Any
) -> dict[str, Any]:
    """A result with a combination for each name, whose `work` took these seconds.

    Two whose `turn` is 0 and 1 were run by turns.
    """
    return {
        "schema": "cuesta.study/2",
        "name": "drawn",
        "smoke": False,
        "file": {"workload": "scan"},
        "machine": {"cpu": "drawn", "cores": 2, "cores_usable": 2},
        "cells": [
            {
                "levels": {"size": name},
                "runs": [f"runs/{name}/{repeat}" for repeat in range(1, len(seconds) + 1)],
                "digest": "0" * 32,
                "left_out": None,
                "failed": [],
                "measures": {"work": list(seconds)},
                "started": [] if turn is None else _started(len(seconds), turn),
            }
            for name, seconds in samples.items()
        ],
        **more,
    }


def _started(repeats: int, turn: int) -> list[str]:
    """Two results a minute."""
    first = datetime(2026, 1, 1, tzinfo=UTC)
    times = [first + timedelta(seconds=60 * repeat + 30 * turn) for repeat in range(repeats)]
    return [f"{time:%Y-%m-%dT%H:%M:%SZ}" for time in times]


def log_normal(deviation: float) -> Noise:
    """Skewed a little to the right."""
    return lambda source, count: [math.exp(source.gauss(0, deviation)) for _ in range(count)]


def skewed(deviation: float) -> Noise:
    """A floor, and a tail to the right: gamma of shape 2."""
    scale = deviation / math.sqrt(2)

    def draw(source: random.Random, count: int) -> list[float]:
        return [1 + scale * (source.gammavariate(2, 1) - 2) for _ in range(count)]

    return draw


def spiked(deviation: float) -> Noise:
    """Each twentieth repeat is disturbed and takes a tenth to four tenths longer."""

    def draw(source: random.Random, count: int) -> list[float]:
        spikes = [source.uniform(0.1, 0.4) * (source.random() < 0.05) for _ in range(count)]
        return [math.exp(source.gauss(0, deviation)) + spike for spike in spikes]

    return draw


def wandering(deviation: float) -> Noise:
    """A part of the noise drifts slowly, so that a repeat resembles the one before."""

    def draw(source: random.Random, count: int) -> list[float]:
        slow, fast = deviation / 2, deviation * math.sqrt(3) / 2
        level, found = source.gauss(0, slow), []
        for _ in range(count):
            level = 0.5 * level + math.sqrt(0.75) * source.gauss(0, slow)
            found.append(math.exp(level + source.gauss(0, fast)))
        return found

    return draw


def drawn(
    source: random.Random, noises: Sequence[Noise], repeats: int, slower: Mapping[int, float]
) -> dict[str, Any]:
    """A result of one run: a drift of the run, and combinations some of which are slower."""
    drift = math.exp(source.gauss(0, DRIFT_OF_A_RUN))
    seconds = {
        str(index): [
            (index + 1) * drift * slower.get(index, 1.0) * factor
            for factor in noise(source, repeats)
        ]
        for index, noise in enumerate(noises)
    }
    return result(seconds)
