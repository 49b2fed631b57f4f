"""A Hadoop reader continues when its store is killed or hangs, and finds the next store."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from cuesta_store import control
from cuesta_store.control import StoreSettings
from hadoopkit import Hadoop, hadoop
from storekit import BLOCK_BYTES, running_store
from waitkit import HANG_SECONDS

__all__ = ["hadoop"]


@pytest.mark.timeout(600)
def test_a_reader_outlives_stores_that_are_killed_and_hang(hadoop: Hadoop, tmp_path: Path) -> None:
    place = np.arange(20 * BLOCK_BYTES + 5, dtype=np.uint64)
    for name in "abc":
        (tmp_path / name).write_bytes((place * place // 7).astype(np.uint8).tobytes())
    with running_store(tmp_path, blocks=16) as store:
        reader = hadoop.start(store, "cuesta.hadoop.ReadLoop", "/a", "/b", "/c", cwd=tmp_path)
        assert reader.stdout is not None
        assert reader.stdin is not None
        counts: list[int] = []
        try:
            listen(reader, counts, 5)
            kill(store.status()["pid"], signal.SIGKILL)
            listen(reader, counts, 5)
            settings = StoreSettings(
                under=tmp_path, memory_bytes=16 * BLOCK_BYTES, block_bytes=BLOCK_BYTES
            )
            control.start(settings, store.folder)
            # A client looks for a lost store each 5 s.
            deadline = time.monotonic() + HANG_SECONDS
            while store.status()["misses"] == 0:
                assert time.monotonic() < deadline
                listen(reader, counts, 1)
            status = store.status()
            kill(status["pid"], signal.SIGSTOP)
            listen(reader, counts, 5)
            kill(status["pid"], signal.SIGCONT)
            reader.stdin.write("end\n")
            reader.stdin.flush()
            reader.wait(HANG_SECONDS)
        finally:
            reader.kill()
        assert reader.returncode == 0, reader.stderr.read() if reader.stderr else ""
        assert store.status()["leases"] == 0


def listen(reader: subprocess.Popen[str], counts: list[int], count: int) -> None:
    """Append the next lines of the reader."""
    assert reader.stdout is not None
    for _ in range(count):
        line = reader.stdout.readline()
        if not line:
            assert reader.stderr is not None
            pytest.fail(reader.stderr.read())
        counts.append(int(line))


def kill(process: int, what: signal.Signals) -> None:
    os.kill(process, what)
    time.sleep(0.1)
