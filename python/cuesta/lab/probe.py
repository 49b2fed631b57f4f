"""Measures a stretch of work: wall and CPU time, peak memory, bytes read and written."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, fields
from types import TracebackType

from cuesta.processes import Use, descendants, peak_resident_bytes, reset_peak, use_of

POLL_SECONDS = 0.05
"""How often the tree of processes is looked at."""


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What a stretch of work used, of this process and all it started.

    `read_bytes` and `written_bytes` passed through system calls; the `device_` ones reached the
    block layer.
    """

    wall_seconds: float
    cpu_seconds: float
    peak_resident_bytes: int
    resident_before_bytes: int
    read_bytes: int
    written_bytes: int
    device_read_bytes: int
    device_written_bytes: int
    load_average: float


class Probe:
    """Context manager around the work; `usage` is there once it has ended without an error.

    Memory is the kernel's high-water mark, exact for this process; with other processes in play
    also the largest sum over the tree seen by a thread that looks every `POLL_SECONDS`.
    """

    usage: Usage

    def __enter__(self) -> Probe:
        self._load_average = os.getloadavg()[0]
        self._exact = reset_peak()
        self._tree_peak_bytes = 0
        self._done = threading.Event()
        self._first = self._look()
        self._watcher = threading.Thread(target=self._watch, name="cuesta-probe", daemon=True)
        self._watcher.start()
        self._started = time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        wall_seconds = time.perf_counter() - self._started
        self._done.set()
        self._watcher.join()
        own_peak_bytes = peak_resident_bytes() if self._exact else 0
        used = self._difference()
        self.usage = Usage(
            wall_seconds=wall_seconds,
            cpu_seconds=max(0.0, used.cpu_seconds),
            peak_resident_bytes=max(own_peak_bytes, self._tree_peak_bytes),
            resident_before_bytes=self._first[os.getpid()].resident_bytes,
            read_bytes=used.read_bytes,
            written_bytes=used.written_bytes,
            device_read_bytes=used.device_read_bytes,
            device_written_bytes=used.device_written_bytes,
            load_average=self._load_average,
        )

    def _watch(self) -> None:
        while not self._done.wait(POLL_SECONDS):
            self._look()

    def _look(self) -> dict[int, Use]:
        """The tree now; remembers its largest sum of resident bytes."""
        own = os.getpid()
        seen = {pid: use_of(pid) for pid in (own, *descendants(own))}
        tree = {pid: use for pid, use in seen.items() if use is not None}
        if len(tree) > 1 or not self._exact:
            resident_bytes = sum(use.resident_bytes for use in tree.values())
            self._tree_peak_bytes = max(self._tree_peak_bytes, resident_bytes)
        return tree

    def _difference(self) -> Use:
        """Used between first and last look, summed over the tree.

        What a process used is in its parent's totals once it has ended and the parent has waited
        for it, so only living ones are added; what an ended one used before the work is taken off.
        """
        last = self._look()
        totals = {
            field.name: sum(getattr(use, field.name) for use in last.values())
            - sum(getattr(use, field.name) for use in self._first.values())
            for field in fields(Use)
        }
        return Use(**totals)
