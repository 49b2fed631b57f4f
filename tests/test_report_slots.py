"""Cores without a task wait for a named cause."""

from __future__ import annotations

from typing import Any

import pytest

import reportkit as kit
from cuesta.report.records import to_run
from cuesta.trial import STAGES_MAX
from cuesta_lab.report import attribution as causes
from cuesta_lab.report.attribution import Attribution, attribution
from cuesta_lab.report.slots import UNKNOWN, Slots, slots


def stage(began: float, seconds: float, tasks: int = 4) -> dict[str, Any]:
    return {"name": "s", "began": began, "seconds": seconds, "tasks": tasks, "each": {}}


def record(stages: list[dict[str, Any]], **fields: Any) -> kit.Record:
    """Return a record of 4 s, with 1 s of engine start, on two idle cores."""
    return kit.native() | {
        "threads": 2,
        "wall_seconds": 4.0,
        "phases": [kit.phase("start", 1.0)],
        "stages": stages,
        "engine_log": {},
        **fields,
    }


def slots_of(stages: list[dict[str, Any]], cores: int = 2) -> Slots:
    return slots(to_run(record(stages), "a"), cores)


def attributed(fields: kit.Record) -> Attribution:
    result = attribution(to_run(fields, "a"))
    assert result is not None
    assert sum(result.core_seconds.values()) == pytest.approx(result.cores * result.wall_seconds)
    return result


def test_stages_that_overlap_leave_no_time_between_them() -> None:
    result = slots_of([stage(1.5, 1.0, 1), stage(2.0, 1.0, 1), stage(3.5, 0.25, 1)])
    assert result.between == ((1.0, 1.5), (3.0, 3.5), (3.75, 4.0))
    assert result.between_seconds == pytest.approx(1.25)
    assert result.staged_seconds == pytest.approx(1.75)
    # From 2.0 to 2.5 s two tasks ran on two cores, else one.
    assert result.few_seconds == pytest.approx(1.25)
    assert result.part_between(3.0, 4.0) == pytest.approx(0.75)
    assert result.part_between(2.0, 2.0) == 0.0


def test_a_run_without_stages_has_no_slots() -> None:
    assert slots_of([]) == UNKNOWN
    # Time before the end of the start belongs to the start.
    assert slots_of([stage(0.0, 1.0)]) == UNKNOWN
    assert slots_of([stage(0.5, 1.5)]).between == ((2.0, 4.0),)


def test_the_time_after_the_recorded_stages_is_not_attributed() -> None:
    many = [stage(1 + at / STAGES_MAX, 0.5 / STAGES_MAX) for at in range(STAGES_MAX)]
    assert slots_of(many).between[-1][1] < 2.0
    began, ended = slots_of(many[:-1]).between[-1]
    assert began == pytest.approx(2.0, abs=0.01)
    assert ended == 4.0


def test_cores_that_are_idle_while_no_stage_runs_wait_for_the_leader() -> None:
    """A core computes all the time; after 3 s no stage is left."""
    ends = [1.0, 2.0, 3.0, 4.0]
    busy = {"user_seconds": [1.0] * 4, "system_seconds": [0.0] * 4}
    line = {"seconds": ends, "tree": busy, "machine": busy}
    result = attributed(record([stage(1.0, 1.0), stage(2.0, 1.0, 1)], timeline=line))
    assert result.core_seconds == pytest.approx(
        {
            causes.STARTING: 2.0,
            causes.COMPUTING: 3.0,
            causes.LEADER: 1.0,
            # The second stage has one task for two cores.
            causes.SKEW: 1.0,
            causes.IDLE: 1.0,
        }
    )


def test_of_a_run_elsewhere_nothing_is_left_without_a_cause() -> None:
    """A second of start, one in stages on two cores, and two of work in the leader. Python's time
    and its start were in tasks without a cause, and the time between stages was idle: a tenth and
    more of runs on a cluster of Spark. Now each has a cause.
    """
    log = {
        "task_seconds": 1.5, "cpu_seconds": 0.25, "python_cpu_seconds": 0.5, "gc_seconds": 0.125,
        "scheduler_delay_seconds": 0.25, "fetch_wait_seconds": 0.25, "python_start_seconds": 0.125,
        "python_queued_seconds": 0.0625, "python_blocked_seconds": 0.0625, "tail_seconds": 0.25,
    }  # fmt: skip
    settings = {"engine_options": {"master": "spark://host:7077"}, "engine_log": log}
    result = attributed(record([stage(2.0, 1.0)], **settings))
    assert result.core_seconds == pytest.approx(
        {
            causes.STARTING: 2.0,
            causes.COMPUTING: 0.625,
            causes.COLLECTION: 0.125,
            # For a quarter of a second a core had no task, though some were waiting for launch.
            causes.SCHEDULER: 0.5,
            causes.NETWORK: 0.25,
            causes.WORKERS: 0.125,
            causes.QUEUED: 0.0625,
            causes.STORAGE: 0.0625,
            causes.SKEW: 0.25,
            causes.LEADER: 4.0,
        }
    )
    assert causes.UNSEEN not in result.core_seconds
    assert result.main_wait == causes.LEADER


def test_a_start_of_python_takes_no_more_than_tasks_have_left() -> None:
    log = {"task_seconds": 1.0, "python_cpu_seconds": 0.75, "python_start_seconds": 9.0}
    settings = {"engine_options": {"master": "spark://host:7077"}, "engine_log": log}
    result = attributed(record([], **settings))
    assert result.core_seconds[causes.WORKERS] == pytest.approx(0.25)
    assert result.core_seconds[causes.IDLE] == pytest.approx(5.0)
