"""Made isolates, a genome and a plasmid each, and sheets of them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assemblykit import drawn, read_pairs_of, write_fastq

GENOME_BASES, PLASMID_BASES, PLASMID_COPIES = 5000, 1500, 3


def write_isolate(folder: Path, name: str, seed: int) -> tuple[Path, Path]:
    """Write the read pairs of a circular genome, 40x, and of a plasmid of three copies."""
    genome, plasmid = drawn(GENOME_BASES, seed), drawn(PLASMID_BASES, seed + 100)
    ones, twos = read_pairs_of(genome, 40, 300, seed)
    more_ones, more_twos = read_pairs_of(plasmid, 40 * PLASMID_COPIES, 300, seed + 1)
    first = write_fastq(folder / f"{name}_1.fq", ones + more_ones)
    second = write_fastq(folder / f"{name}_2.fq", twos + more_twos)
    return first, second


def write_sheet(folder: Path, names: Sequence[str], sheet: str = "sheet.csv") -> Path:
    """Write a sheet of nf-core with the isolates of these names."""
    rows = [f"{name},{name}_1.fq,{name}_2.fq" for name in names]
    path = folder / sheet
    path.write_text("\n".join(["sample,fastq_1,fastq_2", *rows]) + "\n")
    return path


def write_isolates(folder: Path, names: Sequence[str]) -> Path:
    """Write isolates and their sheet."""
    for seed, name in enumerate(names, start=1):
        write_isolate(folder, name, seed)
    return write_sheet(folder, names)


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a batch, but its records, which have times."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "run.json"
    }
