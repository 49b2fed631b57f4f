"""Passes the events of a run to `logging` too, as the logger `cuesta`."""

from __future__ import annotations

import logging

from cuesta.lab.observer import Observer
from cuesta.untrusted import single_line

LOGGER = logging.getLogger("cuesta")
LOGGER.addHandler(logging.NullHandler())


class Logged:
    """An observer that logs events and hands them on.

    Notes and stages are of level INFO, details of level DEBUG. Progress is not logged.
    """

    def __init__(self, observer: Observer) -> None:
        self._observer = observer

    def note(self, text: str) -> None:
        """Log a sentence for the user."""
        LOGGER.info("%s", single_line(text))
        self._observer.note(text)

    def stage(self, name: str) -> None:
        """Log the name of the stage that begins."""
        LOGGER.info("%s", single_line(name))
        self._observer.stage(name)

    def detail(self, text: str) -> None:
        """Log a sentence of detail."""
        LOGGER.debug("%s", single_line(text))
        self._observer.detail(text)

    def progress(self, done: int, total: int) -> None:
        """Hand progress on."""
        self._observer.progress(done, total)

    def close(self) -> None:
        """End the reports for now."""
        self._observer.close()
