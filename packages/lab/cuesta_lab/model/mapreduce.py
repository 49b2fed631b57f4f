"""Time that a MapReduce job spends on input and output, equations (8) to (13).

Source: "Accelerating big data analytics on HPC clusters using two-level storage", section 4.2. All
amounts are bytes of one node, all rates bytes per second of one node, all results seconds. HDFS and
a parallel file system keep intermediate data on the local disk, so `intermediate` is mu there; a
file system in memory and two-level storage keep it in memory, so it is nu. One function therefore
serves two equations.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class MovedBytes:
    """Bytes that a node moves in the phases of a job.

    Attributes
    ----------
    read
        Input of the map tasks (D).
    spilled
        Output of the map tasks (I_M).
    shuffled
        Data that reduce tasks fetched and stored locally (I_S).
    written
        Output of the reduce tasks (O_R).
    """

    read: float
    spilled: float
    shuffled: float
    written: float


@dataclass(frozen=True, kw_only=True)
class NodeRates:
    """Rates at which a node reads input, writes output and moves intermediate data, bytes/s."""

    read: float
    write: float
    intermediate: float


def map_seconds(moved: MovedBytes, rates: NodeRates) -> float:
    """Seconds of input and output in the map phase, equations (8) and (9)."""
    return moved.read / rates.read + moved.spilled / rates.intermediate


def shuffle_seconds(moved: MovedBytes, rates: NodeRates) -> float:
    """Seconds of input and output in the shuffle phase, equations (10) and (11)."""
    return (moved.spilled + moved.shuffled) / rates.intermediate


def reduce_seconds(moved: MovedBytes, rates: NodeRates) -> float:
    """Seconds of input and output in the reduce phase, equations (12) and (13)."""
    return moved.shuffled / rates.intermediate + moved.written / rates.write


def job_seconds(moved: MovedBytes, rates: NodeRates) -> float:
    """Seconds of the three phases, one after the other."""
    return map_seconds(moved, rates) + shuffle_seconds(moved, rates) + reduce_seconds(moved, rates)
