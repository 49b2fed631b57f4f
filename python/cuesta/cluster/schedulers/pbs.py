"""Nodes from PBS: `qsub` hands the job in, its task manager starts agents.

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
_SAYS_STATE = re.compile(r"job_state\s*=\s*(\w)")
_COMMENT = re.compile(r"comment\s*=\s*(.+)")
_UNKNOWN_JOB = ("unknown job", "has finished", "invalid job")


@dataclass(frozen=True)
class PbsScheduler:
    """Hands jobs in, or uses the allocation that it is started in."""

    name: str = "pbs"

    def missing(self) -> str | None:
        """Its commands."""
        if shutil.which("qsub"):
            return None
        return "there is no qsub; run this where jobs are handed in, or load the site's PBS"

    def complete(self, plan: ClusterPlan) -> ClusterPlan:
        """Nothing is known before the job runs."""
        return plan

    def script(self, plan: ClusterPlan, folder: ClusterFolder) -> str:
        """A batch script. Errors: `InputError` for a folder that no directive can name."""
        if any(character.isspace() for character in str(folder.root)):
            raise InputError(
                f"{folder.root}: PBS does not take a path with spaces; name another folder with -o"
            )
        lines = [f"#PBS {line}" for line in _directives(plan, folder)]
        return "\n".join(["#!/bin/sh", *lines, *leader_lines(plan, folder), ""])

    def submit(self, folder: ClusterFolder) -> str:
        """Hand it in; inside an allocation the leader is started here."""
        if os.environ.get("PBS_NODEFILE"):
            return process.start(folder)
        # Slurm's qsub does not read from the script where output goes.
        where = ["-j", "oe", "-o", str(folder.log("leader"))]
        return run(["qsub", *where, str(folder.script)]).strip()

    def state(self, job: str, seconds: float = ASK_SECONDS) -> str:
        """By `qstat`."""
        if process.is_process(job):
            return process.state(job)
        try:
            code, out, said = ask(["qstat", "-f", job], seconds)
        except (EngineError, OSError):
            return UNKNOWN
        found = _SAYS_STATE.search(out)
        if found:
            return _STATES.get(found[1], GONE)
        is_gone = any(words in said.lower() for words in _UNKNOWN_JOB) or not (code or out.strip())
        return GONE if is_gone else UNKNOWN

    def report(self, job: str) -> JobReport:
        """By `qstat`."""
        if process.is_process(job):
            return JobReport()
        try:
            _, out, _ = ask(["qstat", "-f", job], ASK_SECONDS)
        except (EngineError, OSError):
            return JobReport()
        state, comment = _SAYS_STATE.search(out), _COMMENT.search(out)
        is_waiting = state is not None and _STATES.get(state[1]) == WAITING
        return JobReport(
            state=state[1] if state else "",
            reason=comment[1].strip() if comment and is_waiting else "",
        )

    def memory_bytes(self, job: str) -> Mapping[str, int]:  # noqa: ARG002
        """Not known."""
        return {}

    def cancel(self, job: str) -> None:
        """By `qdel`."""
        if process.is_process(job):
            process.cancel(job)
        else:
            ask(["qdel", job])

    def own_job(self) -> str:
        """The file of the folder has it."""
        return ""

    def nodes(self, plan: ClusterPlan) -> list[str]:
        """Those of the allocation, or the hosts that were named of them."""
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

    def own_name(self) -> str:
        """The node that the batch script runs on."""
        return os.environ.get("SLURMD_NODENAME") or os.uname().nodename.partition(".")[0]

    def launches(
        self, plan: ClusterPlan, nodes: Sequence[str], agent: AgentWords
    ) -> list[list[str]]:
        """One command a node, or one for all. Errors: `InputError` where there is no way."""
        if shutil.which("pbs_tmrsh"):
            return [["pbs_tmrsh", node, *carried_words(), *agent(node)] for node in nodes]
        if shutil.which("pbsdsh"):
            return [["pbsdsh", "-u", *carried_words(), *agent("")]]
        if os.environ.get("SLURM_JOB_ID"):
            return SlurmScheduler().launches(plan, nodes, agent)
        raise InputError("there is neither pbs_tmrsh nor pbsdsh to start processes on nodes with")

    def ends_at(self) -> float | None:
        """Nobody says; the leader keeps to the minutes that were asked for."""
        return None


def _directives(plan: ClusterPlan, folder: ClusterFolder) -> list[str]:
    allocation, share = plan.allocation, plan.share
    cores = f":ppn={share.cores}" if share.cores else ""
    # Names of jobs are short in PBS.
    found = [f"-N {job_name(folder)[:15]}", f"-l nodes={allocation.nodes}{cores}"]
    if allocation.minutes is not None:
        found.append(f"-l walltime={clock(allocation.minutes)}")
    if allocation.queue:
        found.append(f"-q {allocation.queue}")
    if allocation.account:
        found.append(f"-A {allocation.account}")
    return [*found, "-j oe", f"-o {folder.log('leader')}", "-r n"]
