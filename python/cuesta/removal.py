"""Removal of folders and renames over names that exist: no other module may do either.

Three kinds of proof allow a removal: the caller made the folder itself under a new name
(`discard`, `remove_made`), a marker in it states that all content is Cuesta's (`remove_marked`), or
a list names what Cuesta wrote (`remove_listed`). No removal follows a link or enters a mount point.
`tools/tidyrules/removal.py` refuses recursive removals and renames outside this module.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import re
import stat
import time
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from .markers import MARKER, SCHEMA, boot, is_marked, read_marker

DEPTH_MAX = 200
"""Deepest folder that a removal enters; each level holds a descriptor."""
IDLE_S = 24 * 3600.0
NAME_BYTES = 60
"""Bytes of a folder's name that the name of its partial folder repeats."""

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_AT_FDCWD = -100
_NOREPLACE, _EXCHANGE = 1, 2
"""Flags of renameat2(2)."""
_UNSUPPORTED = frozenset({errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOTTY, errno.EPERM})


def discard(folder: Path) -> None:
    """Remove a temporary folder that the caller made under a name that was new.

    As much of it as can be removed; errors are ignored, since its name marks it as temporary.
    """
    with contextlib.suppress(OSError):
        _remove(folder)
        return
    # An empty folder needs no descriptor, of which there may be none.
    with contextlib.suppress(OSError):
        folder.rmdir()


def remove_made(folder: Path, last: str = "") -> None:
    """Remove a folder that the caller made under a name that was new.

    The entry called `last`, which names the owner of the folder, is removed last. Errors:
    `OSError`.
    """
    _remove(folder, last)


def make_marked(folder: Path, mode: int = 0o700) -> None:
    """Make a folder of which all content will be Cuesta's; it appears with its marker.

    Errors: `FileExistsError` where the name is in use; `OSError`.
    """
    partial = folder.with_name(f"{_partial_prefix(folder)}{os.urandom(8).hex()}")
    partial.mkdir(mode=0o700)
    try:
        facts = json.dumps({"schema": SCHEMA, "uid": os.geteuid(), "boot": boot()})
        (partial / MARKER).write_text(f"{facts}\n", encoding="ascii")
        partial.chmod(mode)
        put_new(partial, folder)
    except BaseException:
        discard(partial)
        raise


def _partial_prefix(folder: Path) -> str:
    return f".{folder.name[:NAME_BYTES]}-"


def remove_partial(folder: Path) -> None:
    """Remove what a `make_marked` of `folder` left that was killed; no other may be under way.

    Only empty folders of this account, or those with a marker alone; errors are ignored.
    """
    pattern = re.compile(re.escape(_partial_prefix(folder)) + "[0-9a-f]{16}")
    with contextlib.suppress(OSError):
        for partial in folder.parent.iterdir():
            if not pattern.fullmatch(partial.name) or partial.lstat().st_uid != os.geteuid():
                continue
            with contextlib.suppress(OSError):
                if {entry.name for entry in partial.iterdir()} <= {MARKER}:
                    (partial / MARKER).unlink(missing_ok=True)
                    partial.rmdir()


