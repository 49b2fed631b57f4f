"""Kill a store and start the next: REQUEST `restart`; or only the due step: REQUEST `turn`.

REQUEST is the start request of the daemon, `control.to_request`. Ends once clients can connect.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

from cuesta_store import control
from cuesta_store.errors import EngineMissing


def main(request: str, action: str) -> None:
    """Restart the store; `turn` kills a running store, and starts one where none runs."""
    pid = running(Path(json.loads(request)["folder"]))
    if pid is not None:
        os.kill(pid, signal.SIGKILL)
    if pid is None or action == "restart":
        answer = control.launch("cuesta_store.serve", request)
        if answer != "ready":
            sys.exit(answer)


def running(folder: Path) -> int | None:
    """Return the process of the store in a folder."""
    try:
        pid: int = control.status(folder)["pid"]
    except EngineMissing:
        return None
    return pid


if __name__ == "__main__":
    main(*sys.argv[1:])
