"""All errors that a user may see: a line of text, and an exit code for scripts.

The native module raises these same classes.
"""

from __future__ import annotations

import errno


class CuestaError(Exception):
    """Root of all errors of this package; the message is one line: what, where, what to do."""

    exit_code: int = 1


class InputError(CuestaError):
    """The arguments, an input or a place to write to are not usable."""

    exit_code = 2


class EngineError(CuestaError):
    """An engine or a service it needs broke while it ran."""

    exit_code = 3


class EngineMissing(CuestaError):
    """An engine is not installed here; the message says what to install."""

    exit_code = 3


class VerificationError(CuestaError):
    """The answer is not what another method computes from the same input."""

    exit_code = 1


class Regression(CuestaError):
    """A study is slower than its baseline, by more than chance makes it, or no longer right."""

    exit_code = 1


DEFECT = "internal error, please report it"
"""Start of the message of a `Defect`, and of the native module's defect messages."""


def is_defect(error: BaseException) -> bool:
    """Whether only a defect of Cuesta raises such an error: an assertion, a Rust panic."""
    return isinstance(error, AssertionError) or type(error).__module__ == "pyo3_runtime"


class Defect(CuestaError):
    """A defect of Cuesta itself, to be reported."""

    exit_code = 70

    @classmethod
    def of(cls, error: BaseException) -> Defect:
        """Return the defect that reports an error which no code expects."""
        return cls(f"{DEFECT}: {type(error).__name__}: {error}")


def disk_error(error: OSError, place: str) -> CuestaError:
    """Convert an error of the operating system to one line for the user."""
    where = error.filename or place
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return InputError(f"{where}: the disk is full; free some space or choose another folder")
    return InputError(f"{where}: {(error.strerror or str(error)).lower()}")
