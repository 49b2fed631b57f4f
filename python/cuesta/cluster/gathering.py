"""Has an agent started on every node of the allocation, and waits until each has said its facts."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import TYPE_CHECKING

from cuesta.cluster.folder import telling_line
from cuesta.cluster.limits import LATE_SECONDS, SAID_CHARACTERS_MAX
from cuesta.cluster.members import Members
from cuesta.cluster.node import interface_of, listening_address
from cuesta.cluster.script import agent_words
from cuesta.cluster.watchdog import MARK, mark
from cuesta.cluster.wire import listen
from cuesta.machine import raise_limit_of_files

if TYPE_CHECKING:
    from cuesta.cluster.leader import Leader

AGENTS = "agents"
"""How the names of processes of the leader begin that start agents."""


class Gathering:
    """The start of the agents of a leader.

    Attributes
    ----------
    names
        Of the nodes.
    """

    def __init__(self, leader: Leader) -> None:
        self._leader = leader
        self.names = leader.scheduler.nodes(leader.plan)
        self._failed: list[int] = []
        self._launched = 0
        self._began_at = time.monotonic()
        self._report_at = float("inf")

    def run(self) -> None:
        """Start agents; when it returns all have connected. Errors: `EngineError`, `InputError`."""
        leader = self._leader
        plan, folder = leader.plan, leader.folder
        own = leader.scheduler.own_name()
        address = listening_address(plan.share.interface, plan.allocation.scheduler == "local", own)
        raise_limit_of_files()
        leader.members = Members(listen(address), folder.secret())
        port = leader.members.port
        leader.state["leader"] = {
            "address": address,
            "interface": interface_of(address),
            "port": port,
            "pid": os.getpid(),
            "node": own,
        }
        leader.say("starting", allocated=time.time())
        place = [address, str(port), plan.share.interface]

        def words(name: str) -> list[str]:
            return [*agent_words(plan, folder, place), *([name] if name else [])]

        marking = {MARK: mark(plan.cluster, "leader")}
        commands = leader.scheduler.launches(plan, self.names, words)
        self._launched = len(commands)
        for number, command in enumerate(commands, start=1):
            name = f"{AGENTS}-{number}"
            leader.children.start(name, command, marking, folder.log(name))
        self._report_at = time.monotonic() + min(LATE_SECONDS, plan.own("start") / 4)
        leader.wait_until(self._all_here, "start", self._missing)
        leader.state.pop("awaited", None)
        leader.say("starting", agents=max(one.began for one in leader.members.known.values()))

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
        leader.say(leader.state["state"])
        limit = leader.plan.own("start")
        number = self.names.index(late[0]) + 1 if self._launched > 1 else 1
        line = telling_line(leader.folder.log(f"{AGENTS}-{number}"))
        cause = f" ({line[:SAID_CHARACTERS_MAX]})" if "error:" in line else ""
        with contextlib.suppress(OSError):
            sys.stderr.write(
                f"cuesta: waiting for node {', '.join(late)} for {seconds:.0f} s of {limit:.0f} s; "
                f"its agent does not answer{cause}\n"
            )
            sys.stderr.flush()

    def note_ended(self, ended: dict[str, int]) -> bool:
        """Take note of commands that have ended; whether one of them failed."""
        self._failed += [
            int(name.rpartition("-")[2])
            for name, code in ended.items()
            if code and name.startswith(AGENTS)
        ]
        return bool(self._failed)

    def _missing(self) -> str:
        """Which nodes have not said anything, and what is known of it."""
        names, members = self.names, self._leader.members
        if self._launched == len(names) and self._failed:
            silent = [names[number - 1] for number in self._failed]
        else:
            heard = members.known.keys() | members.lost.keys()
            silent = [name for name in names if name not in heard]
        gone = [f"{name} ({why})" for name, why in members.lost.items()]
        number = names.index(silent[0]) + 1 if silent and self._launched > 1 else 1
        said = telling_line(self._leader.folder.log(f"{AGENTS}-{number}")) or "it has said nothing"
        who = ", ".join(silent or gone or names)
        return f"node {who} did not start: {said[:SAID_CHARACTERS_MAX]}"
