"""A process that acts when its starter has ended, however it ended.

It is an orphan in a session of its own: neither a signal to the group of this process nor
a scheduler that kills by parents reaches it. It holds one end of a pipe, whose other end closes
with this process, even by `kill -9`.
"""

from __future__ import annotations

import contextlib
import os
import signal
import traceback
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Guardian:
    """A process that waits for the end of this one."""

    pid: int
    _pipe: int

    def dismiss(self) -> None:
        """End the process without calling its act."""
        with contextlib.suppress(OSError):
            os.write(self._pipe, b".")
        os.close(self._pipe)


def start(act: Callable[[], None]) -> Guardian:
    """Start a process that calls `act` when this one has ended.

    `act` must not take a lock that another thread of the calling process may hold.
    """
    # The other end stays open as long as this process lives, and no program inherits it.
    reading, writing = os.pipe()
    report_end, report_start = os.pipe()
    child = os.fork()
    if child == 0:
        _fork_again(reading, report_start, act)
    os.close(reading)
    os.close(report_start)
    with os.fdopen(report_end, "rb") as answer:
        pid = int(answer.read() or child)
    os.waitpid(child, 0)
    return Guardian(pid, writing)


def _fork_again(reading: int, reporting: int, act: Callable[[], None]) -> None:
    """Be the parent of the guardian, and end at once; the guardian reports its number."""
    try:
        os.setsid()
        if os.fork() == 0:
            os.write(reporting, str(os.getpid()).encode())
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, signal.SIG_IGN)
            _keep_only(reading)
            if not os.read(reading, 1):
                act()
    except BaseException:  # Only a debugger shows it.
        traceback.print_exc()
    finally:
        os._exit(0)


def _keep_only(descriptor: int) -> None:
    """Close all other file descriptors: pipes of the parent must close with the parent."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    top = os.sysconf("SC_OPEN_MAX")
    os.closerange(3, descriptor)
    os.closerange(descriptor + 1, min(top, 65_536))
