"""A file that is read and written as by a disk that seeks, through FUSE.

    python -m cuesta_lab.machines.seeking FILE SECONDS

It mounts a file over `FILE` with the same content, prints a line when that is ready, and serves it
until the mount is removed. A request that does not begin where the last one ended waits first. The
kernel passes each request on, since it may not retain pages of the file. It needs root.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import struct
import subprocess
import sys
import time
from pathlib import Path

from cuesta.children import module_command
from cuesta.errors import InputError

_REQUEST = struct.Struct("<IIQQIIII")
_REPLY = struct.Struct("<IiQ")
_INIT_REPLY = struct.Struct("<IIIIHHIIHHI28x")
_ATTRIBUTES = struct.Struct("<6Q10I")
_VALIDITY = struct.Struct("<QII")
_OPEN_REPLY = struct.Struct("<QII")
_RANGE = struct.Struct("<QQI")
_WRITE_SIZE = 40
"""Bytes of a request to write before its data."""
_SIZE_REPLY = struct.Struct("<II")

_FORGET, _GETATTR, _SETATTR, _OPEN, _READ, _WRITE = 2, 3, 4, 14, 15, 16
_RELEASE, _FSYNC, _FLUSH, _INIT, _INTERRUPT, _DESTROY = 18, 20, 25, 26, 36, 38
_BATCH_FORGET = 42
_UNANSWERED = (_FORGET, _INTERRUPT, _BATCH_FORGET)
_EMPTY = (_RELEASE, _FLUSH, _DESTROY)
"""Requests with an empty reply."""

_VERSION = (7, 31)
_FLAGS = 1 << 0 | 1 << 5 | 1 << 15 | 1 << 22
"""Reads at the same time, large writes, direct requests at the same time, many pages."""
_DIRECT = 1 << 0
_REQUEST_MAX = 1 << 20
_BUFFER = _REQUEST_MAX + (64 << 10)
_MOUNT_FLAGS = 2 | 4
"""No set-user-ID programs and no devices."""


def start(file: Path, seconds: float) -> None:
    """Mount a file over `file` whose requests seek for `seconds`. Errors: `InputError`."""
    words = [*module_command(__name__), str(file), f"{seconds:.9f}"]
    server = subprocess.Popen(
        words,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    if not server.stdout or not server.stdout.readline():
        lines = (server.communicate()[1].strip() or "its server does not start").splitlines()
        raise InputError(f"machine factor disk-seek: {lines[-1]}")


class SeekingFile:
    """Replies to the requests of a mounted file."""

    def __init__(self, descriptor: int, seconds: float) -> None:
        self._file = descriptor
        self._seconds = seconds
        self._head = 0

    def reply(self, operation: int, body: memoryview) -> bytes:
        """Return the content of a reply. Errors: `OSError`."""
        if operation == _READ:
            _, offset, size = _RANGE.unpack_from(body)
            self._seek(offset, size)
            return os.pread(self._file, size, offset)
        if operation == _WRITE:
            _, offset, size = _RANGE.unpack_from(body)
            self._seek(offset, size)
            written = os.pwrite(self._file, body[_WRITE_SIZE : _WRITE_SIZE + size], offset)
            return _SIZE_REPLY.pack(written, 0)
        if operation in (_GETATTR, _SETATTR):
            return _VALIDITY.pack(3600, 0, 0) + self._attributes()
        if operation == _OPEN:
            return _OPEN_REPLY.pack(1, _DIRECT, 0)
        if operation == _INIT:
            (read_ahead,) = struct.unpack_from("<8xI", body)
            pages = _REQUEST_MAX // 4096
            sizes = (12, 9, _REQUEST_MAX, 1, pages, 0, 0)
            return _INIT_REPLY.pack(*_VERSION, read_ahead, _FLAGS, *sizes)
        if operation == _FSYNC:
            os.fdatasync(self._file)
        elif operation not in _EMPTY:
            raise OSError(errno.ENOSYS, "not implemented")
        return b""

    def _seek(self, offset: int, size: int) -> None:
        if offset != self._head:
            time.sleep(self._seconds)
        self._head = offset + size

    def _attributes(self) -> bytes:
        facts = os.fstat(self._file)
        mode = stat.S_IFREG | 0o600
        times = (int(facts.st_atime), int(facts.st_mtime), int(facts.st_ctime))
        return _ATTRIBUTES.pack(
            1, facts.st_size, facts.st_size // 512, *times, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0
        )


def serve(device: int, served: SeekingFile) -> None:
    """Answer requests until the mount is removed."""
    while True:
        try:
            request = memoryview(os.read(device, _BUFFER))
        except OSError as error:
            if error.errno in (errno.EINTR, errno.ENOENT, errno.EAGAIN):
                continue
            if error.errno == errno.ENODEV:
                return
            raise
        _, operation, unique, *_ = _REQUEST.unpack_from(request)
        if operation in _UNANSWERED:
            continue
        try:
            code, content = 0, served.reply(operation, request[_REQUEST.size :])
        except OSError as error:
            code, content = -(error.errno or errno.EIO), b""
        head = _REPLY.pack(_REPLY.size + len(content), code, unique)
        try:
            os.writev(device, [head, content])
        except OSError as error:
            # The kernel forgets requests of killed processes.
            if error.errno not in (errno.ENOENT, errno.ENODEV):
                raise


def _mount(device: int, file: Path) -> None:
    options = f"fd={device},rootmode=100600,user_id=0,group_id=0,allow_other"
    library = ctypes.CDLL(None, use_errno=True)
    words = (b"cuesta-seek", os.fsencode(file), b"fuse")
    if library.mount(*words, _MOUNT_FLAGS, options.encode()):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), str(file))


def main(file: str, seconds: str) -> int:
    """Serve a file until its mount is removed."""
    served = SeekingFile(os.open(file, os.O_RDWR), float(seconds))
    device = os.open("/dev/fuse", os.O_RDWR)
    _mount(device, Path(file))
    os.write(1, b"ready\n")
    serve(device, served)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
