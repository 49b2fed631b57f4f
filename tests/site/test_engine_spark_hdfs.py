"""Inputs on a real HDFS: the same answers, read and verified in place."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

from assemblykit import drawn, reads_of, write_fastq
from cuesta.cli.app import call
from cuesta.engines import Engine, get_engine
from cuesta.engines.spark import SparkEngine
from cuesta.errors import EngineMissing, InputError
from cuesta.lab import remote
from cuesta.lab.inputs import InputFacts
from cuesta.lab.plan import Plan
from cuesta.lab.run import run_trial
from cuesta.native import native_module
from cuesta.trial import Outcome, Trial
from cuesta.uris import copy, facts, read
from hdfskit import BLOCK_BYTES, cluster, cluster_folder, hosts, put
from labkit import input_sizes
from sparkkit import Question, run, same_as_native, spark, trial
from testbed_hdfs import Running

__all__ = ["cluster", "cluster_folder", "spark"]


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of inputs."""
    folder = tmp_path_factory.mktemp("inputs")
    request = {"genes": 60, "samples": 20, "clusters": 2, "threads": 1, "seed": 1}
    for name, changes in (("a.txt", {}), ("b.txt", {"variant": 1}), ("all/tree", {"tree": True})):
        (folder / name).parent.mkdir(exist_ok=True)
        output = {"output": str(folder / name)}
        native_module().data_make("clusters", json.dumps(request | output | changes))
    text = (folder / "a.txt").read_bytes()
    (folder / "all" / "windows 1.txt").write_bytes(text.replace(b"\n", b"\r\n"))
    (folder / "all" / "packed.txt.gz").write_bytes(gzip.compress(text))
    lines = text.splitlines(keepends=True)
    np.save(folder / "levels.npy", np.arange(600, dtype=np.uint16).reshape(3, 10, 20))
    matrix = {"genes": 9, "samples": 20, "modules": 2, "missing": 0.1, "seed": 3, "threads": 1}
    matrix_request = matrix | {"output": str(folder / "matrix.txt")}
    native_module().data_make("matrix", json.dumps(matrix_request))
    write_fastq(folder / "reads.fq", reads_of(drawn(900, 1), 9, 0.0, 2))
    np.save(folder / "points.npy", np.random.default_rng(1).normal(size=(1000, 3)))
    (folder / "records").mkdir()
    (folder / "records" / "_SUCCESS").touch()
    for name in ("part-0", "part-1"):
        tera = {"output": str(folder / "records" / name), "rows": 500, "threads": 1, "seed": 1}
        native_module().data_make("tera", json.dumps(tera))
    (folder / "damaged.txt").write_bytes(b"".join([*lines[:1500], b"7\t3\n", *lines[1500:]]))
    return folder


@pytest.fixture(scope="module")
def hdfs(spark: SparkEngine, cluster: Running, local: Path) -> str:
    """Address of a folder on HDFS with the same inputs, in blocks of 64 KiB."""
    return put(cluster, local, "spark")


def test_a_file_that_was_replaced_is_read_anew(cluster: Running, tmp_path: Path) -> None:
    """A file remains open between reads, and is reopened after a new look at its status."""
    uri = f"{cluster.uri}/replaced"
    for content in (b"before", b"what came after"):
        (tmp_path / "file").write_bytes(content)
        copy(tmp_path / "file", uri)
        size_bytes, _ = facts(uri)
        assert read(uri, 0, size_bytes) == content
        assert read(uri, 3, 3) == content[3:6]


@pytest.mark.parametrize(
    "case",
    [
        Question("scan", ["a.txt"], {"min_abs_score": 0.3}),
        Question("scan", ["b.txt", "all"], {}),
        Question("join", ["a.txt", "b.txt"], {"how": "outer"}),
        Question("degrees", ["all"], {"min_abs_score": 0.3}),
        Question("communities", ["all"], {"min_abs_score": 0.5}),
        Question("sort", ["records"], {}),
        Question("kmeans", ["points.npy"], {"clusters": 3, "iterations": 4}),
        Question("dataflow", ["points.npy"], {"block_vectors": 300}),
        Question("images", ["levels.npy"], {}),
        Question("correlate", ["matrix.txt"], {"min_samples": 5}),
        Question("assemble", ["reads.fq"], {"kmer_sizes": "21"}),
    ],
    ids=str,
)
def test_answers_are_those_of_the_native_engine_on_the_same_files(
    case: Question, hdfs: str, local: Path, tmp_path: Path
) -> None:
    workload, names, parameters = case
    inputs = [f"{hdfs}/{name}" for name in names]
    job = trial(workload, inputs, parameters, task_bytes="100KB")
    if workload != "images":
        same_as_native(job, tmp_path, [str(local / name) for name in names])
    for engine in ("native", "mpi"):
        if get_engine(engine).missing() is None:
            words = [f"--{name.replace('_', '-')}={value}" for name, value in parameters.items()]
            words += ["--engine", engine, "-o", str(tmp_path / engine)]
            assert call(["run", workload, *inputs, *words]) == 0


