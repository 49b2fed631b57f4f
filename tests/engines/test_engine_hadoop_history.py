"""Tasks in Hadoop's job history: lines in the form of a real YARN, of a few tasks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cuesta.engines.hadoop.history import read, stages, sums

CLASSES = "org.apache.hadoop.mapreduce.jobhistory."
T0 = 1_795_656_300_000
"""Time of the job's submission."""


def event(kind: str, name: str, **fields: Any) -> str:
    text = json.dumps({"type": kind, "event": {f"{CLASSES}{name}": fields}}, separators=(",", ":"))
    return f"{text}\n"


def head(name: str = "cuesta sort: exchange") -> list[str]:
    return [
        "Avro-Json\n",
        '{"type":"record","name":"Event"}\n',
        event("AM_STARTED", "AMStarted", startTime=T0 + 900),
        "\n",
        event("JOB_SUBMITTED", "JobSubmitted", jobName=name, submitTime=T0),
        "\n",
    ]


def attempt(kind: str, number: int, times: tuple[int, ...], **counters: int) -> list[str]:
    """Return the start and end events of an attempt.

    For a reduce task, the end of its fetch is between them. Times are milliseconds since the job
    was submitted.
    """
    name = f"attempt_1_0002_{kind[0].lower()}_{number:06}_0"
    task_fields = {
        "taskid": name[:-2].replace("attempt", "task"),
        "attemptId": name,
        "taskType": kind,
    }
    fetched = {"shuffleFinishTime": T0 + times[1]} if kind == "REDUCE" else {}
    counts = [
        {"name": name, "displayName": name, "value": count} for name, count in counters.items()
    ]
    groups = [{"name": "org.apache.hadoop.mapreduce.TaskCounter", "counts": counts}]
    end = {"finishTime": T0 + times[-1], "counters": {"name": "COUNTERS", "groups": groups}}
    finished_kind = f"{kind.capitalize()}AttemptFinished"
    return [
        event(
            f"{kind}_ATTEMPT_STARTED", "TaskAttemptStarted", **task_fields, startTime=T0 + times[0]
        ),
        "\n",
        event(f"{kind}_ATTEMPT_FINISHED", finished_kind, **task_fields, **fetched, **end),
        "\n",
    ]


def at(jvm: int, began: int) -> dict[str, int]:
    return {"JVM_STARTED_MS": T0 + jvm, "BEGAN_MS": T0 + began}


def lines() -> list[str]:
    """Return three map tasks and a reduce task on two slots."""
    return [
        *head(),
        *attempt("MAP", 0, (3000, 8000), **at(3500, 4500), CPU_MILLISECONDS=500, CHILD_CPU_MS=2000),
        *attempt("MAP", 1, (3200, 7000), **at(3800, 4800), GC_TIME_MILLIS=100),
        *attempt("MAP", 2, (7500, 9000), **at(7700, 8700), MAP_OUTPUT_MATERIALIZED_BYTES=11),
        *attempt(
            "REDUCE", 0, (10_000, 14_000, 16_000), **at(10_500, 14_100), REDUCE_SHUFFLE_BYTES=7
        ),
    ]


def test_a_job_is_a_stage_of_map_tasks_and_a_stage_of_reduce_tasks() -> None:
    first, second = stages(lines(), 2)
    assert (first.name, first.began, first.seconds, first.tasks) == (
        "exchange: map", T0 / 1e3, 9.0, 3
    )  # fmt: skip
    assert (second.name, second.began, second.tasks) == ("exchange: reduce", T0 / 1e3 + 9, 1)
    assert second.seconds == pytest.approx(7.0)


def test_the_time_of_a_task_begins_where_its_slot_was_free() -> None:
    first, second = stages(lines(), 2)
    assert first.each == {
        "task_seconds": (8.0, 7.0, 2.0),
        # Until its child began, a task waited for its container and its JVM.
        "scheduler_delay_seconds": (4.5, 4.8, 1.7),
        "cpu_seconds": (2.5, 0.0, 0.0),
        "gc_seconds": (0.0, 0.1, 0.0),
        "output_bytes": (0, 0, 11),
    }
    # JVMs of map tasks took a second until their tasks began: fetching began at 11.5 s.
    assert second.each == {
        "task_seconds": (7.0,),
        "scheduler_delay_seconds": (2.5,),
        "fetch_wait_seconds": (2.5,),
        "exchange_bytes": (7,),
    }


def test_sums_have_slots_without_a_task_at_the_end() -> None:
    totals = sums(stages(lines(), 2), 2)
    assert totals == pytest.approx(
        {
            "task_seconds": 24.0,
            "scheduler_delay_seconds": 13.5,
            "fetch_wait_seconds": 2.5,
            "tail_seconds": 1.0,
        }
    )
    assert sums([], 2) == {}


def test_attempts_that_failed_and_tasks_of_other_programs_are_understood() -> None:
    """Without our counters the start of a JVM is unknown; a failed attempt has no end."""
    kind = "MAP_ATTEMPT_STARTED"
    failed = event(kind, "TaskAttemptStarted", attemptId="a", taskType="MAP", startTime=T0 + 1000)
    killed = event("MAP_ATTEMPT_FAILED", "TaskAttemptUnsuccessfulCompletion", attemptId="a")
    (only,) = stages([*head("TeraSort"), failed, killed, *attempt("MAP", 0, (2000, 5000))], 1)
    assert (only.name, only.tasks) == ("TeraSort: map", 1)
    assert only.each["scheduler_delay_seconds"] == (2.0,)


def test_a_folder_of_histories_is_read_with_truncated_histories(tmp_path: Path) -> None:
    (tmp_path / "job_1_0001-x.jhist").write_text("".join(lines())[:-200])
    (tmp_path / "job_1_0002-y.jhist").write_text("".join(lines()))
    (tmp_path / ".job_1_0002-y.jhist.crc").write_bytes(b"crc")
    assert [stage.name for stage in read(tmp_path, 2)] == [
        "exchange: map", "exchange: map", "exchange: reduce"
    ]  # fmt: skip
    assert read(tmp_path / "none", 2) == []
