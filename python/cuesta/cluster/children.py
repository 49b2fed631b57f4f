"""Child processes of a leader or an agent, each in a separate session."""

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
    """Processes by name; each receives a signal when the thread that started it ends."""

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
        """Start a process and return its pid. Its output goes into a log, or to ours.

        Arguments: `last_signal` is sent to it when this process ends. Errors: `OSError` where
        there is no such program.
        """
        with contextlib.ExitStack() as open_files:
            sink = open_files.enter_context(log.open("ab")) if log else None
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
        """Return exit codes of processes that ended since the last call; below 0 is a signal."""
        codes = {name: process.poll() for name, process in self._running.items()}
        exit_codes = {name: code for name, code in codes.items() if code is not None}
        for name in exit_codes:
            del self._running[name]
        return exit_codes

    def any(self, beginning: str) -> bool:
        """Whether a process whose name begins so is not known to have ended."""
        return any(name.startswith(beginning) for name in self._running)

    def end(self, names: Sequence[str], seconds: float) -> dict[str, int]:
        """Terminate processes, kill them with their groups after `seconds`; return exit codes."""
        processes = {name: self._running.pop(name) for name in names if name in self._running}
        for process in processes.values():
            process.terminate()
        deadline = time.monotonic() + seconds
        for process in processes.values():
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        return {name: process.returncode for name, process in processes.items()}

    def end_except(self, spared: str, seconds: float) -> None:
        """End all processes but that of one name, at once."""
        self.end([name for name in self._running if name != spared], seconds)
