"""MultiQC reads a folder of samples by itself, strictly and without a warning."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cuesta.cli.app import call
from sampleskit import write_isolates

REQUIREMENTS = Path(__file__).with_name("multiqc-requirements.txt")
NAMES = ("KP-07", "0042", "x.1")


@pytest.fixture(scope="module")
def multiqc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """MultiQC in an environment of its own, from pinned packages."""
    folder = tmp_path_factory.mktemp("multiqc") / "venv"
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, folder], check=True)
    python = folder / "bin" / "python"
    install: list[str | Path] = [uv, "pip", "install", "-q", "--require-hashes"]
    install += ["--python", python]
    subprocess.run([*install, "-r", REQUIREMENTS], check=True)
    yield folder / "bin" / "multiqc"
    shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_multiqc_finds_all_samples_without_a_warning(multiqc: Path, tmp_path: Path) -> None:
    sheet = write_isolates(tmp_path, NAMES)
    words = ["run", "assemble", "--samples", str(sheet), "-o", str(tmp_path / "all")]
    assert call(words) == 0
    page = tmp_path / "page"
    done = subprocess.run(
        [multiqc, "--strict", "--no-version-check", tmp_path / "all", "-o", page],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    log = (page / "multiqc_data" / "multiqc.log").read_text()
    assert not [line for line in log.splitlines() if "[WARNING" in line or "[ERROR" in line]
    data = json.loads((page / "multiqc_data" / "multiqc_data.json").read_text())
    quast = data["report_saved_raw_data"]["multiqc_quast"]
    assert set(quast) == set(NAMES)
    assert {row["N50"] for row in quast.values()} == {5000.0}
    html = (page / "multiqc_report.html").read_text()
    assert "Cuesta assembly" in html
    assert "1500:3.0x" in html
