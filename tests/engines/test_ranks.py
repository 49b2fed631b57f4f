"""The rank of an MPI process, by the variables of each launcher."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from cuesta import ranks
from cuesta.engines.mpi import MpiEngine
from labkit import record_of

PREFIXES = ("PMI", "OMPI", "MPI_", "SLURM")
TASK_OF_PMIX = {
    "PMIX_RANK": "1",
    "SLURM_PROCID": "1",
    "SLURM_STEP_NUM_TASKS": "6",
    "SLURM_STEP_TASKS_PER_NODE": "2(x2),1(x2)",
}
BATCH_SCRIPT = {"SLURM_PROCID": "0", "SLURM_NTASKS": "6", "SLURM_JOB_ID": "7"}
SHELL = {"PMIX_RANK": "0", "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "1"}
OPEN_MPI = {
    "PMIX_RANK": "3",
    "OMPI_COMM_WORLD_RANK": "3",
    "OMPI_COMM_WORLD_SIZE": "4",
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
    "SLURM_STEP_NUM_TASKS": "1",
}
MPICH = {"PMI_RANK": "2", "PMI_SIZE": "6", "MPI_LOCALNRANKS": "3"}
PMI_2 = TASK_OF_PMIX | {"PMI_RANK": "1", "PMI_SIZE": "6"}


def without_launcher() -> dict[str, str]:
    """Return the variables of this process without those of any launcher."""
    return {name: value for name, value in os.environ.items() if not name.startswith(PREFIXES)}


@pytest.mark.parametrize(
    ("variables", "inside", "rank", "here"),
    [
        ({}, False, 0, 6),
        (TASK_OF_PMIX, True, 1, 2),
        (TASK_OF_PMIX | {"SLURM_STEP_NUM_TASKS": "3"}, True, 1, 6),
        ({"PMIX_RANK": "5"}, True, 5, 6),
        (PMI_2, True, 1, 2),
        (BATCH_SCRIPT, False, 0, 6),
        (BATCH_SCRIPT | {"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"}, False, 0, 6),
        (SHELL, False, 0, 6),
        (OPEN_MPI, True, 3, 2),
        (MPICH, True, 2, 3),
        ({"PMI_RANK": "2"}, False, 0, 6),
        ({"PMI_RANK": "", "PMI_SIZE": ""}, False, 0, 6),
    ],
    ids=str,
)
def test_a_rank_is_what_a_launcher_of_mpi_has_started(
    variables: dict[str, str], inside: bool, rank: int, here: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in os.environ.keys() - without_launcher().keys():
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert (ranks.is_inside(), ranks.rank(), ranks.on_this_node(6)) == (inside, rank, here)


@pytest.mark.parametrize(
    ("variables", "stale"),
    [
        ({}, ""),
        (SHELL | {"PMIX_SERVER_URI41": "a"}, ""),
        (OPEN_MPI, ""),
        (MPICH, ""),
        (MPICH | {"PMI_FD": "1"}, ""),
        ({"PMIX_RANK": "0"}, "PMIX_RANK"),
        (MPICH | {"PMI_FD": "9999"}, "PMI_FD"),
        (MPICH | {"PMI_FD": "none"}, "PMI_FD"),
    ],
    ids=str,
)
def test_variables_of_a_launcher_that_has_ended_are_named(
    variables: dict[str, str], stale: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in os.environ.keys() - without_launcher().keys():
        monkeypatch.delenv(name)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert ranks.stale() == stale


SERVED = 7
COMMAND = f"""
from cuesta.cli.app import main
from cuesta.engines.mpi import world
world.serve = lambda: {SERVED}
main()
"""


@pytest.mark.skipif(MpiEngine().missing() is not None, reason="MPI is not installed")
@pytest.mark.parametrize(
    ("variables", "more", "code"),
    [
        (TASK_OF_PMIX, ["--engine", "mpi"], SERVED),
        (TASK_OF_PMIX, [], 0),
        (MPICH, ["--engine=mpi"], SERVED),
        (MPICH, [], 2),
        (BATCH_SCRIPT, ["--engine", "mpi", "--ranks", "2"], 0),
    ],
    ids=["srun", "srun without MPI", "mpirun", "mpirun without MPI", "a batch script"],
)
def test_only_a_rank_after_the_first_leaves_the_answer_to_the_first(
    variables: dict[str, str], more: list[str], code: int, tmp_path: Path
) -> None:
    """Each task of `srun --mpi=pmix` did the complete run, and all but one saw its name in use. Now
    only the first rank runs.
    """
    words = [sys.executable, "-c", COMMAND, "run", "dataflow", "--blocks", "2"]
    words += ["--block-vectors", "10", *more, "-o", str(tmp_path / "out")]
    done = subprocess.run(words, env=without_launcher() | variables, check=False, timeout=60)
    assert done.returncode == code
    assert (tmp_path / "out").exists() == (code == 0)
    if code == 0:
        record_of(tmp_path / "out")


LEFT_BEHIND: dict[str, dict[str, str]] = {
    "MPICH": {"PMI_RANK": "1", "PMI_SIZE": "2"},
    "Open MPI": {"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"},
    "Slurm": {"SLURM_PROCID": "1"},
    "no number": {"PMIX_RANK": "x"},
}


@pytest.mark.parametrize("launcher", LEFT_BEHIND)
@pytest.mark.parametrize("words", ["--version", "run sort --help", "data list"])
def test_a_rank_in_the_environment_leaves_other_commands_alone(launcher: str, words: str) -> None:
    """`cuesta --version` ended with 2 and no output in a shell that `mpirun` had started. Now other
    commands ignore ranks.
    """
    command = [sys.executable, "-m", "cuesta", *words.split()]
    variables = without_launcher() | LEFT_BEHIND[launcher]
    done = subprocess.run(command, env=variables, capture_output=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout


@pytest.mark.skipif(MpiEngine().missing() is not None, reason="MPI is not installed")
@pytest.mark.parametrize("more", [[], ["--engine", "mpi"]], ids=["native", "mpi"])
def test_a_run_that_leaves_the_work_to_rank_0_names_the_variable(
    more: list[str], tmp_path: Path
) -> None:
    words = ["run", "dataflow", "--blocks", "2", *more, "-o", str(tmp_path / "out")]
    command = [sys.executable, "-m", "cuesta", *words]
    done = subprocess.run(
        command,
        env=without_launcher() | LEFT_BEHIND["MPICH"],
        capture_output=True,
        check=False,
        timeout=60,
        text=True,
    )
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "PMI_RANK" in done.stderr
    assert "unset PMI_RANK" in done.stderr
