"""A small network whose genes have names that need care, and ways to run on it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from cuesta import _native
from cuesta.cli.app import call

GENES = 60
NAMES = ("BRCA1", "TP53", "HLA-DRB1*15:01", "a <b> & \"c\" 'd'", "βtub, 2", "TP53", "7", "x  y")
"""Names of the first genes; two of them share a name."""

ALL = (*NAMES, *(f"GENE{number}" for number in range(len(NAMES) + 1, GENES + 1)))

NAMED = {
    "scan": ("edges.tsv", ("gene1", "gene2")),
    "join": ("pairs.tsv", ("gene1", "gene2")),
    "degrees": ("degrees.tsv", ("gene",)),
    "communities": ("communities.tsv", ("gene",)),
}
"""Table with names and its columns of genes, by workload."""


def make_pairs(path: Path, *, genes: int = GENES, **changes: Any) -> Path:
    """Return gene pairs of this number of genes, as text."""
    request = {"output": str(path), "genes": genes, "samples": 20, "clusters": 1, "seed": 1}
    _native.data_make("clusters", json.dumps(request | {"threads": 1, "pairs": 300} | changes))
    return path


def write_list(path: Path, names: tuple[str, ...] = ALL) -> Path:
    """Write a list of names, one on each line."""
    path.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    return path


def make_inputs(folder: Path) -> Path:
    """Write two versions of some pairs, and a list of names in another folder."""
    make_pairs(folder / "a.txt")
    make_pairs(folder / "b.txt", variant=1)
    write_list(folder / "names.txt")
    return folder


def inputs_of(workload: str, folder: Path) -> list[Path]:
    """Return the files of `make_inputs` that a workload reads."""
    return [folder / "a.txt", folder / "b.txt"] if workload == "join" else [folder / "a.txt"]


def write_table(folder: Path, names: tuple[str, ...] = ALL) -> Path:
    """Write `genes.tsv` into a folder."""
    rows = "".join(f"{gene}\t{name}\n" for gene, name in enumerate(names, start=1))
    path = folder / "genes.tsv"
    path.write_text(f"gene\tname\n{rows}", encoding="utf-8")
    return path


def run(workload: str, output: Path, *words: object) -> dict[str, Any]:
    """Return the record of a run that must succeed, verified in full."""
    line = ["run", workload, *map(str, words), "-o", str(output)]
    assert call(line) == 0, line
    record: dict[str, Any] = json.loads((output / "run.json").read_text(encoding="utf-8"))
    assert record["verified"] is True
    return record


def rows(path: Path) -> list[dict[str, str]]:
    """Return the rows of a table."""
    header, *lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    names = header.split("\t")
    return [dict(zip(names, line.split("\t"), strict=True)) for line in lines]


def check_columns(workload: str, answer: Path) -> None:
    """Check that each gene of the table is followed by its name."""
    name, genes = NAMED[workload]
    table = rows(answer / name)
    assert table
    for row in table:
        for gene in genes:
            assert row[gene.replace("gene", "name")] == ALL[int(row[gene]) - 1]
