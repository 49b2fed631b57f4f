"""Random kills of processes of a run, and a search for what they leave behind."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from clusterkit import words

SETTLE_SECONDS = 30.0
"""Time for guardians to clean up after a kill; a machine under load needs it."""
_SHARED = Path("/dev/shm")
OF_MPI = (
    (_SHARED, "mpich_shm_*"),
    (_SHARED, "ucx_shm_posix_*"),
    (Path("/tmp"), "hydra_hwloc_xmlfile_*"),
)
OF_SPARK = ((Path("/tmp"), "spark-*"), (Path("/tmp"), "blockmgr-*"))
Kinds = tuple[tuple[Path, str], ...]


def files(kinds: Kinds) -> set[Path]:
    """Files and folders of the kinds that runs create in shared places."""
    return {path for folder, kind in kinds for path in folder.glob(kind)}


def leftovers(kinds: Kinds, before: set[Path]) -> set[Path]:
    """Return files created since `before` that still exist after a while.

    Files that unrelated programs create meanwhile do not count.
    """
    created = files(kinds) - before
    wait_for_nothing(lambda: created & files(kinds))
    return created & files(kinds)


def family(pid: int) -> list[int]:
    """Return a process and its live descendants, the oldest first."""
    from cuesta.processes import descendants

    return [pid, *descendants(pid)]


def carrying(variable: str) -> list[int]:
    """Return processes with `NAME=VALUE` in their environment, which children inherit."""
    target, pids = variable.encode(), []
    for entry in os.scandir("/proc"):
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with contextlib.suppress(OSError):
                if target in Path(entry.path, "environ").read_bytes().split(b"\0"):
                    pids.append(int(entry.name))
    return pids


def kill(pids: Sequence[int], number: int, draw: random.Random) -> str:
    """Send a signal to one of the processes; return its command."""
    victim = draw.choice(pids)
    named = words(victim)[:60]
    with contextlib.suppress(ProcessLookupError):
        os.kill(victim, number)
    return f"signal {number} to {named}"


def wait_for_nothing(look: Callable[[], object]) -> object:
    """Return leftovers after `SETTLE_SECONDS`, or an empty list as soon as none remain."""
    deadline = time.monotonic() + SETTLE_SECONDS
    while (left := look()) and time.monotonic() < deadline:
        time.sleep(0.05)
    return left


def started(arguments: Sequence[str], variable: str) -> subprocess.Popen[bytes]:
    """Start a command line in a session of its own, with `NAME=VALUE` as a mark."""
    name, _, value = variable.partition("=")
    return subprocess.Popen(
        [sys.executable, "-m", "cuesta", *arguments],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ | {name: value},
        start_new_session=True,
    )


ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
