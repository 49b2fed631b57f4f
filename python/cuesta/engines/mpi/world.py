"""Life inside ranks that somebody else started: `mpirun -n N cuesta run ... --engine mpi`.

Rank 0 is the command that the user sees. The others wait here for what it asks of all of them.
"""

from __future__ import annotations

from typing import Any

from cuesta import ranks
from cuesta.errors import InputError


def size() -> int:
    """How many ranks there are."""
    from mpi4py import MPI

    found: int = MPI.COMM_WORLD.size
    return found


def on_this_node() -> int:
    """How many ranks are on the node of this one, as its launcher says; else all of them."""
    return ranks.on_this_node(size())


def run(request: dict[str, Any]) -> dict[str, Any]:
    """On rank 0: have all ranks run a request."""
    from mpi4py import MPI

    from cuesta.engines.mpi import rank as program

    MPI.COMM_WORLD.bcast(request)
    return program.run(MPI.COMM_WORLD, request)


def close() -> None:
    """On rank 0: let the others end."""
    from mpi4py import MPI

    MPI.COMM_WORLD.bcast(None)


def serve() -> int:
    """On the other ranks: do what rank 0 asks until it asks no more.

    Errors: `InputError` where this process is alone, so that no rank 0 does the work.
    """
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
