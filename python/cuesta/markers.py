"""Markers of Cuesta in folders: their makers, and when they were made."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path

MARKER = ".cuesta-folder"
"""File in a folder of which all content is Cuesta's."""
SCHEMA = "cuesta.folder/1"
MARKER_BYTES_MAX = 16384

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def is_marked(folder: Path) -> bool:
    """Whether this account made `folder` with `make_marked`; false for a link."""
    facts = read_marker(folder, MARKER)
    return facts.get("schema") == SCHEMA and facts.get("uid") == os.geteuid()


def is_private(folder: Path) -> bool:
    """Whether a folder, which is no link, belongs to this account and admits no other."""
    try:
        facts = folder.lstat()
    except OSError:
        return False
    is_owner = facts.st_uid == os.geteuid() and not facts.st_mode & 0o077
    return stat.S_ISDIR(facts.st_mode) and is_owner


def read_marker(folder: Path, name: str) -> dict[str, object]:
    """Return the JSON object in a marker, empty where there is none.

    A marker is a regular file with a single name, its owner is the owner of the folder, and the
    folder is no link.
    """
    try:
        inside = os.open(folder, _OPEN)
    except OSError:
        return {}
    try:
        content = json.loads(_read(name, inside))
    except (OSError, ValueError):
        return {}
    finally:
        os.close(inside)
    return content if isinstance(content, dict) else {}


def _read(name: str, inside: int) -> bytes:
    """Return the bytes of a marker in an open folder, none of any other file. Errors: `OSError`."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(name, flags, dir_fd=inside)
    try:
        facts = os.fstat(descriptor)
        is_plain = stat.S_ISREG(facts.st_mode) and facts.st_nlink == 1
        is_same_owner = facts.st_uid == os.fstat(inside).st_uid
        return os.read(descriptor, MARKER_BYTES_MAX) if is_plain and is_same_owner else b""
    finally:
        os.close(descriptor)


def boot() -> str:
    """The start of this system; empty where the kernel does not say."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""
