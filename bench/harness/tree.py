"""Resident memory of all processes below this one, added up."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from cuesta import processes

PERIOD_SECONDS = 0.1


@contextmanager
def peak_below() -> Iterator[list[int]]:
    """Yield a list; at the end it has the most bytes that all of them had at once.

    Looked up `PERIOD_SECONDS` apart; pages that two share count twice.
    """
    answer = [0]
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(PERIOD_SECONDS):
            answer[0] = max(answer[0], _resident_bytes())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield answer
    finally:
        ended.set()
        watcher.join()


def _resident_bytes() -> int:
    uses = map(processes.use_of, processes.descendants(os.getpid()))
    return sum(use.resident_bytes for use in uses if use is not None)
