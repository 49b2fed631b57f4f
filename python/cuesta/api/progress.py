"""Progress of a run for people: a moving line on a terminal, else a line now and then."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from cuesta.units import format_bytes, format_rate, format_seconds
from cuesta.untrusted import single_line

if TYPE_CHECKING:
    from rich.progress import Progress

    from cuesta.api.console import Console

LINE_SECONDS = 10.0
"""Least time between two plain lines about the same stage."""

BAR_AFTER_SECONDS = 0.2
"""Seconds that a stage runs before it has a bar."""


def make_observer(console: Console, *, details: bool = False) -> PlainObserver | TerminalObserver:
    """Return the observer that suits the stream of `console`; `details` has it show these too."""
    if console.is_terminal and not console.has_times:
        return TerminalObserver(console, details=details)
    return PlainObserver(console, details=details)


class PlainObserver:
    """Plain lines, for files and pipes."""

    def __init__(self, console: Console, *, details: bool = False) -> None:
        self._console = console
        self._details = details
        self._stage = ""
        self._said = time.monotonic()
        self._pace = Pace()

    def note(self, text: str) -> None:
        """Print a line, in which the name of an input may be."""
        self._console.print(single_line(text))

    def stage(self, name: str) -> None:
        """Print a line when the stage changes."""
        self._stage = name
        self._said = time.monotonic()
        self._pace = Pace()
        self._console.print(single_line(name))

    def detail(self, text: str) -> None:
        """Print a line where details are requested."""
        if self._details:
            self.note(text)

    def progress(self, done: int, total: int) -> None:
        """Print a line every `LINE_SECONDS`, with rate and remaining time."""
        now = time.monotonic()
        rate = self._pace.rate(now, done, total)
        if rate and done <= total and now - self._said >= LINE_SECONDS:
            self._said = now
            self._console.print(
                f"{self._stage}: {100 * done // total} % of {format_bytes(total)}, "
                f"{format_rate(rate)}, {format_seconds((total - done) / rate)} to go"
            )

    def close(self) -> None:
        """Do nothing: plain lines need no clean-up."""


class Pace:
    """Rate of a stage since its work has begun: the start of an engine does not count."""

    def __init__(self) -> None:
        self._began = 0.0
        self._first = self._last = self._total = 0

    def rate(self, now: float, done: int, total: int) -> float | None:
        """Record the progress of the work; return its rate, None while there is none."""
        is_new = total != self._total or done < self._last
        if is_new or self._last == 0:
            self._began, self._first = now, done
        self._last, self._total = done, total
        seconds, amount = now - self._began, done - self._first
        return amount / seconds if seconds > 0 and amount > 0 else None


class TerminalObserver:
    """A moving line, removed when the run has ended.

    It has the stage's name, and after `BAR_AFTER_SECONDS` a bar, the rate and the remaining time.
    """

    def __init__(self, console: Console, *, details: bool = False) -> None:
        self._console = console
        self._details = details
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None
        self._bar: Progress | None = None
        self._known: tuple[int, int] = (0, 0)
        self._shown: tuple[int, int] = (0, 0)

    def note(self, text: str) -> None:
        """Print a line above the moving one."""
        text = single_line(text)
        with self._lock:
            if self._bar:
                self._bar.console.print(text, markup=False, style="dim")
            else:
                self._console.print(self._console.dim(text))

    def stage(self, name: str) -> None:
        """Begin the moving line anew."""
        self.close()
        name = single_line(name)
        self._write(name)
        self._timer = threading.Timer(BAR_AFTER_SECONDS, self._show, (name,))
        self._timer.daemon = True
        self._timer.start()

    def detail(self, text: str) -> None:
        """Print a line where details are requested."""
        if self._details:
            self.note(text)

    def progress(self, done: int, total: int) -> None:
        """Move the bar."""
        with self._lock:
            self._known = (done, total)
            self._move()

    def close(self) -> None:
        """Remove the moving line."""
        if self._timer is None:
            return
        self._timer.cancel()
        with self._lock:
            if self._bar:
                self._bar.stop()
            else:
                self._write("")
            self._timer = self._bar = None
            self._known = (0, 0)

    def _show(self, name: str) -> None:
        """Show the bar of a stage that lasts, unless that has ended meanwhile."""
        with self._lock:
            if threading.current_thread() is self._timer:
                self._write("")
                self._bar = _bar(self._console)
                self._bar.add_task(name, total=None)
                self._move()
                self._bar.start()

    def _move(self) -> None:
        done, total = self._known
        if self._bar and total > 0:
            task = self._bar.task_ids[0]
            if done < self._shown[0] or total != self._shown[1]:
                # Another part of the work: its rate has nothing to do with that of the last one.
                self._bar.reset(task, total=total)
            self._shown = (done, total)
            self._bar.update(task, completed=done, total=total)

    def _write(self, text: str) -> None:
        """Put `text` in place of the line that the cursor is in."""
        self._console.stream.write(f"\r\x1b[2K{text}")
        self._console.stream.flush()


def _bar(console: Console) -> Progress:
    from rich import progress

    return progress.Progress(
        progress.SpinnerColumn(),
        progress.TextColumn("{task.description}", markup=False),
        progress.BarColumn(bar_width=30),
        progress.DownloadColumn(binary_units=True),
        progress.TransferSpeedColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("eta"),
        progress.TimeRemainingColumn(),
        console=console.rich(),
        transient=True,
    )
