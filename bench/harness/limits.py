"""Processes under a memory limit of the system: those that take more fail.

Their data segments may not grow beyond it. Where a control group may be made inside our own, it
limits them as well, together with the pages of the files that they read and write.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from harness.model import Sample

_GROUPS = Path("/sys/fs/cgroup")
ENDING_SECONDS = 5.0
"""Seconds that processes of a group may take to end behind the command."""
_LAUNCHER = """
import os, resource, sys, time
limit, data, group = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
if group:
    with open(group + "/cgroup.procs", "w") as file:
        file.write(str(os.getpid()))
if data:
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
started = time.perf_counter()
pid = os.posix_spawn(sys.argv[4], sys.argv[4:], os.environ)
_, status, usage = os.wait4(pid, 0)
print(time.perf_counter() - started, usage.ru_maxrss)
sys.exit(os.waitstatus_to_exitcode(status))
"""


def run(words: Sequence[str], limit_bytes: int, *, data_segment: bool = True) -> Sample:
    """Run a command; return its time and peak. Errors: `RuntimeError` with its output.

    Without `data_segment` only the control group limits it, so that stacks and heaps that are
    reserved but not used do not count.
    """
    with control_group(limit_bytes) as group:
        facts = [str(limit_bytes), str(int(data_segment)), str(group or "")]
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _LAUNCHER, *facts, *words],
            capture_output=True,
            text=True,
            check=False,
            env=os.environ | {"NO_COLOR": "1"},
        )
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: code {done.returncode}: {done.stderr.strip()}")
    seconds, peak_kib = done.stdout.split()[-2:]
    return Sample(seconds=float(seconds), peak_resident_bytes=int(peak_kib) * 1024)


@contextmanager
def control_group(limit_bytes: int) -> Iterator[Path | None]:
    """Make a group inside our own with this limit; yield None where we may not make one."""
    group = _made(limit_bytes)
    try:
        yield group
    finally:
        if group:
            _remove(group)


@contextmanager
def slow_reads(path: Path, bytes_per_s: int) -> Iterator[Callable[[int], None] | None]:
    """Yield a function that moves processes, by id, into a group with a limited read rate.

    The rate is of the disk of `path`. None where we may not make such a group. At the end the
    processes are back in our group.
    """
    made = next((group for group in _disk_groups(path, bytes_per_s)), None)
    if made is None:
        yield None
        return
    processes = made / "cgroup.procs"
    try:
        yield lambda pid: _write(processes, str(pid))
    finally:
        for pid in processes.read_text().split():
            with suppress(OSError):  # It has ended meanwhile.
                _write(made.parent / "cgroup.procs", pid)
        _remove(made)


def _disk_groups(path: Path, bytes_per_s: int) -> Iterator[Path]:
    """Groups that limit reads, of either version of control groups; the first is enough."""
    disk = _disk(path)
    for folder, file, limit in (
        (_GROUPS / "blkio", "blkio.throttle.read_bps_device", f"{disk} {bytes_per_s}"),
        (_GROUPS, "io.max", f"{disk} rbps={bytes_per_s}"),
    ):
        group = folder / f"cuesta-bench-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            _write(group / file, limit)
        except OSError:
            group.rmdir()
            continue
        yield group


def _disk(path: Path) -> str:
    """The numbers of the disk that a file is on, `254:0`: limits are for disks, not their parts."""
    device = path.stat().st_dev
    block_device = Path(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}").resolve()
    disk = block_device.parent if (block_device / "partition").exists() else block_device
    try:
        return (disk / "dev").read_text().strip()
    except OSError:
        return f"{os.major(device)}:{os.minor(device)}"


def _write(path: Path, text: str) -> None:
    with path.open("w") as file:
        file.write(text)


def _remove(group: Path) -> None:
    """Remove a group whose last process may be ending yet. Errors: `OSError`."""
    until = time.monotonic() + ENDING_SECONDS
    while True:
        try:
            return group.rmdir()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(0.05)


def _made(limit_bytes: int) -> Path | None:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        above = _GROUPS / controllers / path.lstrip("/")
        limit = "memory.limit_in_bytes" if controllers else "memory.max"
        group = above / f"cuesta-bench-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / limit).write_text(str(limit_bytes))
        except OSError:
            group.rmdir()
            continue
        return group
    return None
