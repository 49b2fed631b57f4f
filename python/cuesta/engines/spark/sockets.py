"""Sockets between the JVM of a local session and its Python processes, for this account alone.

Over TCP any process that connects has Python's daemon start a process, before authentication. A
socket's path must be short, so its folder is apart from the session's and named after it.
"""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

PATH_BYTES_MAX = 107
_NAME_BYTES = 43
"""Length of a separator and Spark's name of a socket: `.UUID.sock`."""
_PATTERN = ".*.sock"


def settings(session: Path) -> dict[str, str]:
    """Make the folder for a session; return Spark's settings, none if no folder can be made.

    Arguments: `session` is the folder of the session, whose name is random.
    """
    place = _place(session)
    if len(str(place).encode()) + _NAME_BYTES > PATH_BYTES_MAX:
        return {}
    try:
        place.mkdir(mode=0o700)
    except OSError:
        return {}
    return {
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": str(place),
    }


def remove(session: Path) -> None:
    """Remove the folder of a session with sockets of killed processes."""
    place = _place(session)
    with contextlib.suppress(OSError):
        for path in place.glob(_PATTERN):
            path.unlink()
        place.rmdir()


def _place(session: Path) -> Path:
    return Path(tempfile.gettempdir()) / f"{session.name}-sockets"