@pytest.mark.parametrize("options", [{"task_bytes": "1MiB"}, {"task_bytes": "1KB"}], ids=str)
def test_a_damaged_line_is_named_with_its_address(
    options: dict[str, str], hdfs: str, tmp_path: Path
) -> None:
    uri = f"{hdfs}/damaged.txt"
    with pytest.raises(InputError) as caught:
        run(trial("scan", [uri], {}, **options), tmp_path)
    message = (
        "has 2 fields, expected 11 separated by tabs; complete the line, or obtain the file again"
    )
    assert str(caught.value) == f"input.kinc: line 1501 of {uri} {message}"


def test_a_missing_input_is_named(hdfs: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=f"opening {hdfs}/nowhere failed: .*check the path"):
        run(trial("scan", [f"{hdfs}/nowhere"], {}), tmp_path)


def test_a_run_is_verified_where_its_inputs_are(
    spark: SparkEngine, hdfs: str, local: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = trial("scan", [f"{hdfs}/all"], {"min_abs_score": 0.5})
    record = run_trial(SharedSession(spark), job, Plan(output=tmp_path / "out"))
    files = [file for file in (local / "all").rglob("*") if file.is_file()]
    expected = {"bytes": sum(file.stat().st_size for file in files), "files": len(files)}
    assert input_sizes(record) == [{"path": job.inputs[0], **expected}]
    assert record["verified"]
    assert "copies" not in record["verification"]["method"]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    monkeypatch.setattr("cuesta.lab.audit.get_engine", lambda _name: SharedSession(spark))
    assert call(["verify", str(tmp_path / "out"), "--fetch-inputs"]) == 0
    (tmp_path / "out" / "pairs.txt").write_text("")
    assert call(["verify", str(tmp_path / "out"), "--fetch-inputs"]) == 1


def test_inputs_of_a_study_are_copied_to_hdfs_with_their_blocks(
    hdfs: str, cluster: Running, tmp_path: Path
) -> None:
    study = """
question = "Is it read where it was put?"
workload = "sort"
repeats = 1

[[input]]
name = "records"
make = "tera"
rows = 20000
at = "remote"
block = "1MiB"

[[factor]]
name = "cores"
levels = [{ name = "one", cores = 1 }, { name = "two", cores = 2 }]

[settings]
inputs = ["records"]
"""
    (tmp_path / "apart.toml").write_text(study)
    words = ["study", "run", str(tmp_path / "apart.toml"), "--remote", f"{hdfs}/study"]
    # In a separate process: the trials are forked from it, so its client must leave no thread.
    command = [sys.executable, "-m", "cuesta", *words, "-o", str(tmp_path / "out")]
    subprocess.run(command, check=True, timeout=300)
    assert [size for _, size, _ in hosts(cluster, f"{hdfs}/study/records")] == [1 << 20, 951_424]
    cells = json.loads((tmp_path / "out" / "study.json").read_text())["cells"]
    assert [cell["measures"]["count records"] for cell in cells] == [[20000.0]] * 2


def test_a_full_disk_is_detected_before_anything_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = trial("scan", ["hdfs://host/a.txt"], {})
    facts = [InputFacts(path="hdfs://host/a.txt", bytes=2000, files=1)]
    monkeypatch.setattr("cuesta.machine.free_bytes", lambda _path: 1000)
    with pytest.raises(InputError, match="choose another --scratch"):
        remote.with_copies(get_engine("spark-scala"), job, facts, tmp_path)
    assert not any(tmp_path.iterdir())


def test_an_engine_that_reads_files_only_refuses_addresses(tmp_path: Path) -> None:
    job = trial("scan", ["hdfs://host/a.txt"], {})
    plan = Plan(output=tmp_path / "out")
    if get_engine("array").missing() is None:
        with pytest.raises(InputError, match="engine array reads files and folders, not hdfs://"):
            run_trial(get_engine("array"), job, plan)
    with pytest.raises(InputError, match="--cold"):
        run_trial(get_engine("spark"), job, replace(plan, cache="input-dropped"))
    unknown = replace(job, inputs=("nothing://host/a.txt",))
    with pytest.raises(EngineMissing, match="no reader of nothing:// is known"):
        run_trial(get_engine("native"), unknown, plan)


class SharedSession(Engine):
    """The engine without the end of its session, which the later tests share."""

    name = SparkEngine.name
    capabilities = SparkEngine.capabilities

    def __init__(self, engine: SparkEngine) -> None:
        self._engine = engine

    @property
    def workloads(self) -> frozenset[str]:
        return self._engine.workloads

    def missing(self) -> str | None:
        return self._engine.missing()

    def run(self, trial: Trial, output: Path, scratch: Path) -> Outcome:
        return self._engine.run(trial, output, scratch)


def test_a_file_is_copied_in_blocks_of_a_requested_size(cluster: Running, tmp_path: Path) -> None:
    file = tmp_path / "numbers"
    file.write_bytes(bytes(range(256)) * 1024)
    uri = f"{cluster.uri}/copied/numbers"
    copy(file, uri, BLOCK_BYTES)
    assert len(hosts(cluster, uri)) == file.stat().st_size // BLOCK_BYTES
