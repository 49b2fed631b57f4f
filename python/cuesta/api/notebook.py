"""Progress of a run in a cell of a notebook: one updated display, removed at the end."""

from __future__ import annotations

import sys
import time
from html import escape
from importlib import import_module
from typing import Any

from cuesta.api.console import Console
from cuesta.api.logged import Logged
from cuesta.api.progress import make_observer
from cuesta.lab.observer import Observer, Silent
from cuesta.units import format_bytes, format_rate, format_seconds

UPDATE_SECONDS = 0.2
"""Least time between two updates of one stage."""


def observer_here(wanted: bool) -> Observer:
    """Return the observer for a notebook, a terminal, or a file of plain lines.

    What it observes is logged too, where the caller has imported `logging`.
    """
    observer: Observer = Silent()
    if wanted:
        observer = NotebookObserver() if _is_notebook() else make_observer(Console(stderr=True))
    return Logged(observer) if "logging" in sys.modules else observer


def _is_notebook() -> bool:
    """Whether a kernel runs this code; a terminal's IPython has none."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return getattr(shell, "kernel", None) is not None


class NotebookObserver:
    """A line of text with a bar; earlier notes are above it."""

    def __init__(self) -> None:
        self._display: Any = None
        self._notes: list[str] = []
        self._stage = ""
        self._started = self._shown = 0.0

    def note(self, text: str) -> None:
        """Add a line above the moving one."""
        self._notes.append(text)
        self._show("")

    def stage(self, name: str) -> None:
        """Begin the moving line anew."""
        self._stage = name
        self._started = time.monotonic()
        self._show("")

    def detail(self, text: str) -> None:
        """Show nothing: `logging` has the details."""

    def progress(self, done: int, total: int) -> None:
        """Move the bar, not too often."""
        now = time.monotonic()
        if 0 < done <= total and now - self._shown >= UPDATE_SECONDS:
            rate = done / max(now - self._started, UPDATE_SECONDS)
            self._show(
                f'<progress value="{done}" max="{total}"></progress> '
                f"{100 * done // total} % of {format_bytes(total)}, {format_rate(rate)}, "
                f"{format_seconds((total - done) / rate)} to go"
            )

    def close(self) -> None:
        """Remove the display."""
        self._notes, self._stage = [], ""
        if self._display is not None:
            self._display.update({"text/html": "", "text/plain": ""}, raw=True)

    def _show(self, bar: str) -> None:
        display: Any = import_module("IPython.display").display
        self._shown = time.monotonic()
        notes = "<br>".join(map(escape, self._notes))
        content = {
            "text/html": f"<small>{notes}</small><div>{escape(self._stage)} {bar}</div>",
            "text/plain": "\n".join([*self._notes, self._stage]),
        }
        if self._display is None:
            self._display = display(content, raw=True, display_id=True)
        else:
            self._display.update(content, raw=True)
