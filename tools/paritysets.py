"""Expression matrices that packages have, whose modules are compared with those of R.

A matrix comes from the data of `cuesta data get`, or from a package of Debian, whose file of R is
read here. None is in the repository.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import cuesta
import debian
import rdata

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "parity"


@dataclass(frozen=True, kw_only=True)
class ExpressionSet:
    """An expression matrix and how it is obtained."""

    name: str
    title: str
    """Its name, number of genes and samples, in words."""
    source: str
    """Origin of the matrix, as the page states it."""
    top_variable: int | None = None
    """Number of the genes with the largest variance that are used, if not all are."""
    package: str | None = None
    """Package of Debian, for a matrix that `cuesta data get` does not have."""
    file: str = ""
    """File of R in the package."""

    def matrix(self) -> Path:
        """Return the file of the matrix, obtained where it is missing.

        Errors: `CuestaError`, `DebianError` or `RDataError` if the package cannot be had.
        """
        if self.package is None:
            (path,) = cuesta.data.get(self.name)
            return Path(path)
        path = FOLDER / f"{self.name}.tsv"
        if not path.is_file():
            unpacked = debian.unpacked(self.name, [self.package])
            write(next(iter(rdata.matrices(unpacked / self.file))), path)
        return path


def write(matrix: rdata.RMatrix, path: Path) -> None:
    """Write a matrix as text, a row a gene, with digits that give the same numbers back."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".partial")
    with unfinished.open("w", encoding="utf-8") as out:
        out.write("\t".join(["gene", *matrix.columns]) + "\n")
        for number, name in enumerate(matrix.rows):
            out.write("\t".join([name, *map(repr, matrix.row(number))]) + "\n")
    unfinished.rename(path)


LIBRARY = "usr/lib/R/site-library"
"""Folder of R's packages in those of Debian."""

SETS = (
    ExpressionSet(
        name="nci60",
        title="NCI60: 6,830 genes in 64 tumour cell lines",
        source="`cuesta data get nci60`",
    ),
    ExpressionSet(
        name="khan",
        title="Khan: 2,308 genes in 83 small round blue cell tumours",
        source="`cuesta data get khan`",
    ),
    ExpressionSet(
        name="bladder",
        title="Bladder: 57 samples of bladder cancer, the 3,000 of 22,283 probes that vary most",
        source="`bladderdata` of Debian's `r-bioc-bladderbatch`, with `--top-variable 3000`",
        top_variable=3000,
        package="r-bioc-bladderbatch",
        file=f"{LIBRARY}/bladderbatch/data/bladderdata.rda",
    ),
    ExpressionSet(
        name="all",
        title="ALL: 128 patients with leukaemia, the 3,000 of 12,625 probes that vary most",
        source="`ALL` of Debian's `r-bioc-all`, with `--top-variable 3000`",
        top_variable=3000,
        package="r-bioc-all",
        file=f"{LIBRARY}/ALL/data/ALL.rda",
    ),
)
