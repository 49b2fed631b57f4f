"""Runs a job in a fresh process: its memory, services and signals are its own.

Two threads of a caller thus disturb neither each other's runs nor their measurements, an engine
that dies takes no notebook with it, and a comparison never forks a process that has threads. A
socket joins the two ends: the job is sent one way, then its progress the other. When the caller has
ended, however that was, the job is stopped.
"""

from __future__ import annotations

import pickle
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any

import cuesta.errors
from cuesta.errors import CuestaError, EngineError, death

if TYPE_CHECKING:
    from cuesta.api.jobs import Job
    from cuesta.lab.observer import Observer

STOP_SECONDS = 10.0
"""Seconds that a process may take to clean up before it is killed."""

DONE, FAILED, OBSERVED = "done", "failed", "heard"
"""Kinds of messages: the end of the job, good or bad, and calls of an observer."""


def call(
    job: Job, observer: Observer, started: Callable[[Callable[[], None]], None] | None = None
) -> None:
    """Do `job` in a process of its own and wait for it.

    `observer` is called in this thread; so is `started`, once, with a function that any thread may
    call to have the job clean up and end. Whatever ends the wait, such as Ctrl-C, first ends the
    job, which cleans up. Errors: those of the job; `EngineError` when the process dies.
    """
    with _Process() as process:
        if started:
            started(process.terminate)
        process.send(job)
        while True:
            kind, *rest = process.message()
            if kind == DONE:
                return
            if kind == FAILED:
                name, message, where = rest
                raise _error(name, message, where)
            name, arguments = rest
            getattr(observer, name)(*arguments)


class _Process:
    """Context manager of the process, which is killed at the end if it still runs."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-c", _program(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=_STDERR,  # the output of an engine is no result of the caller
                pass_fds=[theirs.fileno()],
                start_new_session=True,  # Ctrl-C in a terminal is passed on once, by the caller
            )
        with ours:
            self._stream = ours.makefile("rwb")

    def __enter__(self) -> _Process:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if not isinstance(error, CuestaError | None):
            self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._kill()
        except BaseException:  # A second Ctrl-C: it is not waited for any longer.
            self._kill()
            raise
        finally:
            self._stream.close()

    def terminate(self) -> None:
        """Ask the process to clean up and end."""
        self._process.terminate()

    def send(self, job: Job) -> None:
        """Send the process its job. Errors: `EngineError` when it has died already."""
        try:
            pickle.dump(job, self._stream)
            self._stream.flush()
        except ConnectionError:
            raise self._death() from None

    def message(self) -> tuple[Any, ...]:
        """Return the next message of the process. Errors: `EngineError` when it has died."""
        try:
            message: tuple[Any, ...] = pickle.load(self._stream)
        except (EOFError, ConnectionError, pickle.UnpicklingError):
            raise self._death() from None
        return message

    def _kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def _death(self) -> EngineError:
        """Return the error of a process that ended without a message."""
        code = self._process.wait()
        if code < 0:
            return EngineError(f"the process of the run {death(signal.Signals(-code).name)}")
        return EngineError(
            f"the process of the run ended with code {code}; what it printed says why"
        )


_STDERR = 2


def _program(descriptor: int) -> str:
    """A program that finds this package where it was found here."""
    return (
        f"import sys; sys.path[:] = {sys.path!r}\n"
        f"from cuesta.api.worker import main; main({descriptor})"
    )


def _error(name: str, message: str, where: str) -> CuestaError:
    error: CuestaError = getattr(cuesta.errors, name)(message)
    if where:
        error.add_note(where)
    return error
