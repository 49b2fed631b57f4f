"""The input of a workload of this engine, and its times and counts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from cuesta.engines.array import store
from cuesta.engines.array.filters import Filter
from cuesta.engines.array.keep import Loaded
from cuesta.engines.array.keys import row_keys
from cuesta.engines.array.options import BUDGET_OPTION
from cuesta.engines.array.sizes import Sizes, too_little
from cuesta.engines.array.store import Batch
from cuesta.errors import InputError
from cuesta.trial import Phase, Trial
from cuesta.units import format_bytes

FILE_READ = "file_read_warm_bytes_per_s"
"""The ceiling of phases that read files."""


@dataclass(kw_only=True)
class Measure:
    """Name and amounts of a phase; filled in while it runs."""

    name: str
    bytes: int | None = None
    rows: int | None = None


@dataclass(kw_only=True)
class Clock:
    """Timer of phases, with those that have ended."""

    phases: list[Phase] = field(default_factory=list)

    @contextmanager
    def timed(self, name: str, ceiling: str | None = None) -> Iterator[Measure]:
        """Time the block as a phase."""
        measure = Measure(name=name)
        started = time.perf_counter()
        yield measure
        seconds = time.perf_counter() - started
        self.phases.append(
            Phase(
                name=measure.name,
                seconds=seconds,
                bytes=measure.bytes,
                rows=measure.rows,
                ceiling=ceiling,
            )
        )


@dataclass(kw_only=True)
class Run:
    """A trial whose arrays are loaded."""

    trial: Trial
    output: Path
    sizes: Sizes
    filter: Filter
    arrays: list[Loaded]
    clock: Clock
    counts: dict[str, int]

    def session(self, column_bytes: int) -> Any:
        """Return a session to query all arrays at once; see `store.query_session`."""
        needed = max(self.sizes.enough, *(2 * _merge_bytes(loaded) for loaded in self.arrays))
        share = min(self.sizes.query // len(self.arrays), needed)
        return store.query_session(self.trial.threads, share, column_bytes)

    def batches(self, loaded: Loaded, columns: tuple[str, ...], order: str) -> Iterator[Batch]:
        """Query rows that pass the filter, within a session, in an order of `store`."""
        if not loaded.facts.rows:
            return iter(())
        if order == store.GLOBAL:
            self._check_merge(loaded)
        return store.batches(loaded.place, columns, self.filter.condition(), order)

    def sorted_batches(self, loaded: Loaded, columns: tuple[str, ...]) -> Iterator[Batch]:
        """Query rows that pass the filter in order of coordinates, within a session."""
        if loaded.facts.keep_order or not loaded.facts.rows:
            yield from self.batches(loaded, columns, store.GLOBAL)
            return
        band_bytes = self.sizes.batch // len(self.arrays)
        condition = self.filter.condition()
        for batch in store.bands(loaded.place, columns, condition, band_bytes):
            order = np.argsort(row_keys(batch), kind="stable")
            yield {name: column[order] for name, column in batch.items()}

    def stored_bytes(self, loaded: Loaded, columns: tuple[str, ...]) -> int:
        """Return bytes on disk of `columns` and of the filter's columns."""
        wanted = (*columns, *self.filter.columns)
        return store.stored_bytes(loaded.place, loaded.facts.shape, wanted)

    def _check_merge(self, loaded: Loaded) -> None:
        """Check the memory for a merge: with less, TileDB reads the same tiles again for hours.

        Errors: `InputError`.
        """
        needed = _merge_bytes(loaded)
        if needed > self.sizes.query:
            if BUDGET_OPTION in self.trial.engine_options:
                raise InputError(
                    f"array: merging the fragments of {loaded.place} needs {format_bytes(needed)}, "
                    f"--engine-option {BUDGET_OPTION} is {format_bytes(self.sizes.query)}; raise it"
                )
            limit = self.trial.memory_bytes
            what = f"merging the fragments of {loaded.place}"
            raise InputError(too_little(what, needed * limit // self.sizes.query, limit))


def _merge_bytes(loaded: Loaded) -> int:
    return store.merge_bytes(store.overlapping(loaded.place), loaded.facts)


def network_genes(genes: object, largest: int, name: str) -> int:
    """Return the genes of the network: requested, else up to the largest. Errors: `InputError`."""
    if not isinstance(genes, int):
        return largest
    if largest > genes:
        raise InputError(
            f"array: {name} has gene {largest}, but --genes says there are {genes}; leave --genes "
            "out"
        )
    return genes
