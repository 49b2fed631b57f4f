"""Services in a process that sets the factors of the machine for them, as root.

A service is a script that calls `main`: `up` starts it with its folder and its shape, it makes the
service, and holds it until SIGTERM. The next command that sets factors of a machine undoes changes
that remain when it is killed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from types import ModuleType

import maven
import testbed_service
from testbed_service import TestbedError

START_SECONDS = 120.0


def up(name: str, script: str, folder: Path, shape: Mapping[str, object]) -> dict[str, object]:
    """Start the service of a script in a new folder; return its state once it is ready.

    Errors: `TestbedError`, and then nothing is left of it.
    """
    folder.mkdir(parents=True)
    words = [sys.executable, script, str(folder), json.dumps(shape)]
    with (folder / "log").open("wb") as log:
        holder = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
    began = time.monotonic()
    while time.monotonic() - began < START_SECONDS and holder.poll() is None:
        state = testbed_service.read_state(folder)
        if state:
            return state
        time.sleep(0.05)
    lines = (folder / "log").read_text(errors="replace").strip().splitlines()
    with suppress(ProcessLookupError):
        holder.terminate()
    holder.wait()
    down(folder)
    raise TestbedError(f"{name} does not start: {(lines or ['no word of it'])[-1][:300]}")


def down(folder: Path) -> None:
    """End the service of a folder, and remove its files."""
    state = testbed_service.read_state(folder)
    if state:
        testbed_service.end(int(str(state["pid"])), folder)
    if folder.exists():
        # A killed service leaves changes to the machine, which this undoes.
        machines().put_back()
    testbed_service.remove(folder)


def keep(folder: Path, facts: Mapping[str, object]) -> None:
    """Record that the service is ready, and wait for its end, which is a `KeyboardInterrupt`."""
    testbed_service.write_state(folder, {"pid": os.getpid(), **facts})
    while True:
        signal.pause()


def machines() -> ModuleType:
    """The package of machine factors: tools run from a checkout that may not be installed."""
    sys.path.insert(0, str(maven.ROOT / "python"))
    from cuesta_lab import machines as found

    return found


def main(hold: Callable[[Path, dict[str, object]], None], folder: str, shape: str) -> int:
    """The process of a service; a failure goes to its log, in one last line."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.path.insert(0, str(maven.ROOT / "python"))
    from cuesta.errors import CuestaError

    try:
        hold(Path(folder), json.loads(shape))
    except KeyboardInterrupt:
        return 0
    except (TestbedError, CuestaError, OSError) as error:
        print(error, file=sys.stderr)
    return 3
