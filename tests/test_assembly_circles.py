"""`assemble` writes each circle once around, in all files of an answer."""

from __future__ import annotations

import json
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
