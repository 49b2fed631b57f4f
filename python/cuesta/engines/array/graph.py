"""`degrees` and `communities`: the array as the adjacency of a network of genes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cuesta.engines.array.runs import FILE_READ, Run, network_genes
from cuesta.engines.array.sizes import EDGE_BYTES, GENE_MAX, too_little
from cuesta.engines.array.store import ANY
from cuesta.engines.array.table import write_table
from cuesta.errors import InputError

DEGREES_FILE = "degrees.tsv"
DISTRIBUTION_FILE = "distribution.tsv"
COMMUNITIES_FILE = "communities.tsv"

ENDS = ("gene1", "gene2")

Genes = NDArray[np.int64]
"""Gene numbers or labels, from 0."""

_LABEL_BITS = 24
_LABELS = GENE_MAX - 1


def run_degrees(run: Run) -> None:
    """Count edges along each of the two gene dimensions of the array."""
    outward = inward = np.zeros(0, np.int64)
    edges = 0
    with run.clock.timed("count", FILE_READ) as measure, run.session(run.sizes.narrow):
        for gene1, gene2 in _edges(run):
            edges += len(gene1)
            outward, inward = _count(outward, gene1), _count(inward, gene2)
        _measure(run, measure)
    genes = network_genes(run.trial.parameters.get("genes"), len(outward), run.trial.inputs[0])
    outward, inward = (_padded(counts, genes) for counts in (outward, inward))
    total = outward + inward
    with run.clock.timed("write") as measure:
        names = np.arange(1, genes + 1)
        header = b"gene\tin\tout\ttotal\n"
        size = write_table(run.output / DEGREES_FILE, header, [names, inward, outward, total])
        header = b"degree\tin\tout\ttotal\n"
        table = distribution([inward, outward, total])
        size += write_table(run.output / DISTRIBUTION_FILE, header, table)
        measure.bytes, measure.rows = size, genes
    run.counts |= {
        "edges": edges,
        "genes": genes,
        "genes_with_edges": int(np.count_nonzero(total)),
        "largest_degree": int(total.max(initial=0)),
    }


def distribution(counts: list[Genes]) -> list[Genes]:
    """Return the occurring degrees, ascending, and for each count the number of genes with each."""
    degrees = np.unique(np.concatenate([np.unique(count) for count in counts]))
    columns = [degrees]
    for count in counts:
        having = np.zeros(len(degrees), np.int64)
        values, many = np.unique(count, return_counts=True)
        having[np.searchsorted(degrees, values)] = many
        columns.append(having)
    return columns


def run_communities(run: Run) -> None:
    """Find communities by components, or by label propagation, on the adjacency."""
    method = str(run.trial.parameters.get("method") or "components")
    labels = _components(run) if method == "components" else _propagation(run)
    genes = network_genes(run.trial.parameters.get("genes"), len(labels), run.trial.inputs[0])
    labels = np.concatenate([labels, np.arange(len(labels), genes)])
    with run.clock.timed("write") as measure:
        columns = [np.arange(1, genes + 1), labels + 1]
        path = run.output / COMMUNITIES_FILE
        measure.bytes = write_table(path, b"gene\tcommunity\n", columns)
        measure.rows = genes
    members = np.bincount(labels, minlength=genes)
    real = members[members > 1]
    run.counts |= {
        "genes": genes,
        "genes_grouped": int(real.sum()),
        "communities": len(real),
        "largest_community": int(real.max(initial=0)),
    }


def _components(run: Run) -> Genes:
    """Join the components of the array slab by slab."""
    labels = np.zeros(0, np.int64)
    edges = 0
    with run.clock.timed("components", FILE_READ) as measure, run.session(run.sizes.narrow):
        for gene1, gene2 in _edges(run):
            edges += len(gene1)
            genes = max(len(labels), int(gene1.max(initial=-1)) + 1)
            labels = np.concatenate([labels, np.arange(len(labels), genes)])
            labels = spread(labels, gene1, gene2)
        _measure(run, measure)
    run.counts["edges"] = edges
    return labels


def spread(labels: Genes, gene1: Genes, gene2: Genes) -> Genes:
    """Return labels after the edges have joined components; a label is the smallest member.

    The paper starts a breadth-first search at each unmarked vertex. Here all searches proceed
    together: in a step each component takes the smallest label next to it, and edges within a
    component are dropped, until none is left.
    """
    source, target = labels[gene1], labels[gene2]
    while True:
        crossing = source != target
        source, target = source[crossing], target[crossing]
        if not len(source):
            return labels
        labels = labels.copy()
        np.minimum.at(labels, np.maximum(source, target), np.minimum(source, target))
        labels = _settled(labels)
        source, target = labels[source], labels[target]


def _settled(labels: Genes) -> Genes:
    """Follow each label to its root, the label of itself."""
    while True:
        further = labels[labels]
        if np.array_equal(further, labels):
            return labels
        labels = further


def _propagation(run: Run) -> Genes:
    """Gather the adjacency, then propagate labels in memory."""
    parts: list[tuple[NDArray[np.uint32], NDArray[np.uint32]]] = []
    edges = 0
    limit = run.trial.memory_bytes
    with run.clock.timed("read", FILE_READ) as measure, run.session(run.sizes.narrow):
        for gene1, gene2 in _edges(run):
            edges += len(gene1)
            if edges * EDGE_BYTES > limit:
                raise InputError(too_little("the graph", edges * EDGE_BYTES, limit))
            parts.append((gene1.astype(np.uint32), gene2.astype(np.uint32)))
        _measure(run, measure)
    with run.clock.timed("label-propagation") as measure:
        empty = np.empty(0, np.uint32)
        gene1 = np.concatenate([empty, *(part[0] for part in parts)])
        gene2 = np.concatenate([empty, *(part[1] for part in parts)])
        del parts
        rounds = run.trial.parameters.get("iterations")
        labels, made = propagate(gene1, gene2, rounds if isinstance(rounds, int) else 10)
        measure.rows = edges
    run.counts |= {"edges": edges, "rounds": made}
    return labels


def propagate(gene1: NDArray[Any], gene2: NDArray[Any], rounds: int) -> tuple[Genes, int]:
    """Return labels after at most `rounds` rounds, as smallest members, and the rounds made.

    In each round all genes at once take the most frequent label of their neighbors; a tie goes to
    the smallest label.
    """
    owners = np.concatenate([gene1, gene2])
    neighbors = np.concatenate([gene2, gene1])
    labels = np.arange(int(owners.max()) + 1 if len(owners) else 0)
    for made in range(rounds):
        following = _superstep(owners, neighbors, labels)
        if np.array_equal(following, labels):
            return _smallest_members(labels), made
        labels = following
    return _smallest_members(labels), rounds


def _superstep(owners: NDArray[Any], neighbors: NDArray[Any], labels: Genes) -> Genes:
    """Sort the votes of each gene, count equal votes, and take the most frequent."""
    if not len(owners):
        return labels
    votes = owners.astype(np.int64)
    votes <<= _LABEL_BITS
    votes |= labels[neighbors]
    votes.sort()
    firsts = _run_starts(votes)
    many = np.diff(firsts, append=len(votes))
    kinds = votes[firsts]
    del votes
    genes = kinds >> _LABEL_BITS
    # The most votes, and among those the smallest label.
    ranks = many << _LABEL_BITS | (_LABELS - (kinds & _LABELS))
    starts = _run_starts(genes)
    best = np.maximum.reduceat(ranks, starts)
    following = labels.copy()
    following[genes[starts]] = _LABELS - (best & _LABELS)
    return following


def _run_starts(values: Genes) -> Genes:
    """Return the indices at which runs of equal values start."""
    starts: Genes = np.flatnonzero(np.concatenate([[True], values[1:] != values[:-1]]))
    return starts


def _smallest_members(labels: Genes) -> Genes:
    """Label each group by its smallest member."""
    smallest = np.zeros(len(labels), np.int64)
    # The last of several writes to the same index remains.
    smallest[labels[::-1]] = np.arange(len(labels))[::-1]
    return smallest[labels]


def _edges(run: Run) -> Iterator[tuple[Genes, Genes]]:
    """Yield both ends of edges that pass the filter, numbered from 0, in bounded batches."""
    (loaded,) = run.arrays
    for batch in run.batches(loaded, ENDS, ANY):
        gene1, gene2 = (batch[name].astype(np.int64) - 1 for name in ENDS)
        yield gene1, gene2


def _measure(run: Run, measure: Any) -> None:
    (loaded,) = run.arrays
    measure.bytes = run.stored_bytes(loaded, ENDS)
    measure.rows = loaded.facts.rows


def _count(counts: Genes, genes: Genes) -> Genes:
    """Add the occurrences of each gene in `genes` to `counts`, extended if necessary."""
    more = np.bincount(genes, minlength=len(counts))
    more[: len(counts)] += counts
    return more


def _padded(counts: Genes, length: int) -> Genes:
    return np.concatenate([counts, np.zeros(length - len(counts), np.int64)])
