"""After any kill at any moment, no process, shared memory or temporary file remains.

`CUESTA_KILLS=100` makes a soak of it.
"""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

import testbed_slurm
from clusterkit import QUICK, call, is_in, state, wait_for
from cuesta.cluster import watchdog
from cuesta.engines import get_engine
from killkit import (
    ENDING_SIGNALS,
    OF_MPI,
    OF_SPARK,
    carrying,
    family,
    files,
    kill,
    leftovers,
    started,
    wait_for_nothing,
)
from slurmkit import slurm
from sortkit import write_records
from testbed_slurm import SlurmBed

__all__ = ["slurm"]

KILLS = int(os.environ.get("CUESTA_KILLS", "4"))
RECORDS = 200_000
LONGEST_SECONDS = 1.5
NEEDS_MPI = pytest.mark.skipif(get_engine("mpi").missing() is not None, reason="there is no MPI")
NEEDS_SPARK = pytest.mark.skipif(
    get_engine("spark").missing() is not None, reason="Spark is not installed"
)


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_records(tmp_path_factory.mktemp("records") / "records.dat", RECORDS)


@pytest.fixture
def job(tmp_path: Path, slurm: SlurmBed) -> Iterator[Path]:
    """Folder of a job, which is ended even if the test fails."""
    yield tmp_path / "cluster"
    testbed_slurm.cancel_all(slurm)


@NEEDS_MPI
@pytest.mark.parametrize("seed", range(KILLS))
def test_nothing_of_mpi_is_left(tmp_path: Path, records: Path, seed: int) -> None:
    """Kill the command, its launcher, a proxy or a rank, by Ctrl-C, SIGTERM or signal 9."""
    draw, mark, before = random.Random(seed), f"CUESTA_KILLED={uuid4().hex}", files(OF_MPI)
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    options = ["--engine", "mpi", "--ranks", "2", "--scratch", str(scratch)]
    with started(
        ["run", "sort", str(records), *options, "-o", str(tmp_path / "out")], mark
    ) as process:
        wait_for(lambda: family(process.pid)[1:], "the launcher runs")
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(draw.uniform(0, LONGEST_SECONDS))
        alive = family(process.pid) if process.poll() is None else []
        is_command = bool(alive) and draw.random() < 0.5
        victims = alive[:1] if is_command else alive[1:]
        number = draw.choice(ENDING_SIGNALS) if is_command else signal.SIGKILL
        victim_name = kill(victims, number, draw) if victims else "it had ended"
        process.wait(60)
    assert wait_for_nothing(lambda: carrying(mark)) == [], victim_name
    assert leftovers(OF_MPI, before) == set(), victim_name
    if not (is_command and number == signal.SIGKILL):
        # A killed command leaves its folders to the next run.
        assert list(scratch.iterdir()) == [], victim_name


LAUNCH = """
import sys
from cuesta.engines.mpi import launch
rank = "import time; from mpi4py import MPI; time.sleep(60)"
launch.run_program(2, [sys.executable, "-c", rank])
"""


@NEEDS_MPI
def test_nothing_of_mpi_is_left_where_no_rank_watches_yet() -> None:
    """A command was killed before its first rank watched: the file of the launcher stayed."""
    before, mark = files(OF_MPI), f"CUESTA_KILLED={uuid4().hex}"
    environment = os.environ | dict([mark.split("=")])
    with subprocess.Popen([sys.executable, "-c", LAUNCH], env=environment) as process:
        wait_for(lambda: files(OF_MPI) - before, "the launcher describes the machine")
        process.kill()
    assert wait_for_nothing(lambda: carrying(mark)) == []
    assert leftovers(OF_MPI, before) == set()


@NEEDS_MPI
@pytest.mark.parametrize("seed", range(KILLS))
def test_nothing_of_a_job_is_left(
    slurm: SlurmBed, job: Path, tmp_path: Path, records: Path, seed: int
) -> None:
    """Kill leader, agents, `srun`, watchdogs, command, launcher or ranks by signal 9."""
    draw, before, scratch = random.Random(seed), files(OF_MPI), tmp_path / "scratch"
    scratch.mkdir()
    options = [*QUICK, "--scheduler", "slurm", "--nodes", "2", "--set", "poll=1", "--cores", "1"]
    # The leader waits for an agent that is killed before its greeting.
    options += ["--set", "start=20"]
    run = ["run", "sort", str(records), "--engine", "mpi", "-o", str(tmp_path / "out")]
    words = ["--scratch", str(scratch), "-o", str(job), "--", *run]
    assert call("submit", *options, *words, **slurm.environment()).returncode == 0
    reached = draw.choice(["starting", "running"])
    wait_for(is_in(job, reached, "running", "stopping", "ended"), "it has come so far")
    cluster = f"{state(job)['cluster']}/"
    time.sleep(draw.uniform(0, LONGEST_SECONDS))
    victims = watchdog.marked(cluster)
    victim_name = kill(victims, signal.SIGKILL, draw) if victims else "it had ended"
    wait_for(lambda: not slurm.run("squeue", "--noheader"), f"the job ends after {victim_name}")
    assert wait_for_nothing(lambda: watchdog.marked(cluster)) == [], victim_name
    assert wait_for_nothing(lambda: [*scratch.iterdir()]) == [], victim_name
    assert leftovers(OF_MPI, before) == set(), victim_name


PROGRAM = """
import time
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
data = spark.sparkContext.parallelize(range(1000), 4).map(lambda one: (one % 7, one))
print("sum", data.reduceByKey(lambda a, b: a + b).count(), flush=True)
time.sleep(60)
"""


@NEEDS_SPARK
def test_a_driver_of_spark_that_is_killed_leaves_nothing(tmp_path: Path) -> None:
    """A user's program: its JVM is killed, and cannot remove its folders."""
    before, scratch, folder = files(OF_SPARK), tmp_path / "scratch", tmp_path / "cluster"
    scratch.mkdir()
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    options = ["--nodes", "1", "--cores", "1", "--memory", "1536MiB", "--set", "stop=2"]
    words = ["--scratch", str(scratch), "-o", str(folder), "--"]
    assert call("submit", *options, *words, sys.executable, str(program)).returncode == 0
    log = folder / "logs" / "leader.log"
    wait_for(lambda: log.exists() and "sum 7" in log.read_text(), "the job of Spark is done")
    driver = watchdog.marked(f"{state(folder)['cluster']}/driver")
    for pid in driver:
        os.kill(pid, signal.SIGKILL)
    wait_for(is_in(folder, "ended", "failed"), "it ends")
    assert wait_for_nothing(lambda: [*scratch.iterdir()]) == []
    assert leftovers(OF_SPARK, before) == set()
