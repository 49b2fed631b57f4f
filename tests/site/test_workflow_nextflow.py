"""Nextflow: the modules of `workflows/nextflow` run, as they are and as stubs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import maven
from workflowkit import WORKFLOWS, write_inputs

ARTIFACTS = ("io.nextflow:nextflow:25.04.4", "io.nextflow:nf-lang:25.04.0")
EXCLUDED = ("io.seqera:lib-trace",)
"""A dependency of it that no repository has, and that no run needs."""
OPENED = ("java.lang", "java.io", "java.nio", "java.net", "java.util", "sun.nio.ch", "sun.nio.fs")


@pytest.fixture(scope="module")
def nextflow() -> list[str]:
    """The command of Nextflow, by its jars."""
    java = shutil.which("java")
    if java is None or not maven.is_installed():
        pytest.skip("Java or Maven is not installed")
    jars = maven.jars("nextflow", ARTIFACTS, EXCLUDED)
    opened = [f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in OPENED]
    return [java, "-Xmx512m", *opened, "-cp", f"{jars}/*", "nextflow.cli.Launcher"]


@pytest.mark.parametrize("mode", [["-stub"], []], ids=["stubs", "programs"])
def test_all_modules_run(nextflow: list[str], mode: list[str], tmp_path: Path) -> None:
    inputs = write_inputs(tmp_path / "in")
    shutil.copytree(WORKFLOWS / "nextflow", tmp_path / "nextflow")
    tests = tmp_path / "nextflow" / "tests"
    places = {"NXF_HOME": str(tmp_path / "home"), "NXF_OFFLINE": "true", "NXF_ANSI_LOG": "false"}
    places["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [*nextflow, "run", "main.nf", "--input", str(inputs), *mode],
        cwd=tests,
        env=os.environ | places,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    results = tests / "results"
    assert (results / "all" / "isolates.tsv").is_file()
    if not mode:
        contigs = (results / "sample" / "contigs.fa").read_text()
        assert contigs.startswith(">contig_1 length=5000")
        assert len((results / "network" / "modules.gmt").read_text().splitlines()) == 2
    works = list(tests.glob("work/*/*/.exitcode"))
    assert len(works) == 4
    records = [json.loads(path.read_text()) for path in tests.glob("work/*/*/*/run.json")]
    assert all(record["verified"] is True for record in records)
    assert len(records) == (0 if mode else 3)
