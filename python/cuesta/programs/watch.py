"""Samples of a process tree while it runs, and what it used once all of it has ended."""

from __future__ import annotations

import contextlib
import os
import resource
import stat
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cuesta import processes
from cuesta.lab.probe import COST_MAX, POLL_SECONDS
from cuesta.lab.timeline import Timeline

FILES_MAX = 20
"""Most files outside of a program's folder that are named."""
DESCRIPTORS_MAX = 64
"""Most descriptors of a process that are looked at in a sample."""
_WRITES = os.O_WRONLY | os.O_RDWR


class Watch:
    """A watch over the descendants of this process, which has one thread.

    Attributes
    ----------
    due
        Time of the next sample, by `time.perf_counter`.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = f"{folder}/"
        self._line = Timeline()
        self._line.add(0.0, dict.fromkeys(_TREE, 0.0))
        self._own_peak_bytes = processes.peak_resident_bytes()
        self._peak_bytes = self._since_row_bytes = 0
        self._count = 1
        self._written: set[str] = set()
        self._began = self.due = 0.0
        self._io_before = _children_io()

    def begin(self, began: float) -> None:
        """Begin at the time at which the program started."""
        self._began = began
        self.due = time.perf_counter() + POLL_SECONDS

    def look(self) -> int:
        """Take a sample; return the resident bytes of the tree, which may count pages twice."""
        cost = time.thread_time()
        pids = processes.descendants(os.getpid())
        uses = [use for pid in pids if (use := processes.use_of(pid)) is not None]
        resident_bytes = sum(use.resident_bytes for use in uses)
        self._peak_bytes = max(self._peak_bytes, resident_bytes)
        self._since_row_bytes = max(self._since_row_bytes, resident_bytes)
        self._count = max(self._count, len(uses))
        for pid in pids if len(self._written) < FILES_MAX else ():
            self._written.update(_files_outside(pid, self._folder))
        now = time.perf_counter()
        if self._line.due(now - self._began):
            self._add_row(now - self._began, uses)
        cost = time.thread_time() - cost
        self.due = now + max(POLL_SECONDS, cost / COST_MAX)
        return resident_bytes

    def resident_exactly(self) -> int:
        """Resident bytes of the tree, with pages that processes share counted once."""
        return sum(map(_proportional_bytes, processes.descendants(os.getpid())))

    def usage(self, before: resource.struct_rusage) -> dict[str, Any]:
        """Totals of the tree, all of which has ended, as fields of `tree.Ended`."""
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        # Until it took over its process, the program was a copy of this one.
        largest_bytes = after.ru_maxrss * 1024
        if largest_bytes <= processes.peak_resident_bytes() + self._own_peak_bytes // 8:
            largest_bytes = 0
        read = {
            name: max(0, count - self._io_before[name]) for name, count in _children_io().items()
        }
        self._line.add(time.perf_counter() - self._began, dict.fromkeys(_TREE, 0.0))
        self.close()
        return {
            "user_seconds": after.ru_utime - before.ru_utime,
            "system_seconds": after.ru_stime - before.ru_stime,
            "peak_resident_bytes": max(self._peak_bytes, largest_bytes),
            "read_bytes": read["rchar"],
            "written_bytes": read["wchar"],
            "device_read_bytes": read["read_bytes"],
            "device_written_bytes": read["write_bytes"],
            "major_faults": after.ru_majflt - before.ru_majflt,
            "waits": after.ru_nvcsw - before.ru_nvcsw,
            "preemptions": after.ru_nivcsw - before.ru_nivcsw,
            "processes": self._count,
            "written": tuple(sorted(self._written)[:FILES_MAX]),
            "timeline": self._line.columns(),
        }

    def close(self) -> None:
        """Close the files of the counters."""
        self._line.close()

    def _add_row(self, seconds: float, uses: list[processes.Use]) -> None:
        row = {name: float(sum(getattr(use, name) for use in uses)) for name in _TREE}
        row["resident_bytes"] = self._since_row_bytes
        self._since_row_bytes = 0
        self._line.add(seconds, row)


_TREE = ("user_seconds", "system_seconds", "read_bytes", "written_bytes", "resident_bytes")


def _children_io() -> dict[str, int]:
    """Counters of input and output of all reaped children: those of this process without its own
    thread.
    """
    totals = _io("/proc/self/io")
    thread = _io("/proc/thread-self/io")
    return {name: totals[name] - thread[name] for name in totals}


def _io(path: str) -> dict[str, int]:
    names = ("rchar", "wchar", "read_bytes", "write_bytes")
    try:
        lines = Path(path).read_text(encoding="ascii").splitlines()
    except OSError:
        return dict.fromkeys(names, 0)
    counts = {line.partition(": ")[0]: int(line.partition(": ")[2]) for line in lines}
    return {name: counts[name] for name in names}


def _files_outside(pid: int, folder: str) -> Iterator[str]:
    """Regular files that a process has open for writing and that are not in its folder."""
    try:
        entries = os.listdir(f"/proc/{pid}/fd")[:DESCRIPTORS_MAX]  # noqa: PTH208
    except OSError:
        return
    for entry in entries:
        with contextlib.suppress(OSError, ValueError):
            path = os.readlink(f"/proc/{pid}/fd/{entry}")  # noqa: PTH115
            if not path.startswith("/") or path.startswith((folder, "/dev/", "/memfd:")):
                continue
            info = Path(f"/proc/{pid}/fdinfo/{entry}").read_text(encoding="ascii")
            flags = int(info.partition("flags:")[2].split()[0], 8)
            mode = os.stat(f"/proc/{pid}/fd/{entry}").st_mode  # noqa: PTH116
            if flags & _WRITES and stat.S_ISREG(mode):
                yield path


def _proportional_bytes(pid: int) -> int:
    """Resident bytes of a process, of shared pages its part."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii")
    except OSError:
        use = processes.use_of(pid)
        return use.resident_bytes if use else 0
    for line in text.splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0
