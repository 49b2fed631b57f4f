"""What runs once in an allocation: brings the cluster up, runs the command, takes all down.

`python -m cuesta.cluster lead FOLDER`. Its state is in the folder, for whoever asks; the leader
alone writes it.
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
    """Somebody or something wants the cluster to end; the exit code tells how that counts."""

    def __init__(self, why: str, code: int) -> None:
        super().__init__(why)
        self.code = code


def main(words: Sequence[str]) -> int:
    """Run the leader of the command line; its exit code is that of the command."""
    signal.signal(signal.SIGTERM, _ask)
    signal.signal(signal.SIGINT, _ask)
    folder = ClusterFolder(Path(words[0]))
    state = folder.read()["state"]
    if state != SUBMITTED:
        # Who has handed it in was interrupted, or has ended it since.
        sys.stderr.write(f"cuesta: the cluster is {state} already\n")
        return EngineError.exit_code
    return Leader(from_json(folder.plan()), folder).run()


def _ask(number: int, _frame: FrameType | None) -> None:
    # Once is enough: a second one would come in the middle of the end.
    for one in (signal.SIGTERM, signal.SIGINT):
        signal.signal(one, signal.SIG_IGN)
    raise Ending(f"the cluster was ended by {signal.Signals(number).name}", 128 + number)


class Leader:
    """A cluster, from inside.

    Attributes
    ----------
    state
        What `cluster.json` says.
    on_ended
        By the name of a service: told the node when it has ended there, and the agent's message.
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
        """All of it. Whatever happens, nothing that was started is left."""
        seconds = self.plan.end_seconds
        dog = watchdog.watch_leader(self.plan.cluster, seconds, self._told_by_watchdog)
        try:
            state, why, code = ENDED, "", self._work()
        except Exception as error:
            state, why, code = _outcome(error)
        finally:
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, signal.SIG_IGN)
        try:
            self._end(dog)
        except Exception as error:
            failed, said, end_code = _outcome(error)
            state, why, code = failed, why or said, code or end_code
        if self._unwritten:
            lost = "; ".join(f"node {name}: {said}" for name, said in self._unwritten.items())
            code = code if state == FAILED else EngineError.exit_code
            state, why = FAILED, f"{why}; {lost}" if why else lost
        self._tell_outcome(state, why, code)
        return code

    def _tell_outcome(self, state: str, why: str, code: int) -> None:
        """Wherever there is somebody to hear it; a full disk keeps nobody else from that."""
        self.state["code"] = code
        if why:
            self.state["why"] = why
            # Whoever follows the log reads it for the last time when the state says that all ended.
            with contextlib.suppress(OSError):
                sys.stderr.write(f"cuesta: {why}\n")
                sys.stderr.flush()
        with contextlib.suppress(OSError):
            self.say(state, ended=time.time())
        self._answer()

    def _work(self) -> int:
        self.say("starting", began=time.time() - age_seconds())
        self._gather()
        names = self._gathering.names
        self.limit_memory(self.members.facts())
        found = sorted(self.members.facts(), key=lambda one: names.index(one.name))
        check_nodes(self.plan, found)
        self.state["nodes"] = [one.to_json() for one in found]
        self.say("starting", checked=time.time())
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
        self.say("ready", ready=time.time())
        code = driver.run() if self.plan.command else self._serve()
        self.say("stopping")
        return code

    def _gather(self) -> None:
        """Start the agents and wait for what all of them say."""
        self._ends_at = self._end_of_time()
        self._check_time_left()
        self._gathering = Gathering(self)
        self._gathering.run()

    @property
    def _mark(self) -> str:
        return watchdog.mark(self.plan.cluster, "leader")

    def _end_of_time(self) -> float | None:
        """When the scheduler ends the allocation, or the minutes asked for have passed."""
        minutes = self.plan.allocation.minutes
        asked = None if minutes is None else self.state["times"]["began"] + 60 * minutes
        found = [at for at in (asked, self.scheduler.ends_at()) if at is not None]
        return min(found, default=None)

    def _check_time_left(self) -> None:
        if self._ends_at is None:
            return
        left = self._ends_at - time.time()
        guard = self.plan.own("guard")
        if left <= guard:
            raise InputError(
                f"the allocation ends in {max(0, left):.0f} s, and work is stopped {guard:.0f} s "
                "before; ask for more --time, or give less with --set guard=SECONDS"
            )

    def _serve(self) -> int:
        """Be there until somebody ends it."""
        while True:
            self.pump()

    def limit_memory(self, facts: Sequence[NodeFacts]) -> None:
        """Have nodes count for the memory that the job has on them, where that is less."""
        job = self.scheduler.own_job()
        limits = self.scheduler.memory_bytes(job) if job else {}
        for node in facts:
            member = self.members.known[node.name]
            least = min(node.memory_bytes, limits.get(node.name, node.memory_bytes))
            member.facts = replace(node, memory_bytes=least)

    def wait_until(
        self, reached: Callable[[], bool], setting: str, missing: Callable[[], str]
    ) -> None:
        """Go on with what happens until it is so.

        Errors: `EngineError` with the words of `missing` after the seconds of that setting, or
        where a node is lost or its agent does not start.
        """
        deadline = time.monotonic() + self.plan.own(setting)
        while not reached():
            failed = self._gathering.note_ended(self.pump())
            if failed or self.members.lost or time.monotonic() > deadline:
                raise EngineError(missing())

    def pump(self) -> dict[str, int]:
        """Let happen what happens meanwhile; processes of the leader that have ended.

        Errors: `Ending` when there is a reason to end; `InputError` of a node that refuses;
        `EngineError` when a service of the leader is gone.
        """
        ready(self.members.channels(), TICK_SECONDS)
        for member, message in self.members.hear():
            self._take_note(member, message)
        self._answer()
        now = time.monotonic()
        if now - self._pinged_at > PING_SECONDS:
            self._pinged_at = now
            for name in list(self.members.known):
                self.members.tell(name, {"ping": now})
            self._lose_silent(now)
        if self.plan.store_bytes and now - self._secret_at > self.plan.own("store-secret"):
            self._secret_at = now
            # On a full disk the current one goes on.
            with contextlib.suppress(OSError):
                make_secret(self.folder.store_secret_file)
        if len(self.members.lost) > len(self.state.get("lost", ())):
            self.state["lost"] = dict(self.members.lost)
            self.say(self.state["state"])
        self._look_for_ends(now)
        ended = self.children.ended()
        for service in self._services:
            service.check(ended)
        return ended

    def _take_note(self, member: Member, message: Message) -> None:
        if "unwritten" in message:
            self._unwritten[member.name] = message["unwritten"]
        told = self.on_ended.get(message.get("ended", ""))
        if told:
            told(member.name, message)

    def lose_service(self, node: str, service: str, why: str) -> None:
        """Say in the state that a service of a node is gone for good."""
        self.state.setdefault("services_lost", {}).setdefault(node, {})[service] = why
        self.say(self.state["state"])

    def _lose_silent(self, now: float) -> None:
        for member in list(self.members.known.values()):
            if now - member.peer.heard > self.plan.own("lost"):
                self.members.lose(member.name, f"silent for {self.plan.own('lost'):.0f} s")

    def _look_for_ends(self, now: float) -> None:
        """Errors: `Ending`; `EngineError` when no node is left."""
        if "nodes" in self.state and not self.members.known:
            name, why = list(self.members.lost.items())[-1]
            raise EngineError(f"no node is left; {name} was the last: {why}")
        owner = self.plan.owner
        if owner and not processes.lives(owner):
            raise Ending("the process that the cluster was for has ended", 3)
        if self._ends_at is not None and time.time() > self._ends_at - self.plan.own("guard"):
            raise Ending(
                f"stopped {self.plan.own('guard'):.0f} s before the end of the allocation; ask for "
                "more --time",
                3,
            )
        if now - self._asked_at > self.plan.own("poll"):
            self._asked_at = now
            if not self.folder.state_file.exists():
                raise Ending(f"{self.folder.root} was removed", 3)
            job = self.scheduler.own_job() or self.folder.job()
            # Meanwhile nothing is heard of the nodes, nor they of the leader.
            seconds = min(ASK_SECONDS, self.plan.own("lost") / 4)
            if job and self.scheduler.state(job, seconds) in (ENDING, GONE):
                raise Ending("the scheduler has ended the allocation", 3)

    def _answer(self) -> None:
        """Tell users the state. Errors: `Ending` when one of them wants that."""
        asked, self.members.asked = self.members.asked, []
        for peer, message in asked:
            if "stop" in message and self.state["state"] not in (ENDED, FAILED):
                raise Ending("", 0)
            try:
                peer.send({"state": self.state})
            except WireError:
                continue

    def say(self, state: str, **times: float) -> None:
        """Write the state, and when it was reached."""
        self.state["state"] = state
        self.state.setdefault("times", {}).update(times)
        if self.folder.root.exists():
            self.folder.write(self.state)

    def _end(self, dog: int) -> None:
        """End driver, agents and services in order, then whatever is left."""
        seconds = self.plan.own("stop")
        # Nothing is started again from now on.
        self.on_ended = {}
        self.children.end(["driver"], seconds)
        for name in list(self.members.known):
            self.members.tell(name, {"end": True})
        deadline = time.monotonic() + self.plan.end_seconds
        while (self.members.known or self.children.any(AGENTS)) and time.monotonic() < deadline:
            ready(self.members.channels(), TICK_SECONDS)
            # Another node may refuse, too.
            with contextlib.suppress(CuestaError):
                for member, message in self.members.hear():
                    self._take_note(member, message)
            self.children.ended()
        for service in self._services:
            service.end()
        self.children.end_but("", seconds)
        cluster = self.plan.cluster
        watchdog.sweep(watchdog.mark(cluster, "driver"))
        watchdog.sweep(self._mark, (dog,))

    def _told_by_watchdog(self) -> None:
        """What the watchdog writes when the leader could not."""
        state = self.folder.read()
        if state["state"] not in (ENDED, FAILED):
            state |= {"state": FAILED, "why": "the leader was killed", "code": 3}
            self.folder.write(state)


def _outcome(error: Exception) -> tuple[str, str, int]:
    """State, reason and exit code of a cluster that such an error ends."""
    if isinstance(error, Ending):
        return ENDED, str(error), error.code
    if isinstance(error, OSError):
        said = (error.strerror or str(error)).lower()
        return FAILED, f"{error.filename or 'system'}: {said}", EngineError.exit_code
    if not isinstance(error, CuestaError):
        error = Defect.of(error)
    return FAILED, str(error), error.exit_code
