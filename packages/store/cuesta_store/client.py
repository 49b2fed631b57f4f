"""A connection to a store (`spec/formats/store-wire.md`), and files read through it."""

from __future__ import annotations

import json
import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cuesta_store.errors import EngineError, EngineMissing, InputError
from cuesta_store.missing import StoreMissing, missing
from cuesta_store.native import native_module
from cuesta_store.trusted_folder import connected

ANSWER_SECONDS = 0.6
"""Usual limit of an answer; a longer wait is due to the store or the under level."""
PING_SECONDS = 0.3
"""Time after which a store without an answer to a ping counts as hung."""
FILL_SECONDS = 30.0
"""Time after which a read is abandoned, though the store answers pings."""
RECEIVED_BYTES = 16 << 10
"""Bytes read from the socket at once: most answers fit."""
LEASES_FEW = 16
LEASES_MAX = 64
"""Limits of leased blocks of a file: a few at first, then `LEASES_MAX`, or half of the blocks that
the memory holds if those are fewer."""
_LENGTHS = struct.Struct("<II")
PAYLOAD_BYTES = 16 << 20
"""Limit of the bytes in an answer."""
_READS = frozenset({"open", "lease", "read", "stat", "list"})
"""Questions that take as long as the under level; others may take time for all their data."""


class Refusal(InputError):
    """A request that a store refused; `errno` is the number of the system's error, if any."""

    def __init__(self, text: str, errno: int | None = None) -> None:
        super().__init__(text)
        self.errno = errno


