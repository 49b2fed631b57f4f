"""Hadoop's own programs read and write a store, unmodified."""

from __future__ import annotations

import filecmp
from pathlib import Path

import pytest

from hadoopkit import Hadoop, hadoop
from storekit import BLOCK_BYTES, noise, running_store

__all__ = ["hadoop"]

ROW_BYTES = 100
ROWS = 5000


@pytest.mark.timeout(300)
@pytest.mark.parametrize("write", ["through", "memory"])
def test_terasort_and_distcp_run_on_a_store(hadoop: Hadoop, tmp_path: Path, write: str) -> None:
    source, back, under = tmp_path / "source", tmp_path / "back", tmp_path / "under"
    under.mkdir()
    for name in ("a.bin", "folder/b.bin"):
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_bytes(noise(len(name), 3 * BLOCK_BYTES + 17))
    jobs = [
        f"teragen -Dmapreduce.job.maps=2 {ROWS} cuesta:///tera/in",
        "terasort -Dmapreduce.job.reduces=2 cuesta:///tera/in cuesta:///tera/out",
        "teravalidate cuesta:///tera/out cuesta:///tera/report",
        f"distcp file://{source} cuesta:///copied",
        f"distcp cuesta:///copied file://{back}",
    ]
    words = " -- ".join(jobs).split()
    with running_store(under, blocks=256, write=write) as store:
        done = hadoop.run(store, "cuesta.hadoop.ClientJobs", str(tmp_path), *words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr[-4000:]
        assert done.stdout.count(" ended with 0\n") == len(jobs)
        status = store.status()
    parts = sorted((under / "tera/out").glob("part-r-*"))
    # Content in memory alone has ended with the store.
    size_bytes = sum(part.stat().st_size for part in parts)
    assert size_bytes == (0 if write == "memory" else ROWS * ROW_BYTES)
    assert status["hits"] + status["misses"] > 2 * ROWS * ROW_BYTES // BLOCK_BYTES
    match, differ, lost = filecmp.cmpfiles(source, back, ["a.bin", "folder/b.bin"], shallow=False)
    assert (len(match), differ, lost) == (2, [], [])
