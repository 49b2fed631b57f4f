"""`cuesta://` for libraries that open files by fsspec: pandas, PyArrow, Polars, Zarr, Dask."""

from __future__ import annotations

import errno
import io
import os
from contextlib import closing
from pathlib import Path
from typing import Any

from fsspec.compression import compr
from fsspec.core import get_compression

from cuesta_store import control
from cuesta_store.buffers import (
    BufferedWrittenFile,
    CompressedWrittenFile,
    StoredFile,
    as_system_error,
)
from cuesta_store.client import CachedFile, Connection, Refusal
from cuesta_store.errors import EngineMissing, InputError
from cuesta_store.literal import LiteralFileSystem, each
from cuesta_store.past import LostStore, UnderFile
from cuesta_store.permissions import OF_FILES, OF_FOLDERS, ask_to_make, masked
from cuesta_store.writer import WrittenFile

BUFFER_BYTES = 4 << 10
"""Buffer size for reads of lines and single bytes; larger reads bypass the buffer."""


_OF_TEXTS = ("encoding", "errors", "newline")
"""Options of a text file."""


class CuestaFileSystem(LiteralFileSystem):
    """File system of the under level, read through the memory of the store of this node.

    A written file appears under its name when it is closed. `write_mode`, of the file system or of
    `open`, is its guarantee then: `memory`, `bypass`, `through` or `back`, by default the store's.
    Folders are created on demand. `folder` is the store's, by default `$CUESTA_STORE`.
    """

    protocol = "cuesta"
    root_marker = "/"

    def __init__(
        self, folder: str | None = None, write_mode: str | None = None, **options: Any
    ) -> None:
        super().__init__(**options)
        self.folder = Path(folder) if folder else control.default_folder()
        self.write_mode = write_mode
        self._under: Path | None = None
        """The under level, once a file was opened: it is read if the store has ended."""

    @classmethod
    def _strip_protocol(cls, path: Any) -> Any:
        if isinstance(path, list):
            return [cls._strip_protocol(item) for item in path]
        text = os.fspath(path).removeprefix("cuesta://")
        return "/" + text.strip("/")

    def _ask(self, question: str, path: str, **fields: Any) -> Any:
        try:
            return control.ask(question, self.folder, path=path, **fields)
        except Refusal as error:
            raise as_system_error(error, path, question) from None
        except EngineMissing as ended:
            # Changes of names require a running store.
            if question not in ("stat", "list"):
                raise
            lost = LostStore(self.folder, self._under, ended)
        return {"entries": [lost.entry(path)] if question == "stat" else lost.entries(path)}

    def ls(self, path: str, detail: bool = True, **options: Any) -> list[Any]:  # noqa: ARG002
        """List the files and folders of a folder, or a file itself."""
        path = self._strip_protocol(path)
        info = self.info(path)
        if info["type"] == "file":
            return [info] if detail else [path]
        infos = self._inside(path)
        return infos if detail else [entry["name"] for entry in infos]

    def _inside(self, folder: str) -> list[dict[str, Any]]:
        """Return infos of the files and folders in a folder."""
        base = folder.rstrip("/")
        entries = self._ask("list", folder)["entries"]
        return [_info(f"{base}/{entry['name']}", entry) for entry in entries]

    def info(self, path: str, **options: Any) -> dict[str, Any]:  # noqa: ARG002
        """Return size, type, modification time (seconds since 1970), and bytes in memory."""
        path = self._strip_protocol(path)
        return _info(path, self._ask("stat", path)["entries"][0])

    def open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        """Open a file. A written file has its name after a `close` without an exception."""
        compression = options.get("compression")
        if compression is not None and "r" not in mode:
            compression = get_compression(path, options.pop("compression"))
        if compression is None or "r" in mode:
            return super().open(path, mode, **options)
        texts = {name: options.pop(name) for name in _OF_TEXTS if name in options}
        file = super().open(path, mode.replace("t", "").replace("b", "") + "b", **options)
        packed = CompressedWrittenFile(compr[compression](file, mode=mode[0]), file)
        return packed if "b" in mode else io.TextIOWrapper(packed, **texts)

    def _open(self, path: str, mode: str = "rb", **options: Any) -> io.IOBase:
        if mode == "rb":
            return io.BufferedReader(self._opened(path), BUFFER_BYTES)
        if mode in ("wb", "xb"):
            if mode == "xb" and self.exists(path):
                raise FileExistsError(path)
            if self._is_folder(path):
                raise IsADirectoryError(path)
            wanted = options.get("write_mode") or self.write_mode
            bits = options.get("permissions", OF_FILES)
            file = WrittenFile(self.folder, path, wanted, is_new=mode == "xb", permissions=bits)
            if not options.get("autocommit", True):
                file.defer_commit()
            return BufferedWrittenFile(file)
        raise ValueError(f"files of the store are opened by rb, wb or xb, not by {mode}")

    def _is_folder(self, path: str) -> bool:
        """Whether a path is a folder; false for a file that was lost with its store."""
        try:
            return bool(self.isdir(path))
        except Refusal as error:
            if error.errno != errno.EIO:
                raise
            return False

    def _opened(self, path: str) -> StoredFile | UnderFile:
        """Open a file, of the under level if the store has ended or hangs, as open files do."""
        path = self._strip_protocol(path)
        try:
            file = CachedFile(self.folder, path)
        except Refusal as error:
            raise as_system_error(error, path, "open") from None
        except EngineMissing as ended:
            return LostStore(self.folder, self._under, ended).open(path)
        self._under = file.under or self._under
        return StoredFile(file)

    def cat_file(
        self,
        path: str,
        start: int | None = None,
        end: int | None = None,
        **options: Any,  # noqa: ARG002
    ) -> bytes:
        """Return the bytes of a file from `start` to `end`; values below 0 count from its end."""
        with self._opened(path) as file:
            return file.between(start, end)

    def cat_ranges(
        self,
        paths: list[str],
        starts: Any,
        ends: Any,
        max_gap: int | None = None,  # noqa: ARG002
        **options: Any,
    ) -> list[Any]:
        """Return the bytes of many ranges, as `cat_file`, with each file opened once.

        `starts` and `ends` are lists as long as `paths`, or one value for all. Without
        `on_error="raise"` an exception takes the place of the bytes that could not be read.
        """
        first = starts if isinstance(starts, list) else [starts] * len(paths)
        last = ends if isinstance(ends, list) else [ends] * len(paths)
        if len(first) != len(paths) or len(last) != len(paths):
            raise ValueError("paths, starts and ends are of different lengths")
        contents: list[Any] = [None] * len(paths)
        places: dict[str, list[int]] = {}
        for at, path in enumerate(paths):
            places.setdefault(path, []).append(at)
        for path, indices in places.items():
            try:
                with self._opened(path) as file:
                    for at in indices:
                        contents[at] = file.between(first[at], last[at])
            except Exception as error:
                if options.get("on_error") == "raise":
                    raise
                for at in indices:
                    if contents[at] is None:
                        contents[at] = error
        return contents

    def mkdir(self, path: str, create_parents: bool = True, **options: Any) -> None:  # noqa: ARG002
        """Make a folder."""
        if create_parents:
            return self.makedirs(path, exist_ok=False)
        if self.exists(path):
            raise FileExistsError(path)
        self._make_folder(self._strip_protocol(path))
        return None

    def _make_folder(self, path: str) -> None:
        try:
            with closing(Connection(self.folder)) as connection:
                ask_to_make(connection, "make_folder", masked(OF_FOLDERS), path=path)
        except Refusal as error:
            raise as_system_error(error, path, "make_folder") from None

    def makedirs(self, path: str, exist_ok: bool = False) -> None:
        """Make a folder and its parents."""
        path = self._strip_protocol(path)
        if self.exists(path):
            if exist_ok and self.isdir(path):
                return
            raise FileExistsError(path)
        steps = path.strip("/").split("/")
        for count in range(1, len(steps) + 1):
            self._make_folder("/" + "/".join(steps[:count]))

    def rmdir(self, path: str) -> None:
        """Remove an empty folder."""
        if not self.isdir(path):
            raise NotADirectoryError(path)
        self._ask("remove", self._strip_protocol(path))

    def rm(
        self, path: str | list[str], recursive: bool = False, maxdepth: int | None = None
    ) -> None:
        """Remove files and, with `recursive`, folders with all that is in them.

        Names are literal, never patterns. A link to a folder is removed, not its target.
        Errors: `InputError` for the root.
        """
        for name in each(path):
            name = self._strip_protocol(name)
            if name == self.root_marker:
                raise InputError("store: rm: cuesta:/// is the root; name what to remove in it")
            if recursive:
                self._remove_all(self.info(name), maxdepth)
            else:
                self._rm(name)

    def _remove_all(self, info: dict[str, Any], depth: int | None) -> None:
        path = info["name"]
        if info["type"] == "directory" and not info["islink"] and depth != 0:
            for inside in self._inside(path):
                self._remove_all(inside, None if depth is None else depth - 1)
        self._rm(path)

    def _rm(self, path: str) -> None:
        self._ask("remove", self._strip_protocol(path))

    def mv(
        self,
        path1: str | list[str],
        path2: str | list[str],
        recursive: bool = False,
        maxdepth: int | None = None,
        **options: Any,  # noqa: ARG002
    ) -> None:
        """Rename files and, with `recursive`, folders, or move them into a folder that exists.

        Names are literal. A file is renamed in one step, and files that are added to a folder
        meanwhile are not removed. Errors: `IsADirectoryError` for a folder without `recursive`.
        """
        if maxdepth is not None:
            raise ValueError("mv moves all of a folder; it takes no maxdepth")
        sources, targets = each(path1), each(path2)
        if not isinstance(path2, list):
            is_folder = isinstance(path1, list) or path2.endswith("/") or self.isdir(path2)
            inside = [f"{path2}/{name.rstrip('/').rpartition('/')[2]}" for name in sources]
            targets = inside if is_folder else targets
        for source, target in zip(sources, targets, strict=True):
            self._move(self._strip_protocol(source), self._strip_protocol(target), recursive)

    def _move(self, source: str, target: str, recursive: bool) -> None:
        entry = self.info(source)
        if entry["type"] == "file" or entry["islink"]:
            return self.mv_file(source, target)
        if not recursive:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), source)
        if source == target:
            return None
        if target.startswith(f"{source}/"):
            raise InputError(
                f"store: mv: cuesta://{target} is inside cuesta://{source}; give another place"
            )
        if not self.exists(target):
            try:
                return self.mv_file(source, target)
            except Refusal as error:
                # Files in memory alone are renamed file by file.
                if error.errno != errno.EXDEV:
                    raise
        self.makedirs(target, exist_ok=True)
        for inside in self._inside(source):
            name = inside["name"].rpartition("/")[2]
            self._move(inside["name"], f"{target}/{name}", recursive)
        try:
            return self._rm(source)
        except FileNotFoundError:
            # A folder of files in memory alone has ended with the last of them.
            return None

    def mv_file(self, path1: str, path2: str, **options: Any) -> None:  # noqa: ARG002
        """Rename a file."""
        self._ask("rename", self._strip_protocol(path1), to=self._strip_protocol(path2))

    def cp_file(self, path1: str, path2: str, **options: Any) -> None:
        """Copy a file; for a folder, make an empty folder."""
        if self.isdir(path1):
            return self.makedirs(path2, exist_ok=True)
        bits = self.info(path1).get("mode", OF_FILES)
        with (
            self.open(path1, "rb", **options) as source,
            self.open(path2, "wb", permissions=bits, **options) as to,
        ):
            while piece := source.read(4 << 20):
                to.write(piece)
        return None

    def put_file(self, lpath: str, rpath: str, **options: Any) -> None:
        """Copy a file into the store, with its permission bits less the umask."""
        bits = Path(lpath).stat().st_mode & OF_FOLDERS
        super().put_file(lpath, rpath, **{"permissions": bits} | options)

    def get_file(self, rpath: str, lpath: Any, **options: Any) -> None:
        """Copy a file out of the store, with its permission bits less the umask."""
        info = self.info(rpath)
        if "mode" in info and info["type"] == "file" and isinstance(lpath, str):
            Path(lpath).parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(lpath, os.O_WRONLY | os.O_CREAT, info["mode"] & OF_FOLDERS))
        super().get_file(rpath, lpath, **options)

    def created(self, path: str) -> Any:
        """Raise `NotImplementedError`: the creation time is unknown."""
        raise NotImplementedError("POSIX does not keep when a file was made")

    def modified(self, path: str) -> Any:
        """Return the modification time of a file."""
        import datetime

        seconds = self.info(path)["mtime"]
        return datetime.datetime.fromtimestamp(seconds, tz=datetime.UTC)


def _info(path: str, entry: dict[str, Any]) -> dict[str, Any]:
    info = {
        "name": path,
        "size": entry["size_bytes"],
        "type": "directory" if entry["is_folder"] else "file",
        "mtime": entry["modified_ns"] / 1e9,
        "memory_bytes": entry["memory_bytes"],
        "islink": "link" in entry,
    }
    return info | ({"mode": entry["permissions"]} if "permissions" in entry else {})
