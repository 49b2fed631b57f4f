"""Named hosts without a scheduler: the leader runs here, `--start` reaches the hosts."""

from __future__ import annotations

import os
import shlex
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cuesta.cluster.schedulers import AgentWords
from cuesta.cluster.schedulers.process import ProcessJobs
from cuesta.cluster.script import carried_words
from cuesta.cluster.settings import Allocation, ClusterPlan
from cuesta.errors import InputError

_SHELLS = ("ssh", "rsh")
"""Programs that pass their arguments to a shell, as one text."""


@dataclass(frozen=True)
class HostsScheduler(ProcessJobs):
    """Starts at once; a job is the process of its leader."""

    name: str = "hosts"

    def missing(self) -> str | None:
        """Return None: a missing host is detected when it is used."""
        return None

    def complete(self, plan: ClusterPlan) -> ClusterPlan:
        """Set a node for each host. Errors: `InputError` without hosts, or a command for them."""
        allocation = plan.allocation
        if not allocation.hosts:
            raise InputError("--scheduler hosts: name them with --hosts A,B")
        if len(set(allocation.hosts)) < len(allocation.hosts):
            raise InputError("--hosts: names a host twice; name each once")
        words = shlex.split(allocation.starter)
        if "{host}" not in allocation.starter or not words:
            raise InputError(
                f"--start {allocation.starter!r} has no {{host}}; give a command with it, such "
                "as 'ssh {host}'"
            )
        if shutil.which(words[0]) is None:
            raise InputError(f"--start {words[0]}: there is no such program here; install it")
        return replace(plan, allocation=replace(allocation, nodes=len(allocation.hosts)))

    def nodes(self, plan: ClusterPlan) -> list[str]:
        """Return the hosts."""
        return list(plan.allocation.hosts)

    def current_node(self) -> str:
        """Return the host name of the leader, which need not be one of the hosts."""
        return os.uname().nodename

    def launches(
        self, plan: ClusterPlan, nodes: Sequence[str], agent: AgentWords
    ) -> list[list[str]]:
        """Return a command for each host."""
        return [on_host(plan.allocation, node, [*carried_words(), *agent(node)]) for node in nodes]


def on_host(allocation: Allocation, host: str, words: Sequence[str]) -> list[str]:
    """Return the command that runs `words` on a host."""
    reach = reaching(allocation, host)
    return [*reach, shlex.join(words)] if reaches_a_shell(reach) else [*reach, *words]


def reaching(allocation: Allocation, host: str) -> list[str]:
    """Return the words to put before a command to run it on a host."""
    return [word.replace("{host}", host) for word in shlex.split(allocation.starter)]


def reaches_a_shell(reach: Sequence[str]) -> bool:
    """Whether a shell on the host parses the words that follow."""
    return Path(reach[0]).name in _SHELLS
