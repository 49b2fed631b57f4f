"""Jobs that are processes of a machine: the script of a folder, which becomes the leader.

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
        # A process that has ended already has no identity, and counts as gone.
        known = processes.identity(process.pid) or f"{process.pid}:0"
        return f"{_PREFIX}{known}@{os.uname().nodename}"
    except BaseException:
        # No record of the process would exist.
        process.kill()
        raise


def is_process(job: str) -> bool:
    """Whether a job is a process."""
    return job.startswith(_PREFIX)


def is_here(job: str) -> bool:
    """Whether a job is a process of this machine, which can be queried and ended."""
    return _parts(job)[1] in ("", os.uname().nodename)


def state(job: str) -> str:
    """Return `running` or `gone`; `unknown` for a process of another machine."""
    if not is_here(job):
        return UNKNOWN
    return RUNNING if processes.lives(_parts(job)[0]) else GONE


def cancel(job: str) -> None:
    """Send SIGTERM to the job. Errors: `InputError` for a process of another machine."""
    known, host = _parts(job)
    if not is_here(job):
        raise InputError(f"the cluster runs on {host}; end it there")
    if processes.lives(known):
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(known.partition(":")[0]), signal.SIGTERM)


def _parts(job: str) -> tuple[str, str]:
    """Return identity and machine of the process; names of earlier versions have no machine."""
    known, _, host = job.removeprefix(_PREFIX).partition("@")
    return known, host


class ProcessJobs:
    """Methods of schedulers that start jobs at once: a job is the process of its leader."""

    def script(self, plan: ClusterPlan, folder: ClusterFolder) -> str:
        """Return a script without directives."""
        return "\n".join(["#!/bin/sh", *leader_lines(plan, folder), ""])

    def submit(self, folder: ClusterFolder) -> str:
        """Start the script; the job is its process, which becomes the leader."""
        return start(folder)

    def state(self, job: str, seconds: float = ASK_SECONDS) -> str:  # noqa: ARG002
        """Return the state of the process."""
        return state(job)

    def report(self, job: str) -> JobReport:  # noqa: ARG002
        """Return an empty report, for lack of a scheduler."""
        return JobReport()

    def memory_bytes(self, job: str) -> Mapping[str, int]:  # noqa: ARG002
        """Return no limits, for lack of a scheduler."""
        return {}

    def cancel(self, job: str) -> None:
        """End the process with a signal."""
        cancel(job)

    def current_job(self) -> str:
        """Return no job, for lack of a scheduler."""
        return ""

    def ends_at(self) -> float | None:
        """Return None: the end is unknown, and the leader ends after the requested minutes."""
        return None
