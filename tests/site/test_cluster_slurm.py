"""A cluster in jobs of a real Slurm: submitted, run, and removed whichever process is killed."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import testbed_slurm
from clusterkit import QUICK, call, is_in, state, wait_for, wait_until_gone
from cuesta.cli.app import call as cli_call
from cuesta.cluster import watchdog
from cuesta.engines import get_engine
from labkit import record_of, vector_files
from slurmkit import revive, slurm
from testbed_slurm import SlurmBed

__all__ = ["slurm"]

SLEEP = (sys.executable, "-c", "import time; time.sleep(120)")
SLURM = (*QUICK, "--scheduler", "slurm", "--nodes", "2", "--set", "poll=1")


@pytest.fixture
def folder(tmp_path: Path, slurm: SlurmBed) -> Iterator[Path]:
    """Folder of a job, which is ended even if the test fails."""
    yield tmp_path / "cluster"
    testbed_slurm.cancel_all(slurm)


def test_a_job_runs_its_command_with_an_agent_on_each_node(slurm: SlurmBed, folder: Path) -> None:
    program = "import os; print(os.environ['SLURM_JOB_NUM_NODES']); raise SystemExit(7)"
    words = ["--wait", "-o", str(folder), "--", sys.executable, "-c", program]
    done = call("submit", *SLURM, *words, **slurm.environment())
    assert (done.returncode, done.stdout) == (7, "2\n")
    assert [node["name"] for node in state(folder)["nodes"]] == ["n1", "n2"]
    wait_until_gone(folder)


def test_a_cluster_in_a_job_is_up_until_it_is_ended(slurm: SlurmBed, folder: Path) -> None:
    done = call("up", *SLURM, "-o", str(folder), **slurm.environment())
    assert done.returncode == 0, done.stderr
    assert slurm.run("squeue", "--noheader", "--format", "%T").split() == ["RUNNING"]
    assert call("down", str(folder), **slurm.environment()).returncode == 0
    wait_until_gone(folder)
    wait_for(lambda: not slurm.run("squeue", "--noheader"), "the job has ended")


@pytest.mark.parametrize("whom", ["driver", "leader", "n1", "n2", "job"])
def test_nothing_is_left_when_a_part_is_killed(slurm: SlurmBed, folder: Path, whom: str) -> None:
    words = ["-o", str(folder), "--", *SLEEP]
    assert call("submit", *SLURM, *words, **slurm.environment()).returncode == 0
    wait_for(is_in(folder, "running"), "the command runs")
    cluster = state(folder)["cluster"]
    if whom == "job":
        slurm.run("scancel", (folder / "job").read_text())
    else:
        victim = wait_for(lambda: watchdog.marked(f"{cluster}/{whom}"), "it is there")[0]
        os.kill(victim, signal.SIGKILL)
    if whom in ("n1", "n2"):
        wait_for(lambda: not watchdog.marked(f"{cluster}/{whom}"), "its node is clean")
        assert call("down", str(folder), **slurm.environment()).returncode == 0
    wait_until_gone(folder)
    status = json.loads(call("status", str(folder), "--json", **slurm.environment()).stdout)
    assert status["state"] in ("ended", "failed")
    wait_for(lambda: not slurm.run("squeue", "--noheader"), "the job has ended")
    testbed_slurm.wait_until_idle(slurm, 2)


@pytest.mark.parametrize("node", ["n1", "n2"])
def test_nothing_is_left_when_the_daemon_of_a_node_is_killed(
    slurm: SlurmBed, folder: Path, node: str
) -> None:
    """Work continues on the node until it has ended. The first node has the leader."""
    words = ["-o", str(folder), "--", sys.executable, "-c", "import time; time.sleep(3)"]
    assert call("submit", *SLURM, *words, **slurm.environment()).returncode == 0
    wait_for(is_in(folder, "running"), "the command runs")
    testbed_slurm.kill_node(slurm, node)
    try:
        wait_for(is_in(folder, "ended", "failed"), "it ends")
        wait_until_gone(folder)
    finally:
        revive(slurm, node)


def test_several_clusters_share_an_allocation(slurm: SlurmBed, folder: Path) -> None:
    """Inside a job the leader starts on the spot: a cluster on each node, at the same time."""
    cluster_command = shlex.join([sys.executable, "-m", "cuesta", "cluster"])
    command = f"{cluster_command} up {shlex.join(QUICK)} --scheduler slurm --nodes 1"
    script = f"""\
