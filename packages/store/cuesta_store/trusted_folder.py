"""The folder of a store, whose ownership is checked before its content is trusted."""

from __future__ import annotations

import errno
import os
import pwd
import socket
import stat
import struct
from pathlib import Path

from cuesta_store.errors import InputError

SOCKET = "socket"
"""The socket in the folder of a store."""
_CREDENTIALS = struct.Struct("iII")
"""Process, user and group of the peer of a socket."""


class TrustedFolder:
    """A checked folder, which remains the same when its name changes; to be closed.

    Errors: `InputError` for a folder that another account owns or may enter; `OSError` where there
    is none.
    """

    def __init__(self, folder: Path) -> None:
        self._name = folder
        flags = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            self._folder = os.open(folder, flags)
        except OSError as error:
            if error.errno not in (errno.ELOOP, errno.ENOTDIR):
                raise
            facts = os.lstat(folder)
            raise self._foreign(f"is no folder, and belongs to {_account(facts.st_uid)}") from None
        try:
            self._check(os.fstat(self._folder))
        except BaseException:
            self.close()
            raise

    @property
    def path(self) -> Path:
        """Path to the folder that was checked, valid in this process alone."""
        return Path(f"/proc/self/fd/{self._folder}")

    def connect(self, timeout_seconds: float) -> socket.socket:
        """Connect to the daemon of this account that listens there.

        Errors: `InputError` for a daemon of another account; `OSError` where there is none.
        """
        facts = os.stat(SOCKET, dir_fd=self._folder, follow_symlinks=False)
        if not stat.S_ISSOCK(facts.st_mode):
            raise self._foreign("has something else under the socket's name")
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            connection.settimeout(timeout_seconds)
            connection.connect(str(self.path / SOCKET))
            option = socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size
            _, server, _ = _CREDENTIALS.unpack(connection.getsockopt(*option))
            if server != os.geteuid():
                raise self._foreign(f"is served by {_account(server)}, and this is {_this()}")
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Close the folder; connections remain open."""
        os.close(self._folder)

    def __enter__(self) -> TrustedFolder:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _check(self, facts: os.stat_result) -> None:
        if facts.st_uid != os.geteuid():
            raise self._foreign(f"belongs to {_account(facts.st_uid)}, and this is {_this()}")
        mode = stat.S_IMODE(facts.st_mode)
        if mode & 0o077:
            raise self._foreign(f"of {_this()} is open to other accounts (mode {mode:03o})")

    def _foreign(self, reason: str) -> InputError:
        return InputError(
            f"store: {self._name} {reason}: nothing was asked of it; name a folder of your account "
            "for the store and its clients by $CUESTA_STORE"
        )


def connected(folder: Path, timeout_seconds: float) -> socket.socket:
    """Connect to the store of this account in a folder. Errors: as `TrustedFolder.connect`."""
    with TrustedFolder(folder) as checked:
        return checked.connect(timeout_seconds)


def open_block(path: str, flags: int) -> int:
    """Open a file of a store's memory. Errors: `PermissionError` for another account's."""
    # Without O_NONBLOCK the opening of a pipe would wait for its writer.
    file = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    facts = os.fstat(file)
    if not stat.S_ISREG(facts.st_mode) or facts.st_uid != os.geteuid():
        os.close(file)
        raise PermissionError(errno.EACCES, "it is no file of this account's store", path)
    return file


def _this() -> str:
    return _account(os.geteuid())


def _account(number: int) -> str:
    try:
        return f"account {pwd.getpwuid(number).pw_name} ({number})"
    except KeyError:
        return f"account {number}"
