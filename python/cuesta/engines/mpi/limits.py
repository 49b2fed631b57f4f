"""Cost of MPI: rates of empty tasks, and of messages between the first two ranks."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

MESSAGE_BYTES = 8 << 20
SECONDS = 0.15
TASK = {"workload": "none", "index": 0}


def run(world: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Return samples by name, rates per second on rank 0; the first of each is discarded."""
    rates: dict[str, list[float]] = {}
    for name, probe in _PROBES.items():
        samples = [probe(world) for _ in range(request["repeats"] + 1)]
        rates[name] = samples[1:]
    return rates


def _tasks(world: Any) -> float:
    """Measure tasks per second: rank 0 sends each rank a task and awaits its answer."""
    world.barrier()
    began, count = perf_counter(), 0
    while _has_time(world, began):
        task = world.scatter([TASK] * world.size if world.rank == 0 else None)
        world.gather({"index": task["index"]})
        count += world.size
    return count / (perf_counter() - began)


def _messages(world: Any) -> float:
    buffer, began, sent = np.zeros(MESSAGE_BYTES, dtype=np.uint8), perf_counter(), 0
    while _has_time(world, began):
        if world.rank == 0:
            world.Send(buffer, dest=1)
        elif world.rank == 1:
            world.Recv(buffer, source=0)
        sent += MESSAGE_BYTES
    return sent / (perf_counter() - began)


def _round_trips(world: Any) -> float:
    byte, began, count = np.zeros(1, dtype=np.uint8), perf_counter(), 0
    while _has_time(world, began):
        for _ in range(100):
            if world.rank == 0:
                world.Send(byte, dest=1)
                world.Recv(byte, source=1)
            elif world.rank == 1:
                world.Recv(byte, source=0)
                world.Send(byte, dest=0)
        count += 100
    return count / (perf_counter() - began)


def _has_time(world: Any, began: float) -> bool:
    """Whether time remains for more, by the clock of rank 0."""
    answer: bool = world.bcast(perf_counter() - began < SECONDS if world.rank == 0 else None)
    return answer


_PROBES = {
    "tasks_per_s": _tasks,
    "transport_bytes_per_s": _messages,
    "transport_round_trips_per_s": _round_trips,
}
