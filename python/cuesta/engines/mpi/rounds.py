"""Rounds on ranks: rank 0 leads, and all ranks run tasks, task i always on the same rank.

Blocks are exchanged in waves of one task for each rank, so that no rank holds the blocks of two
tasks. Each rank measures its times. A waiting rank keeps its core busy, since MPI polls.
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
"""Limit of an exchange: MPI counts with 32 bits."""
PIECE_BYTES = 1 << 30
"""Bytes of a message in which a buffer is sent."""


@dataclass
class _Times:
    """Seconds of this rank in a round: in the exchange of blocks, and in gathering results.

    Both include the wait for the last rank.
    """

    exchange_s: float = 0.0
    gather_s: float = 0.0


def run(world: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Run all rounds. The response is that of `_native.run`."""
    size = world.size
    means = Means(
        slots=size,
        nodes=request["nodes"],
        memory_bytes=request["memory_bytes"],
        tasks=size,
        keeps=request["keeps"],
    )
    phases: list[Phase] = []
    with removal.temporary_folder(
        folder=request["scratch"], prefix=f"rank-{world.rank}-"
    ) as scratch:
        local_request = request if world.rank == 0 else request | {"scratch": scratch}
        job = Job(workload=request["workload"], request=native_request(local_request), means=means)
        leader = Leader(job) if world.rank == 0 else None
        worker = job.worker()
        results: list[Any] = []
        rank_times: list[tuple[float, float]] = []
        stages: list[Stage] = []
        while True:
            round_: Round | None = world.bcast(leader.next(results) if leader else None)
            phases += leader.phases() if leader else []
            if round_ is None:
                break
            # All ranks have begun the round before rank 0 receives their results.
            began, started, times = time.time(), perf_counter(), _Times()
            results = _execute(world, worker, round_, times)
            seconds = perf_counter() - started
            phases.append(round_.to_phase(seconds))
            if len(rank_times) < STAGES_MAX:
                working = seconds - times.exchange_s - times.gather_s
                rank_times.append((working, times.exchange_s))
                stages.append(Stage(name=round_.phase, began=began, seconds=seconds, tasks=size))
    counts = leader.counts if leader else {}
    counts.pop("tasks", None)
    all_times = world.gather(rank_times) or []
    return {
        "phases": [asdict(phase) for phase in phases],
        "counts": counts | {"ranks": size},
        "stages": [
            asdict(replace(stage, each=_each(ranks, stage.seconds)))
            for stage, ranks in zip(stages, zip(*all_times, strict=True), strict=False)
        ],
    }


def _each(ranks: Sequence[tuple[float, float]], seconds: float) -> dict[str, tuple[float, ...]]:
    """Return the ranks' measurements of a round, which took `seconds` on rank 0.

    The exchange takes the least time of any rank: the last rank to arrive does not wait.
    """
    exchange = min(exchange_s for _, exchange_s in ranks)
    return measured(
        [
            {"task_seconds": min(seconds, working + exchange), "fetch_wait_seconds": exchange}
            for working, _ in ranks
        ]
    )


def _execute(world: Any, worker: Any, round_: Round, times: _Times) -> list[Any]:
    """Run a round; return on rank 0 the results of tasks, or of parts, in order of numbers."""
    if round_.parts:
        return _exchanged(world, worker, round_, times)
    results = {
        number: worker.task(number, round_.shared, round_.tasks[number])[0]
        for number in range(world.rank, len(round_.tasks), world.size)
    }
    local = combined(worker, round_, results.values()) if round_.combines else []
    started = perf_counter()
    if round_.combines:
        reduced = world.reduce(local, op=partial(_combined, worker, round_))
        times.gather_s += perf_counter() - started
        return reduced or []
    gathered = _gathered(world, results)
    times.gather_s += perf_counter() - started
    return gathered


def _combined(worker: Any, round_: Round, left: list[bytes], right: list[bytes]) -> list[bytes]:
    return combined(worker, round_, [*left, *right])


def _exchanged(world: Any, worker: Any, round_: Round, times: _Times) -> list[Any]:
    """Run a round with parts, one on each rank; return on rank 0 the results of the parts."""
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
        times.exchange_s += perf_counter() - started
        if received.size:
            worker.take((world.rank, first), round_.shared, received)
    is_part = world.rank < round_.parts
    local = {world.rank: worker.part(world.rank, round_.shared)} if is_part else {}
    started = perf_counter()
    if round_.combines:
        results = world.reduce([*local.values()], op=partial(_combined, worker, round_)) or []
    else:
        results = _gathered(world, local)
    times.gather_s += perf_counter() - started
    return results


def _gathered(world: Any, local: dict[int, Any]) -> list[Any]:
    """Gather the buffers of all ranks on rank 0, in the order of their numbers.

    Buffers are sent one by one and uncopied, and removed from `local`: they may be most of the
    memory.
    """
    from mpi4py import MPI

    sizes = [(number, len(buffer)) for number, buffer in sorted(local.items())]
    all_sizes = world.gather(sizes)
    if world.rank:
        for number, size_bytes in sizes:
            sent = np.frombuffer(local.pop(number), dtype=np.uint8)
            for start in range(0, size_bytes, PIECE_BYTES):
                world.Send([sent[start : start + PIECE_BYTES], MPI.BYTE], dest=0)
        return []
    for rank, rank_sizes in enumerate(all_sizes[1:], start=1):
        for number, size_bytes in rank_sizes:
            buffer = np.empty(size_bytes, dtype=np.uint8)
            for start in range(0, size_bytes, PIECE_BYTES):
                world.Recv([buffer[start : start + PIECE_BYTES], MPI.BYTE], source=rank)
            local[number] = buffer
    return [local[number] for number in sorted(local)]


def _swapped(world: Any, blocks: Any, sent: list[int]) -> Any:
    """Send each rank `sent` bytes of `blocks`; return the blocks of all ranks for this one."""
    from mpi4py import MPI

    incoming: list[int] = world.alltoall(sent)
    for size_bytes in (sum(sent), sum(incoming)):
        if size_bytes > WAVE_BYTES_MAX:
            raise InputError(
                f"mpi: a rank exchanges {format_bytes(size_bytes)} at once, MPI takes less than "
                "2 GiB; give more --ranks"
            )
    received = np.empty(sum(incoming), dtype=np.uint8)
    world.Alltoallv(
        [np.frombuffer(blocks, np.uint8), sent, _starts(sent), MPI.BYTE],
        [received, incoming, _starts(incoming), MPI.BYTE],
    )
    return received


def _starts(counts: list[int]) -> list[int]:
    return [int(start) for start in np.cumsum([0, *counts[:-1]])]
