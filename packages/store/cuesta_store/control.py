"""Functions to start, query and stop the daemon of a store."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cuesta_store.client import Connection
from cuesta_store.errors import EngineError, InputError
from cuesta_store.missing import MEMORY_ROOT as MEMORY_ROOT
from cuesta_store.missing import VARIABLE as VARIABLE
from cuesta_store.peers import PeerSettings
from cuesta_store.rules import FolderRule
from cuesta_store.units import format_bytes
from cuesta_store.untrusted import check_name

BLOCK_BYTES = 64 << 20
MARKER = "store.json"
"""File that marks the folder of a store."""
NAMES_MAX = 3
"""Limit of foreign files that are named in a line."""
STOP_SECONDS = 30.0
"""Time for a daemon to end before an error is raised."""


def default_folder() -> Path:
    """Return `$CUESTA_STORE`, else the user's folder in the system's memory."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else MEMORY_ROOT / f"cuesta-{os.getuid()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """Settings of a store: the folder of its under level, and its memory.

    `admission` prevents a block from displacing others where that is unlikely to pay.
    `max_age_seconds` is the time for which a version counts as the current one of a file: 0 checks
    at each opening, `None` never again. `write` is the default mode of files. `grace_seconds` is
    the time, after a signal, to write dirty files to the under level. `stripes` parts of a block,
    of `stripe_bytes` each, are read from the folder at once; `None` is the number of stripes of the
    file in the parallel file system, of `stripe_bytes` at most. `preallocate` allocates all memory
    before blocks need it. With `peers` the store is one of several of a job, which read from each
    other.
    """

    under: Path
    memory_bytes: int
    block_bytes: int = BLOCK_BYTES
    policy: str = "lru"
    max_age_seconds: float | None = 0.0
    write: str = "through"
    grace_seconds: float = 30.0
    admission: bool = True
    rules: tuple[FolderRule, ...] = ()
    stripes: int | None = None
    stripe_bytes: int = 4 << 20
    preallocate: bool = False
    peers: PeerSettings | None = None


def start(settings: StoreSettings, folder: Path | None = None) -> dict[str, Any]:
    """Start a daemon that outlives this process; return its status once clients can connect.

    Errors: `InputError` for memory that is not available or too small for a block, a folder of
    another user, or a store that runs already.
    """
    folder = folder or default_folder()
    check_name(folder.absolute(), "the folder of the store")
    check_name(settings.under.resolve(), "--under")
    _check_memory(folder, settings.memory_bytes)
    line = launch("cuesta_store.serve", to_request(settings, folder))
    if line != "ready":
        raise InputError(
            line or "the store ended before it was ready; see its log, and start it again"
        )
    return status(folder)


def to_request(settings: StoreSettings, folder: Path) -> str:
    """Return the JSON request for `_native.serve`."""
    places = {"folder": str(folder.absolute()), "under": str(settings.under.resolve())}
    return json.dumps(asdict(settings) | places, default=os.fspath)


def launch(module: str, *words: str) -> str:
    """Start a process that outlives this one; return its line: `ready`, or its error."""
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", module, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    # After its line the process closes the pipe.
    line = process.stdout.readline().decode(errors="replace").strip()
    process.stdout.close()
    if line != "ready":
        process.wait()
    return line


def _check_memory(folder: Path, memory_bytes: int) -> None:
    place = folder
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    if memory_bytes > free:
        raise InputError(
            f"--memory is {format_bytes(memory_bytes)}, {place} has {format_bytes(free)} free; "
            f"lower it, or name another place by ${VARIABLE}"
        )


def status(folder: Path | None = None) -> dict[str, Any]:
    """Return the store's settings and counters, as in `spec/formats/store-wire.md`.

    Errors: `EngineMissing` where none runs.
    """
    reply = ask("status", folder)
    del reply["payload"]
    return reply


def ask(question: str, folder: Path | None = None, **fields: Any) -> dict[str, Any]:
    """Ask the store one question. Errors: as `Connection.ask`."""
    connection = Connection(folder or default_folder())
    try:
        return connection.ask(question, **fields)
    finally:
        connection.close()


def stop(
    folder: Path | None = None, discards: bool = False, discards_memory: bool = False
) -> list[str]:
    """Write dirty files to the under level, stop the store, and wait until its memory is released.

    With `discards_memory` files in memory alone are lost; with `discards` also dirty files. Return
    the names that remain in the folder, since no store made them. Errors: `EngineMissing` where
    none runs; `InputError` naming dirty files that could not be written, or files in memory alone,
    then the store continues; `EngineError` where it does not end.
    """
    folder = folder or default_folder()
    pid = status(folder)["pid"]
    ask("stop", folder, discards=discards, discards_memory=discards_memory)
    deadline = time.monotonic() + STOP_SECONDS
    while folder.exists() and _is_alive(pid):
        if time.monotonic() > deadline:
            raise EngineError(f"the store does not end; stop process {pid}")
        time.sleep(0.01)
    return _remaining(folder)


def foreign_line(folder: Path, names: Sequence[str]) -> str:
    """Return a line that names the files in a store's folder that no store made."""
    shown = ", ".join(ascii(name)[1:-1] for name in names[:NAMES_MAX])
    more = f" and {len(names) - NAMES_MAX} more" if len(names) > NAMES_MAX else ""
    return f"{folder} keeps {shown}{more}, which no store made"


def _remaining(folder: Path) -> list[str]:
    """Return the names below the folder of a store that has ended; none where another began."""
    if (folder / MARKER).exists():
        return []
    names = []
    for parent, folders, files in os.walk(folder):
        inner = [name for name in folders if not Path(parent, name).is_symlink()]
        empty = [name for name in inner if not any(Path(parent, name).iterdir())]
        names += [Path(parent, name) for name in files + empty]
        names += [Path(parent, name) for name in folders if name not in inner]
    return sorted(str(name.relative_to(folder)) for name in names)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
