"""Compare modules of real matrices with those of R, and write `docs/guide/modules-parity.md`.

    python tools/modules_parity.py
    python tools/modules_parity.py --matrix SET
    python tools/modules_parity.py --keep SET STAGES

What R makes of a matrix of `tools/paritysets.py` is in `tests/parity/SET.tsv.gz`. `--keep` takes it
from the stages that R wrote for the matrix without names and header, which `--matrix` prints:
`Rscript tools/modules_oracle.R MATRIX STAGES -6 30`, with Debian's `r-cran-wgcna`.
"""

from __future__ import annotations

import csv
import gzip
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import comb, sqrt
from pathlib import Path
from typing import Any

import cuesta
from paritysets import SETS, ExpressionSet

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "tests" / "parity"
PAGE = ROOT / "docs" / "guide" / "modules-parity.md"
MODULE_SIZE_MIN = 30
STAGE = "whole/pearson/"
POWER_STAGE = "whole power/"
DEEP_SPLIT_OF_EIGENGENES = 2
"""Cut whose eigengenes are kept: the default of `blockwiseModules`."""
DIGITS = 7
"""Digits of kept eigengenes."""

COLUMNS = {
    "r_squared": "SFT.R.sq",
    "slope": "slope",
    "truncated_r_squared": "truncated.R.sq",
    "mean_connectivity": "mean.k.",
    "median_connectivity": "median.k.",
    "max_connectivity": "max.k.",
}
"""Columns of `powers.tsv`, and those of `fitIndices`."""

HEADER = """# Modules of real data, ours and those of R

`cuesta run modules` with `--as wgcna-1.72` and `--min-module-size 30` makes modules of the matrices
below; so does `blockwiseModules` of WGCNA 1.72-1 in R 4.2.2 with OpenBLAS, in one block
(`maxBlockSize` 50000), with `numericLabels`, `minModuleSize` 30 and defaults else.
`tests/site/test_modules_parity.py` counts the columns from the fourth on, and fails where this page
has other numbers.

- Modules and grey genes are ours, then those of R.
- *Other labels* counts genes that have not the label of R, number for number. The index is the
  adjusted Rand index, of all genes with the grey ones: 1 for equal groups, 0 for groups that agree
  as by chance.
- *Eigengenes* is the smallest correlation of an eigengene with that of R of the same number. Those
  of R are kept for `deepSplit` 2 alone.
"""

MODULE_ROWS = """
| network | power | `deepSplit` | modules | R | grey genes | R | other labels | index | eigengenes |
|---|---|---|---|---|---|---|---|---|---|
"""

POWER_HEADER = """
## Tables of powers

`cuesta run threshold` writes the table of `pickSoftThreshold`, of 15 powers and six columns. The
power is the smallest with R^2 over 0.85, ours and that of R; the differences are the largest of R^2
and, divided by the figure where that is over 1, of all columns.

| matrix | network | power | R | difference of R^2 | of all columns |
|---|---|---|---|---|---|
"""

FOOTER = """
## Where figures may differ

No label differs here. R's product of matrices has another order of sums than ours, which is the
same on each processor ([ADR 55](../adr/0055-modules-in-one-order.md)), so distances differ in their
last bits; that matters where two are equal to these. Each stage on R's own input of the stage is
equal to R: `crates/modules/tests/modules/parity.rs`.

Without `numericLabels` R gives colours, and of modules with equal size the first in the alphabet
comes first: `--as wgcna-1.72-colours` numbers them so. Our own rules (without `--as`) take a power
that fits, modules of at least 30 genes, and the label of the nearer module for a gene that moves
([modules](../../spec/workloads/modules/README.md)). Both leave out genes without variance, as
`goodSamplesGenes` does; `pickSoftThreshold` alone counts them, with a connectivity of -1, so pass
it the good genes to have the same table. `python tools/modules_parity.py` writes this page.
"""


@dataclass(frozen=True, kw_only=True)
class Network:
    """A soft network and the cut of its tree, with the modules of R."""

    kind: str
    power: int
    deep_split: int
    labels: tuple[int, ...]
    eigengenes: dict[int, tuple[float, ...]]
    """Eigengenes by number of the module; none where they are not kept."""


