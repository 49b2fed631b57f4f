"""Pairs of reads of a genome, drawn by seed: circles, adapters, and the errors of a sequencer.

Positions run across the origin of a circle. Of a part of all pairs the fragment is shorter than the
reads, which go on into the adapter. Qualities are those of a profile of ART, a read's drawn from
`PROFILE_READS` that ART has made; a base is wrong as often as its quality says, and a read has a
base too many or too few as often as ART gives it one. The files are gzipped.
"""

from __future__ import annotations

import gzip
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

import numpy as np
import numpy.typing as npt
from numpy.lib.stride_tricks import sliding_window_view

from harness.genomes import LETTERS, Codes, Genome, Replicon, write_fasta
from harness.reads import ART, ReadPairs, fastq
from harness.size import Size

SPAN_MEAN, SPAN_DEVIATION = 350, 80
SPAN_MAX = SPAN_MEAN + 4 * SPAN_DEVIATION
READ_THROUGH = 0.1
READ_THROUGH_SPAN_MIN = 50
INDELS = (0.00020, 0.00038)
"""Insertions and deletions for each base of first and of second reads, as ART's."""

PROFILE_READS = 1 << 16
PAIRS_AT_ONCE = 1 << 15
INDEX = "ATCACG"
ADAPTERS = (
    f"AGATCGGAAGAGCACACGTCTGAACTCCAGTCAC{INDEX}ATCTCGTATGCCGTCTTCTGCTTG",
    "AGATCGGAAGAGCGTCGTGTAGGGAAAGAGTGTAGATCTCGGTGGTCGCCGTATCATT",
)
"""Bases behind a fragment in first and in second reads; then A."""


@dataclass(frozen=True, kw_only=True)
class Library:
    """A library of read pairs of a genome.

    Attributes
    ----------
    read_bases
        Length of each read.
    depth
        Bases of all reads for each base of the chromosomes.
    seed
        Equal seeds give equal files.
    """

    genome: Genome
    read_bases: int
    depth: int
    seed: int = 40

    @property
    def name(self) -> str:
        """Short name: `ecoli-150`."""
        return f"{self.genome.name}-{self.read_bases}"

    @property
    def how(self) -> str:
        """Description of the library."""
        return (
            f"2 x {self.read_bases}, {self.depth}x, insert {SPAN_MEAN} +- {SPAN_DEVIATION}, "
            f"{READ_THROUGH:.0%} of the pairs shorter than a read, errors of ART's "
            f"{_profile_name(self.read_bases)}, seed {self.seed}"
        )


def missing(size: Size) -> str | None:
    """Why no reads can be drawn here, or None."""
    if size.smoke or shutil.which(ART) is not None:
        return None
    return f"{ART} is not installed: Debian's art-nextgen-simulation-tools"


def draw(size: Size, library: Library) -> ReadPairs:
    """Make the reads of a library, once. Errors: `CalledProcessError` of ART."""
    folder = size.folder / "isolates"
    folder.mkdir(exist_ok=True)
    name = f"{library.name}-{library.depth}x-{library.seed}"
    first, second = (folder / f"{name}_{mate}.fastq.gz" for mate in (1, 2))
    genome = folder / f"{library.genome.name}.fasta"
    made = ReadPairs(first=first, second=second, genome=genome, how=library.how)
    if not (second.exists() and genome.exists()):
        replicons = library.genome.replicons()
        write_fasta(genome, replicons)
        profile = _flat if size.smoke else _profile(folder, library.read_bases)
        _write(made, _pairs(library, replicons, profile))
    return made


Profile = Any
"""Qualities of reads: by mate, read and position; a function of the length for a smoke run."""


def _profile_name(read_bases: int) -> str:
    return "HS25" if read_bases <= 150 else "MSv3"


def _profile(folder: Path, read_bases: int) -> npt.NDArray[np.uint8]:
    """Qualities of `PROFILE_READS` pairs of ART, made once."""
    name = f"qualities-{_profile_name(read_bases)}-{read_bases}"
    made = folder / f"{name}.npy"
    if not made.exists():
        chance = np.random.default_rng(1)
        bases = LETTERS[chance.integers(0, 4, 100_000)].tobytes()
        with tempfile.TemporaryDirectory(dir=folder) as place:
            source = Path(place, "source.fa")
            source.write_bytes(b">source\n" + bases + b"\n")
            words = [ART, "-ss", _profile_name(read_bases), "-p", "-l", str(read_bases)]
            words += ["-m", "600", "-s", "30", "-c", str(PROFILE_READS), "-rs", "1", "-na", "-q"]
            prefix = str(Path(place, "out"))
            subprocess.run(
                [*words, "-i", str(source), "-o", prefix], check=True, capture_output=True
            )
            by_mate = [_qualities(Path(f"{prefix}{mate}.fq")) for mate in (1, 2)]
            partial = Path(place, "partial.npy")
            np.save(partial, np.stack(by_mate))
            partial.rename(made)
    return cast(npt.NDArray[np.uint8], np.load(made))


def _qualities(fastq: Path) -> npt.NDArray[np.uint8]:
    lines = fastq.read_bytes().split(b"\n")[3::4]
    return np.frombuffer(b"".join(lines), dtype=np.uint8).reshape(len(lines), -1) - 33


