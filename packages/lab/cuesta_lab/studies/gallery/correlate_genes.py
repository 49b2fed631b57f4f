"""Correlate all pairs of genes: `correlate_genes.py TOOL MATRIX ANSWER THREADS`.

The answer has a row for each pair whose Pearson correlation is at least 0.5 in size.
`correlate_genes.py write FILE GENES` writes the matrix: text, a row a gene, 60 samples.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Any

MIN_ABS_SCORE = 0.5
SAMPLES = 60
GENES_OF_A_FACTOR = 40
"""Genes that vary together."""
SEED = 7
ROWS_AT_ONCE = 1000
HEADER = "gene1\tgene2\tscore\n"


def with_cuesta(matrix: str, answer: str, threads: str) -> None:
    """Correlate with `cuesta run correlate`, which verifies its answer."""
    words = ["--min-abs-score", str(MIN_ABS_SCORE), "--format", "text", "--threads", threads]
    command = ["run", "correlate", matrix, *words, "-o", "pairs"]
    subprocess.run([sys.executable, "-m", "cuesta", *command], check=True)
    lines = Path("pairs", "genes.tsv").read_text(encoding="utf-8").splitlines()
    names = dict(line.split("\t")[:2] for line in lines if not line.startswith("#"))
    with Path(answer).open("w", encoding="utf-8") as written:
        written.write(HEADER)
        with Path("pairs", "pairs.txt").open(encoding="ascii") as pairs:
            for cells in map(str.split, pairs):
                first, second = sorted(names[number] for number in cells[:2])
                written.write(f"{first}\t{second}\t{cells[-2]}\n")


def with_numpy(matrix: str, answer: str, _threads: str) -> None:
    """Correlate with matrix products, of as many threads as BLAS takes."""
    import numpy as np

    with open(matrix, encoding="ascii") as lines:  # noqa: PTH123
        columns = len(next(lines).split())
        names = [line.split("\t", 1)[0] for line in lines]
    table = np.loadtxt(matrix, skiprows=1, usecols=range(1, columns))
    centred = table - table.mean(axis=1, keepdims=True)
    scaled = centred / np.linalg.norm(centred, axis=1, keepdims=True)
    _write(answer, names, _blocks(scaled))


def with_pandas(matrix: str, answer: str, _threads: str) -> None:
    """Correlate a frame; it holds all pairs at once."""
    import numpy as np
    import pandas as pd

    table = pd.read_csv(matrix, sep="\t", index_col=0)
    scores = table.T.corr().to_numpy()
    passing = np.nonzero(np.triu(np.abs(scores) >= MIN_ABS_SCORE, 1))
    pairs = zip(*passing, scores[passing], strict=True)
    _write(answer, list(table.index), pairs)


def _blocks(scaled: Any) -> Iterable[tuple[int, int, float]]:
    """Yield the pairs that pass, a block of rows at a time."""
    import numpy as np

    for start in range(0, len(scaled), ROWS_AT_ONCE):
        scores = scaled[start : start + ROWS_AT_ONCE] @ scaled[start:].T
        rows, columns = np.nonzero(np.triu(np.abs(scores) >= MIN_ABS_SCORE, 1))
        yield from zip(rows + start, columns + start, scores[rows, columns], strict=True)


def _write(answer: str, names: list[str], pairs: Iterable[tuple[int, int, float]]) -> None:
    lines = (f"{names[i]}\t{names[j]}\t{score:.6f}\n" for i, j, score in pairs)
    with Path(answer).open("w", encoding="utf-8") as written:
        written.writelines(chain([HEADER], lines))


def write(file: str, genes: int) -> None:
    """Write the matrix, the same each time: each gene is a factor with noise."""
    import numpy as np

    draw = np.random.default_rng(SEED)
    factors = draw.standard_normal((max(1, genes // GENES_OF_A_FACTOR), SAMPLES))
    with Path(file).open("w", encoding="ascii") as written:
        written.write("\t".join(["gene", *(f"s{number}" for number in range(SAMPLES))]) + "\n")
        for gene in range(genes):
            values = factors[gene % len(factors)] + draw.standard_normal(SAMPLES)
            written.write("\t".join([f"g{gene:06d}", *(f"{value:.4f}" for value in values)]) + "\n")


def main(tool: str, *words: str) -> None:
    """Write the matrix, or correlate its genes with a tool."""
    if tool == "write":
        write(words[0], int(words[1]))
    else:
        TOOLS[tool](*words)


TOOLS = {"cuesta": with_cuesta, "numpy": with_numpy, "pandas": with_pandas}

if __name__ == "__main__":
    main(*sys.argv[1:])
