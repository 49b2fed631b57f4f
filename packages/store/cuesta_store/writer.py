"""Files written through a store, block by block (`spec/formats/store-wire.md`)."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from cuesta_store.client import Connection
from cuesta_store.errors import EngineMissing, InputError, in_words
from cuesta_store.permissions import OF_FILES, ask_to_make, masked
from cuesta_store.trusted_folder import open_block


class WrittenFile(io.RawIOBase):
    """A file that is committed under its name when it is closed, with the guarantee of its mode.

    `mode` is `memory`, `bypass`, `through` or `back`; `None` is the store's. The file is discarded
    by `discard`, and if it is closed during the handling of an exception that was raised after it
    was opened. With `is_new` a commit fails if the name exists by then. It has the `permissions`
    less the umask. After `defer_commit` a closed file is committed by `commit`. Not shared by
    threads.

    Errors: `InputError` naming the file; `EngineMissing` where the store has ended.
    """

    def __init__(
        self,
        folder: Path,
        path: str,
        mode: str | None = None,
        *,
        is_new: bool = False,
        permissions: int = OF_FILES,
    ) -> None:
        self.path = path
        self._is_new = is_new
        self._is_deferred = False
        self._is_complete = False
        """Whether it was closed, and waits for `commit`."""
        self._handled = _handled_exceptions()
        """Exceptions that were being handled when the file was opened."""
        self._connection = Connection(folder)
        try:
            bits = masked(permissions)
            created = ask_to_make(self._connection, "create", bits, path=path, mode=mode)
        except BaseException:
            self._connection.close()
            raise
        self.mode: str = created["mode"]
        self._number: int = created["created"]
        self._block_bytes: int = created["block_bytes"]
        self._size_bytes = 0
        self._place: _Place | None = None
        self._ended: _Place | None = None
        """A complete block of memory that is not sealed yet."""
        self._unanswered = 0
        """Number of answers still to be received: a block is sealed while the next is written."""
        self._failure: BaseException | None = None
        """Error of a failed write. Buffers in front of this file close it even then."""

    def writable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position of the next byte."""
        return self._size_bytes

    def write(self, data: Any) -> int:
        """Write all bytes; return their number. After an error the file is discarded."""
        try:
            return self._write_all(memoryview(data).cast("B"))
        except BaseException as error:
            self._failure = error
            raise

    def _write_all(self, view: memoryview) -> int:
        done = 0
        while done < len(view):
            index, within = divmod(self._size_bytes, self._block_bytes)
            place = self._place or self._take_place(index)
            piece = view[done : done + self._block_bytes - within]
            written = self._write_piece(place, piece, within)
            done += written
            self._size_bytes += written
            if within + written == self._block_bytes:
                self._end_block()
        return len(view)

    def _write_piece(self, place: _Place, piece: memoryview, within: int) -> int:
        try:
            return place.write(piece, within)
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT) or not place.is_memory:
                raise InputError(f"store: writing {self.path} failed: {in_words(error)}") from None
        # The memory of the system is full: the written part of the block moves to the under level.
        written = os.pread(place.file, within, 0)
        under = self._take_place(place.index, past_memory=True)
        place.close()
        under.write_all(memoryview(written), 0)
        return under.write(piece, within)

    def _take_place(self, index: int, past_memory: bool = False) -> _Place:
        self._receive_all()
        reply = self._connection.ask(
            "place", number=self._number, index=index, past_memory=past_memory
        )
        start = 0 if reply["is_memory"] else index * self._block_bytes
        self._place = _Place(reply["place"], index, start, reply["is_memory"])
        self._seal_ended()
        return self._place

    def _end_block(self) -> None:
        place, self._place = self._place, None
        if place is None:
            return
        place.close()
        if place.is_memory:
            self._ended = place

    def _seal_ended(self) -> None:
        ended, self._ended = self._ended, None
        if ended is None:
            return
        begin = ended.index * self._block_bytes
        size_bytes = min(self._size_bytes - begin, self._block_bytes)
        self._connection.send("seal", number=self._number, index=ended.index, bytes=size_bytes)
        self._unanswered += 1

    def _receive_all(self) -> None:
        while self._unanswered:
            self._unanswered -= 1
            self._connection.receive("seal")

    def close(self) -> None:
        """Commit the file under its name, or, after `defer_commit`, complete it for `commit`.

        Errors: the exception that is being handled, if it was raised after the file was opened;
        then the file is discarded. A `with` or `finally` in between, of any library, does not pass
        the exception on, so the interpreter is asked.
        """
        if self.closed:
            return
        self.check_exception()
        try:
            if self._failure is not None:
                raise self._failure
            self._end_block()
            self._seal_ended()
            self._receive_all()
            self._is_complete = True
            if not self._is_deferred:
                self.commit()
        except BaseException:
            self.discard()
            raise
        super().close()

    def check_exception(self) -> None:
        """Discard the file and re-raise the exception that was raised since its opening, if any."""
        error = sys.exception()
        if self.closed or error is None or any(error is known for known in self._handled):
            return
        if error is not self._failure:
            error.add_note(
                f"store: cuesta://{self.path} was not written: it was closed while this exception "
                "was handled"
            )
        self.discard()
        raise error

    def ignore_exceptions(self) -> None:
        """Ignore exceptions that are being handled, which would discard the file."""
        self._handled = _handled_exceptions()

    def defer_commit(self) -> None:
        """Have `close` leave the commit to `commit`, of a transaction."""
        self._is_deferred = True

    def commit(self) -> None:
        """Commit a complete file, unless it was discarded. Errors: as the class."""
        if not self._is_complete:
            if self.closed:
                return
            self.discard()
            raise InputError(f"store: cuesta://{self.path} was not closed; close it before commit")
        try:
            self._connection.ask(
                "commit", number=self._number, bytes=self._size_bytes, is_new=self._is_new
            )
        finally:
            self.discard()

    def discard(self) -> None:
        """Discard the file, unless it is committed."""
        self._is_complete = False
        self._handled = ()
        if self._place is not None:
            self._place.close()
            self._place = None
        # The store discards files that its connection has not committed.
        self._connection.close()
        super().close()

    def __exit__(self, kind: Any, *error: Any) -> None:
        if kind is not None:
            return self.discard()
        self.ignore_exceptions()
        return super().__exit__(kind, *error)

    def __del__(self) -> None:
        # A file without a `close` is incomplete.
        with suppress(AttributeError, EngineMissing, InputError, OSError):
            self.discard()

    def _dealloc_warn(self, source: Any) -> None:  # noqa: ARG002
        """Discard the file: Python's buffers call this before they are deallocated."""
        self.discard()


def _handled_exceptions() -> tuple[BaseException, ...]:
    """Return the exceptions that are being handled, the last first."""
    errors: list[BaseException] = []
    error = sys.exception()
    while error is not None and all(error is not known for known in errors):
        errors.append(error)
        error = error.__context__
    return tuple(errors)


class _Place:
    """Destination of the bytes of a block: a file, from `start` on."""

    def __init__(self, path: str, index: int, start: int, is_memory: bool) -> None:
        if is_memory:
            self.file = open_block(path, os.O_RDWR)
        else:
            # A file that the daemon has open.
            self.file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self.index = index
        self.start = start
        self.is_memory = is_memory

    def write(self, piece: memoryview, within: int) -> int:
        return os.pwrite(self.file, piece, self.start + within)

    def write_all(self, piece: memoryview, within: int) -> None:
        while len(piece):
            count = self.write(piece, within)
            piece, within = piece[count:], within + count

    def close(self) -> None:
        if self.file >= 0:
            os.close(self.file)
            self.file = -1
