"""Files and folders of this account alone: made for it, and checked before they are trusted."""

from __future__ import annotations

import grp
import os
import pwd
import stat
from pathlib import Path
from typing import BinaryIO

from . import removal
from .errors import InputError

_ROOT_UID = 0
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
"""Flags to open a file whose name is new; a link of that name is refused."""


def is_trusted(path: Path) -> bool:
    """Return whether no other account but root can have written or moved the file at `path`.

    The file, its folders and links on the way are looked at. What runs, such as a program or an
    archive of classes, is used only then.
    """
    try:
        places = {path.absolute(), path.resolve(strict=True)}
        return all(_is_closed(part) for place in places for part in (place, *place.parents))
    except OSError:
        return False


def _is_closed(place: Path) -> bool:
    """Whether only this account or root can change what is at a place; links have no mode."""
    facts = place.lstat()
    if facts.st_uid not in (os.geteuid(), _ROOT_UID):
        return False
    # Of a folder with this bit, as `/tmp`, entries are their owners' own.
    if stat.S_ISLNK(facts.st_mode) or (
        stat.S_ISDIR(facts.st_mode) and facts.st_mode & stat.S_ISVTX
    ):
        return True
    is_closed_to_group = not facts.st_mode & stat.S_IWGRP or _is_personal(facts.st_gid)
    return is_closed_to_group and not facts.st_mode & stat.S_IWOTH


def _is_personal(group: int) -> bool:
    """Whether this account is alone in a group, as many systems give each account its own."""
    if group == _ROOT_UID:
        return True
    try:
        name, facts = pwd.getpwuid(os.geteuid()).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return facts.gr_name == name and set(facts.gr_mem) <= {name}


def has_name() -> bool:
    """Return whether the data base of accounts knows this one, which a container may lack."""
    try:
        pwd.getpwuid(os.geteuid())
    except KeyError:
        return False
    return True


def make_private_folder(folder: Path, *, narrows: bool = False) -> None:
    """Make a folder that its owner alone can enter, or use an existing one that is so already.

    Arguments: `narrows` has a folder of this account closed to others where it is not yet. Errors:
    `InputError` where the name is taken by a link, by a file or by another account, or others can
    enter it; `OSError`.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        facts = folder.lstat()
        if narrows and stat.S_ISDIR(facts.st_mode) and facts.st_uid == os.geteuid():
            folder.chmod(0o700)
            return
        is_private = stat.S_ISDIR(facts.st_mode) and not facts.st_mode & 0o077
        if not is_private or facts.st_uid != os.geteuid():
            raise InputError(
                f"making {folder}: it is a link, a file, or a folder that others can enter; remove "
                "it or name another folder"
            ) from None


def write_private(path: Path, text: str) -> None:
    """Replace a file in one step, readable by its owner alone. Errors: `OSError`."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = _new_file(temporary)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            # Without this, a full disk is noticed after the old file is removed.
            os.fsync(file.fileno())
        removal.put(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _new_file(path: Path) -> int:
    """Open a new file; replace one that an interrupted process of this account left."""
    try:
        return os.open(path, _NEW, 0o600)
    except FileExistsError:
        path.unlink()
        return os.open(path, _NEW, 0o600)


def open_new(path: Path) -> BinaryIO:
    """Make a file that its owner alone may read. Errors: `OSError` where the name is in use."""
    return os.fdopen(os.open(path, _NEW, 0o600), "wb")
