"""`assemble` on samples of other assemblers, compared with the genomes they come from.

SPAdes' `ecoli_1K`: 2,054 real pairs of the first 1,000 bases of E. coli. Unicycler's sample: 50,200
synthetic pairs of 125 bases of three circular plasmids of Shigella sonnei 53G, 215,774, 8,953 and
5,153 bases, of which the first is three tenths repeats.
"""

from __future__ import annotations

import gzip
import json
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from assemblykit import turned
from assesskit import assessed
from cuesta.cli.app import call
from debiankit import package_files

K = 31
SMALLEST = "NC_016823.1"
needs_mappy = pytest.mark.skipif(find_spec("mappy") is None, reason="mappy is not installed")


def sequences(path: Path) -> dict[str, str]:
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    by_head = {}
    for part in text.decode().split(">")[1:]:
        head, _, lines = part.partition("\n")
        by_head[head] = "".join(lines.split())
    return by_head


def kmers(sequence: str) -> set[str]:
    windows = (sequence[at : at + K] for at in range(len(sequence) - K + 1))
    return {min(kmer, turned(kmer)) for kmer in windows}


def kmers_of(contig: tuple[str, str]) -> set[str]:
    """Return the k-mers of a contig, given by head and bases; a circle wraps around."""
    head, bases = contig
    return kmers(bases + bases[: K - 1] if head.endswith(" circular=true") else bases)


def assembled(reads: list[Path], folder: Path, *more: str) -> Path:
    assert call(["run", "assemble", *map(str, reads), *more, "-o", str(folder)]) == 0
    record: dict[str, Any] = json.loads((folder / "run.json").read_text())
    assert record["verified"]
    return folder


def assemble_pairs(reads: list[Path], folder: Path) -> Path:
    return assembled([], folder, "-1", str(reads[0]), "-2", str(reads[1]))


@pytest.fixture(scope="module")
def ecoli(request: pytest.FixtureRequest) -> Path:
    return package_files("spades", "spades/test_dataset", request.config.cache)


@pytest.fixture(scope="module")
def sample(request: pytest.FixtureRequest) -> Path:
    return package_files("unicycler-data", "unicycler-data/sample_data", request.config.cache)


@pytest.fixture(scope="module")
def plasmids(sample: Path) -> dict[str, str]:
    """The bases by accession, each circle extended by its first bases."""
    by_head = sequences(sample / "reference.fasta")
    return {head.split()[0]: bases + bases[: K - 1] for head, bases in by_head.items()}


@pytest.fixture(scope="module", params=["mates", "single reads"])
def answer(
    sample: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Path:
    reads = [sample / f"short_reads_{end}.fastq.gz" for end in (1, 2)]
    folder = tmp_path_factory.mktemp("plasmids") / "answer"
    return assemble_pairs(reads, folder) if request.param == "mates" else assembled(reads, folder)


def test_a_thousand_bases_of_e_coli_are_a_single_contig_without_a_wrong_base(
    ecoli: Path, tmp_path: Path
) -> None:
    reads = [ecoli / f"ecoli_1K_{end}.fq.gz" for end in (1, 2)]
    contigs_folder = assemble_pairs(reads, tmp_path / "answer")
    (genome,) = sequences(ecoli / "reference_1K.fa.gz").values()
    (contig,) = sequences(contigs_folder / "contigs.fa").values()
    assert contig in genome or turned(contig) in genome
    assert len(contig) >= 0.99 * len(genome)


@needs_mappy
def test_a_thousand_bases_of_e_coli_align_completely(ecoli: Path, tmp_path: Path) -> None:
    reads = [ecoli / f"ecoli_1K_{end}.fq.gz" for end in (1, 2)]
    contigs_folder = assemble_pairs(reads, tmp_path / "answer")
    reference = str(ecoli / "reference_1K.fa.gz")
    measures = assessed(contigs_folder, "--reference", reference, "--linear")["measures"]
    assert measures["genome_fraction"] >= 0.99
    assert measures["misassemblies"] == measures["local_misassemblies"] == 0
    assert measures["mismatches"] == measures["indels"] == 0


def test_plasmids_come_back_with_exactly_their_kmers(
    answer: Path, plasmids: dict[str, str]
) -> None:
    real = set().union(*map(kmers, plasmids.values()))
    assembled_kmers = set().union(*map(kmers_of, sequences(answer / "contigs.fa").items()))
    # Measured: 99.3 % with read pairs, 98.6 % without; none foreign to the plasmids.
    assert len(assembled_kmers & real) >= 0.98 * len(real)
    assert len(assembled_kmers - real) <= 1e-4 * len(assembled_kmers)


def test_the_plasmid_without_long_repeats_is_a_single_contig_all_the_way_round(
    answer: Path, plasmids: dict[str, str]
) -> None:
    _, contig = circle_of(answer, plasmids[SMALLEST])
    bases = plasmids[SMALLEST][: 1 - K]
    assert len(contig) == len(bases)
    assert contig in bases * 2 or turned(contig) in bases * 2


def test_a_circle_is_reported_as_a_circle(answer: Path, plasmids: dict[str, str]) -> None:
    head, _ = circle_of(answer, plasmids[SMALLEST])
    assert "circular=true" in head


def circle_of(answer: Path, plasmid: str) -> tuple[str, str]:
    """Return head and bases of the only contig that has k-mers of a plasmid."""
    plasmid_kmers = kmers(plasmid)
    contigs = sequences(answer / "contigs.fa").items()
    ((head, contig),) = [entry for entry in contigs if kmers_of(entry) & plasmid_kmers]
    assert kmers_of((head, contig)) == plasmid_kmers
    return head, contig


@needs_mappy
def test_no_contig_of_plasmids_is_put_together_wrongly(
    answer: Path, sample: Path, request: pytest.FixtureRequest
) -> None:
    words = ["--reference", str(sample / "reference.fasta"), "--min-contig", "200"]
    assessment = assessed(answer, *words)
    measures = assessment["measures"]
    assert assessment["reference"]["sequences"] == 3
    assert measures["misassemblies"] == measures["local_misassemblies"] == 0
    assert measures["unaligned_bases"] == 0
    # Repeats share a contig. Measured: 92.1 % and 4,763 with pairs, 84.5 % and 3,478 without.
    least = (0.89, 4500) if "mates" in request.node.name else (0.83, 3300)
    assert measures["genome_fraction"] >= least[0]
    assert measures["nga50"] >= least[1]
    assert measures["mismatches"] <= 2e-4 * 230_000
