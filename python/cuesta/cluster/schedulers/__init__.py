"""Schedulers, which allocate nodes: a Protocol, and one module for each, imported on demand.

To add one: write `schedulers/<name>.py` with a class that satisfies `Scheduler`, and add it to
`_CLASSES`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol, cast

from cuesta.cluster.folder import ClusterFolder
from cuesta.cluster.limits import ASK_SECONDS
from cuesta.cluster.settings import ClusterPlan
from cuesta.errors import InputError

_CLASSES = {
    "local": ("cuesta.cluster.schedulers.local", "LocalScheduler"),
    "slurm": ("cuesta.cluster.schedulers.slurm", "SlurmScheduler"),
    "pbs": ("cuesta.cluster.schedulers.pbs", "PbsScheduler"),
    "hosts": ("cuesta.cluster.schedulers.hosts", "HostsScheduler"),
}

SCHEDULER_NAMES = tuple(_CLASSES)

WAITING, RUNNING, ENDING, GONE, UNKNOWN = "waiting", "running", "ending", "gone", "unknown"
"""States of a job: it waits for nodes, has nodes, is ending, has ended, or cannot be queried."""


@dataclass(frozen=True, kw_only=True)
class JobReport:
    """The scheduler's report of a job; empty where it has none.

    Attributes
    ----------
    state
        The scheduler's name of the state, such as `PENDING`.
    reason
        The cause for which the job waits.
    is_withdrawn
        Whether the job was cancelled before it began.
    """

    state: str = ""
    reason: str = ""
    is_withdrawn: bool = False


AgentWords = Callable[[str], list[str]]
"""Command of the agent of a node; with an empty name the agent finds the node's name itself."""


class Scheduler(Protocol):
    """Allocates nodes and starts processes on them. Constructed without arguments, and cheap."""

    @property
    def name(self) -> str:
        """Name of the scheduler on the command line."""
        ...

    def missing(self) -> str | None:
        """Describe in a sentence what the scheduler lacks here, or return None."""
        ...

    def complete(self, plan: ClusterPlan) -> ClusterPlan:
        """Add values to a plan that the scheduler knows in advance. Errors: `InputError`."""
        ...

    def script(self, plan: ClusterPlan, folder: ClusterFolder) -> str:
        """Return the job: a shell script that becomes the leader. Errors: `InputError`."""
        ...

    def submit(self, folder: ClusterFolder) -> str:
        """Submit the script of the folder; return the name of the job.

        Errors: `InputError` with the scheduler's message.
        """
        ...

    def state(self, job: str, seconds: float = ASK_SECONDS) -> str:
        """Return `WAITING` ... `GONE`; `UNKNOWN` where the scheduler does not answer in time."""
        ...

    def report(self, job: str) -> JobReport:
        """Return the scheduler's report of a job; empty where it does not answer."""
        ...

    def memory_bytes(self, job: str) -> Mapping[str, int]:
        """Return memory of a job on each node, by name; empty where the scheduler counts none."""
        ...

    def cancel(self, job: str) -> None:
        """End the job; has no effect where it has ended.

        Errors: `InputError` for a process of another machine; `EngineError` where the scheduler
        does not answer.
        """
        ...

    def current_job(self) -> str:
        """Return the job of the current allocation, empty where the scheduler has none."""
        ...

    def nodes(self, plan: ClusterPlan) -> list[str]:
        """Return the names of the nodes of the current allocation. Errors: `InputError`."""
        ...

    def current_node(self) -> str:
        """Return the name of this node of the current allocation."""
        ...

    def launches(
        self, plan: ClusterPlan, nodes: Sequence[str], agent: AgentWords
    ) -> list[list[str]]:
        """Return commands that start an agent on each node, and run as long as it does."""
        ...

    def ends_at(self) -> float | None:
        """Return when the current allocation ends, in Unix time; None if that is unknown."""
        ...


def get_scheduler(name: str) -> Scheduler:
    """Return the scheduler called `name`. Errors: `InputError`."""
    if name not in _CLASSES:
        raise InputError(
            f"--scheduler {name}: is not known; choose from {', '.join(SCHEDULER_NAMES)}"
        )
    module, class_name = _CLASSES[name]
    return cast(Scheduler, getattr(import_module(module), class_name)())


def chosen(plan: ClusterPlan, nodes: list[str]) -> list[str]:
    """Return the nodes of an allocation to use: named, or the first. Errors: `InputError`."""
    hosts, count = list(plan.allocation.hosts), plan.allocation.nodes
    missing = [host for host in hosts if host not in nodes]
    if missing:
        raise InputError(
            f"--hosts {missing[0]}: the allocation has {', '.join(nodes)}; name hosts of it"
        )
    if len(nodes) < count:
        raise InputError(
            f"--nodes is {count}, the allocation has {len(nodes)}: {', '.join(nodes)}; give at "
            "most these"
        )
    return hosts or nodes[:count]
