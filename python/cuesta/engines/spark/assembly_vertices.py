"""The paper's chain compression on Spark: a job a superstep, in which rows are parts of the
vertices and what they send each other.

Every superstep ends with a checkpoint in scratch, so that neither plans nor lineages grow, and an
executor that dies takes one superstep with it.
"""

from __future__ import annotations

import json
import shutil
from functools import partial
from typing import TYPE_CHECKING

from cuesta.engines.spark import assembly_tasks as tasks
from cuesta.errors import EngineError
from cuesta.lab.request import native_module

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame

    from cuesta.engines.spark.context import Context

SUPERSTEPS_MAX = 10_000


class Vertices:
    """The vertices of one size of k-mers, in parts."""

    def __init__(self, context: Context, ask: str, parts: int) -> None:
        self._context = context
        self._session = context.session
        self._ask = ask
        self._k: int = json.loads(ask)["k"]
        self._parts = parts
        self._kept: list[Path] = []

    def begin(self, blocks: DataFrame, job: tasks.Job) -> list[bytes]:
        """Find the joints of the k-mers of all parts; what the driver must know of them."""
        made = partial(tasks.compact_apart, job)
        self._rows = self._keep(self._session.map_arrow(blocks, made, tasks.VERTEX_SCHEMA))
        found = self._rows.filter(f"kind = {tasks.FOUND}").select("data").toArrow()
        return [one.as_py() for one in found.column("data")]

    def compress(self) -> list[bytes]:
        """Supersteps until every chain is one vertex; what is found then."""
        try:
            traffic = self._supersteps()
            states = self._rows.filter(f"kind = {tasks.STATE}").select("data").toArrow()
        finally:
            self._forget(0)
        native = native_module()
        return [
            native.assembly_compressed(self._ask, self._parts, state.as_py(), traffic)
            for state in states.column("data")
        ]

    def _supersteps(self) -> tuple[int, int, int]:
        messages = size_bytes = 0
        for superstep in range(SUPERSTEPS_MAX):
            rows = self._rows.filter(f"kind != {tasks.FOUND}")
            rows = rows.repartitionById(self._parts, "part")
            function = partial(tasks.step, self._k, self._parts, superstep)
            self._rows = self._keep(self._session.map_arrow(rows, function, tasks.VERTEX_SCHEMA))
            self._forget(1)
            told = self._rows.groupBy().sum("messages", "bytes", "live").first()
            sent, sent_bytes, live = (number or 0 for number in told or (0, 0, 0))
            messages, size_bytes = messages + sent, size_bytes + sent_bytes
            # Tails go in every other superstep from the third on.
            if superstep >= 2 and superstep % 2 == 0 and not sent and not live:
                return superstep + 1, messages, size_bytes
        raise EngineError("engine spark: the chains of k-mers do not end; please report it")

    def _keep(self, rows: DataFrame) -> DataFrame:
        folder = self._context.scratch / f"superstep-{len(self._kept)}"
        self._kept.append(folder)
        self._session.spark.sparkContext.setCheckpointDir(str(folder))
        return rows.checkpoint()

    def _forget(self, but: int) -> None:
        """Remove the checkpoints but the last ones."""
        for folder in self._kept[: len(self._kept) - but]:
            shutil.rmtree(folder, ignore_errors=True)
