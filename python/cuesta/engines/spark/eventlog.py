"""What Spark's event log says of a run: where its tasks spent their time, what they moved.

The log is a folder `eventlog_v2_*` of files `events_N_*`, rolled by size and compressed with zstd
(Spark 4's default), or a single file; one JSON object a line, appended while the application runs.
The sums are those of Spark's own pages; the scheduler delay is what is left of a task's time
between launch and finish without running, reading its code and writing its result (Ousterhout et
al., NSDI 2015).
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
"""Of the name of a stage, which ends with a place in some program."""

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
_PYTHON_WHOLE, _PYTHON_CODE = "time to run Python workers", "time to execute Python code"
"""Sums of Spark SQL, in milliseconds; what the code did not take, starting and asking it did."""
_SHUFFLE_READ = ("Remote Bytes Read", "Local Bytes Read")
_SHUFFLE_BLOCKS = ("Remote Blocks Fetched", "Local Blocks Fetched")


class EventLog:
    """A log that an application is still writing, read further at every call."""

    def __init__(self, place: Path) -> None:
        """Arguments: `place` is the file, or a folder with the log of one application."""
        self._place = place
        self._done: dict[Path, int] = {}
        self._complete: set[Path] = set()

    def events(self) -> Iterator[Event]:
        """The events that are `_WANTED` and that were not given before, in the order of the log."""
        for file in self._files():
            seen = self._done.get(file, 0)
            text = _contents(file)[seen:]
            whole = text.rfind(b"\n") + 1
            self._done[file] = seen + whole
            for line in text[:whole].splitlines():
                if line.startswith(_BEGINNINGS):
                    yield json.loads(line)

    def _files(self) -> list[Path]:
        """Files to read: when a newer one is there, an older one is complete and read once more."""
        if self._place.is_file():
            return [self._place]
        found = sorted(self._place.glob("**/events_*"), key=_number)
        files = [file for file in found if file not in self._complete]
        self._complete.update(found[:-1])
        return files


def facts(events: Iterable[Event], group: str) -> Facts:
    """Sums over the tasks of the jobs of a job group; empty when there is no such job.

    Returns numbers of `jobs`, `stages` and `tasks` (`tasks_failed` among them), `*_seconds` summed
    over tasks, and `*_bytes`; `shuffle_read_blocks` are the pieces that shuffles were read in, and
    `tail_seconds` are those of cores that had no task of a stage left to take.
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
            for name, value in _found(event).items():
                sums[name] = sums.get(name, 0) + value
            info = event["Task Info"]
            span = info["Launch Time"] / 1e3, info["Finish Time"] / 1e3
            tasks.setdefault(event["Stage ID"], []).append(span)
    if tasks:
        sums["tail_seconds"] = sum(map(_tail_seconds, tasks.values()))
    return {"jobs": jobs, "stages": completed, **sums} if jobs else {}


def _tail_seconds(tasks: Iterable[tuple[float, float]]) -> float:
    """Seconds that cores were without a task at the end of a stage, after its last was launched.

    A task that ended just then had the core that the last one has.
    """
    spans = list(tasks)
    last, end = max(launch for launch, _ in spans), max(finish for _, finish in spans)
    return sum(end - finish for _, finish in spans if finish > last)


def stages(events: Iterable[Event], group: str) -> list[Stage]:
    """The stages of the jobs of a job group that have ended, in the order they began.

    An attempt that failed and was made again counts as a stage of its own.
    """
    wanted: set[int] = set()
    tasks: dict[tuple[int, int], list[Event]] = {}
    found = []
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
                own = tasks.get((info["Stage ID"], info.get("Stage Attempt ID", 0)), [])
                found.append(
                    Stage(
                        name=_stage_name(info),
                        began=began / 1e3,
                        seconds=max(0, ended - began) / 1e3,
                        tasks=int(info.get("Number of Tasks", 0)),
                        each=_each(own),
                    )
                )
    return limit_tasks(sorted(found, key=lambda stage: stage.began)[:STAGES_MAX])


def _each(tasks: Iterable[Event]) -> dict[str, tuple[float, ...]]:
    """What tasks measured, as `Stage.each` has it; Spark knows no time of processors of Python."""
    rows = []
    for event in sorted(tasks, key=lambda one: one["Task Info"]["Launch Time"]):
        found = _found(event)
        found["serialize_seconds"] += found["deserialize_seconds"]
        found["exchange_bytes"] = found["shuffle_read_bytes"]
        found["output_bytes"] += found["shuffle_write_bytes"]
        del found["cpu_seconds"]
        rows.append(found)
    return measured(rows)


def _stage_name(info: Mapping[str, Any]) -> str:
    """As Spark has it, without the folder of the program that asked for it."""
    name = str(info.get("Stage Name") or info["Stage ID"])
    return re.sub(r"\bat /.*/", "at ", name)[:NAME_CHARACTERS_MAX]


def _found(event: Event) -> Facts:
    """What a task that has ended says."""
    info, metrics = event["Task Info"], event.get("Task Metrics") or {}
    task_seconds = (info["Finish Time"] - info["Launch Time"]) / 1e3
    found = {name: metrics.get(key, 0) * unit for name, (key, unit) in _SECONDS.items()}
    found |= _python_start(info.get("Accumulables") or ())
    busy = ("run_seconds", "deserialize_seconds", "serialize_seconds")
    getting = info.get("Getting Result Time", 0)
    getting_seconds = (info["Finish Time"] - getting) / 1e3 if getting else 0.0
    delay = task_seconds - getting_seconds - sum(found[name] for name in busy)
    read = metrics.get("Shuffle Read Metrics") or {}
    blocks = sum(read.get(key, 0) for key in _SHUFFLE_BLOCKS)
    return found | {
        # A task that reads what others have shuffled reduces; any other one maps.
        "map_run_seconds": 0.0 if blocks else found["run_seconds"],
        "reduce_run_seconds": found["run_seconds"] if blocks else 0.0,
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
    """What it took until Python workers had their function; nothing without such workers."""
    spent = dict.fromkeys((_PYTHON_WHOLE, _PYTHON_CODE), 0.0)
    for one in sums:
        if one.get("Name") in spent:
            spent[one["Name"]] += float(one.get("Update") or 0) / 1e3
    if not spent[_PYTHON_WHOLE]:
        return {}
    return {"python_start_seconds": max(0.0, spent[_PYTHON_WHOLE] - spent[_PYTHON_CODE])}


def _inner(metrics: Mapping[str, Any], group: str, key: str) -> int:
    return int((metrics.get(group) or {}).get(key, 0))


def _number(file: Path) -> int:
    found = re.match(r"events_(\d+)_", file.name)
    return int(found[1]) if found else 0


def _contents(file: Path) -> bytes:
    """All that can be read of a file by now; the last frame of zstd need not be complete."""
    if file.suffix != ".zstd":
        return file.read_bytes()
    import pyarrow as pa

    parts = []
    # The end of a frame that is still being written is an error to the library.
    with (
        contextlib.suppress(OSError),
        pa.OSFile(str(file)) as raw,
        pa.CompressedInputStream(raw, "zstd") as stream,
    ):
        while part := stream.read(_CHUNK_BYTES):
            parts.append(part)
    return b"".join(parts)
