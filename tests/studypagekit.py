"""Results of studies made by hand in the shape of real ones, so that pages need no runs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import reportkit as kit

Result = dict[str, Any]

MARKUP = kit.MARKUP
WAVE = (0.0, 1.0, -0.6, 0.3, -1.0, 0.6, -0.3)
"""Offsets of the samples of a cell from their median, as fractions of the spread."""


def samples(middle: float, repeats: int = 7, spread: float = 0.03) -> list[float]:
    return [middle * (1 + spread * WAVE[index % len(WAVE)]) for index in range(repeats)]


def factor(name: str, title: str, levels: Sequence[tuple[str, float | None]], unit: str = "",
           ) -> Result:  # fmt: skip
    rows = [{"name": level, "title": level, "value": value} for level, value in levels]
    return {"name": name, "title": title, "unit": unit, "levels": rows}


def cell(levels: Mapping[str, str], measures: Mapping[str, list[Any]], **changes: Any) -> Result:
    fields = {
        "levels": dict(levels),
        "runs": [f"runs/{'_'.join(levels.values())}/{repeat}" for repeat in
                 range(1, len(next(iter(measures.values()), [])) + 1)],
        "digest": kit.DIGEST if measures else None,
        "left_out": None,
        "failed": [],
        "measures": dict(measures),
    }  # fmt: skip
    return fields | changes


def result(factors: Sequence[Result], cells: Sequence[Result], **changes: Any) -> Result:
    fields = {
        "schema": "cuesta.study/2",
        "name": "loading",
        "title": "Loading against in situ",
        "question": "When does loading into an array database pay, and for how many questions?",
        "paper": "000",
        "smoke": False,
        "seed": 1,
        "started": "2026-11-21T09:32:14Z",
        "seconds": 1012.5,
        "file": {"workload": "scan", "settings": {}, "factor": []},
        "factors": list(factors),
        "cells": list(cells),
        "claims": [],
        "views": [],
        "phases": [],
        "local_phases": [],
        "machine": kit.native()["machine"],
        "versions": {"cuesta": "0.1.0", "python": "3.11.7"},
    }
    return fields | changes


def phases(phase_seconds: Mapping[str, float], repeats: int) -> dict[str, list[float]]:
    return {f"phase {name}": samples(seconds, repeats) for name, seconds in phase_seconds.items()}


SIZES = factor("size", "gene pairs", [("100k", 1e5), ("300k", 3e5), ("1M", 1e6), ("3M", 3e6)])
TOOLS = factor("tool", "tool", [("in situ", None), ("array", None), ("cluster engine", None)])
CACHES = factor("cache", "cache", [("warm", None), ("cold", None)])


def loading(repeats: int = 7, **changes: Any) -> Result:
    """Return a result of three tools at four sizes, warm and cold, with claims of all verdicts."""
    cells = []
    for cache, slow in (("warm", 1.0), ("cold", 1.9)):
        for size in SIZES["levels"]:
            for tool, rate, start in (("in situ", 9e5, 0.0), ("array", 4e6, 0.08),
                                      ("cluster engine", 6e5, 2.1)):  # fmt: skip
                levels = {"size": size["name"], "tool": tool, "cache": cache}
                if tool == "array" and size["name"] == "3M":
                    cells.append(cell(levels, {}, left_out="needs 30 GB of disk"))
                    continue
                work = size["value"] / rate * slow + (0.05 if tool == "array" else 0.01)
                load = size["value"] / 1.2e5 if tool == "array" else 0.0
                durations = {"start": start, "load": load, "scan": work * 0.8, "write": work * 0.1}
                nonzero = {name: seconds for name, seconds in durations.items() if seconds}
                measures = {
                    "work": samples(work, repeats),
                    "wall": samples(work + start + load, repeats),
                    "peak": samples(size["value"] * 300, repeats, 0.01),
                    **phases(nonzero, repeats),
                }
                more: Result = {}
                if tool == "cluster engine" and cache == "cold" and size["name"] == "1M":
                    more = {"failed": [{"repeat": 3, "why": "the process was killed (signal 9)"}]}
                cells.append(cell(levels, measures, **more))
    views = [
        {"title": "Time of a question", "kind": "lines", "across": "size", "curves": "tool",
         "panels": "cache", "measure": "work", "where": {}},
        {"title": "Where the time goes", "kind": "stack", "across": "size", "curves": "tool",
         "where": {"cache": "warm"}},
        {"title": "From nothing to the answer", "kind": "bars", "across": "tool",
         "curves": "cache", "measure": "wall", "where": {"size": ["1M"]}},
    ]  # fmt: skip
    defaults: Result = {
        "claims": CLAIMS,
        "views": views,
        "phases": ["start", "load", "scan", "write"],
    }
    return result([SIZES, TOOLS, CACHES], cells, **(defaults | changes))


CLAIMS: list[Result] = [
    {
        "name": "in-situ-wins-once",
        "figures": ["000:figure-2", "000:figure-7"],
        "finding": "For a single question, reading the file in place is faster than loading it "
        "into an array database first.",
        "expected": "The same: loading writes every byte once more before the first answer.",
        "verdict": "holds",
        "said": "In situ is 9.1x (8.8x to 9.4x) as fast at 1 million gene pairs, and at least 6x "
        "as fast at each of 3 sizes.",
        "parts": [
            {"levels": {"size": "100k"}, "holds": True,
             "ratio": {"median": 6.2, "low": 6.0, "high": 6.5}},
            {"levels": {"size": "300k"}, "holds": True,
             "ratio": {"median": 8.0, "low": 7.7, "high": 8.2}},
            {"levels": {"size": "1M"}, "holds": True,
             "ratio": {"median": 9.1, "low": 8.8, "high": 9.4}},
        ],
    },
    {
        "name": "array-wins-often",
        "figures": ["000:figure-8"],
        "finding": "Once loaded, the array database answers faster by more than 10 times.",
        "expected": "Faster, by less: the file is in memory here.",
        "verdict": "does not hold",
        "said": "The array is only 3.1x (3.0x to 3.2x) as fast.",
        "parts": [],
    },
    {
        "name": "infiniband",
        "figures": ["000:table-2"],
        "finding": "A faster network between 16 nodes changes the order of the tools.",
        "expected": "",
        "verdict": "cannot be tested",
        "said": "This machine is a single node; its loopback has no such network.",
        "parts": [],
    },
    {
        "name": "scales-with-data",
        "figures": ["000:figure-9"],
        "finding": "Time grows linearly with the data.",
        "expected": "Linear once start-up is paid.",
        "verdict": "undecided",
        "said": "The exponent is 0.94 (0.81 to 1.12), which 3 sizes cannot tell from 1.",
        "parts": [],
    },
]  # fmt: skip

SPOILED: Result = {
    "rule": "intervals",
    "text": "Rule 5: 3 combinations have a single run, so their times have no interval.",
    "grave": True,
}

CORES = factor("cores", "cores", [("one", 1), ("two", 2), ("four", 4), ("eight", 8)])
ENGINES = factor("engine", "engine", [("kernel", None), ("ranks", None), ("tasks", None)])


def scaling(kind: str = "strong", repeats: int = 6, **changes: Any) -> Result:
    """Return a result of three engines on one to eight cores, under strong or weak scaling."""
    modes = factor("mode", "mode", [("cached", None), ("lazy", None)])
    cells = []
    for mode, slow in (("cached", 1.0), ("lazy", 1.4)):
        for level in CORES["levels"]:
            grown = level["value"] if kind == "strong" else 1.0
            for engine, alone, serial in (("kernel", 8.0, 0.1), ("ranks", 11.0, 0.2),
                                          ("tasks", 31.0, 1.5)):  # fmt: skip
                work = slow * (alone / grown + serial * level["value"] ** 0.3)
                levels = {"engine": engine, "cores": level["name"], "mode": mode}
                local = alone * (0.3 if kind == "strong" else 0.3 * level["value"] ** 0.2)
                measures = {"work": samples(work, repeats), "wall": samples(work + 0.2, repeats),
                            **phases({"generate": local, "reduce": work / 3}, repeats)}  # fmt: skip
                cells.append(cell(levels, measures))
    cores_levels = [
        {"name": cores_level["name"], "cores": int(cores_level["value"])}
        for cores_level in CORES["levels"]
    ]
    settings = {"per_core": {"blocks": 96}} if kind == "weak" else {}
    file = {"workload": "dataflow", "settings": settings,
            "factor": [{"name": "cores", "levels": cores_levels}]}  # fmt: skip
    view = {"title": f"{kind.capitalize()} scaling", "kind": "efficiency", "across": "cores",
            "curves": "engine", "panels": "mode", "measure": "work"}  # fmt: skip
    defaults: Result = {"title": f"{kind.capitalize()} scaling", "views": [view], "file": file,
                   "question": "How does it scale?", "paper": "002",
                   "local_phases": ["generate"]}  # fmt: skip
    return result([ENGINES, CORES, modes], cells, **(defaults | changes))


def write(folder: Path, study_result: Result) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "study.json").write_text(json.dumps(study_result), encoding="utf-8")
    return folder


def run_record(
    seconds: float, cached: bool, stage_count: int = 5, devices: Sequence[str] = ("vda",)
) -> Result:
    """Return a run that loads, works in waves and writes, sampled ten times a second."""
    durations = {"start": 0.2 * seconds, "scan": 0.5 * seconds, "write": 0.25 * seconds}
    fields = kit.record("native", kit.timings(durations, 1), 900_000_000)
    count = max(2, int(seconds * 10))
    times = [seconds * (sample_number + 1) / count for sample_number in range(count)]
    wave = [0.5 + 0.5 * math.sin(9 * time / seconds) for time in times]
    reading = [
        0.0 if cached or time > 0.7 * seconds else 180e6 * (1.2 - height)
        for time, height in zip(times, wave, strict=True)
    ]
    writing = [
        120e6 * height if time > 0.7 * seconds else 2e6 * height
        for time, height in zip(times, wave, strict=True)
    ]
    waiting = [rate / 180e6 * 0.6 for rate in reading]
    tick = seconds / count
    fields["timeline"] = {
        "cost_seconds": 0.01,
        "seconds": times,
        "machine": {
            "user_seconds": [1.3 * height * tick for height in wave],
            "system_seconds": [(0.2 + 0.1 * height) * tick for height in wave],
            "iowait_seconds": [wait * tick for wait in waiting],
        },
        "tree": {"resident_bytes": [9e8 * min(1, time / seconds * 1.6) for time in times]},
        "pressure": {"io_some_seconds": [wait * tick for wait in waiting]},
        "devices": {
            name: {
                "read_bytes": [rate * tick / (index + 1) for rate in reading],
                "written_bytes": [rate * tick / (index + 1) for rate in writing],
                "reads": [rate * tick / 130e3 / (index + 1) for rate in reading],
                "writes": [rate * tick / 90e3 / (index + 1) for rate in writing],
            }
            for index, name in enumerate(devices)
        },
        "networks": {
            "lo": {
                "received_bytes": [3e6 * tick * height for height in wave],
                "sent_bytes": [2e6 * tick * height for height in wave],
            }
        },
    }
    step = 0.75 * seconds / max(1, stage_count)
    fields["stages"] = [
        {
            "name": f"{'reduceByKey' if stage % 2 else 'mapPartitions'} at Job.scala:{stage + 40}",
            "began": 0.2 * seconds + stage * step,
            "seconds": step * (1.4 if stage % 3 else 0.8),
            "tasks": 4 + stage,
        }
        for stage in range(stage_count)
    ]
    return fields


def timelines(root: Path, stage_count: int = 5, devices: Sequence[str] = ("vda",),
              longer: float = 1.5) -> Path:  # fmt: skip
    """Write a study whose records have time lines."""
    keep = factor("keep", "what is kept", [("nothing", None), ("memory", None)])
    cells = []
    for name, seconds, cached in (("nothing", 12.0 * longer, False), ("memory", 12.0, True)):
        timed_cell = cell(
            {"keep": name}, {"work": samples(seconds, 3), "wall": samples(seconds, 3)}
        )
        cells.append(timed_cell)
        for place in timed_cell["runs"]:
            kit.write_run(root / place, run_record(seconds, cached, stage_count, devices))
    view = {"title": "What the machine did", "kind": "timeline", "across": "keep"}
    study_result = result([keep], cells, views=[view], title="Caching policies",
                  question="What does keeping a dataset in memory save?")  # fmt: skip
    return write(root, study_result)


def hostile() -> Result:
    """Return a result whose free texts are all mark-up or very long, with many levels."""
    long = MARKUP + "w" * 200
    many = factor(MARKUP, MARKUP, [(f"{MARKUP}{index}{'l' * 60}", None) for index in range(15)])
    values = factor("v", long, [(f"{long}{index}", 10.0**index) for index in range(9)], MARKUP)
    cells = []
    for index, level in enumerate(many["levels"]):
        for place, other in enumerate(values["levels"]):
            names = {MARKUP: level["name"], "v": other["name"]}
            phase_samples = {
                f"phase {MARKUP}{number}": samples(number + 1.0) for number in range(9)
            }
            middle = 10.0 ** (place - 3) * (index + 1)
            more = {"failed": [{"why": long}]} if index == place else {}
            cells.append(
                cell(names, {"work": samples(middle), **phase_samples}, digest=long, **more)
            )
    cells.append(cell({"v": MARKUP}, {}, left_out=long))
    views: list[Result] = [
        {"title": long, "kind": "lines", "across": "v", "curves": MARKUP, "measure": "work"},
        {"title": long, "kind": "bars", "across": MARKUP, "curves": "v"},
        {"title": long, "kind": "stack", "across": MARKUP, "where": {"v": [f"{long}0"]}},
        {"title": long, "kind": "efficiency", "across": "v", "panels": MARKUP},
    ]
    claim = {"name": MARKUP, "figures": [MARKUP, f"{MARKUP}:{long}"], "finding": long,
             "expected": long, "verdict": MARKUP, "said": long,
             "parts": [{"levels": {"v": long}, "ratio": {"median": 1.0}}] * 2}  # fmt: skip
    return result(
        [many, values], cells, title=long, question=long, paper=MARKUP, name=long, started=long,
        claims=[claim], views=views, machine={MARKUP: long}, versions={MARKUP: long},
        alarms=[{"rule": "verification", "text": long, "grave": True}],
        local_phases=[MARKUP],
    )  # fmt: skip
