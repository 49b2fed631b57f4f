"""Permission bits of files and folders that are made in a store, limited by the writer's umask."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cuesta_store.client import Connection, Refusal

OF_FILES = 0o666
OF_FOLDERS = 0o777
"""Default bits of folders and, in `OF_FILES`, of files."""
_UMASK_PRIVATE = 0o077
_UNKNOWN = "unknown field `permissions`"
"""Text in the refusal of an older daemon, which makes files with its own umask."""


def masked(bits: int) -> int:
    """Return bits less the umask of this process.

    The umask is read without a temporary change, since other threads make files meanwhile.
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
    """Request a file or folder with these bits. Errors: as `Connection.ask`."""
    try:
        return connection.ask(question, permissions=permissions, **fields)
    except Refusal as error:
        if _UNKNOWN not in str(error):
            raise
    return connection.ask(question, **fields)
