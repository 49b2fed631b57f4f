"""Start, find and stop the daemon of a store."""

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

from cuesta import outputs
from cuesta.errors import EngineError, InputError
from cuesta.store.client import Connection
from cuesta.store.missing import MEMORY_ROOT as MEMORY_ROOT
from cuesta.store.missing import VARIABLE as VARIABLE
from cuesta.store.peers import PeerSettings
from cuesta.store.rules import FolderRule
from cuesta.units import format_bytes

BLOCK_BYTES = 64 << 20
MARKER = "store.json"
"""Marks the folder of a store."""
NAMES_MAX = 3
"""So many foreign files are named in a line."""
STOP_SECONDS = 30.0
"""A daemon that has not ended by then is told of."""


def default_folder() -> Path:
    """`$CUESTA_STORE`, else this user's in the system's memory."""
    named = os.environ.get(VARIABLE)
    return Path(named) if named else MEMORY_ROOT / f"cuesta-{os.getuid()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """How a store is to be: the folder it is over, and its memory.

    `admission` keeps a block that is read from displacing others where that is not likely to pay.
    `max_age_seconds` is how long a version is taken for the current one of a file: 0 asks each
    time that it is opened, `None` never again. `write` is the mode of files that name none.
    `grace_seconds` is how long, after a signal, dirty files may take to the under level.
    So many `stripes` of a block, of `stripe_bytes` each, are read from the folder at once; `None`
    is as many as the parallel file system has stripes of the file, of `stripe_bytes` at most.
    `preallocate` takes all memory from the system before blocks need it. With `peers` it is one of
    several stores of a job, which read from each other.
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
    """Start a daemon that goes on after this process; its status once clients can connect.

    Errors: `InputError` for a memory that is not there or holds no block, a folder of another
    user, or a store that runs already.
    """
    folder = folder or default_folder()
    outputs.check_name(folder.absolute(), "the folder of the store")
    outputs.check_name(settings.under.resolve(), "--under")
    _check_memory(folder, settings.memory_bytes)
    said = launch("cuesta.store.serve", to_request(settings, folder))
    if said != "ready":
        raise InputError(said or "the store ended before it was ready")
    return status(folder)


def to_request(settings: StoreSettings, folder: Path) -> str:
    """The JSON that `_native.store_serve` takes."""
    places = {"folder": str(folder.absolute()), "under": str(settings.under.resolve())}
    return json.dumps(asdict(settings) | places, default=os.fspath)


def launch(module: str, *words: str) -> str:
    """Start a process that goes on after this one; its line: `ready`, or why it has ended."""
    process = subprocess.Popen(
        [sys.executable, "-m", module, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    # Then it closes the pipe.
    said = process.stdout.readline().decode(errors="replace").strip()
    process.stdout.close()
    if said != "ready":
        process.wait()
    return said


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
    """What the store is and has done, as in `spec/formats/store-wire.md`.

    Errors: `EngineMissing` where none runs.
    """
    found = ask("status", folder)
    del found["payload"]
    return found


def ask(question: str, folder: Path | None = None, **fields: Any) -> dict[str, Any]:
    """One question to the store. Errors: as `Connection.ask`."""
    connection = Connection(folder or default_folder())
    try:
        return connection.ask(question, **fields)
    finally:
        connection.close()


def stop(
    folder: Path | None = None, discards: bool = False, discards_memory: bool = False
) -> list[str]:
    """Bring what is dirty to the under level, stop the store, wait until its memory is given back.

    With `discards_memory` files in memory alone end with the store; with `discards` also dirty
    files are given up. Return the names that remain in the folder, since no store made them.
    Errors: `EngineMissing` where none runs; `InputError` naming dirty files that could not be
    written, or files in memory alone, then the store goes on; `EngineError` where it does not end.
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
    """Return the line that names files in the folder of a store that no store made."""
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
