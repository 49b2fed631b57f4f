"""Choices among the user's runs: engines, their settings and machines.

Each setting of the runs (`setting`) is a choice. Its time is a start plus a part for each byte, or
for each pair of bytes if the workload looks at all pairs of rows. Of one size nothing says which
part of the time grows: the interval reaches from no part to all but the start of the engine. A time
is that of a run by itself, which starts its engine.
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
from cuesta.units import format_bytes_si, format_count
from cuesta_lab.model.candidates import NOISE
from cuesta_lab.model.choices import SURE, Choice, Range
from cuesta_lab.model.growth import power
from cuesta_lab.model.records import record_files
from cuesta_lab.model.setting import SYSTEM, Setting, in_words, setting

BEYOND = 30.0
"""Largest ratio of a question's input to the largest input of a setting, or of the smallest input
to the question's."""
DOUBLING = 0.05
"""Relative error for each doubling of the input beyond the largest, or halving of the smallest."""
APART = 1.5
"""Smallest ratio of the largest size to the smallest for which a line is fitted."""
ONE_SIZE = 0.15
"""Relative error for each doubling where only one size was run."""


@dataclass(frozen=True, kw_only=True)
class _Sized:
    file: str
    size_bytes: float
    seconds: float
    start: float


def choices(workload: str, size_bytes: float, paths: Sequence[Path]) -> list[Choice]:
    """Return a choice for each setting of the workload's runs.

    Errors: `InputError` if there are no such runs, and for an empty input.
    """
    if size_bytes <= 0:
        raise InputError("advise: --input-size is 0; give the bytes of the input, as 452GB")
    groups: dict[Setting, list[_Sized]] = defaultdict(list)
    other_workloads = set()
    unusable: dict[str, str] = {}
    for path in paths:
        for file in record_files(path):
            record = records.read(file)
            if record["workload"] != workload:
                other_workloads.add(record["workload"])
            elif why := _unusable(record):
                unusable[str(file)] = f"{record['engine']}: {why}"
            else:
                groups[setting(record)].append(_sized(file, record))
    if not groups and unusable:
        first, reason = next(iter(unusable.items()))
        raise InputError(f"advise: {first}: {reason}")
    if not groups:
        available = f"; there is {', '.join(sorted(other_workloads))}" if other_workloads else ""
        raise InputError(f"advise: no run of {workload} in what --runs names{available}")
    named = _named(sorted(groups))
    possible = [_choice(key, named[key], groups[key], size_bytes) for key in named]
    return [*possible, *(_refused(file, why) for file, why in unusable.items())]


def _unusable(record: Mapping[str, Any]) -> str:
    """Reason why a run says nothing of a time by size; empty if it does."""
    if record["verified"] is False:
        return "its answer is wrong, so that its time says nothing"
    if not sum(entry["bytes"] for entry in record["inputs"]):
        return "its run has no input, so that bytes say nothing of it"
    return ""


def _refused(file: str, why: str) -> Choice:
    engine, _, reason = why.partition(": ")
    return Choice(machine=file, engine=engine, nodes=1, cores=1, refused=reason, runs=(file,))


def _named(settings: Sequence[Setting]) -> dict[Setting, str]:
    """Name each setting by its words and by the parts of its place in which settings differ."""
    places = [dict(_place(run_setting)) for run_setting in settings]
    names = list(dict.fromkeys(name for place in places for name in place))
    apart = [name for name in names if len({place.get(name) for place in places}) > 1]
    return {
        run_setting: ", ".join(
            [_words(run_setting), *(place.get(name, f"no {name}") for name in apart)]
        )
        for run_setting, place in zip(settings, places, strict=True)
    }


def _words(run_setting: Setting) -> str:
    """Describe cores, memory, options and parameters of a setting."""
    each = format_count(run_setting.cores_per_node, "core")
    words = [each if run_setting.nodes == 1 else f"{run_setting.nodes} nodes with {each} each"]
    if run_setting.memory_bytes:
        words.append(f"{run_setting.memory_bytes / 2**30:.3g} GiB")
    return ", ".join(
        [
            *words,
            *run_setting.options,
            *([in_words(run_setting.parameters)] if run_setting.parameters else []),
        ]
    )