@dataclass(frozen=True, kw_only=True)
class Powers:
    """Table of powers of a network, by the columns of `fitIndices`, and the power of R."""

    kind: str
    columns: dict[str, tuple[float, ...]]
    estimate: int | None


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Modules of a network, here and in R."""

    network: Network
    ours: tuple[int, ...]
    eigengenes: dict[int, tuple[float, ...]]

    def least_correlation(self) -> float | None:
        """Return the least correlation of eigengenes of the same number, if R's are kept."""
        of_r = self.network.eigengenes
        if not of_r:
            return None
        return min(
            correlation(self.eigengenes[label], values) if label in self.eigengenes else 0.0
            for label, values in of_r.items()
        )

    def row(self) -> str:
        """Return the row of the page."""
        ours, of_r = self.ours, self.network.labels
        different = sum(a != b for a, b in zip(ours, of_r, strict=True))
        least = self.least_correlation()
        return _row(
            self.network.kind,
            self.network.power,
            self.network.deep_split,
            max(ours),
            max(of_r),
            f"{ours.count(0):,}",
            f"{of_r.count(0):,}",
            f"{different:,}",
            f"{rand_index(ours, of_r):.4f}",
            "" if least is None else f"{least:.6f}",
        )


@dataclass(frozen=True, kw_only=True)
class PowerAgreement:
    """Table of powers of a network, here and in R."""

    title: str
    powers: Powers
    ours: dict[str, tuple[float, ...]]

    def estimate(self) -> int | None:
        """Return our power: the smallest with R^2 over 0.85."""
        rows = zip(self.ours["power"], self.ours["r_squared"], strict=True)
        return next((int(power) for power, fit in rows if fit > 0.85), None)

    def difference(self, column: str) -> float:
        """Return the largest difference of a column, divided by figures over 1."""
        of_r = self.powers.columns[COLUMNS[column]]
        pairs = zip(self.ours[column], of_r, strict=True)
        return max(abs(a - b) / max(1.0, abs(b)) for a, b in pairs)

    def differences(self) -> float:
        """Return the largest difference of all columns."""
        return max(self.difference(column) for column in COLUMNS)

    def row(self) -> str:
        """Return the row of the page."""
        return _row(
            self.title,
            self.powers.kind,
            self.estimate() or "none",
            self.powers.estimate or "none",
            f"{self.difference('r_squared'):.0e}",
            f"{self.differences():.0e}",
        )


