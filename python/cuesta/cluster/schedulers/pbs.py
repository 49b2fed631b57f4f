"""Nodes from PBS: `qsub` submits the job, its task manager starts agents.

OpenPBS has `pbs_tmrsh` for that, Torque `pbsdsh -u`. Where PBS's commands are a layer over Slurm
(Debian's `slurm-wlm-torque`), `srun` does it.
"""

from __future__ import annotations

import os
import re
import shutil
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
from cuesta.cluster.schedulers.slurm import SlurmScheduler
from cuesta.cluster.script import carried_words, clock, job_name, leader_lines
from cuesta.cluster.settings import ClusterPlan
from cuesta.errors import EngineError, InputError

_STATES = {
    **dict.fromkeys("QHWTS", WAITING),
    **dict.fromkeys("RB", RUNNING),
    "E": ENDING,
}
_STATE_LINE = re.compile(r"job_state\s*=\s*(\w)")
_COMMENT = re.compile(r"comment\s*=\s*(.+)")
_UNKNOWN_JOB = ("unknown job", "has finished", "invalid job")


@dataclass(frozen=True)
class PbsScheduler:
    """Submits jobs, or uses the allocation that it is started in."""

    name: str = "pbs"

    def missing(self) -> str | None:
        """Check for the commands of PBS."""
        if shutil.which("qsub"):
            return None
        return "there is no qsub; run this where jobs are handed in, or load the site's PBS"

    def complete(self, plan: ClusterPlan) -> ClusterPlan:
        """Return the plan unchanged: PBS determines no value before the job runs."""
        return plan

    def script(self, plan: ClusterPlan, folder: ClusterFolder) -> str:
        """Return a batch script. Errors: `InputError` for a folder that no directive can name."""
        if any(character.isspace() for character in str(folder.root)):
            raise InputError(
                f"{folder.root}: PBS does not take a path with spaces; name another folder with -o"
            )
        lines = [f"#PBS {line}" for line in _directives(plan, folder)]
        return "\n".join(["#!/bin/sh", *lines, *leader_lines(plan, folder), ""])

    def submit(self, folder: ClusterFolder) -> str:
        """Submit the script; inside an allocation start the leader here."""
        if os.environ.get("PBS_NODEFILE"):
            return process.start(folder)
        # Slurm's qsub does not read from the script where output goes.
        where = ["-j", "oe", "-o", str(folder.log("leader"))]
        return run(["qsub", *where, str(folder.script)]).strip()

    def state(self, job: str, seconds: float = ASK_SECONDS) -> str:
        """Query the state with `qstat`."""
        if process.is_process(job):
            return process.state(job)
        try:
            code, out, errors = ask(["qstat", "-f", job], seconds)
        except (EngineError, OSError):
            return UNKNOWN
        match = _STATE_LINE.search(out)
        if match:
            return _STATES.get(match[1], GONE)
        is_gone = any(words in errors.lower() for words in _UNKNOWN_JOB) or not (
            code or out.strip()
        )
        return GONE if is_gone else UNKNOWN

    def report(self, job: str) -> JobReport:
        """Query state and comment with `qstat`."""
        if process.is_process(job):
            return JobReport()
        try:
            _, out, _ = ask(["qstat", "-f", job], ASK_SECONDS)
        except (EngineError, OSError):
            return JobReport()
        state, comment = _STATE_LINE.search(out), _COMMENT.search(out)
        is_waiting = state is not None and _STATES.get(state[1]) == WAITING
        return JobReport(
            state=state[1] if state else "",
            reason=comment[1].strip() if comment and is_waiting else "",
        )

    def memory_bytes(self, job: str) -> Mapping[str, int]:  # noqa: ARG002
        """Return nothing: PBS does not report it."""
        return {}

    def cancel(self, job: str) -> None:
        """Cancel the job with `qdel`."""
        if process.is_process(job):
            process.cancel(job)
        else:
            ask(["qdel", job])

    def current_job(self) -> str:
        """Return nothing: the job's name is in the cluster's folder."""
        return ""

    def nodes(self, plan: ClusterPlan) -> list[str]:
        """Return the nodes of the allocation, or the named hosts among them."""
        listed = os.environ.get("PBS_NODEFILE", "")
        if not listed and shutil.which("generate_pbs_nodefile"):
            listed = run(["generate_pbs_nodefile"]).strip()
        try:
            lines = Path(listed).read_text().split()
        except OSError:
            raise InputError(
                "no PBS job runs here: $PBS_NODEFILE names no file; give --nodes and --time to "
                "`submit`"
            ) from None
        return chosen(plan, list(dict.fromkeys(line.partition(".")[0] for line in lines)))

    def current_node(self) -> str:
        """Return the node that the batch script runs on."""
        return os.environ.get("SLURMD_NODENAME") or os.uname().nodename.partition(".")[0]

    def launches(
        self, plan: ClusterPlan, nodes: Sequence[str], agent: AgentWords
    ) -> list[list[str]]:
        """Return a command for each node, or for all. Errors: `InputError` without a launcher."""
        if shutil.which("pbs_tmrsh"):
            return [["pbs_tmrsh", node, *carried_words(), *agent(node)] for node in nodes]
        if shutil.which("pbsdsh"):
            return [["pbsdsh", "-u", *carried_words(), *agent("")]]
        if os.environ.get("SLURM_JOB_ID"):
            return SlurmScheduler().launches(plan, nodes, agent)
        raise InputError(
            "there is neither pbs_tmrsh nor pbsdsh to start processes on nodes with; install one"
        )

    def ends_at(self) -> float | None:
        """Return None: the end is unknown, and the leader ends after the requested minutes."""
        return None


def _directives(plan: ClusterPlan, folder: ClusterFolder) -> list[str]:
    allocation, share = plan.allocation, plan.share
    cores = f":ppn={share.cores}" if share.cores else ""
    # PBS limits job names to 15 characters.
    directives = [f"-N {job_name(folder)[:15]}", f"-l nodes={allocation.nodes}{cores}"]
    if allocation.minutes is not None:
        directives.append(f"-l walltime={clock(allocation.minutes)}")
    if allocation.queue:
        directives.append(f"-q {allocation.queue}")
    if allocation.account:
        directives.append(f"-A {allocation.account}")
    return [*directives, "-j oe", f"-o {folder.log('leader')}", "-r n"]
