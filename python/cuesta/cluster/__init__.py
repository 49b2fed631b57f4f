"""Brings Spark, MPI, YARN and stores up on the nodes of an allocation, runs, takes all down again.

A *leader* (`leader`) runs inside the allocation. It has its scheduler start an *agent* (`agent`) on
every node, hears what each node has, compares that (`checks`), and tells agents what to start. Both
are tied together by a connection: when the leader is gone, an agent ends all that it has started,
and each has a watchdog (`watchdog`) that does it where it cannot do so itself.

`schedulers` has one module for each scheduler, behind one Protocol. `control` is what a user's
process does: submit, look, end. `session` is a cluster on this machine for a `with` statement.
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
