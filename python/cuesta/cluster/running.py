"""A cluster as its leader runs it: messages of nodes and users, processes, reasons to end."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from cuesta import processes
from cuesta.cluster import node_store
from cuesta.cluster.children import Children
from cuesta.cluster.folder import ClusterFolder
from cuesta.cluster.limits import ASK_SECONDS, PING_SECONDS, TICK_SECONDS
from cuesta.cluster.members import Member, Members
from cuesta.cluster.schedulers import ENDING, GONE, Scheduler, get_scheduler
from cuesta.cluster.settings import ClusterPlan
from cuesta.cluster.wire import Message, WireError, listen, ready
from cuesta.errors import EngineError

SUBMITTED, ENDED, FAILED = "submitted", "ended", "failed"
AGENTS = "agents"
"""Prefix of the names of the leader's processes that start agents."""


class Ending(Exception):
    """A request to end the cluster, with the reason and the exit code."""

    def __init__(self, why: str, code: int) -> None:
        super().__init__(why)
        self.code = code


class Service(Protocol):
    """A service that a leader runs in addition to agents and stores."""

    def check(self, ended: Mapping[str, int]) -> None:
        """Check processes of the leader that have ended. Errors: `EngineError`."""

    def end(self) -> None:
        """End the service's processes on the leader's node."""


class RunningCluster:
    """Connections, processes and state of a cluster.

    Attributes
    ----------
    children
        Processes on the leader's node.
    members
        Connections to nodes and users.
    services
        Services that are checked whenever processes have ended.
    state
        Content of `cluster.json`.
    on_ended
        Callbacks by the name of a service, called when it ends on a node: node, agent's message.
    unwritten
        Reports, by node, of files that are not in the shared folder.
    failed_agents
        Numbers of the commands that were to start an agent and have failed.
    ends_at
        Time at which the allocation ends, if it does.
    """

    def __init__(self, plan: ClusterPlan, folder: ClusterFolder) -> None:
        self.plan = plan
        self.folder = folder
        self.children = Children()
        self.state: dict[str, Any] = folder.read()
        self.scheduler: Scheduler = get_scheduler(plan.allocation.scheduler)
        self.members = Members(listen("127.0.0.1"), folder.secret())
        self.services: list[Service] = []
        self.on_ended: dict[str, Callable[[str, Message], None]] = {}
        self.unwritten: dict[str, str] = {}
        self.failed_agents: list[int] = []
        self.ends_at: float | None = None
        self._asked_at = self._pinged_at = self._secret_at = time.monotonic()

    def wait_until(
        self, reached: Callable[[], bool], setting: str, missing: Callable[[], str]
    ) -> None:
        """Process messages and events until `reached`.

        Errors: `EngineError` with the text of `missing` after the seconds of that setting, or
        where a node is lost or its agent does not start.
        """
        deadline = time.monotonic() + self.plan.setting(setting)
        while not reached():
            self._note_failed_agents(self.pump())
            if self.failed_agents or self.members.lost or time.monotonic() > deadline:
                raise EngineError(missing())

    def pump(self) -> dict[str, int]:
        """Process messages and events once; return processes of the leader that have ended.

        Errors: `Ending` when there is a reason to end; `InputError` of a node that refuses;
        `EngineError` when a service of the leader has ended.
        """
        ready(self.members.channels(), TICK_SECONDS)
        for member, message in self.members.receive():
            self.take_note(member, message)
        self.answer()
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
                node_store.make_secret(self.folder.store_secret_file)
        if len(self.members.lost) > len(self.state.get("lost", ())):
            self.state["lost"] = dict(self.members.lost)
            self.set_state(self.state["state"])
        self._look_for_ends(now)
        ended = self.children.ended()
        for service in self.services:
            service.check(ended)
        return ended

    def take_note(self, member: Member, message: Message) -> None:
        """Handle a message of a node."""
        if "unwritten" in message:
            self.unwritten[member.name] = message["unwritten"]
        on_ended = self.on_ended.get(message.get("ended", ""))
        if on_ended:
            on_ended(member.name, message)

    def lose_service(self, node: str, service: str, why: str) -> None:
        """Record in the state that a service of a node has ended and is not restarted."""
        self.state.setdefault("services_lost", {}).setdefault(node, {})[service] = why
        self.set_state(self.state["state"])

    def answer(self) -> None:
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

    def _note_failed_agents(self, ended: Mapping[str, int]) -> None:
        """Record commands that were to start an agent and have failed."""
        self.failed_agents += [
            int(name.rpartition("-")[2])
            for name, code in ended.items()
            if code and name.startswith(AGENTS)
        ]

    def _lose_silent(self, now: float) -> None:
        for member in list(self.members.known.values()):
            if now - member.peer.received_at > self.plan.setting("lost"):
                self.members.lose(member.name, f"silent for {self.plan.setting('lost'):.0f} s")

    def _look_for_ends(self, now: float) -> None:
        """Check for reasons to end. Errors: `Ending`; `EngineError` when no node is left."""
        if "nodes" in self.state and not self.members.known:
            name, why = list(self.members.lost.items())[-1]
            raise EngineError(
                f"no node is left; {name} was the last: {why}; see {self.folder.logs}"
            )
        owner = self.plan.owner
        if owner and not processes.lives(owner):
            raise Ending("the process that the cluster was for has ended", 3)
        if self.ends_at is not None and time.time() > self.ends_at - self.plan.setting("guard"):
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
