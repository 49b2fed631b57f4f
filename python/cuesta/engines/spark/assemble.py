"""`assemble`: tasks cut shares of the reads into super-k-mers, which travel as one binary row a
part; the task that has all of a part counts and compacts its buckets. Rows are never k-mers.

The driver joins what the parts have found, which is as much as the unitigs. Where the smallest
count comes from the spectrum, a sample of the buckets goes through a job of its own before.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from cuesta.engines.assembly import PART_BYTES, shares, together
from cuesta.engines.request import native_request
from cuesta.engines.spark import assembly_tasks as tasks
from cuesta.engines.spark.assembly_vertices import Vertices, glued
from cuesta.engines.spark.context import Context
from cuesta.engines.spark.options import options_of
from cuesta.engines.spark.source import on_disk
from cuesta.native import native_module, request_fields
from cuesta.trial import Phase

if TYPE_CHECKING:
    from pyspark import Broadcast
    from pyspark.sql import DataFrame

SHARE_BYTES = 16 << 20
"""Reads that a task divides at a time."""


def run(context: Context) -> dict[str, int]:
    """Write the answer; return the counts. Errors: `InputError`."""
    asked = request_fields(on_disk(context), context.output, context.scratch)
    # The driver needs memory for what all parts have found.
    leads = native_request(asked, memory_bytes=asked["memory_bytes"] // 2)
    before = len(context.phases)
    workers = _Workers(context, asked)
    response = json.loads(native_module().assembly_lead(leads, workers))
    rows = together([*map(asdict, context.phases[before:]), *response["phases"]])
    context.phases[before:] = [Phase(**row) for row in rows]
    counts: dict[str, int] = response["counts"]
    return counts | {"parts": workers.parts}


class _Workers:
    """The tasks, for one size of k-mers after the other."""

    def __init__(self, context: Context, asked: dict[str, Any]) -> None:
        self.parts = 0
        self._context = context
        slots = context.session.slots
        memory_bytes = asked["memory_bytes"] // 2 // slots
        self._request = native_request(asked, threads=1, memory_bytes=memory_bytes)
        self._shares = shares(asked["inputs"], context.task_bytes or SHARE_BYTES)

    def fragments(self, ask: str, trusted: bytes | None) -> list[bytes]:
        """What all parts have found."""
        facts = json.loads(ask)
        size_bytes = facts["input_bytes"]
        wanted = max(self._context.session.slots, -(-size_bytes // PART_BYTES))
        asked = options_of(self._context.trial).partitions or wanted
        self.parts = min(asked, 1 << facts["bits"])
        spark = self._context.session.spark.sparkContext
        held = spark.broadcast(trusted) if trusted else None
        try:
            if facts["min_count"] is None:
                with self._context.phase("sample") as measure:
                    measure.bytes = size_bytes
                    samples = self._go(ask, held, only_sampled=True)
                found = native_module().assembly_min_count(samples, facts["k"])
                ask = json.dumps(facts | {"min_count": found})
            with self._context.phase("partition and compact") as measure:
                measure.bytes = size_bytes
                if facts["program"] is None:
                    return self._go(ask, held, only_sampled=False)
                vertices = Vertices(self._context, facts["k"], self.parts)
                found = vertices.find(*self._blocks(ask, held, only_sampled=False))
            with vertices, self._context.phase("supersteps"):
                return [*found, *glued(vertices, ask)]
        finally:
            if held:
                held.destroy()

    def supersteps(self, control: str, given: list[bytes]) -> tuple[str, list[bytes]]:
        """How a program on the vertices given for each part ended, and what it has left."""
        k = json.loads(control)["k"]
        with (
            Vertices(self._context, k, self.parts) as vertices,
            self._context.phase("supersteps"),
        ):
            vertices.take(given)
            ended = vertices.run(control)
            return ended, vertices.left(ended)

    def _go(self, ask: str, trusted: Broadcast[bytes] | None, *, only_sampled: bool) -> list[bytes]:
        blocks, job = self._blocks(ask, trusted, only_sampled=only_sampled)
        session = self._context.session
        table = session.map_arrow(blocks, partial(tasks.compact, job), tasks.FOUND_SCHEMA).toArrow()
        return [one.as_py() for one in table.column("found")]

    def _blocks(
        self, ask: str, trusted: Broadcast[bytes] | None, *, only_sampled: bool
    ) -> tuple[DataFrame, tasks.Job]:
        every = () if json.loads(ask)["only_trusted"] else tuple(self._shares)
        job = tasks.Job(
            request=self._request,
            ask=ask,
            shares=every,
            trusted=trusted,
            parts=self.parts,
            only_sampled=only_sampled,
        )
        session = self._context.session
        count = len(every) + (trusted is not None)
        numbers = session.spark.range(0, count, 1, max(1, count))
        blocks = session.map_arrow(numbers, partial(tasks.divide, job), tasks.BLOCK_SCHEMA)
        return blocks.repartitionById(self.parts, "part"), job
