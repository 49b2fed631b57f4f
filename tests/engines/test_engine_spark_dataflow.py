"""`dataflow` on Spark: with our kernels and NumPy's, cached or not, always the native table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

from pyspark.sql import SparkSession

from cuesta.cli.app import call
from cuesta.engines.spark import executor
from cuesta.errors import InputError
from cuesta.report.records import to_run
from cuesta_lab.report.whatif import what_if
from labkit import vector_files
from sparkkit import engine, run, same_as_native, spark, trial

__all__ = ["spark"]

pytestmark = pytest.mark.usefixtures("spark")

SMALL: dict[str, Any] = {"blocks": 5, "block_vectors": 100, "shift": "1.5,-999.99,0"}


@pytest.mark.parametrize("kernels", ["native", "numpy"])
@pytest.mark.parametrize(
    "more",
    [
        {},
        {"stages": "separate"},
        {"stages": "separate", "keep": "memory"},
        {"stages": "separate", "keep": "disk"},
    ],
    ids=str,
)
def test_the_table_is_that_of_the_native_engine(
    kernels: str, more: dict[str, Any], tmp_path: Path
) -> None:
    outcome = same_as_native(trial("dataflow", [], SMALL | more, kernels=kernels), tmp_path)
    names = [phase.name for phase in outcome.phases if phase.name != "start"]
    keep = more.get("keep")
    stages = ["generate", "shift", "average"] if keep else ["pipeline"]
    assert names == [*stages, "reduce", "write"]
    if keep and kernels == "numpy":
        where = {"memory": "kept_memory_bytes", "disk": "kept_disk_bytes"}[keep]
        assert outcome.counts[where] > 5 * 100 * 24


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Files of 3-vectors; a block spans all of them."""
    return vector_files(tmp_path)


@pytest.mark.parametrize("kernels", ["native", "numpy"])
@pytest.mark.parametrize(
    "more",
    [{}, {"stages": "separate"}, {"stages": "separate", "keep": "memory"}],
    ids=str,
)
def test_vectors_of_files_give_the_table_of_the_native_engine(
    kernels: str, more: dict[str, Any], files: list[str], tmp_path: Path
) -> None:
    job = trial("dataflow", files, {"block_vectors": 50} | more, kernels=kernels)
    outcome = same_as_native(job, tmp_path)
    assert (outcome.counts["vectors"], outcome.counts["blocks"]) == (238, 5)


@pytest.mark.parametrize("kernels", ["native", "numpy"])
def test_a_number_that_is_too_large_is_refused_by_all_kernels(
    kernels: str, files: list[str], tmp_path: Path
) -> None:
    vectors = np.load(files[2])
    vectors[100, 1] = np.nan
    np.save(files[2], vectors)
    message = (
        "above .* or none" if kernels == "numpy" else r"coordinate 2 of point 101 of .*c.npy is"
    )
    with pytest.raises(InputError, match=message):
        run(trial("dataflow", files, {"block_vectors": 50}, kernels=kernels), tmp_path)


@pytest.mark.parametrize("partitions", ["1", "4", "9"])
def test_the_number_of_partitions_changes_nothing(partitions: str, tmp_path: Path) -> None:
    outcome = same_as_native(trial("dataflow", [], SMALL, partitions=partitions), tmp_path)
    assert outcome.counts["tasks"] == int(partitions)


def test_blocks_too_large_for_rows_are_refused_before_they_are_made(tmp_path: Path) -> None:
    large = {"blocks": 2, "block_vectors": 1 << 26, "stages": "separate"}
    with pytest.raises(
        InputError, match=r"a block of every task at once \(smaller --block-vectors"
    ):
        run(trial("dataflow", [], large), tmp_path)


