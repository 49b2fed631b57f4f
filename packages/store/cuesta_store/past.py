"""The under level of a store that has ended or hangs, read without it.

Paths remain below its root through any links, as in the daemon.
"""

from __future__ import annotations

import errno
import io
import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cuesta_store.errors import EngineMissing, InputError
from cuesta_store.trusted_folder import TrustedFolder

MARKER = "store.json"
"""File in the folder of a store that names the under level."""
SCHEMA = "cuesta.store-folder/"
RECORDS = "writes"
"""Folder in that of a store with records of written files that may not be on the under level."""
LINKS_MAX = 40
"""Limit of symbolic links in a path; longer chains count as loops."""
_CLOSED = frozenset({"memory", "dirty", "synced"})
"""States of files that were in memory alone."""
_HIDDEN = ".cuesta-part"


class LostStore:
    """A store that does not answer: files of its under level, without those in memory alone.

    `under` is the under level of the store before, if known, and `ended` the error of its loss.
    Errors: `InputError` for a folder of another account; `ended` where no under level is known.
    """

    def __init__(self, folder: Path, under: Path | None, ended: EngineMissing) -> None:
        self._folder = folder
        self._memory_only: frozenset[str] = frozenset()
        try:
            with TrustedFolder(folder) as checked:
                self._memory_only = frozenset(memory_only_paths(checked.path))
                under = _under_path(checked.path / MARKER) or under
        except FileNotFoundError:
            # A store that was stopped has removed its folder.
            pass
        if under is None:
            raise ended
        self._under = under

    def open(self, path: str) -> UnderFile:
        """Open a file. Errors: `InputError` for a file in memory alone; those of the system."""
        self._check(path)
        with self._place(path, os.O_RDONLY | os.O_NONBLOCK) as (file, _):
            facts = os.fstat(file)
            if stat.S_ISDIR(facts.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
            if not stat.S_ISREG(facts.st_mode):
                raise InputError(f"store: cuesta://{path}: it is no regular file; name one")
            return UnderFile(os.dup(file), path)

    def entry(self, path: str) -> dict[str, Any]:
        """Return the store's entry of a path. Errors: as `open`."""
        self._check(path)
        try:
            with self._place(path, os.O_PATH) as (file, is_link):
                return _entry(path.rpartition("/")[2], os.fstat(file), is_link=is_link)
        except FileNotFoundError:
            self._check_inside(path)
            raise

    def entries(self, path: str) -> list[dict[str, Any]]:
        """Return the entries of a folder. Errors: as `open`; also for its files in memory alone."""
        self._check(path)
        self._check_inside(path)
        flags = os.O_RDONLY | os.O_DIRECTORY
        with self._place(path, flags) as (folder, _), os.scandir(folder) as scanned:
            names = [entry.name for entry in scanned]
        entries = []
        for name in sorted(names):
            if name.startswith(".") and name.endswith(_HIDDEN):
                continue
            try:
                entries.append(self.entry(f"{path.rstrip('/')}/{name}"))
            except OSError:
                # It was removed meanwhile, or is a broken link, or one out of the root.
                continue
        return entries

    def _check(self, path: str) -> None:
        if path.strip("/") in self._memory_only:
            raise InputError(
                f"store: cuesta:///{path.strip('/')} is in memory alone, and the store in "
                f"{self._folder} has ended or hangs; start it again with the same folder"
            )

    def _check_inside(self, folder: str) -> None:
        begin = f"{folder.strip('/')}/".lstrip("/")
        for path in sorted(self._memory_only):
            if path.startswith(begin):
                self._check(path)

    @contextmanager
    def _place(self, path: str, flags: int) -> Iterator[tuple[int, bool]]:
        """Open a path; yield the descriptor, and whether its last name is a link."""
        names = [name for name in path.split("/") if name]
        if any(name in (".", "..") for name in names):
            raise InputError(
                f"store: {path!r} leaves its root or has a step that is no name; give a plain path"
            )
        walk = _Walk(self._under, path)
        try:
            try:
                file = walk.open(names, flags)
            except (FileNotFoundError, NotADirectoryError):
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path) from None
            yield file, walk.is_link
        finally:
            walk.close()


