"""What every rank runs: `python -m cuesta.engines.mpi.rank REQUEST RESPONSE` under mpiexec.

A workload goes in rounds, or with other kernels is a module of this package with
`run(world, request)`. Rank 0 reads
the request and tells the others; an error of any rank is told by rank 0, and ends all.
"""

from __future__ import annotations

import json
import os
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import cuesta.errors
from cuesta import ranks, removal
from cuesta.engines.mpi import leftovers
from cuesta.engines.mpi.usage import RankUse
from cuesta.errors import CuestaError, Defect, EngineError, is_defect
from cuesta.processes import die_with_parent

PASSED_ON_SECONDS = 0.3
"""How long a launcher may take to pass on a line."""


def main() -> int:
    """Run the request of the command line."""
    die_with_parent()  # not every launcher that is killed ends its ranks
    # One rank of each node has one, where launchers say which.
    watchdog = None if ranks.local_rank() else leftovers.watch()
    try:
        return _serve()
    finally:
        if watchdog:
            watchdog.dismiss()


def _serve() -> int:
    """Run the request of the command line on all ranks."""
    from mpi4py import MPI

    world = MPI.COMM_WORLD
    world.Barrier()
    leftovers.unlink_mapped()
    asked, answered = map(Path, sys.argv[1:])
    wanted = int(os.environ.get("CUESTA_RANKS", world.size))
    if world.size != wanted:
        _tell(answered, EngineError(
            f"mpi: {wanted} ranks were started, but mpi4py sees {world.size}: the mpiexec belongs "
            "to another MPI than the one that mpi4py loads; use one MPI for both"
        ))  # fmt: skip
        return 3
    request = json.loads(asked.read_text(encoding="utf-8")) if world.rank == 0 else None
    request = world.bcast(request)
    response = run(world, request)
    if world.rank == 0:
        _write(answered, response)
    return 0 if "error" not in response else 3


def run(world: Any, request: dict[str, Any]) -> dict[str, Any]:
    """The request on all ranks; the response, on every rank, holds `error` if any rank had one."""
    response, told = {}, None
    try:
        used = RankUse(request.get("watcher", {}), is_spawned="CUESTA_RANKS" in os.environ)
        module = "rounds" if request["kernels"] == "native" else request["workload"]
        response = import_module(f"cuesta.engines.mpi.{module}").run(world, request)
        response["uses"] = world.gather(used.measured())
    except CuestaError as error:
        told = (type(error).__name__, str(error))
    except MemoryError:
        told = ("EngineError", f"mpi: rank {world.rank} has no memory left; use fewer ranks")
    except BaseException as error:
        if not isinstance(error, Exception) and not is_defect(error):
            raise
        told = (Defect.__name__, str(Defect.of(error)))
    if told is None:
        return response
    # The other ranks may wait in a collective call that this one will never reach.
    _fail(world, request, told)
    return {"error": told}


def _fail(world: Any, request: dict[str, Any], told: tuple[str, str]) -> None:
    name, message = told
    _write(Path(request["scratch"]) / "response.json", {"error": told})
    if "CUESTA_RANKS" not in os.environ:
        # Ranks that somebody else has started: nobody reads that file. A launcher passes nothing on
        # any more once they have ended.
        sys.stderr.write(f"cuesta: {message}\n")
        sys.stderr.flush()
        time.sleep(PASSED_ON_SECONDS)
    sys.stderr.flush()
    world.Abort(getattr(cuesta.errors, name, EngineError).exit_code)


def _tell(path: Path, error: CuestaError) -> None:
    _write(path, {"error": (type(error).__name__, str(error))})


def _write(path: Path, response: dict[str, Any]) -> None:
    """Whole or not at all, since any rank may write an error."""
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    partial.write_text(json.dumps(response), encoding="utf-8")
    removal.put(partial, path)


if __name__ == "__main__":
    sys.exit(main())
