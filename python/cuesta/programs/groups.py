"""A control group for the memory of a process tree, where this account may make one."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
END_SECONDS = 5.0


@dataclass(frozen=True)
class MemoryGroup:
    """A group of the kernel that limits memory, in version 1 or 2."""

    folder: Path

    def enter(self) -> None:
        """Move this process into the group. Errors: `OSError`."""
        (self.folder / "cgroup.procs").write_text(str(os.getpid()))

    def was_full(self) -> bool:
        """Whether the kernel has ended a process of the group for its memory."""
        for name in ("memory.events", "memory.oom_control"):
            for line in _lines(self.folder / name):
                key, _, count = line.partition(" ")
                if key == "oom_kill" and count.strip() not in ("", "0"):
                    return True
        return False

    def remove(self) -> None:
        """End all processes of the group, and remove it."""
        deadline = time.monotonic() + END_SECONDS
        while self.folder.is_dir() and time.monotonic() < deadline:
            for pid in _lines(self.folder / "cgroup.procs"):
                with contextlib.suppress(OSError, ValueError):
                    os.kill(int(pid), signal.SIGKILL)
            with contextlib.suppress(OSError):
                self.folder.rmdir()
                return
            time.sleep(0.01)


def make(limit_bytes: int) -> MemoryGroup | None:
    """Make a group with this limit below the group of this process; None where that is refused."""
    for name, parent in _parents():
        folder = parent / f"cuesta-program-{os.getpid()}"
        try:
            folder.mkdir()
        except OSError:
            continue
        try:
            (folder / name).write_text(str(limit_bytes))
            # Without swap, a program that needs more is ended, as one without a group is.
            with contextlib.suppress(OSError):
                (folder / _NO_SWAP[name][0]).write_text(_NO_SWAP[name][1] or str(limit_bytes))
            return MemoryGroup(folder)
        except OSError:
            with contextlib.suppress(OSError):
                folder.rmdir()
    return None


_NO_SWAP = {
    "memory.max": ("memory.swap.max", "0"),
    "memory.limit_in_bytes": ("memory.memsw.limit_in_bytes", ""),
}


def _parents() -> list[tuple[str, Path]]:
    """Groups of this process, each with the name of its file for the limit."""
    groups = []
    for line in _lines(Path("/proc/self/cgroup")):
        _, kinds, path = (line + "::").split(":")[:3]
        if not kinds:
            groups.append(("memory.max", ROOT / path.lstrip("/")))
        elif "memory" in kinds.split(","):
            groups.append(("memory.limit_in_bytes", ROOT / "memory" / path.lstrip("/")))
    return groups


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []
