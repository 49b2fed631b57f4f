"""Tasks of engines with separate processes read the store."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

import sparkkit
from cuesta.testing import golden_cases
from mountkit import MISSING, mounted, system
from storedkit import digest_of, in_store, stored, under
from storekit import RunningStore
from waitkit import wait_for

__all__ = ["stored", "under"]


@pytest.mark.parametrize(
    ("name", "workload", "options"),
    [("dask", "scan", {"tasks": "3"}), ("spark", "kmeans", {"partitions": "2"})],
)
def test_tasks_read_the_store(
    name: str,
    workload: str,
    options: dict[str, str],
    stored: RunningStore,
    tmp_path: Path,
) -> None:
    # A process has a single session, and earlier tests may have left theirs.
    sparkkit.engine().close()
    case = next(candidate for candidate in golden_cases() if candidate.workload == workload)
    before = stored.status()
    assert digest_of(in_store(case), name, tmp_path, **options) == case.digest
    status = stored.status()
    assert status["hits"] + status["misses"] > before["hits"] + before["misses"]


def test_spark_keeps_its_local_files_in_a_mount(tmp_path: Path) -> None:
    reason = sparkkit.engine().missing() or MISSING
    if reason:
        pytest.skip(reason)
    with mounted(tmp_path, "memory", blocks=1024) as at:
        source, answer = tmp_path / "in.bin", tmp_path / "answer"
        command = [sys.executable, "-m", "cuesta"]
        words = ["data", "make", "tera", "--rows", "100000", "--seed", "1", "-o", str(source)]
        assert system([*command, *words]).returncode == 0
        words = ["run", "sort", str(source), "--engine", "spark", "--json", "-o", str(answer)]
        # Relative, as a user types it.
        scratch = os.path.relpath(at.place)
        done = system([*command, *words, "--scratch", scratch])
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["verified"]
        assert at.store.status()["hits"] > 0
        # The kernel reports the closed files of a process a moment after its end.
        wait_for(lambda: at.store.status()["used_bytes"] == 0)
        assert list(at.place.iterdir()) == []
