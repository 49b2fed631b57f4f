"""A worker killed under load: the answer is the same, and the record has the cost."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

from pyspark import SparkContext

import sparkkit
import testbed_hdfs
from assemblykit import drawn, reads_of, write_fastq
from cuesta.cli.app import call
from cuesta.cluster import LocalCluster, session, watchdog
from cuesta.cluster.folder import ClusterFolder
from cuesta.engines.spark import SparkEngine
from sparkkit import Question, trial
from testbed_hdfs import Running

pytestmark = pytest.mark.skipif(
    SparkEngine().missing() is not None, reason="Spark is not installed"
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCluster]:
    """Two workers of a core each, and a session that all tests share."""
    sparkkit.engine().close()
    place = tmp_path_factory.mktemp("cluster")
    with session(2, 1, 3 << 29, place, {"stop": "2"}) as running:
        yield running
        sparkkit.engine().close()


@pytest.fixture(autouse=True)
def frequent_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some runs end within the usual time between two reports of progress."""
    monkeypatch.setattr("cuesta.engines.spark.context.PROGRESS_SECONDS", 0.002)


@pytest.fixture
def hdfs(tmp_path: Path) -> Iterator[Running]:
    """File system that a test may damage; skips without Java or Maven."""
    reason = testbed_hdfs.missing()
    if reason:
        pytest.skip(reason)
    yield testbed_hdfs.up(tmp_path / "hdfs")
    testbed_hdfs.down(tmp_path / "hdfs")


def kill_worker(cluster: LocalCluster, node: str) -> None:
    """Kill Spark's worker on a node and its executor.

    Without its worker an executor ends by itself too, but a short run may end before.
    """
    name = ClusterFolder(cluster.folder).read()["cluster"]
    killed = 0
    for pid in watchdog.marked(f"{name}/{node}"):
        command = Path("/proc", str(pid), "cmdline").read_bytes()
        if b"worker.Worker" in command or b"CoarseGrainedExecutorBackend" in command:
            os.kill(pid, signal.SIGKILL)
            killed += 1
    assert killed == 2, f"no worker and executor on {node}"


def executors() -> list[Any]:
    """Return Spark's information on its executors, the driver among them."""
    context: Any = SparkContext._active_spark_context
    return list(context._jsc.sc().statusTracker().getExecutorInfos()) if context else []


def await_executors(count: int) -> None:
    """Wait until the driver knows this number of executors, if a session exists."""
    deadline = time.monotonic() + 60
    while (infos := executors()) and len(infos) != count + 1:
        assert time.monotonic() < deadline, f"not {count} executors within a minute"
        time.sleep(0.05)


def lose(
    cluster: LocalCluster,
    folder: Path,
    question: Question,
    harm: Callable[[], None] | None = None,
) -> dict[str, float]:
    """Run on native, and on Spark with a fault while both executors have a task; return its log.

    The fault is a killed worker, unless another is passed.
    """
    workload, inputs, parameters = question
    job = trial(workload, inputs, parameters, task_bytes="300kB", master=cluster.master)
    job = replace(job, threads=1, memory_bytes=3 << 29)
    harmed: list[bool] = []

    def progress(_done: int, _total: int) -> None:
        if not harmed and sum(info.numRunningTasks() for info in executors()) == 2:
            harmed.append(True)
            if harm:
                harm()
            else:
                kill_worker(cluster, "local-2")
                # A phase ends after its progress: no run ends before Spark has seen its loss.
                await_executors(1)

    plain = trial(workload, inputs, parameters)
    _, expected = sparkkit.run(plain, folder, "native")
    output, scratch = folder / "answer", folder / "scratch"
    output.mkdir()
    scratch.mkdir()
    # The executor that an earlier test has lost returns later.
    await_executors(2)
    engine = sparkkit.engine().with_progress(progress)
    engine.run(job, output, scratch)
    assert harmed
    files = [path for path in output.rglob("*") if path.is_file()]
    assert {str(path.relative_to(output)): path.read_bytes() for path in files} == expected
    return dict(sparkkit.engine().log_totals())


@pytest.mark.timeout(300)
def test_a_sort_survives_a_lost_executor(cluster: LocalCluster, tmp_path: Path) -> None:
    path = tmp_path / "records"
    assert call(["data", "make", "tera", "--rows", "200000", "-o", str(path)]) == 0
    log = lose(cluster, tmp_path, Question("sort", [str(path)], {}))
    assert log["executors_lost"] == 1
    assert log["repeated_task_seconds"] > 0


@pytest.mark.timeout(300)
def test_groups_of_points_are_the_same(cluster: LocalCluster, tmp_path: Path) -> None:
    path = str(tmp_path / "x.npy")
    words = ["data", "make", "points", "--rows", "200000", "--dimensions", "9", "--clusters", "6"]
    assert call([*words, "-o", path]) == 0
    job = Question("kmeans", [path], {"clusters": 6, "iterations": 12})
    assert lose(cluster, tmp_path, job)["executors_lost"] == 1


@pytest.mark.timeout(300)
def test_contigs_are_the_same(cluster: LocalCluster, tmp_path: Path) -> None:
    reads = write_fastq(tmp_path / "reads.fq", reads_of(drawn(20_000, 1), 30, 0.004, 5))
    log = lose(cluster, tmp_path, Question("assemble", [str(reads)], {"kmer_sizes": "31"}))
    assert log["executors_lost"] == 1


@pytest.mark.timeout(300)
def test_a_sort_reads_on_when_a_data_node_is_lost(
    cluster: LocalCluster, tmp_path: Path, hdfs: Running
) -> None:
    """Each block is on both nodes; readers of the lost node switch to the other."""
    path = tmp_path / "records"
    assert call(["data", "make", "tera", "--rows", "60000", "-o", str(path)]) == 0
    with testbed_hdfs.connected(hdfs) as connection:
        uri = connection.put(path, "data", 1 << 20, replication=2)

        def harm() -> None:
            assert connection.stop_datanode(0) == "127.0.0.2"

        lose(cluster, tmp_path, Question("sort", [uri], {}), harm)
        assert len(connection.blocks(uri)) == 6
