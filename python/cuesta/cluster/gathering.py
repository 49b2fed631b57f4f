"""Starts an agent on each node of the allocation, and waits until each has sent its facts."""

from __future__ import annotations

import contextlib
import os
import sys
import time

from cuesta.cluster.folder import error_line
from cuesta.cluster.limits import LATE_SECONDS, REPORT_CHARACTERS_MAX
from cuesta.cluster.members import Members
from cuesta.cluster.node import interface_of, listening_address
from cuesta.cluster.running import AGENTS, RunningCluster
from cuesta.cluster.script import agent_words
from cuesta.cluster.watchdog import MARK, mark
from cuesta.cluster.wire import listen
from cuesta.machine import raise_limit_of_files


class Gathering:
    """The start of the agents of a cluster.

    Attributes
    ----------
    names
        Names of the nodes.
    """

    def __init__(self, cluster: RunningCluster) -> None:
        self._cluster = cluster
        self.names = cluster.scheduler.nodes(cluster.plan)
        self._launched = 0
        self._began_at = time.monotonic()
        self._report_at = float("inf")

    def run(self) -> None:
        """Start agents and wait until all connect. Errors: `EngineError`, `InputError`."""
        cluster = self._cluster
        plan, folder = cluster.plan, cluster.folder
        leader_node = cluster.scheduler.current_node()
        address = listening_address(
            plan.share.interface, plan.allocation.scheduler == "local", leader_node
        )
        raise_limit_of_files()
        cluster.members = Members(listen(address), folder.secret())
        port = cluster.members.port
        cluster.state["leader"] = {
            "address": address,
            "interface": interface_of(address),
            "port": port,
            "pid": os.getpid(),
            "node": leader_node,
        }
        cluster.set_state("starting", allocated=time.time())
        place = [address, str(port), plan.share.interface]

        def words(name: str) -> list[str]:
            return [*agent_words(plan, folder, place), *([name] if name else [])]

        marking = {MARK: mark(plan.cluster, "leader")}
        commands = cluster.scheduler.launches(plan, self.names, words)
        self._launched = len(commands)
        for number, command in enumerate(commands, start=1):
            name = f"{AGENTS}-{number}"
            cluster.children.start(name, command, marking, folder.log(name))
        self._report_at = time.monotonic() + min(LATE_SECONDS, plan.setting("start") / 4)
        cluster.wait_until(self._all_here, "start", self._missing)
        cluster.state.pop("awaited", None)
        cluster.set_state(
            "starting", agents=max(member.began for member in cluster.members.known.values())
        )

    def _all_here(self) -> bool:
        facts = self._cluster.members.facts()
        if len(facts) >= len(self.names):
            return True
        if time.monotonic() > self._report_at:
            self._report_late({node.name for node in facts})
        return False

    def _report_late(self, here: set[str]) -> None:
        """Name nodes that delay the start, in the log and the state, less and less often."""
        cluster, seconds = self._cluster, time.monotonic() - self._began_at
        self._report_at = time.monotonic() + seconds
        late = [name for name in self.names if name not in here]
        cluster.state["awaited"] = dict.fromkeys(late, round(seconds, 1))
        cluster.set_state(cluster.state["state"])
        limit = cluster.plan.setting("start")
        number = self.names.index(late[0]) + 1 if self._launched > 1 else 1
        line = error_line(cluster.folder.log(f"{AGENTS}-{number}"))
        cause = f" ({line[:REPORT_CHARACTERS_MAX]})" if "error:" in line else ""
        with contextlib.suppress(OSError):
            sys.stderr.write(
                f"cuesta: waiting for node {', '.join(late)} for {seconds:.0f} s of {limit:.0f} s; "
                f"its agent does not answer{cause}\n"
            )
            sys.stderr.flush()

    def _missing(self) -> str:
        """Describe the nodes that have not connected, with the log of the first."""
        names, cluster = self.names, self._cluster
        members = cluster.members
        if self._launched == len(names) and cluster.failed_agents:
            silent = [names[number - 1] for number in cluster.failed_agents]
        else:
            connected = members.known.keys() | members.lost.keys()
            silent = [name for name in names if name not in connected]
        lost = [f"{name} ({why})" for name, why in members.lost.items()]
        number = names.index(silent[0]) + 1 if silent and self._launched > 1 else 1
        line = error_line(cluster.folder.log(f"{AGENTS}-{number}")) or "it has said nothing"
        nodes = ", ".join(silent or lost or names)
        return f"node {nodes} did not start: {line[:REPORT_CHARACTERS_MAX]}"
