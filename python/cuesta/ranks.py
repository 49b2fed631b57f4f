"""Rank of this process in MPI, if any, as its launcher reports it: found without MPI.

`mpirun` of MPICH and of Open MPI, and `srun` with PMI-2, set the rank and the number of ranks.
`srun --mpi=pmix` sets the rank alone. A task of `srun` without any of these, the first process of a
batch script among them, only has `SLURM_PROCID`: it is no rank, for MPI would be alone in it.
"""

from __future__ import annotations

import os
import re

_OF_MPI = (("PMI_RANK", "PMI_SIZE"), ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"))
_OF_PMIX = "PMIX_RANK"
_OF_HYDRA = "PMI_FD"
"""Variable with the descriptor by which MPICH's launcher answers."""
_TASKS = "SLURM_STEP_NUM_TASKS"
"""Variable with the number of tasks that `srun` sets for each task, next to its rank."""
_ON_THIS_NODE = ("MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE")
_LOCAL_RANKS = ("MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID")
_TASKS_OF_NODES = "SLURM_STEP_TASKS_PER_NODE"
"""In the form `4(x2),3`."""


def is_inside() -> bool:
    """Whether this process is a rank that another process has started.

    The one task of a step, such as a shell by `srun --pty`, is none: it may start ranks itself.
    """
    by_pmix = bool(_variable(_OF_PMIX)) and _variable(_TASKS) != "1"
    return by_pmix or is_of_mpirun()


def is_of_mpirun() -> bool:
    """Whether the starter of this process starts only programs with MPI, or declares MPI."""
    return any(_variable(rank) and _variable(size) for rank, size in _OF_MPI)


def stale() -> str:
    """The variable of an MPI launcher that is not there any more; empty where it may be.

    MPI ends a process with such a variable while it starts, without an error to catch.
    """
    has_server = any(name.startswith("PMIX_SERVER_") for name in os.environ)
    if _variable(_OF_PMIX) and not has_server and not is_of_mpirun():
        return _OF_PMIX
    descriptor = _variable(_OF_HYDRA)
    if descriptor and not (descriptor.isdecimal() and _is_open(int(descriptor))):
        return _OF_HYDRA
    return ""


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except (OSError, OverflowError):
        return False
    return True


def rank() -> int:
    """The rank of this process; 0 where it is none."""
    if not is_inside():
        return 0
    text = _variable(variable())
    return int(text) if text.isdecimal() else 0


def variable() -> str:
    """The name of the environment variable that has the rank; `PMIX_RANK` where none has."""
    names = (rank for rank, size in _OF_MPI if _variable(size) and _variable(rank))
    return next(names, _OF_PMIX)


def on_this_node(ranks: int) -> int:
    """Number of the `ranks` that are on this node; all of them where no variable reports it.

    With `srun`, the number on the node that has the most.
    """
    counts_text = next((_variable(name) for name in _ON_THIS_NODE if _variable(name)), "")
    if not counts_text and _variable(_TASKS) == str(ranks):
        counts_text = _variable(_TASKS_OF_NODES)
    counts = re.findall(r"(\d+)(?:\(x\d+\))?", counts_text)
    return max(map(int, counts), default=ranks)


def local_rank() -> int:
    """The number of this rank among those of its node; 0 where no variable reports it."""
    text = next(filter(None, map(_variable, _LOCAL_RANKS)), "")
    return int(text) if text.isdecimal() else 0


def _variable(name: str) -> str:
    return os.environ.get(name, "")
