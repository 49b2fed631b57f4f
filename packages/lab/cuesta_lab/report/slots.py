"""Waits of cores without a task, by the stages that the engine's log has."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cuesta.report.records import Run, number, objects
from cuesta.trial import STAGES_MAX


@dataclass(frozen=True, kw_only=True)
class Slots:
    """When tasks could run, after the engine's start.

    Attributes
    ----------
    between
        Intervals in which no stage ran: the leader gathered results or planned tasks.
    staged_seconds
        Seconds in which at least one stage ran.
    few_seconds
        Core seconds in which there were stages, but fewer tasks in them than cores.
    """

    between: tuple[tuple[float, float], ...]
    staged_seconds: float
    few_seconds: float

    @property
    def between_seconds(self) -> float:
        """Seconds in which no stage ran."""
        return sum(end - begin for begin, end in self.between)

    def part_between(self, begin: float, end: float) -> float:
        """Part of an interval in which no stage ran, 0 to 1."""
        overlaps = (min(end, to) - max(begin, since) for since, to in self.between)
        return (
            sum(overlap for overlap in overlaps if overlap > 0) / (end - begin)
            if end > begin
            else 0.0
        )


UNKNOWN = Slots(between=(), staged_seconds=0.0, few_seconds=0.0)
"""Slots of a run without stages."""


def slots(run: Run, cores: int) -> Slots:
    """The slots of a run on a number of cores; `UNKNOWN` where its record has no stages.

    For a run with more stages than are recorded, slots after the last recorded one are unknown.
    """
    start = sum(phase.seconds for phase in run.phases if phase.name == "start")
    rows = list(_rows(run, start))
    if not rows:
        return UNKNOWN
    last = max(end for _, end, _ in rows)
    end = last if len(rows) >= STAGES_MAX else max(last, run.number("wall_seconds") or 0.0)
    changes = sorted([*((b, 1, n) for b, _, n in rows), *((e, -1, -n) for _, e, n in rows)])
    between, staged, few = [], 0.0, 0.0
    now, stages, tasks = start, 0, 0
    for when, step, count in [*changes, (end, 0, 0)]:
        if when > now:
            if stages == 0:
                between.append((now, when))
            else:
                staged += when - now
                few += (when - now) * max(0, cores - tasks)
        now, stages, tasks = max(now, when), stages + step, tasks + count
    return Slots(between=tuple(between), staged_seconds=staged, few_seconds=few)


def _rows(run: Run, start: float) -> Iterator[tuple[float, float, int]]:
    """Begin and end of each stage after the start of the engine, and its number of tasks."""
    for stage in objects(run.fields.get("stages"))[:STAGES_MAX]:
        began, seconds = number(stage.get("began")) or 0.0, number(stage.get("seconds")) or 0.0
        if seconds > 0 and began + seconds > start:
            tasks = int(number(stage.get("tasks")) or 0)
            yield max(start, began), began + seconds, tasks
