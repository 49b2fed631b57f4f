"""Files of a store as Python file objects: `io` classes with buffers."""

from __future__ import annotations

import errno
import io
import os
from contextlib import suppress
from typing import Any

from cuesta_store.client import CachedFile, Refusal
from cuesta_store.writer import WrittenFile

_SYSTEM = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY})
"""Errors that Python's files also raise, as `OSError`."""


def as_system_error(error: Refusal, path: str, question: str) -> Exception:
    """Return the exception that Python's files raise, for a refusal."""
    number = error.errno
    if number is None or number not in _SYSTEM:
        return error
    if number == errno.ENOTDIR and question in ("open", "stat"):
        # There is nothing below a file.
        number = errno.ENOENT
    return OSError(number, os.strerror(number), path)


class BufferedWrittenFile(io.BufferedWriter):
    """A file that is written in pieces of 1 MiB; discarded if an exception leaves its `with`."""

    def __init__(self, file: WrittenFile) -> None:
        super().__init__(file, 1 << 20)
        self._file = file

    def close(self) -> None:
        """Commit the file under its name. Errors: `FileExistsError` for a new file's existing name.

        Raises the exception that is being handled if it was raised after the file was opened; then
        the file is discarded.
        """
        self._file.check_exception()
        try:
            super().close()
        except Refusal as error:
            raise as_system_error(error, self._file.path, "commit") from None

    def ignore_exceptions(self) -> None:
        """Ignore exceptions that are being handled, which would discard the file."""
        self._file.ignore_exceptions()

    def commit(self) -> None:
        """Commit a file of a transaction, unless it was discarded. Errors: as `close`."""
        try:
            self._file.commit()
        except Refusal as error:
            raise as_system_error(error, self._file.path, "commit") from None

    def discard(self) -> None:
        """Discard the file."""
        self._file.discard()

    def _dealloc_warn(self, source: Any) -> None:  # noqa: ARG002
        """Give the file up: a text file on top calls this before it is deallocated."""
        self.discard()

    def __del__(self) -> None:
        # A file without a `close` is incomplete; Python's buffer would close it here.
        with suppress(Exception):
            self.discard()

    def __exit__(self, kind: Any, *error: Any) -> None:
        if kind is not None:
            return self.discard()
        self.ignore_exceptions()
        return super().__exit__(kind, *error)


class CompressedWrittenFile(io.BufferedIOBase):
    """A file of the store with a compressor in front of it, which are closed together."""

    def __init__(self, compressor: Any, file: BufferedWrittenFile) -> None:
        self._compressor = compressor
        self._file = file

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, data: Any) -> int:
        """Compress and write some bytes; return how many."""
        count: int = self._compressor.write(data)
        return count

    def close(self) -> None:
        """Commit the file under its name. Errors: as `BufferedWrittenFile.close`."""
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
        """Discard the file, unless it is committed."""
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
    """A file read through the store. `block` returns its blocks without a copy."""

    def __init__(self, file: CachedFile) -> None:
        self._file = file
        # They replace methods, so that a small read does not pass through Python.
        vars(self).update(seek=file.held.seek, tell=file.held.tell, readinto=file.held.readinto)

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self._file.size_bytes

    def block(self, index: int) -> memoryview | None:
        """Return a block in memory, as `CachedFile.block`."""
        return self._file.block(index)

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def readall(self) -> bytes:
        """Return the rest of the file, copied once."""
        return self._bytes(max(0, self.size - self.tell()))

    def between(self, start: int | None, end: int | None) -> bytes:
        """Return the bytes from `start` to `end`; values below 0 count from the end."""
        first, last, _ = slice(start, end).indices(self.size)
        self.seek(first)
        return self._bytes(max(0, last - first))

    def _bytes(self, count: int) -> bytes:
        # Reads directly into the returned bytes: only a read of 1 byte passes through the buffer.
        reader = io.BufferedReader(self, 1)
        try:
            return reader.read(count)
        finally:
            reader.detach()

    def close(self) -> None:
        """Release the blocks, and close the file."""
        if not self.closed:
            self._file.close()
        super().close()
