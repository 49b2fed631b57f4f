"""`dataflow` with NumPy on ranks, `--kernels numpy`: each rank has a range of the blocks, and only
sums are sent, added by `MPI_Reduce`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from cuesta.engines.dataflow import (
    ANSWER_FILE,
    NumpyKernels,
    Plan,
    Sums,
    make_block,
    make_room,
    plan,
    sums_of,
    write_table,
)
from cuesta.engines.shares import share_of

if TYPE_CHECKING:
    from cuesta.engines.dataflow import Block


_LOW = (1 << 32) - 1
"""Mask of the low half of a sum."""


def run(world: Any, request: dict[str, Any]) -> dict[str, Any]:
    """Run all stages; rank 0 writes the table. The response is that of `_native.run`."""
    checked = plan(request["parameters"], request["seed"], request["inputs"])
    clock = _Clock(world)
    blocks = blocks_of_rank(checked.blocks, world.rank, world.size)
    sums = np.zeros((len(blocks), 3), dtype=np.int64)
    if checked.keep == "none":
        kernels = NumpyKernels()
        with clock.phase("pipeline", **checked.amounts("pipeline")):
            room = make_room(checked)
            for index, block in enumerate(blocks):
                sums[index] = sums_of(kernels, checked, block, room)
    else:
        _staged(clock, checked, blocks, sums, _allocator(checked, request))
    with clock.phase("reduce", **checked.amounts("reduce")):
        total = _reduce(world, sums)
    with clock.phase("write", **checked.amounts("write")):
        _write(world, checked, (sums, total), Path(request["output"]))
    counts = {"blocks": checked.blocks, "vectors": checked.vectors}
    return {"phases": clock.phases, "counts": counts | {"ranks": world.size}}


def blocks_of_rank(blocks: int, rank: int, ranks: int) -> range:
    """Return the blocks of a rank: even shares, empty ones if there are more ranks than blocks."""
    first, count = share_of(blocks, rank, ranks)
    return range(first, first + count)


def _allocator(plan_: Plan, request: dict[str, Any]) -> Callable[[int], Block]:
    """Return a function that allocates a block in memory, or in a mapped file of scratch."""
    if plan_.keep == "memory":
        return lambda block: np.empty(3 * plan_.vectors_of(block))
    folder = Path(request["scratch"])
    return lambda block: np.memmap(
        folder / f"block-{block}.f64",
        dtype=np.float64,
        mode="w+",
        shape=(3 * plan_.vectors_of(block),),
    )


def _staged(
    clock: _Clock,
    plan_: Plan,
    numbers: range,
    sums: Any,
    allocate: Callable[[int], Block],
) -> None:
    """Make, shift and average all blocks, each stage as a phase; fill the sums of each block."""
    kernels = NumpyKernels()
    blocks: list[Block] = []
    with clock.phase(plan_.making, **plan_.amounts(plan_.making)):
        for number in numbers:
            blocks.append(make_block(kernels, plan_, number, allocate(number)))
    with clock.phase("shift", **plan_.amounts("shift")):
        for block in blocks:
            kernels.shift(block, plan_.shift)
    with clock.phase("average", **plan_.amounts("average")):
        for index, block in enumerate(blocks):
            sums[index] = kernels.sum(block)


def _reduce(world: Any, sums: Any) -> Sums:
    """Add the sums of all ranks' blocks, on rank 0.

    High and low halves are reduced separately: those of 2^24 sums fit in 64 bits, the sum may not.
    """
    from mpi4py import MPI

    halves = np.concatenate([(sums >> 32).sum(axis=0), (sums & _LOW).sum(axis=0)])
    totals = np.zeros_like(halves)
    world.Reduce(halves, totals, op=MPI.SUM, root=0)
    x, y, z = ((int(totals[axis]) << 32) + int(totals[axis + 3]) for axis in range(3))
    return x, y, z


def _write(world: Any, plan_: Plan, results: tuple[Any, Sums], output: Path) -> None:
    """Have rank 0 write the table, with the rows of the blocks of all ranks."""
    sums, total = results
    counts = [3 * len(blocks_of_rank(plan_.blocks, rank, world.size)) for rank in range(world.size)]
    all_sums = np.empty((plan_.blocks, 3), dtype=np.int64) if world.rank == 0 else None
    world.Gatherv(sums, (all_sums, counts) if world.rank == 0 else None)
    if all_sums is not None:
        rows = ((int(x), int(y), int(z)) for x, y, z in all_sums)
        write_table(output / ANSWER_FILE, rows, total, plan_)


class _Clock:
    """Timer of phases on rank 0; a phase ends when the last rank has ended it."""

    def __init__(self, world: Any) -> None:
        self.phases: list[dict[str, Any]] = []
        self._world = world

    @contextmanager
    def phase(self, name: str, **amounts: Any) -> Iterator[None]:
        """Time a phase of all ranks."""
        self._world.Barrier()
        started = perf_counter()
        yield
        self._world.Barrier()
        self.phases.append({"name": name, "seconds": perf_counter() - started, **amounts})
