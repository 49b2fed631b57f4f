"""The Scala workloads on a real HDFS: a split is within a block, and is read on its host."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyspark")

from cuesta.native import native_module
from hdfskit import BLOCK_BYTES, cluster, cluster_folder, hosts, put
from sparkkit import Question, run, same_as_native, scala, scala_session, trial
from testbed_hdfs import Running

__all__ = ["cluster", "cluster_folder", "scala"]

pytestmark = pytest.mark.usefixtures("scala")
NAME = "spark-scala"


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of inputs."""
    folder = tmp_path_factory.mktemp("inputs")
    request = {"genes": 120, "samples": 60, "clusters": 1, "threads": 1, "seed": 1}
    for variant, name in enumerate(("a.txt", "b.txt")):
        settings = {"output": str(folder / name), "variant": variant}
        native_module().data_make("clusters", json.dumps(request | settings))
    np.save(folder / "points.npy", np.random.default_rng(1).normal(size=(30_000, 3)))
    tera = {"output": str(folder / "records.dat"), "rows": 3000, "threads": 1, "seed": 1}
    native_module().data_make("tera", json.dumps(tera))
    return folder


@pytest.fixture(scope="module")
def hdfs(cluster: Running, local: Path) -> str:
    """Address of a folder on HDFS with the same inputs, in blocks of 64 KiB."""
    return put(cluster, local, "scala")


@pytest.mark.parametrize(
    "case",
    [
        Question("scan", ["a.txt"], {"min_abs_score": 0.3}),
        Question("join", ["a.txt", "b.txt"], {"how": "outer"}),
        Question("degrees", ["a.txt"], {"method": "graphx"}),
        Question("sort", ["records.dat"], {}),
        Question("kmeans", ["points.npy"], {"clusters": 3, "iterations": 4}),
    ],
    ids=str,
)
def test_answers_are_those_of_the_native_engine_on_the_same_files(
    case: Question, hdfs: str, local: Path, tmp_path: Path
) -> None:
    workload, names, parameters = case
    _, files = run(
        trial(workload, [f"{hdfs}/{name}" for name in names], parameters), tmp_path, NAME
    )
    inputs = [str(local / name) for name in names]
    _, expected = run(trial(workload, inputs, parameters), tmp_path, "native")
    # Java writes some doubles of the other files differently.
    compared = ["assignments.npy"] if workload == "kmeans" else list(expected)
    assert all(files[name] == expected[name] for name in compared)


def places(uri: str, partitions: int | None = None) -> list[str]:
    """Return the hosts on which Spark prefers to run each split of a text, joined by commas."""
    session = scala_session()
    jvm: Any = session.spark.sparkContext._jvm
    parameters = {"min_abs_score": 0.0, "score_index": 0, "min_cluster_samples": 0}
    request = {"workload": "scan", "inputs": [uri], "parameters": parameters, "seed": 0}
    text = json.dumps(request | {"output": "", "partitions": partitions})
    job = jvm.cuesta.spark.Job(session.spark._jsparkSession, jvm.cuesta.spark.Request.parse(text))
    inputs = jvm.scala.jdk.javaapi.CollectionConverters.asScala([uri]).toSeq()
    rows = jvm.cuesta.spark.GenePairs.open(job, inputs, "").hits()
    context: Any = session.spark.sparkContext._jsc
    numbers = range(rows.getNumPartitions())
    return [context.sc().getPreferredLocs(rows, number).mkString(",") for number in numbers]


@pytest.mark.parametrize("blocks", [1, 3])
def test_a_split_is_a_block_and_prefers_the_host_that_has_it(
    blocks: int, cluster: Running, local: Path, tmp_path: Path
) -> None:
    uri, expected = spread(cluster, local / "a.txt", blocks * BLOCK_BYTES)
    same_as_native(trial("scan", [uri], {}), tmp_path, [str(local / "a.txt")], NAME)
    assert len(expected) >= 3
    assert places(uri) == expected


def spread(cluster: Running, file: Path, block_bytes: int) -> tuple[str, list[str]]:
    """Write a file with blocks on both data nodes, which HDFS picks at random; return each block's
    host.
    """
    for attempt in range(20):
        uri = put(cluster, file, f"scala-{block_bytes}-{attempt}", block_bytes)
        block_hosts = [",".join(names) for _, _, names in hosts(cluster, uri)]
        if set(block_hosts) == {"127.0.0.2", "127.0.0.3"}:
            return uri, block_hosts
    raise AssertionError(f"HDFS put every block of twenty files on {block_hosts[0]}")


def test_more_tasks_than_blocks_cut_all_blocks_into_equal_splits(
    cluster: Running, local: Path, tmp_path: Path
) -> None:
    file = tmp_path / "large.txt"
    text = (local / "a.txt").read_bytes()
    file.write_bytes(text * (1 + (4 << 20) // len(text)))
    uri = put(cluster, file, "large", 3 << 20)
    block_hosts = hosts(cluster, uri)
    # Splits of less than 1 MiB are not worth a task, whatever number is requested.
    locations = places(uri, partitions=1000)
    splits_by_host = [
        (",".join(names), -(-length // (1 << 20))) for _, length, names in block_hosts
    ]
    assert locations == [names for names, splits in splits_by_host for _ in range(splits)]
    assert [splits for _, splits in splits_by_host] == [3, 2]