def _place(run_setting: Setting) -> Iterator[tuple[str, str]]:
    """Yield names and descriptions of the machine of a run and of the limits it was held to."""
    for name, text in run_setting.place:
        words = f"{name} {text}"
        if name == "machine":
            words = f"on {text}"
        elif name.startswith(SYSTEM):
            words = f"{name.removeprefix(SYSTEM)} on {text}"
        yield name, words
    yield from ((name, f"{name} {value}") for name, value in run_setting.factors)


def _sized(file: Path, record: records.Record) -> _Sized:
    size = float(sum(entry["bytes"] for entry in record["inputs"]))
    start = records.start_seconds(record)
    seconds = records.engine_seconds(record)
    return _Sized(file=str(file), size_bytes=size, seconds=seconds, start=min(start, seconds))


def _choice(run_setting: Setting, name: str, runs: Sequence[_Sized], size: float) -> Choice:
    sized = [run.size_bytes for run in runs]
    smallest, largest = min(sized), max(sized)
    bare: dict[str, Any] = {
        "machine": name, "engine": run_setting.engine,
        "nodes": run_setting.nodes, "cores": run_setting.cores,
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
    exponent = power(run_setting.workload)
    start, growth, error = _line(runs, exponent, size)
    doublings = math.log2(max(1.0, size / largest, smallest / size))
    sizes = len(set(sized))
    is_apart = largest >= APART * smallest
    spread = SURE * math.hypot(error, (DOUBLING if is_apart else ONE_SIZE) * doublings)
    value = start + growth * (size / 1e9) ** exponent
    low, high = value * math.exp(-spread), value * math.exp(spread)
    if not is_apart:
        # A start that the record does not name may be any part of the time.
        unchanged = median(run.seconds for run in runs)
        low = min(low, unchanged * math.exp(-SURE * error))
        high = max(high, unchanged * math.exp(SURE * error))
    square = f"^{exponent}" if exponent > 1 else ""
    return Choice(
        **bare,
        seconds=Range(value=value, low=low, high=high),
        limit="",
        steps=(
            f"{start:.3g} s + {growth:.3g} s/GB{square} x {_power(size, square)} = {value:.4g} s,"
            f" from {format_count(len(runs), 'run')} of {_sizes(sizes, smallest, largest)}",
        ),
    )


def _sizes(count: int, smallest: float, largest: float) -> str:
    """Describe the number and range of the sizes."""
    if count == 1:
        return f"one size, {format_bytes_si(largest)}"
    return f"{count} sizes, {format_bytes_si(smallest)} to {format_bytes_si(largest)}"


def _power(size: float, square: str) -> str:
    """Format the size with its exponent."""
    return f"({size / 1e9:.4g} GB){square}" if square else f"{size / 1e9:.4g} GB"


def _line(runs: Sequence[_Sized], exponent: int, size: float) -> tuple[float, float, float]:
    """Fit start, seconds per power of GB, and relative error at `size`; no time is negative.

    If starts take most of the times, their noise is much of the difference between runs, so that a
    line through them is far off at a much larger size; the error includes that.
    """
    import numpy as np

    from cuesta_lab.model.laws import nonnegative

    sizes = [run.size_bytes for run in runs]
    if max(sizes) < APART * min(sizes):
        seconds = median(run.seconds for run in runs)
        start = median(run.start for run in runs)
        return start, (seconds - start) / (median(sizes) / 1e9) ** exponent, NOISE
    times = np.array([run.seconds for run in runs])
    design = np.array([[1.0, (run.size_bytes / 1e9) ** exponent] for run in runs]) / times[:, None]
    start, growth = (float(value) for value in nonnegative(design, np.ones(len(runs))))
    residuals = design @ np.array([start, growth]) - 1
    noise = max(NOISE, float(np.sqrt((residuals**2).mean())))
    at = np.array([1.0, (size / 1e9) ** exponent])
    drift = float(np.sqrt(at @ np.linalg.inv(design.T @ design) @ at)) / (start + growth * at[1])
    return start, growth, noise * math.hypot(1.0, drift)