set -e
{command} --hosts n1 -o {folder}-a
{command} --hosts n2 -o {folder}-b
{cluster_command} status {folder}-a
{cluster_command} status {folder}-b
{cluster_command} down {folder}-a
{cluster_command} down {folder}-b
"""
    words = ["--wait", "-o", str(folder), "--", "/bin/sh", "-c", script]
    done = call("submit", *SLURM, *words, **slurm.environment())
    assert done.returncode == 0, done.stdout
    lines = done.stdout.splitlines()
    assert lines.count("ready") == 2
    assert [line[:3] for line in lines if "Python" in line] == ["n1:", "n2:"]
    for name in ("a", "b"):
        wait_until_gone(Path(f"{folder}-{name}"))


def test_a_node_that_is_dead_is_named(slurm: SlurmBed, folder: Path) -> None:
    """Slurm does not know yet that the daemon has ended, and allocates the node."""
    testbed_slurm.kill_node(slurm, "n2")
    try:
        words = ["--set", "start=15", "--wait", "-o", str(folder), "--", *SLEEP]
        done = call("submit", *SLURM, *words, **slurm.environment())
        assert done.returncode == 3
        assert "cuesta: node n2 did not start: srun: error: " in done.stdout
        assert "failed on node n2: Communication connection failure" in done.stdout
        wait_until_gone(folder)
    finally:
        revive(slurm, "n2")


def test_work_stops_before_the_job_ends(slurm: SlurmBed, folder: Path) -> None:
    options = ["--time", "1", "--set", "guard=55", "--wait", "-o", str(folder), "--", *SLEEP]
    done = call("submit", *SLURM, *options, **slurm.environment())
    assert done.returncode == 3
    assert "stopped 55 s before the end of the allocation; ask for more --time" in done.stdout
    wait_until_gone(folder)


def test_what_slurm_refuses_is_reported_in_its_words(slurm: SlurmBed, folder: Path) -> None:
    words = ["--queue", "none", "-o", str(folder), "--", *SLEEP]
    done = call("submit", *SLURM, *words, **slurm.environment())
    assert done.returncode == 2
    assert "cuesta: sbatch: " in done.stderr
    assert "invalid partition specified: none" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.skipif(get_engine("mpi").missing() is not None, reason="there is no MPI")
def test_ranks_are_on_all_nodes_and_each_node_has_its_store(
    slurm: SlurmBed, folder: Path, tmp_path: Path
) -> None:
    """MPI's launcher gets Slurm's nodes itself; inputs are read through the stores."""
    files = vector_files(tmp_path)
    run = ["run", "dataflow", *[f"cuesta:///{Path(file).name}" for file in files]]
    run += ["--engine", "mpi", "-o", str(tmp_path / "mpi")]
    words = ["--store", "64MiB", "--under", str(tmp_path), "--cores", "1", "--wait"]
    words += ["-o", str(folder), "--", *run]
    done = call("submit", *SLURM, *words, **slurm.environment())
    assert done.returncode == 0, done.stdout
    answer = record_of(tmp_path / "mpi")["answer"]
    assert answer["counts"]["ranks"] == 2
    assert cli_call(["run", "dataflow", *files, "-o", str(tmp_path / "native")]) == 0
    assert answer["digest"] == record_of(tmp_path / "native")["answer"]["digest"]
    wait_until_gone(folder)
    cluster = state(folder)["cluster"]
    assert not list(Path("/dev/shm").glob(f"cuesta-{cluster}-*"))


PROGRAM = """
from pyspark.sql import SparkSession
spark = SparkSession.builder.getOrCreate()
context = spark.sparkContext
count = context.parallelize(range(100), 2).map(lambda one: one * one).sum()
print("sum", count, "on", context.defaultParallelism, context.master.split(":")[0])
spark.stop()
"""


@pytest.mark.skipif(get_engine("spark").missing() is not None, reason="Spark is not installed")
def test_a_program_of_spark_finds_the_master_by_itself(
    slurm: SlurmBed, folder: Path, tmp_path: Path
) -> None:
    """The program imports nothing of ours: master, secret and settings are in Spark's settings."""
    options = ["--set", "stop=2", "--cores", "1", "--memory", "1536MiB", "--wait"]
    words = [
        "--scheduler",
        "slurm",
        *options,
        "-o",
        str(folder),
        "--",
        sys.executable,
        "-c",
        PROGRAM,
    ]
    done = call("submit", *words, **slurm.environment())
    assert done.returncode == 0, done.stdout
    assert "sum 328350 on 2 spark" in done.stdout
    assert [node["name"] for node in state(folder)["nodes"]] == ["n1", "n2"]
    wait_until_gone(folder)


