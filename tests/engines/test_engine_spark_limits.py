"""Spark's own limits are measured: tasks without work, and the transport of its shuffles."""

from __future__ import annotations

from pathlib import Path

import pytest

import sparkkit as kit
from cuesta.engines import get_engine


@pytest.mark.parametrize(
    ("name", "rates"),
    [
        ("spark", {"tasks_per_s"}),
        (
            "spark-scala",
            {"tasks_per_s", "transport_bytes_per_s", "transport_round_trips_per_s"},
        ),
    ],
)
def test_tasks_without_work_and_blocks_are_counted(
    name: str, rates: set[str], tmp_path: Path
) -> None:
    engine = get_engine(name)
    if engine.missing():
        pytest.skip(str(engine.missing()))
    # A process has one JVM.
    kit.engine().close()
    engine.prepare(lambda _: None)
    try:
        measured = engine.limits(2, tmp_path, 2)
    finally:
        engine.close()
    assert measured.keys() == rates
    assert all(len(samples) == 2 and min(samples) > 1 for samples in measured.values())
