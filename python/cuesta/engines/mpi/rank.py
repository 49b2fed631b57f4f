"""The program of each rank: `python -m cuesta.engines.mpi.rank REQUEST RESPONSE` under mpiexec.

A workload runs in rounds, or with other kernels as a module of this package with
`run(world, request)`. Rank 0 reads the request and broadcasts it; an error of any rank is written
to the response, and ends all ranks.
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
"""Time for a launcher to forward a line."""


def main() -> int:
    """Run the request of the command line, with a watchdog on each node."""
    die_with_parent()  # not every launcher that is killed ends its ranks
    # On each node one rank starts a watchdog, if the launcher reports local ranks.
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
    request_file, response_file = map(Path, sys.argv[1:])
    wanted = int(os.environ.get("CUESTA_RANKS", world.size))
    if world.size != wanted:
        _write_error(response_file, EngineError(
            f"mpi: {wanted} ranks were started, but mpi4py sees {world.size}: the mpiexec belongs "
            "to another MPI than the one that mpi4py loads; use one MPI for both"
        ))  # fmt: skip
        return 3
    request = json.loads(request_file.read_text(encoding="utf-8")) if world.rank == 0 else None
    request = world.bcast(request)
    response = run(world, request)
    if world.rank == 0:
        _write(response_file, response)
    return 0 if "error" not in response else 3


def run(world: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Run a request on all ranks; the response, on each rank, has `error` if any rank had one."""
    response, error_record = {}, None
    try:
        used = RankUse(request.get("watcher", {}), is_spawned="CUESTA_RANKS" in os.environ)
        module = "rounds" if request["kernels"] == "native" else request["workload"]
        response = import_module(f"cuesta.engines.mpi.{module}").run(world, request)
        response["uses"] = world.gather(used.measured())
    except CuestaError as error:
        error_record = (type(error).__name__, str(error))
    except MemoryError:
        message = f"mpi: rank {world.rank} has no memory left; use fewer ranks"
        error_record = ("EngineError", message)
    except BaseException as error:
        if not isinstance(error, Exception) and not is_defect(error):
            raise
        error_record = (Defect.__name__, str(Defect.of(error)))
    if error_record is None:
        return response
    # The other ranks may wait in a collective call that this one will never reach.
    _fail(world, request, error_record)
    return {"error": error_record}


def _fail(world: Any, request: dict[str, Any], error_record: tuple[str, str]) -> None:
    name, message = error_record
    _write(Path(request["scratch"]) / "response.json", {"error": error_record})
    if "CUESTA_RANKS" not in os.environ:
        # For ranks that `mpirun` started no process reads that file. A launcher forwards no output
        # once they have ended.
        sys.stderr.write(f"cuesta: {message}\n")
        sys.stderr.flush()
        time.sleep(PASSED_ON_SECONDS)
    sys.stderr.flush()
    world.Abort(getattr(cuesta.errors, name, EngineError).exit_code)


def _write_error(path: Path, error: CuestaError) -> None:
    _write(path, {"error": (type(error).__name__, str(error))})


def _write(path: Path, response: dict[str, Any]) -> None:
    """Write a response atomically, since any rank may write an error."""
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    partial.write_text(json.dumps(response), encoding="utf-8")
    removal.put(partial, path)


if __name__ == "__main__":
    sys.exit(main())
