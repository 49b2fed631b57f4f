"""`assemble` writes each circle once around, in all files of an answer."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from assemblykit import (
    assemble,
    contigs,
    drawn,
    read_pairs_of,
    reads_of,
    record,
    turned,
    write_fastq,
)


def least_form(circle: str) -> str:
    """Return the least rotation of a circle on either strand."""
    return min(
        strand[start:] + strand[:start]
        for strand in (circle, turned(circle))
        for start in range(len(circle))
    )


@pytest.mark.parametrize("sizes", ["21", "31,55", "auto"])
@pytest.mark.parametrize("means", ["single", "pairs", "ranking"])
def test_circles_come_back_once_around(tmp_path: Path, sizes: str, means: str) -> None:
    """Each file of the answer has each base of a circle once, starting at its least rotation."""
    circles = [drawn(length, length) for length in (1000, 2500, 5000)]
    if means == "pairs":
        pairs = [read_pairs_of(circle, 60, 300, 17) for circle in circles]
        texts = [[read for pair in pairs for read in pair[side]] for side in (0, 1)]
        inputs = [write_fastq(tmp_path / f"{side}.fq", texts[side]) for side in (0, 1)]
        more = ["--pairs"]
    else:
        texts = [reads_of(circle, 60, 0.002, 5) for circle in circles]
        inputs = [
            write_fastq(
                tmp_path / "r.fq", [read for reads_of_side in texts for read in reads_of_side]
            )
        ]
        more = ["--chains", "ranking"] if means == "ranking" else []
    answer = assemble(inputs, tmp_path / "a", "-k", sizes, *more)
    expected = [least_form(circle) for circle in reversed(circles)]
    assert contigs(answer) == expected
    heads = (answer / "contigs.fa").read_text().split("\n")[:-1:2]
    assert [head.split()[1] for head in heads] == ["length=5000", "length=2500", "length=1000"]
    assert all(head.endswith(" circular=true") for head in heads)
    lines = [line.split("\t") for line in (answer / "graph.gfa").read_text().splitlines()]
    assert [line[2] for line in lines if line[0] == "S"] == expected
    names = ["contig_1", "contig_2", "contig_3"]
    links = [line[1:] for line in lines if line[0] == "L"]
    # Both ends on the same strand, whichever it is.
    assert [(link[0], link[2], link[1] == link[3], link[4]) for link in links] == [
        (name, name, True, "0M") for name in names
    ]
    stats = json.loads((answer / "stats.json").read_text())
    assert (stats["bases"], stats["largest"], stats["n50"]) == (8500, 5000, 5000)
    if means == "pairs":
        scaffolds = (answer / "scaffolds.fa").read_text().split("\n")
        assert scaffolds[1::2] == expected
        assert all(head.endswith(" circular=true") for head in scaffolds[:-1:2])
    record(answer)


def pairs_of_circle(
    circle: str, depth: int, insert: tuple[int, int], chance: random.Random
) -> tuple[list[str], list[str]]:
    """Return 150 bases of both ends of fragments of a circle, without errors."""
    around = circle * (2 + 1200 // len(circle))
    ones, twos = [], []
    for _ in range(len(circle) * depth // 300):
        length = max(150, int(chance.gauss(*insert)))
        start = chance.randrange(len(circle))
        stretch = around[start : start + length]
        stretch = stretch if chance.random() < 0.5 else turned(stretch)
        ones.append(stretch[:150])
        twos.append(turned(stretch)[:150])
    return ones, twos


@pytest.mark.parametrize("seed", [9, 11, 15, 21])
def test_a_branch_that_few_reads_cross_does_not_vanish(tmp_path: Path, seed: int) -> None:
    """A part of a genome between two copies of a repeat is no circle, and no contig is wrong.

    By chance: no read had all 123-mers across two of the four ends of a repeat of 330 bases, read
    15 times. Symptom: half of the genome closed on itself, `circular=true`, verified; or a contig
    went from one copy on as the other. Fix: a contig is continued where there is no choice.
    """
    chance = random.Random(seed)
    genome = "".join(chance.choices("ACGT", k=16_000))
    copies = ["".join(chance.choices("ACGT", k=330))] * 2
    base = "ACGT"["ACGT".index(copies[1][160]) - 1]
    copies[1] = copies[1][:160] + base + copies[1][161:]
    circle = genome[:8000] + copies[0] + genome[8000:] + copies[1]
    reads = pairs_of_circle(circle, 15, (250, 40), chance)
    files = [write_fastq(tmp_path / f"{side}.fq", reads[side]) for side in (0, 1)]
    answer = assemble(files, tmp_path / "a", "--pairs")
    assert "circular=true" not in (answer / "contigs.fa").read_text()
    around = circle * 2
    assert all(codes in around or turned(codes) in around for codes in contigs(answer))
    record(answer)


@pytest.mark.parametrize("bases", [130, 205])
def test_a_circle_shorter_than_the_next_kmers_is_still_a_circle(tmp_path: Path, bases: int) -> None:
    """A circle with fewer bases than the last k-mers have is written once around.

    By cause: only a circle of at least as many k-mers as the next size has bases was continued
    over its end. Symptom: a shorter one came out linear, its first bases repeated at its end.
    """
    chance = random.Random(bases)
    small, large = ("".join(chance.choices("ACGT", k=length)) for length in (bases, 20_000))
    texts = [
        pairs_of_circle(small, 200, (350, 40), chance),
        pairs_of_circle(large, 30, (350, 40), chance),
    ]
    files = [
        write_fastq(tmp_path / f"{side}.fq", [read for text in texts for read in text[side]])
        for side in (0, 1)
    ]
    answer = assemble(files, tmp_path / "a", "--pairs", "--min-contig", "100")
    assert contigs(answer) == [least_form(large), least_form(small)]
    assert (answer / "contigs.fa").read_text().count(" circular=true") == 2
    record(answer)


@pytest.mark.parametrize(
    "shape",
    [(150, 350, 3, 100), (100, 300, 3, 33), (150, 350, 21, 8), (75, 250, 53, 9), (100, 300, 77, 6)],
)
@pytest.mark.parametrize("is_circle", [True, False])
def test_a_tandem_repeat_longer_than_kmers_is_not_shortened(
    tmp_path: Path, shape: tuple[int, ...], is_circle: bool
) -> None:
    """No contig goes over copies of a tandem repeat that reads and pairs do not count.

    By a user. Symptom: a circle with 100 copies of CAG came back, verified, with 39; ends within
    copies were joined over the longest overlap, where others fit, or around a circle of the graph.
    Fix: what also fits with another length joins nothing.
    """
    read, insert, unit, copies = shape
    chance = random.Random(unit)
    sides = ["".join(chance.choices("ACGT", k=4000)) for _ in range(2)]
    repeat = "CAG" if unit == 3 else "".join(chance.choices("ACGT", k=unit))
    genome = sides[0] + repeat * copies + sides[1]
    around = genome * 2 if is_circle else genome
    ones, twos = [], []
    for _ in range(len(genome) * 60 // (2 * read)):
        length = max(read, int(chance.gauss(insert, insert / 8)))
        start = chance.randrange(len(genome) if is_circle else len(genome) - length)
        stretch = around[start : start + length]
        stretch = stretch if chance.random() < 0.5 else turned(stretch)
        ones.append(stretch[:read])
        twos.append(turned(stretch)[:read])
    files = [write_fastq(tmp_path / f"{side}.fq", reads) for side, reads in enumerate((ones, twos))]
    answer = assemble(files, tmp_path / "a", "--pairs")
    heads = (answer / "contigs.fa").read_text().split("\n")[:-1:2]
    for head, codes in zip(heads, contigs(answer), strict=True):
        if "circular=true" in head:
            assert codes == least_form(genome)
        else:
            assert codes in around or turned(codes) in around
    record(answer)
