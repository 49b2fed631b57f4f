"""Runs inside ranks of the user's launcher: `mpirun -n N cuesta run ... --engine mpi`.

Rank 0 is the user's command. The other ranks wait here for its requests.
"""

from __future__ import annotations

from typing import Any

from cuesta import ranks
from cuesta.errors import InputError


def size() -> int:
    """Return the number of ranks. Errors: `InputError` for variables of a launcher that ended."""
    _check_launcher()
    from mpi4py import MPI

    count: int = MPI.COMM_WORLD.size
    return count


def on_this_node() -> int:
    """Return the number of ranks on this node by the launcher's variables; else of all ranks."""
    return ranks.on_this_node(size())


def _check_launcher() -> None:
    name = ranks.stale()
    if name:
        raise InputError(
            f"mpi: {name} is set, and the launcher that sets it is not there; unset {name}, or "
            "start this by mpirun"
        )


def run(request: dict[str, Any]) -> dict[str, Any]:
    """Run a request on all ranks; called on rank 0."""
    from mpi4py import MPI

    from cuesta.engines.mpi import rank as program

    MPI.COMM_WORLD.bcast(request)
    return program.run(MPI.COMM_WORLD, request)


def close() -> None:
    """End the other ranks; called on rank 0."""
    if ranks.stale():
        return
    from mpi4py import MPI

    MPI.COMM_WORLD.bcast(None)


def serve() -> int:
    """Run requests of rank 0 until it closes; called on the other ranks.

    Errors: `InputError` where this process is alone, so that no rank 0 does the work.
    """
    _check_launcher()
    from mpi4py import MPI

    from cuesta.engines.mpi import rank as program

    if MPI.COMM_WORLD.size == 1:
        name = ranks.variable()
        raise InputError(
            f"mpi: {name} says that this process is rank {ranks.rank()}, and the MPI of mpi4py "
            f"finds no other; unset {name} where no mpirun started this, or else start it by the "
            "mpiexec of that MPI"
        )

    while (request := MPI.COMM_WORLD.bcast(None)) is not None:
        program.run(MPI.COMM_WORLD, request)
    return 0
