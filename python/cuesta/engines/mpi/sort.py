"""`sort` on ranks, a sample sort: each reads a share, gives all others theirs, and writes its part.

Every rank opens the inputs and the answer itself, so they are in folders that all nodes share.
"""

from __future__ import annotations

import json
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np

from cuesta.engines.mpi.clock import Clock
from cuesta.engines.shares import share_of
from cuesta.engines.sort import RANK_SAMPLES, RECORD_BYTES, check_memory
from cuesta.lab.request import native_module

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Records = NDArray[np.uint8]
    Counts = list[int]


def run(world: Any, request: dict[str, Any]) -> dict[str, Any]:
    """All steps; the response is that of `_native.run`."""
    native = native_module()
    inputs, output = json.dumps(request["inputs"]), request["output"]
    records = world.bcast(native.sort_records(inputs) if world.rank == 0 else None)
    check_memory(records, world.size, request["memory_bytes"])
    clock = Clock(world)
    amounts = {"rows": records, "bytes": records * RECORD_BYTES}
    mine = share_of(records, world.rank, world.size)
    with clock.phase("sample"):
        cuts = _cuts(world, native.sort_sample(inputs, mine, RANK_SAMPLES))
    with clock.phase("read", **amounts):
        divided = np.empty(mine[1] * RECORD_BYTES, dtype=np.uint8)
        given = native.sort_divide(inputs, mine[0], cuts, divided)
        given += [0] * (world.size - len(given))
    with clock.phase("exchange", **amounts):
        part = _exchange(world, divided, given)
        del divided
    with clock.phase("write", **amounts):
        count = part.size // RECORD_BYTES
        first = world.exscan(count) or 0
        if world.rank == 0:
            native.sort_create(output, records)
        world.Barrier()
        native.sort_write(part, output, first)
    parts = world.gather(count)
    return {
        "phases": clock.phases,
        "counts": {"records": records, "ranks": world.size, "largest_part": max(parts or [0])},
    }


def _cuts(world: Any, sample: bytes) -> bytes:
    """The cuts between the parts of the ranks, from what each has sampled of its share."""
    samples = world.gather(sample)
    cuts: bytes = world.bcast(
        native_module().sort_cuts(b"".join(samples), world.size) if world.rank == 0 else None
    )
    return cuts


def _exchange(world: Any, divided: Records, given: Counts) -> Records:
    """The records of this rank's part, those of the first rank first."""
    from mpi4py import MPI

    taken = world.alltoall(given)
    part = np.empty(sum(taken) * RECORD_BYTES, dtype=np.uint8)
    # MPI counts with 32 bits: counted in records it can send a hundred times as much.
    record = MPI.BYTE.Create_contiguous(RECORD_BYTES).Commit()
    try:
        world.Alltoallv(
            [divided, given, _starts(given), record], [part, taken, _starts(taken), record]
        )
    finally:
        record.Free()
    return part


def _starts(counts: Counts) -> Counts:
    return [0, *accumulate(counts[:-1])]
