"""`dataflow` on ranks: each has a range of the blocks; only sums travel."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cuesta.engines.dataflow import (
    ANSWER_FILE,
    VECTOR_BYTES,
    Kernels,
    NativeKernels,
    Plan,
    make_block,
    make_room,
    plan,
    sums_of,
    write_table,
)
from cuesta.engines.mpi.clock import Clock
from cuesta.engines.shares import share_of

if TYPE_CHECKING:
    from cuesta.engines.dataflow import Block


def run(world: Any, request: dict[str, Any]) -> dict[str, Any]:
    """All stages; rank 0 writes the table. The response is that of `_native.run`."""
    asked = plan(request["parameters"], request["seed"], request["inputs"])
    clock = Clock(world)
    mine = my_blocks(asked.blocks, world.rank, world.size)
    sums = np.zeros((len(mine), 3), dtype=np.int64)
    kernels = NativeKernels()
    if asked.keep == "none":
        with clock.phase("pipeline", rows=asked.vectors, bytes=asked.file_bytes):
            room = make_room(asked)
            for index, block in enumerate(mine):
                sums[index] = sums_of(kernels, asked, block, room)
    else:
        _staged(clock, kernels, asked, (mine, sums, _keeper(asked, request)))
    with clock.phase("reduce", rows=asked.blocks):
        _reduce(world, asked, sums, Path(request["output"]))
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
    clock: Clock,
    kernels: Kernels,
    asked: Plan,
    work: tuple[range, Any, Callable[[int], Block]],
) -> None:
    mine, sums, keep = work
    vectors = asked.vectors
    bytes_once = vectors * VECTOR_BYTES
    blocks: list[Block] = []
    with clock.phase(asked.making, rows=vectors, bytes=asked.file_bytes + bytes_once):
        for number in mine:
            blocks.append(make_block(kernels, asked, number, keep(number)))
    with clock.phase("shift", rows=vectors, bytes=2 * bytes_once):
        for block in blocks:
            kernels.shift(block, asked.shift)
    with clock.phase("average", rows=vectors, bytes=bytes_once):
        for index, block in enumerate(blocks):
            sums[index] = kernels.sum(block)


def _reduce(world: Any, asked: Plan, sums: Any, output: Path) -> None:
    counts = [3 * len(my_blocks(asked.blocks, rank, world.size)) for rank in range(world.size)]
    every = np.empty((asked.blocks, 3), dtype=np.int64) if world.rank == 0 else None
    world.Gatherv(sums, (every, counts) if world.rank == 0 else None)
    if every is not None:
        rows = ((int(x), int(y), int(z)) for x, y, z in every)
        write_table(output / ANSWER_FILE, rows, asked)
