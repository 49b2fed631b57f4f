"""Jobs that are a process of this machine: the script of a folder, which becomes the leader."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess

from cuesta.cluster import watchdog
from cuesta.cluster.folder import ClusterFolder
from cuesta.cluster.schedulers import GONE, RUNNING
from cuesta.cluster.script import leader_lines
from cuesta.cluster.settings import ClusterPlan

_PREFIX = "process-"


def start(folder: ClusterFolder) -> str:
    """Start the script; return the name of the job."""
    with folder.log("leader").open("ab") as log:
        process = subprocess.Popen(
            ["/bin/sh", str(folder.script)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    # One that has ended already has no identity any more, and is gone.
    return _PREFIX + (watchdog.identity(process.pid) or f"{process.pid}:0")


def is_process(job: str) -> bool:
    """Whether a job is one of these."""
    return job.startswith(_PREFIX)


def state(job: str) -> str:
    """`running` or `gone`."""
    return RUNNING if watchdog.lives(job.removeprefix(_PREFIX)) else GONE


def cancel(job: str) -> None:
    """Ask it to end."""
    if state(job) == RUNNING:
        pid = int(job.removeprefix(_PREFIX).partition(":")[0])
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGTERM)


class ProcessJobs:
    """What schedulers share that start at once: a job is the process of its leader."""

    def script(self, plan: ClusterPlan, folder: ClusterFolder) -> str:
        """A script without directives."""
        return "\n".join(["#!/bin/sh", *leader_lines(plan, folder), ""])

    def submit(self, folder: ClusterFolder) -> str:
        """Start the script; the job is its process, which becomes the leader."""
        return start(folder)

    def state(self, job: str) -> str:
        """By the process."""
        return state(job)

    def cancel(self, job: str) -> None:
        """By a signal."""
        cancel(job)

    def ends_at(self) -> float | None:
        """Nobody says; the leader keeps to the minutes that were asked for."""
        return None
