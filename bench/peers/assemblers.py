"""Assemblers and unitig builders of others, as their users start them."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from harness import limits
from harness.model import THREADS, Sample
from harness.reads import Mates

UNLIMITED_BYTES = 1 << 40
PACKAGES = {
    "bcalm": "Debian's bcalm",
    "minia": "Debian's minia",
    "megahit": "Debian's megahit",
    "spades.py": "Debian's spades",
    "cuttlefish": "the crate cuttlefish-rs-cli",
    "quast.py": "quast of PyPI",
}


def missing(command: str) -> str | None:
    """Why a command cannot run, or None."""
    return None if shutil.which(command) else f"{command} is not installed: {PACKAGES[command]}"


def run(words: Sequence[object]) -> Sample:
    """The whole process, its time and its peak. Errors: `RuntimeError` with what it said."""
    found = shutil.which(str(words[0]))
    return limits.run([found or str(words[0]), *map(str, words[1:])], UNLIMITED_BYTES)


def listed(reads: Mates, folder: Path) -> Path:
    """A file with the names of both files."""
    path = folder / "reads.txt"
    path.write_text(f"{reads.one}\n{reads.two}\n")
    return path


def bcalm(reads: Mates, folder: Path) -> Sample:
    """Unitigs of 31-mers seen three times: `folder/out.unitigs.fa`."""
    return bcalm_of(listed(reads, folder), folder, times=3)


def bcalm_of(given: Path, folder: Path, *, times: int) -> Sample:
    """Unitigs of 31-mers of a file, or of those it lists, seen so many times."""
    shape = ["-kmer-size", "31", "-abundance-min", times, "-nb-cores", THREADS]
    return run(["bcalm", "-in", given, *shape, "-out", folder / "out"])


def cuttlefish(reads: Mates, folder: Path) -> Sample:
    """Unitigs of 31-mers by edges seen three times."""
    words = ["--read", "-k", "31", "-c", "3", "-t", str(THREADS), "-w", folder]
    both = ["-s", f"{reads.one},{reads.two}"]
    return run(["cuttlefish", "build", *both, *words, "-o", folder / "out"])


def cuttlefish_of(genome: Path, folder: Path) -> Sample:
    """Unitigs by all edges of a genome: `folder/out.fa`."""
    words = ["--ref", "-k", "31", "-t", str(THREADS), "-w", folder, "-o", folder / "out"]
    return run(["cuttlefish", "build", "-s", genome, *words])


def minia(reads: Mates, folder: Path) -> Sample:
    """Contigs of 31-mers: `folder/out.contigs.fa`."""
    shape = ["-kmer-size", "31", "-abundance-min", "3", "-nb-cores", str(THREADS)]
    return run(["minia", "-in", listed(reads, folder), *shape, "-out", folder / "out"])


def megahit(reads: Mates, folder: Path, *, pairs: bool) -> Sample:
    """Contigs of several sizes of k-mers: `folder/out/final.contigs.fa`."""
    mates: list[str | Path] = ["-1", reads.one, "-2", reads.two]
    both = mates if pairs else ["-r", f"{reads.one},{reads.two}"]
    return run(["megahit", *both, "-t", str(THREADS), "-o", folder / "out"])


def spades(reads: Mates, folder: Path) -> Sample:
    """Contigs and scaffolds: `folder/out/contigs.fasta` and `folder/out/scaffolds.fasta`."""
    mates = ["-1", reads.one, "-2", reads.two]
    return run(["spades.py", "--isolate", *mates, "-t", THREADS, "-o", folder / "out"])
