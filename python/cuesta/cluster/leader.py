"""The leader of an allocation: starts the cluster, runs the command, stops all processes.

`python -m cuesta.cluster lead FOLDER`. Its state is in the folder, where any process of the user
can read it; the leader alone writes it.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType

from cuesta.cluster import watchdog
from cuesta.cluster.checks import check_nodes
from cuesta.cluster.driver import Driver
from cuesta.cluster.folder import ClusterFolder
from cuesta.cluster.gathering import Gathering
from cuesta.cluster.limits import TICK_SECONDS
from cuesta.cluster.node import NodeFacts
from cuesta.cluster.running import AGENTS, ENDED, FAILED, SUBMITTED, Ending, RunningCluster
from cuesta.cluster.services import SparkService, start_stores
from cuesta.cluster.settings import ClusterPlan, from_json
from cuesta.cluster.wire import ready
from cuesta.cluster.yarn_service import YarnService
from cuesta.errors import CuestaError, Defect, EngineError, InputError, in_words
from cuesta.processes import age_seconds


def main(words: Sequence[str]) -> int:
    """Run the leader that the command line describes; return the exit code of its command."""
    signal.signal(signal.SIGTERM, _terminate)
    signal.signal(signal.SIGINT, _terminate)
    folder = ClusterFolder(Path(words[0]))
    state = folder.read()["state"]
    if state != SUBMITTED:
        # The submitting process was interrupted, or has ended the cluster since.
        sys.stderr.write(f"cuesta: the cluster is {state} already\n")
        return EngineError.exit_code
    return Leader(from_json(folder.plan()), folder).run()


def _terminate(number: int, _frame: FrameType | None) -> None:
    # A second signal would interrupt the end.
    for stop_signal in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop_signal, signal.SIG_IGN)
    raise Ending(f"the cluster was ended by {signal.Signals(number).name}", 128 + number)


class Leader:
    """The leading process of a cluster."""

    def __init__(self, plan: ClusterPlan, folder: ClusterFolder) -> None:
        self.cluster = RunningCluster(plan, folder)

    def run(self) -> int:
        """Run the cluster to its end. Guarantee: no process that was started is left."""
        plan = self.cluster.plan
        watchdog_pid = watchdog.watch_leader(plan.cluster, plan.end_seconds, self._record_killed)
        try:
            state, why, code = ENDED, "", self._work()
        except Exception as error:
            state, why, code = _outcome(error)
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
        try:
            self._end(watchdog_pid)
        except Exception as error:
            failed, end_reason, end_code = _outcome(error)
            state, why, code = failed, why or end_reason, code or end_code
        if self.cluster.unwritten:
            unwritten = self.cluster.unwritten.items()
            lost = "; ".join(f"node {name}: {text}" for name, text in unwritten)
            code = code if state == FAILED else EngineError.exit_code
            state, why = FAILED, f"{why}; {lost}" if why else lost
        self._report_outcome(state, why, code)
        return code

    def _report_outcome(self, state: str, why: str, code: int) -> None:
        """Write the outcome to log, state and users; a failed write does not stop the others."""
        self.cluster.state["code"] = code
        if why:
            self.cluster.state["why"] = why
            # Followers of the log read it for the last time when the state is final.
            with contextlib.suppress(OSError):
                sys.stderr.write(f"cuesta: {why}\n")
                sys.stderr.flush()
        with contextlib.suppress(OSError):
            self.cluster.set_state(state, ended=time.time())
        self.cluster.answer()

    def _work(self) -> int:
        cluster = self.cluster
        cluster.set_state("starting", began=time.time() - age_seconds())
        names = self._gather()
        self.limit_memory(cluster.members.facts())
        facts = sorted(cluster.members.facts(), key=lambda node: names.index(node.name))
        check_nodes(cluster.plan, facts)
        cluster.state["nodes"] = [node.to_json() for node in facts]
        cluster.set_state("starting", checked=time.time())
        driver = Driver(cluster)
        if cluster.plan.store_bytes:
            start_stores(cluster)
        if "spark" in cluster.plan.services:
            driver.spark = SparkService(cluster)
            cluster.services.append(driver.spark)
            driver.spark.start()
        if "yarn" in cluster.plan.services:
            driver.yarn = YarnService(cluster)
            cluster.services.append(driver.yarn)
            driver.yarn.start()
        cluster.set_state("ready", ready=time.time())
        code = driver.run() if cluster.plan.command else self._serve()
        cluster.set_state("stopping")
        return code

    def _gather(self) -> list[str]:
        """Start the agents, wait for the facts of all nodes, and return the nodes' names."""
        self.cluster.ends_at = self._end_of_time()
        self._check_time_left()
        gathering = Gathering(self.cluster)
        gathering.run()
        return gathering.names

    def _end_of_time(self) -> float | None:
        """Return when the scheduler ends the allocation, or the requested minutes have passed."""
        cluster = self.cluster
        minutes = cluster.plan.allocation.minutes
        requested_end = None if minutes is None else cluster.state["times"]["began"] + 60 * minutes
        ends = [at for at in (requested_end, cluster.scheduler.ends_at()) if at is not None]
        return min(ends, default=None)

    def _check_time_left(self) -> None:
        if self.cluster.ends_at is None:
            return
        remaining_s = self.cluster.ends_at - time.time()
        guard = self.cluster.plan.setting("guard")
        if remaining_s <= guard:
            raise InputError(
                f"the allocation ends in {max(0, remaining_s):.0f} s, and work is stopped "
                f"{guard:.0f} s before; ask for more --time, or give less with --set guard=SECONDS"
            )

    def _serve(self) -> int:
        """Wait until a user, the scheduler or an error ends the cluster."""
        while True:
            self.cluster.pump()

    def limit_memory(self, facts: Sequence[NodeFacts]) -> None:
        """Lower the memory of nodes to the job's memory limit on them."""
        job = self.cluster.scheduler.current_job()
        limits = self.cluster.scheduler.memory_bytes(job) if job else {}
        for node in facts:
            member = self.cluster.members.known[node.name]
            least = min(node.memory_bytes, limits.get(node.name, node.memory_bytes))
            member.facts = replace(node, memory_bytes=least)

    def _end(self, dog: int) -> None:
        """End driver, agents and services in order, then any remaining process."""
        cluster = self.cluster
        members, children = cluster.members, cluster.children
        seconds = cluster.plan.setting("stop")
        # Nothing is started again from now on.
        cluster.on_ended = {}
        children.end(["driver"], seconds)
        for name in list(members.known):
            members.send(name, {"end": True})
        deadline = time.monotonic() + cluster.plan.end_seconds
        while (members.known or children.any(AGENTS)) and time.monotonic() < deadline:
            ready(members.channels(), TICK_SECONDS)
            # Another node may refuse during the end.
            with contextlib.suppress(CuestaError):
                for member, message in members.receive():
                    cluster.take_note(member, message)
            children.ended()
        for service in cluster.services:
            service.end()
        children.end_except("", seconds)
        watchdog.sweep(watchdog.mark(cluster.plan.cluster, "driver"))
        watchdog.sweep(watchdog.mark(cluster.plan.cluster, "leader"), (dog,))

    def _record_killed(self) -> None:
        """Write the state of a leader that was killed; called by the watchdog."""
        state = self.cluster.folder.read()
        if state["state"] not in (ENDED, FAILED):
            state |= {"state": FAILED, "why": "the leader was killed", "code": 3}
            self.cluster.folder.write(state)


def _outcome(error: Exception) -> tuple[str, str, int]:
    """Return state, reason and exit code of a cluster that `error` ends."""
    if isinstance(error, Ending):
        return ENDED, str(error), error.code
    if isinstance(error, OSError):
        return FAILED, f"{error.filename or 'system'}: {in_words(error)}", EngineError.exit_code
    if not isinstance(error, CuestaError):
        error = Defect.of(error)
    return FAILED, str(error), error.exit_code
