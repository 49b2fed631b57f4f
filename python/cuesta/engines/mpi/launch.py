"""Starts ranks and hears what they say: one JSON request in, one JSON response out."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import cuesta.errors
from cuesta.engines import shared_memory
from cuesta.engines.mpi import leftovers
from cuesta.errors import EngineError, EngineMissing
from cuesta.processes import die_with_parent

STOP_SECONDS = 5.0
"""How long ranks may take to end before they are killed."""

ERROR_CHARACTERS_MAX = 300
_KILLED = frozenset({9, -9, 137})
"""What launchers end with when a rank is killed."""
RANK_PROGRAM = "cuesta.engines.mpi.rank"

_AS_ANY_LAUNCHER_LIKES = {
    # Open MPI refuses root, and more ranks than cores, unless it is told twice.
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}

_WITHIN_THIS_MACHINE = {
    # Ranks talk through memory: MPICH's would listen on the network, to whoever connects.
    "UCX_TLS": "self,sm",
    "FI_PROVIDER": "shm",
    "OMPI_MCA_btl_tcp_if_include": "lo",
    "HYDRA_IFACE": "lo",
}
"""Variables under which nothing of a run on this machine leaves it; those of the user stand."""
_MANY_MACHINES = (
    "SLURM_JOB_ID", "PBS_JOBID", "PBS_NODEFILE", "LSB_JOBID", "COBALT_JOBID", "PE_HOSTFILE",
    "HYDRA_HOST_FILE",
)  # fmt: skip
"""Variables by which launchers find other machines."""


def launcher() -> str | None:
    """The `mpiexec` beside this Python, or else the first of the path."""
    beside = Path(sys.executable).parent
    for folder in (str(beside), None):
        for name in ("mpiexec", "mpirun"):
            found = shutil.which(name, path=folder)
            if found:
                return found
    return None


def nodes() -> int:
    """How many nodes ranks go to: as many as who has brought up a cluster says, or one."""
    said = os.environ.get("CUESTA_NODES", "")
    return max(1, int(said)) if said.isdecimal() else 1


def is_this_machine() -> bool:
    """Whether ranks go nowhere else, as far as is known."""
    return nodes() == 1 and not any(map(os.environ.get, _MANY_MACHINES))


def run_ranks(ranks: int, request: Mapping[str, Any], scratch: Path) -> dict[str, Any]:
    """Run `request` on `ranks` new ranks; return the response of rank 0.

    Ctrl-C and SIGTERM end the ranks. Errors: those of the ranks; `EngineError` when one dies, with
    the last line that was said.
    """
    asked, answered = scratch / "request.json", scratch / "response.json"
    asked.write_text(json.dumps(dict(request)), encoding="utf-8")
    words = [sys.executable, "-m", RANK_PROGRAM, str(asked), str(answered)]
    code, said = run_program(ranks, words)
    if answered.exists():
        found: dict[str, Any] = json.loads(answered.read_text(encoding="utf-8"))
        if "error" in found:
            name, message = found["error"]
            raise getattr(cuesta.errors, name, EngineError)(message)
        if code == 0:
            return found
    raise failure(code, said, ranks)


def run_program(ranks: int, words: Sequence[str]) -> tuple[int, str]:
    """Run a program on `ranks` new ranks; return the exit code, and what all of them said.

    Ctrl-C and SIGTERM end the ranks. Errors: `EngineMissing` without a launcher.
    """
    command = launcher()
    if command is None:
        raise EngineMissing("there is no mpiexec; install cuesta[mpi] or load the site's MPI")
    began = time.time()
    process = subprocess.Popen(
        [command, "-n", str(ranks), *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        # Ranks say nothing meanwhile, and would not find out that nobody listens any more. An
        # mpiexec of MPICH that has just begun forgets a SIGTERM.
        preexec_fn=die_with_parent,
        env={
            **(_WITHIN_THIS_MACHINE if is_this_machine() else {}),
            **os.environ,
            **_AS_ANY_LAUNCHER_LIKES,
            "CUESTA_RANKS": str(ranks),
        },
    )
    try:
        said, _ = process.communicate()
    except BaseException:
        _end(process)
        leftovers.clear(began)
        raise
    if process.returncode:
        leftovers.clear(began)
    return process.returncode, said


def _end(process: subprocess.Popen[str]) -> None:
    """End the launcher and, by its session, whoever it started here."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
            return


def failure(code: int, output: str, ranks: int = 1) -> EngineError:
    """Return the error of so many ranks that ended with `code`, by what they printed."""
    if code in _KILLED:
        return EngineError(
            "mpi: a rank was killed (signal 9), perhaps for want of memory; give fewer --ranks, or "
            "more nodes"
        )
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    # Launchers draw boxes and repeat themselves; what a rank itself said comes first.
    told = next((line for line in lines if line[0].isalnum()), "nothing was said")
    memory = shared_memory.remark(f"{ranks} ranks on a node", ranks)
    return EngineError(f"mpi: a rank failed (code {code}): {told[:ERROR_CHARACTERS_MAX]}{memory}")
