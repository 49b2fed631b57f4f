"""Stores over folders of tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from cuesta.errors import EngineMissing
from cuesta.store import control
from cuesta.store.control import StoreSettings

BLOCK_BYTES = 1 << 16


@dataclass(frozen=True)
class RunningStore:
    """A store and the folder it is over."""

    folder: Path
    under: Path

    def write(self, name: str, content: bytes) -> bytes:
        """Write a file to the under level, so long ago that its next version is told apart."""
        path = self.under / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        time.sleep(0.12)
        return content

    def status(self) -> dict[str, Any]:
        """Its status."""
        return control.status(self.folder)


@contextmanager
def running_store(under: Path, blocks: int = 32, **settings: Any) -> Iterator[RunningStore]:
    """A store with a memory of so many blocks, in a short path: those of sockets are."""
    with TemporaryDirectory(prefix="cuesta-test-") as place:
        folder = Path(place) / "store"
        wanted = {"memory_bytes": blocks * BLOCK_BYTES, "block_bytes": BLOCK_BYTES} | settings
        control.start(StoreSettings(under=under, **wanted), folder)
        try:
            yield RunningStore(folder, under)
        finally:
            with suppress(EngineMissing):
                control.stop(folder)


def noise(seed: int, size_bytes: int) -> bytes:
    """Random bytes."""
    return np.random.default_rng(seed).bytes(size_bytes)


def wait_for(holds: Callable[[], bool], seconds: float = 10.0) -> None:
    """Errors: `AssertionError` where it does not come to hold."""
    limit = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < limit
        time.sleep(0.01)
