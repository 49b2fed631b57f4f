"""WGCNA in R, as a process of its own."""

from __future__ import annotations

import subprocess
from functools import cache
from pathlib import Path

from harness import limits
from harness.model import Sample
from peers.assemblers import UNLIMITED_BYTES

NAME = "R WGCNA"
SCRIPT = Path(__file__).with_suffix(".R")


def run(job: str, matrix: Path, folder: Path) -> Sample:
    """Run a job of the script on a matrix, its tables into `folder`."""
    return limits.run(["Rscript", str(SCRIPT), job, str(matrix), str(folder)], UNLIMITED_BYTES)


@cache
def missing() -> str | None:
    """Why it cannot take part, or None."""
    try:
        done = subprocess.run(
            ["Rscript", str(SCRIPT), "version"], capture_output=True, text=True, check=False
        )
    except OSError:
        return "no R (Debian's r-cran-wgcna and libopenblas0-pthread)"
    if done.returncode:
        return "no WGCNA (Debian's r-cran-wgcna)"
    if "openblas" not in done.stdout:
        return "R has its slow BLAS (Debian's libopenblas0-pthread)"
    return None
