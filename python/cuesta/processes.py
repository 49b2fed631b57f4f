"""What `/proc` says about this process and those it started."""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, kw_only=True)
class Use:
    """Totals of one process and of its children that have ended, since it began."""

    cpu_seconds: float
    resident_bytes: int
    read_bytes: int
    written_bytes: int
    device_read_bytes: int
    device_written_bytes: int


def use_of(pid: int) -> Use | None:
    """What process `pid` has used so far; None when it is gone or not ours to see."""
    folder = Path("/proc", str(pid))
    try:
        fields = (folder / "stat").read_text().rpartition(")")[2].split()
        counts = dict(line.split(": ") for line in (folder / "io").read_text().splitlines())
    except (OSError, ValueError):
        return None
    ticks = sum(int(field) for field in fields[11:15])
    return Use(
        cpu_seconds=_own_cpu_seconds() if pid == os.getpid() else ticks / _TICKS_PER_S,
        resident_bytes=int(fields[21]) * _PAGE_BYTES,
        read_bytes=int(counts["rchar"]),
        written_bytes=int(counts["wchar"]),
        device_read_bytes=int(counts["read_bytes"]),
        device_written_bytes=int(counts["write_bytes"]),
    )


def _own_cpu_seconds() -> float:
    """As `stat` has it, in microseconds rather than ticks."""
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in uses)


def age_seconds() -> float:
    """Seconds since this process was started; 0 where the kernel does not say."""
    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / _TICKS_PER_S)


def descendants(pid: int) -> list[int]:
    """Every living process that `pid` started, directly or not."""
    found: list[int] = []
    waiting = [pid]
    while waiting:
        children = _children(waiting.pop())
        found += children
        waiting += children
    return found


def _children(pid: int) -> list[int]:
    """Children of every thread of `pid`; none when it is gone or the kernel does not say."""
    found: list[int] = []
    try:
        for thread in os.scandir(f"/proc/{pid}/task"):
            found += [int(child) for child in Path(thread.path, "children").read_text().split()]
    except OSError:
        return found
    return found


def reset_peak() -> bool:
    """Start the high-water mark of this process anew; False where the kernel does not allow it."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        return False
    return True


def peak_resident_bytes() -> int:
    """High-water mark of this process since it began or `reset_peak` succeeded."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0
