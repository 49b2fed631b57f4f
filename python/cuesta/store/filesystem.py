"""`cuesta://` for everything that opens files by fsspec: pandas, PyArrow, Polars, Zarr, Dask."""

from __future__ import annotations

import io
import os
import secrets
from pathlib import Path
from typing import Any

from fsspec.spec import AbstractFileSystem

from cuesta.errors import InputError
from cuesta.store import control
from cuesta.store.client import CachedFile


class CuestaFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """Files of the under level, read through the memory of the store that runs on this node.

    Files are written past the memory: they are on the under level, under their names and whole,
    when they are closed, and come into memory when they are read; folders are made as they are
    needed. `folder` is that of the store, `$CUESTA_STORE` if not given.
    """

    protocol = "cuesta"
    root_marker = "/"

    def __init__(self, folder: str | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.folder = Path(folder) if folder else control.default_folder()

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        text = os.fspath(path).removeprefix("cuesta://")
        return "/" + text.strip("/")

    def _ask(self, question: str, path: str) -> Any:
        try:
            return control.ask(question, self.folder, path=path)
        except InputError as error:
            if "No such file" in str(error) or "Not a directory" in str(error):
                raise FileNotFoundError(path) from None
            raise

    def _under(self, path: str) -> Path:
        root = Path(control.status(self.folder)["under"])
        self._ask("stat", self._parent(path))
        own: str = self._strip_protocol(path)
        return root / own.lstrip("/")

    def ls(self, path: str, detail: bool = True, **options: Any) -> list[Any]:  # noqa: ARG002
        """The files and folders of a folder, or a file itself."""
        path = self._strip_protocol(path)
        own = self.info(path)
        if own["type"] == "file":
            return [own] if detail else [path]
        base = path.rstrip("/")
        entries = self._ask("list", path)["entries"]
        found = [_info(f"{base}/{entry['name']}", entry) for entry in entries]
        return found if detail else [one["name"] for one in found]

    def info(self, path: str, **options: Any) -> dict[str, Any]:  # noqa: ARG002
        """Size, type, time of change in seconds since 1970, and bytes in memory."""
        path = self._strip_protocol(path)
        return _info(path, self._ask("stat", path)["entries"][0])

    def _open(self, path: str, mode: str = "rb", **options: Any) -> io.IOBase:  # noqa: ARG002
        if mode == "rb":
            if self.info(path)["type"] == "directory":
                raise IsADirectoryError(path)
            return io.BufferedReader(StoredFile(CachedFile(self.folder, path)), 1 << 20)
        if mode in ("wb", "xb"):
            if mode == "xb" and self.exists(path):
                raise FileExistsError(path)
            self.makedirs(self._parent(path), exist_ok=True)
            return io.BufferedWriter(WrittenFile(self._under(path)), 1 << 20)
        raise ValueError(f"files of the store are opened by rb, wb or xb, not by {mode}")

    def mkdir(self, path: str, create_parents: bool = True, **options: Any) -> None:  # noqa: ARG002
        """Make a folder."""
        if create_parents:
            return self.makedirs(path, exist_ok=False)
        self._under(path).mkdir()
        return None

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Make a folder and those that it is in."""
        path = self._strip_protocol(path)
        if self.exists(path):
            if exist_ok and self.isdir(path):
                return
            raise FileExistsError(path)
        # Each folder is looked up by the store, so that no link leads out of its root.
        steps = path.strip("/").split("/")
        for count in range(1, len(steps) + 1):
            folder = "/" + "/".join(steps[:count])
            if not self.exists(folder):
                self._under(folder).mkdir(exist_ok=True)

    def rmdir(self, path: str) -> None:
        """Remove an empty folder."""
        self._under(path).rmdir()

    def _rm(self, path: str) -> None:
        if self.isdir(path):
            return self.rmdir(path)
        self._under(path).unlink()
        return None

    def mv_file(self, path1: str, path2: str, **options: Any) -> None:  # noqa: ARG002
        """Give a file another name."""
        self._under(path1).rename(self._under(path2))

    def cp_file(self, path1: str, path2: str, **options: Any) -> None:
        """Copy a file, or make a folder like another."""
        if self.isdir(path1):
            return self.makedirs(path2, exist_ok=True)
        with self.open(path1, "rb", **options) as source, self.open(path2, "wb", **options) as to:
            while piece := source.read(4 << 20):
                to.write(piece)
        return None

    def created(self, path: str) -> Any:
        """Not known."""
        raise NotImplementedError("POSIX does not keep when a file was made")

    def modified(self, path: str) -> Any:
        """When the bytes of a file were changed last."""
        import datetime

        seconds = self.info(path)["mtime"]
        return datetime.datetime.fromtimestamp(seconds, tz=datetime.UTC)


def _info(path: str, entry: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": path,
        "size": entry["size_bytes"],
        "type": "directory" if entry["is_folder"] else "file",
        "mtime": entry["modified_ns"] / 1e9,
        "memory_bytes": entry["memory_bytes"],
    }


class StoredFile(io.RawIOBase):
    """A file read through the store. `block` gives its blocks without a copy."""

    def __init__(self, file: CachedFile) -> None:
        self._file = file
        self._place = 0

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self._file.size_bytes

    def block(self, index: int) -> memoryview | None:
        """As `CachedFile.block`."""
        return self._file.block(index)

    def readable(self) -> bool:
        """It is."""
        return True

    def seekable(self) -> bool:
        """It is."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to a place."""
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._place, io.SEEK_END: self.size}[whence]
        if start + offset < 0:
            raise ValueError("a place before the file begins")
        self._place = start + offset
        return self._place

    def tell(self) -> int:
        """The place that is next."""
        return self._place

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer from the place on, as far as the file goes; how many bytes."""
        view = memoryview(buffer).cast("B")
        count = max(0, min(len(view), self.size - self._place))
        self._file.read_into(view[:count], self._place)
        self._place += count
        return count

    def close(self) -> None:
        """Give the blocks back."""
        if not self.closed:
            self._file.close()
        super().close()


class WrittenFile(io.RawIOBase):
    """A file of the under level that gets its name when it is closed, and is on the disk then."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
        self._file = self._partial.open("xb", buffering=0)

    def writable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """The place that is next."""
        return self._file.tell()

    def write(self, data: Any) -> int:
        """Write all of some bytes; how many."""
        return self._file.write(data)

    def close(self) -> None:
        """Bring the bytes to the disk, then give the file its name."""
        if self.closed:
            return
        try:
            os.fsync(self._file.fileno())
            self._file.close()
            self._partial.replace(self._path)
            folder = os.open(self._path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        finally:
            self._file.close()
            self._partial.unlink(missing_ok=True)
            super().close()
