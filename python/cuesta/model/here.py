"""Choices on the machine that runs were made on: engines and their settings, from the runs alone.

Each setting that was run is a choice. Its time grows with the input as a start and a part for each
byte; with one size only, what the record calls start is the start.
"""

from __future__ import annotations

import json
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from cuesta.errors import InputError
from cuesta.lab import record as records
from cuesta.model.candidates import NOISE
from cuesta.model.choices import SURE, Choice, Range
from cuesta.model.records import record_files

BEYOND = 30.0
"""How many times the largest input of a setting a question may be."""
DOUBLING = 0.05
"""Relative error for each doubling of the input beyond the largest."""
APART = 1.5
"""Sizes that differ by less are one: a line through them would say nothing."""
ONE_SIZE = 0.15
"""More of it for each doubling where only one size was run."""


@dataclass(frozen=True, kw_only=True)
class _Sized:
    size_bytes: float
    seconds: float
    start: float


def choices(workload: str, size_bytes: float, paths: Sequence[Path]) -> list[Choice]:
    """One for each setting of the runs of that workload.

    Errors: `InputError` where there are no runs of it, and for no input.
    """
    if size_bytes <= 0:
        raise InputError("advise: --input-size is 0; give the bytes of the input, as 452GB")
    groups: dict[tuple[str, str, int], list[_Sized]] = defaultdict(list)
    others = set()
    for path in paths:
        for file in record_files(path):
            record = records.read(file)
            if record["workload"] != workload:
                others.add(record["workload"])
            elif record["verified"] is not False:
                groups[_setting(record)].append(_sized(file, record))
    if not groups:
        there = f"; there is {', '.join(sorted(others))}" if others else ""
        raise InputError(f"advise: no run of {workload} in what --runs names{there}")
    return [_choice(setting, runs, size_bytes) for setting, runs in sorted(groups.items())]


def _setting(record: Mapping[str, Any]) -> tuple[str, str, int]:
    """Engine, its settings in words, and cores."""
    cores = int(record["threads"] or record["machine"].get("cores_usable") or 1)
    words = [f"{cores} cores"]
    if record["memory_bytes"]:
        words.append(f"{record['memory_bytes'] / 2**30:.3g} GiB")
    words += [f"{name} {value}" for name, value in sorted(record["engine_options"].items())]
    kept = {n: v for n, v in record["parameters"].items() if n != "seed"}
    words.append(json.dumps(kept, sort_keys=True)) if kept else None
    return str(record["engine"]), ", ".join(words), cores


def _sized(file: Path, record: Mapping[str, Any]) -> _Sized:
    size = float(sum(one["bytes"] for one in record["inputs"]))
    if not size:
        raise InputError(f"{file}: its run has no input, so that bytes say nothing of it")
    start = sum(one["seconds"] for one in record["phases"] if one["name"] == "start")
    seconds = float(record["statistics"]["wall_seconds"]["median"])
    return _Sized(size_bytes=size, seconds=seconds, start=min(start, seconds))


def _choice(setting: tuple[str, str, int], runs: Sequence[_Sized], size: float) -> Choice:
    engine, words, cores = setting
    largest = max(one.size_bytes for one in runs)
    bare: dict[str, Any] = {
        "machine": words, "engine": engine, "nodes": 1, "cores": cores
    }  # fmt: skip
    if size > BEYOND * largest:
        return Choice(
            **bare,
            refused=f"its largest run had {largest / 1e9:.3g} GB; measure at least"
            f" {size / BEYOND / 1e9:.3g} GB",
        )
    start, per_byte, error = _line(runs)
    doublings = max(0.0, math.log2(size / largest))
    sizes = len({one.size_bytes for one in runs})
    is_apart = largest >= APART * min(one.size_bytes for one in runs)
    spread = SURE * math.hypot(error, (DOUBLING if is_apart else ONE_SIZE) * doublings)
    value = start + per_byte * size
    return Choice(
        **bare,
        seconds=Range(value=value, low=value * math.exp(-spread), high=value * math.exp(spread)),
        limit="",
        steps=(
            f"{start:.3g} s + {per_byte * 1e9:.3g} s/GB x {size / 1e9:.4g} GB = {value:.4g} s,"
            f" from {len(runs)} runs of {sizes} sizes up to {largest / 1e9:.3g} GB",
        ),
    )


def _line(runs: Sequence[_Sized]) -> tuple[float, float, float]:
    """Start, seconds for a byte, and relative error; neither of the first two is negative."""
    import numpy as np

    from cuesta.model.laws import nonnegative

    sizes = [one.size_bytes for one in runs]
    if max(sizes) < APART * min(sizes):
        seconds = median(one.seconds for one in runs)
        start = median(one.start for one in runs)
        return start, (seconds - start) / median(sizes), NOISE
    times = np.array([one.seconds for one in runs])
    design = np.array([[1.0, one.size_bytes / 1e9] for one in runs]) / times[:, None]
    start, per_gigabyte = (float(one) for one in nonnegative(design, np.ones(len(runs))))
    residuals = design @ np.array([start, per_gigabyte]) - 1
    return start, per_gigabyte / 1e9, max(NOISE, float(np.sqrt((residuals**2).mean())))
