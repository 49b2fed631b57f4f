"""Files that their owner alone may read, or may have written."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from cuesta import removal


def is_trusted(path: Path) -> bool:
    """Whether no stranger can have written a file whose content is run: it, and its folder, belong
    to this user or to root, and nobody else may write there.
    """
    for place in (path, path.parent):
        try:
            status = place.stat()
        except OSError:
            return False
        if status.st_uid not in (os.geteuid(), 0) or status.st_mode & stat.S_IWOTH:
            return False
    return True


def write_private(path: Path, text: str) -> None:
    """Replace a file, whole, readable by its owner alone. Errors: `OSError`; nothing is left."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            # Else a full disk is found out after the old file is gone.
            os.fsync(file.fileno())
        removal.put(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
