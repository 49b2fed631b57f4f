"""The time of a run without a wait, by a replay of its tasks: sums that are done by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reportkit as kit
from cuesta.report.records import to_run
from cuesta_lab.report import attribution as causes
from cuesta_lab.report.explain import explain
from cuesta_lab.report.whatif import WhatIf, what_if


def stage(began: float, seconds: float, tasks: list[float], **each: list[float]) -> kit.Record:
    return {
        "name": "s",
        "began": began,
        "seconds": seconds,
        "tasks": len(tasks),
        "each": {"task_seconds": tasks} | each,
    }


def ran(wall: float, stages: list[kit.Record], cores: int = 2, **more: Any) -> kit.Record:
    """Return a run on Spark with these stages, without a time line unless it is passed."""
    fields = kit.spark() | {"wall_seconds": wall, "threads": cores, "stages": stages}
    return fields | {"phases": [], "timeline": {}} | more


def replayed(record: kit.Record) -> WhatIf:
    result = what_if(to_run(record, "a"))
    assert result is not None
    return result


def test_what_tasks_waited_for_the_network_is_taken_out_of_each() -> None:
    """Four tasks in two waves; half of each task is a wait, and so is half of each wave."""
    result = replayed(ran(4.0, [stage(0, 4, [2.0] * 4, fetch_wait_seconds=[1.0] * 4)]))
    assert (result.tasks, result.cores) == (4, 2)
    assert result.replayed_seconds == pytest.approx(4.0)
    assert result.without == {causes.NETWORK: pytest.approx(2.0)}


def test_a_wait_during_a_longer_task_gains_nothing() -> None:
    """The sum of all waits is a quarter of the task time; without it the run takes as long."""
    waits = stage(0, 4, [4.0, 4.0], fetch_wait_seconds=[2.0, 0.0])
    assert replayed(ran(4.0, [waits])).without == {}


def test_the_longest_task_is_what_skew_costs() -> None:
    result = replayed(ran(9.0, [stage(0, 9, [1.0, 9.0])]))
    assert result.without == {causes.SKEW: pytest.approx(5.0)}


def test_the_start_and_the_leader_between_stages_are_causes() -> None:
    stages = [stage(3, 1, [1.0, 1.0], gc_seconds=[0.5, 0.5]), stage(5, 1, [1.0, 1.0])]
    start = [{"name": "start", "seconds": 2.0}]
    result = replayed(ran(7.0, stages, phases=start))
    assert result.replayed_seconds == pytest.approx(7.0)
    assert result.without == {
        causes.LEADER: pytest.approx(4.0),
        causes.STARTING: pytest.approx(5.0),
        causes.COLLECTION: pytest.approx(6.5),
    }


def test_a_stage_that_begins_when_another_ends_waits_for_it() -> None:
    """Sums of floats had put the end of the first stage after the beginning of the second."""
    stages = [stage(0.1, 0.2, [0.2]), stage(0.3, 1, [1.0])]
    assert 0.1 + 0.2 > 0.3
    assert replayed(ran(1.3, stages, cores=1)).replayed_seconds == pytest.approx(1.3)


def test_stages_side_by_side_share_the_cores() -> None:
    """Two stages of a task each that took 2 s together: neither waits for the other."""
    stages = [stage(0, 2, [2.0]), stage(0, 2, [2.0], fetch_wait_seconds=[2.0]), stage(2, 1, [1.0])]
    result = replayed(ran(3.0, stages))
    assert result.replayed_seconds == pytest.approx(3.0)
    assert result.without.keys() == {causes.SKEW} or result.without == {}


def test_processor_time_of_tasks_divides_what_their_log_does_not_know() -> None:
    """A task of four seconds computed one and waited one; the rest has no known cause."""
    tasks = stage(0, 4, [4.0], cpu_seconds=[1.0], scheduler_delay_seconds=[1.0])
    assert replayed(ran(4.0, [tasks])).without == {causes.SCHEDULER: pytest.approx(3.0)}


def test_the_time_line_divides_what_the_log_does_not_know() -> None:
    """In the second half of the run the cores wait for a disk; so does the second stage."""
    line = {
        "seconds": [2.0, 4.0],
        "tree": {"user_seconds": [4.0, 1.0], "system_seconds": [0.0, 0.0]},
        "machine": {
            "user_seconds": [4.0, 1.0], "system_seconds": [0.0, 0.0], "iowait_seconds": [0.0, 3.0]
        },
    }  # fmt: skip
    stages = [stage(0, 2, [2.0, 2.0]), stage(2, 2, [2.0, 2.0])]
    machine = kit.spark()["machine"] | {"cores_usable": 2}
    result = replayed(ran(4.0, stages, timeline=line, machine=machine))
    assert result.without == {causes.STORAGE: pytest.approx(2.5)}


def test_a_replay_that_misses_the_run_is_marked(tmp_path: Path) -> None:
    """Tasks that hardly waited for a core may have had more cores than the record has."""
    record = ran(4.0, [stage(0, 4, [4.0] * 6, fetch_wait_seconds=[2.0] * 6)], cores=1)
    result = replayed(record)
    assert not result.describes_the_run
    (tmp_path / "run.json").write_text(json.dumps(record))
    assert "a replay does not describe it" in " ".join(explain(tmp_path).split())


def test_explain_lists_what_would_be_gained(tmp_path: Path) -> None:
    tasks = stage(0, 4, [2.0] * 4, fetch_wait_seconds=[1.0] * 4, gc_seconds=[0.5] * 4)
    (tmp_path / "run.json").write_text(json.dumps(ran(4.0, [tasks])))
    lines = explain(tmp_path).splitlines()
    at = lines.index("What if")
    text = " ".join(lines[at + 1 :])
    assert "The 4 tasks of its log, replayed on 2 cores, take 4.00 s" in text
    network, collection = lines[at + 3 : at + 5]
    assert network.split() == [
        "2.00",
        "s",
        "without",
        "waiting",
        "for",
        "the",
        "network",
        "50",
        "%",
        "less",
    ]
    assert collection.split()[:3] == ["3.00", "s", "without"]


def test_runs_without_times_of_tasks_have_no_replay() -> None:
    assert what_if(to_run(kit.native(), "a")) is None
    bare = {**stage(0, 4, []), "each": {}}
    assert what_if(to_run(ran(4.0, [bare]), "a")) is None
    odd = {"name": 3, "began": "x", "seconds": 4, "each": {"task_seconds": ["y", -1, None]}}
    assert what_if(to_run(ran(4.0, [odd]), "a")) is None


seconds = st.floats(0.01, 50)


@given(st.lists(st.lists(st.tuples(seconds, st.floats(0, 1)), min_size=1, max_size=9), max_size=5),
       st.integers(1, 4))  # fmt: skip
def test_nothing_gained_is_more_than_what_was_waited(
    stage_tasks: list[list[tuple[float, float]]], cores: int
) -> None:
    """Stages in sequence: each ends no earlier than without its waits on unlimited cores."""
    stages, at = [], 0.0
    for tasks in stage_tasks:
        durations = [duration for duration, _ in tasks]
        waits = [duration * part for duration, part in tasks]
        length = sum(durations)
        stages.append(stage(at, length, durations, fetch_wait_seconds=waits))
        at += length
    result = what_if(to_run(ran(at or 1.0, stages, cores=cores), "a"))
    if result is None:
        assert not stage_tasks
        return
    least = sum(
        max(duration - duration * part for duration, part in tasks) for tasks in stage_tasks
    )
    scale = result.wall_seconds / result.replayed_seconds
    for time in result.without.values():
        assert 0 <= time <= result.wall_seconds
    if causes.NETWORK in result.without:
        assert result.without[causes.NETWORK] >= scale * least * (1 - 1e-9)
