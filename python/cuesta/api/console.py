"""Prints lines with a little colour, without the time that importing Rich takes."""

from __future__ import annotations

import os
import sys
import time
from typing import TYPE_CHECKING, TextIO

from cuesta.untrusted import harmless

if TYPE_CHECKING:
    from rich import console as rich_console

_BOLD, _DIM, _RED, _GREEN = 1, 2, 31, 32
_NO_CURSOR = ("dumb", "unknown")
"""Values of TERM of terminals without escape sequences."""


def utc_now() -> str:
    """Return the time, as lines begin with it: `2026-01-31T23:59:59Z`."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Console:
    """Standard output, or standard error, as it is when something is printed.

    Attributes
    ----------
    has_times
        Whether each printed line begins with the time.
    is_quiet
        Whether lines are dropped.
    """

    def __init__(
        self, *, stderr: bool = False, has_times: bool = False, is_quiet: bool = False
    ) -> None:
        self._stderr = stderr
        self.has_times = has_times
        self.is_quiet = is_quiet

    @property
    def stream(self) -> TextIO:
        """The stream that is written to."""
        return sys.stderr if self._stderr else sys.stdout

    @property
    def is_terminal(self) -> bool:
        """Whether lines may be moved and erased there."""
        return self.stream.isatty() and os.environ.get("TERM", "") not in _NO_CURSOR

    @property
    def has_style(self) -> bool:
        """Whether bold, dim and coloured words are wanted; not where `NO_COLOR` is set."""
        return self.is_terminal and not os.environ.get("NO_COLOR")

    def print(self, line: str) -> None:
        """Print a line, without control characters that untrusted words may contain."""
        if not self.is_quiet:
            self.stream.write(f"{self._time()}{harmless(line)}\n")

    def bold(self, text: str) -> str:
        """`text` in bold."""
        return self._styled(_BOLD, text)

    def dim(self, text: str) -> str:
        """`text`, less bright."""
        return self._styled(_DIM, text)

    def good(self, text: str) -> str:
        """`text` in green."""
        return self._styled(_GREEN, text)

    def bad(self, text: str) -> str:
        """`text` in red."""
        return self._styled(_RED, text)

    def rich(self) -> rich_console.Console:
        """A console of Rich for tables and bars, to the same place.

        Brackets and colons in a text are text: `cuesta[mpi]` is no style and `:key:` no picture.
        """
        from rich.console import Console as RichConsole

        return RichConsole(
            stderr=self._stderr, highlight=False, markup=False, emoji=False, quiet=self.is_quiet
        )

    def _time(self) -> str:
        return f"{utc_now()} " if self.has_times else ""

    def _styled(self, code: int, text: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.has_style else text
