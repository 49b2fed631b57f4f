"""`sort` on Spark: the file that the native engine writes, whatever tasks do."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyspark")

from cuesta.cli.app import call
from cuesta.engines.spark import sort as engine_sort
from cuesta.errors import InputError
from cuesta.lab.request import native_module
from cuesta.lab.trial import Outcome
from sparkkit import run, spark, trial

__all__ = ["spark"]

pytestmark = pytest.mark.usefixtures("spark")


def make(path: Path, rows: int, *more: str) -> str:
    assert call(["data", "make", "tera", "--rows", str(rows), *more, "-o", str(path)]) == 0
    return str(path)


def same_as_native(paths: list[str], folder: Path, **options: str) -> Outcome:
    wanted = trial("sort", paths, {}, **options)
    _, expected = run(wanted, folder, "native")
    outcome, files = run(wanted, folder)
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


def test_a_file_that_is_cut_short_is_told_before_any_task(tmp_path: Path) -> None:
    (tmp_path / "cut").write_bytes(bytes(150))
    with pytest.raises(InputError, match="150 bytes, 50 more than"):
        run(trial("sort", [str(tmp_path / "cut")], {}), tmp_path)


def test_a_file_system_that_does_not_answer_is_named_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"opening hdfs://localhost:1/a failed: .*; check the address"
    ):
        run(trial("sort", ["hdfs://localhost:1/a"], {}), tmp_path)


def test_a_task_that_cannot_open_the_answer_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder of the answer is not there for the executors."""
    path = make(tmp_path / "a", 10)

    class Without:
        def __getattr__(self, name: str) -> object:
            return getattr(native_module(), name)

        def sort_create(self, folder: str, _records: int) -> None:
            assert Path(folder).is_dir()

    monkeypatch.setattr(engine_sort, "native_module", Without)
    with pytest.raises(InputError, match=r"opening .*sorted\.dat failed: No such file"):
        run(trial("sort", [path], {}), tmp_path)


def test_places_leave_no_gap(tmp_path: Path) -> None:
    """Shares cut at the same entries give blocks that fill the answer exactly."""
    native = native_module()
    inputs = json.dumps([make(tmp_path / "a", 1_000, "--kind", "skewed")])
    cuts = native.sort_cuts(native.sort_sample(inputs, (0, 1_000), 300), 7)
    shares = [(0, 400), (400, 400), (800, 200)]
    counts = np.array([native.sort_count(inputs, share, cuts) for share in shares])
    assert counts.sum() == 1_000
    assert counts.shape == (3, 7)
    out = np.empty(40_000, dtype=np.uint8)
    assert native.sort_divide(inputs, 400, cuts, out) == counts[1].tolist()
    with pytest.raises(ValueError, match="whole records"):
        native.sort_divide(inputs, 0, cuts, out[:150])
    with pytest.raises(ValueError, match="C-contiguous"):
        native.sort_write(out[::2], str(tmp_path), 0)
