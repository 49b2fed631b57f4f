"""Output of a program: the first bytes of a stream in a file, the last ones in memory."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

LIMIT_BYTES = 16 << 20
"""Most bytes of a stream in its file."""
TAIL_BYTES = 4096
_CHUNK_BYTES = 1 << 18


class Stream:
    """A pipe whose writing end a program has; what it writes never waits for long.

    Attributes
    ----------
    reading, writing
        Descriptors of both ends.
    count_bytes
        Number of bytes that were read.
    """

    def __init__(self, file: Path, limit_bytes: int = LIMIT_BYTES) -> None:
        self.reading, self.writing = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.reading, False)
        with contextlib.suppress(OSError, AttributeError):
            import fcntl

            fcntl.fcntl(self.reading, fcntl.F_SETPIPE_SZ, 1 << 20)
        self.count_bytes = 0
        self._limit_bytes = limit_bytes
        self._tail = b""
        self._file = file.open("wb", buffering=0)

    def read(self) -> int | None:
        """Read a chunk; return its bytes, 0 at the end, or None if there is nothing to read."""
        try:
            chunk = os.read(self.reading, _CHUNK_BYTES)
        except BlockingIOError:
            return None
        room = self._limit_bytes - self.count_bytes
        if room > 0 and chunk:
            self._write(chunk[:room])
        self.count_bytes += len(chunk)
        self._tail = (self._tail + chunk[-TAIL_BYTES:])[-TAIL_BYTES:]
        return len(chunk)

    def _write(self, content: bytes) -> None:
        try:
            self._file.write(content)
        except OSError:  # The disk is full: the stream is cut here.
            self._limit_bytes = self.count_bytes

    def close_writing(self) -> None:
        """Close the end of the program, which has its own copy by now."""
        if self.writing >= 0:
            os.close(self.writing)
            self.writing = -1

    @property
    def is_cut(self) -> bool:
        """Whether the file lacks the last bytes."""
        return self.count_bytes > self._limit_bytes

    @property
    def tail(self) -> str:
        """The last lines, as text."""
        return self._tail.decode("utf-8", "replace")

    def close(self) -> None:
        """Close the pipe and the file."""
        self.close_writing()
        os.close(self.reading)
        self._file.close()