def ensure_marked(folder: Path) -> None:
    """Make a folder as `make_marked` does, unless this account has made it before.

    Errors: `FileExistsError` where the name is in use by others; `OSError`.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    if not is_marked(folder):
        make_marked(folder)


@contextlib.contextmanager
def held_folder(prefix: str, folder: Path) -> Iterator[Path]:
    """Make a marked folder under a new name in `folder`; it is locked as long as the context."""
    made = folder / f"{prefix}{os.urandom(8).hex()}"
    make_marked(made)
    try:
        with (made / MARKER).open("r+b") as marker:
            # Some file systems have no locks.
            with contextlib.suppress(OSError):
                fcntl.flock(marker, fcntl.LOCK_EX)
            yield made
    finally:
        discard(made)


def hold(folder: Path) -> int:
    """Lock a marked folder, so that it is not idle until the descriptor is closed."""
    descriptor = os.open(folder / MARKER, os.O_RDWR | os.O_CLOEXEC)
    # Some file systems have no locks.
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return descriptor


def is_idle(folder: Path) -> bool:
    """Whether this account made `folder` with `held_folder`, and no process holds its lock.

    Locks of other machines may not be visible, so a folder from before the start of this system is
    idle after `IDLE_S` only.
    """
    if not is_marked(folder):
        return False
    made_in = read_marker(folder, MARKER).get("boot")
    try:
        if made_in != boot() and time.time() - folder.lstat().st_mtime < IDLE_S:
            return False
        with (folder / MARKER).open("r+b") as marker:
            fcntl.flock(marker, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def remove_marked(folder: Path) -> None:
    """Remove a folder that `make_marked` made; a missing one is removed already.

    Errors: `FileExistsError` where a folder of that name has no marker of this account; `OSError`
    where a part of it remains.
    """
    if not os.path.lexists(folder):
        return
    if not is_marked(folder):
        why = f"not removed, it has no {MARKER}; move it away"
        raise FileExistsError(errno.EEXIST, why, str(folder))
    _remove(folder)


class Identity(NamedTuple):
    """A file or folder as it was when it was looked at; a changed one has another identity."""

    inode: int
    mode: int
    size_bytes: int
    modified_ns: int
    changed_ns: int

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file."""
        return stat.S_ISREG(self.mode)

    @property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return stat.S_ISDIR(self.mode)


def identity(facts: os.stat_result) -> Identity:
    """Return the identity of a file or folder; of a folder its content does not count."""
    if stat.S_ISDIR(facts.st_mode):
        return Identity(facts.st_ino, facts.st_mode, 0, 0, 0)
    times = facts.st_mtime_ns, facts.st_ctime_ns
    return Identity(facts.st_ino, facts.st_mode, facts.st_size, *times)


def remove_listed(folder: Path, listed: Mapping[PurePosixPath, Identity]) -> list[PurePosixPath]:
    """Remove the files below `folder` that are `listed` and unchanged, and listed empty folders.

    The folder itself is removed where nothing remains. Returns the remaining names. Errors:
    `OSError`.
    """
    inside = os.open(folder, _OPEN)
    try:
        remaining = sorted(_remove_listed(inside, PurePosixPath(), listed))
    finally:
        os.close(inside)
    if not remaining:
        folder.rmdir()
    return remaining


def remove_oldest(folder: Path, pattern: re.Pattern[str], retained: int) -> None:
    """Remove regular files of this account whose names match `pattern`, but the youngest.

    Errors: `OSError`.
    """
    with os.scandir(folder) as entries:
        facts = {
            entry.name: entry.stat(follow_symlinks=False)
            for entry in entries
            if pattern.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
        }
    names = [name for name, fact in facts.items() if fact.st_uid == os.geteuid()]
    names.sort(key=lambda name: facts[name].st_mtime, reverse=True)
    for name in names[retained:]:
        (folder / name).unlink(missing_ok=True)


@contextlib.contextmanager
def temporary_folder(prefix: str = "cuesta-", folder: str | Path | None = None) -> Iterator[str]:
    """Make a folder under a new name in `folder`, which lives as long as the context."""
    import tempfile  # Slow, and few commands make such folders.

    made = tempfile.mkdtemp(prefix=prefix, dir=folder)
    try:
        yield made
    finally:
        discard(Path(made))


def put(file: Path, target: Path) -> None:
    """Give a file its final name, in one step, over a file that has it. Errors: `OSError`."""
    os.replace(file, target)  # noqa: PTH105


def put_new(path: Path, target: Path) -> None:
    """Give a file or folder a name that nothing has.

    Where a file system has no such rename, a name that appears in between is replaced if it is a
    file or an empty folder. Errors: `FileExistsError`; `OSError`.
    """
    number = _renameat2(path, target, _NOREPLACE)
    if number in _UNSUPPORTED:
        if os.path.lexists(target):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
        os.rename(path, target)  # noqa: PTH104
    elif number:
        raise OSError(number, os.strerror(number), str(target))


def exchange(path: Path, target: Path) -> bool:
    """Swap two names in one step; false where a file system cannot. Errors: `OSError`."""
    number = _renameat2(path, target, _EXCHANGE)
    if number in _UNSUPPORTED:
        return False
    if number:
        raise OSError(number, os.strerror(number), str(target))
    return True


