"""`sort`: tasks divide their shares of the records into parts, which travel as blocks of bytes. The
task that has all of a part sorts it and writes it to its place in the answer.

The records are read twice. The first pass counts how many of each share belong to each part, so
every block has a place before it exists, and nothing has to be put in order or together afterwards.
"""

from __future__ import annotations

import json
from functools import partial
from typing import TYPE_CHECKING

from cuesta.engines.shares import Share
from cuesta.engines.sort import PART_SAMPLES, RECORD_BYTES
from cuesta.engines.spark import sort_tasks as tasks
from cuesta.engines.spark.context import Context
from cuesta.engines.spark.options import options_of
from cuesta.engines.spark.source import on_disk
from cuesta.errors import EngineError
from cuesta.lab.request import native_module

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Counts = NDArray[np.int64]

SHARE_BYTES = 16 << 20
"""Records that a task reads and divides at a time."""
PART_BYTES = 32 << 20
"""Records that a task sorts, about."""
PARTS_MAX = 1 << 15


def run(context: Context) -> dict[str, int]:
    """Write `sorted.dat`; return the counts."""
    inputs = on_disk(context).inputs
    native = native_module()
    with context.phase("sample"):
        job = tasks.Job(inputs=json.dumps(inputs), output=str(context.output), tally=context.tally)
        records = native.sort_records(job.inputs)
        shares = _shares(records, context.task_bytes or SHARE_BYTES)
        even = max(context.session.slots, -(-records * RECORD_BYTES // PART_BYTES))
        parts = min(options_of(context.trial).partitions or even, PARTS_MAX)
        sample = native.sort_sample(job.inputs, (0, records), PART_SAMPLES * parts)
        cuts = native.sort_cuts(sample, parts)
    with context.phase("count", ceiling="file_read_warm_bytes_per_s") as measure:
        measure.rows, measure.bytes = records, records * RECORD_BYTES
        counts = _counts(context, job, shares, cuts)
    with context.phase("sort") as measure:
        measure.rows, measure.bytes = records, records * RECORD_BYTES
        native.sort_create(job.output, records)
        written = _sort(context, job, (shares, cuts, counts))
    if written != records:
        raise EngineError(f"engine spark: {written} of {records} records came out of the shuffle")
    largest = int(counts.sum(axis=0).max(initial=0))
    return {"records": records, "parts": counts.shape[1], "largest_part": largest}


def _shares(records: int, size_bytes: int) -> tuple[Share, ...]:
    step = max(1, size_bytes // RECORD_BYTES)
    return tuple((first, min(step, records - first)) for first in range(0, records, step))


def _counts(context: Context, job: tasks.Job, shares: tuple[Share, ...], cuts: bytes) -> Counts:
    """Records of each share in each part."""
    import numpy as np

    session = context.session
    numbers = session.spark.range(0, len(shares), 1, _slices(context, len(shares)))
    function = partial(tasks.count, job, shares, cuts)
    table = session.map_arrow(numbers, function, tasks.COUNT_SCHEMA).toArrow()
    found = np.zeros((len(shares), len(cuts) // tasks.CUT_BYTES + 1), dtype=np.int64)
    for row in table.to_pylist():
        found[row["share"]] = np.frombuffer(row["counts"], dtype=np.int64)
    return found


def _sort(context: Context, job: tasks.Job, work: tuple[tuple[Share, ...], bytes, Counts]) -> int:
    """The shuffle; how many records were written."""
    import numpy as np

    shares, cuts, counts = work
    sizes = counts.sum(axis=0)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    # Where the block of each share begins in the answer: parts in order, shares in order in each.
    places = starts[:-1] + np.cumsum(counts, axis=0) - counts
    session = context.session
    numbers = session.spark.range(0, len(shares), 1, _slices(context, len(shares)))
    divide = partial(tasks.divide, job, shares, (cuts, places))
    blocks = session.map_arrow(numbers, divide, tasks.BLOCK_SCHEMA)
    blocks = blocks.repartitionById(len(sizes), "part")
    write = partial(tasks.write, job, starts)
    table = session.map_arrow(blocks, write, tasks.WRITTEN_SCHEMA).toArrow()
    return sum(table.column("records").to_pylist())


def _slices(context: Context, shares: int) -> int:
    """Tasks for the shares: some for each slot, so that all slots end at about the same time."""
    return max(1, min(shares, max(4 * context.session.slots, shares // 16)))
