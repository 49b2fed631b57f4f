"""Starts workers of Dask that ignore Ctrl-C; the process that started them handles it.

A terminal sends SIGINT to all processes of a command. A worker, or a Python that is about to be a
worker, would print a traceback, and the cluster could not end workers that ended by themselves.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from multiprocessing import resource_tracker
from typing import Any

from cuesta.children import SAFE_PATH, with_environment

RESTARTED_SAFELY = {
    f"distributed.nanny.pre-spawn-environ.{name}": value for name, value in SAFE_PATH.items()
}
"""Setting under which a worker that starts again imports no module of the working folder."""


def started(make: Callable[[], Any], end: Callable[[Any], None]) -> Any:
    """Return the cluster that `make` starts, whose processes never receive SIGINT.

    `make` runs in a thread that blocks the signal, as do all threads and processes that it starts.
    An interrupt meanwhile is raised once `make` has returned and `end` has ended its cluster; a
    partly started cluster could not be ended properly. Errors: those of `make`.
    """
    made: list[Any] = []
    failed: list[BaseException] = []
    is_done = threading.Event()

    def run() -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            made.append(make())
        except BaseException as error:
            failed.append(error)
        finally:
            is_done.set()

    interrupted: BaseException | None = None
    with with_environment(SAFE_PATH):
        # Its start unblocks the signal in this thread, so it must not happen in the new thread.
        resource_tracker.ensure_running()
        thread = threading.Thread(target=run, name="cuesta-dask-start")
        thread.start()
        # Not `join`: once it is interrupted, Python 3.11 takes the thread to have ended.
        while not is_done.is_set():
            try:
                is_done.wait()
            except BaseException as error:
                interrupted = interrupted or error
    if interrupted:
        for cluster in made:
            end(cluster)
        raise interrupted
    if failed:
        raise failed[0]
    return made[0]
