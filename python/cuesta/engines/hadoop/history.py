"""Stages of a job from Hadoop's job history: times of each task, and its waits.

The file `job_N_M-*.jhist` is a line with its version, one with its schema, and one JSON object an
event (`mapreduce.jobhistory.jhist.format=json`; a history server reads both formats). Times are in
milliseconds since 1970, by the clocks of the nodes.

A task has a slot from the end of the task before it there, so that its time begins then; until its
child begins it waits for the scheduler and for its JVM.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from cuesta.trial import Stage, measured

_STARTED = ("MAP_ATTEMPT_STARTED", "REDUCE_ATTEMPT_STARTED")
_FINISHED = ("MAP_ATTEMPT_FINISHED", "REDUCE_ATTEMPT_FINISHED")
_WANTED = ("JOB_SUBMITTED", *_STARTED, *_FINISHED)
MAP, REDUCE = "MAP", "REDUCE"
_PROCESSORS = ("CPU_MILLISECONDS", "CHILD_CPU_MS")
"""Counters of processor time: of a JVM, and of its child, which has ended when Hadoop counts."""

Event = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class _Attempt:
    """A successful attempt of a task; times in milliseconds.

    Attributes
    ----------
    started, finished
        Times of the launch of its container, and of its end.
    fetched
        Time when a reduce task had fetched all map output; `started` for a map task.
    jvm, began
        Times of the start of its JVM, and of our work in it; 0 where they are not reported.
    """

    kind: str
    started: int
    finished: int
    fetched: int
    jvm: int
    began: int
    counters: Mapping[str, int]


def read(folder: Path, slots: int) -> list[Stage]:
    """Return stages of map and of reduce tasks of each job whose history is in a folder."""
    all_stages: list[Stage] = []
    for file in sorted(folder.glob("*.jhist")):
        with file.open(encoding="utf-8", errors="replace") as lines:
            all_stages += stages(lines, slots)
    return all_stages


def stages(lines: Iterable[str], slots: int) -> list[Stage]:
    """Return stages of map and of reduce tasks of a job of which `slots` ran at once.

    The first begins when the job is submitted, the second when the last map task ends.
    """
    submitted, name = 0, ""
    started: dict[str, int] = {}
    attempts: list[_Attempt] = []
    for kind, event in _events(lines):
        if kind == "JOB_SUBMITTED":
            submitted, name = int(event["submitTime"]), str(event["jobName"])
        elif kind in _STARTED:
            started[str(event["attemptId"])] = int(event["startTime"])
        else:
            attempts.append(_attempt(event, started))
    boot = _boot_ms(attempts)
    job_stages, begin = [], submitted
    for kind, words in ((MAP, "map"), (REDUCE, "reduce")):
        of_kind = [attempt for attempt in attempts if attempt.kind == kind]
        of_kind.sort(key=lambda attempt: attempt.started)
        if of_kind:
            end = max(attempt.finished for attempt in of_kind)
            job_stages.append(
                Stage(
                    name=f"{name.partition(': ')[2] or name}: {words}",
                    began=begin / 1e3,
                    seconds=max(0, end - begin) / 1e3,
                    tasks=len(of_kind),
                    each=measured(list(_tasks(of_kind, begin, slots, boot))),
                )
            )
            begin = end
    return job_stages


def sums(stages: Sequence[Stage], slots: int) -> dict[str, float]:
    """Return sums over all tasks for the `engine_log` of a record; empty without a history."""
    if not stages:
        return {}
    totals = {
        name: sum(sum(stage.each.get(name, ())) for stage in stages)
        for name in ("task_seconds", "scheduler_delay_seconds", "fetch_wait_seconds")
    }
    # The time of a task begins at the end of the task before it in its slot.
    slot_seconds = sum(min(slots, stage.tasks) * stage.seconds for stage in stages)
    return totals | {"tail_seconds": max(0.0, slot_seconds - totals["task_seconds"])}


def _events(lines: Iterable[str]) -> Iterator[tuple[str, Event]]:
    for line in lines:
        if not line.startswith('{"type":"') or not line.endswith("}\n"):
            continue
        record = json.loads(line)
        if record["type"] in _WANTED:
            # The event is in an object whose only name is that of its class.
            yield record["type"], next(iter(record["event"].values()))


def _attempt(event: Event, started: Mapping[str, int]) -> _Attempt:
    counters = {
        counter["name"]: int(counter["value"])
        for group in event["counters"]["groups"]
        for counter in group["counts"]
    }
    finished = int(event["finishTime"])
    start = started.get(str(event["attemptId"]), finished)
    return _Attempt(
        kind=str(event["taskType"]),
        started=start,
        finished=finished,
        fetched=int(event.get("shuffleFinishTime", start)),
        jvm=counters.get("JVM_STARTED_MS", 0),
        began=counters.get("BEGAN_MS", 0),
        counters=counters,
    )


def _boot_ms(attempts: Iterable[_Attempt]) -> float:
    """Return the median time from a JVM's start to its task, of map tasks, which fetch nothing."""
    boots = [
        attempt.began - attempt.jvm
        for attempt in attempts
        if attempt.kind == MAP and attempt.jvm >= attempt.started
    ]
    return median(boots) if boots else 0.0


def _tasks(
    attempts: Sequence[_Attempt], begin: int, slots: int, boot: float
) -> Iterator[dict[str, float]]:
    """Yield measurements of each task of a stage that began at `begin`, in order of launch."""
    free = [begin] * slots
    for attempt in attempts:
        since = min(heapq.heappop(free), attempt.started)
        heapq.heappush(free, attempt.finished)
        launched = _launched(attempt, boot)
        fetching = max(0.0, attempt.fetched - launched) if attempt.kind == REDUCE else 0.0
        counters = attempt.counters
        yield {
            "task_seconds": (attempt.finished - since) / 1e3,
            "scheduler_delay_seconds": (launched - since) / 1e3,
            "fetch_wait_seconds": fetching / 1e3,
            "gc_seconds": counters.get("GC_TIME_MILLIS", 0) / 1e3,
            "cpu_seconds": sum(counters.get(name, 0) for name in _PROCESSORS) / 1e3,
            "exchange_bytes": counters.get("REDUCE_SHUFFLE_BYTES", 0),
            "output_bytes": counters.get("MAP_OUTPUT_MATERIALIZED_BYTES", 0),
        }


def _launched(attempt: _Attempt, boot: float) -> float:
    """Return when an attempt's work began: reported by map tasks, estimated for reduce tasks."""
    if attempt.kind == MAP and attempt.began:
        return min(max(attempt.began, attempt.started), attempt.finished)
    if attempt.kind == REDUCE and attempt.jvm:
        return min(max(attempt.jvm + boot, attempt.started), attempt.fetched)
    return attempt.started
