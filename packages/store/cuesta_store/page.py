"""A live page and metrics of a store on 127.0.0.1: `python -m cuesta_store.page FOLDER PORT`.

Started by `start`. The process ends when the store does: it has a connection to it. It answers
clients with its token, which is in the store's folder, where other users may not read.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

from cuesta_store import control, removal
from cuesta_store.errors import EngineMissing, InputError

FILE = "page.json"
"""File in the folder of the store with port, token and process of its page."""


def start(folder: Path, port: int) -> str:
    """Start the page of a running store; return its address. Port 0 is any free port.

    Errors: `InputError` where the port is not available.
    """
    line = control.launch("cuesta_store.page", str(folder.absolute()), str(port))
    page_address = address(folder)
    if line != "ready" or page_address is None:
        raise InputError(
            f"--page {port}: {line or 'the page ended before it was ready, start it again'}"
        )
    return page_address


def address(folder: Path) -> str | None:
    """Return the address of a store's page with its token; `None` where it has none."""
    try:
        facts = json.loads((folder / FILE).read_text())
        os.kill(facts["pid"], 0)
    except (OSError, ValueError, KeyError):
        return None
    return f"http://127.0.0.1:{facts['port']}/?token={facts['token']}"


def main(folder: Path, port: int) -> int:
    """Serve until the store ends; return the exit code."""
    from cuesta_store.page_server import PageServer, Watch
    from cuesta_store.serve import report, report_ready

    token = secrets.token_urlsafe(32)
    try:
        watch = Watch(folder)
        watch.remember()
        server = PageServer(port, token, watch)
    except (OSError, OverflowError, EngineMissing) as error:
        report((getattr(error, "strerror", None) or str(error)).lower())
        return 2
    facts = {"port": server.server_port, "token": token, "pid": os.getpid()}
    _write_private(folder / FILE, json.dumps(facts))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    report_ready()
    with suppress(EngineMissing, InputError, KeyboardInterrupt):
        while True:
            time.sleep(1)
            watch.remember()
            server.end_slow()
    _remove_file(folder / FILE)
    return 0


def _write_private(path: Path, text: str) -> None:
    """Write a file that other users may not read, in one step."""
    partial = path.with_suffix(f".{os.getpid()}.part")
    partial.touch(0o600, exist_ok=False)
    partial.write_text(text)
    removal.put(partial, path)


def _remove_file(path: Path) -> None:
    """Remove the file of this page, unless the page of a next store has replaced it."""
    with suppress(OSError, ValueError):
        if json.loads(path.read_text())["pid"] == os.getpid():
            path.unlink()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2])))
