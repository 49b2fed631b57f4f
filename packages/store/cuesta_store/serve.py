"""The process of a store or a mount: `python -m cuesta_store.serve REQUEST`.

Started by `control.start` and `mount.mount`.
"""

from __future__ import annotations

import json
import os
import signal
import stat
import sys
from pathlib import Path

REMAINING = "remaining"
"""File in the folder of a store with the reason why files remain there."""


def main(request: str) -> int:
    """Serve a store until a client stops it, or a mount until it is unmounted, or until a signal.

    Returns the exit code: 2 after an error, or a signal with files remaining; otherwise 0.
    """
    from cuesta_store.native import native_module

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        native_module().serve(request, report_ready)
    except KeyboardInterrupt:
        # Files that a store could not write to the file system under it remain in its folder.
        folder = json.loads(request).get("folder")
        return 2 if folder and Path(folder, REMAINING).is_file() else 0
    except Exception as error:
        report(str(error))
        return 2
    return 0


def report(line: str) -> None:
    """Write a line to the process that started this one."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def report_ready() -> None:
    """Report `ready` to the starting process, and close its pipes, except a log file."""
    report("ready")
    has_log = stat.S_ISREG(os.fstat(2).st_mode)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (1,) if has_log else (1, 2):
        os.dup2(nowhere, number)
    os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
