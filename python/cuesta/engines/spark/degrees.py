"""`degrees`: counts of each task, summed by Spark, written by the driver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cuesta.engines.spark import source
from cuesta.engines.spark.answer import write_table
from cuesta.engines.spark.context import Context

if TYPE_CHECKING:
    import numpy as np

    Column = np.ndarray[Any, np.dtype[Any]]

DEGREES_FILE = "degrees.tsv"
DISTRIBUTION_FILE = "distribution.tsv"


def run(context: Context) -> dict[str, int]:
    """Write both files; return the counts."""
    import numpy as np

    with context.phase("open"):
        opened = source.open_source(context, context.trial.inputs, "degrees")
    with context.phase("count", ceiling="file_read_warm_bytes_per_s") as measure:
        measure.bytes = opened.size_bytes
        table = opened.rows.groupBy("gene").sum("in", "out").toArrow()
        read, kept, _ = context.counted()
        measure.rows = read
    index = table.column("gene").to_numpy() - 1
    genes = max(context.number("genes"), int(index.max(initial=-1)) + 1)
    inward, outward = np.zeros(genes, np.int64), np.zeros(genes, np.int64)
    inward[index] = table.column("sum(in)").to_numpy()
    outward[index] = table.column("sum(out)").to_numpy()
    total = inward + outward
    with context.phase("write") as measure:
        names = ("gene", "in", "out", "total")
        numbers = np.arange(1, genes + 1)
        columns = (numbers, inward, outward, total)
        measure.bytes = write_table(context.output / DEGREES_FILE, names, columns)
        measure.bytes += _write_distribution(context, (inward, outward, total))
        measure.rows = genes
    return {
        "rows_read": read,
        "edges": kept,
        "genes": genes,
        "genes_with_edges": int(np.count_nonzero(total)),
        "largest_degree": int(total.max(initial=0)),
    }


def _write_distribution(context: Context, degrees: tuple[Column, Column, Column]) -> int:
    """How many genes have each degree that any gene has."""
    import numpy as np

    found = np.unique(np.concatenate(degrees))
    counts = []
    for column in degrees:
        values, many = np.unique(column, return_counts=True)
        counts.append(np.zeros(len(found), np.int64))
        counts[-1][np.searchsorted(found, values)] = many
    names = ("degree", "in", "out", "total")
    return write_table(context.output / DISTRIBUTION_FILE, names, (found, *counts))
