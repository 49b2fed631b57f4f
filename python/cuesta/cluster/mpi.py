"""Settings by which MPI's launcher reaches the nodes of a cluster.

In a job of Slurm, launchers find the nodes and `srun` themselves. For hosts that a command reaches,
MPICH's launcher receives a list of the hosts, and a program to call in place of `rsh`.
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
    """Return environment variables for a command that starts ranks."""
    environment = {"CUESTA_NODES": str(plan.allocation.nodes)}
    if "mpi" not in plan.services or plan.allocation.scheduler != "hosts":
        return environment
    return environment | {
        "HYDRA_LAUNCHER": "rsh",
        "HYDRA_LAUNCHER_EXEC": str(_write_reach(plan, folder)),
        "HYDRA_HOST_FILE": str(_write_hosts(folder, state)),
        "HYDRA_IFACE": str(state["leader"]["interface"]),
    }


def _write_reach(plan: ClusterPlan, folder: ClusterFolder) -> Path:
    """Write a program that is called like `rsh`: with a host, and words for its shell."""
    script = folder.conf / _REACH
    words = reaching(plan.allocation, "@host@")
    if not reaches_a_shell(words):
        words += ["/bin/sh", "-c"]
    reach = shlex.join(words).replace("@host@", '"$host"')
    script.write_text(f'#!/bin/sh\nhost=$1\nshift\nexec {reach} "$*"\n')
    script.chmod(0o700)
    return script


def _write_hosts(folder: ClusterFolder, state: Mapping[str, Any]) -> Path:
    """Write one line for each node: its name, and how many ranks fill it."""
    lines = [f"{node['name']}:{node['cores']}\n" for node in state["nodes"]]
    place = folder.conf / _HOSTS
    place.write_text("".join(lines))
    return place
