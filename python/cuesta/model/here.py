"""Choices among runs that were made: engines, their settings and where they ran.

Each setting that was run (`setting`) is a choice. Its time grows with the input as a start and a
part for each byte, or each pair of them where a workload looks at all pairs of rows; with one size
only, what the record calls start is the start.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from cuesta.errors import InputError
from cuesta.lab import record as records
from cuesta.model.candidates import NOISE
from cuesta.model.choices import SURE, Choice, Range
from cuesta.model.growth import power
from cuesta.model.records import record_files
from cuesta.model.setting import SYSTEM, Setting, setting
from cuesta.units import format_bytes_si, format_count

BEYOND = 30.0
"""How many times larger than the largest input of a setting, or smaller than the smallest, that of
a question may be."""
DOUBLING = 0.05
"""Relative error for each doubling of the input beyond the largest, or halving of the smallest."""
APART = 1.5
"""Sizes that differ by less are one: a line through them would say nothing."""
ONE_SIZE = 0.15
"""More of it for each doubling where only one size was run."""


@dataclass(frozen=True, kw_only=True)
class _Sized:
    file: str
    size_bytes: float
    seconds: float
    start: float


def choices(workload: str, size_bytes: float, paths: Sequence[Path]) -> list[Choice]:
    """One for each setting of the runs of that workload.

    Errors: `InputError` where there are no runs of it, and for no input.
    """
    if size_bytes <= 0:
        raise InputError("advise: --input-size is 0; give the bytes of the input, as 452GB")
    groups: dict[Setting, list[_Sized]] = defaultdict(list)
    others = set()
    for path in paths:
        for file in record_files(path):
            record = records.read(file)
            if record["workload"] != workload:
                others.add(record["workload"])
            elif record["verified"] is not False:
                groups[setting(record)].append(_sized(file, record))
    if not groups:
        there = f"; there is {', '.join(sorted(others))}" if others else ""
        raise InputError(f"advise: no run of {workload} in what --runs names{there}")
    named = _named(sorted(groups))
    return [_choice(one, named[one], groups[one], size_bytes) for one in named]


def _named(settings: Sequence[Setting]) -> dict[Setting, str]:
    """The words of each setting, and those of its place in which not all settings agree."""
    places = [dict(_place(one)) for one in settings]
    names = list(dict.fromkeys(name for place in places for name in place))
    apart = [name for name in names if len({place.get(name) for place in places}) > 1]
    return {
        one: ", ".join([_words(one), *(place.get(name, f"no {name}") for name in apart)])
        for one, place in zip(settings, places, strict=True)
    }


def _words(one: Setting) -> str:
    """Cores, memory, options and parameters."""
    each = format_count(one.cores_per_node, "core")
    words = [each if one.nodes == 1 else f"{one.nodes} nodes with {each} each"]
    if one.memory_bytes:
        words.append(f"{one.memory_bytes / 2**30:.3g} GiB")
    return ", ".join([*words, *one.options, *([one.parameters] if one.parameters else [])])


def _place(one: Setting) -> Iterator[tuple[str, str]]:
    """By name what the machine of a run was and was held to, in words."""
    for name, text in one.place:
        words = f"{name} {text}"
        if name == "machine":
            words = f"on {text}"
        elif name.startswith(SYSTEM):
            words = f"{name.removeprefix(SYSTEM)} on {text}"
        yield name, words
    yield from ((name, f"{name} {value}") for name, value in one.factors)


def _sized(file: Path, record: Mapping[str, Any]) -> _Sized:
    size = float(sum(one["bytes"] for one in record["inputs"]))
    if not size:
        raise InputError(f"{file}: its run has no input, so that bytes say nothing of it")
    start = sum(one["seconds"] for one in record["phases"] if one["name"] == "start")
    seconds = float(record["statistics"]["wall_seconds"]["median"])
    return _Sized(file=str(file), size_bytes=size, seconds=seconds, start=min(start, seconds))


def _choice(one: Setting, name: str, runs: Sequence[_Sized], size: float) -> Choice:
    sized = [one.size_bytes for one in runs]
    smallest, largest = min(sized), max(sized)
    bare: dict[str, Any] = {
        "machine": name, "engine": one.engine, "nodes": one.nodes, "cores": one.cores,
        "runs": tuple(run.file for run in runs),
    }  # fmt: skip
    if size > BEYOND * largest:
        return Choice(
            **bare,
            refused=f"its largest run had {format_bytes_si(largest)}; measure at least"
            f" {format_bytes_si(size / BEYOND)}",
        )
    if size < smallest / BEYOND:
        return Choice(
            **bare,
            refused=f"its smallest run had {format_bytes_si(smallest)}; measure at most"
            f" {format_bytes_si(size * BEYOND)}",
        )
    exponent = power(one.workload)
    start, growth, error = _line(runs, exponent, size)
    doublings = math.log2(max(1.0, size / largest, smallest / size))
    sizes = len(set(sized))
    is_apart = largest >= APART * smallest
    spread = SURE * math.hypot(error, (DOUBLING if is_apart else ONE_SIZE) * doublings)
    value = start + growth * (size / 1e9) ** exponent
    square = f"^{exponent}" if exponent > 1 else ""
    return Choice(
        **bare,
        seconds=Range(value=value, low=value * math.exp(-spread), high=value * math.exp(spread)),
        limit="",
        steps=(
            f"{start:.3g} s + {growth:.3g} s/GB{square} x {_power(size, square)} = {value:.4g} s,"
            f" from {format_count(len(runs), 'run')} of {_sizes(sizes, smallest, largest)}",
        ),
    )


def _sizes(count: int, smallest: float, largest: float) -> str:
    """How many sizes, and which."""
    if count == 1:
        return f"one size, {format_bytes_si(largest)}"
    return f"{count} sizes, {format_bytes_si(smallest)} to {format_bytes_si(largest)}"


def _power(size: float, square: str) -> str:
    """The size, with the power that it has."""
    return f"({size / 1e9:.4g} GB){square}" if square else f"{size / 1e9:.4g} GB"


def _line(runs: Sequence[_Sized], exponent: int, asked: float) -> tuple[float, float, float]:
    """Start, seconds for a power of GB, and relative error at a size; no time is negative.

    Where starts take most of all times, their noise is much of what runs differ by, so that a line
    through them is far off at a size that is much larger: the error counts that.
    """
    import numpy as np

    from cuesta.model.laws import nonnegative

    sizes = [one.size_bytes for one in runs]
    if max(sizes) < APART * min(sizes):
        seconds = median(one.seconds for one in runs)
        start = median(one.start for one in runs)
        return start, (seconds - start) / (median(sizes) / 1e9) ** exponent, NOISE
    times = np.array([one.seconds for one in runs])
    design = np.array([[1.0, (one.size_bytes / 1e9) ** exponent] for one in runs]) / times[:, None]
    start, growth = (float(one) for one in nonnegative(design, np.ones(len(runs))))
    residuals = design @ np.array([start, growth]) - 1
    noise = max(NOISE, float(np.sqrt((residuals**2).mean())))
    at = np.array([1.0, (asked / 1e9) ** exponent])
    drift = float(np.sqrt(at @ np.linalg.inv(design.T @ design) @ at)) / (start + growth * at[1])
    return start, growth, noise * math.hypot(1.0, drift)
