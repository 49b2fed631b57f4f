"""Tasks of engines with processes of their own read the store."""

from __future__ import annotations

from pathlib import Path

import pytest

import sparkkit
from conformancekit import golden_cases
from storedkit import digest_of, in_store, stored, under
from storekit import RunningStore

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
    # A process has one session, and tests before these may have left theirs.
    sparkkit.engine().close()
    case = next(one for one in golden_cases() if one.workload == workload)
    before = stored.status()
    assert digest_of(in_store(case), name, tmp_path, **options) == case.digest
    now = stored.status()
    assert now["hits"] + now["misses"] > before["hits"] + before["misses"]
