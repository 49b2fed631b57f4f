"""A connection to a store (`spec/formats/store-wire.md`), and files read through it."""

from __future__ import annotations

import json
import mmap
import os
import socket
import struct
from collections import OrderedDict
from pathlib import Path
from typing import Any

from cuesta.errors import EngineMissing, InputError

SOCKET = "socket"
"""The socket in the folder of a store."""
TIMEOUT_SECONDS = 30.0
"""An answer that takes longer is none: a fill of one block is what takes longest."""
LEASES_MAX = 16
"""Blocks of a file that stay leased."""
_LENGTHS = struct.Struct("<II")


class Connection:
    """Questions to the daemon of a store, one after the other. Not shared by threads."""

    def __init__(self, folder: Path) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(TIMEOUT_SECONDS)
        try:
            self._socket.connect(str(folder / SOCKET))
        except OSError:
            self._socket.close()
            raise EngineMissing(
                f"no store runs in {folder}; start one by `cuesta store start`"
            ) from None

    def ask(self, question: str, **fields: Any) -> dict[str, Any]:
        """What the daemon answers.

        Errors: `InputError` where it refuses or could not; `EngineMissing` where it has ended.
        """
        text = json.dumps({"do": question, **fields}).encode()
        try:
            self._socket.sendall(_LENGTHS.pack(len(text), 0) + text)
            length, payload = _LENGTHS.unpack(self._receive(_LENGTHS.size))
            reply: dict[str, Any] = json.loads(self._receive(length))
            reply["payload"] = self._receive(payload)
        except (OSError, struct.error):
            raise EngineMissing("the store has ended; start it again") from None
        if "error" in reply:
            raise InputError(reply["error"])
        return reply

    def _receive(self, count: int) -> bytes:
        parts = bytearray()
        while len(parts) < count:
            part = self._socket.recv(count - len(parts))
            if not part:
                raise OSError("the connection has ended")
            parts += part
        return bytes(parts)

    def close(self) -> None:
        """Give back all that this connection holds."""
        self._socket.close()


class CachedFile:
    """One version of a file of the store, whose blocks are mapped, not copied.

    Not shared by threads. Errors: as `Connection.ask`.
    """

    def __init__(self, folder: Path, path: str) -> None:
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
        self._leases: OrderedDict[int, _Lease] = OrderedDict()
        self._past: int | None = None
        """The file of the under level, once the store has ended."""

    def block(self, index: int) -> memoryview | None:
        """A block as it lies in memory; `None` where the memory has no room for it.

        The view stays as it is after the file is closed, also when the block leaves the store.
        """
        lease = self._lease(index)
        return memoryview(lease.mapped()) if lease else None

    def _lease(self, index: int) -> _Lease | None:
        found = self._leases.get(index)
        if found is None:
            lease = self._ask("lease", index=index)
            if lease is None or lease["path"] is None:
                return None
            found = self._leases[index] = _Lease(lease["path"])
            if len(self._leases) > LEASES_MAX:
                oldest, released = self._leases.popitem(last=False)
                released.close()
                self._ask("release", index=oldest)
        self._leases.move_to_end(index)
        return found

    def read_into(self, buffer: memoryview, offset: int) -> None:
        """Fill `buffer` from `offset` on; all of it lies in the file."""
        done = 0
        while done < len(buffer):
            index, within = divmod(offset + done, self.block_bytes)
            count = min(self.block_bytes - within, len(buffer) - done)
            piece = buffer[done : done + count]
            lease = self._lease(index)
            if lease is None:
                done += self._read_past(piece[: 1 << 20], offset + done)
            else:
                done += lease.read_into(piece, within)

    def _read_past(self, piece: memoryview, place: int) -> int:
        """Fill a piece from the under level: by the store, or without it."""
        read = self._ask("read", offset=place, bytes=len(piece))
        if read is not None:
            piece[:] = read["payload"]
            return len(piece)
        assert self._past is not None
        count = os.preadv(self._past, [piece], place)
        self._check_version()
        return count

    def _ask(self, question: str, **fields: int) -> dict[str, Any] | None:
        """What the store answers about this file; `None` once it has ended."""
        if self._past is None:
            try:
                return self._connection.ask(question, number=self._number, **fields)
            except EngineMissing:
                self._past = os.open(self._file, os.O_RDONLY | os.O_CLOEXEC)
                self._check_version()
        return None

    def _check_version(self) -> None:
        assert self._past is not None
        facts = os.fstat(self._past)
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
        """Give the leases back."""
        if self._past is not None:
            os.close(self._past)
            self._past = None
        for lease in self._leases.values():
            lease.close()
        self._leases.clear()
        self._connection.close()


class _Lease:
    """The file of a block, open."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        self._map: mmap.mmap | None = None

    def mapped(self) -> mmap.mmap:
        """The block as memory of this process."""
        if self._map is None:
            self._map = mmap.mmap(self._file, 0, prot=mmap.PROT_READ)
        return self._map

    def read_into(self, buffer: memoryview, offset: int) -> int:
        """Copy bytes: faster than from a new mapping, whose pages come in one by one."""
        return os.preadv(self._file, [buffer], offset)

    def close(self) -> None:
        """What is mapped stays with whoever has a view of it."""
        os.close(self._file)
        self._map = None
