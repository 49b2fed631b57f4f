"""Runs whose inputs are in the store have the results of the files themselves."""

from __future__ import annotations

import gzip
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cuesta.cli.app import call
from cuesta.engines import get_engine
from cuesta.testing import Case, golden_cases
from cuesta_store.client import CachedFile
from labkit import input_sizes, record_of
from storedkit import digest_of, in_store, stored, under
from storekit import RunningStore, noise, running_store
from waitkit import HANG_SECONDS

__all__ = ["stored", "under"]

CASES = golden_cases()


def cuesta(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cuesta", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def ids(case: Case) -> str:
    return f"{case.workload}-{case.name}"


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_each_workload_reads_the_store(case: Case, stored: RunningStore, tmp_path: Path) -> None:
    assert digest_of(in_store(case), "native", tmp_path) == case.digest
    counts = stored.status()
    assert counts["hits"] + counts["misses"] > counts["bypassed"]


@pytest.mark.parametrize("workload", ["scan", "kmeans"])
def test_ranks_read_the_store(workload: str, stored: RunningStore, tmp_path: Path) -> None:
    case = next(candidate for candidate in CASES if candidate.workload == workload)
    before = stored.status()
    assert digest_of(in_store(case), "mpi", tmp_path, ranks="2") == case.digest
    status = stored.status()
    assert status["hits"] + status["misses"] > before["hits"] + before["misses"]


def test_folders_and_gzipped_files_are_read(
    under: Path, stored: RunningStore, tmp_path: Path
) -> None:
    before = stored.status()["misses"]
    text = (under / "clusters-a.txt").read_bytes()
    lines = text.splitlines(keepends=True)
    (under / "many").mkdir()
    (under / "many/1.txt").write_bytes(b"".join(lines[:100]))
    (under / "many/2.txt.gz").write_bytes(gzip.compress(b"".join(lines[100:])))
    (under / "many/.hidden").write_bytes(b"no pairs")
    plain = ["run", "scan", str(under / "clusters-a.txt"), "-o", str(tmp_path / "whole")]
    assert call(plain) == 0
    assert call(["run", "scan", "cuesta:///many", "-o", str(tmp_path / "many")]) == 0
    actual, expected = record_of(tmp_path / "many"), record_of(tmp_path / "whole")
    assert actual["answer"]["digest"] == expected["answer"]["digest"]
    sizes = [path.stat().st_size for path in (under / "many").glob("[12]*")]
    assert input_sizes(actual) == [{"path": "cuesta:///many", "bytes": sum(sizes), "files": 2}]
    assert call(["verify", str(tmp_path / "many")]) == 0
    assert stored.status()["misses"] > before


def test_engines_are_compared_on_an_input_in_the_store(
    stored: RunningStore, tmp_path: Path
) -> None:
    before = stored.status()
    engines = "native,mpi" if get_engine("mpi").missing() is None else "native"
    words = ["compare", "sort", "cuesta:///records.dat", "--engines", engines]
    # In a separate process: libraries of other tests have threads here that a fork would lack.
    command = [sys.executable, "-m", "cuesta", *words, "-o", str(tmp_path / "both")]
    subprocess.run(command, check=True, timeout=120)
    status = stored.status()
    assert status["hits"] + status["misses"] > before["hits"] + before["misses"]


@pytest.mark.parametrize("kind", ["npy", "txt", "parquet"])
def test_points_that_are_not_cached_have_the_same_clusters(
    kind: str, under: Path, stored: RunningStore, tmp_path: Path
) -> None:
    points = np.random.default_rng(3).normal(size=(3000, 5))
    path = under / f"points-{kind}.{kind}"
    if kind == "npy":
        np.save(path, points)
    elif kind == "txt":
        np.savetxt(path, points)
    else:
        pd.DataFrame(points, columns=list("abcde")).to_parquet(path)
    digests: set[str] = set()
    phases: list[set[str]] = []
    for keep in ("all", "none"):
        for place in (str(path), f"cuesta:///{path.name}"):
            output = tmp_path / f"{keep}-{len(phases)}"
            words = ["--clusters", "4", "--iterations", "5", "--keep", keep, "-o", str(output)]
            assert call(["run", "kmeans", place, *words]) == 0
            record = record_of(output)
            digests.add(record["answer"]["digest"])
            phases.append({phase["name"] for phase in record["phases"]})
    assert len(digests) == 1
    assert ["iteration 2" in names for names in phases] == [True, True, False, False]
    assert ["streamed iteration 2" in names for names in phases] == [False, False, True, True]
    assert stored.status()["misses"] > 0


@pytest.mark.parametrize("precision", ["f4", "f8"])
@pytest.mark.parametrize("dimensions", [1, 27])
def test_points_are_read_from_memory_also_across_two_blocks(
    dimensions: int, precision: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shape = (540_000 // dimensions, dimensions)
    points = np.random.default_rng(3).normal(size=shape).astype(precision)
    np.save(tmp_path / "p.npy", points)
    digests: set[str] = set()
    with running_store(tmp_path, memory_bytes=30 << 20, block_bytes=1 << 18) as store:
        monkeypatch.setenv("CUESTA_STORE", str(store.folder))
        for place in (str(tmp_path / "p.npy"), "cuesta:///p.npy"):
            output = tmp_path / f"answer-{len(digests)}-{place[0]}"
            words = ["--clusters", "4", "--iterations", "5", "--keep", "none", "-o", str(output)]
            assert call(["run", "kmeans", place, *words]) == 0
            digests.add(record_of(output)["answer"]["digest"])
    assert len(digests) == 1


@pytest.mark.parametrize(
    ("words", "code", "part"),
    [
        (["cuesta:///nowhere.txt"], 2, "No such file"),
        (["cuesta:///../clusters-a.txt"], 2, "leaves its root"),
        (["cuesta://host/clusters-a.txt"], 2, "names a host"),
        (["cuesta:///clusters-a.txt", "--cold"], 2, "in the memory of the store"),
        (["cuesta:///clusters-a.txt", "--engine", "array"], 2, "reads files and folders"),
        (["cuesta:///clusters-a.txt", "--engine", "spark-scala"], 2, "a client of its own"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_line(
    words: list[str], code: int, part: str, stored: RunningStore, tmp_path: Path
) -> None:
    if "--engine" in words and get_engine(words[-1]).missing():
        pytest.skip(f"{words[-1]} is not installed")
    assert stored.status()["pid"]
    done = cuesta("run", "scan", *words, "-o", str(tmp_path / "out"))
    last = done.stderr.splitlines()[-1]
    assert (done.returncode, part in last) == (code, True), done.stderr


def test_without_a_store_a_run_ends_in_a_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUESTA_STORE", str(tmp_path / "none"))
    done = cuesta("run", "scan", "cuesta:///a.txt", "-o", str(tmp_path / "out"))
    assert (done.returncode, done.stderr.count("\n")) == (3, 1), done.stderr
    assert "cuesta store start" in done.stderr


@pytest.mark.parametrize("ends", [signal.SIGSTOP, signal.SIGKILL])
def test_a_python_reader_passes_a_store_by(ends: signal.Signals, tmp_path: Path) -> None:
    with running_store(tmp_path, memory_bytes=30 << 16) as store:
        content = store.write("a", noise(1, 20 << 16))
        file = CachedFile(store.folder, "/a")
        buffer = bytearray(len(content))
        file.read_into(memoryview(buffer)[: 2 << 16], 0)
        pid = store.status()["pid"]
        os.kill(pid, ends)
        time.sleep(0.05)
        try:
            file.read_into(memoryview(buffer)[2 << 16 :], 2 << 16)
        finally:
            if ends == signal.SIGSTOP:
                os.kill(pid, signal.SIGCONT)
        assert buffer == content


def test_a_run_continues_when_the_store_hangs(under: Path, tmp_path: Path) -> None:
    """The store hangs before all iterations but the first few: only speed is lost."""
    rows = 200_000
    np.save(tmp_path / "p.npy", np.random.default_rng(1).random((rows, 8), dtype=np.float32))
    with running_store(tmp_path, memory_bytes=30 << 20, block_bytes=1 << 20) as store:
        words = ["run", "kmeans", "cuesta:///p.npy", "--keep", "none", "--iterations", "300"]
        words += ["--threads", "1", "-o", str(tmp_path / "out"), "--verify", "none"]
        environment = os.environ | {"CUESTA_STORE": str(store.folder)}
        run = subprocess.Popen([sys.executable, "-m", "cuesta", *words], env=environment)
        pid = store.status()["pid"]
        while store.status()["blocks"] < 6 and run.poll() is None:
            time.sleep(0.005)
        os.kill(pid, signal.SIGSTOP)
        try:
            assert run.poll() is None
            assert run.wait(HANG_SECONDS) == 0
        finally:
            os.kill(pid, signal.SIGCONT)
    expected = ["run", "kmeans", str(tmp_path / "p.npy"), "--iterations", "300"]
    assert call([*expected, "-o", str(tmp_path / "plain"), "--verify", "none"]) == 0
    for name in ("centres.tsv", "assignments.npy"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "plain" / name).read_bytes()
