"""Runs of work in a forked process, with separate memory and services."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import cuesta.errors
from cuesta.engines import NEVER_FORKED
from cuesta.errors import (
    CuestaError,
    Defect,
    EngineError,
    InputError,
    death,
    disk_error,
    is_defect,
)
from cuesta.processes import die_with_parent

STOP_SECONDS = 10.0
"""Seconds that a child has to clean up before it is killed."""


def run_in_child(name: str, work: Callable[[], None]) -> None:
    """Call `work` in a child process and wait; re-raise its `CuestaError` here.

    `name` identifies the work in errors, such as `engine native`. Ctrl-C or SIGTERM stops the
    child first and waits for it to clean up.
    Errors: `EngineError` if the child dies of another cause, e.g. a signal, and at once if this
    process cannot be forked.
    """
    _require_forkable()
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    sys.stdout.flush()
    sys.stderr.flush()
    held = DeferredSignals()
    args = (work, sender, held, os.getpid())
    process = context.Process(target=_child, args=args, name=name)
    try:
        # Inside: a signal may arrive when its handler is restored, before the next line.
        with held:
            process.start()
            sender.close()
        held.deliver()
        # A child with a long error waits until it is read.
        wait([receiver, process.sentinel])
        report = _report(receiver)
        process.join()
    except BaseException:
        if process.pid is not None:
            process.terminate()
            process.join(STOP_SECONDS)
            process.kill()
        raise
    _raise_again(name, process.exitcode or 0, report)


class DeferredSignals:
    """Context manager that defers Ctrl-C and SIGTERM, so that no child starts unnoticed.

    It acts in the main thread only; in other threads Python raises nothing.
    """

    def __init__(self) -> None:
        self._caught: list[int] = []
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                known = signal.signal(number, lambda number, _: self._caught.append(number))
                self._handlers[number] = signal.SIG_DFL if known is None else known

    def __exit__(self, *_: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def deliver(self) -> None:
        """Raise the first deferred signal."""
        for number in self._caught[:1]:
            signal.raise_signal(number)


def _require_forkable() -> None:
    loaded = [NEVER_FORKED[module] for module in NEVER_FORKED if module in sys.modules]
    for comm in Path("/proc/self/task").glob("*/comm"):
        with contextlib.suppress(OSError):  # a thread may have ended meanwhile
            name = comm.read_text()
            for beginning, library in loaded:
                if name.startswith(beginning):
                    raise EngineError(
                        f"{library} has run in this process, whose copies would hang; compare in a "
                        "fresh process, e.g. with the command `cuesta compare`"
                    )


def _child(
    work: Callable[[], None], sender: Connection, held: DeferredSignals, parent: int
) -> None:
    # Ctrl-C reaches the parent, which passes it on as SIGTERM once.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _stop)
    die_with_parent(signal.SIGTERM)
    try:
        if os.getppid() != parent:
            return
        held.deliver()
        work()
    except CuestaError as error:
        sender.send((type(error).__name__, str(error)))
    except OSError as error:
        sender.send((InputError.__name__, str(disk_error(error, "the folder of -o"))))
    except KeyboardInterrupt:
        pass
    except BaseException as error:
        if not isinstance(error, Exception) and not is_defect(error):
            raise
        sender.send((Defect.__name__, str(Defect.of(error))))


def _stop(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _report(receiver: Connection) -> tuple[str, str] | None:
    """Receive the error of a child, which has ended or waits for that: its class and text."""
    try:
        report: tuple[str, str] | None = receiver.recv() if receiver.poll() else None
    except EOFError:
        return None
    return report


def _raise_again(name: str, exit_code: int, report: tuple[str, str] | None) -> None:
    if report:
        class_name, message = report
        raise getattr(cuesta.errors, class_name, InputError)(message)
    if exit_code < 0:
        raise EngineError(f"{name} {death(signal.Signals(-exit_code).name)}")
    if exit_code > 0:
        raise EngineError(f"{name} ended with code {exit_code}; what it printed says why")
