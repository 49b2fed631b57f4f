"""The wheel works where there is no compiler and nothing of the checkout."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

import check_wheel
import setup
import wheel


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_second_empty_environment_installs_and_uses_the_wheel(tmp_path: Path) -> None:
    built = wheel.build(tmp_path)
    assert "-cp311-abi3-" in built.name
    with zipfile.ZipFile(built) as archive:
        names = set(archive.namelist())
    assert "cuesta/engines/mpi/dataflow.c" in names
    assert {"cuesta/spec/cases/points.npy", "cuesta/spec/workloads/scan/cases/all.json"} <= names
    assert ("cuesta/jars/cuesta-spark-jobs.jar" in names) == setup.JAR.exists()
    store = wheel.build(tmp_path, wheel.STORE)
    assert "-cp311-abi3-" in store.name
    with zipfile.ZipFile(store) as archive:
        in_store = set(archive.namelist())
        # In the checkout its name is a link.
        assert b"def parse_size" in archive.read("cuesta_store/units.py")
    assert "cuesta_store/page.html" in in_store
    for jar, files in zip(setup.HADOOP_JARS, (in_store, names), strict=True):
        path = f"{jar.parent.parent.name}/jars/{jar.name}"
        assert (path in files) == jar.exists()
    assert not any(name.startswith("cuesta_store") for name in names)
    assert not any(name.startswith("cuesta/") for name in in_store)
    lab = wheel.build_lab(tmp_path)
    with zipfile.ZipFile(lab) as archive:
        in_lab = set(archive.namelist())
    assert {"cuesta_lab/studies/spark-hpc.toml", "cuesta_lab/model/demands.toml"} <= in_lab
    assert "cuesta_lab/report/templates/study.html.j2" in in_lab
    assert not any(name.startswith("cuesta_lab") for name in names)
    check_wheel.check(built, store, lab)


def test_a_step_that_fails_shows_its_output(tmp_path: Path) -> None:
    command = ["/bin/sh", "-c", "echo no such package >&2; exit 1"]
    with pytest.raises(check_wheel.WheelError, match="no such package"):
        check_wheel.run(command, tmp_path)