class Connection:
    """A connection to the daemon of a store, for a question at a time. Not shared by threads.

    Errors: `EngineMissing` where none runs; `InputError` for a folder or daemon of another account,
    to which nothing is sent.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._received = bytearray()
        self._process = os.getpid()
        self._unanswered = 0
        """Questions whose answers were not received."""
        try:
            self._socket = connected(folder, ANSWER_SECONDS)
        except OSError as error:
            raise missing(folder, error) from None

    def ask(self, question: str, **fields: Any) -> dict[str, Any]:
        """Send a question, and return the daemon's answer.

        Errors: `Refusal` where it refuses or fails; `EngineMissing` where it has ended or hangs;
        `EngineError` where it runs, but the under level does not answer. After any error but
        `Refusal`, also an interrupt, the connection is closed: the answer may still arrive, and
        would be taken for that to another question.
        """
        if self._unanswered:
            # An interrupt came between a question and its answer.
            self.close()
            raise self._missing()
        self.send(question, **fields)
        return self.receive(question)

    def send(self, question: str, **fields: Any) -> None:
        """Send a question, to `receive` its answer later; answers are in the order of questions.

        Errors: `EngineMissing` where the store has ended.
        """
        text = json.dumps({"do": question, **fields}).encode()
        self._check_process()
        with self._closed_by_errors():
            self._unanswered += 1
            self._socket.sendall(_LENGTHS.pack(len(text), 0) + text)

    def receive(self, question: str) -> dict[str, Any]:
        """Return the answer to the first unanswered question. Errors: as `ask`."""
        self._check_process()
        with self._closed_by_errors():
            self._wait(question)
            length, payload = _LENGTHS.unpack(self._receive(_LENGTHS.size))
            reply: dict[str, Any] = json.loads(self._receive(length))
            reply["payload"] = self._receive(payload)
            self._unanswered -= 1
        if "error" in reply:
            raise Refusal(f"store: {reply['error']}", reply.get("errno"))
        return reply

    def _check_process(self) -> None:
        """Check for a fork: a child must not receive answers to its parent's questions.

        Errors: `EngineMissing`; a file is then read from the under level, without the store.
        """
        if os.getpid() != self._process:
            raise self._missing()

    @contextmanager
    def _closed_by_errors(self) -> Iterator[None]:
        """Close the connection after any error, also an interrupt. Errors: as `ask`."""
        try:
            yield
        except (OSError, struct.error):
            self.close()
            raise self._missing() from None
        except BaseException:
            self.close()
            raise

    def _missing(self) -> EngineMissing:
        return StoreMissing(
            f"the store in {self._folder} has ended or does not answer; start it again"
        )

    def _wait(self, question: str) -> None:
        """Wait until an answer begins. Errors: `OSError` where the store hangs; `EngineError`."""
        until = time.monotonic() + FILL_SECONDS
        while not self._received:
            try:
                self._receive_more(RECEIVED_BYTES)
            except TimeoutError:
                if not _lives(self._folder):
                    raise
                if question in _READS and time.monotonic() > until:
                    raise EngineError(
                        f"the under level has not answered for {FILL_SECONDS:.0f} s; see whether "
                        "its disk or server answers"
                    ) from None

    def _receive(self, count: int) -> bytes:
        while len(self._received) < count:
            self._receive_more(max(count - len(self._received), RECEIVED_BYTES))
        with memoryview(self._received) as received:
            data = bytes(received[:count])
        del self._received[:count]
        return data

    def _receive_more(self, most: int) -> None:
        part = self._socket.recv(most)
        if not part:
            raise OSError("the connection has ended")
        self._received += part

    def close(self) -> None:
        """Close the connection; the daemon releases all that it holds."""
        self._socket.close()


def _lives(folder: Path) -> bool:
    """Whether a store answers on another connection."""
    text = b'{"do":"ping"}'
    try:
        with connected(folder, PING_SECONDS) as connection:
            connection.sendall(_LENGTHS.pack(len(text), 0) + text)
            return bool(connection.recv(1))
    except (InputError, OSError):
        return False


class CachedFile:
    """A version of a file of the store, whose blocks are mapped, not copied.

    Not shared by threads. Errors: as `Connection.ask`.
    """

    def __init__(self, folder: Path, path: str) -> None:
        held_blocks = native_module().HeldBlocks
        self._connection = Connection(folder)
        try:
            opened = self._connection.ask("open", path=path)
        except BaseException:
            self._connection.close()
            raise
        self._number: int = opened["number"]
        self._path = path
        self._file: str = opened["file"]
        self._version: dict[str, int] = opened["version"]
        self.size_bytes: int = self._version["size_bytes"]
        self.block_bytes: int = opened["block_bytes"]
        self.held = held_blocks(self.size_bytes, self.block_bytes, self._missed)
        self._most: int | None = None
        """Limit of leased blocks, once it is known."""
        self._is_lost = False
        """Whether the store has ended or hangs."""
        self._under_file: int | None = None
        """Descriptor of the file of the under level, if it is read without the store."""
        self._refused: dict[int, int] = {}
        """Blocks without room in memory, and bytes of each still to be read without the store."""
        self._last: int | None = None
        """The block that was requested last."""
        self._early: int | None = None
        """The next block of a file that is read sequentially, whose lease was requested and not
        answered yet. The answer takes as long as a copy of some hundred KB."""

    @property
    def under(self) -> Path | None:
        """Folder of the under level; None for a file that is in memory alone."""
        name = self._path.removeprefix("cuesta://").strip("/")
        root = self._file.removesuffix(name)
        is_listed = self._version["device"] != 0 and bool(name) and root != self._file
        return Path(root) if is_listed else None

    def block(self, index: int) -> memoryview | None:
        """Return a block in memory; `None` where the memory has no room for it.

        The view is valid after the file is closed, also after the eviction of the block.
        """
        buffer = self.held.block(index) if self._lease(index) else None
        return None if buffer is None else memoryview(buffer)

    def _lease(self, index: int) -> bool:
        """Lease a block unless it is leased; return whether it is."""
        if index in self.held:
            return True
        is_next, self._last = index - 1 == self._last, index
        if self._early == index:
            self._receive_early()
        if index not in self.held and not self._ask_now(index):
            return False
        if is_next and (index + 1) * self.block_bytes < self.size_bytes:
            self._ask_early(index + 1)
        return True

    def _ask_now(self, index: int) -> bool:
        if self._is_lost or index in self._refused:
            return False
        lease = self._ask("lease", index=index)
        return lease is not None and self._hold(index, lease)

    def _hold(self, index: int, lease: dict[str, Any]) -> bool:
        """Map a leased block; return whether there is one."""
        if lease["path"] is None:
            size_bytes = min(self.block_bytes, self.size_bytes - index * self.block_bytes)
            self._refused[index] = size_bytes
            # Blocks that are only leased for later use may take the room.
            self._give_back(len(self.held))
            return False
        try:
            self.held.hold(index, lease["path"])
        except FileNotFoundError:  # The store ended after its answer.
            self._is_lost = True
            return False
        self._give_back(len(self.held) - self._leases_max())
        return True

    def _ask_early(self, index: int) -> None:
        if self._is_lost or self._early is not None or index in self.held or index in self._refused:
            return
        try:
            self._connection.send("lease", number=self._number, index=index)
            self._early = index
        except EngineMissing:
            self._is_lost = True

    def _receive_early(self) -> None:
        """Map the block that was requested early, if its lease was granted.

        A later request for the block reports the reason of a refusal.
        """
        if self._early is None:
            return
        index, self._early = self._early, None
        try:
            lease = self._connection.receive("lease")
        except EngineMissing:
            self._is_lost = True
        except Refusal:
            pass
        else:
            self._hold(index, lease)

    def _leases_max(self) -> int:
        if self._most is None and len(self.held) > LEASES_FEW:
            try:
                half = self._connection.ask("status")["memory_bytes"] // self.block_bytes // 2
            except EngineMissing:
                half = 0
            self._most = min(max(LEASES_FEW, half), LEASES_MAX)
        return self._most or LEASES_FEW

    def _give_back(self, count: int) -> None:
        for _ in range(count):
            oldest = self.held.let_go()
            if oldest is not None:
                self._ask("release", index=oldest)

    def _missed(self, buffer: Any, place: int) -> int:
        """Fill a buffer that is not inside one leased block; return the bytes."""
        view = memoryview(buffer).cast("B")[: max(0, self.size_bytes - place)]
        self.read_into(view, place)
        return len(view)

    def read_into(self, buffer: memoryview, offset: int) -> None:
        """Fill `buffer` from `offset` on; the range must be inside the file."""
        done = 0
        while done < len(buffer):
            index, within = divmod(offset + done, self.block_bytes)
            piece = buffer[done : done + self.block_bytes - within]
            if self._lease(index) and self.held.copy(piece, offset + done):
                done += len(piece)
            else:
                done += self._read_under(piece, offset + done)

    def _read_under(self, piece: memoryview, place: int) -> int:
        """Fill a piece of a block from the under level, without the store."""
        if self._version["device"] == 0:
            count = self._read_by_store(piece[:PAYLOAD_BYTES], place)
        else:
            if self._under_file is None:
                # Another file may have replaced it under its name, such as a pipe or a link.
                flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK
                self._under_file = os.open(self._file, flags)
                self._check_version()
            count = os.preadv(self._under_file, [piece], place)
            self._check_version()
        index = place // self.block_bytes
        if index in self._refused:
            self._refused[index] -= count
            if self._refused[index] <= 0:
                del self._refused[index]
        return count

    def _read_by_store(self, piece: memoryview, place: int) -> int:
        """Fill a piece of a file in memory alone, perhaps from another store of the job."""
        reply = self._ask("read", offset=place, bytes=len(piece))
        if reply is None:
            raise EngineMissing(
                f"store: {self._path} is in memory alone, and the store has ended or hangs; start "
                "it again"
            )
        piece[:] = reply["payload"]
        return len(piece)

    def _ask(self, question: str, **fields: int) -> dict[str, Any] | None:
        """Ask the store about this file; return `None` once it has ended or hangs."""
        self._receive_early()
        if not self._is_lost:
            try:
                return self._connection.ask(question, number=self._number, **fields)
            except EngineMissing:
                self._is_lost = True
        return None

    def _check_version(self) -> None:
        assert self._under_file is not None
        facts = os.fstat(self._under_file)
        now = {
            "device": facts.st_dev,
            "inode": facts.st_ino,
            "size_bytes": facts.st_size,
            "modified_ns": facts.st_mtime_ns,
            "changed_ns": facts.st_ctime_ns,
        }
        if now != self._version:
            raise InputError(f"store: {self._path} was changed while it was read; open it again")

    def close(self) -> None:
        """Release the leases, and close the connection."""
        if self._under_file is not None:
            os.close(self._under_file)
            self._under_file = None
        self.held.close()
        self._connection.close()