class _Walk:
    """Open folders from the root to a file; to be closed."""

    def __init__(self, root: Path, path: str) -> None:
        self._path = path
        self._open = [os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)]
        self._file: int | None = None
        self.is_link = False

    def open(self, names: list[str], flags: int) -> int:
        steps, remaining, links = names[::-1], len(names), 0
        while steps:
            name = steps.pop()
            # The last name of the path itself, and not of a link's target.
            is_last = not steps and remaining > 0
            remaining = min(remaining, len(steps))
            if name == "..":
                if len(self._open) == 1:
                    raise self._outside()
                if not stat.S_ISDIR(os.fstat(self._open[-1]).st_mode):
                    raise NotADirectoryError(self._path)
                os.close(self._open.pop())
            elif name not in ("", "."):
                step = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
                entry = os.open(name, step, dir_fd=self._open[-1])
                if not stat.S_ISLNK(os.fstat(entry).st_mode):
                    self._open.append(entry)
                    continue
                os.close(entry)
                links += 1
                self.is_link |= is_last
                target = os.readlink(name, dir_fd=self._open[-1])
                if target.startswith("/"):
                    raise self._outside()
                if links > LINKS_MAX:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), self._path)
                steps += target.split("/")[::-1]
        if flags & os.O_PATH:
            return self._open[-1]
        # The file that was found, even if another has replaced it under its name.
        self._file = os.open(f"/proc/self/fd/{self._open[-1]}", flags | os.O_CLOEXEC)
        return self._file

    def close(self) -> None:
        for descriptor in (*self._open, *(() if self._file is None else (self._file,))):
            os.close(descriptor)

    def _outside(self) -> PermissionError:
        reason = "a symbolic link leads out of the under level"
        return PermissionError(errno.EACCES, reason, self._path)


class UnderFile(io.FileIO):
    """A file of the under level: one version of it, or an error. No block is in memory."""

    def __init__(self, descriptor: int, path: str) -> None:
        super().__init__(descriptor, "rb")
        self._path = path
        self._version = self._facts()

    @property
    def size(self) -> int:
        """Bytes of the file."""
        return self._version[2]

    def block(self, index: int) -> memoryview | None:  # noqa: ARG002
        """Return None: no block is in memory."""
        return None

    def readinto(self, buffer: Any) -> int | None:
        """Fill a buffer. Errors: `InputError` where the file was changed since it was opened."""
        count = super().readinto(buffer)
        self._check_version()
        return count

    def readall(self) -> bytes:
        """Return the rest of the file. Errors: as `readinto`."""
        content: bytes = super().readall()
        self._check_version()
        return content

    def between(self, start: int | None, end: int | None) -> bytes:
        """Return the bytes from `start` to `end`; values below 0 count from the end."""
        first, last, _ = slice(start, end).indices(self.size)
        self.seek(first)
        with io.BufferedReader(io.FileIO(os.dup(self.fileno()), "rb")) as reader:
            content = reader.read(max(0, last - first))
        self._check_version()
        return content

    def _check_version(self) -> None:
        if self._facts() != self._version:
            raise InputError(
                f"store: cuesta://{self._path} was changed while it was read; read it again"
            )

    def _facts(self) -> tuple[int, ...]:
        facts = os.fstat(self.fileno())
        device, inode = facts.st_dev, facts.st_ino
        return device, inode, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def _entry(name: str, facts: os.stat_result, *, is_link: bool) -> dict[str, Any]:
    is_folder = stat.S_ISDIR(facts.st_mode)
    entry = {
        "name": name,
        "is_folder": is_folder,
        "size_bytes": 0 if is_folder else facts.st_size,
        "modified_ns": facts.st_mtime_ns,
        "memory_bytes": 0,
        "permissions": stat.S_IMODE(facts.st_mode),
    }
    return entry | {"link": ""} if is_folder and is_link else entry


def memory_only_paths(folder: Path) -> Iterator[str]:
    """Yield paths of files that an ended store had in memory alone, by its folder."""
    for record in (folder / RECORDS).glob("*.json"):
        try:
            write = json.loads(record.read_text())
        except FileNotFoundError:
            # The file is on the under level by now.
            continue
        if write["state"] in _CLOSED:
            yield write["path"]


def _under_path(marker: Path) -> Path | None:
    """Return the path of the under level that a `MARKER` names; None if it names none."""
    try:
        record = json.loads(marker.read_text())
        if str(record["schema"]).startswith(SCHEMA):
            return Path(record["under"]["path"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        pass
    return None
