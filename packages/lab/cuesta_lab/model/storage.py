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
    """Largest throughput of a node's devices and of the network, in bytes per second.

    Attributes
    ----------
    network
        Interface of a compute or data node, in each direction (rho).
    disk_read, disk_write
        Local disks of a compute node (mu).
    memory
        Memory of a compute node (nu).
    data_nodes
        Number of nodes of the parallel file system (M).
    data_disk_read, data_disk_write
        Disks of one data node: mu', of which the paper measured 400 and 200 MB/s (section 5.1).
    backplane
        All of the network's switches together (Phi); infinite if not measured.
    """

    network: float
    disk_read: float
    disk_write: float
    memory: float
    data_nodes: int
    data_disk_read: float
    data_disk_write: float
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


def parallel_read(rates: StorageRates, nodes: int) -> float:
    """Rate at which each of `nodes` reads from the data nodes, equation (3)."""
    return _parallel(rates, nodes, rates.data_disk_read)


def parallel_write(rates: StorageRates, nodes: int) -> float:
    """Rate at which each of `nodes` writes to the data nodes, equation (3)."""
    return _parallel(rates, nodes, rates.data_disk_write)


def _parallel(rates: StorageRates, nodes: int, data_disk: float) -> float:
    share = rates.data_nodes / nodes
    return min(rates.network, rates.backplane / nodes, share * rates.network, share * data_disk)


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
    return min(memory_write(rates), parallel_write(rates, nodes))


def two_level_read(rates: StorageRates, nodes: int, in_memory: float, remote: float = 0.0) -> float:
    """Rate at which each of `nodes` reads its data in two-level storage, equation (7).

    `in_memory` is the fraction f of the bytes in the node's memory, 0 to 1. `remote` is the
    fraction in the memory of other nodes, which the paper's nodes do not read: its rate is that of
    equation (4) for remote memory. The rest is read from the data nodes. The parts are read one
    after the other.
    """
    if in_memory < 0 or remote < 0 or in_memory + remote > 1:
        raise ValueError(
            f"fractions of {in_memory} in memory and {remote} in that of other nodes are not "
            "between 0 and 1"
        )
    below = (1 - in_memory - remote) / parallel_read(rates, nodes)
    local = in_memory / memory_read(rates, nodes)
    return 1 / (local + remote / memory_read(rates, nodes, local=False) + below)
