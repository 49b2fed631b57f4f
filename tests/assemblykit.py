"""Synthetic genomes and reads for the tests of `assemble`."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from cuesta.cli.app import call
from cuesta.lab import record as records
from cuesta.lab.verify import verify
from cuesta.testing.reads import drawn, reads_of, turned, write_fastq

__all__ = ["drawn", "reads_of", "turned", "write_fastq"]

FILES = ("contigs.fa", "unitigs.fa", "graph.gfa", "spectrum.tsv", "stats.json")


def read_pairs_of(genome: str, depth: int, insert: int, seed: int) -> tuple[list[str], list[str]]:
    """Return both ends of fragments of a circular genome, each read towards the other."""
    chance = random.Random(seed)
    double, ones, twos = genome + genome[:1000], [], []
    for _ in range(depth * len(genome) // 200):
        start, length = chance.randrange(len(genome)), round(chance.gauss(insert, 20))
        stretch = double[start : start + length]
        stretch = stretch if chance.random() < 0.5 else turned(stretch)
        ones.append(stretch[:100])
        twos.append(turned(stretch)[:100])
    return ones, twos


def assemble(inputs: list[Path], output: Path, *more: str) -> Path:
    """Assemble; return the folder of the answer."""
    words = ["run", "assemble", *map(str, inputs), *more, "-o", str(output), "--overwrite"]
    assert call(words) == 0
    return output


def record(answer: Path) -> dict[str, Any]:
    """Return the record of a verified run."""
    fields: dict[str, Any] = json.loads((answer / "run.json").read_text())
    assert fields["verified"]
    return fields


def contigs(answer: Path) -> list[str]:
    """Return the bases of the contigs."""
    return (answer / "contigs.fa").read_text().split("\n")[1::2]


def fault(answer: Path, scratch: Path) -> str:
    """Return the fault that the verifier reports without the checksums of the files."""
    scratch.mkdir(exist_ok=True)
    verification = verify(records.trial_of(records.read(answer)), answer, scratch)
    assert not verification.verified
    return verification.fault
