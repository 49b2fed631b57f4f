"""Resident memory of all processes below this one, added up."""

from __future__ import annotations

import os
import resource
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
            answer[0] = max(answer[0], sum(_resident_bytes(pid) for pid in _below(os.getpid())))

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield answer
    finally:
        ended.set()
        watcher.join()


def _below(pid: int) -> Iterator[int]:
    """The processes below a process; some may have ended meanwhile."""
    for path in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = path.read_text().split()
        except OSError:
            continue
        for child in children:
            yield int(child)
            yield from _below(int(child))


def _resident_bytes(pid: int) -> int:
    try:
        pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * resource.getpagesize()
