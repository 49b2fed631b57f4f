"""Nodes from Slurm: `sbatch` submits the job, one `srun` starts all agents."""

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
    """Submits jobs, or uses the allocation that it is started in."""

    name: str = "slurm"

    def missing(self) -> str | None:
        """Check for the commands of Slurm."""
        if shutil.which("sbatch") and shutil.which("srun"):
            return None
        return "there is no sbatch; run this where jobs are handed in, or load the site's Slurm"

    def complete(self, plan: ClusterPlan) -> ClusterPlan:
        """Return the plan unchanged: Slurm determines no value before the job runs."""
        return plan

    def script(self, plan: ClusterPlan, folder: ClusterFolder) -> str:
        """Return a batch script."""
        lines = [f"#SBATCH {line}" for line in _directives(plan, folder)]
        return "\n".join(["#!/bin/sh", *lines, *leader_lines(plan, folder), ""])

    def submit(self, folder: ClusterFolder) -> str:
        """Submit the script; inside an allocation start the leader here."""
        if _JOB in os.environ:
            return process.start(folder)
        return run(["sbatch", "--parsable", str(folder.script)]).strip().partition(";")[0]

    def state(self, job: str, seconds: float = ASK_SECONDS) -> str:
        """Query `squeue`, or the process of a leader that was started inside an allocation."""
        if process.is_process(job):
            return process.state(job)
        try:
            words = ["squeue", "--noheader", "--jobs", job, "--format", "%T"]
            code, out, errors = ask(words, seconds)
        except (EngineError, OSError):
            return UNKNOWN
        if code:
            return GONE if "Invalid job id" in errors else UNKNOWN
        return _STATES.get(out.strip(), GONE)

    def report(self, job: str) -> JobReport:
        """Query `squeue`, which reports a job for some minutes after its end."""
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
        """Query `scontrol`, which reports 0 where the site does not count memory."""
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
        """Cancel the job with `scancel`."""
        if process.is_process(job):
            process.cancel(job)
        else:
            ask(["scancel", job])

    def current_job(self) -> str:
        """Return the job around the leader, also where the leader was started inside it."""
        return os.environ.get(_JOB, "")

    def nodes(self, plan: ClusterPlan) -> list[str]:
        """Return the nodes of the allocation, or the named hosts among them."""
        listed = os.environ.get("SLURM_JOB_NODELIST")
        if not listed:
            raise InputError("no Slurm job runs here; give --nodes and --time to `submit`")
        return chosen(plan, run(["scontrol", "show", "hostnames", listed]).split())

    def current_node(self) -> str:
        """Return the node that the batch script runs on."""
        return os.environ.get("SLURMD_NODENAME") or os.uname().nodename

    def launches(
        self,
        plan: ClusterPlan,  # noqa: ARG002
        nodes: Sequence[str],
        agent: AgentWords,
    ) -> list[list[str]]:
        """Return a job step with a task on each node, which shares the nodes with other steps."""
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
        """Query `squeue`, which includes later changes of the time limit."""
        job = os.environ.get(_JOB, "")
        _, out, _ = ask(["squeue", "--noheader", "--jobs", job, "--format", "%e"])
        try:
            return time.mktime(time.strptime(out.strip(), "%Y-%m-%dT%H:%M:%S"))
        except ValueError:
            return None


def _directives(plan: ClusterPlan, folder: ClusterFolder) -> list[str]:
    allocation, share = plan.allocation, plan.share
    log = _file_pattern(folder.log("leader"))
    directives = [
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
        directives.append(f"--mem={-(-share.memory_bytes >> 20)}M")
    if allocation.minutes is not None:
        directives.append(f"--time={clock(allocation.minutes)}")
    if allocation.queue:
        directives.append(f"--partition={allocation.queue}")
    if allocation.account:
        directives.append(f"--account={allocation.account}")
    return directives


def _file_pattern(path: Path) -> str:
    """Quote a path for a directive of `sbatch`, where `%` begins a placeholder."""
    escaped = str(path).replace("\\", r"\\").replace('"', r"\"").replace("%", "%%")
    return f'"{escaped}"'
