"""Processes that a leader or an agent has started, each in a session of its own."""

from __future__ import annotations

import contextlib
import functools
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from cuesta.processes import die_with_parent


class Children:
    """Processes by name, which have a signal when the thread that started them ends."""

    def __init__(self) -> None:
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    def start(
        self,
        name: str,
        words: Sequence[str],
        environment: Mapping[str, str],
        log: Path | None,
        last_signal: int = signal.SIGKILL,
    ) -> int:
        """Start a process whose output goes into a log, or to ours; its pid.

        Arguments: `last_signal` is what it has when this process is gone. Errors: `OSError` where
        there is no such program.
        """
        with contextlib.ExitStack() as held:
            sink = held.enter_context(log.open("ab")) if log else None
            self._running[name] = subprocess.Popen(
                list(words),
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=sink and subprocess.STDOUT,
                env=os.environ | dict(environment),
                start_new_session=True,
                # This process has one thread, so nothing is locked between fork and exec.
                preexec_fn=functools.partial(die_with_parent, last_signal),
            )
        return self._running[name].pid

    def ended(self) -> dict[str, int]:
        """Those that have ended since the last call, with their codes; below 0 is a signal."""
        codes = {name: one.poll() for name, one in self._running.items()}
        found = {name: code for name, code in codes.items() if code is not None}
        for name in found:
            del self._running[name]
        return found

    def any(self, beginning: str) -> bool:
        """Whether one whose name begins so has not been found to have ended."""
        return any(name.startswith(beginning) for name in self._running)

    def end(self, names: Sequence[str], seconds: float) -> dict[str, int]:
        """Ask some to end, wait so long, then kill them with their groups; their codes."""
        asked = {name: self._running.pop(name) for name in names if name in self._running}
        for process in asked.values():
            process.terminate()
        deadline = time.monotonic() + seconds
        for process in asked.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return {name: process.returncode for name, process in asked.items()}

    def end_but(self, spared: str, seconds: float) -> None:
        """All but one of that name, at once."""
        self.end([name for name in self._running if name != spared], seconds)
