"""Resource use of this process and its descendants as `/proc` reports it, and their lifetimes."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_SET_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of <sys/prctl.h>."""
_SET_SUBREAPER = 36
"""PR_SET_CHILD_SUBREAPER of <sys/prctl.h>."""


@dataclass(frozen=True, kw_only=True)
class Use:
    """Totals of one process and of its children that have ended, since it began."""

    user_seconds: float
    system_seconds: float
    resident_bytes: int
    read_bytes: int
    written_bytes: int
    device_read_bytes: int
    device_written_bytes: int

    @property
    def cpu_seconds(self) -> float:
        """User and system time together."""
        return self.user_seconds + self.system_seconds


def use_of(pid: int) -> Use | None:
    """Resource use of process `pid` so far; None when it has exited or is not visible to us."""
    try:
        fields = _read(f"/proc/{pid}/stat").rpartition(b")")[2].split()
        counts = dict(line.split(b": ") for line in _read(f"/proc/{pid}/io").splitlines())
    except (OSError, ValueError):
        return None
    user, system, ended_user, ended_system = map(int, fields[11:15])
    seconds = (user + ended_user) / _TICKS_PER_S, (system + ended_system) / _TICKS_PER_S
    user_seconds, system_seconds = _cpu_seconds_of_self() if pid == os.getpid() else seconds
    return Use(
        user_seconds=user_seconds,
        system_seconds=system_seconds,
        resident_bytes=int(fields[21]) * _PAGE_BYTES,
        read_bytes=int(counts[b"rchar"]),
        written_bytes=int(counts[b"wchar"]),
        device_read_bytes=int(counts[b"read_bytes"]),
        device_written_bytes=int(counts[b"write_bytes"]),
    )


def _cpu_seconds_of_self() -> tuple[float, float]:
    """User and system seconds as in `stat`, in microseconds rather than ticks."""
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime for use in uses), sum(use.ru_stime for use in uses)


def age_seconds() -> float:
    """Seconds since this process was started; 0 where the kernel does not report it."""
    try:
        fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - int(fields[19]) / _TICKS_PER_S)


def start_of(pid: int) -> float:
    """Time at which a process was started, in seconds since 1970; 0 where it has exited."""
    try:
        ticks = int(_read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[19])
    except OSError:
        return 0.0
    return time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + ticks / _TICKS_PER_S


def descendants(pid: int) -> list[int]:
    """All living processes that `pid` started, directly or not."""
    processes: list[int] = []
    waiting = [pid]
    while waiting:
        children = _children(waiting.pop())
        processes += children
        waiting += children
    return processes


def parents(pid: int) -> list[int]:
    """All processes above `pid`, the nearest first, as far as the kernel reports them."""
    above: list[int] = []
    while pid > 1:
        try:
            pid = int(_read(f"/proc/{pid}/stat").rpartition(b")")[2].split()[1])
        except OSError:
            break
        if pid:
            above.append(pid)
    return above


def _children(pid: int) -> list[int]:
    """Children of all threads of `pid`; none when it has exited."""
    if not _lists_children():
        return _children_by_search(pid)
    children: list[int] = []
    try:
        for thread in os.scandir(f"/proc/{pid}/task"):
            children += map(int, _read(f"{thread.path}/children").split())
    except OSError:
        return children
    return children


@cache
def _lists_children() -> bool:
    """Whether the kernel lists the children of a process (`CONFIG_PROC_CHILDREN`)."""
    return Path(f"/proc/self/task/{os.getpid()}/children").exists()


def _children_by_search(pid: int) -> list[int]:
    """Children of `pid` by the parents of all processes."""
    children: list[int] = []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit():
            try:
                fields = _read(f"/proc/{entry.name}/stat").rpartition(b")")[2].split()
            except OSError:
                continue
            if int(fields[1]) == pid:
                children.append(int(entry.name))
    return children


def _read(path: str) -> bytes:
    """Read a file of the kernel, without the layers of a text file: it is read very often."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        return os.read(descriptor, 1 << 16)
    finally:
        os.close(descriptor)


def identity(pid: int) -> str:
    """A process and its start time, since numbers are used again; empty when it has exited."""
    try:
        stat = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if stat[0] == "Z" else f"{pid}:{stat[19]}"


def lives(process_identity: str) -> bool:
    """Whether the process of an `identity` still exists."""
    return identity(int(process_identity.partition(":")[0])) == process_identity


def with_variable(matches: Callable[[bytes], bool]) -> Iterator[int]:
    """Yield other processes of this machine with a variable `NAME=VALUE` that matches."""
    for entry in os.scandir("/proc"):
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if any(map(matches, Path(entry.path, "environ").read_bytes().split(b"\0"))):
                    yield int(entry.name)


def number_space() -> str:
    """The namespace of process numbers: containers have namespaces of their own."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def reset_peak() -> bool:
    """Reset the high-water mark of this process; False where the kernel does not allow it."""
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


def die_with_parent(number: int = signal.SIGKILL) -> None:
    """In a new process: receive this signal when the thread that started it has ended."""
    import ctypes

    ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, number)


def adopt_orphans() -> None:
    """Become the parent of all descendants whose own parent ends, instead of the first process."""
    import ctypes

    ctypes.CDLL(None).prctl(_SET_SUBREAPER, 1)
