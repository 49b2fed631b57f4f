"""Options before a subcommand: `cuesta -q ...`, `-v`, `--log-file FILE`, `--timestamps`.

`run` and `compare` have them among their own options too.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from cuesta.api.console import Console, utc_now
from cuesta.api.progress import make_observer
from cuesta.api.verbosity import NORMAL, Verbosity, choose, current
from cuesta.errors import InputError, in_words
from cuesta.lab.observer import Observer, Silent
from cuesta.untrusted import single_line

if TYPE_CHECKING:
    import logging

_FLAGS = {
    "-q": "quiet", "--quiet": "quiet", "-v": "verbose", "--verbose": "verbose",
    "--timestamps": "timestamps",
}  # fmt: skip
_LOG_FILE = "--log-file"
_TIME = "%Y-%m-%dT%H:%M:%SZ"
_LOGGED_TIME = re.compile(rb"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_LOGGER = "cuesta"


def split(arguments: Sequence[str]) -> tuple[Verbosity, Sequence[str]]:
    """Return the options before a subcommand, and the other words.

    Errors: `InputError` for an option without its value.
    """
    chosen: dict[str, bool] = {}
    log_file: str | None = None
    rest = list(arguments)
    while rest:
        name, equals, value = rest[0].partition("=")
        if rest[0] in _FLAGS:
            chosen[_FLAGS[rest.pop(0)]] = True
        elif name == _LOG_FILE:
            del rest[0]
            if not equals:
                value = rest.pop(0) if rest else ""
            if not value:
                raise InputError(f"{_LOG_FILE} names no file; give {_LOG_FILE} FILE")
            log_file = value
        else:
            break
    return Verbosity(**chosen, log_file=log_file), rest


def words(arguments: Sequence[str]) -> Sequence[str]:
    """Return the words behind the options before a subcommand; all, where one of them is wrong."""
    try:
        return split(arguments)[1]
    except InputError:
        return arguments


def adopt(verbosity: Verbosity, command: Sequence[str] = ()) -> None:
    """Make this the choice of the running command, besides what it has already.

    A log file is opened, and the words of `command` are its first line. Errors: `InputError` for
    opposites, and where the file cannot be written.
    """
    before = current()
    together = before.with_more(verbosity)
    if together.quiet and together.verbose:
        raise InputError("-q and -v: one is for less, the other for more; leave one out")
    choose(together)
    if together.log_file and together.log_file != before.log_file:
        _open(together.log_file, command)


def release() -> None:
    """End the choice of the running command, and close its log file."""
    if current() is NORMAL:
        return
    choose(NORMAL)
    logging = sys.modules.get("logging")
    if logging is None:
        return
    logger = logging.getLogger(_LOGGER)
    for handler in [each for each in logger.handlers if isinstance(each, logging.FileHandler)]:
        logger.removeHandler(handler)
        handler.close()


def observer() -> Observer:
    """Return the observer of the running command; it writes to standard error."""
    verbosity = current()
    result: Observer = Silent()
    if not verbosity.quiet:
        result = make_observer(messages(), details=verbosity.verbose)
    if not verbosity.log_file:
        return result
    from cuesta.api.logged import Logged

    return Logged(result)


def messages() -> Console:
    """Return standard error for lines besides results and errors."""
    verbosity = current()
    return Console(stderr=True, has_times=verbosity.timestamps, is_quiet=verbosity.quiet)


def error_line(message: str) -> str:
    """Return the line of an error as the running command prints it; log it."""
    verbosity = current()
    if verbosity.log_file:
        import logging

        logger = logging.getLogger(_LOGGER)
        if logger.handlers:  # Without one, as where the file is refused, logging prints it itself.
            logger.error("%s", message)
    return f"{utc_now()} cuesta: {message}" if verbosity.timestamps else f"cuesta: {message}"


def _open(file: str, command: Sequence[str]) -> None:
    import logging

    logger = logging.getLogger(_LOGGER)
    logger.addHandler(_handler(file))
    logger.setLevel(logging.DEBUG)
    logger.info("%s", single_line(" ".join(command)))


def _check_log(file: str) -> None:
    """Refuse a file that is no log, such as an input, and a place in an answer folder."""
    from cuesta import outputs

    outputs.check_local(file, _LOG_FILE)
    if not Path(file).is_file():
        return
    with suppress(OSError), Path(file).open("rb") as log:
        start = log.readline(40)
        if start and not _LOGGED_TIME.match(start):
            raise InputError(f"{_LOG_FILE} {file}: is no log of cuesta; give another name")


def _handler(file: str) -> logging.Handler:
    import logging
    import time

    class LogFile(logging.FileHandler):
        """A log that ends with one line on standard error where it cannot be written any more."""

        def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802
            error = sys.exc_info()[1]
            if not isinstance(error, OSError):
                super().handleError(record)
                return
            logging.getLogger(_LOGGER).removeHandler(self)
            text = f"{_LOG_FILE} {file}: {in_words(error)}; the log ends here, the command goes on"
            with suppress(OSError):
                print(f"cuesta: {text}", file=sys.stderr)

        def close(self) -> None:
            with suppress(OSError):
                super().close()

    _check_log(file)
    try:
        handler = LogFile(file, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"{_LOG_FILE} {file}: {reason}; name a file that you can write") from None
    form = logging.Formatter("%(asctime)s %(levelname)s %(message)s", _TIME)
    form.converter = time.gmtime
    handler.setFormatter(form)
    return handler
