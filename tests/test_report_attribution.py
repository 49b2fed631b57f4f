"""Each second of each core goes to one cause, whatever the record says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import reportkit as kit
from cuesta.report import attribution as causes
from cuesta.report.attribution import Attribution, attribution
from cuesta.report.explain import explain
from cuesta.report.records import to_run

SECONDS = [1.0, 2.0]


def columns(**values: float) -> dict[str, list[float]]:
    """The same in both intervals."""
    return {name: [value] * len(SECONDS) for name, value in values.items()}


def timed(own: float, log: kit.Record | None = None, **groups: Any) -> kit.Record:
    """A record of two seconds on two cores, of each of which its processes computed `own`."""
    tree = columns(user_seconds=0.75 * own, system_seconds=0.25 * own)
    line = {"seconds": SECONDS, "tree": tree, "machine": columns(user_seconds=own)} | groups
    fields = kit.spark() if log else kit.native()
    return fields | {"timeline": line, "phases": [], "engine_log": log or {}}


def found(record: kit.Record) -> Attribution:
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
    assert found(record).main_wait == cause


def test_what_is_done_before_the_engine_is_there_is_its_start() -> None:
    record = timed(0.5) | {"phases": [kit.phase("start", 1.5), kit.phase("scan", 0.5)]}
    result = found(record)
    assert result.main_wait == causes.STARTING
    assert result.core_seconds[causes.STARTING] == pytest.approx(3.0)


def test_other_programs_may_have_the_cores_that_a_run_does_not() -> None:
    record = timed(0.9, machine=columns(user_seconds=1.9)) | {"threads": 1}
    assert found(record).core_seconds.get(causes.OTHERS, 0.0) == 0.0


def test_a_log_that_says_more_than_there_was_takes_no_more() -> None:
    result = found(timed(1.0, {"gc_seconds": 99.0, "fetch_wait_seconds": 99.0}))
    assert result.core_seconds == pytest.approx({causes.COLLECTION: 2.0, causes.NETWORK: 2.0})


def test_a_run_elsewhere_or_without_a_time_line_has_none() -> None:
    assert attribution(to_run(kit.native(), "a")) is None
    for options in ({"master": "spark://host:7077"}, {"scheduler": "tcp://host:8786"}):
        elsewhere = timed(0.5) | {"engine_options": options}
        assert attribution(to_run(elsewhere, "a")) is None
    # Ranks of MPI that this machine has no cores for.
    assert attribution(to_run(timed(0.5) | {"threads": 64}, "a")) is None
    lines: list[Any] = [{"seconds": [1.0, "x"]}, {"seconds": []}, {"seconds": [0]}, []]
    for wrong in lines:
        assert attribution(to_run(kit.native() | {"timeline": wrong}, "a")) is None


@given(st.lists(st.floats(0, 5), min_size=6, max_size=6))
def test_all_causes_add_up_to_all_cores(amounts: list[float]) -> None:
    own, busy, wait, throttled, start, logged = amounts
    names = ("gc_seconds", "serialize_seconds", "fetch_wait_seconds", "tail_seconds")
    record = timed(
        own,
        dict.fromkeys(names, logged),
        machine=columns(user_seconds=busy, iowait_seconds=wait),
        quota=columns(throttled_seconds=throttled),
        pressure=columns(io_some_seconds=wait / 2, memory_some_seconds=wait / 3),
    )
    result = found(record | {"phases": [kit.phase("start", start)]})
    assert min(result.core_seconds.values()) > 0


def test_explain_draws_it_and_says_what_could_be_gained(tmp_path: Path) -> None:
    record = timed(0.5, machine=columns(user_seconds=0.5, iowait_seconds=1.2))
    text = explain(kit.write_run(tmp_path / "a", record))
    assert "Cores: 2 for 2.00 s" in text
    words = " ".join(text.split())
    assert "Its cores spent 60 % of their time waiting for storage." in words
    assert "it would take 800 ms at best" in words
