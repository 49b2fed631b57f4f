"""A replay of the tasks of a run: its time without one cause of waiting or computing.

The engine's log has the time of each task and some of its waits. The rest is divided by
the task's time of processors where that is known, else by the time line of the machine. The tasks
are run again, as numbers, in the order they were launched, on as many cores: once as they were, and
once for each cause without its part of each task, of the time between stages, and of the start.
The gain of a run is at most that: waits may hide other waits.

Source: the blocked times of Ousterhout et al., NSDI 2015.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from cuesta.report.records import Fields, Run, mapping, number, objects
from cuesta_lab.model.replay import Cluster, replay
from cuesta_lab.model.tasks import Stage, before
from cuesta_lab.report.attribution import (
    COLLECTION,
    COMPUTING,
    LEADER,
    MEMORY,
    NETWORK,
    OTHERS,
    QUOTA,
    SCHEDULER,
    SERIALIZATION,
    SKEW,
    STARTING,
    STORAGE,
    UNSEEN,
    Span,
    spans,
)

AWAY_MAX = 0.2
"""Largest relative difference of replay and run at which the replay describes the run."""
GAIN_LEAST = 0.02
"""Smallest gain for which a cause is worth a line."""
STAGES_MAX = 1000
TASKS_MAX = 20_000

_LOGGED = {
    SCHEDULER: "scheduler_delay_seconds",
    NETWORK: "fetch_wait_seconds",
    COLLECTION: "gc_seconds",
    SERIALIZATION: "serialize_seconds",
}
_TIME_LINE_CAUSES = (COMPUTING, STORAGE, MEMORY, QUOTA, OTHERS)
"""Causes that the time line distinguishes in the rest of a task."""

Parts = dict[str, float]
"""Seconds by cause; they add up to the whole."""


@dataclass(frozen=True, kw_only=True)
class WhatIf:
    """Result of a replay.

    Attributes
    ----------
    tasks, cores
        Number of tasks, and of cores.
    wall_seconds, replayed_seconds
        Time of the run, and of its replay without changes.
    without
        By cause, about the least that the run would take without it, longest gain first.
    """

    tasks: int
    cores: int
    wall_seconds: float
    replayed_seconds: float
    without: Mapping[str, float]

    @property
    def describes_the_run(self) -> bool:
        """Whether the replay takes about as long as the run did."""
        return abs(self.replayed_seconds / self.wall_seconds - 1) <= AWAY_MAX


@dataclass(frozen=True, kw_only=True)
class _Piece:
    """A stage, or the time before one: the time of each task by cause, and its predecessors."""

    tasks: Sequence[Parts]
    after: tuple[int, ...]


def what_if(run: Run) -> WhatIf | None:
    """Replay a run's tasks; None where its record has no times of them."""
    cores = int(run.number("threads") or 0)
    wall = run.number("wall_seconds") or 0.0
    rows = [
        stage for stage in objects(run.fields.get("stages"))[:STAGES_MAX] if _ends(stage)[1] > 0
    ]
    if cores < 1 or wall <= 0 or not any(_column(row, "task_seconds") for row in rows):
        return None
    pieces = _pieces(run, sorted(rows, key=_ends), wall)
    count = sum(len(piece.tasks) for piece in pieces[1::2])
    asis = _replayed(pieces, cores, "") if count <= TASKS_MAX else 0.0
    if asis <= 0:
        return None
    causes = dict.fromkeys(name for piece in pieces for task in piece.tasks for name in task)
    replayed = {
        cause: wall * _replayed(pieces, cores, cause) / asis
        for cause in [*causes, SKEW, LEADER]
        if cause not in (COMPUTING, UNSEEN)
    }
    gaining = {cause: s for cause, s in replayed.items() if s <= (1 - GAIN_LEAST) * wall}
    return WhatIf(
        tasks=count,
        cores=cores,
        wall_seconds=wall,
        replayed_seconds=asis,
        without=dict(sorted(gaining.items(), key=lambda item: item[1])),
    )


