"""Spark, MPI, YARN and stores on the nodes of an allocation: started, used, stopped.

A *leader* (`leader`) runs inside the allocation. It has its scheduler start an *agent* (`agent`) on
each node, receives a description of each node, compares these (`checks`), and sends the agents the
commands to start. Leader and agents are connected: when the leader exits, an agent ends all
processes that it has started, and a watchdog (`watchdog`) of each does so if the process itself was
killed.

`running` has the connections, processes and state of a cluster, which its leader shares with the
services (`services`, `yarn_service`) and with the command (`driver`).

`schedulers` has one module for each scheduler, behind one Protocol. `control` has the operations of
a user's process: submit, query, end. `session` is a cluster on this machine for a `with` statement.

Safe to change: a scheduler (one module of `schedulers`). What breaks: a process that no agent ends
outlives the allocation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cuesta.cluster.local_session import LocalCluster, session

__all__ = ["LocalCluster", "session"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from cuesta.cluster import local_session

        return getattr(local_session, name)
    raise AttributeError(name)
