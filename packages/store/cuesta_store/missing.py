"""Messages for a store that does not answer."""

from __future__ import annotations

import errno
import os
import pwd
import stat
from pathlib import Path

from cuesta_store.errors import EngineMissing, in_words
from cuesta_store.past import memory_only_paths

MEMORY_ROOT = Path("/dev/shm")
"""A folder whose files the system has in memory."""
VARIABLE = "CUESTA_STORE"
"""Variable with the folder of the store to use."""
_PREFIX = "cuesta-"
_PATHS_PREFIX = "cuesta-paths-"
"""Prefix of the names of folders of `cuesta store mount --tmpfs`."""


class StoreMissing(EngineMissing):
    """Error for a store that does not answer, with its folder and how to start one."""


def missing(folder: Path, error: OSError) -> StoreMissing:
    """Return the error for a folder in which no store answers, naming stores elsewhere."""
    if error.errno in (errno.EAGAIN, errno.EWOULDBLOCK) or isinstance(error, TimeoutError):
        return StoreMissing(f"the store in {folder} does not answer; try again, or start it again")
    if error.errno == errno.EACCES:
        return StoreMissing(f"the store in {folder} cannot be reached: {in_words(error)}")
    if any(memory_only_paths(folder)):
        return StoreMissing(
            f"no store runs in {folder}: the one before was killed and has files that are in "
            "memory alone; start it again by `cuesta store start` over the same folder"
        )
    return StoreMissing(
        f"no store runs in {folder}; start one by `cuesta store start`{_elsewhere(folder)}"
    )


def _elsewhere(folder: Path) -> str:
    """Describe a store in another folder of this machine's memory, if there is one."""
    for path in sorted(MEMORY_ROOT.glob(f"{_PREFIX}*")):
        if path == folder.absolute() or path.name.startswith(_PATHS_PREFIX):
            continue
        try:
            facts = path.lstat()
            if not stat.S_ISDIR(facts.st_mode):
                continue
            if facts.st_uid != os.geteuid():
                return (
                    f". A store of {_account(facts.st_uid)} is in {path} and serves that account "
                    "alone; yours can join the stores of its job by --listen, --peers and a copy "
                    "of their --secret file, which that account can give you"
                )
            if stat.S_ISSOCK((path / "socket").lstat().st_mode):
                return f", or name yours in {path} by ${VARIABLE}"
        except OSError:
            continue
    return ""


def _account(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"account {number}"
