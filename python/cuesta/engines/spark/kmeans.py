"""`kmeans`: every task reads its own range of the points; exact sums go to the driver.

The sums are whole numbers, so that neither the partitions nor a task that runs twice can change a
centre. The clusters of the points are written by the tasks, each at its own place of one file.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from cuesta.engines import kmeans
from cuesta.engines.request import native_request
from cuesta.engines.spark.failures import refusing
from cuesta.engines.spark.source import on_disk
from cuesta.lab.points import with_arrays
from cuesta.lab.request import native_module, to_request
from cuesta.lab.trial import Phase

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

    from cuesta.engines.spark.context import Context

TASKS_A_SLOT = 3
"""Tasks for each slot, so that all slots end at about the same time."""
TASK_BYTES_MIN = 4 << 20

_FOUND = "found binary"


@dataclass(frozen=True, kw_only=True)
class Pass:
    """What a task needs to know to go over its points once.

    Attributes
    ----------
    request
        That of the native module, as JSON.
    shares
        First point and number of points of each task.
    what
        `read`, `assign` or `finish`.
    largest, centres
        What the driver knows so far.
    """

    request: str
    shares: tuple[tuple[int, int], ...]
    what: str
    largest: bytes = b""
    centres: bytes = b""


def run(context: Context) -> dict[str, int]:
    """Write the answer; return the counts. Errors: `InputError`."""
    import numpy as np

    trial, converted = with_arrays(on_disk(context), context.scratch)
    asked = json.loads(to_request(trial, context.output, context.scratch))
    leader = native_module().KMeansLeader(native_request(asked))
    facts = json.loads(leader.facts())
    context.phases += [*converted, *(Phase(**_known(row)) for row in facts["phases"])]
    tasks = _tasks(context, facts)
    asked["memory_bytes"] //= context.session.slots
    request = native_request(asked, inputs=facts["arrays"], threads=1)
    shares = tuple(kmeans.shares(facts["points"], tasks))
    amounts = kmeans.amounts(facts)
    with _phase(context, "read", amounts):
        found = _go(context, Pass(request=request, shares=shares, what="read"), np.float64)
        largest = reduce(np.maximum, found).tobytes()
        leader.begin(largest)

    def go(what: str) -> bytes:
        known = {"largest": largest, "centres": leader.centres()}
        found = _go(context, Pass(request=request, shares=shares, what=what, **known), np.int64)
        return reduce(np.add, found).tobytes()

    def step() -> bool:
        return bool(leader.update(go("assign")))

    kmeans.iterate(step, lambda name: _phase(context, name, amounts), "streamed iteration")
    with _phase(context, "assign", amounts):
        leader.create()
        iterations = leader.write(go("finish"))
    return kmeans.counts(facts, iterations) | {"tasks": tasks}


def task(asked: Pass, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """In an executor: go over the points of the tasks whose numbers are in `batches`."""
    import pyarrow as pa

    from cuesta import _native

    with refusing():
        for batch in batches:
            for number in batch.column(0).to_pylist():
                share = _native.KMeansShare(asked.request, asked.shares[number], False)
                yield pa.RecordBatch.from_pydict({"found": [_found(share, asked)]})


def _found(share: Any, asked: Pass) -> bytes:
    found: bytes
    if asked.what == "read":
        found = share.read()
        return found
    share.begin(asked.largest)
    work = share.assign if asked.what == "assign" else share.finish
    found = work(asked.centres)
    return found


def _go(context: Context, asked: Pass, kind: type[np.generic]) -> list[NDArray[Any]]:
    """What each task has found."""
    import numpy as np

    count = len(asked.shares)
    numbers = context.session.spark.range(0, count, 1, count)
    table = context.session.map_arrow(numbers, partial(task, asked), _FOUND).toArrow()
    return [np.frombuffer(one.as_buffer(), kind) for one in table.column("found")]


def _tasks(context: Context, facts: dict[str, Any]) -> int:
    size_bytes: int = facts["points"] * facts["row_bytes"]
    wanted = context.task_bytes
    if wanted:
        return max(1, -(-size_bytes // wanted))
    most = TASKS_A_SLOT * context.session.slots
    return max(1, min(most, size_bytes // TASK_BYTES_MIN))


@contextmanager
def _phase(context: Context, name: str, amounts: dict[str, int]) -> Iterator[None]:
    row = {"name": name} | amounts
    with context.phase(name, ceiling=kmeans.ceiling(row)) as measure:
        yield
        measure.bytes, measure.rows = amounts["bytes"], amounts["rows"]


def _known(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] or None for name in ("name", "bytes", "rows")} | {
        "seconds": row["seconds"]
    }
