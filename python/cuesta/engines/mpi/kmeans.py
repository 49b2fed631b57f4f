"""`kmeans` on ranks: each has a range of the points; only whole-number sums and centres travel."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from cuesta.engines import kmeans
from cuesta.engines.mpi.clock import Clock
from cuesta.engines.request import native_request
from cuesta.lab.request import native_module


def run(world: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Lloyd's iterations; rank 0 leads. The response is that of `_native.run`."""
    native = native_module()
    leads = world.rank == 0
    memory_bytes = request["memory_bytes"] // world.size
    asked = native_request(request, threads=1, memory_bytes=memory_bytes)
    leader = native.KMeansLeader(asked) if leads else None
    facts = world.bcast(json.loads(leader.facts()) if leader else None)
    mine = kmeans.shares(facts["points"], world.size)[world.rank]
    asked = native_request(request, threads=1, memory_bytes=memory_bytes, inputs=facts["arrays"])
    share = native.KMeansShare(asked, mine, True)
    clock = Clock(world)
    amounts = kmeans.amounts(facts)
    with clock.phase("read", rows=amounts["rows"], bytes=amounts["bytes"]):
        largest = _largest(world, share.read())
        share.begin(largest)
        if leader:
            leader.begin(largest)
    centres = world.bcast(leader.centres() if leader else None)

    def step() -> bool:
        nonlocal centres
        total = _total(world, share.assign(centres))
        done = leader.update(total) if leader else None
        done, centres = world.bcast((done, leader.centres()) if leader else None)
        return bool(done)

    def phase(name: str) -> AbstractContextManager[None]:
        return clock.phase(name, **amounts)

    kept = all(world.allgather(share.keeps() or mine[1] == 0))
    kmeans.iterate(step, phase, "iteration" if kept else "streamed iteration")
    with clock.phase("assign", rows=amounts["rows"], bytes=4 * amounts["rows"]):
        if leader:
            leader.create()
        world.Barrier()
        total = _total(world, share.finish(centres))
        iterations = leader.write(total) if leader else 0
    counts = kmeans.counts(facts, iterations) | {"ranks": world.size}
    return {"phases": [*facts["phases"], *clock.phases], "counts": counts}


def _largest(world: Any, mine: bytes) -> bytes:
    """The largest of all ranks, number by number."""
    from mpi4py import MPI

    values = np.frombuffer(mine, np.float64)
    found = np.empty_like(values)
    world.Allreduce(values, found, op=MPI.MAX)
    return found.tobytes()


def _total(world: Any, mine: bytes) -> bytes:
    """On rank 0: the sums of all ranks; whole numbers, so that their order does not matter."""
    from mpi4py import MPI

    values = np.frombuffer(mine, np.int64)
    found = np.empty_like(values) if world.rank == 0 else None
    world.Reduce(values, found, op=MPI.SUM, root=0)
    return b"" if found is None else found.tobytes()