def _renameat2(path: Path, target: Path, flags: int) -> int:
    """Return 0, or the number of the error; ENOSYS where libc has no such function."""
    import ctypes

    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except AttributeError:
        return errno.ENOSYS
    names = os.fsencode(path), os.fsencode(target)
    if function(_AT_FDCWD, names[0], _AT_FDCWD, names[1], ctypes.c_uint(flags)) == 0:
        return 0
    return ctypes.get_errno()


def _open(name: str, within: int | None = None) -> int:
    """Open a folder that is no link. Errors: `OSError`."""
    return os.open(name, _OPEN, dir_fd=within)


def _mount(folder: int) -> str:
    """Return the identifier of the mount that an open folder is on; bind mounts differ too."""
    try:
        with open(f"/proc/self/fdinfo/{folder}", encoding="ascii") as lines:  # noqa: PTH123
            mount = next((line for line in lines if line.startswith("mnt_id:")), "")
    except OSError:
        mount = ""
    return mount or str(os.fstat(folder).st_dev)


def _remove(folder: Path, last: str = "") -> None:
    """Remove a folder; a missing one is removed already. Errors: `OSError`, the first of all."""
    if not os.path.lexists(folder):
        return
    above = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        problems = list(_remove_at(above, folder, _mount(above), last))
    finally:
        os.close(above)
    if problems:
        raise problems[0]


def _remove_at(
    within: int, path: Path, mount: str, last: str = "", depth: int = 0
) -> Iterator[OSError]:
    """Remove a folder of an open folder, as far as possible; yield what went wrong.

    By the last name of its path, which also is for messages. It must be on this mount. The entry
    `last` is removed last, and only when nothing else remains.
    """
    try:
        inside = _open(path.name, within)
    except OSError as error:
        yield _named(error, path)
        return
    try:
        if _mount(inside) != mount:
            yield OSError(errno.EXDEV, "not removed: something is mounted there", str(path))
            return
        if depth > DEPTH_MAX:
            yield OSError(errno.EMFILE, "not removed: too many folders in each other", str(path))
            return
        remains = False
        for entry in sorted(_entries(inside), key=lambda entry: entry.name == last):
            inner = path / entry.name
            if entry.is_dir(follow_symlinks=False):
                problems = _remove_at(inside, inner, mount, depth=depth + 1)
            elif remains and entry.name == last:
                continue
            else:
                problems = _unlink(inside, inner)
            for problem in problems:
                remains = True
                yield problem
    finally:
        os.close(inside)
    try:
        os.rmdir(path.name, dir_fd=within)
    except FileNotFoundError:
        return
    except OSError as error:
        yield _named(error, path)


def _unlink(within: int, path: Path) -> Iterator[OSError]:
    try:
        os.unlink(path.name, dir_fd=within)
    except FileNotFoundError:
        return
    except OSError as error:
        yield _named(error, path)


def _entries(folder: int) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        return list(entries)


def _named(error: OSError, path: Path) -> OSError:
    return OSError(error.errno or errno.EIO, error.strerror or str(error), str(path))


def _remove_listed(
    folder: int, below: PurePosixPath, listed: Mapping[PurePosixPath, Identity]
) -> Iterator[PurePosixPath]:
    """Remove the listed entries of an open folder; yield the names that remain."""
    mount = _mount(folder)
    for entry in _entries(folder):
        name = below / entry.name
        facts = os.stat(entry.name, dir_fd=folder, follow_symlinks=False)
        known = listed.get(name)
        if known is None or known != identity(facts):
            yield name
        elif known.is_file:
            os.unlink(entry.name, dir_fd=folder)
        elif known.is_folder and len(name.parts) <= DEPTH_MAX:
            inside = _open(entry.name, folder)
            try:
                is_same = _mount(inside) == mount and os.fstat(inside).st_ino == known.inode
                remaining = list(_remove_listed(inside, name, listed)) if is_same else [name]
            finally:
                os.close(inside)
            yield from remaining
            if not remaining:
                os.rmdir(entry.name, dir_fd=folder)
        else:
            yield name
