"""Choices among runs that were made: engines, their settings and where they ran.

Each setting that was run is a choice. Its time grows with the input as a start and a part for each
byte; with one size only, what the record calls start is the start.

Runs are of one setting where their records agree in all of these: engine, parameters, options,
cores, nodes, memory, processor, factors of the machine, state of the caches, where the input is and
on which file systems files were. What a record does not hold cannot tell runs apart: defaults of
options that were not given, settings in files and variables of the environment, the memory of a
store, and the nodes of a run that no study made.
"""

from __future__ import annotations

import json
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
from cuesta.model.records import record_files

BEYOND = 30.0
"""How many times larger than the largest input of a setting, or smaller than the smallest, that of
a question may be."""
DOUBLING = 0.05
"""Relative error for each doubling of the input beyond the largest, or halving of the smallest."""
APART = 1.5
"""Sizes that differ by less are one: a line through them would say nothing."""
ONE_SIZE = 0.15
"""More of it for each doubling where only one size was run."""
_ADDRESSES = ("master", "spark.driver.host", "spark.driver.bindAddress")
"""Options that name where the cluster of one run was; a study starts another for each run."""
_SYSTEMS = ("input", "scratch", "output")


@dataclass(frozen=True, kw_only=True)
class _Sized:
    size_bytes: float
    seconds: float
    start: float


@dataclass(frozen=True, kw_only=True, order=True)
class _Setting:
    """What is alike in the runs of one choice.

    Attributes
    ----------
    words
        Cores, memory, options and parameters.
    place
        Names and words of what its machine was and was held to; said where settings differ in it.
    """

    engine: str
    words: str
    nodes: int
    cores: int
    place: tuple[tuple[str, str], ...]


def choices(workload: str, size_bytes: float, paths: Sequence[Path]) -> list[Choice]:
    """One for each setting of the runs of that workload.

    Errors: `InputError` where there are no runs of it, and for no input.
    """
    if size_bytes <= 0:
        raise InputError("advise: --input-size is 0; give the bytes of the input, as 452GB")
    groups: dict[_Setting, list[_Sized]] = defaultdict(list)
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
    named = _named(sorted(groups))
    return [_choice(setting, named[setting], groups[setting], size_bytes) for setting in named]


def _named(settings: Sequence[_Setting]) -> dict[_Setting, str]:
    """The words of each setting, and those of its place in which not all settings agree."""
    places = [dict(one.place) for one in settings]
    names = list(dict.fromkeys(name for place in places for name in place))
    apart = [name for name in names if len({place.get(name) for place in places}) > 1]
    return {
        one: ", ".join([one.words, *(place.get(name, f"no {name}") for name in apart)])
        for one, place in zip(settings, places, strict=True)
    }


def _setting(record: Mapping[str, Any]) -> _Setting:
    """What a run has to have in common with others of its choice."""
    nodes = int(record.get("nodes") or 1)
    cores = int(record["threads"] or record["machine"].get("cores_usable") or 1)
    each = f"{max(1, cores // nodes)} cores"
    words = [each if nodes == 1 else f"{nodes} nodes with {each} each"]
    if record["memory_bytes"]:
        words.append(f"{record['memory_bytes'] / 2**30:.3g} GiB")
    left_out = _ADDRESSES if nodes > 1 else ()
    options = sorted(record["engine_options"].items())
    words += [f"{name} {value}" for name, value in options if name not in left_out]
    kept = {n: v for n, v in record["parameters"].items() if n != "seed"}
    words.append(json.dumps(kept, sort_keys=True)) if kept else None
    return _Setting(
        engine=str(record["engine"]),
        words=", ".join(words),
        nodes=nodes,
        cores=cores,
        place=tuple(_place(record)),
    )


def _place(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What the machine of a run was and was held to, each with the words for it."""
    machine = record["machine"]
    cores = machine.get("cores")
    yield "machine", f"on {machine.get('cpu', '')}{f' with {cores} cores' if cores else ''}"
    schemes = {one["path"].partition("://")[0] for one in record["inputs"] if "://" in one["path"]}
    ats = " and ".join(f"{scheme}://" for scheme in sorted(schemes))
    yield "input", f"input at {ats}" if ats else "input in files"
    systems = machine.get("filesystems") or {}
    for name in _SYSTEMS:
        if name in systems:
            yield f"file system of {name}", f"{name} on {systems[name]}"
    if "cache" in record:
        yield "cache", f"cache {record['cache']}"
    asked = (record.get("machine_factors") or {}).get("asked", {})
    yield from ((name, f"{name} {value}") for name, value in sorted(asked.items()))


def _sized(file: Path, record: Mapping[str, Any]) -> _Sized:
    size = float(sum(one["bytes"] for one in record["inputs"]))
    if not size:
        raise InputError(f"{file}: its run has no input, so that bytes say nothing of it")
    start = sum(one["seconds"] for one in record["phases"] if one["name"] == "start")
    seconds = float(record["statistics"]["wall_seconds"]["median"])
    return _Sized(size_bytes=size, seconds=seconds, start=min(start, seconds))


def _choice(setting: _Setting, name: str, runs: Sequence[_Sized], size: float) -> Choice:
    sized = [one.size_bytes for one in runs]
    smallest, largest = min(sized), max(sized)
    bare: dict[str, Any] = {
        "machine": name, "engine": setting.engine, "nodes": setting.nodes, "cores": setting.cores
    }  # fmt: skip
    if size > BEYOND * largest:
        return Choice(
            **bare,
            refused=f"its largest run had {largest / 1e9:.3g} GB; measure at least"
            f" {size / BEYOND / 1e9:.3g} GB",
        )
    if size < smallest / BEYOND:
        return Choice(
            **bare,
            refused=f"its smallest run had {smallest / 1e9:.3g} GB; measure at most"
            f" {size * BEYOND / 1e9:.3g} GB",
        )
    start, per_byte, error = _line(runs)
    doublings = math.log2(max(1.0, size / largest, smallest / size))
    sizes = len(set(sized))
    is_apart = largest >= APART * smallest
    spread = SURE * math.hypot(error, (DOUBLING if is_apart else ONE_SIZE) * doublings)
    value = start + per_byte * size
    return Choice(
        **bare,
        seconds=Range(value=value, low=value * math.exp(-spread), high=value * math.exp(spread)),
        limit="",
        steps=(
            f"{start:.3g} s + {per_byte * 1e9:.3g} s/GB x {size / 1e9:.4g} GB = {value:.4g} s,"
            f" from {len(runs)} runs of {sizes} sizes, {smallest / 1e9:.3g} to"
            f" {largest / 1e9:.3g} GB",
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
