"""A record counts the processes of all nodes, or has no value that it cannot count."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from clusterkit import QUICK, call
from cuesta.engines import get_engine
from cuesta.engines.mpi import launch
from cuesta.engines.mpi.usage import place, total
from cuesta.lab.probe import Usage, with_remote
from cuesta.processes import parents
from cuesta.report.records import to_run
from cuesta.trial import RemoteUse
from cuesta_lab.report.attribution import OTHERS, attribution
from labkit import record_of
from slurmkit import slurm
from sortkit import write_records
from testbed_slurm import SlurmBed

__all__ = ["slurm"]

HAS_MPI = get_engine("mpi").missing() is None
RECORDS = 100_000
COUNTED = ("cpu_seconds", "peak_resident_bytes", "read_bytes", "written_bytes")


@pytest.fixture
def records(tmp_path: Path) -> Path:
    return write_records(tmp_path / "records.dat", RECORDS)


def check_counted(record: dict[str, Any], ranks: int) -> None:
    """Check the counts: each rank loads Python and reads its part of the input."""
    assert record["remote"]["processes"] == ranks
    assert record["read_bytes"] >= 100 * RECORDS
    assert record["peak_resident_bytes"] > (ranks + 1) * 20 << 20
    assert record["cpu_seconds"] >= record["remote"]["cpu_seconds"] > 0


@pytest.mark.skipif(not HAS_MPI, reason="there is no MPI")
def test_ranks_on_nodes_of_a_job_are_counted(
    slurm: SlurmBed, tmp_path: Path, records: Path
) -> None:
    """Ranks that `srun` starts are no descendants of the command, even on its node."""
    output = tmp_path / "sorted"
    run = ["run", "sort", str(records), "--engine", "mpi", "-o", str(output)]
    options = [*QUICK, "--scheduler", "slurm", "--nodes", "2", "--set", "poll=1", "--cores", "1"]
    done = call("submit", *options, "--wait", "-o", str(tmp_path / "cluster"), "--", *run,
                **slurm.environment())  # fmt: skip
    assert done.returncode == 0, done.stdout
    check_counted(record_of(output), 2)
    result = attribution(to_run(record_of(output), "run"))
    assert result is not None
    assert result.share(OTHERS) == 0


@pytest.mark.skipif(not HAS_MPI, reason="there is no MPI")
def test_ranks_other_than_the_first_are_counted(tmp_path: Path, records: Path) -> None:
    output = tmp_path / "sorted"
    run = ["run", "sort", str(records), "--engine", "mpi", "-o", str(output)]
    launcher = launch.launcher()
    assert launcher is not None
    words = [launcher, "-n", "2", sys.executable, "-m", "cuesta", *run]
    done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    check_counted(record_of(output), 1)


@pytest.mark.skipif(not HAS_MPI, reason="there is no MPI")
def test_ranks_below_the_command_are_counted_once(tmp_path: Path, records: Path) -> None:
    output = tmp_path / "sorted"
    words = ["run", "sort", str(records), "--engine", "mpi", "--ranks", "2", "-o", str(output)]
    done = subprocess.run([sys.executable, "-m", "cuesta", *words], check=False, timeout=120)
    assert done.returncode == 0
    assert "remote" not in record_of(output)


USAGE = Usage(
    wall_seconds=1.0, cpu_seconds=2.0, peak_resident_bytes=3, resident_before_bytes=4, read_bytes=5,
    written_bytes=6, device_read_bytes=7, device_written_bytes=8, load_average=9.0,
)  # fmt: skip


def test_what_was_not_counted_is_absent_and_never_small() -> None:
    result = with_remote(USAGE, RemoteUse(processes=3, read_bytes=10))
    assert result.read_bytes == 15
    assert (result.wall_seconds, result.resident_before_bytes) == (1.0, 4)
    assert {result.cpu_seconds, result.peak_resident_bytes, result.written_bytes} == {None}
    assert asdict(with_remote(USAGE, None)) == asdict(USAGE)


def test_a_rank_that_knows_nothing_makes_the_sum_unknown() -> None:
    counted = {"node": "a", "peak_resident_bytes": 1, "cpu_seconds": 1.0, "read_bytes": 1,
             "written_bytes": 1, "device_read_bytes": 1, "device_written_bytes": 1}  # fmt: skip
    assert total([None, None]) is None
    assert total([None, counted, counted | {"node": "b"}]) == RemoteUse(
        processes=2, nodes=2, peak_resident_bytes=2, cpu_seconds=2.0, read_bytes=2, written_bytes=2,
        device_read_bytes=2, device_written_bytes=2,
    )  # fmt: skip
    assert total([counted, {"node": "a"}]) == RemoteUse(processes=2, nodes=1)


def test_parents_reach_up_to_the_first_process() -> None:
    assert parents(os.getpid())[0] == os.getppid()
    assert place()["process"].startswith(f"{os.getpid()}:")


@pytest.mark.skipif(get_engine("spark").missing() is not None, reason="Spark is not installed")
def test_workers_of_a_master_are_absent_from_the_record(tmp_path: Path, records: Path) -> None:
    output = tmp_path / "sorted"
    run = ["run", "sort", str(records), "--engine", "spark", "-o", str(output)]
    options = ["--nodes", "1", "--cores", "1", "--memory", "1536MiB", "--set", "stop=2"]
    done = call("submit", *options, "--wait", "-o", str(tmp_path / "cluster"), "--", *run)
    assert done.returncode == 0, done.stdout
    record = record_of(output)
    assert record["remote"] == {}
    assert not set(COUNTED) & record.keys()
    assert not set(COUNTED) & record["samples"][0].keys()
    assert "not counted, like CPU and bytes read: workers ran on other nodes" in done.stdout
