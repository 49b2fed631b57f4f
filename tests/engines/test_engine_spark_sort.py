"""`sort` on Spark writes the file of the native engine, whatever its tasks do."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from cuesta.cli.app import call
from cuesta.errors import InputError
from cuesta.trial import Outcome
from sparkkit import run, spark, trial

__all__ = ["spark"]

pytestmark = pytest.mark.usefixtures("spark")


def make(path: Path, rows: int, *more: str) -> str:
    assert call(["data", "make", "tera", "--rows", str(rows), *more, "-o", str(path)]) == 0
    return str(path)


def same_as_native(paths: list[str], folder: Path, **options: str) -> Outcome:
    job = trial("sort", paths, {}, **options)
    _, expected = run(job, folder, "native")
    outcome, files = run(job, folder)
    assert files == expected
    return outcome


@pytest.mark.parametrize("kind", ["tera", "skewed", "equal", "reverse"])
def test_spark_writes_the_same_file(tmp_path: Path, kind: str) -> None:
    paths = [make(tmp_path / name, 7_001, "--kind", kind) for name in "ab"]
    outcome = same_as_native(paths, tmp_path, task_bytes="90kB", partitions="10")
    assert outcome.counts["parts"] == 10
    assert outcome.counts["largest_part"] < 2 * 1_400


@pytest.mark.parametrize("rows", [0, 1, 3])
def test_fewer_records_than_tasks_are_sorted(tmp_path: Path, rows: int) -> None:
    same_as_native([make(tmp_path / "few", rows)], tmp_path)


def test_a_truncated_file_is_reported_before_any_task(tmp_path: Path) -> None:
    (tmp_path / "cut").write_bytes(bytes(150))
    with pytest.raises(InputError, match="150 bytes, 50 more than"):
        run(trial("sort", [str(tmp_path / "cut")], {}), tmp_path)


def test_a_file_system_that_does_not_answer_is_named_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"opening hdfs://localhost:1/a failed: .*; check host and port"
    ):
        run(trial("sort", ["hdfs://localhost:1/a"], {}), tmp_path)
