"""`kmeans` on Spark produces the bytes of the native engine."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

import numpy as np

from cuesta.errors import InputError
from cuesta.native import native_module
from sparkkit import run, spark, trial

__all__ = ["spark"]

pytestmark = pytest.mark.usefixtures("spark")


@pytest.fixture(scope="module")
def points(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = str(tmp_path_factory.mktemp("points") / "x.npy")
    request = {"rows": 200_000, "dimensions": 9, "clusters": 6, "spread": 100.0, "float64": False}
    more = {"output": path, "seed": 5, "threads": 2}
    native_module().data_make("points", json.dumps(request | more))
    return path


def test_spark_produces_the_same_bytes_for_any_tasks(points: str, tmp_path: Path) -> None:
    parameters = {"clusters": 6, "iterations": 8}
    sizes = ("1MB", "3MB", "1GB")
    jobs = [trial("kmeans", [points], parameters, task_bytes=size) for size in sizes]
    _, expected = run(jobs[0], tmp_path, "native")
    for job in jobs:
        outcome, files = run(job, tmp_path)
        assert files == expected
        names = {phase.name for phase in outcome.phases}
        assert {"read", "streamed iteration 8", "assign"} <= names


def test_an_executor_names_a_bad_point_in_a_single_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.npy"
    x = np.ones((1000, 3))
    x[700, 1] = np.inf
    np.save(path, x)
    with pytest.raises(InputError, match=r"coordinate 2 of point 701 of .*bad.npy is inf"):
        run(trial("kmeans", [str(path)], {"clusters": 2}), tmp_path)
