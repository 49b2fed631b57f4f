"""Synthetic genomes and reads."""

from __future__ import annotations

import random
from pathlib import Path

_COMPLEMENTS = str.maketrans("ACGT", "TGCA")


def turned(sequence: str) -> str:
    """Return the reverse complement."""
    return sequence.translate(_COMPLEMENTS)[::-1]


def drawn(length: int, seed: int) -> str:
    """Return random bases."""
    return "".join(random.Random(seed).choices("ACGT", k=length))


def reads_of(genome: str, depth: int, errors: float, seed: int) -> list[str]:
    """Return reads of 100 bases from either strand of a circular genome."""
    chance = random.Random(seed)
    double, reads = genome + genome[:100], []
    for _ in range(depth * len(genome) // 100):
        start = chance.randrange(len(genome))
        read = list(double[start : start + 100])
        for place in range(100):
            if chance.random() < errors:
                read[place] = chance.choice("ACGT")
        text = "".join(read)
        reads.append(text if chance.random() < 0.5 else turned(text))
    return reads


def write_fastq(path: Path, reads: list[str]) -> Path:
    """Write reads with good qualities."""
    text = "".join(f"@r{index}\n{read}\n+\n{'I' * len(read)}\n" for index, read in enumerate(reads))
    path.write_text(text)
    return path
