"""Rounds on ranks: rank 0 leads, and all ranks do tasks, the one of number i always the same rank.

What a round sends goes in waves of one task a rank, so that no rank holds the blocks of two.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from itertools import pairwise
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from cuesta.engines.request import native_request
from cuesta.engines.rounds import Job, Leader, Means, Round, combined
from cuesta.errors import InputError
from cuesta.trial import Phase
from cuesta.units import format_bytes

WAVE_BYTES_MAX = (1 << 31) - 1
"""MPI counts with 32 bits."""


def run(world: Any, request: dict[str, Any]) -> dict[str, Any]:
    """All rounds. The response is that of `_native.run`."""
    size = world.size
    means = Means(
        slots=size,
        nodes=request["nodes"],
        memory_bytes=request["memory_bytes"],
        tasks=size,
        keeps=True,
    )
    phases: list[Phase] = []
    with TemporaryDirectory(dir=request["scratch"], prefix=f"rank-{world.rank}-") as scratch:
        given = request if world.rank == 0 else request | {"scratch": scratch}
        job = Job(workload=request["workload"], request=native_request(given), means=means)
        leader = Leader(job) if world.rank == 0 else None
        worker = job.worker()
        found: list[bytes] = []
        while True:
            round_: Round | None = world.bcast(leader.next(found) if leader else None)
            phases += leader.phases() if leader else []
            if round_ is None:
                break
            # All ranks have begun with the round before rank 0 has what they found.
            started = perf_counter()
            found = _found(world, worker, round_)
            phases.append(round_.lasted(perf_counter() - started))
    counts = leader.counts if leader else {}
    counts.pop("tasks", None)
    return {"phases": [asdict(phase) for phase in phases], "counts": counts | {"ranks": size}}


def _found(world: Any, worker: Any, round_: Round) -> list[bytes]:
    """On rank 0: what the tasks found, or with parts what they did, in the order of numbers."""
    if round_.parts:
        return _exchanged(world, worker, round_)
    mine = {
        number: worker.task(number, round_.shared, round_.tasks[number])[0]
        for number in range(world.rank, len(round_.tasks), world.size)
    }
    if round_.combines:
        whole = world.reduce(
            combined(worker, round_, mine.values()), op=partial(_combined, worker, round_)
        )
        return whole or []
    gathered = world.gather(mine) or []
    found = {number: one for some in gathered for number, one in some.items()}
    return [found[number] for number in sorted(found)]


def _combined(worker: Any, round_: Round, one: list[bytes], other: list[bytes]) -> list[bytes]:
    return combined(worker, round_, [*one, *other])


def _exchanged(world: Any, worker: Any, round_: Round) -> list[bytes]:
    """On rank 0: what the parts found, each of which is a rank."""
    if round_.parts > world.size:
        raise AssertionError(f"{round_.parts} parts for {world.size} ranks")
    count = len(round_.tasks)
    for first in range(0, count, world.size):
        number = first + world.rank
        blocks, ends = b"", [0]
        if number < count:
            _, blocks, ends = worker.task(number, round_.shared, round_.tasks[number])
        sizes = [end - start for start, end in pairwise([0, *ends])]
        sizes += [0] * (world.size - len(sizes))
        received = _swapped(world, blocks, sizes)
        if received.size:
            worker.take((world.rank, first), round_.shared, received)
    is_part = world.rank < round_.parts
    mine = [worker.part(world.rank, round_.shared)] if is_part else []
    if round_.combines:
        return world.reduce(mine, op=partial(_combined, worker, round_)) or []
    return [found for some in world.gather(mine) or [] for found in some]


def _swapped(world: Any, blocks: Any, given: list[int]) -> Any:
    """What all ranks have for this one, in their order, when it gives them so many bytes each."""
    from mpi4py import MPI

    taken: list[int] = world.alltoall(given)
    for size_bytes in (sum(given), sum(taken)):
        if size_bytes > WAVE_BYTES_MAX:
            raise InputError(
                f"mpi: a rank exchanges {format_bytes(size_bytes)} at once, MPI takes less than "
                "2 GiB; give more --ranks"
            )
    received = np.empty(sum(taken), dtype=np.uint8)
    world.Alltoallv(
        [np.frombuffer(blocks, np.uint8), given, _starts(given), MPI.BYTE],
        [received, taken, _starts(taken), MPI.BYTE],
    )
    return received


def _starts(counts: list[int]) -> list[int]:
    return [int(start) for start in np.cumsum([0, *counts[:-1]])]
