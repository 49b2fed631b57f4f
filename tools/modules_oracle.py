"""Make the fixtures of `cuesta-modules`: inputs drawn by seed, and each stage of WGCNA for them.

    python tools/modules_oracle.py [--all] [FOLDER]
    python tools/modules_oracle.py --whole FOLDER MATRIX POWER MIN_SIZE

The second form takes a matrix of `numpy.save`, rows are genes, and writes what R makes of it from
the matrix to the end, for `MODULES_FIXTURES=FOLDER cargo test -p cuesta-modules whole::`.

Needs `Rscript` with the packages of Debian's `r-cran-wgcna`. Long stages are thinned to evenly
spaced values, unless `--all` is given. The default folder is that of the tests.
"""

from __future__ import annotations

import gzip
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
FIXTURES = ROOT / "crates" / "modules" / "tests" / "modules" / "fixtures"
SECONDS_MAX = 7200
VALUES_MAX = 300
WHOLE = ("good/", "tree/", "modules/", "merged", "power/", "whole", "eigengenes/labels")
"""Stages that are never thinned."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """An input with planted modules, and how it is spoilt."""

    name: str
    seed: int
    genes: int
    samples: int
    modules: int
    decimals: int
    missing: float = 0.0
    constant: int = 0
    noise: float = 0.6
    power: int = 6
    min_size: int = 8


CASES = (
    Case(name="large", seed=1, genes=160, samples=40, modules=5, decimals=4),
    Case(name="plain", seed=1, genes=100, samples=40, modules=4, decimals=4),
    Case(name="ties", seed=2, genes=60, samples=12, modules=3, decimals=1, constant=2),
    Case(name="missing", seed=3, genes=90, samples=20, modules=4, decimals=3, missing=0.04),
    Case(name="counts", seed=4, genes=80, samples=16, modules=3, decimals=0, constant=3),
    Case(name="noise", seed=5, genes=70, samples=14, modules=1, decimals=3, noise=3.0, power=4),
    Case(name="weak", seed=6, genes=130, samples=30, modules=7, decimals=3, noise=1.0, power=3),
)


def draw(case: Case) -> NDArray[np.float64]:
    """Draw the matrix of a case, rows are genes."""
    random = np.random.default_rng(case.seed)
    profiles = random.normal(size=(case.modules, case.samples))
    profiles[1:] += 0.5 * profiles[:1]
    module = random.integers(-1, case.modules, size=case.genes)
    loading = random.uniform(0.4, 1.2, size=case.genes) * random.choice([-1, 1, 1], case.genes)
    values = random.normal(size=(case.genes, case.samples)) * case.noise
    values += np.where(module[:, None] >= 0, profiles[module] * loading[:, None], 0.0)
    values = np.round(values, case.decimals)
    values[random.uniform(size=values.shape) < case.missing] = np.nan
    values[random.choice(case.genes, case.constant, replace=False)] = 0.7
    return values


Stages = dict[str, list[str]]


Input = tuple[NDArray[np.float64], int, int]
"""Matrix, power and smallest module."""


def all_stages(inputs: list[Input]) -> list[Stages]:
    """Run R on matrices; the numbers of each stage, by matrix."""
    with tempfile.TemporaryDirectory() as temporary:
        words = ["Rscript", str(Path(__file__).with_suffix(".R"))]
        results = [Path(temporary, f"{number}.stages") for number in range(len(inputs))]
        for (values, power, min_size), result in zip(inputs, results, strict=True):
            matrix = result.with_suffix(".tsv")
            matrix.write_text("\n".join("\t".join(texts(row)) for row in values) + "\n")
            words += [str(matrix), str(result), str(power), str(min_size)]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL, timeout=SECONDS_MAX)
        return [read(result) for result in results]


def texts(values: NDArray[np.float64]) -> list[str]:
    """Numbers as R reads them."""
    return ["NA" if np.isnan(x) else repr(float(x)) for x in values.ravel()]


def read(result: Path) -> Stages:
    """Read the stages that R wrote."""
    lines = [line.split("\t") for line in result.read_text().splitlines()]
    return {name: texts for name, *texts in lines}


def thinned(name: str, values: list[str]) -> list[str]:
    """Take evenly spaced values of a long stage."""
    if name.startswith(WHOLE):
        return values
    return values[:: max(1, -(-len(values) // VALUES_MAX))]


def write(case: Case, of_stages: Stages, folder: Path, *, thin: bool) -> None:
    """Write the fixture of a case."""
    if thin:
        of_stages = {name: thinned(name, stage) for name, stage in of_stages.items()}
    of_stages["sizes"] = [str(case.samples), str(case.power), str(case.min_size)]
    of_stages["values"] = texts(draw(case))
    pack(of_stages, folder / f"{case.name}.tsv.gz")


def pack(of_stages: Stages, path: Path) -> None:
    """Write stages as a fixture."""
    lines = ("\t".join([name, *numbers]) + "\n" for name, numbers in of_stages.items())
    path.write_bytes(gzip.compress("".join(lines).encode(), compresslevel=9, mtime=0))


def write_whole(folder: Path, matrix: Path, power: int, min_size: int) -> None:
    """Write what R makes of a matrix from end to end."""
    values = np.asarray(np.load(matrix), dtype=np.float64)
    (of_stages,) = all_stages([(values, -power, min_size)])
    of_stages["sizes"] = [str(values.shape[1]), str(power), str(min_size)]
    of_stages["values"] = texts(values)
    folder.mkdir(parents=True, exist_ok=True)
    pack(of_stages, folder / f"{matrix.stem}.tsv.gz")


def main(arguments: list[str]) -> None:
    """Write the fixtures of all cases, or of a matrix."""
    if arguments[:1] == ["--whole"]:
        _, place, matrix, power, min_size = arguments
        write_whole(Path(place), Path(matrix), int(power), int(min_size))
        return
    folders = [Path(argument) for argument in arguments if argument != "--all"]
    folder = folders[0] if folders else FIXTURES
    folder.mkdir(parents=True, exist_ok=True)
    inputs = [(draw(case), case.power, case.min_size) for case in CASES]
    for case, of_stages in zip(CASES, all_stages(inputs), strict=True):
        write(case, of_stages, folder, thin="--all" not in arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
