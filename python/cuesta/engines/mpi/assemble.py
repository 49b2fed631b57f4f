"""`assemble` on ranks: each cuts its shares of the reads into super-k-mers, which go to the rank
that has their bucket; rank 0 joins what all have found.

The exchange goes in rounds of a share a rank, so no rank holds more than a share twice, and what
does not fit in its part of `--memory` is in scratch.
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from itertools import pairwise
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from cuesta.engines.assembly import Feed, shares, together
from cuesta.engines.mpi.clock import Clock
from cuesta.engines.request import native_request
from cuesta.native import native_module

SHARE_BYTES = 8 << 20
"""Reads that a rank divides in a round."""


def run(world: Any, request: dict[str, Any]) -> dict[str, Any]:
    """All sizes of k-mers; rank 0 leads. The response is that of `_native.run`."""
    clock = Clock(world)
    with TemporaryDirectory(dir=request["scratch"], prefix=f"rank-{world.rank}-") as scratch:
        # Whoever leads needs memory for what all others have found.
        mine = request | {"scratch": scratch, "threads": 1}
        mine["memory_bytes"] = request["memory_bytes"] // 2 // world.size
        rank = _Rank(world, clock, mine)
        if world.rank:
            while (asked := world.bcast(None)) is not None:
                rank.work(*asked)
            return {"phases": clock.phases, "counts": {}}
        leads = native_request(
            request, memory_bytes=request["memory_bytes"] // 2, threads=world.size
        )

        response = json.loads(native_module().assembly_lead(leads, _Workers(world, rank)))
        world.bcast(None)
    phases = together([*clock.phases, *response["phases"]])
    return {"phases": phases, "counts": response["counts"] | {"ranks": world.size}}


class _Workers:
    """All ranks, as rank 0 asks them."""

    def __init__(self, world: Any, rank: _Rank) -> None:
        self._world = world
        self._rank = rank
        self.parts: int = world.size

    def fragments(self, ask: str, trusted: bytes | None) -> list[bytes]:
        """What the parts of all ranks have found."""
        self._world.bcast((ask, trusted, False))
        return self._rank.found(ask, trusted)

    def supersteps(self, control: str, given: list[bytes]) -> tuple[str, list[bytes]]:
        """How a program on the vertices given for each rank ended, and what all have left."""
        self._world.bcast((control, None, True))
        return self._rank.supersteps(control, given)


class _Rank:
    """What a rank does for one size of k-mers after the other."""

    def __init__(self, world: Any, clock: Clock, request: dict[str, Any]) -> None:
        self._world = world
        self._clock = clock
        self._request = request

    def work(self, asked: str, trusted: bytes | None, is_program: bool) -> None:
        """Do what rank 0 asks for."""
        if is_program:
            self.supersteps(asked, [b""] * self._world.size)
        else:
            self.found(asked, trusted)

    def supersteps(self, control: str, given: list[bytes]) -> tuple[str, list[bytes]]:
        """How a program of supersteps ended; on rank 0 also what all ranks have left."""
        with self._clock.phase("supersteps"):
            run = native_module().assembly_program
            ended, left = run(control, self._world.size, given, _Program(self._world))
            gathered = self._world.gather(left)
        return ended, gathered or []

    def found(self, ask: str, trusted: bytes | None) -> list[bytes]:
        """What the parts of all ranks have found; on rank 0 only."""
        with ExitStack() as phase:
            feed = _Exchange(self._world, self._request, (ask, trusted), (self._clock, phase))
            part = native_module().assembly_part(native_request(self._request), ask, feed)
            gathered = self._world.gather(part)
        return gathered or []


class _Program(Feed):
    """The supersteps in which all ranks give each other messages of vertices."""

    def __init__(self, world: Any) -> None:
        super().__init__(iter(()))
        self._world = world

    def together(self) -> int | None:
        """All ranks."""
        size: int = self._world.size
        return size

    def exchange(self, parts: list[bytes]) -> bytes:
        """What the other ranks have for this one."""
        return self._swapped(b"".join(parts), [len(part) for part in parts])

    def totals(self, numbers: list[int]) -> list[int]:
        """The sums over all ranks."""
        sums = np.empty(len(numbers), dtype=np.uint64)
        self._world.Allreduce(np.array(numbers, dtype=np.uint64), sums)
        found: list[int] = sums.tolist()
        return found

    def _swapped(self, mine: bytes, given: list[int]) -> bytes:
        """What the others give this rank, when it gives each so many of its bytes."""
        from mpi4py import MPI

        taken: list[int] = self._world.alltoall(given)
        received = np.empty(sum(taken), dtype=np.uint8)
        self._world.Alltoallv(
            [np.frombuffer(mine, np.uint8), given, _starts(given), MPI.BYTE],
            [received, taken, _starts(taken), MPI.BYTE],
        )
        return received.tobytes()


class _Exchange(_Program):
    """The rounds in which all ranks give each other super-k-mers, and supersteps after them."""

    def __init__(
        self,
        world: Any,
        request: dict[str, Any],
        asked: tuple[str, bytes | None],
        timed: tuple[Clock, ExitStack],
    ) -> None:
        super().__init__(world)
        self._ask, trusted = asked
        self._clock, self._phase = timed
        facts = json.loads(self._ask)
        self._k = facts["k"]
        every = [] if facts["only_trusted"] else shares(request["inputs"], SHARE_BYTES)
        self._shares: list[str | bytes] = list(every[world.rank :: world.size])
        if trusted and world.rank == 0:
            self._shares.append(trusted)
        self._rounds: int = max(world.allgather(len(self._shares)))
        size_bytes = 0 if facts["only_trusted"] else facts["input_bytes"]
        self._next_phase("partition", bytes=size_bytes)

    def _next_phase(self, name: str, **amounts: int) -> None:
        self._phase.close()
        self._phase.enter_context(self._clock.phase(name, **amounts))

    def blocks(self) -> bytes | None:
        """What the others give this rank of their next shares; None when they have no more."""
        if not self._rounds:
            self._next_phase("compact")
            return None
        self._rounds -= 1
        divided, ends = self._divided(self._shares.pop() if self._shares else None)
        return self._swapped(divided, [end - start for start, end in pairwise([0, *ends])])

    def _divided(self, share: str | bytes | None) -> tuple[bytes, list[int]]:
        native, ranks = native_module(), self._world.size
        if share is None:
            return b"", [0] * ranks
        trusted = isinstance(share, bytes)
        divide = native.assembly_divide_trusted if trusted else native.assembly_divide
        divided, ends, _ = divide(self._ask, share, ranks, False)
        return divided, ends

    def min_count(self, sample: bytes) -> int | None:
        """The smallest count that the samples of all ranks say together."""
        found: int = native_module().assembly_min_count(self._world.allgather(sample), self._k)
        return found

    def exchange(self, parts: list[bytes]) -> bytes:
        """What the other ranks have for this one."""
        if self._clock.running == "compact":
            self._next_phase("supersteps")
        return super().exchange(parts)


def _starts(counts: list[int]) -> list[int]:
    return [int(start) for start in np.cumsum([0, *counts[:-1]])]
