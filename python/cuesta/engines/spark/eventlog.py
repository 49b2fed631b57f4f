"""Totals of a run from Spark's event log: times of its tasks, and the bytes they moved.

The log is a folder `eventlog_v2_*` of files `events_N_*`, rolled by size and compressed with zstd
(Spark 4's default), or a single file; one JSON object a line, appended while the application runs.
The sums are those of Spark's own pages; the scheduler delay is the time between launch and finish
of a task less the time of running, reading its code and writing its result (Ousterhout et al.,
NSDI 2015).
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from cuesta.trial import STAGES_MAX, Stage, limit_tasks, measured

Event = dict[str, Any]
Facts = dict[str, float]

_WANTED = (
    "SparkListenerJobStart",
    "SparkListenerStageCompleted",
    "SparkListenerTaskEnd",
    "SparkListenerExecutorRemoved",
)
_BEGINNINGS = tuple(f'{{"Event":"{name}"'.encode() for name in _WANTED)
_CHUNK_BYTES = 1 << 16

NAME_CHARACTERS_MAX = 100
"""Characters of a stage's name, which ends with a position in a program."""

_SECONDS = {
    "run_seconds": ("Executor Run Time", 1e-3),
    "cpu_seconds": ("Executor CPU Time", 1e-9),
    "gc_seconds": ("JVM GC Time", 1e-3),
    "deserialize_seconds": ("Executor Deserialize Time", 1e-3),
    "serialize_seconds": ("Result Serialization Time", 1e-3),
}
_BYTES = {
    "spilled_memory_bytes": "Memory Bytes Spilled",
    "spilled_disk_bytes": "Disk Bytes Spilled",
}
_INNER = {
    "input_bytes": ("Input Metrics", "Bytes Read"),
    "output_bytes": ("Output Metrics", "Bytes Written"),
    "shuffle_write_bytes": ("Shuffle Write Metrics", "Shuffle Bytes Written"),
}
_PYTHON_TOTAL, _PYTHON_CODE = "time to run Python workers", "time to execute Python code"
"""Sums of Spark SQL, in milliseconds; their difference is the start and setup of workers."""
_SHUFFLE_READ = ("Remote Bytes Read", "Local Bytes Read")
_SHUFFLE_BLOCKS = ("Remote Blocks Fetched", "Local Blocks Fetched")


class EventLog:
    """A log that an application is still writing; each call reads the new part."""

    def __init__(self, place: Path) -> None:
        """Arguments: `place` is the file, or a folder with the log of one application."""
        self._place = place
        self._done: dict[Path, int] = {}
        self._complete: set[Path] = set()

    def events(self) -> Iterator[Event]:
        """Yield new events of the `_WANTED` kinds, in the order of the log."""
        for file in self._files():
            read_bytes = self._done.get(file, 0)
            text = _contents(file)[read_bytes:]
            complete_bytes = text.rfind(b"\n") + 1
            self._done[file] = read_bytes + complete_bytes
            for line in text[:complete_bytes].splitlines():
                if line.startswith(_BEGINNINGS):
                    yield json.loads(line)

    def _files(self) -> list[Path]:
        """Return files to read: an older file is complete, and is read once more."""
        if self._place.is_file():
            return [self._place]
        newest_last = sorted(self._place.glob("**/events_*"), key=_number)
        files = [file for file in newest_last if file not in self._complete]
        self._complete.update(newest_last[:-1])
        return files


def facts(events: Iterable[Event], group: str) -> Facts:
    """Return sums over the tasks of a job group; empty when it has no job.

    These are numbers of `jobs`, `stages` and `tasks` (including `tasks_failed`), `*_seconds` summed
    over tasks, and `*_bytes`; `shuffle_read_blocks` are the pieces that shuffles were read in, and
    `tail_seconds` are idle times of cores at the end of stages.
    """
    stages: set[int] = set()
    jobs = completed = 0
    sums: Facts = {}
    tasks: dict[int, list[tuple[float, float]]] = {}
    for event in events:
        kind = event["Event"]
        if kind == "SparkListenerJobStart":
            if (event.get("Properties") or {}).get("spark.jobGroup.id") == group:
                jobs += 1
                stages.update(event["Stage IDs"])
        elif kind == "SparkListenerStageCompleted":
            completed += event["Stage Info"]["Stage ID"] in stages
        elif kind == "SparkListenerTaskEnd" and event["Stage ID"] in stages:
            for name, value in _measurements(event).items():
                sums[name] = sums.get(name, 0) + value
            info = event["Task Info"]
            span = info["Launch Time"] / 1e3, info["Finish Time"] / 1e3
            tasks.setdefault(event["Stage ID"], []).append(span)
    if tasks:
        sums["tail_seconds"] = sum(map(_tail_seconds, tasks.values()))
    return {"jobs": jobs, "stages": completed, **sums} if jobs else {}


def _tail_seconds(tasks: Iterable[tuple[float, float]]) -> float:
    """Return seconds of idle cores at the end of a stage, after the launch of its last task.

    A task that ended at that launch gave its core to the last task, and is not counted.
    """
    spans = list(tasks)
    last, end = max(launch for launch, _ in spans), max(finish for _, finish in spans)
    return sum(end - finish for _, finish in spans if finish > last)