@pytest.mark.parametrize(
    ("large", "message"),
    [
        ({"block_vectors": 1 << 25, "stages": "separate"}, "a block of 768 MiB is too large for"),
        ({"block_vectors": 1 << 23, "stages": "separate", "keep": "disk"}, "a block of 192 MiB is"),
        ({"blocks": 1 << 24, "block_vectors": 1}, "the sums of 16777216 blocks do not fit in the"),
    ],
    ids=str,
)
def test_what_numpy_has_no_memory_for_is_refused_before_it_is_made(
    large: dict[str, Any], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        run(trial("dataflow", [], {"blocks": 2} | large, kernels="numpy"), tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernels": "fortran"}, "--kernels is fortran, choose from native, numpy"),
        ({"kernels": "c"}, "--kernels is c, choose from native, numpy"),
        ({"partitions": "0"}, "partitions is 0, give 1 to"),
        ({"partitions": "x"}, "partitions is x, give 1 to"),
    ],
    ids=str,
)
def test_a_wrong_option_is_named(options: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        run(trial("dataflow", [], SMALL, **options), tmp_path)


@pytest.mark.parametrize(
    ("flag", "engine"), [("--kernels=numpy", "native"), ("--ranks=2", "spark")]
)
def test_a_flag_of_another_engine_is_refused(
    flag: str, engine: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["run", "dataflow", "--engine", engine, flag, "-o", str(tmp_path / "a")]
    assert call(words) == 2
    assert f"{flag.split('=')[0]} is for engine" in capsys.readouterr().err


@pytest.mark.parametrize("kernels", ["native", "numpy"])
def test_what_python_computed_in_tasks_is_counted(kernels: str, tmp_path: Path) -> None:
    """Spark counts processor time of the JVM alone, so most of the task time had no cause. Now
    Python's time is counted.
    """
    parameters = {**SMALL, "blocks": 6, "block_vectors": 300_000}
    run(trial("dataflow", [], parameters, kernels=kernels), tmp_path)
    log = engine().log_totals()
    assert 0 < log["python_cpu_seconds"] < 2 * log["task_seconds"]
    assert 0 <= log["python_queued_seconds"] < 2 * log["task_seconds"]
    assert 0 <= log["python_blocked_seconds"] < log["task_seconds"]
    # For a query, not for an RDD, Spark reports the time to start Python.
    assert ("python_start_seconds" in log) == (kernels == "native")
    assert log.get("python_start_seconds", 0) < log["task_seconds"]


def test_a_worker_finds_the_threads_of_the_jvm_that_feed_it(tmp_path: Path) -> None:
    def feeding_threads(_number: int) -> tuple[str, list[str]]:
        name = Path(f"/proc/{executor.jvm()}/comm").read_text("ascii").strip()
        return name, [(thread / "comm").read_text("ascii") for thread in executor.feeding(0)]

    run(trial("dataflow", [], SMALL), tmp_path)
    context = SparkSession.active().sparkContext
    name, threads = context.parallelize([0], 1).map(feeding_threads).first()
    assert name == "java"
    assert threads
    assert all(thread.startswith("Executor task") for thread in threads)


def test_the_record_has_the_figures_of_the_event_log(tmp_path: Path) -> None:
    words = ["run", "dataflow", "--engine", "spark", "--blocks", "5", "--block-vectors", "100"]
    more = ["--engine-option", "partitions=4", "--repeat", "2", "-o", str(tmp_path / "a")]
    engine().close()
    assert call([*words, *more]) == 0
    record = json.loads((tmp_path / "a" / "run.json").read_text())
    log = record["engine_log"]
    assert (log["jobs"], log["stages"], log["tasks"], log["tasks_failed"]) == (1, 1, 4, 0)
    assert 0 < log["run_seconds"] <= log["task_seconds"]
    # The representative repeat may be the one that also starts the session.
    (stage,) = record["stages"]
    assert stage["tasks"] == 4
    assert 0 <= stage["began"] < stage["began"] + stage["seconds"] <= record["wall_seconds"] + 0.01
    assert len(stage["each"]["task_seconds"]) == 4
    assert sum(stage["each"]["task_seconds"]) == pytest.approx(log["task_seconds"], abs=0.01)
    replayed = what_if(to_run(record, "a"))
    assert replayed is not None
    assert replayed.tasks == 4
    assert replayed.describes_the_run
