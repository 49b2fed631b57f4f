"""A cluster on this machine for the duration of a `with` statement."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cuesta import processes, removal
from cuesta.cluster import control
from cuesta.cluster.folder import ClusterFolder
from cuesta.cluster.settings import Allocation, ClusterPlan, NodeShare


@dataclass(frozen=True, kw_only=True)
class LocalCluster:
    """A running cluster.

    Attributes
    ----------
    master
        The URL of Spark's master.
    hosts
        Hosts of MPI ranks: this machine, once for each node.
    folder
        Folder of its state and its logs.
    """

    master: str
    hosts: tuple[str, ...]
    folder: Path


@contextmanager
def session(
    nodes: int,
    cores: int,
    memory_bytes: int,
    scratch: Path,
    sets: Mapping[str, str] | None = None,
) -> Iterator[LocalCluster]:
    """Run a cluster of nodes on this machine, each with these resources; end it afterwards.

    Errors: as `session_on`.
    """
    share = NodeShare(cores=cores, memory_bytes=memory_bytes, scratch=str(scratch))
    with session_on(Allocation(scheduler="local", nodes=nodes), share, sets) as up:
        yield up


@contextmanager
def session_on(
    allocation: Allocation, share: NodeShare, sets: Mapping[str, str] | None = None
) -> Iterator[LocalCluster]:
    """Run a cluster on these nodes, each with these resources; end it afterwards.

    The cluster also ends when this process ends or is killed. Errors: `InputError`,
    `EngineError` where it does not start.
    """
    root = Path(tempfile.mkdtemp(prefix="cuesta-cluster-", dir=share.scratch)).absolute()
    folder = ClusterFolder(root)
    plan = ClusterPlan(
        cluster=control.new_name(),
        allocation=allocation,
        share=share,
        sets=dict(sets or {}),
        owner=processes.identity(os.getpid()),
    )
    try:
        control.submit(control.completed(plan), folder)
        try:
            state = control.wait_until_ready(folder, None)
            hosts = tuple(node["address"] for node in state["nodes"])
            yield LocalCluster(master=state["spark"]["master"], hosts=hosts, folder=root)
        finally:
            control.down(folder)
    finally:
        removal.discard(root)
