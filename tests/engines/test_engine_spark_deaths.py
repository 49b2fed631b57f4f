"""An executor that dies: Spark starts another, repeats its tasks, and the answer is the same."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

from cuesta.cli.app import call
from cuesta.engines.spark import SparkEngine
from labkit import below, record_of

BLOCKS = ["--blocks", "400", "--block-vectors", "1000000"]


@pytest.mark.timeout(300)
@pytest.mark.skipif(SparkEngine().missing() is not None, reason="Spark is not installed")
def test_a_killed_executor_is_replaced_and_the_answer_is_that_of_native(tmp_path: Path) -> None:
    assert call(["run", "dataflow", *BLOCKS, "-o", str(tmp_path / "native")]) == 0
    words = [sys.executable, "-m", "cuesta", "run", "dataflow", *BLOCKS, "--engine", "spark"]
    words += ["--master", "local-cluster[2,1,1024]", "--engine-option", "partitions=30"]
    words += ["--memory", "1536MiB"]
    process = subprocess.Popen([*words, "-o", str(tmp_path / "spark")])
    try:
        os.kill(an_executor_at_work(process.pid), signal.SIGKILL)
        assert process.wait(240) == 0
    finally:
        process.kill()
    record = record_of(tmp_path / "spark")
    assert record["answer"]["digest"] == record_of(tmp_path / "native")["answer"]["digest"]


def an_executor_at_work(pid: int) -> int:
    """Return an executor that started a Python worker half a second ago."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        for executor in below(pid, "CoarseGrainedExecutorBackend"):
            if below(executor, "pyspark.daemon"):
                time.sleep(0.5)
                return executor
        time.sleep(0.1)
    raise AssertionError("no executor worked")
