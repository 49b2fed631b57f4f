"""Reads of a genome, made once: by ART from a real one where both are there, else by seed."""

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

from harness.size import Size

GENOME = Path("/usr/share/doc/bowtie/examples/genomes/NC_008253.fna.gz")
"""The genome of E. coli 536, of Debian's bowtie-examples."""
ART = "art_illumina"
ART_WORDS = "-ss HS20 -p -l 100 -m 300 -s 30 -rs 42 -na"
PLASMIDS = Path("/usr/share/unicycler-data/sample_data")
READ_BASES = 100
DEPTH = 50
ERRORS = 0.005
QUALITY = ord("I")
SMOKE_BASES = 60_000
REAL_BASES = 5_000_000
SHUFFLE_PARTS = 32
REPEATS_BASES = 26_000_000
REPEATS_DEPTH = 30
REPEATS_PART = 0.2
REPEATS_APART = 0.03
DRAWN_AT_ONCE = 1 << 17


@dataclass(frozen=True, kw_only=True)
class ReadPairs:
    """Two files of read pairs, their genome, and how they were made."""

    first: Path
    second: Path
    genome: Path
    how: str

    @property
    def files(self) -> tuple[Path, Path]:
        """Both files."""
        return self.first, self.second

    @property
    def bases(self) -> int:
        """Bases of all reads, which have `READ_BASES` each."""
        lines = 0
        for path in self.files:
            with path.open("rb") as file:
                lines += sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))
        return lines // 4 * READ_BASES


def read_pairs(folder: Path, *, smoke: bool) -> ReadPairs:
    """Make read pairs of 50x, 100 bases each, 300 apart. Errors: `CalledProcessError` of ART."""
    if not smoke and GENOME.exists() and shutil.which(ART) is not None:
        return read_pairs_of(folder, GENOME, DEPTH)
    bases = SMOKE_BASES if smoke else REAL_BASES
    drawn = _named(folder, f"drawn-{bases}-{DEPTH}x", "drawn by seed, 0.5 % errors")
    if not drawn.second.exists():
        chance = np.random.default_rng(1)
        _draw(drawn, chance.integers(0, 4, bases, dtype=np.uint8), chance, DEPTH)
    return drawn


def read_pairs_of(folder: Path, genome: Path, depth: int, last: int | None = None) -> ReadPairs:
    """Make read pairs by ART from a gzipped genome, or from its last sequences, once.

    Errors: `CalledProcessError` of ART.
    """
    part = f"-last-{last}" if last else ""
    name = f"{genome.name.split('.')[0]}{part}-{depth}x"
    words = [*ART_WORDS.split(), "-f", str(depth)]
    taken = f"last {last} sequences of {genome.name}" if last else genome.name
    made = _named(folder, name, f"{ART} {' '.join(words)}, {taken}")
    if not made.second.exists():
        sequences = gzip.decompress(genome.read_bytes()).split(b">")[1:]
        selected = sequences[-last:] if last else sequences
        made.genome.write_bytes(b"".join(b">" + sequence for sequence in selected))
        prefix = folder / f"partial-{name}-"
        words = [ART, *words, "-i", str(made.genome), "-o", str(prefix)]
        subprocess.run(words, check=True, capture_output=True)
        for path in made.files:
            path.with_name(f"partial-{path.name}").rename(path)
    return made


def plasmids() -> ReadPairs | None:
    """The short reads of Debian's unicycler-data and the plasmids that they are of, if there."""
    names = ("short_reads_1.fastq.gz", "short_reads_2.fastq.gz", "reference.fasta")
    first, second, genome = (PLASMIDS / name for name in names)
    how = "Debian's unicycler-data"
    return (
        ReadPairs(first=first, second=second, genome=genome, how=how) if genome.exists() else None
    )


def _named(folder: Path, name: str, how: str) -> ReadPairs:
    first, second = (folder / f"{name}-{end}.fq" for end in (1, 2))
    return ReadPairs(first=first, second=second, genome=folder / f"{name}.fa", how=how)


