"""A kill of a task on a YARN, and the logs of its containers where a test fails."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from cuesta.processes import descendants

LOG_CHARACTERS = 4000
"""Length of the end of a log that is printed."""


def kill_a_child(cluster: int, done: threading.Event, killed: list[int]) -> None:
    """Kill the first process of a running Hadoop task, below the process of its cluster."""
    while not done.is_set() and not killed:
        for pid in descendants(cluster):
            with contextlib.suppress(OSError):
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                if b"cuesta.engines.hadoop.child" in words and b"tasks" in words:
                    os.kill(pid, signal.SIGKILL)
                    killed.append(pid)
                    break
        time.sleep(0.01)


@contextlib.contextmanager
def logs_on_failure(folder: Path) -> Iterator[None]:
    """Print the ends of the logs of all containers of a YARN if the block fails."""
    try:
        yield
    except BaseException:
        for path in sorted(folder.rglob("container_*/syslog")):
            end = path.read_text(errors="replace")[-LOG_CHARACTERS:]
            sys.stderr.write(f"{path}:\n{end}\n")
        raise
