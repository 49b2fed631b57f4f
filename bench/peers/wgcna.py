"""WGCNA in R, as a process of its own."""

from __future__ import annotations

import shutil
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
    words = [shutil.which("Rscript") or "Rscript", str(SCRIPT), job, str(matrix), str(folder)]
    return limits.run(words, UNLIMITED_BYTES)


def missing() -> str | None:
    """Why it cannot take part, or None."""
    if shutil.which("Rscript") is None:
        return "no R (Debian's r-cran-wgcna and libopenblas0-pthread)"
    if not version():
        return "no WGCNA (Debian's r-cran-wgcna)"
    if "openblas" not in version():
        return "R has its slow BLAS (Debian's libopenblas0-pthread)"
    return None


@cache
def version() -> str:
    """Versions of WGCNA and R, and R's BLAS; empty without them."""
    if shutil.which("Rscript") is None:
        return ""
    words = ["Rscript", str(SCRIPT), "version"]
    return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
