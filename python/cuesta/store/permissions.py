"""Permission bits of files and folders that are made in a store: those of the writer, or fewer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cuesta.store.client import Connection, Refusal

OF_FILES = 0o666
OF_FOLDERS = 0o777
"""Bits that programs ask for where they have no other wish."""
_UMASK_PRIVATE = 0o077
_UNKNOWN = "unknown field `permissions`"
"""In the refusal of a daemon of a version before, which makes files with its own umask."""


def masked(bits: int) -> int:
    """Return the bits that the umask of this process leaves.

    The umask is read without changing it for a moment, since other threads make files meanwhile.
    """
    try:
        for line in Path("/proc/thread-self/status").read_text().splitlines():
            if line.startswith("Umask:"):
                return bits & OF_FOLDERS & ~int(line.split()[1], 8)
    except (OSError, ValueError):
        pass
    return bits & OF_FOLDERS & ~_UMASK_PRIVATE


def ask_to_make(
    connection: Connection, question: str, permissions: int, **fields: Any
) -> dict[str, Any]:
    """Ask for a file or folder with these bits. Errors: as `Connection.ask`."""
    try:
        return connection.ask(question, permissions=permissions, **fields)
    except Refusal as error:
        if _UNKNOWN not in str(error):
            raise
    return connection.ask(question, **fields)
