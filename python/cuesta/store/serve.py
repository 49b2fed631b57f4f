"""The process of a store or a mount: `python -m cuesta.store.serve REQUEST`.

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
"""In the folder of a store: why files are left there."""


def main(request: str) -> int:
    """Serve until a client stops the store, the mount is unmounted, or a signal comes.

    The exit code.
    """
    from cuesta import _native

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        _native.store_serve(request, say_ready)
    except KeyboardInterrupt:
        # What a store could not bring to the under level is in its folder still.
        folder = json.loads(request).get("folder")
        return 2 if folder and Path(folder, REMAINING).is_file() else 0
    except Exception as error:
        say(str(error))
        return 2
    return 0


def say(line: str) -> None:
    """One line to who started this process."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def say_ready() -> None:
    """Tell who started this process, and keep nothing of theirs open but a log."""
    say("ready")
    has_log = stat.S_ISREG(os.fstat(2).st_mode)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (1,) if has_log else (1, 2):
        os.dup2(nowhere, number)
    os.close(nowhere)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
