"""Spark's event log: rolled, compressed and still being written, it is read once and in order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cuesta.engines.spark.eventlog import EventLog, facts, stages
from cuesta.engines.spark.losses import losses
from cuesta.trial import TASKS_MAX, Stage, limit_tasks


def job(number: int, stages: list[int], group: str | None) -> dict[str, Any]:
    properties = {} if group is None else {"spark.jobGroup.id": group}
    return {
        "Event": "SparkListenerJobStart",
        "Job ID": number,
        "Stage IDs": stages,
        "Properties": properties,
    }


def task(stage: int, **metrics: Any) -> dict[str, Any]:
    info = {"Launch Time": 1000, "Finish Time": 3000, "Failed": False, "Killed": False}
    return {
        "Event": "SparkListenerTaskEnd",
        "Stage ID": stage,
        "Task Info": info | {"Getting Result Time": 0},
        "Task Metrics": metrics,
    }


def stage(number: int) -> dict[str, Any]:
    return {"Event": "SparkListenerStageCompleted", "Stage Info": {"Stage ID": number}}


METRICS = {
    "Executor Run Time": 1200,
    "Executor CPU Time": 900_000_000,
    "Executor Deserialize Time": 300,
    "Result Serialization Time": 100,
    "JVM GC Time": 50,
    "Disk Bytes Spilled": 7,
    "Shuffle Read Metrics": {
        "Remote Bytes Read": 5,
        "Local Bytes Read": 6,
        "Remote Blocks Fetched": 1,
        "Local Blocks Fetched": 2,
        "Fetch Wait Time": 20,
    },
    "Shuffle Write Metrics": {"Shuffle Bytes Written": 11},
    "Input Metrics": {"Bytes Read": 1000},
    "Output Metrics": {"Bytes Written": 10},
}


def lines(*events: dict[str, Any]) -> bytes:
    """Return lines as Spark writes them: the kind comes first, without spaces."""
    return b"".join(json.dumps(event, separators=(",", ":")).encode() + b"\n" for event in events)


def test_tasks_of_a_group_are_summed() -> None:
    events = [job(0, [0, 1], "a"), task(0, **METRICS), task(1, **METRICS), stage(0), stage(1)]
    events += [job(1, [2], "b"), task(2, **METRICS), stage(2), job(2, [3], None), task(3)]
    counts = facts(events, "a")
    expected = {
        "map_run_seconds": 0.0,
        "reduce_run_seconds": 2.4,
        "shuffle_read_blocks": 6,
        "jobs": 1,
        "stages": 2,
        "tasks": 2,
        "tasks_failed": 0,
        "task_seconds": 4.0,
        "run_seconds": 2.4,
        "cpu_seconds": 1.8,
        "scheduler_delay_seconds": 0.8,
        "gc_seconds": 0.1,
        "fetch_wait_seconds": 0.04,
        "input_bytes": 2000,
        "output_bytes": 20,
        "shuffle_read_bytes": 22,
        "shuffle_write_bytes": 22,
        "spilled_disk_bytes": 14,
        "spilled_memory_bytes": 0,
        "deserialize_seconds": 0.6,
        "serialize_seconds": 0.2,
        "tail_seconds": 0.0,
    }
    assert counts == pytest.approx(expected)
    assert facts(events, "c") == {}


def test_cores_without_a_task_at_the_end_of_a_stage_are_counted() -> None:
    """The last task of stage 0 is launched at 3 s and ends at 9 s, two others at 4 and 5 s. The
    core of the task that ended at 3 s was counted too, though the last task has it: a run on a slow
    link waited for more core seconds than it had.
    """
    events = [job(0, [0, 1], "a")]
    for at, (launch, finish) in enumerate([(1, 3), (1, 4), (1, 5), (3, 9)]):
        event = task(0)
        event["Task Info"] |= {
            "Index": at,
            "Launch Time": 1000 * launch,
            "Finish Time": 1000 * finish,
        }
        events.append(event)
    assert facts([*events, task(1)], "a")["tail_seconds"] == 5 + 4


def test_the_start_of_python_workers_is_what_their_code_did_not_take() -> None:
    run_metric, code_metric = "time to run Python workers", "time to execute Python code"
    sums = [{"Name": run_metric, "Update": "900"}, {"Name": code_metric, "Update": "650"}]
    python_task, plain = task(0, **METRICS), task(0, **METRICS)
    python_task["Task Info"] |= {
        "Accumulables": [*sums, *sums, {"Name": "duration", "Update": "7"}]
    }
    assert facts([job(0, [0], "a"), python_task], "a")["python_start_seconds"] == pytest.approx(0.5)
    assert "python_start_seconds" not in facts([job(0, [0], "a"), plain], "a")


def test_stages_of_a_group_have_their_times() -> None:
    info = {"Stage Name": "map at /a b/c-d/X.py:1", "Number of Tasks": 4}
    times = {"Submission Time": 5500, "Completion Time": 7000}
    late = stage(1) | {"Stage Info": {"Stage ID": 1, **info, **times}}
    early = stage(0) | {"Stage Info": late["Stage Info"] | {"Stage ID": 0, "Submission Time": 5000}}
    other = stage(2) | {"Stage Info": late["Stage Info"] | {"Stage ID": 2}}
    events = [job(0, [0, 1, 3], "a"), late, early, stage(3), job(1, [2], "b"), other]
    assert stages(events, "a") == [
        Stage(name="map at X.py:1", began=5.0, seconds=2.0, tasks=4),
        Stage(name="map at X.py:1", began=5.5, seconds=1.5, tasks=4),
    ]


def test_tasks_of_a_stage_have_what_they_measured_in_the_order_of_their_launch() -> None:
    info = {"Stage ID": 0, "Submission Time": 1000, "Completion Time": 9000}
    late, early, failed = (task(0, **METRICS) for _ in range(3))
    late["Task Info"] |= {"Launch Time": 2000, "Finish Time": 9000}
    early["Task Info"] |= {"Finish Time": 9500}
    failed["Task Info"] |= {"Failed": True}
    completed = {"Event": "SparkListenerStageCompleted", "Stage Info": info}
    second_attempt = {
        **completed,
        "Stage Info": info | {"Stage Attempt ID": 1, "Submission Time": 9100},
    }
    first, second = stages([job(0, [0], "a"), late, early, failed, completed, second_attempt], "a")
    assert first.each == {
        "task_seconds": (8.5, 7.0),
        "scheduler_delay_seconds": (6.9, 5.4),
        "fetch_wait_seconds": (0.02, 0.02),
        "gc_seconds": (0.05, 0.05),
        "serialize_seconds": (0.4, 0.4),
        "input_bytes": (1000, 1000),
        "exchange_bytes": (11, 11),
        "output_bytes": (21, 21),
    }
    # Tasks belong to an attempt of a stage; no processor time, as Spark has none of Python.
    assert second.each == {}


def test_no_more_tasks_than_a_record_holds_are_recorded() -> None:
    full_stages = [
        Stage(name=str(at), began=at, seconds=1, tasks=TASKS_MAX // 2, each={"task_seconds": many})
        for at, many in enumerate([(1.0,) * (TASKS_MAX // 2)] * 3)
    ]
    limited = limit_tasks(full_stages)
    assert [len(limited_stage.each) for limited_stage in limited] == [1, 1, 0]
    assert [limited_stage.tasks for limited_stage in limited] == [TASKS_MAX // 2] * 3


def ended(stage: int, index: int, seconds: int, reason: str = "Success") -> dict[str, Any]:
    event = task(stage)
    event["Task Info"] |= {"Index": index, "Finish Time": 1000 + 1000 * seconds}
    return event | {"Task End Reason": {"Reason": reason}}


def test_the_cost_of_lost_executors_is_reported() -> None:
    """Task 1 is lost with its executor; task 0 had ended, but its blocks are lost, too."""
    removed = {"Event": "SparkListenerExecutorRemoved", "Removed Reason": "Command exited: 137"}
    events = [job(0, [0, 1], "a"), ended(0, 0, 3), removed, ended(0, 1, 2, "ExecutorLostFailure")]
    events += [ended(0, 0, 3, "Resubmitted"), ended(0, 1, 5), ended(1, 0, 1, "FetchFailed")]
    events += [ended(0, 0, 4), ended(1, 0, 7), ended(9, 0, 7)]
    costs = losses(events, "a")
    assert costs == {"executors_lost": 1, "tasks_lost": 3, "repeated_task_seconds": 3 + 2 + 1}
    assert losses(events, "b") == {}


def test_an_executor_that_was_ended_on_request_is_not_lost() -> None:
    removed = {"Event": "SparkListenerExecutorRemoved", "Removed Reason": "Killed by driver."}
    costs = losses([job(0, [0], "a"), ended(0, 0, 3), removed], "a")
    assert costs == {"executors_lost": 0, "tasks_lost": 0, "repeated_task_seconds": 0}


def test_a_task_that_reads_no_shuffle_maps() -> None:
    mapping = {**METRICS, "Shuffle Read Metrics": {"Remote Bytes Read": 0}}
    counts = facts([job(0, [0], "a"), task(0, **METRICS), task(0, **mapping)], "a")
    assert counts["map_run_seconds"] == pytest.approx(1.2)
    assert counts["reduce_run_seconds"] == pytest.approx(1.2)


def test_a_task_that_failed_has_no_metrics_but_counts() -> None:
    failed = task(0)
    failed["Task Info"]["Failed"] = True
    failed["Task Metrics"] = None
    counts = facts([job(0, [0], "a"), failed], "a")
    assert (counts["tasks"], counts["tasks_failed"]) == (1, 1)
    assert counts["scheduler_delay_seconds"] == 0


def test_a_log_that_grows_and_rolls_is_read_once(tmp_path: Path) -> None:
    folder = tmp_path / "eventlog_v2_app"
    folder.mkdir()
    log = EventLog(tmp_path)
    assert list(log.events()) == []
    first = folder / "events_1_app"
    text = lines(job(0, [0], "a"), task(0))
    first.write_bytes(text[:-10])
    assert [event["Event"] for event in log.events()] == ["SparkListenerJobStart"]
    first.write_bytes(text + lines({"Event": "SparkListenerLogStart"}))
    assert [event["Event"] for event in log.events()] == ["SparkListenerTaskEnd"]
    for number in (5, 6):
        first.write_bytes(first.read_bytes() + lines(task(number)))
        assert [event["Stage ID"] for event in log.events()] == [number]
    first.write_bytes(first.read_bytes() + lines(task(1)))
    (folder / "events_2_app").write_bytes(lines(task(2)))
    (folder / "events_10_app").write_bytes(lines(task(3)))
    (folder / "appstatus_app.inprogress").touch()
    assert [event["Stage ID"] for event in log.events()] == [1, 2, 3]
    assert list(log.events()) == []


def test_a_compressed_log_is_read_up_to_its_truncation(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    file = tmp_path / "events_1_app.zstd"
    with pa.OSFile(str(file), "wb") as raw, pa.CompressedOutputStream(raw, "zstd") as out:
        out.write(lines(*[task(number) for number in range(20_000)]))
    compressed = file.read_bytes()
    assert len(list(EventLog(file).events())) == 20_000
    file.write_bytes(compressed[: len(compressed) * 3 // 4])
    log = EventLog(file)
    stage_ids = [event["Stage ID"] for event in log.events()]
    assert stage_ids == list(range(len(stage_ids)))
    assert 1000 < len(stage_ids) < 20_000
    file.write_bytes(compressed)
    assert [event["Stage ID"] for event in log.events()] == list(range(len(stage_ids), 20_000))