def _flat(read_bases: int) -> npt.NDArray[np.uint8]:
    """Qualities that fall from 38 to 28, for a smoke run."""
    falling = np.linspace(38, 28, read_bases).astype(np.uint8)
    return np.broadcast_to(falling, (2, 1, read_bases))


def _pairs(library: Library, replicons: Sequence[Replicon], profile: Profile) -> Iterator[Any]:
    """Yield the bases and qualities of first and of second reads, some at a time."""
    chance = np.random.default_rng(library.seed)
    qualities = profile(library.read_bases) if callable(profile) else profile
    lengths = np.array([len(replicon.codes) for replicon in replicons])
    weights = lengths * [replicon.copies for replicon in replicons]
    count = int(library.depth * weights.sum() / (2 * library.read_bases))
    around = [_around(replicon.codes, SPAN_MAX) for replicon in replicons]
    ends = np.cumsum([len(codes) for codes in around])
    begins = np.concatenate([[0], ends[:-1]]) + SPAN_MAX
    # A row for each place; one base more than a read has, for those that lose one.
    windows = sliding_window_view(np.concatenate(around), library.read_bases + 1)
    for first in range(0, count, PAIRS_AT_ONCE):
        size = min(PAIRS_AT_ONCE, count - first)
        which = chance.choice(len(replicons), size, p=weights / weights.sum())
        spans = _spans(chance, size, library.read_bases)
        room = lengths[which] - (0 if library.genome.is_circular else spans)
        starts = begins[which] + (chance.random(size) * room).astype(np.int64)
        left = windows[starts]
        right = 3 - windows[starts + spans - 1 - library.read_bases][:, ::-1]
        turned = (chance.random(size) < 0.5)[:, None]
        both = np.where(turned, right, left), np.where(turned, left, right)
        for mate, codes in enumerate(both):
            _add_adapter(codes, spans, mate)
        yield [_sequenced(chance, codes, mate, qualities) for mate, codes in enumerate(both)]


def _around(codes: Codes, margin: int) -> Codes:
    """A circle with so many bases of its other end on both sides."""
    return codes[np.arange(-margin, len(codes) + margin) % len(codes)]


def _spans(chance: np.random.Generator, count: int, read_bases: int) -> npt.NDArray[np.int64]:
    """Lengths of fragments, a part of them shorter than a read."""
    spans = np.zeros(count, dtype=np.int64)
    while (wrong := (spans < read_bases) | (spans > SPAN_MAX)).any():
        spans[wrong] = chance.normal(SPAN_MEAN, SPAN_DEVIATION, wrong.sum()).round()
    short = chance.random(count) < READ_THROUGH
    spans[short] = chance.integers(READ_THROUGH_SPAN_MIN, read_bases, short.sum())
    return spans


def _add_adapter(codes: Codes, spans: npt.NDArray[np.int64], mate: int) -> None:
    """Write the adapter behind fragments that are shorter than their reads."""
    bases = codes.shape[1]
    text = np.frombuffer(ADAPTERS[mate].ljust(bases, "A").encode(), dtype=np.uint8)
    adapter = np.searchsorted(LETTERS, text).astype(np.uint8)
    for row in np.flatnonzero(spans < bases):
        codes[row, spans[row] :] = adapter[: bases - spans[row]]


def _sequenced(
    chance: np.random.Generator, codes: Codes, mate: int, qualities: npt.NDArray[np.uint8]
) -> tuple[Codes, npt.NDArray[np.uint8]]:
    """Reads with their errors, and their qualities."""
    count, bases = codes.shape[0], codes.shape[1] - 1
    reads = codes[:, :bases].copy()
    rows = np.flatnonzero(chance.random(count) < 1 - (1 - INDELS[mate]) ** bases)
    along = np.arange(bases)
    places = chance.integers(1, bases, len(rows))[:, None]
    is_inserted = (chance.random(len(rows)) < 0.5)[:, None]
    moved = np.where(is_inserted, along - (along > places), along + (along >= places))
    reads[rows] = np.take_along_axis(codes[rows], moved, axis=1)
    inserted = rows[is_inserted[:, 0]]
    reads[inserted, places[is_inserted[:, 0], 0]] = chance.integers(0, 4, len(inserted))
    drawn = qualities[mate][chance.integers(0, len(qualities[mate]), count)]
    chances = (10 ** (np.arange(64) / -10)).astype(np.float32)
    wrong = np.nonzero(chance.random(reads.shape, dtype=np.float32) < chances[drawn])
    reads[wrong] = (reads[wrong] + chance.integers(1, 4, len(wrong[0]), dtype=np.uint8)) % 4
    return reads, drawn


def _write(made: ReadPairs, pairs: Iterator[Any]) -> None:
    """Write both files in one step each."""
    partial = [path.with_name(f"partial-{path.name}") for path in made.files]
    first = 0
    with partial[0].open("wb") as raw_1, partial[1].open("wb") as raw_2:
        files = [_packed(raw) for raw in (raw_1, raw_2)]
        for both in pairs:
            for file, (reads, qualities) in zip(files, both, strict=True):
                file.write(fastq(first, LETTERS[reads], qualities + 33))
            first += len(both[0][0])
        for file in files:
            file.close()
    for path, final in zip(partial, made.files, strict=True):
        path.rename(final)


def _packed(raw: IO[bytes]) -> gzip.GzipFile:
    return gzip.GzipFile(filename="", mode="wb", compresslevel=1, fileobj=raw, mtime=0)
