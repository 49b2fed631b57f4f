"""Files of a store as Python's own: `io` classes with buffers."""

from __future__ import annotations

import errno
import io
import os
from contextlib import suppress
from typing import Any

from cuesta.store.client import CachedFile, Refusal
from cuesta.store.writer import WrittenFile

_SYSTEM = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY})
"""Errors that Python's own files raise too, as `OSError`."""


def as_system_error(error: Refusal, path: str, question: str) -> Exception:
    """Return the exception of Python's own files for a refusal."""
    number = error.errno
    if number is None or number not in _SYSTEM:
        return error
    if number == errno.ENOTDIR and question in ("open", "stat"):
        # There is nothing below a file.
        number = errno.ENOENT
    return OSError(number, os.strerror(number), path)


class BufferedWrittenFile(io.BufferedWriter):
    """A file that is written in pieces of 1 MiB; given up where it is left by an exception."""

    def __init__(self, file: WrittenFile) -> None:
        super().__init__(file, 1 << 20)
        self._file = file

    def close(self) -> None:
        """Give the file its name. Errors: `FileExistsError` for a new one whose name is taken.

        The exception that is handled now, where it was raised after the file was opened; then the
        file is given up.
        """
        self._file.check_exception()
        try:
            super().close()
        except Refusal as error:
            raise as_system_error(error, self._file.path, "commit") from None

    def ignore_exceptions(self) -> None:
        """Take what is handled now for no reason to give the file up."""
        self._file.ignore_exceptions()

    def commit(self) -> None:
        """Give a file of a transaction its name, unless it was given up. Errors: as `close`."""
        try:
            self._file.commit()
        except Refusal as error:
            raise as_system_error(error, self._file.path, "commit") from None

    def discard(self) -> None:
        """Give the file up."""
        self._file.discard()

    def _dealloc_warn(self, source: Any) -> None:  # noqa: ARG002
        """Give the file up: a text file on top calls this before it is deallocated."""
        self.discard()

    def __del__(self) -> None:
        # One that nobody closed is not whole; Python's own buffer would close it here.
        with suppress(Exception):
            self.discard()

    def __exit__(self, kind: Any, *error: Any) -> None:
        if kind is not None:
            return self.discard()
        self.ignore_exceptions()
        return super().__exit__(kind, *error)


class CompressedWrittenFile(io.BufferedIOBase):
    """A file of the store and the compressor in front of it, which are closed together."""

    def __init__(self, compressor: Any, file: BufferedWrittenFile) -> None:
        self._compressor = compressor
        self._file = file

    def writable(self) -> bool:
        """It is."""
        return True

    def write(self, data: Any) -> int:
        """Compress and write some bytes; return how many."""
        count: int = self._compressor.write(data)
        return count

    def close(self) -> None:
        """Give the file its name. Errors: as `BufferedWrittenFile.close`."""
        if self.closed:
            return
        try:
            self._compressor.close()
            self._file.close()
        except BaseException:
            self.discard()
            raise
        super().close()

    def discard(self) -> None:
        """Give the file up, unless it has its name."""
        self._file.discard()
        super().close()

    def __exit__(self, kind: Any, *error: Any) -> None:
        if kind is not None:
            return self.discard()
        self._file.ignore_exceptions()
        return super().__exit__(kind, *error)

    def _dealloc_warn(self, source: Any) -> None:  # noqa: ARG002
        """Give the file up: a text file on top calls this before it is deallocated."""
        self.discard()

    def __del__(self) -> None:
        with suppress(Exception):
            if not self.closed:
                self.discard()


class StoredFile(io.RawIOBase):
    """A file read through the store. `block` gives its blocks without a copy."""

    def __init__(self, file: CachedFile) -> None:
        self._file = file
        # In the place of methods: a small read shall not pass through Python.
        vars(self).update(seek=file.held.seek, tell=file.held.tell, readinto=file.held.readinto)

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self._file.size_bytes

    def block(self, index: int) -> memoryview | None:
        """As `CachedFile.block`."""
        return self._file.block(index)

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def readall(self) -> bytes:
        """The rest of the file, copied once."""
        return self._bytes(max(0, self.size - self.tell()))

    def between(self, start: int | None, end: int | None) -> bytes:
        """The bytes from `start` to `end`, of which those below 0 count from the end."""
        first, last, _ = slice(start, end).indices(self.size)
        self.seek(first)
        return self._bytes(max(0, last - first))

    def _bytes(self, count: int) -> bytes:
        # Reads straight into the bytes that it returns: only one would pass through its buffer.
        reader = io.BufferedReader(self, 1)
        try:
            return reader.read(count)
        finally:
            reader.detach()

    def close(self) -> None:
        """Give the blocks back."""
        if not self.closed:
            self._file.close()
        super().close()
