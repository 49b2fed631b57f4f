"""The depth of a contig is the number of reads over each base, for any sizes of k-mers."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path

import pytest

from assemblykit import assemble, contigs, drawn, fault, reads_of, record, turned, write_fastq
from cuesta.cli.app import call

CIRCLES = {drawn(60_000, 1): 30, drawn(8_000, 2): 90}
"""Number of bases of each circle, and its depth."""


def pairs_of(genome: str, depth: int, seed: int) -> list[str]:
    """Return reads of both ends of fragments of 300 bases of a circle, with 1 % wrong bases."""
    chance = random.Random(seed)
    sequences = []
    for _ in range(depth * len(genome) // 200):
        start = chance.randrange(len(genome))
        stretch = (genome * 2)[start : start + 300]
        for end in (stretch[:100], turned(stretch)[:100]):
            wrong = (chance.choice("ACGT") if chance.random() < 0.0133 else base for base in end)
            sequences.append("".join(wrong))
    return sequences


@pytest.fixture(scope="module")
def reads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pairs of reads of both circles, interleaved."""
    both = [read for seed, circle in enumerate(CIRCLES.items()) for read in pairs_of(*circle, seed)]
    return write_fastq(tmp_path_factory.mktemp("reads") / "r.fq", both)


def depths(answer: Path) -> list[tuple[str, float]]:
    """Return bases and depth of each contig; the graph must have the same."""
    heads = re.findall(r">\S+ length=\d+ depth=(\S+).*\n(\w+)", (answer / "contigs.fa").read_text())
    graph = re.findall(
        r"\t(\w+)\tLN:i:\d+\tKC:i:\d+\tDP:f:(\S+)", (answer / "graph.gfa").read_text()
    )
    with_depths = [(bases, depth) for depth, bases in heads]
    assert set(with_depths) <= set(graph)
    return [(bases, float(depth)) for bases, depth in with_depths]


@pytest.mark.parametrize(
    "words",
    [["-k", "31"], ["-k", "31,55,79"], ["-k", "auto"], ["--interleaved"], ["-k", "55"]],
    ids=" ".join,
)
def test_depth_is_that_of_the_reads(reads: Path, tmp_path: Path, words: list[str]) -> None:
    answer = assemble([reads], tmp_path / "a", *words)
    record(answer)
    contigs = depths(answer)
    for circle, real in CIRCLES.items():
        both = circle * 2 + turned(circle * 2)
        matching = [(len(bases), depth) for bases, depth in contigs if bases[-130:-90] in both]
        covered = sum(length for length, _ in matching)
        assert covered == pytest.approx(len(circle), rel=0.03)
        mean = sum(length * depth for length, depth in matching) / covered
        assert mean == pytest.approx(real, rel=0.04)
        for length, depth in matching:
            assert length < 4000 or depth == pytest.approx(real, rel=0.1)


def test_bases_of_the_reads_are_counted_without_ambiguous_letters_and_dropped_reads(
    tmp_path: Path,
) -> None:
    bases = drawn(300, 9)
    path = write_fastq(tmp_path / "r.fq", [bases] * 3 + [bases[:200] + "N" + bases[200:]])
    for words, expected in (([], 1200), (["--drop-reads-with-n"], 900)):
        answer = assemble([path], tmp_path / "a", "-k", "31", "--min-count", "2", *words)
        (level,) = json.loads((answer / "stats.json").read_text())["levels"]
        assert level["read_bases"] == expected


@pytest.mark.parametrize("name", ["contigs.fa", "graph.gfa"])
def test_a_changed_depth_is_not_verified(tmp_path: Path, name: str) -> None:
    reads = write_fastq(tmp_path / "r.fq", reads_of(drawn(5000, 1), 20, 0.0, 5))
    answer = assemble([reads], tmp_path / "a", "-k", "31")
    text = (answer / name).read_text()
    changed = re.sub(r"(depth=|DP:f:)\d", r"\g<1>9", text, count=1)
    assert changed != text
    (answer / name).write_text(changed)
    assert fault(answer, tmp_path / "scratch") == f"{name} is not what the reads give"
    assert call(["verify", str(answer)]) == 1


def test_very_deep_reads_with_errors_give_a_single_contig(tmp_path: Path) -> None:
    """An amplicon came out in pieces: its errors, each seen dozens of times, were continued at each
    size of k-mers, and so remained.
    """
    amplicon, chance = drawn(1000, 13), random.Random(5)
    reads = []
    for start in (chance.randrange(901) for _ in range(80_000)):
        read = list(amplicon[start : start + 100])
        for _ in range(chance.choice((0, 0, 0, 0, 1, 1, 1, 2))):
            read[chance.randrange(100)] = chance.choice("ACGT")
        reads.append("".join(read))
    answer = assemble([write_fastq(tmp_path / "r.fq", reads)], tmp_path / "a")
    (contig,) = contigs(answer)
    assert len(contig) > 950
    assert contig in amplicon or turned(contig) in amplicon
    record(answer)