@pytest.mark.parametrize("whom", ["driver", "job"])
def test_a_job_of_pbs_leaves_nothing_either(slurm: SlurmBed, folder: Path, whom: str) -> None:
    """Commands of PBS over Slurm: a PBS script, its node file, and its states."""
    words = ["-o", str(folder), "--", *SLEEP]
    options = [*QUICK, "--scheduler", "pbs", "--nodes", "2", "--set", "poll=1"]
    done = call("submit", *options, *words, **slurm.environment())
    assert done.returncode == 0, done.stderr
    wait_for(is_in(folder, "running"), "the command runs")
    assert [node["name"] for node in state(folder)["nodes"]] == ["n1", "n2"]
    assert list(Path.cwd().glob("*.sh.[eo]*")) == []
    if whom == "driver":
        cluster = state(folder)["cluster"]
        victim = wait_for(lambda: watchdog.marked(f"{cluster}/driver"), "it is there")[0]
        os.kill(victim, signal.SIGKILL)
    else:
        assert call("down", str(folder), **slurm.environment()).returncode == 0
    wait_until_gone(folder)
    wait_for(lambda: not slurm.run("squeue", "--noheader"), "the job has ended")


def test_a_plan_for_pbs_is_a_batch_script(folder: Path) -> None:
    words = ["--queue", "debug", "--account", "me", "--time", "90", "--cores", "4"]
    done = call("plan", "--scheduler", "pbs", "--nodes", "8", *words, "-o", str(folder))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    for option in ("-l nodes=8:ppn=4", "-l walltime=1:30:00", "-q debug", "-A me", "-j oe"):
        assert f"#PBS {option}" in lines


def test_a_plan_for_slurm_is_a_batch_script(folder: Path) -> None:
    words = ["--queue", "debug", "--account", "me", "--time", "90", "--cores", "4"]
    done = call("plan", "--scheduler", "slurm", "--nodes", "8", *words, "-o", str(folder))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    for option in ("nodes=8", "time=1:30:00", "partition=debug", "account=me", "cpus-per-task=4"):
        assert f"#SBATCH --{option}" in lines


def test_without_slurm_it_is_missing(folder: Path) -> None:
    path = "/usr/bin:/bin"
    if any(Path(entry, "sbatch").exists() for entry in path.split(":")):
        pytest.skip("Slurm is installed here")
    done = call("submit", *SLURM, "-o", str(folder), "--", *SLEEP, PATH=path)
    assert done.returncode == 3
    assert done.stderr.startswith("cuesta: there is no sbatch; ")
