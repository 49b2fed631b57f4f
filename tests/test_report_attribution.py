"""Each second of each core is attributed to a single cause, whatever the record has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reportkit as kit
from cuesta.report.records import to_run
from cuesta_lab.report import attribution as causes
from cuesta_lab.report.attribution import Attribution, attribution
from cuesta_lab.report.explain import explain

SECONDS = [1.0, 2.0]


def columns(**values: float) -> dict[str, list[float]]:
    """Return columns with equal values in both intervals."""
    return {name: [value] * len(SECONDS) for name, value in values.items()}


def timed(process_seconds: float, log: kit.Record | None = None, **groups: Any) -> kit.Record:
    """A record of two seconds on two cores, whose processes computed `process_seconds` in each."""
    tree = columns(user_seconds=0.75 * process_seconds, system_seconds=0.25 * process_seconds)
    line = {
        "seconds": SECONDS,
        "tree": tree,
        "machine": columns(user_seconds=process_seconds),
    } | groups
    fields = kit.spark() if log else kit.native()
    return fields | {"timeline": line, "phases": [], "engine_log": log or {}}


def on_cores(cores: int, record: kit.Record) -> kit.Record:
    """Return the run with all data of this number of cores."""
    return record | {"threads": cores, "machine": record["machine"] | {"cores_usable": cores}}


def pressure(resource: str, some: float, full: float) -> dict[str, list[float]]:
    """Return pressure in wall seconds, as the kernel counts it."""
    return columns(**{f"{resource}_some_seconds": some, f"{resource}_full_seconds": full})


def attributed(record: kit.Record) -> Attribution:
    result = attribution(to_run(record, "a"))
    assert result is not None
    assert sum(result.core_seconds.values()) == pytest.approx(result.cores * result.wall_seconds)
    return result


@pytest.mark.parametrize(
    ("cause", "record"),
    [
        (causes.STORAGE, timed(0.5, machine=columns(user_seconds=0.5, iowait_seconds=1.2))),
        (causes.STORAGE, timed(0.5, pressure=columns(io_some_seconds=0.9))),
        (causes.MEMORY, timed(0.5, pressure=columns(memory_some_seconds=0.9))),
        (causes.QUOTA, timed(0.5, quota=columns(throttled_seconds=1.4))),
        (causes.OTHERS, timed(0.5, machine=columns(user_seconds=1.9))),
        (causes.COLLECTION, timed(1.9, {"gc_seconds": 1.5})),
        (causes.SERIALIZATION, timed(1.9, {"deserialize_seconds": 0.9, "serialize_seconds": 0.6})),
        (causes.NETWORK, timed(0.5, {"fetch_wait_seconds": 2.0})),
        (causes.SCHEDULER, timed(0.5, {"scheduler_delay_seconds": 2.0})),
        (causes.SKEW, timed(1.2, {"tail_seconds": 1.1})),
        (None, timed(1.9)),
        (None, timed(0.4)),
    ],
)
def test_the_cause_of_waiting_is_named(cause: str | None, record: kit.Record) -> None:
    assert attributed(record).main_wait == cause


def test_all_cores_stand_still_while_the_only_thread_waits() -> None:
    """Seconds of pressure were taken for core seconds.

    With all of eight cores waiting for a disk all the time, `explain` attributed an eighth of
    their time to waiting, and more than half to idleness. Now all cores wait.
    """
    result = attributed(on_cores(8, timed(0.4, pressure=pressure("io", 0.6, 0.6))))
    assert result.share(causes.STORAGE) == pytest.approx(0.6)
    assert result.main_wait == causes.STORAGE


def test_a_thread_that_waits_while_another_computes_takes_a_single_core() -> None:
    # The kernel's mean over two cores with tasks, one of which waits.
    result = attributed(on_cores(16, timed(1.0, pressure=pressure("io", 0.5, 0.5))))
    assert result.share(causes.STORAGE) == pytest.approx(1 / 16)
    assert result.main_wait is None


def test_cores_that_wait_half_of_the_time_each_wait_half_of_it_together() -> None:
    for resource, cause in (("io", causes.STORAGE), ("memory", causes.MEMORY)):
        result = attributed(on_cores(8, timed(4.0, pressure=pressure(resource, 0.5, 0.5))))
        assert result.share(cause) == pytest.approx(0.5)
        assert result.main_wait == cause


@given(st.lists(st.floats(0, 1), min_size=1, max_size=16))
def test_pressure_of_cores_that_never_sleep_becomes_what_they_waited(waits: list[float]) -> None:
    cores, computed = len(waits), len(waits) - sum(waits)
    mean = sum(waits) / cores
    result = attributed(on_cores(cores, timed(computed, pressure=pressure("io", mean, mean))))
    waited = result.core_seconds.get(causes.STORAGE, 0.0)
    assert waited == pytest.approx(2 * sum(waits), abs=1e-6)


def test_no_more_cores_wait_than_compute_nothing() -> None:
    record = timed(0.5, machine=columns(user_seconds=6.0), pressure=pressure("io", 1.0, 0.9))
    result = attributed(on_cores(8, record))
    assert result.core_seconds[causes.STORAGE] == pytest.approx(2 * 2.0)
    assert result.core_seconds[causes.OTHERS] == pytest.approx(2 * 5.5)


def test_who_waits_until_memory_is_read_back_waits_for_memory() -> None:
    both = pressure("io", 0.9, 0.9) | pressure("memory", 0.9, 0.9)
    record = timed(0.1, pressure=both, machine=columns(user_seconds=0.1, iowait_seconds=1.8))
    result = attributed(record)
    assert result.main_wait == causes.MEMORY
    assert result.share(causes.STORAGE) == pytest.approx(0.0, abs=1e-9)


def test_time_before_the_engine_is_ready_is_its_start() -> None:
    record = timed(0.5) | {"phases": [kit.phase("start", 1.5), kit.phase("scan", 0.5)]}
    result = attributed(record)
    assert result.main_wait == causes.STARTING
    assert result.core_seconds[causes.STARTING] == pytest.approx(3.0)


def test_other_programs_may_have_the_cores_that_a_run_does_not() -> None:
    record = timed(0.9, machine=columns(user_seconds=1.9)) | {"threads": 1}
    assert attributed(record).core_seconds.get(causes.OTHERS, 0.0) == 0.0


def test_a_log_that_exceeds_the_available_time_is_capped() -> None:
    result = attributed(timed(1.0, {"gc_seconds": 99.0, "fetch_wait_seconds": 99.0}))
    assert result.core_seconds == pytest.approx({causes.COLLECTION: 2.0, causes.NETWORK: 2.0})


def test_a_run_elsewhere_or_without_a_time_line_has_none() -> None:
    assert attribution(to_run(kit.native(), "a")) is None
    for options in ({"master": "spark://host:7077"}, {"scheduler": "tcp://host:8786"}):
        elsewhere = timed(0.5) | {"engine_options": options}
        assert attribution(to_run(elsewhere, "a")) is None
    # MPI ranks for which this machine has no cores.
    assert attribution(to_run(timed(0.5) | {"threads": 64}, "a")) is None
    lines: list[Any] = [{"seconds": [1.0, "x"]}, {"seconds": []}, {"seconds": [0]}, []]
    for wrong in lines:
        assert attribution(to_run(kit.native() | {"timeline": wrong}, "a")) is None


def test_ranks_that_compute_while_they_wait_are_waiting() -> None:
    """Two ranks on two cores for 2 s each: they worked 2 s, exchanged 0.5 s and waited 1.5 s."""
    log = {"task_seconds": 2.5, "exchange_seconds": 0.5, "rank_wait_seconds": 1.5}
    # The fifth of a second without computation is attributed to waiting first.
    expected = {causes.COMPUTING: 2.0, causes.NETWORK: 0.5, causes.SKEW: 1.5}
    assert attributed(timed(1.9, log)).core_seconds == pytest.approx(expected)
    # Other programs had half of the cores; half of that was taken from waits.
    busy = timed(1.0, log, machine=columns(user_seconds=2.0))
    halves = {cause: seconds / 2 for cause, seconds in expected.items()} | {causes.OTHERS: 2.0}
    assert attributed(busy).core_seconds == pytest.approx(halves)


def test_a_run_elsewhere_is_attributed_by_the_log_of_its_tasks() -> None:
    """Two seconds of two cores: tasks took 3 s, and a core had no task at the end of a stage."""
    log = {
        "task_seconds": 3.0, "cpu_seconds": 9.0, "gc_seconds": 0.25, "fetch_wait_seconds": 0.5,
        "scheduler_delay_seconds": 1.0, "tail_seconds": 0.5
    }  # fmt: skip
    bare = kit.native() | {"phases": [], "wall_seconds": 2.0, "threads": 2, "engine_log": log}
    hadoop = bare | {
        "versions": {"hadoop": "3.5.0 on YARN"},
        "stages": [{"each": {"cpu_seconds": [0.5, 0.75]}}],
    }
    seconds_by_cause = {
        causes.COMPUTING: 1.0,
        causes.COLLECTION: 0.25,
        causes.NETWORK: 0.5,
        causes.SCHEDULER: 1.0,
        causes.UNSEEN: 0.25,
        causes.SKEW: 0.5,
        causes.IDLE: 0.5,
    }
    assert attributed(hadoop).core_seconds == pytest.approx(seconds_by_cause)
    assert attributed(hadoop).main_wait == causes.SCHEDULER
    # A log with only a part of a task's processor time does not show what was computed.
    spark = bare | {"engine_options": {"master": "spark://host:7077"}}
    rest = {causes.COMPUTING: 0.0, causes.UNSEEN: 1.25}
    expected = {name: value for name, value in (seconds_by_cause | rest).items() if value}
    assert attributed(spark).core_seconds == pytest.approx(expected)


@given(st.lists(st.floats(0, 5), min_size=6, max_size=6))
def test_all_causes_add_up_to_all_cores(amounts: list[float]) -> None:
    process_seconds, busy, wait, throttled, start, logged = amounts
    names = ("gc_seconds", "serialize_seconds", "fetch_wait_seconds", "tail_seconds")
    record = timed(
        process_seconds,
        dict.fromkeys(names, logged),
        machine=columns(user_seconds=busy, iowait_seconds=wait),
        quota=columns(throttled_seconds=throttled),
        pressure=pressure("io", wait / 2, wait / 3) | pressure("memory", wait / 3, wait / 5),
    )
    result = attributed(record | {"phases": [kit.phase("start", start)]})
    assert min(result.core_seconds.values()) > 0


def test_explain_draws_it_and_names_what_could_be_gained(tmp_path: Path) -> None:
    record = timed(0.5, machine=columns(user_seconds=0.5, iowait_seconds=1.2))
    text = explain(kit.write_run(tmp_path / "a", record))
    assert "Cores: 2 for 2.00 s" in text
    words = " ".join(text.split())
    assert (
        "Its cores spent 60 % of their time waiting for storage. If that were free, it would take "
        "about 800 ms with all else as it is, and 500 ms at best, with its work spread evenly over "
        "all cores and no other wait."
    ) in words


def test_explain_shows_a_single_time_where_nothing_else_is_lost(tmp_path: Path) -> None:
    record = timed(0.5, machine=columns(user_seconds=0.5, iowait_seconds=1.5))
    words = " ".join(explain(kit.write_run(tmp_path / "a", record)).split())
    assert "If that were free, it would take 500 ms at best." in words


def test_no_run_without_a_wait_is_faster_than_explain_predicts() -> None:
    # A thread on four cores reads half of the time: the rest are idle because of the disk.
    half = timed(0.5, pressure=pressure("io", 0.5, 0.5))
    result = attributed(on_cores(4, half))
    assert result.seconds_without(causes.STORAGE) == pytest.approx(1.0)
    assert result.seconds_least(causes.STORAGE) == pytest.approx(1.0 / 4)
    # Without garbage collection: neither the collection nor a wait that it may have caused.
    record = timed(1.0, {"gc_seconds": 1.0}, quota=columns(throttled_seconds=0.5))
    assert attributed(record).seconds_least(causes.COLLECTION) == pytest.approx(0.5)
