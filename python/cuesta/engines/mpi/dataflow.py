"""`dataflow` with NumPy on ranks, `--kernels numpy`: each rank has a range of the blocks, and only
sums travel, added by `MPI_Reduce`.
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
"""The low half of a sum."""


def run(world: Any, request: dict[str, Any]) -> dict[str, Any]:
    """All stages; rank 0 writes the table. The response is that of `_native.run`."""
    asked = plan(request["parameters"], request["seed"], request["inputs"])
    clock = _Clock(world)
    mine = my_blocks(asked.blocks, world.rank, world.size)
    sums = np.zeros((len(mine), 3), dtype=np.int64)
    kernels = NumpyKernels()
    if asked.keep == "none":
        with clock.phase("pipeline", **asked.amounts("pipeline")):
            room = make_room(asked)
            for index, block in enumerate(mine):
                sums[index] = sums_of(kernels, asked, block, room)
    else:
        _staged(clock, kernels, asked, (mine, sums, _keeper(asked, request)))
    with clock.phase("reduce", **asked.amounts("reduce")):
        total = _reduce(world, sums)
    with clock.phase("write", **asked.amounts("write")):
        _write(world, asked, (sums, total), Path(request["output"]))
    counts = {"blocks": asked.blocks, "vectors": asked.vectors}
    return {"phases": clock.phases, "counts": counts | {"ranks": world.size}}


def my_blocks(blocks: int, rank: int, ranks: int) -> range:
    """The blocks of a rank: as even as they can be, none when there are more ranks."""
    first, count = share_of(blocks, rank, ranks)
    return range(first, first + count)


def _keeper(asked: Plan, request: dict[str, Any]) -> Callable[[int], Block]:
    """What makes room for a block: memory, or a mapped file of the scratch folder."""
    if asked.keep == "memory":
        return lambda block: np.empty(3 * asked.vectors_of(block))
    folder = Path(request["scratch"])
    return lambda block: np.memmap(
        folder / f"block-{block}.f64",
        dtype=np.float64,
        mode="w+",
        shape=(3 * asked.vectors_of(block),),
    )


def _staged(
    clock: _Clock,
    kernels: NumpyKernels,
    asked: Plan,
    work: tuple[range, Any, Callable[[int], Block]],
) -> None:
    mine, sums, keep = work
    blocks: list[Block] = []
    with clock.phase(asked.making, **asked.amounts(asked.making)):
        for number in mine:
            blocks.append(make_block(kernels, asked, number, keep(number)))
    with clock.phase("shift", **asked.amounts("shift")):
        for block in blocks:
            kernels.shift(block, asked.shift)
    with clock.phase("average", **asked.amounts("average")):
        for index, block in enumerate(blocks):
            sums[index] = kernels.sum(block)


def _reduce(world: Any, sums: Any) -> Sums:
    """The sum of the blocks of all ranks, on rank 0.

    High and low halves are reduced apart: those of 2^24 sums fit in 64 bits, the sum may not.
    """
    from mpi4py import MPI

    halves = np.concatenate([(sums >> 32).sum(axis=0), (sums & _LOW).sum(axis=0)])
    every = np.zeros_like(halves)
    world.Reduce(halves, every, op=MPI.SUM, root=0)
    x, y, z = ((int(every[axis]) << 32) + int(every[axis + 3]) for axis in range(3))
    return x, y, z


def _write(world: Any, asked: Plan, found: tuple[Any, Sums], output: Path) -> None:
    """Have rank 0 write the table, with the rows of the blocks of all ranks."""
    sums, total = found
    counts = [3 * len(my_blocks(asked.blocks, rank, world.size)) for rank in range(world.size)]
    every = np.empty((asked.blocks, 3), dtype=np.int64) if world.rank == 0 else None
    world.Gatherv(sums, (every, counts) if world.rank == 0 else None)
    if every is not None:
        rows = ((int(x), int(y), int(z)) for x, y, z in every)
        write_table(output / ANSWER_FILE, rows, total, asked)


class _Clock:
    """Times phases on rank 0; a phase ends when the last rank has ended it."""

    def __init__(self, world: Any) -> None:
        self.phases: list[dict[str, Any]] = []
        self._world = world

    @contextmanager
    def phase(self, name: str, **amounts: Any) -> Iterator[None]:
        """The phase around a piece of work of all ranks."""
        self._world.Barrier()
        started = perf_counter()
        yield
        self._world.Barrier()
        self.phases.append({"name": name, "seconds": perf_counter() - started, **amounts})
