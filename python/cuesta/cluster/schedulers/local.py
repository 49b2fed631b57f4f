"""Several nodes on this machine: each has a share of its cores and its memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cuesta import machine
from cuesta.cluster.limits import MEMORY_SHARE
from cuesta.cluster.schedulers import AgentWords
from cuesta.cluster.schedulers.process import ProcessJobs
from cuesta.cluster.settings import ClusterPlan


@dataclass(frozen=True)
class LocalScheduler(ProcessJobs):
    """Starts at once; a job is the process of its leader."""

    name: str = "local"

    def missing(self) -> str | None:
        """Return None: no software is needed."""
        return None

    def complete(self, plan: ClusterPlan) -> ClusterPlan:
        """Set an even share of cores and memory for each node, where none is chosen."""
        nodes, share = plan.allocation.nodes, plan.share
        cores = share.cores or max(1, machine.cores_usable() // nodes)
        memory = share.memory_bytes or int(machine.memory_bytes() * MEMORY_SHARE) // nodes
        return replace(plan, share=replace(share, cores=cores, memory_bytes=memory))

    def nodes(self, plan: ClusterPlan) -> list[str]:
        """Return `local-1`, `local-2` ..."""
        return [f"local-{number}" for number in range(1, plan.allocation.nodes + 1)]

    def current_node(self) -> str:
        """Return the name of the first node."""
        return "local-1"

    def launches(
        self,
        plan: ClusterPlan,  # noqa: ARG002
        nodes: Sequence[str],
        agent: AgentWords,
    ) -> list[list[str]]:
        """Return a command for each node."""
        return [agent(node) for node in nodes]
