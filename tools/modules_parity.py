"""Compare modules of the NCI60 matrix with those of R, and write `docs/guide/modules-parity.md`.

    python tools/modules_parity.py
    python tools/modules_parity.py --keep STAGES

The labels of R are in `tests/parity/nci60.tsv.gz`, a line a network: `network power deep labels`.
`--keep` takes them from the stages that R wrote for the matrix without names and header:
`Rscript tools/modules_oracle.R MATRIX STAGES -6 30`, with Debian's `r-cran-wgcna`.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb
from pathlib import Path
from typing import Any

import cuesta

ROOT = Path(__file__).resolve().parent.parent
LABELS = ROOT / "tests" / "parity" / "nci60.tsv.gz"
PAGE = ROOT / "docs" / "guide" / "modules-parity.md"
MODULE_SIZE_MIN = 30
STAGE = "whole/pearson/"

HEADER = """# Modules of real data, ours and those of R

`cuesta data get nci60` is an expression matrix of 6,830 genes in 64 tumour cell lines. `cuesta run
modules` with `--as wgcna-1.72` makes its modules from all genes; so does `blockwiseModules` of
WGCNA 1.72-1 in R 4.2.2 with OpenBLAS, in one block (`maxBlockSize` 50000), with `minModuleSize` 30
and defaults else. `tests/site/test_modules_parity.py` counts the columns from the fourth on, and
fails where this page has other numbers: modules and grey genes are ours, then those of R; *other
labels* counts genes that have not the label of R, and the index is the adjusted Rand index.

| network | power | `deepSplit` | modules | R | grey genes | R | other labels | index |
|---|---|---|---|---|---|---|---|---|
"""

FOOTER = """
Labels are compared as they are, with their numbers: a module of equal size and another number
counts as another label for all its genes. The index is 1 for equal groups, and 0 for groups that
agree as by chance.

Where a gene differs, two distances differ in their last bits: R's product of matrices has another
order of sums than ours, which is the same on each processor
([ADR 55](../adr/0055-modules-in-one-order.md)). Each stage on R's own input of the stage is equal
to R: `crates/modules/tests/modules/parity.rs`. `python tools/modules_parity.py` writes this page.
"""


@dataclass(frozen=True, kw_only=True)
class Network:
    """A soft network and the cut of its tree, with the labels that R gives the genes."""

    kind: str
    power: int
    deep_split: int
    labels: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Modules of a network, here and in R."""

    network: Network
    ours: tuple[int, ...]

    def row(self) -> str:
        """Return the row of the page."""
        ours, of_r = self.ours, self.network.labels
        different = sum(a != b for a, b in zip(ours, of_r, strict=True))
        cells = [
            self.network.kind,
            self.network.power,
            self.network.deep_split,
            max(ours),
            max(of_r),
            f"{ours.count(0):,}",
            f"{of_r.count(0):,}",
            f"{different:,}",
            f"{rand_index(ours, of_r):.4f}",
        ]
        return "| " + " | ".join(str(cell) for cell in cells) + " |"


def rand_index(first: Sequence[int], second: Sequence[int]) -> float:
    """Return the adjusted Rand index of two labellings."""

    def pairs(counts: Counter[object]) -> int:
        return sum(comb(count, 2) for count in counts.values())

    both = pairs(Counter(zip(first, second, strict=True)))
    of_first, of_second = pairs(Counter(first)), pairs(Counter(second))
    expected = of_first * of_second / comb(len(first), 2)
    largest = (of_first + of_second) / 2
    return 1.0 if largest == expected else (both - expected) / (largest - expected)


def networks() -> list[Network]:
    """Return the networks with their labels of R."""
    lines = gzip.decompress(LABELS.read_bytes()).decode().splitlines()
    rows = (line.split("\t") for line in lines)
    return [
        Network(
            kind=kind,
            power=int(power),
            deep_split=int(deep),
            labels=tuple(int(label) for label in labels.split()),
        )
        for kind, power, deep, labels in rows
    ]


def agreement(matrix: Path, network: Network, folder: Path) -> Agreement:
    """Make the modules of a network from a matrix, in a folder for the answer."""
    words: dict[str, Any] = {
        "network": network.kind,
        "power": network.power,
        "deep_split": network.deep_split,
        "min_module_size": MODULE_SIZE_MIN,
        "as_": "wgcna-1.72",
        "verify": "none",
    }
    answer = cuesta.run("modules", matrix, output=folder, **words)
    lines = (answer.output / "modules.tsv").read_text("utf-8").splitlines()[1:]
    return Agreement(network=network, ours=tuple(int(line.split("\t")[2]) for line in lines))


def keep(stages: Path) -> None:
    """Keep the labels of stages of R."""
    LABELS.parent.mkdir(exist_ok=True)
    text = "".join(f"{line}\n" for line in _labels(stages.read_text("utf-8").splitlines()))
    LABELS.write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


def _labels(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        name, *numbers = line.split("\t")
        if name.startswith(STAGE) and name.endswith("/labels"):
            kind, power, _, deep = name.removeprefix(STAGE).removesuffix("/labels").split("/")
            yield f"{kind}\t{power}\t{deep}\t{' '.join(numbers)}"


def main(arguments: Sequence[str]) -> None:
    """Keep labels of R, or write the page."""
    if arguments[:1] == ["--keep"]:
        keep(Path(arguments[1]))
        return
    (matrix,) = cuesta.data.get("nci60")
    rows = []
    for number, network in enumerate(networks()):
        with tempfile.TemporaryDirectory() as folder:
            rows.append(agreement(matrix, network, Path(folder, str(number))).row())
    PAGE.write_text(HEADER + "\n".join(rows) + "\n" + FOOTER, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
