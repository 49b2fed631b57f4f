"""How MPI's launcher reaches the nodes of a cluster.

In a job of Slurm launchers find the nodes and `srun` themselves. For hosts that a command reaches,
MPICH's is given a list of them, and a program that it takes for `rsh`.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cuesta.cluster.folder import ClusterFolder
from cuesta.cluster.schedulers.hosts import reaches_a_shell, reaching
from cuesta.cluster.settings import ClusterPlan

_REACH = "mpi-reach"
_HOSTS = "mpi-hosts"


def variables(plan: ClusterPlan, folder: ClusterFolder, state: Mapping[str, Any]) -> dict[str, str]:
    """Variables for a command that starts ranks."""
    found = {"CUESTA_NODES": str(plan.allocation.nodes)}
    if "mpi" not in plan.services or plan.allocation.scheduler != "hosts":
        return found
    return found | {
        "HYDRA_LAUNCHER": "rsh",
        "HYDRA_LAUNCHER_EXEC": str(_write_reach(plan, folder)),
        "HYDRA_HOST_FILE": str(_write_hosts(folder, state)),
        "HYDRA_IFACE": str(state["leader"]["interface"]),
    }


def _write_reach(plan: ClusterPlan, folder: ClusterFolder) -> Path:
    """A program that is called like `rsh`: with a host, and words for its shell."""
    script = folder.conf / _REACH
    words = reaching(plan.allocation, "@host@")
    if not reaches_a_shell(words):
        words += ["/bin/sh", "-c"]
    reach = shlex.join(words).replace("@host@", '"$host"')
    script.write_text(f'#!/bin/sh\nhost=$1\nshift\nexec {reach} "$*"\n')
    script.chmod(0o700)
    return script


def _write_hosts(folder: ClusterFolder, state: Mapping[str, Any]) -> Path:
    """A line a node: its name, and how many ranks go there before the next has any."""
    lines = [f"{one['name']}:{one['cores']}\n" for one in state["nodes"]]
    place = folder.conf / _HOSTS
    place.write_text("".join(lines))
    return place
