"""Schedulers: who gives nodes. One Protocol, one module for each, imported when asked for.

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
"""What a scheduler says of a job: it waits for nodes, has them, is being ended, is no more."""


@dataclass(frozen=True, kw_only=True)
class JobReport:
    """A job in the scheduler's own words; empty where it does not say.

    Attributes
    ----------
    state
        For example `PENDING`.
    reason
        The cause for which the job waits.
    is_withdrawn
        Whether the job was cancelled before it began.
    """

    state: str = ""
    reason: str = ""
    is_withdrawn: bool = False


AgentWords = Callable[[str], list[str]]
"""The command of the agent of a node; with an empty name it finds its own."""


class Scheduler(Protocol):
    """Gives nodes and starts processes on them. Made without arguments, and cheap to make."""

    @property
    def name(self) -> str:
        """Its name on the command line."""
        ...

    def missing(self) -> str | None:
        """One sentence that says what is not there, or None."""
        ...

    def complete(self, plan: ClusterPlan) -> ClusterPlan:
        """The plan with what this scheduler knows beforehand. Errors: `InputError`."""
        ...

    def script(self, plan: ClusterPlan, folder: ClusterFolder) -> str:
        """The text of the job: a shell script that becomes the leader. Errors: `InputError`."""
        ...

    def submit(self, folder: ClusterFolder) -> str:
        """Hand the script of the folder in; return the name of the job.

        Errors: `InputError` with the scheduler's own words.
        """
        ...

    def state(self, job: str, seconds: float = ASK_SECONDS) -> str:
        """One of `WAITING` ...; `UNKNOWN` where the scheduler does not answer in that time."""
        ...

    def report(self, job: str) -> JobReport:
        """Ask the scheduler for its words about a job; all empty where it does not answer."""
        ...

    def memory_bytes(self, job: str) -> Mapping[str, int]:
        """Memory that a job has on each node, by name; nothing where the scheduler counts none."""
        ...

    def cancel(self, job: str) -> None:
        """End the job; nothing happens where it has ended.

        Errors: `InputError` for a process of another machine; `EngineError` where the scheduler
        does not answer.
        """
        ...

    def own_job(self) -> str:
        """In the allocation: its job, where the scheduler has one for it."""
        ...

    def nodes(self, plan: ClusterPlan) -> list[str]:
        """In the allocation: the names of its nodes. Errors: `InputError`."""
        ...

    def own_name(self) -> str:
        """In the allocation: the name of this node."""
        ...

    def launches(
        self, plan: ClusterPlan, nodes: Sequence[str], agent: AgentWords
    ) -> list[list[str]]:
        """Commands that start an agent on each node, and go on while it does."""
        ...

    def ends_at(self) -> float | None:
        """In the allocation: when it ends, in seconds of the clock; None if nobody says."""
        ...


def get_scheduler(name: str) -> Scheduler:
    """The scheduler called `name`. Errors: `InputError`."""
    if name not in _CLASSES:
        raise InputError(
            f"--scheduler {name}: is not known; choose from {', '.join(SCHEDULER_NAMES)}"
        )
    module, class_name = _CLASSES[name]
    return cast(Scheduler, getattr(import_module(module), class_name)())


def chosen(plan: ClusterPlan, nodes: list[str]) -> list[str]:
    """Of the nodes of an allocation: those that were named, or the first. Errors: `InputError`."""
    hosts, count = list(plan.allocation.hosts), plan.allocation.nodes
    missing = [host for host in hosts if host not in nodes]
    if missing:
        raise InputError(f"--hosts {missing[0]}: the allocation has {', '.join(nodes)}")
    if len(nodes) < count:
        raise InputError(f"--nodes is {count}, the allocation has {len(nodes)}: {', '.join(nodes)}")
    return hosts or nodes[:count]
