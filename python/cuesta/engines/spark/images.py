"""`images`: every task looks at its own range of the images; lines of the answer go to the driver.

The driver lists the files and tells each task which of them its images are in.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from cuesta.engines import images
from cuesta.engines.request import native_request
from cuesta.engines.shares import FileShare
from cuesta.engines.spark.failures import refusing
from cuesta.engines.spark.options import options_of
from cuesta.engines.spark.plan import TASKS_A_SLOT
from cuesta.engines.spark.source import on_disk
from cuesta.lab.request import native_module, to_request

if TYPE_CHECKING:
    import pyarrow as pa

    from cuesta.engines.spark.context import Context

_LINES = "task long, lines string"


def run(context: Context) -> dict[str, int]:
    """Write the answer; return the counts. Errors: `InputError`."""
    options = options_of(context.trial)
    native = native_module()
    asked = json.loads(to_request(on_disk(context), context.output, context.scratch))
    asked |= {"threads": 1, "memory_bytes": asked["memory_bytes"] // context.session.slots}
    with context.phase("list") as measure:
        facts = json.loads(native.images_facts(native_request(asked)))
        measure.rows = facts["images"]
    tasks = options.partitions or min(facts["images"], TASKS_A_SLOT * context.session.slots)
    with context.phase("images", ceiling=images.CEILING) as measure:
        measure.rows, measure.bytes = facts["images"], facts["bytes"]
        numbers = context.session.spark.range(0, tasks, 1, tasks)
        work = partial(task, asked, tuple(images.shares(facts, tasks)))
        table = context.session.map_arrow(numbers, work, _LINES).toArrow().sort_by("task")
    with context.phase("reduce") as measure:
        lines = "".join(table.column("lines").to_pylist())
        written = json.loads(native.images_write(str(context.output), lines))
        measure.rows, measure.bytes = facts["images"], written["bytes"]
    counts: dict[str, int] = written["counts"]
    return counts | {"tasks": tasks}


def task(
    asked: dict[str, Any],
    shares: tuple[FileShare, ...],
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """In an executor: look at the images of the tasks whose numbers are in `batches`."""
    import pyarrow as pa

    from cuesta import _native

    with refusing():
        for batch in batches:
            for number in batch.column(0).to_pylist():
                lines = images.rows(_native, asked, shares[number])
                columns = [pa.array([number], pa.int64()), pa.array([lines], pa.string())]
                yield pa.RecordBatch.from_arrays(columns, ["task", "lines"])
