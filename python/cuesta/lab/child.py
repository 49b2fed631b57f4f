"""Runs a piece of work in a forked process, so that its memory and services are its own."""

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
from cuesta.errors import CuestaError, Defect, EngineError, InputError, is_defect
from cuesta.processes import die_with_parent

STOP_SECONDS = 10.0
"""How long a child may take to clean up before it is killed."""


def run_in_child(name: str, work: Callable[[], None]) -> None:
    """Call `work` in a child process and wait; its `CuestaError` is raised here again.

    `name` says what it is where it dies, such as `engine native`. Ctrl-C or SIGTERM stops the
    child first and waits for it to clean up.
    Errors: `EngineError` when the child dies of something else, e.g. a signal, and at once when
    this process cannot be forked.
    """
    _require_forkable()
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    sys.stdout.flush()
    sys.stderr.flush()
    held = HeldSignals()
    args = (work, sender, held, os.getpid())
    process = context.Process(target=_child, args=args, name=name)
    try:
        # Inside: a signal may come right when its handler is back, before the next line.
        with held:
            process.start()
            sender.close()
        held.deliver()
        # One whose error is long waits until it is read.
        wait([receiver, process.sentinel])
        said = _said(receiver)
        process.join()
    except BaseException:
        if process.pid is not None:
            process.terminate()
            process.join(STOP_SECONDS)
            process.kill()
        raise
    _raise_again(name, process.exitcode or 0, said)


class HeldSignals:
    """Context manager in which Ctrl-C and SIGTERM wait, so that no child is born unseen.

    Of the main thread: in others Python raises nothing.
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
        """Let the first one that waited arrive."""
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


def _child(work: Callable[[], None], sender: Connection, held: HeldSignals, parent: int) -> None:
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
    except KeyboardInterrupt:
        pass
    except BaseException as error:
        if not isinstance(error, Exception) and not is_defect(error):
            raise
        sender.send((Defect.__name__, str(Defect.of(error))))


def _stop(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _said(receiver: Connection) -> tuple[str, str] | None:
    """The error of a child that has ended, or waits for that to be read: its class and text."""
    try:
        found: tuple[str, str] | None = receiver.recv() if receiver.poll() else None
    except EOFError:
        return None
    return found


def _raise_again(name: str, exit_code: int, said: tuple[str, str] | None) -> None:
    if said:
        class_name, message = said
        raise getattr(cuesta.errors, class_name, InputError)(message)
    if exit_code < 0:
        died_of = signal.Signals(-exit_code).name
        hint = "; the machine may have run out of memory" if died_of == "SIGKILL" else ""
        raise EngineError(f"{name} died of {died_of}{hint}")
    if exit_code > 0:
        raise EngineError(f"{name} ended with code {exit_code}")
