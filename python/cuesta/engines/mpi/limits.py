"""What MPI itself takes: tasks without work, and messages between the first two ranks."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

MESSAGE_BYTES = 8 << 20
SECONDS = 0.15
TASK = {"workload": "none", "index": 0}


def run(world: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Samples by name, a rate a second each, after one that is not kept; on rank 0."""
    found: dict[str, list[float]] = {}
    for name, probe in _PROBES.items():
        samples = [probe(world) for _ in range(request["repeats"] + 1)]
        found[name] = samples[1:]
    return found


def _tasks(world: Any) -> float:
    """Rank 0 hands a task to every rank and has its answer before the next."""
    world.barrier()
    began, count = perf_counter(), 0
    while _goes_on(world, began):
        task = world.scatter([TASK] * world.size if world.rank == 0 else None)
        world.gather({"index": task["index"]})
        count += world.size
    return count / (perf_counter() - began)


def _messages(world: Any) -> float:
    buffer, began, sent = np.zeros(MESSAGE_BYTES, dtype=np.uint8), perf_counter(), 0
    while _goes_on(world, began):
        if world.rank == 0:
            world.Send(buffer, dest=1)
        elif world.rank == 1:
            world.Recv(buffer, source=0)
        sent += MESSAGE_BYTES
    return sent / (perf_counter() - began)


def _round_trips(world: Any) -> float:
    one, began, count = np.zeros(1, dtype=np.uint8), perf_counter(), 0
    while _goes_on(world, began):
        for _ in range(100):
            if world.rank == 0:
                world.Send(one, dest=1)
                world.Recv(one, source=1)
            elif world.rank == 1:
                world.Recv(one, source=0)
                world.Send(one, dest=0)
        count += 100
    return count / (perf_counter() - began)


def _goes_on(world: Any, began: float) -> bool:
    """Whether there is time for more, as rank 0 says."""
    answer: bool = world.bcast(perf_counter() - began < SECONDS if world.rank == 0 else None)
    return answer


_PROBES = {
    "tasks_per_s": _tasks,
    "transport_bytes_per_s": _messages,
    "transport_round_trips_per_s": _round_trips,
}
