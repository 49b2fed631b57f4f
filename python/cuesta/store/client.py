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
        self.size_bytes: int = opened["size_bytes"]
        self.block_bytes: int = opened["block_bytes"]
        self._leases: OrderedDict[int, _Lease] = OrderedDict()

    def block(self, index: int) -> memoryview | None:
        """A block as it lies in memory; `None` where the memory has no room for it.

        The view stays as it is after the file is closed, also when the block leaves the store.
        """
        lease = self._lease(index)
        return memoryview(lease.mapped()) if lease else None

    def _lease(self, index: int) -> _Lease | None:
        found = self._leases.get(index)
        if found is None:
            lease = self._connection.ask("lease", number=self._number, index=index)
            if lease["path"] is None:
                return None
            found = self._leases[index] = _Lease(lease["path"])
            if len(self._leases) > LEASES_MAX:
                oldest, released = self._leases.popitem(last=False)
                released.close()
                self._connection.ask("release", number=self._number, index=oldest)
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
                count = min(count, 1 << 20)
                read = self._connection.ask(
                    "read", number=self._number, offset=offset + done, bytes=count
                )
                piece[:count] = read["payload"]
                done += count
            else:
                done += lease.read_into(piece, within)

    def close(self) -> None:
        """Give the leases back."""
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
