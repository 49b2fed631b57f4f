"""Daemons that forge a store: a foreign folder, a link, or a foreign process in our folder."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from adversarykit import STRANGER_UID

KINDS = ("folder", "link", "open-folder", "server")
"""Folder of another account; link to it; our folder with write access for all; their server in
ours.
"""
FORGED = b"forged"
_LENGTHS = struct.Struct("<II")


@dataclass(frozen=True, kw_only=True)
class Forger:
    """Daemon that gives a client the answers it expects."""

    folder: Path
    """Folder to name as that of the store."""
    sent_pipe: int
    """Pipe with all bytes that were sent to the daemon."""

    def received(self) -> bytes:
        """Return the bytes that clients have sent so far."""
        os.set_blocking(self.sent_pipe, False)
        try:
            return os.read(self.sent_pipe, 1 << 16)
        except BlockingIOError:
            return b""


@contextmanager
def forger(kind: str) -> Iterator[Forger]:
    """Serve a forged store of one of the `KINDS`; needs root."""
    with tempfile.TemporaryDirectory(prefix="cuesta-forged-") as public:
        Path(public).chmod(0o777)
        folder = Path(public, "store")
        folder.mkdir(mode=0o700)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind(str(folder / "socket"))
        if kind in ("folder", "link"):
            os.chown(folder, STRANGER_UID, STRANGER_UID)
            os.chown(folder / "socket", STRANGER_UID, STRANGER_UID)
        if kind == "open-folder":
            folder.chmod(0o755)
        named = folder
        if kind == "link":
            named = Path(public, "link")
            named.symlink_to(folder)
        # The credentials of a server are those of the listening process.
        ready_end, ready = os.pipe()
        sent_end, sent_pipe = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                _serve(listener, Path(public), ready, sent_pipe, is_ours=kind == "open-folder")
            finally:
                os._exit(1)
        os.close(sent_pipe)
        listener.close()
        try:
            assert os.read(ready_end, 1) == b"."
            yield Forger(folder=named, sent_pipe=sent_end)
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            for end in (ready_end, ready, sent_end):
                os.close(end)


def _serve(
    listener: socket.socket, public: Path, ready: int, sent_pipe: int, *, is_ours: bool
) -> None:
    if not is_ours:
        os.setgroups([])
        os.setresgid(STRANGER_UID, STRANGER_UID, STRANGER_UID)
        os.setresuid(STRANGER_UID, STRANGER_UID, STRANGER_UID)
    (public / "x").write_bytes(FORGED)
    facts = (public / "x").stat()
    version = {
        "device": facts.st_dev,
        "inode": facts.st_ino,
        "size_bytes": facts.st_size,
        "modified_ns": facts.st_mtime_ns,
        "changed_ns": facts.st_ctime_ns,
    }
    entry = {"name": "x", "is_folder": False, "size_bytes": len(FORGED), "modified_ns": 1}
    # An answer to all questions at once: each reader takes its fields.
    answer = json.dumps(
        {
            "done": True,
            "wire": 2,
            "pid": 1,
            "under": str(public),
            "memory_bytes": 1 << 20,
            "block_bytes": 1 << 16,
            "write": "through",
            "number": 1,
            "file": str(public / "x"),
            "version": version,
            "path": str(public / "x"),
            "size_bytes": len(FORGED),
            "checksum": 0,
            "created": 1,
            "mode": "through",
            "place": str(public / "x"),
            "is_memory": False,
            "entries": [entry | {"memory_bytes": 0}],
        }
    ).encode()
    listener.listen()
    os.write(ready, b".")
    while True:
        stream, _ = listener.accept()
        while request := stream.recv(4096):
            os.write(sent_pipe, request)
            stream.sendall(_LENGTHS.pack(len(answer), 0) + answer)
