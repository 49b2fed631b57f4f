"""A service with a process on each node, restarted `RESTARTS_MAX` times where it dies."""

from __future__ import annotations

from collections.abc import Callable

from cuesta.cluster.folder import error_line
from cuesta.cluster.limits import REPORT_CHARACTERS_MAX, RESTARTS_MAX
from cuesta.cluster.node import NodeFacts
from cuesta.cluster.running import RunningCluster
from cuesta.cluster.wire import Message


class Workers:
    """The processes of a service.

    Attributes
    ----------
    name
        Name of the service in messages to agents.
    gone
        Nodes where it is not restarted any more, with the reason.
    """

    def __init__(
        self, cluster: RunningCluster, name: str, start: Callable[[NodeFacts], None]
    ) -> None:
        """Arguments: `start` starts a process on a node, and does not wait for it."""
        self.name = name
        self.gone: dict[str, str] = {}
        self._cluster = cluster
        self._start = start
        self._restarts: dict[str, int] = {}

    def start(self) -> None:
        """Start a process on each node."""
        self._cluster.on_ended[self.name] = self._mend
        for node in self._cluster.members.facts():
            self._start(node)

    def unregistered(self, process: str, registered: set[str]) -> str:
        """Describe a node whose process has not registered, with its log.

        Arguments: `process` names the process in the message; `registered` has the addresses of
        those that have registered.
        """
        cluster = self._cluster
        silent = [node for node in cluster.members.facts() if node.address not in registered]
        node = (silent or cluster.members.facts())[0]
        log = cluster.folder.log(f"{self.name}-{node.name}")
        seconds = cluster.plan.setting("start")
        return (
            f"node {node.name}: {process} did not register within {seconds:.0f} s: "
            f"{error_line(log)[:REPORT_CHARACTERS_MAX]}; {log}"
        )

    def _mend(self, name: str, message: Message) -> None:
        cluster = self._cluster
        self._restarts[name] = self._restarts.get(name, 0) + 1
        cluster.state["workers_lost"] = cluster.state.get("workers_lost", 0) + 1
        cluster.set_state(cluster.state["state"])
        facts = cluster.members.known[name].facts if name in cluster.members.known else None
        if facts and self._restarts[name] <= RESTARTS_MAX:
            self._start(facts)
        elif facts:
            log = cluster.folder.log(f"{self.name}-{name}")
            line = message.get("why") or error_line(log)[:REPORT_CHARACTERS_MAX]
            why = f"it has died {self._restarts[name]} times, at last with code {message['code']}"
            self.gone[name] = f"{why}: {line}; {log}"
            cluster.lose_service(name, self.name, self.gone[name])
