"""`cuesta://` for everything that opens files by fsspec: pandas, PyArrow, Polars, Zarr, Dask."""

from __future__ import annotations

import errno
import io
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

from fsspec.spec import AbstractFileSystem

from cuesta.store import control
from cuesta.store.client import CachedFile, Refusal
from cuesta.store.writer import WrittenFile

BUFFER_BYTES = 4 << 10
"""What lines and single bytes are read by; reads of as much go past this buffer."""


class CuestaFileSystem(AbstractFileSystem):  # type: ignore[misc]
    """Files of the under level, read through the memory of the store that runs on this node.

    A file that is written has its name when it is closed, whole; what holds then is said by
    `write_mode`, of the file system or of `open`: `memory`, `bypass`, `through` or `back`, the
    store's own if not given. Folders are made as they are needed. `folder` is that of the store,
    `$CUESTA_STORE` if not given.
    """

    protocol = "cuesta"
    root_marker = "/"

    def __init__(
        self, folder: str | None = None, write_mode: str | None = None, **options: Any
    ) -> None:
        super().__init__(**options)
        self.folder = Path(folder) if folder else control.default_folder()
        self.write_mode = write_mode

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(one) for one in path]
        text = os.fspath(path).removeprefix("cuesta://")
        return "/" + text.strip("/")

    def _ask(self, question: str, path: str, **fields: Any) -> Any:
        try:
            return control.ask(question, self.folder, path=path, **fields)
        except Refusal as error:
            raise _as_system_error(error, path, question) from None

    def ls(self, path: str, detail: bool = True, **options: Any) -> list[Any]:  # noqa: ARG002
        """The files and folders of a folder, or a file itself."""
        path = self._strip_protocol(path)
        own = self.info(path)
        if own["type"] == "file":
            return [own] if detail else [path]
        found = self._inside(path)
        return found if detail else [one["name"] for one in found]

    def _inside(self, folder: str) -> list[dict[str, Any]]:
        """What is in a folder."""
        base = folder.rstrip("/")
        entries = self._ask("list", folder)["entries"]
        return [_info(f"{base}/{entry['name']}", entry) for entry in entries]

    def info(self, path: str, **options: Any) -> dict[str, Any]:  # noqa: ARG002
        """Size, type, time of change in seconds since 1970, and bytes in memory."""
        path = self._strip_protocol(path)
        return _info(path, self._ask("stat", path)["entries"][0])

    def _open(self, path: str, mode: str = "rb", **options: Any) -> io.IOBase:
        if mode == "rb":
            return io.BufferedReader(StoredFile(self._opened(path)), BUFFER_BYTES)
        if mode in ("wb", "xb"):
            if mode == "xb" and self.exists(path):
                raise FileExistsError(path)
            if self.isdir(path):
                raise IsADirectoryError(path)
            wanted = options.get("write_mode") or self.write_mode
            file = WrittenFile(self.folder, path, wanted, is_new=mode == "xb")
            return BufferedWrittenFile(file)
        raise ValueError(f"files of the store are opened by rb, wb or xb, not by {mode}")

    def _opened(self, path: str) -> CachedFile:
        path = self._strip_protocol(path)
        try:
            return CachedFile(self.folder, path)
        except Refusal as error:
            raise _as_system_error(error, path, "open") from None

    def cat_file(
        self,
        path: str,
        start: int | None = None,
        end: int | None = None,
        **options: Any,  # noqa: ARG002
    ) -> bytes:
        """The bytes of a file from `start` to `end`; below 0 they count from its end."""
        with StoredFile(self._opened(path)) as file:
            return file.between(start, end)

    def cat_ranges(
        self,
        paths: list[str],
        starts: Any,
        ends: Any,
        max_gap: int | None = None,  # noqa: ARG002
        **options: Any,
    ) -> list[Any]:
        """As `cat_file` for each of many ranges, with each file opened once.

        `starts` and `ends` are lists as long as `paths`, or one value for all. Without
        `on_error="raise"` an exception takes the place of the bytes that could not be read.
        """
        first = starts if isinstance(starts, list) else [starts] * len(paths)
        last = ends if isinstance(ends, list) else [ends] * len(paths)
        if len(first) != len(paths) or len(last) != len(paths):
            raise ValueError("paths, starts and ends are of different lengths")
        found: list[Any] = [None] * len(paths)
        places: dict[str, list[int]] = {}
        for at, path in enumerate(paths):
            places.setdefault(path, []).append(at)
        for path, own in places.items():
            try:
                with StoredFile(self._opened(path)) as file:
                    for at in own:
                        found[at] = file.between(first[at], last[at])
            except Exception as error:
                if options.get("on_error") == "raise":
                    raise
                for at in own:
                    if found[at] is None:
                        found[at] = error
        return found

    def mkdir(self, path: str, create_parents: bool = True, **options: Any) -> None:  # noqa: ARG002
        """Make a folder."""
        if create_parents:
            return self.makedirs(path, exist_ok=False)
        if self.exists(path):
            raise FileExistsError(path)
        self._ask("make_folder", self._strip_protocol(path))
        return None

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Make a folder and those that it is in."""
        path = self._strip_protocol(path)
        if self.exists(path):
            if exist_ok and self.isdir(path):
                return
            raise FileExistsError(path)
        steps = path.strip("/").split("/")
        for count in range(1, len(steps) + 1):
            self._ask("make_folder", "/" + "/".join(steps[:count]))

    def rmdir(self, path: str) -> None:
        """Remove an empty folder."""
        if not self.isdir(path):
            raise NotADirectoryError(path)
        self._ask("remove", self._strip_protocol(path))

    def rm(
        self, path: str | list[str], recursive: bool = False, maxdepth: int | None = None
    ) -> None:
        """Remove files and, with `recursive`, folders with all that is in them.

        A link to a folder is removed; what it leads to stays.
        """
        for one in self.expand_path(path):
            if recursive:
                self._remove_all(self.info(one), maxdepth)
            else:
                self._rm(one)

    def _remove_all(self, found: dict[str, Any], depth: int | None) -> None:
        path = found["name"]
        if found["type"] == "directory" and not found["islink"] and depth != 0:
            for inside in self._inside(path):
                self._remove_all(inside, None if depth is None else depth - 1)
        self._rm(path)

    def _rm(self, path: str) -> None:
        self._ask("remove", self._strip_protocol(path))

    def mv_file(self, path1: str, path2: str, **options: Any) -> None:  # noqa: ARG002
        """Give a file another name."""
        self._ask("rename", self._strip_protocol(path1), to=self._strip_protocol(path2))

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


_SYSTEM = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ENOTEMPTY})
"""What Python's own files raise without a word of ours."""


