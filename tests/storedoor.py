"""Reader of a store through one of its doors, as a separate process: KIND PLACE.

KIND is `fsspec`, and PLACE the folder of the store, or `paths`, and PLACE the mount point. It
prints `ready`, then answers each line of standard input with a line that begins with `ok` or
`failed`: `list PATH`; `all PATH`, the CRC-32 of its bytes; `open PATH`, which stays open; `at
PLACE`, 10 bytes of the open file. `DoorLoop.java` does the same through Hadoop.
"""

from __future__ import annotations

import os
import sys
import zlib
from pathlib import Path

BYTES = 10


class Fsspec:
    """Access through the file system of fsspec."""

    def __init__(self, folder: str) -> None:
        from cuesta_store.filesystem import CuestaFileSystem

        self._files = CuestaFileSystem(folder)

    def list(self, path: str) -> str:
        """Return the names in a folder."""
        return " ".join(sorted(entry.rpartition("/")[2] for entry in self._files.ls(path, False)))

    def all(self, path: str) -> str:
        """Return the CRC-32 of all bytes of a file."""
        return str(zlib.crc32(self._files.cat_file(path)))

    def open(self, path: str) -> str:
        """Open a file and hold it open."""
        self._open = self._files.open(path)
        return str(len(self._open.read(1)) == 1).lower()

    def at(self, place: str) -> str:
        """Return bytes of the open file."""
        self._open.seek(int(place))
        content: bytes = self._open.read(BYTES)
        return content.hex()


class Paths:
    """Access through a mount, without the kernel's read-ahead."""

    def __init__(self, place: str) -> None:
        self._place = Path(place)

    def list(self, path: str) -> str:
        """Return the names in a folder."""
        return " ".join(sorted(entry.name for entry in Path(f"{self._place}{path}").iterdir()))

    def all(self, path: str) -> str:
        """Return the CRC-32 of all bytes of a file."""
        return str(zlib.crc32(Path(f"{self._place}{path}").read_bytes()))

    def open(self, path: str) -> str:
        """Open a file and hold it open."""
        self._open = os.open(f"{self._place}{path}", os.O_RDONLY)
        os.posix_fadvise(self._open, 0, 0, os.POSIX_FADV_RANDOM)
        return str(len(os.pread(self._open, 1, 0)) == 1).lower()

    def at(self, place: str) -> str:
        """Return bytes of the open file."""
        return os.pread(self._open, BYTES, int(place)).hex()


def main(kind: str, place: str) -> None:
    """Answer lines until the end of input."""
    door = {"fsspec": Fsspec, "paths": Paths}[kind](place)
    _reply("ready")
    for line in sys.stdin:
        question, word = line.split()
        try:
            _reply(f"ok {getattr(door, question)(word)}")
        except Exception as error:
            _reply(f"failed {error}")


def _reply(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(*sys.argv[1:])
