"""Mounts of stores over folders of tests, and programs that use them and cannot hang."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuesta_store import mount
from storekit import RunningStore, running_store

MISSING = "" if os.access(mount.DEVICE, os.R_OK | os.W_OK) else f"no {mount.DEVICE}"
"""Reason why mounting is impossible here, else empty."""
if not MISSING and os.getuid() != 0 and shutil.which(mount.HELPER) is None:
    MISSING = f"no {mount.HELPER}"
SECONDS = 120
"""Limit for a program; a longer run waits for an event that never comes."""


@dataclass(frozen=True)
class Mounted:
    """A store and its mount point."""

    store: RunningStore
    place: Path

    @property
    def process(self) -> int:
        """Return the process that serves the mount."""
        (process,) = mount.serving(self.place)
        return process


@contextmanager
def mounted(place: Path, write: str = "through", blocks: int = 32) -> Iterator[Mounted]:
    """Yield a store over `place/under`, mounted at `place/mnt`; always unmount at the end."""
    under, mnt = place / "under", place / "mnt"
    under.mkdir()
    mnt.mkdir()
    with running_store(under, blocks, write=write) as store:
        mount.mount(mnt, folder=store.folder)
        try:
            yield Mounted(store, mnt)
        finally:
            gone(mnt)


def gone(mnt: Path) -> None:
    """Unmount even if in use, and end the process."""
    subprocess.run(["umount", "-l", mnt], capture_output=True, check=False, timeout=SECONDS)
    for process in mount.serving(mnt):
        os.kill(process, signal.SIGKILL)


BEGIN = """
import errno, os, sys, time
from pathlib import Path
path = Path(sys.argv[1])
"""


def script(text: str, *words: Any) -> list[str]:
    """Return the command of a Python script whose variable `path` is the first word."""
    return [sys.executable, "-c", BEGIN + text, *map(str, words)]


def run(text: str, *words: Any, must_succeed: bool = True) -> str:
    """Return the output of a script, or its error output where it fails."""
    done = system(script(text, *words))
    assert not must_succeed or done.returncode == 0, done.stderr
    return done.stdout if must_succeed else done.stderr


def system(command: list[str]) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)


def read(path: Path) -> bytes:
    """Return the content of a file, read by another process."""
    command = script("os.write(1, path.read_bytes())", path)
    return subprocess.run(command, capture_output=True, timeout=SECONDS, check=True).stdout


def names(folder: Path) -> list[str]:
    """Return the names in a folder."""
    return sorted(path.name for path in folder.iterdir())
