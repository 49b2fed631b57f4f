"""The three standard streams: any encoding, and any of them closed, full or a broken pipe.

Characters that an encoding lacks are written in ASCII. A stream that was closed before the start is
`/dev/null`. Messages that standard error does not accept are dropped, without a change of the exit
code. An answer that standard output does not accept is an error.
"""

from __future__ import annotations

import codecs
import io
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TextIO

from cuesta.errors import in_words

ERRORS = "cuesta"
"""Name of the error handler that `prepare` registers."""

_STANDARD_OUTPUT, _STANDARD_ERROR = 1, 2

_IN_ASCII = {
    "\u2013": "-", "\u2014": "-", "\u2212": "-", "\u2026": "...", "\u00d7": "x", "\u00b5": "u",
    "\u03bc": "u", "\u00b7": "-", "\u2022": "-", "\u2192": "->", "\u2190": "<-", "\u2264": "<=",
    "\u2265": ">=", "\u00b1": "+-", "\u2248": "~", "\u00a0": " ", "\u202f": " ", "\u2009": " ",
    "\u00ab": '"', "\u00bb": '"', "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"',
    "\u00b2": "^2", "\u00b3": "^3",
}  # fmt: skip
"""Signs of this package's own text. Any other sign, such as of a name, becomes its escape."""

COMPLETION = "_CUESTA_COMPLETE"
"""Variable by which a shell asks for completions of a command line."""


def prepare() -> None:
    """Make the streams of this process usable, whatever they are.

    Starts the interpreter anew in its UTF-8 mode where the locale has another encoding: names of
    files and text files are UTF-8 on any terminal.
    """
    _use_utf8()
    for number in range(3):
        _open_if_closed(number)
    codecs.register_error(ERRORS, _in_ascii)
    sys.stdin = sys.stdin or open(0, encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stdout = _wrapped(_Output, sys.stdout, _STANDARD_OUTPUT)
    sys.stderr = _wrapped(_Messages, sys.stderr, _STANDARD_ERROR)


def is_unicode(stream: TextIO) -> bool:
    """Whether a stream can write any sign."""
    try:
        return codecs.lookup(stream.encoding or "").name.startswith("utf")
    except LookupError:
        return False


def flushed(exit_code: int) -> int:
    """Flush standard output; return the exit code of this process."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        discard(_STANDARD_OUTPUT)
        return 128 + signal.SIGPIPE
    except OSError as error:
        discard(_STANDARD_OUTPUT)
        if not exit_code:
            sys.stderr.write(f"cuesta: {error.filename}: {in_words(error)}\n")
        return exit_code or 2
    return exit_code


def discard(descriptor: int) -> None:
    """Send the rest of the buffer, and all later output, to `/dev/null`."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)


class _Output(io.TextIOWrapper):
    """Standard output; its errors name it."""

    def write(self, text: str) -> int:
        with _named():
            return super().write(text)

    def flush(self) -> None:
        with _named():
            super().flush()


@contextmanager
def _named() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        error.filename = "standard output"
        raise


class _Messages(io.TextIOWrapper):
    """Standard error; a message that cannot be written is dropped."""

    def write(self, text: str) -> int:
        try:
            return super().write(text)
        except OSError:
            discard(_STANDARD_ERROR)
            return len(text)

    def flush(self) -> None:
        try:
            super().flush()
        except OSError:
            discard(_STANDARD_ERROR)


def _use_utf8() -> None:
    if sys.flags.utf8_mode or not sys.executable:
        return
    if codecs.lookup(sys.getfilesystemencoding()).name == "utf-8":
        return
    os.environ["PYTHONUTF8"] = "1"
    if sys.stdout:
        os.environ.setdefault("PYTHONIOENCODING", sys.stdout.encoding)
    os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def _open_if_closed(descriptor: int) -> None:
    """Put `/dev/null` there, so that no file of this process gets the number of a stream."""
    try:
        os.fstat(descriptor)
    except OSError:
        null = os.open(os.devnull, os.O_RDWR)
        if null == descriptor:
            os.set_inheritable(null, True)
        else:
            os.dup2(null, descriptor)
            os.close(null)


def _wrapped(kind: type[io.TextIOWrapper], stream: TextIO | None, descriptor: int) -> TextIO:
    """A stream of this kind over the bytes of the existing stream; over `/dev/null` without one."""
    if stream is None:
        return kind(open(descriptor, "wb", closefd=False), encoding="utf-8", errors=ERRORS)
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    return kind(
        stream.buffer,
        encoding=stream.encoding,
        errors=ERRORS,
        line_buffering=stream.line_buffering,
        write_through=stream.write_through,
    )


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """Replace the signs that an encoding lacks; the error handler `ERRORS`."""
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end]
    known = (_IN_ASCII.get(sign) for sign in signs)
    escapes = (sign.encode("ascii", "backslashreplace").decode() for sign in signs)
    return "".join(new or old for new, old in zip(known, escapes, strict=True)), error.end