def _as_system_error(error: Refusal, path: str, question: str) -> Exception:
    """What Python's own files raise for it."""
    number = error.errno
    if number is None or number not in _SYSTEM:
        return error
    if number == errno.ENOTDIR and question in ("open", "stat"):
        # There is nothing below a file.
        number = errno.ENOENT
    return OSError(number, os.strerror(number), path)


def _info(path: str, entry: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": path,
        "size": entry["size_bytes"],
        "type": "directory" if entry["is_folder"] else "file",
        "mtime": entry["modified_ns"] / 1e9,
        "memory_bytes": entry["memory_bytes"],
        "islink": "link" in entry,
    }


class BufferedWrittenFile(io.BufferedWriter):
    """A file that is written in pieces of 1 MiB; given up where it is left by an exception."""

    def __init__(self, file: WrittenFile) -> None:
        super().__init__(file, 1 << 20)
        self._file = file

    def close(self) -> None:
        """Give the file its name. Errors: `FileExistsError` for a new one whose name is taken."""
        try:
            super().close()
        except Refusal as error:
            raise _as_system_error(error, self._file.path, "commit") from None

    def discard(self) -> None:
        """Give the file up."""
        self._file.discard()

    def __del__(self) -> None:
        # One that nobody closed is not whole; Python's own buffer would close it here.
        with suppress(Exception):
            self.discard()

    def __exit__(self, kind: Any, *error: Any) -> None:
        if kind is not None:
            return self.discard()
        return super().__exit__(kind, *error)


class StoredFile(io.RawIOBase):
    """A file read through the store. `block` gives its blocks without a copy."""

    def __init__(self, file: CachedFile) -> None:
        self._file = file
        # In the place of methods: a small read shall not pass through Python.
        vars(self).update(seek=file.held.seek, tell=file.held.tell, readinto=file.held.readinto)

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

    def readall(self) -> bytes:
        """The rest of the file, copied once."""
        return self._bytes(max(0, self.size - self.tell()))

    def between(self, start: int | None, end: int | None) -> bytes:
        """The bytes from `start` to `end`, of which those below 0 count from the end."""
        first, last, _ = slice(start, end).indices(self.size)
        self.seek(first)
        return self._bytes(max(0, last - first))

    def _bytes(self, count: int) -> bytes:
        # Reads straight into the bytes that it returns: only one would pass through its buffer.
        reader = io.BufferedReader(self, 1)
        try:
            return reader.read(count)
        finally:
            reader.detach()

    def close(self) -> None:
        """Give the blocks back."""
        if not self.closed:
            self._file.close()
        super().close()