def _replayed(pieces: Sequence[_Piece], cores: int, without: str) -> float:
    """Seconds of all pieces, without the time of a cause."""
    stages = []
    for index, one in enumerate(pieces):
        seconds = [sum(s for cause, s in task.items() if cause != without) for task in one.tasks]
        if without == SKEW:
            seconds = [sum(seconds) / len(seconds)]
        if without == LEADER and not index % 2:
            # Between stages the leader works; what begins before any is the start.
            seconds = [task.get(STARTING, 0.0) for task in one.tasks]
        stages.append(
            Stage(
                name=str(index),
                count=len(one.tasks),
                after=one.after,
                place="disk",
                cpu_s=tuple(seconds),
                input_bytes=(0.0,),
                exchange_bytes=(0.0,),
                output_bytes=(0.0,),
            )
        )
    return replay(stages, Cluster(nodes=1, cores=cores)).seconds


def _pieces(run: Run, rows: Sequence[Fields], wall: float) -> list[_Piece]:
    """Stages as pieces, each after a piece for the time before it; at the end the rest."""
    line = spans(run)
    start = sum(phase.seconds for phase in run.phases if phase.name == "start")
    ends = [_ends(row) for row in rows]
    pieces: list[_Piece] = []
    for row, (began, ended) in zip(rows, ends, strict=True):
        earlier = before(ends, began)
        since = max((ends[index][1] for index in earlier), default=0.0)
        after = tuple(2 * index + 1 for index in earlier)
        pieces.append(_Piece(tasks=[_between(line, since, began, start)], after=after))
        tasks = _tasks(row, _window(line, began, ended)) or [{COMPUTING: ended - began}]
        pieces.append(_Piece(tasks=tasks, after=(len(pieces) - 1,)))
    last = before(ends, wall)
    since = max((ends[index][1] for index in last), default=0.0)
    after = tuple(2 * index + 1 for index in last)
    return [*pieces, _Piece(tasks=[_between(line, since, wall, start)], after=after)]


def _between(line: Sequence[Span], begin: float, end: float, start: float) -> Parts:
    """The time between stages, in which a leader works alone; up to `start` the engine starts."""
    starting = max(0.0, min(start, end) - begin)
    rest = max(0.0, end - begin - starting)
    parts = {cause: rest * part for cause, part in _window(line, begin + starting, end).items()}
    return ({STARTING: starting} if starting else {}) | parts


def _window(line: Sequence[Span], begin: float, end: float) -> Parts:
    """Shares of the causes in the time of cores that were not idle; all computing if none."""
    core_seconds = dict.fromkeys(_TIME_LINE_CAUSES, 0.0)
    for span in line:
        overlap = min(end, span.begin + span.length) - max(begin, span.begin)
        if overlap > 0:
            for cause in _TIME_LINE_CAUSES:
                core_seconds[cause] += span.core_seconds[cause] * overlap / span.length
    total = sum(core_seconds.values())
    if total <= 0:
        return {COMPUTING: 1.0}
    return {cause: seconds / total for cause, seconds in core_seconds.items() if seconds > 0}


def _tasks(row: Fields, window: Parts) -> list[Parts]:
    """Seconds of each task of a stage by cause."""
    columns = {cause: _column(row, name) for cause, name in _LOGGED.items()}
    processors = _column(row, "cpu_seconds")
    tasks = []
    for index, task_seconds in enumerate(_column(row, "task_seconds")):
        remaining, parts = task_seconds, dict[str, float]()
        for cause, column in columns.items():
            seconds = min(remaining, column[index]) if index < len(column) else 0.0
            if seconds > 0:
                parts[cause] = seconds
                remaining -= seconds
        if index < len(processors):
            inside = sum(parts.get(cause, 0.0) for cause in (COLLECTION, SERIALIZATION))
            computing = min(remaining, max(0.0, processors[index] - inside))
            tasks.append(parts | {COMPUTING: computing, UNSEEN: remaining - computing})
        else:
            tasks.append(parts | {cause: remaining * part for cause, part in window.items()})
    return tasks


def _ends(row: Fields) -> tuple[float, float]:
    """Begin and end of a stage."""
    began = max(0.0, number(row.get("began")) or 0.0)
    return began, began + max(0.0, number(row.get("seconds")) or 0.0)


def _column(row: Fields, name: str) -> list[float]:
    """A measure of each task."""
    values = mapping(row.get("each")).get(name)
    listed = values if isinstance(values, list | tuple) else []
    return [max(0.0, number(value) or 0.0) for value in listed[:TASKS_MAX]]