def _row(*cells: object) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def correlation(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the correlation of two profiles whose mean is 0."""
    product = sum(a * b for a, b in zip(first, second, strict=True))
    return product / sqrt(sum(a * a for a in first) * sum(b * b for b in second))


def rand_index(first: Sequence[int], second: Sequence[int]) -> float:
    """Return the adjusted Rand index of two labellings."""

    def pairs(counts: Counter[object]) -> int:
        return sum(comb(count, 2) for count in counts.values())

    both = pairs(Counter(zip(first, second, strict=True)))
    of_first, of_second = pairs(Counter(first)), pairs(Counter(second))
    expected = of_first * of_second / comb(len(first), 2)
    largest = (of_first + of_second) / 2
    return 1.0 if largest == expected else (both - expected) / (largest - expected)


def results_of_r(name: str) -> tuple[list[Network], list[Powers]]:
    """Return what R makes of a set: networks with their modules, and tables of powers."""
    text = gzip.decompress((FOLDER / f"{name}.tsv.gz").read_bytes()).decode()
    rows = [line.split("\t") for line in text.splitlines()]
    networks = [_network(row, rows) for row in rows if row[0] == "labels"]
    kinds = dict.fromkeys(row[1] for row in rows if row[0] == "power")
    return networks, [_powers(kind, rows) for kind in kinds]


def _network(row: Sequence[str], rows: Sequence[Sequence[str]]) -> Network:
    _, kind, power, deep, labels = row
    profiles = [
        line for line in rows if line[0] == "eigengene" and line[1:4] == [kind, power, deep]
    ]
    return Network(
        kind=kind,
        power=int(power),
        deep_split=int(deep),
        labels=tuple(int(label) for label in labels.split()),
        eigengenes={int(line[4]): _numbers(line[5]) for line in profiles},
    )


def _powers(kind: str, rows: Sequence[Sequence[str]]) -> Powers:
    columns = {row[2]: row[3] for row in rows if row[:2] == ["power", kind]}
    estimate = columns.pop("estimate")
    return Powers(
        kind=kind,
        columns={name: _numbers(text) for name, text in columns.items()},
        estimate=None if estimate == "NA" else int(estimate),
    )


def _numbers(text: str) -> tuple[float, ...]:
    return tuple(float(number) for number in text.split())


def agreement(of: ExpressionSet, network: Network, folder: Path) -> Agreement:
    """Make the modules of a network, in a folder for the answer."""
    words: dict[str, Any] = {
        "network": network.kind,
        "power": network.power,
        "deep_split": network.deep_split,
        "min_module_size": MODULE_SIZE_MIN,
        "as_": "wgcna-1.72",
        "top_variable": of.top_variable,
        "verify": "none",
    }
    output = cuesta.run("modules", of.matrix(), output=folder, **words).output
    eigengenes = _table(output / "eigengenes.tsv")
    del eigengenes["sample"]
    return Agreement(
        network=network,
        ours=tuple(int(label) for label in _table(output / "modules.tsv")["module"]),
        eigengenes={
            int(name.removeprefix("ME")): tuple(map(float, values))
            for name, values in eigengenes.items()
        },
    )


def power_agreement(of: ExpressionSet, powers: Powers, folder: Path) -> PowerAgreement:
    """Make the table of powers of a network, in a folder for the answer."""
    words: dict[str, Any] = {"network": powers.kind, "top_variable": of.top_variable}
    answer = cuesta.run("threshold", of.matrix(), output=folder, verify="none", **words)
    ours = _table(answer.output / "powers.tsv")
    return PowerAgreement(
        title=of.name,
        powers=powers,
        ours={name: tuple(map(float, values)) for name, values in ours.items()},
    )


def _table(path: Path) -> dict[str, list[str]]:
    with path.open(encoding="utf-8", newline="") as text:
        header, *rows = csv.reader(text, delimiter="\t")
    return {name: [row[place] for row in rows] for place, name in enumerate(header)}


def keep(name: str, stages: Path) -> None:
    """Keep what is compared of the stages that R wrote."""
    FOLDER.mkdir(exist_ok=True)
    lines = [line.split("\t") for line in stages.read_text("utf-8").splitlines()]
    text = "".join("\t".join(row) + "\n" for row in _rows({first: rest for first, *rest in lines}))
    (FOLDER / f"{name}.tsv.gz").write_bytes(gzip.compress(text.encode(), compresslevel=9, mtime=0))


def _rows(stages: dict[str, list[str]]) -> Iterator[list[str]]:
    for name, numbers in stages.items():
        if name.startswith(POWER_STAGE):
            kind, column = name.removeprefix(POWER_STAGE).split("/")
            yield ["power", _option(kind), column, " ".join(numbers)]
        if not name.startswith(STAGE) or not name.endswith("/labels"):
            continue
        kind, power, _, deep = name.removeprefix(STAGE).removesuffix("/labels").split("/")
        place = [_option(kind), power, deep]
        yield ["labels", *place, " ".join(numbers)]
        if int(deep) == DEEP_SPLIT_OF_EIGENGENES:
            values = stages[name.replace("/labels", "/eigengenes")]
            columns = stages[name.replace("/labels", "/columns")]
            samples = len(values) // len(columns)
            for number, label in enumerate(columns):
                profile = values[number * samples :][:samples]
                if label != "0":
                    text = " ".join(f"{float(value):.{DIGITS}g}" for value in profile)
                    yield ["eigengene", *place, label, text]


def _option(kind: str) -> str:
    return kind.replace(" ", "-")


def page() -> str:
    """Compute the page."""
    text, powers_text = HEADER, POWER_HEADER
    for of in SETS:
        networks, powers = results_of_r(of.name)
        text += f"\n## {of.title}\n\nFrom {of.source}.\n{MODULE_ROWS}"
        with tempfile.TemporaryDirectory() as folder:
            for number, network in enumerate(networks):
                text += agreement(of, network, Path(folder, str(number))).row() + "\n"
            for table in powers:
                agreed = power_agreement(of, table, Path(folder, table.kind))
                powers_text += agreed.row() + "\n"
    return text + powers_text + FOOTER


def main(arguments: Sequence[str]) -> None:
    """Keep stages of R, print the matrix that it reads, or write the page."""
    match arguments:
        case ["--keep", name, stages]:
            keep(name, Path(stages))
        case ["--matrix", name]:
            (of,) = (of for of in SETS if of.name == name)
            sys.stdout.writelines(most_variable(of))
        case _:
            PAGE.write_text(page(), encoding="utf-8")


def most_variable(of: ExpressionSet) -> Iterator[str]:
    """Yield rows of numbers: the genes that R takes, those that vary most, in their order."""
    lines = [line.split("\t", 1)[1] for line in of.matrix().read_text("utf-8").splitlines()[1:]]

    def variance(line: str) -> float:
        values = [float(number) for number in line.split("\t") if number != "NA"]
        mean = sum(values) / len(values)
        return sum((value - mean) ** 2 for value in values) / (len(values) - 1)

    variances = [variance(line) for line in lines]
    order = sorted(range(len(lines)), key=lambda gene: (-variances[gene], gene))
    yield from (lines[gene] + "\n" for gene in sorted(order[: of.top_variable]))


if __name__ == "__main__":
    main(sys.argv[1:])
