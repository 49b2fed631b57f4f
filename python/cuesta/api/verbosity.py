"""Amount and form of the lines about a command on standard error, and in a file."""

from __future__ import annotations

from contextvars import ContextVar
from typing import NamedTuple


class Verbosity(NamedTuple):
    """Choice of what is shown besides results and errors.

    Attributes
    ----------
    quiet, verbose
        Nothing else, or details too.
    timestamps
        Whether each line begins with the time.
    log_file
        File to which all lines are appended, with their time.
    """

    quiet: bool = False
    verbose: bool = False
    timestamps: bool = False
    log_file: str | None = None

    def with_more(self, more: Verbosity) -> Verbosity:
        """Return this choice with that of another place of a command line."""
        return Verbosity(
            quiet=self.quiet or more.quiet,
            verbose=self.verbose or more.verbose,
            timestamps=self.timestamps or more.timestamps,
            log_file=more.log_file or self.log_file,
        )


NORMAL = Verbosity()
_OF_COMMAND: ContextVar[Verbosity] = ContextVar("verbosity", default=NORMAL)


def current() -> Verbosity:
    """Return the choice of the running command."""
    return _OF_COMMAND.get()


def choose(verbosity: Verbosity) -> None:
    """Make this the choice of the running command."""
    _OF_COMMAND.set(verbosity)
