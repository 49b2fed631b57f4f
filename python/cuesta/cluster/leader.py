"""The leader of an allocation: starts the cluster, runs the command, stops all processes.

`python -m cuesta.cluster lead FOLDER`. Its state is in the folder, where any process of the user
can read it; the leader alone writes it.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any

from cuesta import processes
from cuesta.cluster import watchdog
from cuesta.cluster.checks import check_nodes
from cuesta.cluster.children import Children
from cuesta.cluster.driver import Driver
from cuesta.cluster.folder import ClusterFolder
from cuesta.cluster.gathering import AGENTS, Gathering
from cuesta.cluster.limits import ASK_SECONDS, PING_SECONDS, TICK_SECONDS
from cuesta.cluster.members import Member, Members
from cuesta.cluster.node import NodeFacts
from cuesta.cluster.schedulers import ENDING, GONE, Scheduler, get_scheduler
from cuesta.cluster.services import Service, SparkService, start_stores
from cuesta.cluster.settings import ClusterPlan, from_json
from cuesta.cluster.wire import Message, WireError, listen, ready
from cuesta.cluster.yarn_service import YarnService
from cuesta.errors import CuestaError, Defect, EngineError, InputError
from cuesta.processes import age_seconds
from cuesta.store.peers import make_secret

SUBMITTED, ENDED, FAILED = "submitted", "ended", "failed"


class Ending(Exception):
    """A request to end the cluster, with the reason and the exit code."""

    def __init__(self, why: str, code: int) -> None:
        super().__init__(why)
        self.code = code


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
    """The leading process of a cluster.

    Attributes
    ----------
    state
        Content of `cluster.json`.
    on_ended
        Callbacks by the name of a service, called when it ends on a node: node, agent's message.
    """

    def __init__(self, plan: ClusterPlan, folder: ClusterFolder) -> None:
        self.plan = plan
        self.folder = folder
        self.children = Children()
        self.state: dict[str, Any] = folder.read()
        self.scheduler: Scheduler = get_scheduler(plan.allocation.scheduler)
        self.members = Members(listen("127.0.0.1"), folder.secret())
        self._services: list[Service] = []
        self.on_ended: dict[str, Callable[[str, Message], None]] = {}
        self._unwritten: dict[str, str] = {}
        self._gathering: Gathering
        self._ends_at: float | None = None
        self._asked_at = self._pinged_at = self._secret_at = time.monotonic()

    def run(self) -> int:
        """Run the cluster to its end. Guarantee: no process that was started is left."""
        seconds = self.plan.end_seconds
        watchdog_pid = watchdog.watch_leader(self.plan.cluster, seconds, self._record_killed)
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
        if self._unwritten:
            lost = "; ".join(f"node {name}: {text}" for name, text in self._unwritten.items())
            code = code if state == FAILED else EngineError.exit_code
            state, why = FAILED, f"{why}; {lost}" if why else lost
        self._report_outcome(state, why, code)
        return code

    def _report_outcome(self, state: str, why: str, code: int) -> None:
        """Write the outcome to log, state and users; a failed write does not stop the others."""
        self.state["code"] = code
        if why:
            self.state["why"] = why
            # Followers of the log read it for the last time when the state is final.
            with contextlib.suppress(OSError):
                sys.stderr.write(f"cuesta: {why}\n")
                sys.stderr.flush()
        with contextlib.suppress(OSError):
            self.set_state(state, ended=time.time())
        self._answer()

    def _work(self) -> int:
        self.set_state("starting", began=time.time() - age_seconds())
        self._gather()
        names = self._gathering.names
        self.limit_memory(self.members.facts())
        facts = sorted(self.members.facts(), key=lambda node: names.index(node.name))
        check_nodes(self.plan, facts)
        self.state["nodes"] = [node.to_json() for node in facts]
        self.set_state("starting", checked=time.time())
        driver = Driver(self)
        if self.plan.store_bytes:
            start_stores(self)
        if "spark" in self.plan.services:
            driver.spark = SparkService(self)
            self._services.append(driver.spark)
            driver.spark.start()
        if "yarn" in self.plan.services:
            driver.yarn = YarnService(self)
            self._services.append(driver.yarn)
            driver.yarn.start()
        self.set_state("ready", ready=time.time())
        code = driver.run() if self.plan.command else self._serve()
        self.set_state("stopping")
        return code

    def _gather(self) -> None:
        """Start the agents and wait for the facts of all nodes."""
        self._ends_at = self._end_of_time()
        self._check_time_left()
        self._gathering = Gathering(self)
        self._gathering.run()

    @property
    def _mark(self) -> str:
        return watchdog.mark(self.plan.cluster, "leader")

    def _end_of_time(self) -> float | None:
        """Return when the scheduler ends the allocation, or the requested minutes have passed."""
        minutes = self.plan.allocation.minutes
        requested_end = None if minutes is None else self.state["times"]["began"] + 60 * minutes
        ends = [at for at in (requested_end, self.scheduler.ends_at()) if at is not None]
        return min(ends, default=None)

    def _check_time_left(self) -> None:
        if self._ends_at is None:
            return
        remaining_s = self._ends_at - time.time()
        guard = self.plan.setting("guard")
        if remaining_s <= guard:
            raise InputError(
                f"the allocation ends in {max(0, remaining_s):.0f} s, and work is stopped "
                f"{guard:.0f} s before; ask for more --time, or give less with --set guard=SECONDS"
            )

    def _serve(self) -> int:
        """Wait until a user, the scheduler or an error ends the cluster."""
        while True:
            self.pump()

    def limit_memory(self, facts: Sequence[NodeFacts]) -> None:
        """Lower the memory of nodes to the job's memory limit on them."""
        job = self.scheduler.current_job()
        limits = self.scheduler.memory_bytes(job) if job else {}
        for node in facts:
            member = self.members.known[node.name]
            least = min(node.memory_bytes, limits.get(node.name, node.memory_bytes))
            member.facts = replace(node, memory_bytes=least)

    def wait_until(
        self, reached: Callable[[], bool], setting: str, missing: Callable[[], str]
    ) -> None:
        """Process messages and events until `reached`.

        Errors: `EngineError` with the text of `missing` after the seconds of that setting, or
        where a node is lost or its agent does not start.
        """
        deadline = time.monotonic() + self.plan.setting(setting)
        while not reached():
            failed = self._gathering.note_ended(self.pump())
            if failed or self.members.lost or time.monotonic() > deadline:
                raise EngineError(missing())

    def pump(self) -> dict[str, int]:
        """Process messages and events once; return processes of the leader that have ended.

        Errors: `Ending` when there is a reason to end; `InputError` of a node that refuses;
        `EngineError` when a service of the leader has ended.
        """
        ready(self.members.channels(), TICK_SECONDS)
        for member, message in self.members.receive():
            self._take_note(member, message)
        self._answer()
        now = time.monotonic()
        if now - self._pinged_at > PING_SECONDS:
            self._pinged_at = now
            for name in list(self.members.known):
                self.members.send(name, {"ping": now})
            self._lose_silent(now)
        if self.plan.store_bytes and now - self._secret_at > self.plan.setting("store-secret"):
            self._secret_at = now
            # On a full disk the current secret remains in use.
            with contextlib.suppress(OSError):
                make_secret(self.folder.store_secret_file)
        if len(self.members.lost) > len(self.state.get("lost", ())):
            self.state["lost"] = dict(self.members.lost)
            self.set_state(self.state["state"])
        self._look_for_ends(now)
        ended = self.children.ended()
        for service in self._services:
            service.check(ended)
        return ended

    def _take_note(self, member: Member, message: Message) -> None:
        if "unwritten" in message:
            self._unwritten[member.name] = message["unwritten"]
        on_ended = self.on_ended.get(message.get("ended", ""))
        if on_ended:
            on_ended(member.name, message)

    def lose_service(self, node: str, service: str, why: str) -> None:
        """Record in the state that a service of a node has ended and is not restarted."""
        self.state.setdefault("services_lost", {}).setdefault(node, {})[service] = why
        self.set_state(self.state["state"])

    def _lose_silent(self, now: float) -> None:
        for member in list(self.members.known.values()):
            if now - member.peer.received_at > self.plan.setting("lost"):
                self.members.lose(member.name, f"silent for {self.plan.setting('lost'):.0f} s")

    def _look_for_ends(self, now: float) -> None:
        """Check for reasons to end. Errors: `Ending`; `EngineError` when no node is left."""
        if "nodes" in self.state and not self.members.known:
            name, why = list(self.members.lost.items())[-1]
            raise EngineError(f"no node is left; {name} was the last: {why}")
        owner = self.plan.owner
        if owner and not processes.lives(owner):
            raise Ending("the process that the cluster was for has ended", 3)
        if self._ends_at is not None and time.time() > self._ends_at - self.plan.setting("guard"):
            raise Ending(
                f"stopped {self.plan.setting('guard'):.0f} s before the end of the allocation; "
                "ask for more --time",
                3,
            )
        if now - self._asked_at > self.plan.setting("poll"):
            self._asked_at = now
            if not self.folder.state_file.exists():
                raise Ending(f"{self.folder.root} was removed", 3)
            job = self.scheduler.current_job() or self.folder.job()
            # During the query no messages of nodes are received, and none are sent to them.
            seconds = min(ASK_SECONDS, self.plan.setting("lost") / 4)
            if job and self.scheduler.state(job, seconds) in (ENDING, GONE):
                raise Ending("the scheduler has ended the allocation", 3)

    def _answer(self) -> None:
        """Send users the state. Errors: `Ending` when a user requests the end."""
        requests, self.members.requests = self.members.requests, []
        for peer, message in requests:
            if "stop" in message and self.state["state"] not in (ENDED, FAILED):
                raise Ending("", 0)
            try:
                peer.send({"state": self.state})
            except WireError:
                continue

    def set_state(self, state: str, **times: float) -> None:
        """Write the state, and the times at which steps were reached."""
        self.state["state"] = state
        self.state.setdefault("times", {}).update(times)
        if self.folder.root.exists():
            self.folder.write(self.state)

    def _end(self, dog: int) -> None:
        """End driver, agents and services in order, then any remaining process."""
        seconds = self.plan.setting("stop")
        # Nothing is started again from now on.
        self.on_ended = {}
        self.children.end(["driver"], seconds)
        for name in list(self.members.known):
            self.members.send(name, {"end": True})
        deadline = time.monotonic() + self.plan.end_seconds
        while (self.members.known or self.children.any(AGENTS)) and time.monotonic() < deadline:
            ready(self.members.channels(), TICK_SECONDS)
            # Another node may refuse during the end.
            with contextlib.suppress(CuestaError):
                for member, message in self.members.receive():
                    self._take_note(member, message)
            self.children.ended()
        for service in self._services:
            service.end()
        self.children.end_except("", seconds)
        cluster = self.plan.cluster
        watchdog.sweep(watchdog.mark(cluster, "driver"))
        watchdog.sweep(self._mark, (dog,))

    def _record_killed(self) -> None:
        """Write the state of a leader that was killed; called by the watchdog."""
        state = self.folder.read()
        if state["state"] not in (ENDED, FAILED):
            state |= {"state": FAILED, "why": "the leader was killed", "code": 3}
            self.folder.write(state)


def _outcome(error: Exception) -> tuple[str, str, int]:
    """Return state, reason and exit code of a cluster that `error` ends."""
    if isinstance(error, Ending):
        return ENDED, str(error), error.code
    if isinstance(error, OSError):
        message = (error.strerror or str(error)).lower()
        return FAILED, f"{error.filename or 'system'}: {message}", EngineError.exit_code
    if not isinstance(error, CuestaError):
        error = Defect.of(error)
    return FAILED, str(error), error.exit_code
