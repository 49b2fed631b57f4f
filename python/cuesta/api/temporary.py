"""A folder for an answer without an output: it is removed with the object that owns it."""

from __future__ import annotations

import os
import tempfile
import weakref
from pathlib import Path

from cuesta import removal


class TemporaryFolder:
    """A new folder, removed when this object is, and at the latest when the interpreter ends.

    A forked copy of the process leaves the folder alone.

    Attributes
    ----------
    path
        Its place in the folder for temporary files, which `TMPDIR` names.
    """

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="cuesta-"))
        self.remove = weakref.finalize(self, _remove, self.path, os.getpid())


def _remove(path: Path, owner: int) -> None:
    if os.getpid() == owner:
        removal.discard(path)
