"""Rounds on ranks: rank 0 leads, and all ranks do tasks, the one of number i always the same rank.

What a round sends goes in waves of one task a rank, so that no rank holds the blocks of two. Each
rank measures what it did; a rank that waits for another one computes meanwhile, as MPI has it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np

from cuesta import removal
from cuesta.engines.request import native_request
from cuesta.engines.rounds import Job, Leader, Means, Round, combined
from cuesta.errors import InputError
from cuesta.trial import STAGES_MAX, Phase, Stage, measured
from cuesta.units import format_bytes

WAVE_BYTES_MAX = (1 << 31) - 1
"""MPI counts with 32 bits."""
PIECE_BYTES = 1 << 30
"""A buffer is sent in messages of so many bytes."""


@dataclass
class _Spent:
    """Seconds of this rank in a round: exchanging blocks, and handing on what it found.

    Both have the time until the last rank has come.
    """

    exchanging: float = 0.0
    handing_on: float = 0.0


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
    with removal.temporary_folder(
        folder=request["scratch"], prefix=f"rank-{world.rank}-"
    ) as scratch:
        given = request if world.rank == 0 else request | {"scratch": scratch}
        job = Job(workload=request["workload"], request=native_request(given), means=means)
        leader = Leader(job) if world.rank == 0 else None
        worker = job.worker()
        found: list[Any] = []
        times: list[tuple[float, float]] = []
        stages: list[Stage] = []
        while True:
            round_: Round | None = world.bcast(leader.next(found) if leader else None)
            phases += leader.phases() if leader else []
            if round_ is None:
                break
            # All ranks have begun with the round before rank 0 has what they found.
            began, started, spent = time.time(), perf_counter(), _Spent()
            found = _found(world, worker, round_, spent)
            seconds = perf_counter() - started
            phases.append(round_.lasted(seconds))
            if len(times) < STAGES_MAX:
                working = seconds - spent.exchanging - spent.handing_on
                times.append((working, spent.exchanging))
                stages.append(Stage(name=round_.phase, began=began, seconds=seconds, tasks=size))
    counts = leader.counts if leader else {}
    counts.pop("tasks", None)
    every = world.gather(times) or []
    return {
        "phases": [asdict(phase) for phase in phases],
        "counts": counts | {"ranks": size},
        "stages": [
            asdict(replace(stage, each=_each(ranks, stage.seconds)))
            for stage, ranks in zip(stages, zip(*every, strict=True), strict=False)
        ],
    }


def _each(ranks: Sequence[tuple[float, float]], seconds: float) -> dict[str, tuple[float, ...]]:
    """What the ranks measured of a round, in which rank 0 was for so many seconds.

    The last one to come to an exchange has not waited for others.
    """
    exchange = min(exchanging for _, exchanging in ranks)
    return measured(
        [
            {"task_seconds": min(seconds, working + exchange), "fetch_wait_seconds": exchange}
            for working, _ in ranks
        ]
    )


def _found(world: Any, worker: Any, round_: Round, spent: _Spent) -> list[Any]:
    """On rank 0: what the tasks found, or with parts what they did, in the order of numbers."""
    if round_.parts:
        return _exchanged(world, worker, round_, spent)
    mine = {
        number: worker.task(number, round_.shared, round_.tasks[number])[0]
        for number in range(world.rank, len(round_.tasks), world.size)
    }
    own = combined(worker, round_, mine.values()) if round_.combines else []
    started = perf_counter()
    if round_.combines:
        whole = world.reduce(own, op=partial(_combined, worker, round_))
        spent.handing_on += perf_counter() - started
        return whole or []
    found = _gathered(world, mine)
    spent.handing_on += perf_counter() - started
    return found


def _combined(worker: Any, round_: Round, one: list[bytes], other: list[bytes]) -> list[bytes]:
    return combined(worker, round_, [*one, *other])


def _exchanged(world: Any, worker: Any, round_: Round, spent: _Spent) -> list[Any]:
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
        started = perf_counter()
        received = _swapped(world, blocks, sizes)
        spent.exchanging += perf_counter() - started
        if received.size:
            worker.take((world.rank, first), round_.shared, received)
    is_part = world.rank < round_.parts
    mine = {world.rank: worker.part(world.rank, round_.shared)} if is_part else {}
    started = perf_counter()
    if round_.combines:
        whole = world.reduce([*mine.values()], op=partial(_combined, worker, round_))
        found = whole or []
    else:
        found = _gathered(world, mine)
    spent.handing_on += perf_counter() - started
    return found


def _gathered(world: Any, mine: dict[int, Any]) -> list[Any]:
    """On rank 0: the buffers of all ranks, in the order of their numbers; on others none is left.

    One after the other, as they are: they may be most of the memory, so none is there twice.
    """
    from mpi4py import MPI

    pieces = [(number, len(one)) for number, one in sorted(mine.items())]
    every = world.gather(pieces)
    if world.rank:
        for number, size_bytes in pieces:
            sent = np.frombuffer(mine.pop(number), dtype=np.uint8)
            for start in range(0, size_bytes, PIECE_BYTES):
                world.Send([sent[start : start + PIECE_BYTES], MPI.BYTE], dest=0)
        return []
    for rank, there in enumerate(every[1:], start=1):
        for number, size_bytes in there:
            one = np.empty(size_bytes, dtype=np.uint8)
            for start in range(0, size_bytes, PIECE_BYTES):
                world.Recv([one[start : start + PIECE_BYTES], MPI.BYTE], source=rank)
            mine[number] = one
    return [mine[number] for number in sorted(mine)]


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
