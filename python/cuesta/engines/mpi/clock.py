"""The clock of all workloads on ranks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from time import perf_counter
from typing import Any

from cuesta.trial import Phase


class Clock:
    """Times phases on rank 0; a phase ends when the last rank has ended it."""

    def __init__(self, world: Any) -> None:
        self.phases: list[dict[str, Any]] = []
        self._world = world

    @contextmanager
    def phase(self, name: str, **amounts: Any) -> Iterator[None]:
        """The phase around a piece of work of all ranks."""
        self._world.Barrier()
        started = perf_counter()
        yield
        self._world.Barrier()
        self.phases.append({"name": name, "seconds": perf_counter() - started, **amounts})

    def add(self, phases: Iterable[Phase]) -> None:
        """Add phases that were timed elsewhere."""
        self.phases += [asdict(phase) for phase in phases]
