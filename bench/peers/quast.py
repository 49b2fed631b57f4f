"""QUAST, which compares contigs with the genome of their reads."""

from __future__ import annotations

import subprocess
from pathlib import Path

from harness.model import THREADS

QUAST = "quast.py"
MIN_CONTIG_BASES = 500


def report(sequences: Path, genome: Path, folder: Path) -> dict[str, str]:
    """QUAST's report of a file, by its own names, such as `NGA50`. Errors: `CalledProcessError`."""
    words = [QUAST, "--fast", "-t", str(THREADS), "-r", str(genome), "-o", str(folder)]
    words += ["--min-contig", str(MIN_CONTIG_BASES), str(sequences)]
    subprocess.run(words, check=True, capture_output=True)
    lines = (folder / "report.tsv").read_text().splitlines()
    return dict(line.split("\t", 1) for line in lines)