def stages(events: Iterable[Event], group: str) -> list[Stage]:
    """Return the ended stages of a job group, in the order they began.

    Each attempt of a stage that was repeated counts as a separate stage.
    """
    wanted: set[int] = set()
    tasks: dict[tuple[int, int], list[Event]] = {}
    ended_stages = []
    for event in events:
        if event["Event"] == "SparkListenerJobStart":
            if (event.get("Properties") or {}).get("spark.jobGroup.id") == group:
                wanted.update(event["Stage IDs"])
        elif event["Event"] == "SparkListenerTaskEnd":
            info = event["Task Info"]
            if not (info["Failed"] or info["Killed"]) and event.get("Task Metrics"):
                number = event["Stage ID"], event.get("Stage Attempt ID", 0)
                tasks.setdefault(number, []).append(event)
        elif event["Event"] == "SparkListenerStageCompleted":
            info = event["Stage Info"]
            began, ended = info.get("Submission Time"), info.get("Completion Time")
            if info["Stage ID"] in wanted and began and ended:
                stage_tasks = tasks.get((info["Stage ID"], info.get("Stage Attempt ID", 0)), [])
                ended_stages.append(
                    Stage(
                        name=_stage_name(info),
                        began=began / 1e3,
                        seconds=max(0, ended - began) / 1e3,
                        tasks=int(info.get("Number of Tasks", 0)),
                        each=_each(stage_tasks),
                    )
                )
    return limit_tasks(sorted(ended_stages, key=lambda stage: stage.began)[:STAGES_MAX])


def _each(tasks: Iterable[Event]) -> dict[str, tuple[float, ...]]:
    """Return measurements of tasks for `Stage.each`; Spark has no processor time of Python."""
    rows = []
    for event in sorted(tasks, key=lambda task: task["Task Info"]["Launch Time"]):
        measurements = _measurements(event)
        measurements["serialize_seconds"] += measurements["deserialize_seconds"]
        measurements["exchange_bytes"] = measurements["shuffle_read_bytes"]
        measurements["output_bytes"] += measurements["shuffle_write_bytes"]
        del measurements["cpu_seconds"]
        rows.append(measurements)
    return measured(rows)


def _stage_name(info: Mapping[str, Any]) -> str:
    """Return Spark's name of a stage, without the folder of the calling program."""
    name = str(info.get("Stage Name") or info["Stage ID"])
    return re.sub(r"\bat /.*/", "at ", name)[:NAME_CHARACTERS_MAX]


def _measurements(event: Event) -> Facts:
    """Return the measurements in the end of a task."""
    info, metrics = event["Task Info"], event.get("Task Metrics") or {}
    task_seconds = (info["Finish Time"] - info["Launch Time"]) / 1e3
    seconds = {name: metrics.get(key, 0) * unit for name, (key, unit) in _SECONDS.items()}
    seconds |= _python_start(info.get("Accumulables") or ())
    busy = ("run_seconds", "deserialize_seconds", "serialize_seconds")
    getting = info.get("Getting Result Time", 0)
    getting_seconds = (info["Finish Time"] - getting) / 1e3 if getting else 0.0
    delay = task_seconds - getting_seconds - sum(seconds[name] for name in busy)
    read = metrics.get("Shuffle Read Metrics") or {}
    blocks = sum(read.get(key, 0) for key in _SHUFFLE_BLOCKS)
    return seconds | {
        # A task that reads shuffle blocks is a reduce task, any other a map task.
        "map_run_seconds": 0.0 if blocks else seconds["run_seconds"],
        "reduce_run_seconds": seconds["run_seconds"] if blocks else 0.0,
        "shuffle_read_blocks": blocks,
        "tasks": 1,
        "tasks_failed": int(info["Failed"] or info["Killed"]),
        "task_seconds": task_seconds,
        "scheduler_delay_seconds": max(0.0, delay) if metrics else 0.0,
        "fetch_wait_seconds": read.get("Fetch Wait Time", 0) * 1e-3,
        "shuffle_read_bytes": sum(read.get(key, 0) for key in _SHUFFLE_READ),
        **{name: metrics.get(key, 0) for name, key in _BYTES.items()},
        **{name: _inner(metrics, *keys) for name, keys in _INNER.items()},
    }


def _python_start(sums: Iterable[Mapping[str, Any]]) -> Facts:
    """Return the time to set up functions in Python workers; nothing without such workers."""
    totals = dict.fromkeys((_PYTHON_TOTAL, _PYTHON_CODE), 0.0)
    for accumulable in sums:
        if accumulable.get("Name") in totals:
            totals[accumulable["Name"]] += float(accumulable.get("Update") or 0) / 1e3
    if not totals[_PYTHON_TOTAL]:
        return {}
    return {"python_start_seconds": max(0.0, totals[_PYTHON_TOTAL] - totals[_PYTHON_CODE])}


def _inner(metrics: Mapping[str, Any], group: str, key: str) -> int:
    return int((metrics.get(group) or {}).get(key, 0))


def _number(file: Path) -> int:
    match = re.match(r"events_(\d+)_", file.name)
    return int(match[1]) if match else 0


def _contents(file: Path) -> bytes:
    """Return the readable content of a file; the last frame of zstd need not be complete."""
    if file.suffix != ".zstd":
        return file.read_bytes()
    import pyarrow as pa

    parts = []
    # The library reports the end of a partly written frame as an error.
    with (
        contextlib.suppress(OSError),
        pa.OSFile(str(file)) as raw,
        pa.CompressedInputStream(raw, "zstd") as stream,
    ):
        while part := stream.read(_CHUNK_BYTES):
            parts.append(part)
    return b"".join(parts)
