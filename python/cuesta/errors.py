"""All errors that a user may see: a line of text, and an exit code for scripts.

The native module raises these same classes.
"""

from __future__ import annotations

import errno
import os


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


MORE_THREADS = (
    "give fewer --threads, or raise the limit: `ulimit -u`, `ulimit -v`, or that of processes in "
    "a container"
)
"""Remedy where the system lets a process have no more threads."""
_NO_THREADS = ("can't start new thread", "failed to spawn thread")


def lacks_threads(error: BaseException) -> bool:
    """Whether the system refused a thread, in the words of Python or of Rust's library."""
    return any(words in str(error) for words in _NO_THREADS)


_FULL = "free some space or choose another folder"
_INODES_FEW = 16
_SPACE_BYTES = 1 << 20
"""Inodes and bytes by which a disk is full of files, not of bytes."""
_NO_INODES = (
    "the disk can hold no more files, though it has space (df -i shows inodes); remove files, or "
    "choose another folder"
)
_REMEDIES = {
    errno.ENOENT: "check the path",
    errno.ENOTDIR: "a part of the path is a file; check the path",
    errno.EISDIR: "name a file",
    errno.EEXIST: "give another name",
    errno.ENOTEMPTY: "give another name",
    errno.EACCES: "ask its owner, or choose a place that you may use",
    errno.EPERM: "ask its owner, or choose a place that you may use",
    errno.EROFS: "choose a place that can be written",
    errno.ENOSPC: _FULL,
    errno.EDQUOT: _FULL,
    errno.EFBIG: "raise the limit of file sizes (`ulimit -f`)",
    errno.ENAMETOOLONG: "give a shorter name",
    errno.ELOOP: "its links lead in a circle; name the file itself",
    errno.EMFILE: "raise the limit of open files (`ulimit -n`)",
    errno.ENFILE: "close other programs, which have too many files open",
    errno.ENXIO: "give a file",
    errno.EINVAL: "choose another place",
    errno.EIO: "its disk or server failed; see the system's log, or obtain the file again",
    errno.ESTALE: "its server forgot it; mount the file system again",
    errno.ENOTCONN: "its server is gone; mount the file system again",
    errno.ECONNREFUSED: "nothing listens there; check host and port, and start it",
    errno.ECONNRESET: "the other side ended; see its log",
    errno.ETIMEDOUT: "check that the host runs and can be reached",
    errno.EHOSTUNREACH: "check that the host runs and can be reached",
    errno.ENETUNREACH: "check the network",
    errno.EADDRINUSE: "choose another port",
    errno.ENOMEM: "use less memory, or a machine with more",
    errno.ENOEXEC: "name a program for this machine, or a script with a first line #!",
    errno.E2BIG: "name fewer files, or their folder",
}
"""Remedies for errors of the system, by number."""
_NUMBERS: dict[type[OSError], int] = {
    FileNotFoundError: errno.ENOENT,
    PermissionError: errno.EACCES,
    NotADirectoryError: errno.ENOTDIR,
    IsADirectoryError: errno.EISDIR,
    FileExistsError: errno.EEXIST,
    ConnectionRefusedError: errno.ECONNREFUSED,
    TimeoutError: errno.ETIMEDOUT,
}
"""Numbers of errors that other libraries raise without one."""


def in_words(error: OSError) -> str:
    """Return an error of the operating system in words, and what to do about it."""
    number = error.errno or _NUMBERS.get(type(error), 0)
    if number == errno.ENOENT and error.filename is None and _is_working_folder_gone():
        return "the working folder is gone; cd to another"
    known = error.strerror or (os.strerror(number) if isinstance(error, FileNotFoundError) else "")
    text = known.lower() or (str(error) or type(error).__name__).splitlines()[0]
    remedy = _REMEDIES.get(number)
    return f"{text}; {remedy}" if remedy else text


def _is_working_folder_gone() -> bool:
    try:
        os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return True
    return False


def death(signal_name: str) -> str:
    """Return what befell a process that a signal has ended, and what to do."""
    if signal_name == "SIGKILL":
        return "died of SIGKILL; if the machine ran out of memory, give less --memory or --threads"
    if signal_name in ("SIGTERM", "SIGINT", "SIGHUP"):
        return f"died of {signal_name}, which another program sent; run it again"
    return f"died of {signal_name}; if it does so again, report it with `cuesta doctor --report`"


def _has_no_inodes(*places: object) -> bool:
    """Whether a file system has space but no numbers for files; the nearest folder tells."""
    for place in places:
        path = os.path.realpath(str(place))
        while not os.path.lexists(path):
            path = os.path.dirname(path)  # noqa: PTH120
        try:
            facts = os.statvfs(path)
        except OSError:
            continue
        # What failed is removed before its message, so that a few may be free again.
        has_space = facts.f_bavail * facts.f_frsize >= _SPACE_BYTES
        if facts.f_files and facts.f_favail < _INODES_FEW and has_space:
            return True
    return False


def disk_error(error: OSError, place: str) -> CuestaError:
    """Convert an error of the operating system to one line for the user."""
    where = error.filename or place
    if error.errno == errno.ENOSPC and _has_no_inodes(where, place):
        return InputError(f"{where}: {_NO_INODES}")
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return InputError(f"{where}: the disk is full; {_FULL}")
    return InputError(f"{where}: {in_words(error)}")
