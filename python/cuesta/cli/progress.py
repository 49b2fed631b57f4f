"""Tells a person how far a run is: a moving line on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from cuesta.units import format_bytes, format_rate, format_seconds

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, TaskID

LINE_SECONDS = 10.0
"""Least time between two plain lines about the same stage."""


def make_observer(console: Console) -> PlainObserver | TerminalObserver:
    """What suits where `console` writes to."""
    return TerminalObserver(console) if console.is_terminal else PlainObserver(console)


class PlainObserver:
    """Plain lines, for files and pipes."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._stage = ""
        self._started = self._said = time.monotonic()

    def note(self, text: str) -> None:
        """One line."""
        self._print(text)

    def stage(self, name: str) -> None:
        """One line when the stage changes."""
        self._stage = name
        self._started = self._said = time.monotonic()
        self._print(name)

    def progress(self, done: int, total: int) -> None:
        """One line every `LINE_SECONDS`, with rate and time to go."""
        now = time.monotonic()
        if 0 < done <= total and now - self._said >= LINE_SECONDS:
            self._said = now
            rate = done / (now - self._started)
            self._print(
                f"{self._stage}: {100 * done // total} % of {format_bytes(total)}, "
                f"{format_rate(rate)}, {format_seconds((total - done) / rate)} to go"
            )

    def close(self) -> None:
        """Nothing to tidy up."""

    def _print(self, text: str) -> None:
        self._console.print(text, highlight=False, markup=False, soft_wrap=True)


class TerminalObserver:
    """One moving line with a bar, the rate and the time to go, gone when the run has ended."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._display: Progress | None = None
        self._task: TaskID | None = None

    def note(self, text: str) -> None:
        """One line above the moving one."""
        self._console.print(text, highlight=False, markup=False, style="dim")

    def stage(self, name: str) -> None:
        """Begin the moving line anew."""
        self.close()
        self._display = _display(self._console)
        self._task = self._display.add_task(name, total=None)
        self._display.start()

    def progress(self, done: int, total: int) -> None:
        """Move the bar."""
        if self._display is not None and self._task is not None and total > 0:
            self._display.update(self._task, completed=done, total=total)

    def close(self) -> None:
        """Take the moving line away."""
        if self._display is not None:
            self._display.stop()
            self._display = None


def _display(console: Console) -> Progress:
    from rich import progress

    return progress.Progress(
        progress.SpinnerColumn(),
        progress.TextColumn("{task.description}"),
        progress.BarColumn(bar_width=30),
        progress.DownloadColumn(binary_units=True),
        progress.TransferSpeedColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("eta"),
        progress.TimeRemainingColumn(),
        console=console,
        transient=True,
    )
