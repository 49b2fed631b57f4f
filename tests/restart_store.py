"""Kills the store in a folder and starts the next one: FOLDER UNDER BLOCKS WRITE."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from cuesta.store import control
from cuesta.store.control import StoreSettings


def main(folder: str, under: str, blocks: str, write: str) -> None:
    """Do so; ends once clients can connect."""
    status = control.status(Path(folder))
    os.kill(status["pid"], signal.SIGKILL)
    block_bytes = status["block_bytes"]
    settings = StoreSettings(
        under=Path(under),
        memory_bytes=int(blocks) * block_bytes,
        block_bytes=block_bytes,
        write=write,
    )
    control.start(settings, Path(folder))


if __name__ == "__main__":
    main(*sys.argv[1:])
