"""The end of a cluster, and its wait for nodes, in words and exit codes."""

from __future__ import annotations

import re
import shlex
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import testbed_slurm
from clusterkit import QUICK, call, command, is_in, state, wait_for, wait_until_gone
from slurmkit import slurm
from testbed_slurm import MEMORY_MIB, SlurmBed

__all__ = ["slurm"]

PARTITION = (*QUICK, "--scheduler", "slurm", "--set", "poll=1")
SLURM = (*PARTITION, "--nodes", "2")
ADDRESS = re.compile(r"\d+\.\d+\.\d+\.\d+")


@pytest.fixture
def job(tmp_path: Path, slurm: SlurmBed) -> Iterator[Path]:
    """Folder of a job, which is ended even if the test fails."""
    yield tmp_path / "cluster"
    testbed_slurm.cancel_all(slurm)


@pytest.mark.parametrize(
    ("words", "line", "code"),
    [("exit 7", "failed: exit 7", 7), ("kill -9 $$", "failed: killed by signal 9", 137)],
)
def test_the_state_reports_the_end_of_the_command(
    tmp_path: Path, words: str, line: str, code: int
) -> None:
    folder = tmp_path / "cluster"
    done = call("submit", *QUICK, "--wait", "-o", str(folder), "--", "/bin/sh", "-c", words)
    assert done.returncode == code
    status = call("status", str(folder))
    assert (status.returncode, status.stdout.splitlines()[0]) == (code, line)
    assert ADDRESS.search(status.stdout) is None
    wait_until_gone(folder)


