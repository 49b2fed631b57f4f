"""Jobs that are a process of a machine: the script of a folder, which becomes the leader.

The name of such a job is `process-PID:START@HOST`: folders are shared, processes are not.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Mapping

from cuesta import processes
from cuesta.cluster.folder import ClusterFolder
from cuesta.cluster.limits import ASK_SECONDS
from cuesta.cluster.schedulers import GONE, RUNNING, UNKNOWN, JobReport
from cuesta.cluster.script import leader_lines
from cuesta.cluster.settings import ClusterPlan
from cuesta.errors import InputError

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
    try:
        # One that has ended already has no identity any more, and is gone.
        known = processes.identity(process.pid) or f"{process.pid}:0"
        return f"{_PREFIX}{known}@{os.uname().nodename}"
    except BaseException:
        # Nobody would know of it.
        process.kill()
        raise


def is_process(job: str) -> bool:
    """Whether a job is one of these."""
    return job.startswith(_PREFIX)


def is_here(job: str) -> bool:
    """Whether it is a process of this machine, which can be seen and ended."""
    return _parts(job)[1] in ("", os.uname().nodename)


def state(job: str) -> str:
    """`running` or `gone`; `unknown` for a process of another machine."""
    if not is_here(job):
        return UNKNOWN
    return RUNNING if processes.lives(_parts(job)[0]) else GONE


def cancel(job: str) -> None:
    """Ask it to end. Errors: `InputError` for a process of another machine."""
    known, host = _parts(job)
    if not is_here(job):
        raise InputError(f"the cluster runs on {host}; end it there")
    if processes.lives(known):
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(known.partition(":")[0]), signal.SIGTERM)


def _parts(job: str) -> tuple[str, str]:
    """The identity of the process, and its machine; names of earlier versions have none."""
    known, _, host = job.removeprefix(_PREFIX).partition("@")
    return known, host


class ProcessJobs:
    """What schedulers share that start at once: a job is the process of its leader."""

    def script(self, plan: ClusterPlan, folder: ClusterFolder) -> str:
        """A script without directives."""
        return "\n".join(["#!/bin/sh", *leader_lines(plan, folder), ""])

    def submit(self, folder: ClusterFolder) -> str:
        """Start the script; the job is its process, which becomes the leader."""
        return start(folder)

    def state(self, job: str, seconds: float = ASK_SECONDS) -> str:  # noqa: ARG002
        """By the process."""
        return state(job)

    def report(self, job: str) -> JobReport:  # noqa: ARG002
        """There is no scheduler."""
        return JobReport()

    def memory_bytes(self, job: str) -> Mapping[str, int]:  # noqa: ARG002
        """There is no scheduler."""
        return {}

    def cancel(self, job: str) -> None:
        """By a signal."""
        cancel(job)

    def own_job(self) -> str:
        """There is no scheduler."""
        return ""

    def ends_at(self) -> float | None:
        """Nobody says; the leader keeps to the minutes that were asked for."""
        return None
