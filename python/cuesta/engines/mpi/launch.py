"""Starts ranks: one JSON request in, one JSON response out."""

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
from cuesta.children import module_command
from cuesta.engines import shared_memory
from cuesta.engines.mpi import leftovers
from cuesta.errors import EngineError, EngineMissing
from cuesta.processes import die_with_parent

STOP_SECONDS = 5.0
"""Time for ranks to end before they are killed."""

ERROR_CHARACTERS_MAX = 300
_KILLED = frozenset({9, -9, 137})
"""Exit codes of launchers when a rank is killed."""
RANK_PROGRAM = "cuesta.engines.mpi.rank"

_AS_ANY_LAUNCHER_LIKES = {
    # Open MPI refuses root, and more ranks than cores, unless two variables allow it.
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "PRTE_ALLOW_RUN_AS_ROOT": "1",
    "PRTE_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}

_WITHIN_THIS_MACHINE = {
    # Ranks communicate through memory: MPICH would listen on the network without authentication.
    "UCX_TLS": "self,sm",
    "FI_PROVIDER": "shm",
    "OMPI_MCA_btl_tcp_if_include": "lo",
    "HYDRA_IFACE": "lo",
}
"""Variables that keep communication of a run on this machine; the user's take priority."""
_MANY_MACHINES = (
    "SLURM_JOB_ID", "PBS_JOBID", "PBS_NODEFILE", "LSB_JOBID", "COBALT_JOBID", "PE_HOSTFILE",
    "HYDRA_HOST_FILE",
)  # fmt: skip
"""Variables by which launchers find other machines."""


def launcher() -> str | None:
    """Return the `mpiexec` next to this Python, or else the first of the path."""
    python_folder = Path(sys.executable).parent
    for folder in (str(python_folder), None):
        for name in ("mpiexec", "mpirun"):
            path = shutil.which(name, path=folder)
            if path:
                return path
    return None


def nodes() -> int:
    """Return the number of nodes for ranks: as the cluster's variable says, else 1."""
    count = os.environ.get("CUESTA_NODES", "")
    return max(1, int(count)) if count.isdecimal() else 1


def is_this_machine() -> bool:
    """Whether all ranks run on this machine, by known variables."""
    return nodes() == 1 and not any(map(os.environ.get, _MANY_MACHINES))


def run_ranks(ranks: int, request: Mapping[str, Any], scratch: Path) -> dict[str, Any]:
    """Run `request` on `ranks` new ranks; return the response of rank 0.

    Ctrl-C and SIGTERM end the ranks. Errors: those of the ranks; `EngineError` when one dies, with
    the first line of its output.
    """
    request_file, response_file = scratch / "request.json", scratch / "response.json"
    request_file.write_text(json.dumps(dict(request)), encoding="utf-8")
    words = module_command(RANK_PROGRAM, str(request_file), str(response_file))
    code, output = run_program(ranks, words)
    if response_file.exists():
        response: dict[str, Any] = json.loads(response_file.read_text(encoding="utf-8"))
        if "error" in response:
            name, message = response["error"]
            raise getattr(cuesta.errors, name, EngineError)(message)
        if code == 0:
            return response
    raise failure(code, output, ranks)


def run_program(ranks: int, words: Sequence[str]) -> tuple[int, str]:
    """Run a program on `ranks` new ranks; return the exit code, and the output of all of them.

    Ctrl-C and SIGTERM end the ranks. Errors: `EngineMissing` without a launcher.
    """
    command = launcher()
    if command is None:
        raise EngineMissing("there is no mpiexec; install cuesta[mpi] or load the site's MPI")
    began = time.time()
    mark = f"{os.getpid()}-{began}"
    watchdog = leftovers.watch_command(mark)
    try:
        return _run_watched([command, "-n", str(ranks), *words], ranks, mark, began)
    finally:
        watchdog.dismiss()


def _run_watched(words: Sequence[str], ranks: int, mark: str, began: float) -> tuple[int, str]:
    """Run a launcher, and remove what it leaves where it fails."""
    process = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
        # Ranks print nothing meanwhile, and would not notice that their output has no reader. An
        # mpiexec of MPICH that has just begun ignores a SIGTERM.
        preexec_fn=die_with_parent,
        env={
            **(_WITHIN_THIS_MACHINE if is_this_machine() else {}),
            **os.environ,
            **_AS_ANY_LAUNCHER_LIKES,
            "CUESTA_RANKS": str(ranks),
            leftovers.MARK: mark,
        },
    )
    try:
        output, _ = process.communicate()
    except BaseException:
        _end(process)
        leftovers.clear(began)
        raise
    if process.returncode:
        leftovers.clear(began)
    return process.returncode, output


def _end(process: subprocess.Popen[str]) -> None:
    """End the launcher and, by its session, the processes that it started here."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_SECONDS)
            return


def failure(code: int, output: str, ranks: int = 1) -> EngineError:
    """Return the error of `ranks` ranks that ended with `code`, from their output."""
    if code in _KILLED or "KILLED BY SIGNAL: 9" in output:
        return EngineError(
            "mpi: a rank was killed (signal 9), perhaps for want of memory; give fewer --ranks, or "
            "more nodes"
        )
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    # Launchers draw boxes and repeat themselves; the output of the rank comes first.
    silent = (
        "nothing was said, as where a rank is killed while it starts; give fewer --ranks, or ask "
        "the system's log"
    )
    line = next((line for line in lines if line[0].isalnum()), silent)
    memory = shared_memory.remark(f"{ranks} ranks on a node", ranks)
    return EngineError(f"mpi: a rank failed (code {code}): {line[:ERROR_CHARACTERS_MAX]}{memory}")