def test_a_command_that_ended_well_is_no_failure(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    assert call("submit", *QUICK, "--wait", "-o", str(folder), "--", "/bin/true").returncode == 0
    status = call("status", str(folder))
    assert (status.returncode, status.stdout.splitlines()[0]) == (0, "ended")


def test_a_folder_where_something_ran_is_not_used_again(tmp_path: Path) -> None:
    words = ["submit", *QUICK, "--wait", "-o", str(tmp_path / "cluster"), "--", "/bin/true"]
    assert call(*words).returncode == 0
    done = call(*words)
    assert done.returncode == 2
    assert "has a cluster already (ended); name another folder with -o" in done.stderr


def test_a_waiting_job_reports_its_reason_and_a_cancelled_job_is_cancelled(
    slurm: SlurmBed, job: Path
) -> None:
    """Three nodes of two: Slurm accepts the job, and never starts it."""
    words = command(
        "submit", *PARTITION, "--nodes", "3", "--wait", "-o", str(job), "--", "/bin/true"
    )
    with subprocess.Popen(
        words,
        env=slurm.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as waiting:
        assert waiting.stderr is not None
        lines = [waiting.stderr.readline() for _ in range(2)]
        number = (job / "job").read_text()
        assert lines[0] == f"cuesta: job {number}, in {job}\n"
        assert lines[1] == f"cuesta: job {number} waits: PartitionConfig\n"
        status = call("status", str(job), **slurm.environment())
        assert status.returncode == 0
        assert status.stdout == "submitted: the job waits: PartitionConfig\n"
        slurm.run("scancel", number)
        assert waiting.wait(60) == 3
    status = call("status", str(job), **slurm.environment())
    line = f"cancelled: job {number} was cancelled before it began\n"
    assert (status.returncode, status.stdout) == (3, line)
    # Nothing ran there, so the next job may use the folder.
    done = call(
        "submit", *SLURM, "--wait", "-o", str(job), "--", "/bin/echo", "ran", **slurm.environment()
    )
    assert (done.returncode, done.stdout) == (0, "ran\n")


def test_a_cancelled_job_needs_no_grace(slurm: SlurmBed, job: Path) -> None:
    """The state file is recent, and Slurm reports that the job never had a node."""
    words = ["submit", *PARTITION, "--nodes", "3", "-o", str(job), "--", "/bin/true"]
    assert call(*words, **slurm.environment()).returncode == 0
    slurm.run("scancel", (job / "job").read_text())
    started_s = time.time()
    status = call("status", str(job), **slurm.environment())
    assert status.stdout.startswith("cancelled: ")
    assert (job / "cluster.json").stat().st_mtime >= started_s


def test_what_slurm_refused_can_be_submitted_again(slurm: SlurmBed, job: Path) -> None:
    words = ["-o", str(job), "--", "/bin/echo", "ran"]
    done = call("submit", *SLURM, "--queue", "none", *words, **slurm.environment())
    assert done.returncode == 2
    done = call("submit", *SLURM, "--wait", *words, **slurm.environment())
    assert (done.returncode, done.stdout) == (0, "ran\n")


def test_memory_and_cores_are_those_of_the_job(slurm: SlurmBed, job: Path) -> None:
    done = call(
        "submit", *SLURM, "--wait", "-o", str(job), "--", "/bin/true", **slurm.environment()
    )
    assert done.returncode == 0, done.stdout
    nodes = state(job)["nodes"]
    assert [node["memory_bytes"] for node in nodes] == [MEMORY_MIB // 4 * 3 << 20] * 2
    assert [node["cores"] for node in nodes] == [1, 1]


def test_a_missing_input_is_refused_before_the_job_waits(tmp_path: Path) -> None:
    folder, missing = tmp_path / "cluster", tmp_path / "none.dat"
    words = ["-o", str(folder), "--", "run", "sort", str(missing), "-o", str(tmp_path / "out")]
    done = call("submit", *QUICK, *words)
    assert done.returncode == 2
    assert (
        done.stderr == f"cuesta: {missing}: no such file or folder; give a path that the nodes have"
        " too (nothing was submitted)\n"
    )
    assert not folder.exists()
    done = call("submit", *QUICK, *words[:-2], "--bad", "-o", str(tmp_path / "out"))
    assert done.returncode == 2
    assert "No such option: --bad" in done.stderr
    assert not folder.exists()


def test_an_engine_without_its_service_is_reported(tmp_path: Path) -> None:
    """The path exists on the nodes alone, so the check is left to them."""
    words = ["run", "sort", "/nowhere/none.dat", "-o", str(tmp_path / "out"), "--engine", "spark"]
    done = call("submit", *QUICK, "--wait", "-o", str(tmp_path / "cluster"), "--", *words)
    assert done.returncode != 0
    assert "/nowhere/none.dat: is not visible here" in done.stderr
    assert "--engine spark: the cluster has no Spark (--with mpi)" in done.stderr


def test_a_scratch_below_no_folder_is_refused_and_not_made(tmp_path: Path) -> None:
    missing = tmp_path / "none"
    words = [
        "--scratch",
        str(missing),
        "--wait",
        "-o",
        str(tmp_path / "cluster"),
        "--",
        "/bin/true",
    ]
    done = call("submit", *QUICK, *words)
    assert done.returncode == 2
    assert f"{missing} is no folder; choose another with --scratch" in done.stdout
    assert not missing.exists()


def test_a_node_that_is_late_is_named_while_it_is(tmp_path: Path) -> None:
    """The agent of the second host starts only when the file exists."""
    gate, folder = tmp_path / "gate", tmp_path / "cluster"
    late = f'[ {{host}} = b ] && while [ ! -e {gate} ]; do sleep 0.1; done; exec "$@"'
    start = shlex.join(["/bin/sh", "-c", late, "sh"])
    options = ["--scheduler", "hosts", "--hosts", "a,b", "--start", start, "--interface", "lo"]
    words = [*QUICK, *options, "--set", "start=20", "--wait", "-o", str(folder)]
    with subprocess.Popen(command("submit", *words, "--", "/bin/true")) as waiting:
        wait_for(lambda: is_in(folder, "starting")() and "awaited" in state(folder), "it is late")
        status = call("status", str(folder))
        assert re.search(r"^b: has not started its agent for ", status.stdout, re.M), status.stdout
        gate.touch()
        assert waiting.wait(60) == 0
    log = (folder / "logs" / "leader.log").read_text()
    assert re.search(r"cuesta: waiting for node b for \d+ s of 20 s", log), log
    assert "awaited" not in state(folder)
