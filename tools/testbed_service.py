"""A service of the test bed as a process that outlives the command; its folder has its state."""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Mapping
from pathlib import Path

STOP_SECONDS = 20.0
"""Seconds that a service may take to end before it is killed."""

_STATE = "state.json"


class TestbedError(Exception):
    """A missing or broken part, in one line."""

    __test__ = False


def check_count(option: str, count: int, most: int) -> None:
    """Check a count. Errors: `TestbedError` for none, and for more than `most`."""
    if not 1 <= count <= most:
        raise TestbedError(f"{option} is {count}, give 1 to {most}")


def write_state(folder: Path, state: Mapping[str, object]) -> None:
    """Record the service of `folder`, for the user alone: `pid`, and what else is to be known."""
    temporary = folder / f".{_STATE}"
    temporary.touch(mode=0o600)
    temporary.write_text(json.dumps(state))
    temporary.replace(folder / _STATE)


def read_state(folder: Path) -> dict[str, object] | None:
    """The recorded service of `folder`; None when none runs, whatever an earlier service left."""
    try:
        state: dict[str, object] = json.loads((folder / _STATE).read_text())
    except (OSError, ValueError):
        return None
    return state if is_ours(int(str(state["pid"])), folder) else None


def is_ours(pid: int, folder: Path) -> bool:
    """Whether a process lives and was started from `folder`: a pid may have a new owner."""
    try:
        words = Path("/proc", str(pid), "cmdline").read_bytes()
        stat = Path("/proc", str(pid), "stat").read_text()
    except OSError:
        return False
    return os.fsencode(folder) in words and stat.rpartition(")")[2].split()[0] != "Z"


def end(pid: int, folder: Path) -> None:
    """End the process if it is the service of `folder`, and wait until it has exited."""
    started = time.monotonic()
    kind = signal.SIGTERM
    while is_ours(pid, folder):
        os.kill(pid, kind)
        waited = time.monotonic() - started
        kind = signal.SIGKILL if waited > STOP_SECONDS else signal.SIGTERM
        time.sleep(0.1)


def remove(folder: Path) -> None:
    """Remove a folder of a service that has ended."""
    shutil.rmtree(folder, ignore_errors=True)
