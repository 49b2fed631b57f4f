"""QUAST, which compares contigs with the genome of their reads."""

from __future__ import annotations

import hashlib
import json
import subprocess
import tempfile
from pathlib import Path

from harness.model import THREADS
from peers.cached import digest, version

QUAST = "quast.py"
MIN_CONTIG_BASES = 500


def report(
    sequences: Path, genome: Path, folder: Path, words: tuple[str, ...] = ()
) -> dict[str, str]:
    """QUAST's report of a file, by its own names, such as `NGA50`. Errors: `CalledProcessError`."""
    command = [QUAST, "--fast", "-t", str(THREADS), "-r", str(genome), "-o", str(folder), *words]
    command += ["--min-contig", str(MIN_CONTIG_BASES), str(sequences)]
    subprocess.run(command, check=True, capture_output=True)
    lines = (folder / "report.tsv").read_text().splitlines()
    return dict(line.split("\t", 1) for line in lines)


def cached_report(
    sequences: Path, genome: Path, cache: Path, words: tuple[str, ...] = ()
) -> dict[str, str]:
    """As `report`, from `cache` where the same sequences were judged before."""
    digests = (digest(sequences), digest(genome))
    facts = [version(QUAST), *digests, str(MIN_CONTIG_BASES), *words]
    made = cache / f"quast-{hashlib.sha256(' '.join(facts).encode()).hexdigest()[:20]}.json"
    if not made.exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="partial-", dir=cache) as folder:
            measured = report(sequences, genome, Path(folder, "quast"), words)
            partial = Path(folder, "report.json")
            partial.write_text(json.dumps(measured, indent=1) + "\n")
            partial.rename(made)
    answer: dict[str, str] = json.loads(made.read_text())
    return answer
