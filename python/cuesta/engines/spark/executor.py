"""What every executor answers and counts, whatever the workload.

Everything here is found by name on the executors, which have this package too.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

Tally = dict[tuple[str, int], int]
"""By phase and number of the task: bytes that are done. What ran twice counts once."""


class TallyParam:
    """Adds tallies. PySpark asks for the methods of its `AccumulatorParam`, not for the class."""

    def zero(self, _value: Tally) -> Tally:
        """Nothing done."""
        return {}

    def addInPlace(self, value1: Tally, value2: Tally) -> Tally:  # noqa: N802
        """Both."""
        value1.update(value2)
        return value1


def version() -> str:
    """Version of this package, with that of the kernels in it."""
    from cuesta import __version__, _native

    return f"{__version__}/{_native.__version__}"


def greet(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """One row an executor's slot: its version, and the node that it is on."""
    import pyarrow as pa

    for batch in batches:
        rows = batch.num_rows
        # Several nodes of a cluster may be one machine, and say so.
        node = os.environ.get("CUESTA_NODE") or platform.node()
        found = {"version": [version()] * rows, "node": [node] * rows}
        yield pa.RecordBatch.from_pydict(found)


def passed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The rows as they came."""
    yield from batches
