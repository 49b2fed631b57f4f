"""Number of nodes from which their local disks are faster, together, than shared storage.

The aggregate throughput of HDFS grows with the nodes; that of a parallel file system and of
two-level storage has a limit. Source: section 4.1.5 and Figure 7 of "Accelerating big data
analytics on HPC clusters using two-level storage".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from cuesta_lab.model.storage import (
    StorageRates,
    hdfs_read,
    hdfs_write,
    parallel_read,
    parallel_write,
    two_level_read,
    two_level_write,
)

NODES_MAX = 10_000_000
"""Largest number of nodes; a crossover beyond it counts as none."""

PAPER = StorageRates(
    network=1170e6,
    disk_read=237e6,
    disk_write=116e6,
    memory=6267e6,
    data_nodes=1,
    data_disk_read=1e9,
    data_disk_write=1e9,
)
"""Averages of five clusters, section 4.1.5; the data nodes are set by `with_aggregate`."""

PAPER_AGGREGATES = (10e9, 50e9)
PAPER_FRACTIONS = (0.2, 0.5)


@dataclass(frozen=True, kw_only=True)
class Crossover:
    """The smallest number of nodes at which HDFS moves more than another storage.

    Attributes
    ----------
    operation
        `read` or `write`.
    storage
        `parallel` or `two-level`; `both` for writing, where they are the same.
    in_memory
        Fraction of the bytes in memory; 0 for `parallel` and for `both`.
    parallel_bytes_per_s
        Largest throughput of the parallel file system.
    nodes
        Number of nodes; None if HDFS never moves more.
    aggregate_bytes_per_s
        Aggregate throughput of the other storage with that many nodes.
    limit_bytes_per_s
        Its throughput with an unlimited number of nodes.
    """

    operation: str
    storage: str
    in_memory: float
    parallel_bytes_per_s: float
    nodes: int | None
    aggregate_bytes_per_s: float | None
    limit_bytes_per_s: float


def with_aggregate(rates: StorageRates, parallel_bytes_per_s: float) -> StorageRates:
    """Rates with a parallel file system of a given aggregate throughput.

    It has as few data nodes as their network interfaces allow.
    """
    data_nodes = math.ceil(parallel_bytes_per_s / rates.network)
    disk = parallel_bytes_per_s / data_nodes
    return replace(rates, data_nodes=data_nodes, data_disk_read=disk, data_disk_write=disk)


def crossovers(
    rates: StorageRates, aggregates: Sequence[float], fractions: Sequence[float]
) -> Iterator[Crossover]:
    """Yield a crossover for each aggregate throughput, and for reads of each fraction in memory."""
    for aggregate in aggregates:
        site = with_aggregate(rates, aggregate)
        for in_memory in (0.0, *fractions):
            yield _read(site, aggregate, in_memory)
        yield _write(site, aggregate)


def aggregate(rate_of_node: Callable[[int], float], nodes: int) -> float:
    """Bytes per second of all nodes together."""
    return nodes * rate_of_node(nodes)


def _read(site: StorageRates, parallel: float, in_memory: float) -> Crossover:
    limit = aggregate(lambda nodes: parallel_read(site, nodes), NODES_MAX)
    return _crossing(
        Crossover(
            operation="read",
            storage="two-level" if in_memory else "parallel",
            in_memory=in_memory,
            parallel_bytes_per_s=parallel,
            nodes=None,
            aggregate_bytes_per_s=None,
            limit_bytes_per_s=limit / (1 - in_memory) if in_memory < 1 else math.inf,
        ),
        lambda nodes: hdfs_read(site, nodes),
        lambda nodes: two_level_read(site, nodes, in_memory),
    )


def _write(site: StorageRates, parallel: float) -> Crossover:
    """Crossover for writes: two-level storage equals the parallel file system, equation (6)."""
    return _crossing(
        Crossover(
            operation="write",
            storage="both",
            in_memory=0.0,
            parallel_bytes_per_s=parallel,
            nodes=None,
            aggregate_bytes_per_s=None,
            limit_bytes_per_s=aggregate(lambda nodes: parallel_write(site, nodes), NODES_MAX),
        ),
        lambda nodes: hdfs_write(site, nodes),
        lambda nodes: two_level_write(site, nodes),
    )


def _crossing(
    crossover: Crossover, local: Callable[[int], float], shared: Callable[[int], float]
) -> Crossover:
    """Complete `crossover` by bisection; the shared rate per node falls with the node count."""

    def faster(nodes: int) -> bool:
        return local(nodes) > shared(nodes)

    if not faster(NODES_MAX):
        return crossover
    slow, fast = 0, 1
    while not faster(fast):
        slow, fast = fast, 2 * fast
    while fast - slow > 1:
        middle = (slow + fast) // 2
        slow, fast = (slow, middle) if faster(middle) else (middle, fast)
    return replace(crossover, nodes=fast, aggregate_bytes_per_s=aggregate(shared, fast))
