"""Reads through a door of a store in a process of its own, as it is told: KIND PLACE.

KIND is `fsspec`, and PLACE the folder of the store, or `paths`, and PLACE where it is mounted.
First `ready`; then for each line of standard input one that begins with `ok` or `failed`: `list
PATH`; `all PATH`, the CRC-32 of its bytes; `open PATH`, which is kept; `at PLACE`, 10 bytes of
that. `DoorLoop.java` is the same by way of Hadoop.
"""

from __future__ import annotations

import os
import sys
import zlib
from pathlib import Path

BYTES = 10


class Fsspec:
    """The file system of fsspec."""

    def __init__(self, folder: str) -> None:
        from cuesta.store.filesystem import CuestaFileSystem

        self._files = CuestaFileSystem(folder)

    def list(self, path: str) -> str:
        """The names in a folder."""
        return " ".join(sorted(entry.rpartition("/")[2] for entry in self._files.ls(path, False)))

    def all(self, path: str) -> str:
        """Of all bytes of a file."""
        return str(zlib.crc32(self._files.cat_file(path)))

    def open(self, path: str) -> str:
        """Keep a file."""
        self._open = self._files.open(path)
        return str(len(self._open.read(1)) == 1).lower()

    def at(self, place: str) -> str:
        """Bytes of the file that is kept."""
        self._open.seek(int(place))
        content: bytes = self._open.read(BYTES)
        return content.hex()


class Paths:
    """A mount, read without what the kernel would read ahead."""

    def __init__(self, place: str) -> None:
        self._place = Path(place)

    def list(self, path: str) -> str:
        """The names in a folder."""
        return " ".join(sorted(entry.name for entry in Path(f"{self._place}{path}").iterdir()))

    def all(self, path: str) -> str:
        """Of all bytes of a file."""
        return str(zlib.crc32(Path(f"{self._place}{path}").read_bytes()))

    def open(self, path: str) -> str:
        """Keep a file."""
        self._open = os.open(f"{self._place}{path}", os.O_RDONLY)
        os.posix_fadvise(self._open, 0, 0, os.POSIX_FADV_RANDOM)
        return str(len(os.pread(self._open, 1, 0)) == 1).lower()

    def at(self, place: str) -> str:
        """Bytes of the file that is kept."""
        return os.pread(self._open, BYTES, int(place)).hex()


def main(kind: str, place: str) -> None:
    """Answer until there are no more lines."""
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
