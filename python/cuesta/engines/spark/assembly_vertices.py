"""Vertex programs on Spark: a job a superstep, in which rows are parts of the vertices and what
they send each other.

Every superstep ends with a checkpoint in scratch, so that neither plans nor lineages grow, and an
executor that dies takes one superstep with it.
"""

from __future__ import annotations

import json
import shutil
from functools import partial
from typing import TYPE_CHECKING

from cuesta.engines.spark import assembly_tasks as tasks
from cuesta.native import native_module

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame

    from cuesta.engines.spark.context import Context


class Vertices:
    """The vertices of one size of k-mers, in parts; to be used with `with`."""

    def __init__(self, context: Context, k: int, parts: int) -> None:
        self._context = context
        self._session = context.session
        self._place = (k, parts)
        self._kept: list[Path] = []

    def __enter__(self) -> Vertices:
        return self

    def __exit__(self, *_: object) -> None:
        self._forget(0)

    def find(self, blocks: DataFrame, job: tasks.Job) -> list[bytes]:
        """Find the fragments of all parts; what the driver must know of them."""
        made = partial(tasks.compact_apart, job)
        self._rows = self._keep(self._session.map_arrow(blocks, made, tasks.VERTEX_SCHEMA))
        found = self._rows.filter(f"kind = {tasks.FOUND}").select("data").toArrow()
        return [one.as_py() for one in found.column("data")]

    def take(self, given: Sequence[bytes]) -> None:
        """Take the vertices that the driver has for each part."""
        import pyarrow as pa

        batches = list(tasks.vertices(given))
        table = pa.Table.from_batches(batches, tasks.vertex_columns())
        self._rows = self._session.spark.createDataFrame(table)

    def run(self, control: str) -> str:
        """Supersteps to the end of a program; how it ended."""
        native = native_module()
        sums = [f"sum({name})" for name in tasks.TOLD]
        while (order := native.assembly_order(control)) is not None:
            rows = self._rows.filter(f"kind != {tasks.FOUND}")
            rows = rows.repartitionById(self._place[1], "part")
            function = partial(tasks.step, self._place, order)
            self._rows = self._keep(self._session.map_arrow(rows, function, tasks.VERTEX_SCHEMA))
            self._forget(1)
            told = self._rows.selectExpr(*sums).first() or ()
            control = native.assembly_goes_on(control, [number or 0 for number in told])
        return control

    def left(self, control: str, min_count: int = 0) -> list[bytes]:
        """What the parts have left at the end of a program."""
        states = self._rows.filter(f"kind = {tasks.STATE}").select("data").toArrow()
        left = partial(native_module().assembly_left, self._place)
        return [left(state.as_py(), min_count, control) for state in states.column("data")]

    def _keep(self, rows: DataFrame) -> DataFrame:
        folder = self._context.scratch / f"superstep-{len(self._kept)}"
        self._kept.append(folder)
        self._session.spark.sparkContext.setCheckpointDir(str(folder))
        return rows.checkpoint()

    def _forget(self, but: int) -> None:
        """Remove the checkpoints but the last ones."""
        for folder in self._kept[: len(self._kept) - but]:
            shutil.rmtree(folder, ignore_errors=True)


def glued(vertices: Vertices, ask: str) -> list[bytes]:
    """The fragments that a program makes of those that were found."""
    control = native_module().assembly_control(ask)
    return vertices.left(vertices.run(control or ""), json.loads(ask)["min_count"])
