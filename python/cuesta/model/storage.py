"""Throughput that each compute node gets from four kinds of storage, equations (1) to (7).

Source: "Accelerating big data analytics on HPC clusters using two-level storage", section 4.1. Its
Table 2 gives rates in Mbps where the numbers of its case study are MB/s (10**6 bytes per second);
here every rate is in bytes per second. Nodes are alike and equally loaded, the network is free of
interference: what these functions give are upper bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class StorageRates:
    """What one node, or all of the network, moves at most, in bytes per second.

    Attributes
    ----------
    network
        Interface of a compute or data node, in each direction (rho).
    disk_read, disk_write
        Local disks of a compute node (mu).
    memory
        Memory of a compute node (nu).
    data_nodes
        How many nodes the parallel file system has (M).
    data_disk
        Disks of one data node (mu').
    backplane
        All of the network's switches together (Phi); infinite where nobody measured it.
    """

    network: float
    disk_read: float
    disk_write: float
    memory: float
    data_nodes: int
    data_disk: float
    backplane: float = math.inf


def hdfs_read(rates: StorageRates, nodes: int, *, local: bool = True) -> float:
    """Rate at which each of `nodes` reads from HDFS, on its own disk or another's, equation (1)."""
    if local:
        return rates.disk_read
    return min(rates.network, rates.backplane / nodes, rates.disk_read)


def hdfs_write(rates: StorageRates, nodes: int) -> float:
    """Rate at which each of `nodes` writes to HDFS with three copies, equation (2).

    Two of the copies pass the network, and all nodes together write three times what they produce.
    """
    return min(rates.network / 2, rates.backplane / (2 * nodes), rates.disk_write / 3)


def parallel_file_system(rates: StorageRates, nodes: int) -> float:
    """Rate at which each of `nodes` reads from or writes to the data nodes, equation (3)."""
    share = rates.data_nodes / nodes
    return min(
        rates.network, rates.backplane / nodes, share * rates.network, share * rates.data_disk
    )


def memory_read(rates: StorageRates, nodes: int, *, local: bool = True) -> float:
    """Rate at which each of `nodes` reads a file system in memory (Tachyon), equation (4)."""
    if local:
        return rates.memory
    return min(rates.network, rates.backplane / nodes, rates.memory)


def memory_write(rates: StorageRates) -> float:
    """Rate at which each node writes a file system in memory (Tachyon), equation (5)."""
    return rates.memory


def two_level_write(rates: StorageRates, nodes: int) -> float:
    """Rate at which each of `nodes` writes memory and the data nodes at once, equation (6)."""
    return min(memory_write(rates), parallel_file_system(rates, nodes))


def two_level_read(rates: StorageRates, nodes: int, in_memory: float) -> float:
    """Rate at which each of `nodes` reads its data in two-level storage, equation (7).

    `in_memory` is the fraction f of the bytes that lie in the node's own memory, 0 to 1; the rest
    comes from the data nodes, one after the other.
    """
    if not 0 <= in_memory <= 1:
        raise ValueError(f"a fraction of {in_memory} in memory is not between 0 and 1")
    below = parallel_file_system(rates, nodes)
    return 1 / (in_memory / memory_read(rates, nodes) + (1 - in_memory) / below)
