"""`verify` proves an assembly: its faults are detected and reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from assemblykit import assemble, contigs, drawn, fault, reads_of, turned, write_fastq
from cuesta.cli.app import call


@pytest.mark.parametrize("name", ["contigs.fa", "unitigs.fa", "graph.gfa"])
def test_a_changed_base_is_not_verified(tmp_path: Path, name: str) -> None:
    reads = write_fastq(tmp_path / "r.fq", reads_of(drawn(9000, 1), 30, 0.004, 5))
    answer = assemble([reads], tmp_path / "a", "-k", "31")
    assert call(["verify", str(answer)]) == 0
    path = answer / name
    lines = path.read_text().split("\n")
    place = next(index for index, line in enumerate(lines) if "ACGT" in line)
    lines[place] = lines[place].replace("ACGT", "ACCT", 1)
    path.write_text("\n".join(lines))
    assert call(["verify", str(answer)]) == 1


def complete_answer(folder: Path) -> Path:
    """Write two genomes, each in three equal reads: two unitigs, whose k-mers all occur three
    times.
    """
    genomes = [drawn(300, 18), drawn(200, 19)]
    path = write_fastq(folder / "r.fq", genomes * 3)
    answer = assemble([path], folder / "a", "-k", "31", "--min-count", "2", "--min-contig", "0")
    assert call(["verify", str(answer)]) == 0
    assert sorted(map(len, contigs(answer))) == [200, 300]
    return answer


def test_a_unitig_that_continues_is_not_verified(tmp_path: Path) -> None:
    """Its counts and k-mers are right; only a joint shows that two sequences are one unitig."""
    answer = complete_answer(tmp_path)
    names, sequences = fasta(answer / "unitigs.fa")
    bases = sequences[0]
    parts = [bases[:130], bases[100:]]
    heads = [f">{index} LN:i:{len(part)} KC:i:{3 * (len(part) - 30)} km:f:3.0"
             for index, part in enumerate(parts)]  # fmt: skip
    parts = [min(part, turned(part)) for part in parts]
    rows = [*zip(heads, parts, strict=True), *zip(names[1:], sequences[1:], strict=True)]
    (answer / "unitigs.fa").write_text("".join(f"{head}\n{part}\n" for head, part in rows))
    assert fault(answer, tmp_path / "scratch") == "a unitig ends where it goes on"
    assert call(["verify", str(answer)]) == 1


def test_solid_kmers_that_are_nowhere_are_missed(tmp_path: Path) -> None:
    answer = complete_answer(tmp_path)
    names, sequences = fasta(answer / "unitigs.fa")
    (answer / "unitigs.fa").write_text(f"{names[0]}\n{sequences[0]}\n")
    names, sequences = fasta(answer / "contigs.fa")
    (answer / "contigs.fa").write_text(f"{names[0]}\n{sequences[0]}\n")
    rows = (answer / "graph.gfa").read_text().splitlines(keepends=True)
    (answer / "graph.gfa").write_text("".join(row for row in rows if "contig_2" not in row))
    assert fault(answer, tmp_path / "scratch") == "a solid k-mer is in no unitig"
    assert call(["verify", str(answer)]) == 1


def fasta(path: Path) -> tuple[list[str], list[str]]:
    """Return heads and sequences, each on a line."""
    lines = path.read_text().splitlines()
    return lines[::2], lines[1::2]
