"""Measurement of work: wall and CPU time, peak memory, bytes read and written."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from types import TracebackType
from typing import Any

from cuesta.errors import InputError
from cuesta.lab.timeline import Timeline
from cuesta.processes import Use, descendants, peak_resident_bytes, reset_peak, use_of
from cuesta.trial import RemoteUse

POLL_SECONDS = 0.05
"""Interval of samples of the process tree, if sampling is cheap."""

COST_MAX = 0.003
"""Largest share of processor time for sampling; slower samples are taken less often."""

SEARCH_COST_MAX = 0.002
"""Likewise for the search for new processes, which is slow if there are many threads."""


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Resources that work used, in this process and its descendants.

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


@dataclass(frozen=True, kw_only=True)
class CountedUsage:
    """`Usage` including processes elsewhere; None for values that could not be counted there."""

    wall_seconds: float
    cpu_seconds: float | None
    peak_resident_bytes: int | None
    resident_before_bytes: int
    read_bytes: int | None
    written_bytes: int | None
    device_read_bytes: int | None
    device_written_bytes: int | None
    load_average: float


def with_remote(usage: Usage, remote: RemoteUse | None) -> CountedUsage:
    """Add the usage of processes elsewhere; None for values that were not counted there."""
    totals = asdict(usage)
    if remote is not None:
        for name in {field.name for field in fields(RemoteUse)} & totals.keys():
            addend = getattr(remote, name)
            totals[name] = None if addend is None else totals[name] + addend
    return CountedUsage(**totals)


class Probe:
    """Context manager around the work; `usage` is set once it has ended without an error.

    Memory is the kernel's high-water mark, exact for this process; with other processes also the
    largest sum over the tree that a thread samples every `POLL_SECONDS`. With `timeline`, the
    columns of the record's `timeline` are set too. Errors: `InputError` without `/proc`.
    """

    usage: Usage
    timeline: Mapping[str, Any]

    def __init__(self, *, timeline: bool = False) -> None:
        self._line = Timeline() if timeline else None

    def __enter__(self) -> Probe:
        self._load_average = os.getloadavg()[0]
        self._exact = reset_peak()
        self._tree_peak_bytes = 0
        self._resident_bytes = 0
        self._cost_seconds = 0.0
        self._done = threading.Event()
        self._known = [os.getpid()]
        self._search()
        self._first = self._look()
        if os.getpid() not in self._first:
            raise InputError(
                "/proc/self/stat or /proc/self/io cannot be read, where the use of processor, "
                "memory and files is counted; mount it with `mount -t proc proc /proc`, or start "
                "the container with it"
            )
        self._started = time.perf_counter()
        self._add_row(self._first, 0.0)
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
        process_peak_bytes = peak_resident_bytes() if self._exact else 0
        self._search()
        last = self._look()
        used = self._difference(last)
        self._end_line(last, wall_seconds)
        self.usage = Usage(
            wall_seconds=wall_seconds,
            cpu_seconds=max(0.0, used.cpu_seconds),
            peak_resident_bytes=max(process_peak_bytes, self._tree_peak_bytes),
            resident_before_bytes=self._first[os.getpid()].resident_bytes,
            read_bytes=used.read_bytes,
            written_bytes=used.written_bytes,
            device_read_bytes=used.device_read_bytes,
            device_written_bytes=used.device_written_bytes,
            load_average=self._load_average,
        )

    def _watch(self) -> None:
        pause_seconds, search_at = POLL_SECONDS, 0.0
        while not self._done.wait(pause_seconds):
            if time.perf_counter() >= search_at:
                searched_seconds = self._search()
                self._cost_seconds += searched_seconds
                search_at = time.perf_counter() + searched_seconds / SEARCH_COST_MAX
            began = time.thread_time()
            tree = self._look()
            seconds = time.perf_counter() - self._started
            if self._line and self._line.due(seconds):
                self._add_row(tree, seconds)
            sample_seconds = time.thread_time() - began
            self._cost_seconds += sample_seconds
            pause_seconds = max(POLL_SECONDS, sample_seconds / COST_MAX)

    def _search(self) -> float:
        """Find the processes of the tree; return the processor seconds that it took."""
        began = time.thread_time()
        pid = os.getpid()
        self._known = [pid, *descendants(pid)]
        return time.thread_time() - began

    def _add_row(self, tree: Mapping[int, Use], seconds: float) -> None:
        if self._line:
            row = {
                "user_seconds": sum(use.user_seconds for use in tree.values()),
                "system_seconds": sum(use.system_seconds for use in tree.values()),
                "read_bytes": sum(use.read_bytes for use in tree.values()),
                "written_bytes": sum(use.written_bytes for use in tree.values()),
                "resident_bytes": self._resident_bytes,
            }
            self._line.add(seconds, row)
            self._resident_bytes = 0

    def _end_line(self, tree: Mapping[int, Use], wall_seconds: float) -> None:
        if self._line:
            self._add_row(tree, wall_seconds)
            self._line.close()
            cost = {"cost_seconds": round(self._cost_seconds, 6)}
            self.timeline = cost | self._line.columns()

    def _look(self) -> dict[int, Use]:
        """Sample the known processes; record their largest sum of resident bytes."""
        samples = {pid: use_of(pid) for pid in self._known}
        tree = {pid: use for pid, use in samples.items() if use is not None}
        resident_bytes = sum(use.resident_bytes for use in tree.values())
        self._resident_bytes = max(self._resident_bytes, resident_bytes)
        if len(tree) > 1 or not self._exact:
            self._tree_peak_bytes = max(self._tree_peak_bytes, resident_bytes)
        return tree

    def _difference(self, last: Mapping[int, Use]) -> Use:
        """Usage between the first and the last sample, summed over the tree.

        The totals of a parent include a process that has ended and that it has waited for, so only
        living processes are added; the usage of an ended one before the work is subtracted.
        """
        totals = {
            field.name: sum(getattr(use, field.name) for use in last.values())
            - sum(getattr(use, field.name) for use in self._first.values())
            for field in fields(Use)
        }
        return Use(**totals)
