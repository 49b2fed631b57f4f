"""Nodes from Slurm: `sbatch` hands the job in, one `srun` starts all agents."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from cuesta.cluster.folder import ClusterFolder
from cuesta.cluster.limits import ASK_SECONDS
from cuesta.cluster.schedulers import (
    ENDING,
    GONE,
    RUNNING,
    UNKNOWN,
    WAITING,
    AgentWords,
    JobReport,
    chosen,
    process,
)
from cuesta.cluster.schedulers.commands import ask, run
from cuesta.cluster.script import clock, job_name, leader_lines
from cuesta.cluster.settings import ClusterPlan
from cuesta.errors import EngineError, InputError

_WAITING = ("PENDING", "CONFIGURING", "REQUEUED", "RESIZING", "SUSPENDED")
_STATES = {
    **dict.fromkeys(_WAITING, WAITING),
    **dict.fromkeys(("RUNNING", "SIGNALING"), RUNNING),
    **dict.fromkeys(("COMPLETING", "STAGE_OUT"), ENDING),
}
_JOB = "SLURM_JOB_ID"
_ON_NODES = re.compile(r"\bNodes=(\S+) CPU_IDs=\S* Mem=(\d+)")
"""A part of `scontrol show job --details`: nodes, and mebibytes of the job on each."""


@dataclass(frozen=True)
class SlurmScheduler:
    """Hands jobs in, or uses the allocation that it is started in."""

    name: str = "slurm"

    def missing(self) -> str | None:
        """Slurm's commands."""
        if shutil.which("sbatch") and shutil.which("srun"):
            return None
        return "there is no sbatch; run this where jobs are handed in, or load the site's Slurm"

    def complete(self, plan: ClusterPlan) -> ClusterPlan:
        """Nothing is known before the job runs."""
        return plan

    def script(self, plan: ClusterPlan, folder: ClusterFolder) -> str:
        """A batch script."""
        lines = [f"#SBATCH {line}" for line in _directives(plan, folder)]
        return "\n".join(["#!/bin/sh", *lines, *leader_lines(plan, folder), ""])

    def submit(self, folder: ClusterFolder) -> str:
        """Hand it in; inside an allocation the leader is started here."""
        if _JOB in os.environ:
            return process.start(folder)
        return run(["sbatch", "--parsable", str(folder.script)]).strip().partition(";")[0]

    def state(self, job: str, seconds: float = ASK_SECONDS) -> str:
        """By `squeue`, or by the process of a leader that was started inside an allocation."""
        if process.is_process(job):
            return process.state(job)
        try:
            words = ["squeue", "--noheader", "--jobs", job, "--format", "%T"]
            code, out, said = ask(words, seconds)
        except (EngineError, OSError):
            return UNKNOWN
        if code:
            return GONE if "Invalid job id" in said else UNKNOWN
        return _STATES.get(out.strip(), GONE)

    def report(self, job: str) -> JobReport:
        """By `squeue`, which knows a job for some minutes after its end."""
        if process.is_process(job):
            return JobReport()
        words = ["squeue", "--noheader", "--states", "all", "--jobs", job]
        try:
            _, out, _ = ask([*words, "--format", "%T|%N|%r"], ASK_SECONDS)
        except (EngineError, OSError):
            return JobReport()
        state, _, rest = out.strip().partition("|")
        nodes, _, reason = rest.partition("|")
        return JobReport(
            state=state,
            reason=reason if state == "PENDING" and reason != "None" else "",
            is_withdrawn=state == "CANCELLED" and not nodes,
        )

    def memory_bytes(self, job: str) -> Mapping[str, int]:
        """By `scontrol`, which says 0 where the site does not count memory."""
        try:
            _, out, _ = ask(["scontrol", "show", "job", "--details", job], ASK_SECONDS)
            listed = [(nodes, int(size)) for nodes, size in _ON_NODES.findall(out)]
            return {
                name: size << 20
                for nodes, size in listed
                if size
                for name in run(["scontrol", "show", "hostnames", nodes]).split()
            }
        except (EngineError, InputError, OSError):
            return {}

    def cancel(self, job: str) -> None:
        """By `scancel`."""
        if process.is_process(job):
            process.cancel(job)
        else:
            ask(["scancel", job])

    def own_job(self) -> str:
        """The job around a leader, also where that is a process which was started inside it."""
        return os.environ.get(_JOB, "")

    def nodes(self, plan: ClusterPlan) -> list[str]:
        """Those of the allocation, or the hosts that were named of them."""
        listed = os.environ.get("SLURM_JOB_NODELIST")
        if not listed:
            raise InputError("no Slurm job runs here; give --nodes and --time to `submit`")
        return chosen(plan, run(["scontrol", "show", "hostnames", listed]).split())

    def own_name(self) -> str:
        """The node that the batch script runs on."""
        return os.environ.get("SLURMD_NODENAME") or os.uname().nodename

    def launches(
        self,
        plan: ClusterPlan,  # noqa: ARG002
        nodes: Sequence[str],
        agent: AgentWords,
    ) -> list[list[str]]:
        """One step with a task on each node; it shares them with other steps."""
        count = str(len(nodes))
        return [
            [
                *("srun", "--nodes", count, "--ntasks", count, "--ntasks-per-node", "1"),
                *("--nodelist", ",".join(nodes), "--overlap", "--cpu-bind=none", "--mem=0"),
                *("--kill-on-bad-exit=0", "--wait=0", "--no-kill", "--input=none"),
                *agent(""),
            ]
        ]

    def ends_at(self) -> float | None:
        """By `squeue`, which has whatever was changed meanwhile."""
        job = os.environ.get(_JOB, "")
        _, out, _ = ask(["squeue", "--noheader", "--jobs", job, "--format", "%e"])
        try:
            return time.mktime(time.strptime(out.strip(), "%Y-%m-%dT%H:%M:%S"))
        except ValueError:
            return None


def _directives(plan: ClusterPlan, folder: ClusterFolder) -> list[str]:
    allocation, share = plan.allocation, plan.share
    log = _file_pattern(folder.log("leader"))
    found = [
        f"--job-name={job_name(folder)}",
        f"--nodes={allocation.nodes}",
        "--ntasks-per-node=1",
        f"--cpus-per-task={share.cores}" if share.cores else "--exclusive",
        f"--output={log}",
        f"--error={log}",
        "--no-requeue",
        "--no-kill",
    ]
    if share.memory_bytes:
        found.append(f"--mem={-(-share.memory_bytes >> 20)}M")
    if allocation.minutes is not None:
        found.append(f"--time={clock(allocation.minutes)}")
    if allocation.queue:
        found.append(f"--partition={allocation.queue}")
    if allocation.account:
        found.append(f"--account={allocation.account}")
    return found


def _file_pattern(path: Path) -> str:
    """A path as `sbatch` reads it in a directive: quoted, and `%` begins what it fills in."""
    escaped = str(path).replace("\\", r"\\").replace('"', r"\"").replace("%", "%%")
    return f'"{escaped}"'
