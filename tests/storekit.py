"""Stores over folders of tests."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from cuesta_store import control
from cuesta_store.control import StoreSettings
from cuesta_store.errors import EngineMissing
from cuesta_store.filesystem import CuestaFileSystem
from cuesta_store.peers import PeerSettings, make_secret, write_members
from waitkit import wait_for

BLOCK_BYTES = 1 << 16


@dataclass(frozen=True)
class RunningStore:
    """A store and the folder below it."""

    folder: Path
    under: Path
    settings: StoreSettings | None = None

    def request(self) -> str:
        """Return the start request of a store like this one, at its present address."""
        assert self.settings is not None
        peers = self.settings.peers
        if peers is not None:
            peers = replace(peers, listen=self.status()["peers"]["name"])
        return control.to_request(replace(self.settings, peers=peers), self.folder)

    def write(self, name: str, content: bytes) -> bytes:
        """Write a file to the under level with an old time stamp, so that a new version differs."""
        path = self.under / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        time.sleep(0.12)
        return content

    def status(self) -> dict[str, Any]:
        """Return the status of the store."""
        return control.status(self.folder)

    def live_peers(self) -> set[str]:
        """Return the names of the live peers of its job."""
        return {member["name"] for member in self.status()["peers"]["members"] if member["is_live"]}


class Program:
    """A program that prints `ready`, and then answers each line of its standard input."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        line = self._line()
        assert line == "ready", line

    def ask(self, question: str) -> str:
        """Return its answer, which begins with `ok` or `failed`."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{question}\n")
        self.process.stdin.flush()
        return self._line()

    def end(self) -> str:
        """End the program; return its error output."""
        self.process.kill()
        return self.process.communicate()[1] or ""

    def _line(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, self.end()
        return line.strip()


@contextmanager
def running_store(under: Path, blocks: int = 32, **settings: Any) -> Iterator[RunningStore]:
    """Yield a store with this number of blocks of memory, in a short path, as sockets need."""
    with TemporaryDirectory(prefix="cuesta-test-") as place:
        folder = Path(place) / "store"
        options = {"memory_bytes": blocks * BLOCK_BYTES, "block_bytes": BLOCK_BYTES} | settings
        store_settings = StoreSettings(under=under, **options)
        control.start(store_settings, folder)
        try:
            yield RunningStore(folder, under, store_settings)
        finally:
            with suppress(EngineMissing):
                control.stop(folder, discards_memory=True)


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningStore]:
    """A store over an empty folder, which commands and fsspec use by default."""
    (tmp_path / "under").mkdir()
    with running_store(tmp_path / "under") as running:
        monkeypatch.setenv("CUESTA_STORE", str(running.folder))
        CuestaFileSystem.clear_instance_cache()
        yield running


@contextmanager
def running_peers(
    under: Path, count: int, blocks: int = 32, **settings: Any
) -> Iterator[list[RunningStore]]:
    """Yield stores of the same job on this machine, which know each other."""
    with TemporaryDirectory(prefix="cuesta-test-") as place, ExitStack() as stack:
        secret, members = Path(place) / "secret", Path(place) / "members"
        make_secret(secret)
        write_members(members, [])
        stores = [
            stack.enter_context(
                running_store(
                    under,
                    blocks,
                    # Stands for a host for each store: all these are addresses of this machine.
                    peers=PeerSettings(
                        listen=f"127.0.0.{number}:0", secret=secret, members_file=members
                    ),
                    **settings,
                )
            )
            for number in range(1, count + 1)
        ]
        write_members(members, [store.status()["peers"]["name"] for store in stores])
        wait_for(lambda: all(len(store.live_peers()) == count - 1 for store in stores))
        yield stores


def noise(seed: int, size_bytes: int) -> bytes:
    """Return random bytes."""
    return np.random.default_rng(seed).bytes(size_bytes)
