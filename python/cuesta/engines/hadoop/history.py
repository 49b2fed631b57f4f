"""What Hadoop's job history says of a job: when each task ran, and what it waited for.

The file `job_N_M-*.jhist` is a line with its version, one with its schema, and one JSON object an
event (`mapreduce.jobhistory.jhist.format=json`; a history server reads both formats). Times are in
milliseconds since 1970, by the clocks of the nodes.

A task has a slot from the moment the one before it there has ended, so that its time begins then;
until its child had begun it waited for the scheduler and for its JVM.
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
"""Time of processors of a JVM, and of its child, which has ended when Hadoop counts."""

Event = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class _Attempt:
    """One that succeeded; in milliseconds.

    Attributes
    ----------
    started, finished
        When its container was launched, and when it had ended.
    fetched
        When a reduce task had all that map tasks sent; `started` for a map task.
    jvm, began
        When its JVM had started, and when it began with our work; 0 where it does not say.
    """

    kind: str
    started: int
    finished: int
    fetched: int
    jvm: int
    began: int
    counters: Mapping[str, int]


def read(folder: Path, slots: int) -> list[Stage]:
    """The map and the reduce tasks of each job whose history is in a folder."""
    found: list[Stage] = []
    for file in sorted(folder.glob("*.jhist")):
        with file.open(encoding="utf-8", errors="replace") as lines:
            found += stages(lines, slots)
    return found


def stages(lines: Iterable[str], slots: int) -> list[Stage]:
    """The map and the reduce tasks of a job of which `slots` ran at once.

    The first begin when the job was submitted, the others when the last map task had ended.
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
    found, begin = [], submitted
    for kind, words in ((MAP, "map"), (REDUCE, "reduce")):
        own = sorted((one for one in attempts if one.kind == kind), key=lambda one: one.started)
        if own:
            end = max(one.finished for one in own)
            found.append(
                Stage(
                    name=f"{name.partition(': ')[2] or name}: {words}",
                    began=begin / 1e3,
                    seconds=max(0, end - begin) / 1e3,
                    tasks=len(own),
                    each=measured(list(_tasks(own, begin, slots, boot))),
                )
            )
            begin = end
    return found


def sums(stages: Sequence[Stage], slots: int) -> dict[str, float]:
    """Over all tasks, as a record has them in `engine_log`; nothing without a history."""
    if not stages:
        return {}
    found = {
        name: sum(sum(one.each.get(name, ())) for one in stages)
        for name in ("task_seconds", "scheduler_delay_seconds", "fetch_wait_seconds")
    }
    # The time of a task begins where that of the one before it in its slot has ended.
    whole = sum(min(slots, one.tasks) * one.seconds for one in stages)
    return found | {"tail_seconds": max(0.0, whole - found["task_seconds"])}


def _events(lines: Iterable[str]) -> Iterator[tuple[str, Event]]:
    for line in lines:
        if not line.startswith('{"type":"') or not line.endswith("}\n"):
            continue
        told = json.loads(line)
        if told["type"] in _WANTED:
            # The event is in an object whose only name is that of its class.
            yield told["type"], next(iter(told["event"].values()))


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
    """From the start of a JVM until its task begins: of map tasks, which do nothing meanwhile."""
    found = [one.began - one.jvm for one in attempts if one.kind == MAP and one.jvm >= one.started]
    return median(found) if found else 0.0


def _tasks(
    attempts: Sequence[_Attempt], begin: int, slots: int, boot: float
) -> Iterator[dict[str, float]]:
    """The measures of each task, of a stage that began then; in the order they were launched."""
    free = [begin] * slots
    for one in attempts:
        since = min(heapq.heappop(free), one.started)
        heapq.heappush(free, one.finished)
        launched = _launched(one, boot)
        fetching = max(0.0, one.fetched - launched) if one.kind == REDUCE else 0.0
        counters = one.counters
        yield {
            "task_seconds": (one.finished - since) / 1e3,
            "scheduler_delay_seconds": (launched - since) / 1e3,
            "fetch_wait_seconds": fetching / 1e3,
            "gc_seconds": counters.get("GC_TIME_MILLIS", 0) / 1e3,
            "cpu_seconds": sum(counters.get(name, 0) for name in _PROCESSORS) / 1e3,
            "exchange_bytes": counters.get("REDUCE_SHUFFLE_BYTES", 0),
            "output_bytes": counters.get("MAP_OUTPUT_MATERIALIZED_BYTES", 0),
        }


def _launched(one: _Attempt, boot: float) -> float:
    """When its work began: a map task says so, a reduce task fetches before it could."""
    if one.kind == MAP and one.began:
        return min(max(one.began, one.started), one.finished)
    if one.kind == REDUCE and one.jvm:
        return min(max(one.jvm + boot, one.started), one.fetched)
    return one.started
