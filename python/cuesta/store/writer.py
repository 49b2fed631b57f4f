"""Files written through a store, block by block (`spec/formats/store-wire.md`)."""

from __future__ import annotations

import errno
import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from cuesta.errors import EngineMissing, InputError
from cuesta.store.client import Connection
from cuesta.store.permissions import OF_FILES, ask_to_make, masked
from cuesta.store.trusted_folder import open_block


class WrittenFile(io.RawIOBase):
    """A file that has its name when it is closed; what holds then is what its mode promises.

    `mode` is `memory`, `bypass`, `through` or `back`; `None` is the store's own. Closed while an
    exception is on its way that was raised after it was opened, or by `discard`, it is given up.
    One that `is_new` is refused where its name is taken by then. It has the `permissions` that the
    umask leaves. After `defer_commit` a closed file has its name after `commit`. Not shared by
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
        """Exceptions that were handled while the file was opened."""
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
        """A block of memory that has all its bytes, which the store was not told yet."""
        self._asked = 0
        """Answers that are still to be received: a block is sealed while the next is written."""
        self._failure: BaseException | None = None
        """Why bytes are missing. Buffers in front of this file close it even then."""

    def writable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """The place that is next."""
        return self._size_bytes

    def write(self, data: Any) -> int:
        """Write all of some bytes; how many. After an error the file is given up."""
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
                raise InputError(f"store: writing {self.path} failed: {error.strerror}") from None
        # The memory of the system is full: the block goes past it, as far as it has come.
        before = os.pread(place.file, within, 0)
        past = self._take_place(place.index, past_memory=True)
        place.close()
        past.write_all(memoryview(before), 0)
        return past.write(piece, within)

    def _take_place(self, index: int, past_memory: bool = False) -> _Place:
        self._receive_all()
        found = self._connection.ask(
            "place", number=self._number, index=index, past_memory=past_memory
        )
        start = 0 if found["is_memory"] else index * self._block_bytes
        self._place = _Place(found["place"], index, start, found["is_memory"])
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
        self._asked += 1

    def _receive_all(self) -> None:
        while self._asked:
            self._asked -= 1
            self._connection.receive("seal")

    def close(self) -> None:
        """Give the file its name, or, after `defer_commit`, complete it for `commit`.

        Errors: the exception that is handled now, where it was raised after the file was opened;
        then the file is given up. A `with` or `finally` in between, of any library, does not say
        whether an exception is on its way, but the interpreter does.
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
        """Give the file up and raise again what was raised since it was opened, if anything."""
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
        """Take what is handled now for no reason to give the file up."""
        self._handled = _handled_exceptions()

    def defer_commit(self) -> None:
        """Let `close` leave the name to `commit`, of a transaction."""
        self._is_deferred = True

    def commit(self) -> None:
        """Give a complete file its name; one that was given up has none. Errors: as the class."""
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
        """Give the file up, unless it has its name."""
        self._is_complete = False
        self._handled = ()
        if self._place is not None:
            self._place.close()
            self._place = None
        # The store gives up what its connection has not closed.
        self._connection.close()
        super().close()

    def __exit__(self, kind: Any, *error: Any) -> None:
        if kind is not None:
            return self.discard()
        self.ignore_exceptions()
        return super().__exit__(kind, *error)

    def __del__(self) -> None:
        # A file that nobody closed is not whole.
        with suppress(AttributeError, EngineMissing, InputError, OSError):
            self.discard()

    def _dealloc_warn(self, source: Any) -> None:  # noqa: ARG002
        """Give the file up: buffers of Python's own call this before they are deallocated."""
        self.discard()


def _handled_exceptions() -> tuple[BaseException, ...]:
    """Return the exceptions that are handled now, the last first."""
    errors: list[BaseException] = []
    error = sys.exception()
    while error is not None and all(error is not known for known in errors):
        errors.append(error)
        error = error.__context__
    return tuple(errors)


class _Place:
    """Where the bytes of a block go: a file, from `start` on."""

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
