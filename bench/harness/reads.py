"""Reads of a genome, made once: by ART from a real one where both are installed, else by seed."""

from __future__ import annotations

import gzip
import random
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

GENOME = Path("/usr/share/doc/bowtie/examples/genomes/NC_008253.fna.gz")
"""E. coli 536, of Debian's bowtie-examples."""
ART = "art_illumina"
ART_WORDS = "-ss HS20 -p -l 100 -f 50 -m 300 -s 30 -rs 42 -na"
READ_BASES = 100
DEPTH = 50
ERRORS = 0.005
SMOKE_BASES = 60_000
REAL_BASES = 5_000_000
SHUFFLE_PARTS = 32


@dataclass(frozen=True, kw_only=True)
class Mates:
    """Two files of mates, the genome that they come from, and how they were made."""

    one: Path
    two: Path
    genome: Path
    how: str

    @property
    def files(self) -> tuple[Path, Path]:
        """Both files."""
        return self.one, self.two

    @property
    def bases(self) -> int:
        """Of all reads, which have `READ_BASES` each."""
        lines = 0
        for path in self.files:
            with path.open("rb") as file:
                lines += sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
        return lines // 4 * READ_BASES


def mates(folder: Path, *, smoke: bool) -> Mates:
    """50x of mates of 100 bases, 300 bases apart. Errors: `CalledProcessError` of ART."""
    real = not smoke and GENOME.exists() and shutil.which(ART) is not None
    name = "ecoli" if real else f"drawn-{SMOKE_BASES if smoke else REAL_BASES}"
    how = f"{ART} {ART_WORDS}, E. coli 536" if real else "drawn by seed, 0.5 % errors"
    found = Mates(
        one=folder / f"{name}-50x-1.fq",
        two=folder / f"{name}-50x-2.fq",
        genome=folder / f"{name}.fa",
        how=how,
    )
    if not found.two.exists():
        if real:
            found.genome.write_bytes(gzip.decompress(GENOME.read_bytes()))
            prefix = folder / f"{name}-50x-"
            words = [ART, *ART_WORDS.split(), "-i", str(found.genome), "-o", str(prefix)]
            subprocess.run(words, check=True, capture_output=True)
        else:
            _draw(found, SMOKE_BASES if smoke else REAL_BASES)
    return found


def shuffled(reads: Mates, seed: int = 1) -> Path:
    """One file with the reads of both, made once, in an order that `seed` draws from all orders.

    Reads are dealt to parts at random, and each part is shuffled in memory.
    """
    made = reads.one.with_name(f"{reads.one.stem}-shuffled-{seed}.fq")
    if made.exists():
        return made
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(dir=made.parent) as name:
        parts = [Path(name, f"{index}.fq") for index in range(SHUFFLE_PARTS)]
        with ExitStack() as stack:
            outs = [stack.enter_context(path.open("wb")) for path in parts]
            for path in reads.files:
                for record in _records(path):
                    outs[chance.randrange(SHUFFLE_PARTS)].write(record)
        whole = Path(name, "whole.fq")
        with whole.open("wb") as out:
            for path in parts:
                records = list(_records(path))
                chance.shuffle(records)
                out.writelines(records)
        whole.rename(made)
    return made


def _records(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while record := b"".join(islice(file, 4)):
            yield record


def _draw(made: Mates, bases: int) -> None:
    chance = np.random.default_rng(1)
    letters = np.frombuffer(b"ACGT", dtype=np.uint8)
    genome = chance.integers(0, 4, bases, dtype=np.uint8)
    made.genome.write_bytes(b">drawn\n" + letters[genome].tobytes() + b"\n")
    pairs = DEPTH * bases // (2 * READ_BASES)
    spans = np.clip(chance.normal(300, 30, pairs).round().astype(int), READ_BASES, 500)
    starts = chance.integers(0, bases - 500, pairs)
    other = chance.random(pairs) < 0.5
    ends: list[list[Any]] = [[], []]
    for start, span, turned in zip(starts, spans, other, strict=True):
        piece = genome[start : start + span]
        strands = piece, (3 - piece)[::-1]
        for mate, strand in enumerate(reversed(strands) if turned else strands):
            read = strand[:READ_BASES].copy()
            wrong = chance.random(READ_BASES) < ERRORS
            read[wrong] = chance.integers(0, 4, int(wrong.sum()), dtype=np.uint8)
            ends[mate].append(letters[read].tobytes())
    for path, reads in ((made.one, ends[0]), (made.two, ends[1])):
        quality = b"I" * READ_BASES
        rows = (b"@r%d\n%s\n+\n%s\n" % (index, read, quality) for index, read in enumerate(reads))
        path.write_bytes(b"".join(rows))
