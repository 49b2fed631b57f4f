"""Ends the processes that a leader or an agent has started, once it has exited or been killed.

Each process of a cluster has a mark in its environment, `CUESTA_CLUSTER=ID/PART`, which children
inherit. A watchdog is a `guardian` of a leader or an agent.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from cuesta import guardian
from cuesta.processes import identity, with_variable

MARK = "CUESTA_CLUSTER"


def mark(cluster: str, part: str) -> str:
    """Return the value of `MARK` for a part of a cluster."""
    return f"{cluster}/{part}"


def marked(value: str) -> list[int]:
    """Return other processes of this machine with that mark, or the mark of a part of it.

    `ID/` matches all processes of a cluster; `ID/NODE` also matches `ID/NODE/SERVICE`.
    """
    wanted = f"{MARK}={value}".encode()
    parts = wanted.rstrip(b"/") + b"/"
    return list(with_variable(lambda it: it == wanted or it.startswith(parts)))


def sweep(value: str, spared: Sequence[int] = ()) -> int:
    """Kill all processes with a mark, and those they start meanwhile; return how many."""
    killed: set[int] = set()
    while pids := [pid for pid in marked(value) if pid not in spared and identity(pid)]:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        killed.update(pids)
        time.sleep(0.01)
    return len(killed)


def watch_agent(value: str, clear: Callable[[], None], store_seconds: float) -> int:
    """Start the watchdog of an agent: kill marked processes, `clear` its folders. Return its pid.

    Arguments: `store_seconds` is the time for a store to write dirty files.
    """

    def act() -> None:
        stores = [pid for pid in marked(value) if _is_store(pid)]
        for pid in stores:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        sweep(value, stores)
        deadline = time.monotonic() + store_seconds
        while time.monotonic() < deadline and any(map(identity, stores)):
            time.sleep(0.05)
        sweep(value)
        clear()

    return guardian.start(act).pid


def watch_leader(cluster: str, agent_seconds: float, last: Callable[[], None]) -> int:
    """Start the watchdog of a leader: kill its processes, then agents here. Return its pid.

    Arguments: `agent_seconds` is the time for agents to end by themselves; `last` is called last.
    """

    def act() -> None:
        sweep(mark(cluster, "driver"))
        sweep(mark(cluster, "leader"))
        deadline = time.monotonic() + agent_seconds
        while time.monotonic() < deadline and marked(mark(cluster, "")):
            time.sleep(0.05)
        sweep(mark(cluster, ""))
        last()

    return guardian.start(act).pid


def _is_store(pid: int) -> bool:
    try:
        return b"cuesta_store.serve" in Path("/proc", str(pid), "cmdline").read_bytes()
    except OSError:
        return False
