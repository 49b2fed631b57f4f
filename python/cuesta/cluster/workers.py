"""A service that has a process on each node: it is started again where it dies, not for ever."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cuesta.cluster.folder import telling_line
from cuesta.cluster.limits import RESTARTS_MAX, SAID_CHARACTERS_MAX
from cuesta.cluster.node import NodeFacts
from cuesta.cluster.wire import Message

if TYPE_CHECKING:
    from cuesta.cluster.leader import Leader


class Workers:
    """The processes of one name.

    Attributes
    ----------
    name
        As agents know it.
    gone
        Nodes where it is not started again, and why.
    """

    def __init__(self, leader: Leader, name: str, start: Callable[[NodeFacts], None]) -> None:
        """Arguments: `start` has one started on a node, and does not wait for it."""
        self.name = name
        self.gone: dict[str, str] = {}
        self._leader = leader
        self._start = start
        self._restarts: dict[str, int] = {}

    def start(self) -> None:
        """One on each node."""
        self._leader.on_ended[self.name] = self._mend
        for node in self._leader.members.facts():
            self._start(node)

    def unregistered(self, called: str, there: set[str]) -> str:
        """Which node has none that has registered, and what it said.

        Arguments: `there` are the addresses of those that have.
        """
        leader = self._leader
        silent = [one for one in leader.members.facts() if one.address not in there]
        node = (silent or leader.members.facts())[0]
        log = leader.folder.log(f"{self.name}-{node.name}")
        seconds = leader.plan.own("start")
        return (
            f"node {node.name}: {called} did not register within {seconds:.0f} s: "
            f"{telling_line(log)[:SAID_CHARACTERS_MAX]}; {log}"
        )

    def _mend(self, name: str, message: Message) -> None:
        leader = self._leader
        self._restarts[name] = self._restarts.get(name, 0) + 1
        leader.state["workers_lost"] = leader.state.get("workers_lost", 0) + 1
        leader.say(leader.state["state"])
        facts = leader.members.known[name].facts if name in leader.members.known else None
        if facts and self._restarts[name] <= RESTARTS_MAX:
            self._start(facts)
        elif facts:
            log = leader.folder.log(f"{self.name}-{name}")
            said = message.get("why") or telling_line(log)[:SAID_CHARACTERS_MAX]
            why = f"it has died {self._restarts[name]} times, at last with code {message['code']}"
            self.gone[name] = f"{why}: {said}; {log}"
            leader.lose_service(name, self.name, self.gone[name])
