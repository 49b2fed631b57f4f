"""`communities`: components from forests of the tasks; label propagation in supersteps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from cuesta.engines.spark import executor, source
from cuesta.engines.spark.answer import write_table
from cuesta.engines.spark.context import Context
from cuesta.errors import InputError

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from pyspark.sql import DataFrame

    Column = np.ndarray[Any, np.dtype[Any]]

COMMUNITIES_FILE = "communities.tsv"
FORESTS_AT_ONCE = 16
"""Forests merged by one task of a round, and in the end by the driver."""
_LABELS = f"{1 << 24}L"
"""As many labels as there can be genes."""

_READ = "file_read_warm_bytes_per_s"


def check(method: object) -> None:
    """Errors: `InputError` for a method that this engine does not have."""
    if method == "louvain":
        raise InputError(
            "engine spark has no --method louvain, which goes through the genes one by one; "
            "run it with --engine native, or take components or label-propagation"
        )


def run(context: Context) -> dict[str, int]:
    """Write `communities.tsv`; return the counts."""
    import numpy as np

    propagated = context.trial.parameters.get("method") == "label-propagation"
    labels, more = (_propagated if propagated else _components)(context)
    genes = max(context.number("genes"), len(labels))
    labels = np.concatenate([labels, np.arange(len(labels), genes)])
    with context.phase("write") as measure:
        names = ("gene", "community")
        columns = (np.arange(1, len(labels) + 1), labels + 1)
        measure.bytes = write_table(context.output / COMMUNITIES_FILE, names, columns)
        measure.rows = len(labels)
    read, kept, _ = context.counted()
    sizes = np.bincount(labels, minlength=1)
    real = sizes[sizes > 1]
    return {
        "rows_read": read,
        "edges": kept,
        "genes": len(labels),
        "genes_grouped": int(real.sum()),
        "communities": len(real),
        "largest_community": int(real.max(initial=0)),
        **more,
    }


def _components(context: Context) -> tuple[Column, dict[str, int]]:
    """The smallest member of the component of each gene, genes from 0."""
    import numpy as np

    with context.phase("open"):
        opened = source.open_source(context, context.trial.inputs, "communities")
    with context.phase("components", ceiling=_READ) as measure:
        measure.bytes = opened.size_bytes
        forests, partitions = opened.rows, opened.partitions
        while partitions > FORESTS_AT_ONCE:
            partitions = -(-partitions // FORESTS_AT_ONCE)
            schema = executor.schema_of("communities")
            forests = context.session.map_arrow(
                forests.repartition(partitions), merge_forests, schema
            )
        table = forests.toArrow()
        gene, label = (table.column(name).to_numpy() for name in ("gene", "label"))
        genes, roots = roots_of(gene, label)
        labels = np.arange(int(genes.max(initial=0)))
        labels[genes - 1] = roots - 1
        measure.rows = context.counted()[0]
    return labels, {}


def merge_forests(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """In a task: one forest of the links of many."""
    import numpy as np
    import pyarrow as pa

    held = [[batch.column(index).to_numpy() for index in (0, 1)] for batch in batches]
    if held:
        gene, label = (np.concatenate(columns) for columns in zip(*held, strict=True))
        genes, roots = roots_of(gene, label)
        link = genes != roots
        yield pa.RecordBatch.from_arrays(
            [pa.array(genes[link]), pa.array(roots[link])], names=["gene", "label"]
        )


def roots_of(gene: Column, other: Column) -> tuple[Column, Column]:
    """The genes of these links, ascending, and the smallest gene each is linked to.

    Every root that sees a smaller one hangs itself below the smallest it sees; then all paths are
    cut to length one; until no link leads from one tree to another. Source: Shiloach and Vishkin
    1982, with the smallest root for any.
    """
    import numpy as np

    genes, ends = np.unique(np.concatenate([gene, other]), return_inverse=True)
    left, right = np.split(ends, 2)
    parent = np.arange(len(genes))
    while True:
        a, b = parent[left], parent[right]
        crossing = a != b
        if not crossing.any():
            return genes, genes[parent]
        left, right, a, b = (column[crossing] for column in (left, right, a, b))
        np.minimum.at(parent, np.maximum(a, b), np.minimum(a, b))
        while not np.array_equal(parent, above := parent[parent]):
            parent = above


def _propagated(context: Context) -> tuple[Column, dict[str, int]]:
    """Labels after the supersteps, as smallest members, genes from 0."""
    import numpy as np

    with context.phase("open"):
        opened = source.open_source(context, context.trial.inputs, "edges")
    with context.phase("read", ceiling=_READ) as measure:
        measure.bytes = opened.size_bytes
        edges = _both_ways(opened.rows).persist()
        labels = edges.selectExpr("neighbour AS gene", "neighbour AS label").distinct()
        labels = labels.localCheckpoint()
        measure.rows = context.counted()[0]
    with context.phase("label-propagation") as measure:
        labels, rounds = _supersteps(edges, labels, context.number("iterations", 10))
        table = labels.toArrow()
        gene, label = (table.column(name).to_numpy() - 1 for name in ("gene", "label"))
        measure.rows = context.counted()[1]
    edges.unpersist()
    found = np.arange(int(gene.max(initial=-1)) + 1)
    found[gene] = label
    smallest = np.full(len(found), len(found))
    np.minimum.at(smallest, found, np.arange(len(found)))
    return smallest[found], {"rounds": rounds}


def _both_ways(rows: DataFrame) -> DataFrame:
    """Each edge from both of its ends, repeated ones counted, together by neighbour."""
    there = rows.selectExpr("gene1 AS neighbour", "gene2 AS to")
    back = rows.selectExpr("gene2 AS neighbour", "gene1 AS to")
    return there.union(back).groupBy("neighbour", "to").count().repartition("neighbour")


def _supersteps(edges: DataFrame, labels: DataFrame, most: int) -> tuple[DataFrame, int]:
    """The labels once nothing changes, or after `most` rounds; and the rounds that changed some."""
    for round_number in range(most):
        after = _superstep(edges, labels).localCheckpoint()
        if not after.filter("changed").limit(1).count():
            return labels, round_number
        labels = after.select("gene", "label")
    return labels, most


def _superstep(edges: DataFrame, labels: DataFrame) -> DataFrame:
    """Every gene takes the label most of its edges lead to, the smallest of several."""
    sent = edges.join(labels.withColumnRenamed("gene", "neighbour"), "neighbour")
    votes = sent.groupBy("to", "label").sum("count")
    # One number that is largest for most votes and, among those, for the smallest label.
    rank = f"`sum(count)` * {_LABELS} + ({_LABELS} - label)"
    best = votes.selectExpr("to AS gene", f"{rank} AS rank").groupBy("gene").max("rank")
    label = f"{_LABELS} - (`max(rank)` & ({_LABELS} - 1))"
    chosen = best.selectExpr("gene", f"CAST({label} AS int) AS new")
    return labels.join(chosen, "gene").selectExpr("gene", "new AS label", "new != label AS changed")
