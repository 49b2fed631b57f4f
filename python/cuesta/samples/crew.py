"""Runs of samples side by side, each in a process of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from queue import SimpleQueue
from threading import Lock, Thread

from cuesta.api.jobs import Run
from cuesta.api.process import STOP_SECONDS, call
from cuesta.errors import CuestaError, Defect
from cuesta.lab.observer import Observer, Silent
from cuesta.samples.batch import Task
from cuesta.samples.packing import Resources, choose

Ended = Callable[[Task, CuestaError | None, float], None]
"""Called in the thread of `run` when a sample has ended: its error, and the seconds it took."""


def run(tasks: Sequence[Task], total: Resources, observer: Observer, ended: Ended) -> None:
    """Run all tasks, as many side by side as the resources allow, those with most reads first.

    The error of one stops no other. Whatever ends this function, such as Ctrl-C, first stops all
    runs, which remove what they have written.
    """
    waiting = sorted(tasks, key=lambda task: (-task.need_bytes, task.sample.name))
    running: list[_Worker] = []
    queue: SimpleQueue[_Worker] = SimpleQueue()
    try:
        while waiting or running:
            _start(waiting, running, total, queue)
            observer.stage(f"{len(running)} running, {len(waiting)} waiting")
            worker = queue.get()
            running.remove(worker)
            worker.join()
            ended(worker.task, worker.error, worker.seconds)
    except BaseException:
        _stop(running)
        raise


def _start(
    waiting: list[Task],
    running: list[_Worker],
    total: Resources,
    queue: SimpleQueue[_Worker],
) -> None:
    """Start all tasks that fit beside those that run."""
    while True:
        free = total
        for worker in running:
            free = free.without(worker.share)
        chosen = choose([task.need_bytes for task in waiting], free, total)
        if chosen is None:
            return
        index, share = chosen
        worker = _Worker(waiting.pop(index), share, queue)
        running.append(worker)
        worker.start()


def _stop(running: Sequence[_Worker]) -> None:
    """Stop all runs and wait for their ends."""
    for worker in running:
        worker.stop()
    end = time.monotonic() + 2 * STOP_SECONDS
    for worker in running:
        worker.join(max(0.0, end - time.monotonic()))


class _Worker:
    """A sample's process, and the thread that waits for it."""

    def __init__(self, task: Task, share: Resources, queue: SimpleQueue[_Worker]) -> None:
        self.task = task
        self.share = share
        self.error: CuestaError | None = None
        self.seconds = 0.0
        self._queue = queue
        self._lock = Lock()
        self._is_stopped = False
        self._terminate: Callable[[], None] | None = None
        self._thread = Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def join(self, seconds: float | None = None) -> None:
        """Wait until the process has ended, or for so many seconds."""
        self._thread.join(seconds)

    def _run(self) -> None:
        """Run the sample and report its end."""
        began = time.monotonic()
        try:
            call(Run(request=self.task.with_share(self.share)), Silent(), self._started)
        except CuestaError as error:
            self.error = error
        except BaseException as error:
            self.error = Defect.of(error)
        self.seconds = time.monotonic() - began
        self._queue.put(self)

    def stop(self) -> None:
        """Ask the process to clean up and end."""
        with self._lock:
            self._is_stopped = True
            if self._terminate:
                self._terminate()

    def _started(self, terminate: Callable[[], None]) -> None:
        with self._lock:
            self._terminate = terminate
            if self._is_stopped:
                terminate()