def shuffled(reads: ReadPairs, seed: int = 1) -> Path:
    """Make a file with the reads of both, once, in an order that `seed` draws from all orders.

    Reads are dealt to parts at random, and each part is shuffled in memory.
    """
    made = reads.first.with_name(f"{reads.first.stem}-shuffled-{seed}.fq")
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
        complete = Path(name, "whole.fq")
        with complete.open("wb") as out:
            for path in parts:
                records = list(_records(path))
                chance.shuffle(records)
                out.writelines(records)
        complete.rename(made)
    return made


def _records(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while record := b"".join(islice(file, 4)):
            yield record


def with_repeats(size: Size) -> ReadPairs:
    """Make read pairs of 30x of a genome of 26 Mbp (or a small one), a fifth of it repeats.

    Made once, by seed: families of repeats of 500 to 6,000 bases, each with copies that differ from
    it in up to 3 % of their bases, at random places and on either strand.
    """
    bases = size.pick(SMOKE_BASES, REPEATS_BASES)
    how = f"{bases:,} bases by seed, a fifth in repeats; {REPEATS_DEPTH}x, 0.5 % errors"
    repeats = _named(size.folder, f"repeats-{bases}-{REPEATS_DEPTH}x", how)
    if not repeats.second.exists():
        chance = np.random.default_rng(2)
        genome = chance.integers(0, 4, bases, dtype=np.uint8)
        _repeat(genome, chance)
        _draw(repeats, genome, chance, REPEATS_DEPTH)
    return repeats


def _repeat(genome: Any, chance: np.random.Generator) -> None:
    """Write copies of families over a fifth of a genome."""
    written = 0
    while written < REPEATS_PART * len(genome):
        family = chance.integers(0, 4, int(chance.integers(500, 6000)), dtype=np.uint8)
        for _ in range(int(chance.integers(2, 30))):
            copy = family if chance.random() < 0.5 else (3 - family)[::-1]
            wrong = chance.random(len(copy)) < chance.random() * REPEATS_APART
            copy = np.where(wrong, chance.integers(0, 4, len(copy), dtype=np.uint8), copy)
            start = int(chance.integers(0, len(genome) - len(copy)))
            genome[start : start + len(copy)] = copy
            written += len(copy)


def _draw(made: ReadPairs, genome: Any, chance: np.random.Generator, depth: int) -> None:
    """Write a genome and its reads: `depth` times its bases, 300 apart, `ERRORS` of them wrong."""
    letters = np.frombuffer(b"ACGT", dtype=np.uint8)
    made.genome.write_bytes(b">drawn\n" + letters[genome].tobytes() + b"\n")
    pairs = depth * len(genome) // (2 * READ_BASES)
    partial = [path.with_name(f"partial-{path.name}") for path in made.files]
    along = np.arange(READ_BASES)
    with partial[0].open("wb") as file_1, partial[1].open("wb") as file_2:
        for first in range(0, pairs, DRAWN_AT_ONCE):
            count = min(DRAWN_AT_ONCE, pairs - first)
            spans = np.clip(chance.normal(300, 30, count).round().astype(int), READ_BASES, 500)
            starts = chance.integers(0, len(genome) - 500, count)
            left = genome[starts[:, None] + along]
            right = 3 - genome[(starts + spans - 1)[:, None] - along]
            turned = (chance.random(count) < 0.5)[:, None]
            pair_bases = np.where(turned, right, left), np.where(turned, left, right)
            for file, bases in zip((file_1, file_2), pair_bases, strict=True):
                wrong = chance.random(bases.shape) < ERRORS
                drawn = chance.integers(0, 4, bases.shape, dtype=np.uint8)
                file.write(fastq(first, letters[np.where(wrong, drawn, bases)]))
    for path, final in zip(partial, made.files, strict=True):
        path.rename(final)


def fastq(first: int, reads: Any, qualities: Any = QUALITY) -> bytes:
    """Records of reads of one length, numbered from `first` on with ten digits each."""
    count, length = reads.shape
    names = np.char.zfill((np.arange(count) + first).astype("S10"), 10)
    record = b"@r" + b"0" * 10 + b"\n" + b"A" * length + b"\n+\n" + b"I" * length + b"\n"
    table = np.tile(np.frombuffer(record, dtype=np.uint8), (count, 1))
    table[:, 2:12] = names.view(np.uint8).reshape(count, 10)
    table[:, 13 : 13 + length] = reads
    table[:, 16 + length : 16 + 2 * length] = qualities
    written: bytes = table.tobytes()
    return written
