"""Starts an agent on each node of the allocation, and waits until each has sent its facts."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import TYPE_CHECKING

from cuesta.cluster.folder import error_line
from cuesta.cluster.limits import LATE_SECONDS, REPORT_CHARACTERS_MAX
from cuesta.cluster.members import Members
from cuesta.cluster.node import interface_of, listening_address
from cuesta.cluster.script import agent_words
from cuesta.cluster.watchdog import MARK, mark
from cuesta.cluster.wire import listen
from cuesta.machine import raise_limit_of_files

if TYPE_CHECKING:
    from cuesta.cluster.leader import Leader

AGENTS = "agents"
"""Prefix of the names of the leader's processes that start agents."""


class Gathering:
    """The start of the agents of a leader.

    Attributes
    ----------
    names
        Names of the nodes.
    """

    def __init__(self, leader: Leader) -> None:
        self._leader = leader
        self.names = leader.scheduler.nodes(leader.plan)
        self._failed: list[int] = []
        self._launched = 0
        self._began_at = time.monotonic()
        self._report_at = float("inf")

    def run(self) -> None:
        """Start agents and wait until all connect. Errors: `EngineError`, `InputError`."""
        leader = self._leader
        plan, folder = leader.plan, leader.folder
        leader_node = leader.scheduler.current_node()
        address = listening_address(
            plan.share.interface, plan.allocation.scheduler == "local", leader_node
        )
        raise_limit_of_files()
        leader.members = Members(listen(address), folder.secret())
        port = leader.members.port
        leader.state["leader"] = {
            "address": address,
            "interface": interface_of(address),
            "port": port,
            "pid": os.getpid(),
            "node": leader_node,
        }
        leader.set_state("starting", allocated=time.time())
        place = [address, str(port), plan.share.interface]

        def words(name: str) -> list[str]:
            return [*agent_words(plan, folder, place), *([name] if name else [])]

        marking = {MARK: mark(plan.cluster, "leader")}
        commands = leader.scheduler.launches(plan, self.names, words)
        self._launched = len(commands)
        for number, command in enumerate(commands, start=1):
            name = f"{AGENTS}-{number}"
            leader.children.start(name, command, marking, folder.log(name))
        self._report_at = time.monotonic() + min(LATE_SECONDS, plan.setting("start") / 4)
        leader.wait_until(self._all_here, "start", self._missing)
        leader.state.pop("awaited", None)
        leader.set_state(
            "starting", agents=max(member.began for member in leader.members.known.values())
        )

    def _all_here(self) -> bool:
        facts = self._leader.members.facts()
        if len(facts) >= len(self.names):
            return True
        if time.monotonic() > self._report_at:
            self._report_late({node.name for node in facts})
        return False

    def _report_late(self, here: set[str]) -> None:
        """Name nodes that delay the start, in the log and the state, less and less often."""
        leader, seconds = self._leader, time.monotonic() - self._began_at
        self._report_at = time.monotonic() + seconds
        late = [name for name in self.names if name not in here]
        leader.state["awaited"] = dict.fromkeys(late, round(seconds, 1))
        leader.set_state(leader.state["state"])
        limit = leader.plan.setting("start")
        number = self.names.index(late[0]) + 1 if self._launched > 1 else 1
        line = error_line(leader.folder.log(f"{AGENTS}-{number}"))
        cause = f" ({line[:REPORT_CHARACTERS_MAX]})" if "error:" in line else ""
        with contextlib.suppress(OSError):
            sys.stderr.write(
                f"cuesta: waiting for node {', '.join(late)} for {seconds:.0f} s of {limit:.0f} s; "
                f"its agent does not answer{cause}\n"
            )
            sys.stderr.flush()

    def note_ended(self, ended: dict[str, int]) -> bool:
        """Record commands that have ended; return whether one of them failed."""
        self._failed += [
            int(name.rpartition("-")[2])
            for name, code in ended.items()
            if code and name.startswith(AGENTS)
        ]
        return bool(self._failed)

    def _missing(self) -> str:
        """Describe the nodes that have not connected, with the log of the first."""
        names, members = self.names, self._leader.members
        if self._launched == len(names) and self._failed:
            silent = [names[number - 1] for number in self._failed]
        else:
            connected = members.known.keys() | members.lost.keys()
            silent = [name for name in names if name not in connected]
        lost = [f"{name} ({why})" for name, why in members.lost.items()]
        number = names.index(silent[0]) + 1 if silent and self._launched > 1 else 1
        line = error_line(self._leader.folder.log(f"{AGENTS}-{number}")) or "it has said nothing"
        nodes = ", ".join(silent or lost or names)
        return f"node {nodes} did not start: {line[:REPORT_CHARACTERS_MAX]}"
