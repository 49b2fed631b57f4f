"""Assemblers and unitig builders of other projects, as their users start them."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from harness import limits
from harness.model import THREADS, Sample
from harness.reads import ReadPairs

UNLIMITED_BYTES = 1 << 40
PACKAGES = {
    "bcalm": "Debian's bcalm",
    "minia": "Debian's minia",
    "megahit": "Debian's megahit",
    "spades.py": "Debian's spades",
    "skesa": "Debian's skesa",
    "shovill": "Debian's shovill",
    "fastp": "Debian's fastp",
    "cuttlefish": "the crate cuttlefish-rs-cli",
    "quast.py": "quast of PyPI",
}


def missing(command: str) -> str | None:
    """Why a command cannot run, or None."""
    return None if shutil.which(command) else f"{command} is not installed: {PACKAGES[command]}"


def run(words: Sequence[object]) -> Sample:
    """Run a complete process; return its time and peak. Errors: `RuntimeError` with its output."""
    command = shutil.which(str(words[0]))
    return limits.run([command or str(words[0]), *map(str, words[1:])], UNLIMITED_BYTES)


def listed(reads: ReadPairs, folder: Path) -> Path:
    """A file with the names of both files."""
    path = folder / "reads.txt"
    path.write_text(f"{reads.first}\n{reads.second}\n")
    return path


def bcalm(reads: ReadPairs, folder: Path) -> Sample:
    """Unitigs of 31-mers seen three times: `folder/out.unitigs.fa`."""
    return bcalm_of(listed(reads, folder), folder, times=3)


def bcalm_of(source: Path, folder: Path, *, times: int) -> Sample:
    """Unitigs of 31-mers of a file, or of those it lists, seen so many times."""
    shape = ["-kmer-size", "31", "-abundance-min", times, "-nb-cores", THREADS]
    return run(["bcalm", "-in", source, *shape, "-out", folder / "out"])


def cuttlefish(reads: ReadPairs, folder: Path) -> Sample:
    """Unitigs of 31-mers by edges seen three times."""
    words = ["--read", "-k", "31", "-c", "3", "-t", str(THREADS), "-w", folder]
    both = ["-s", f"{reads.first},{reads.second}"]
    return run(["cuttlefish", "build", *both, *words, "-o", folder / "out"])


def cuttlefish_of(genome: Path, folder: Path) -> Sample:
    """Unitigs by all edges of a genome: `folder/out.fa`."""
    words = ["--ref", "-k", "31", "-t", str(THREADS), "-w", folder, "-o", folder / "out"]
    return run(["cuttlefish", "build", "-s", genome, *words])


def minia(reads: ReadPairs, folder: Path) -> Sample:
    """Contigs of 31-mers: `folder/out.contigs.fa`."""
    shape = ["-kmer-size", "31", "-abundance-min", "3", "-nb-cores", str(THREADS)]
    return run(["minia", "-in", listed(reads, folder), *shape, "-out", folder / "out"])


def megahit(reads: ReadPairs, folder: Path, *, pairs: bool) -> Sample:
    """Contigs of several sizes of k-mers: `folder/out/final.contigs.fa`."""
    pair_words: list[str | Path] = ["-1", reads.first, "-2", reads.second]
    both = pair_words if pairs else ["-r", f"{reads.first},{reads.second}"]
    return run(["megahit", *both, "-t", str(THREADS), "-o", folder / "out"])
