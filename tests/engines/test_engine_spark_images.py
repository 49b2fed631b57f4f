"""`images` on Spark produces the bytes of the native engine."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("pyspark")
pytest.importorskip("pyarrow")

import numpy as np

from cuesta.errors import InputError
from sparkkit import run, same_as_native, spark, trial

__all__ = ["spark"]

pytestmark = pytest.mark.usefixtures("spark")


def test_spark_produces_the_same_bytes_for_any_tasks(tmp_path: Path) -> None:
    folder = tmp_path / "stack"
    folder.mkdir()
    random = np.random.default_rng(3)
    for index, images in enumerate((1, 5, 3)):
        levels = random.integers(0, 1000, (images, 40 + index, 50), dtype=np.uint16)
        np.save(folder / f"{index}.npy", levels)
    for options in ({}, {"partitions": "1"}, {"partitions": "4"}, {"partitions": "20"}):
        job = trial("images", [str(folder)], {"min_pixels": 3}, **options)
        outcome = same_as_native(job, tmp_path)
        assert [phase.name for phase in outcome.phases][-3:] == ["list", "images", "reduce"]
        assert outcome.counts["tasks"] == int(options.get("partitions", 6))


def test_an_executor_names_a_bad_image_in_a_single_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.npy"
    images = np.ones((9, 3, 5))
    images[7, 1, 2] = np.nan
    np.save(path, images)
    message = r"image 7 \(page 7 of .*bad.npy\) has NaN at row 1, column 2"
    with pytest.raises(InputError, match=message):
        run(trial("images", [str(path)], {}, partitions="3"), tmp_path)
    with pytest.raises(InputError, match="--kernels numpy is for dataflow"):
        run(trial("images", [str(path)], {}, kernels="numpy"), tmp_path)
