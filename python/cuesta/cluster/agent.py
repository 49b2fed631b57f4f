"""The agent of a node: describes the node, starts processes for the leader, ends them.

`python -m cuesta.cluster agent FOLDER ADDRESS PORT INTERFACE [NODE]`. It ends, with all processes
that it has started, when the leader sends the request to end, is silent for too long or has exited,
and at SIGTERM. Its exit code is 0, or 3 where it never reached the leader.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from cuesta import markers, removal
from cuesta.children import module_command
from cuesta.cluster import node, node_store, watchdog
from cuesta.cluster.children import Children
from cuesta.cluster.folder import ClusterFolder
from cuesta.cluster.limits import CONNECT_SECONDS, PING_SECONDS, TICK_SECONDS
from cuesta.cluster.settings import ClusterPlan, from_json
from cuesta.cluster.wire import Message, Peer, WireError, connect, ready
from cuesta.engines.mpi import leftovers
from cuesta.errors import CuestaError, EngineError


class _Terminated(BaseException):
    """SIGTERM."""


def main(words: Sequence[str]) -> int:
    """Run the agent that the command line describes."""
    folder = ClusterFolder(Path(words[0]))
    plan = from_json(folder.plan())
    hostname = os.environ.get("SLURMD_NODENAME") or os.uname().nodename.partition(".")[0]
    name = words[4] if len(words) > 4 else hostname
    marking = watchdog.mark(plan.cluster, name)
    if os.environ.get(watchdog.MARK) != marking:
        # A process cannot change what the system shows of its environment.
        command = module_command("cuesta.cluster", "agent", *words[:4], name)
        os.execve(sys.executable, command, os.environ | {watchdog.MARK: marking})
    signal.signal(signal.SIGTERM, _terminate)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    agent = Agent(plan, folder, name)
    watchdog_pid = watchdog.watch_agent(marking, agent.clear, plan.setting("store-grace") + 1)
    code = 0
    try:
        agent.run(words[1], int(words[2]), words[3])
    except _Terminated:
        pass
    except WireError as error:
        if not agent.has_connected:
            code = EngineError.exit_code
            _log(f"the leader is not reached: {error}")
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        agent.end()
        # Ranks of the command that are on this node; the leader has ended the command.
        watchdog.sweep(watchdog.mark(plan.cluster, "driver"))
        watchdog.sweep(marking, (watchdog_pid,))
        agent.clear()
    return code


def _terminate(_number: int, _frame: FrameType | None) -> None:
    raise _Terminated


def _log(line: str) -> None:
    """Write a line to the log of the process that started this agent."""
    with contextlib.suppress(OSError):
        sys.stderr.write(f"cuesta: {line}\n")
        sys.stderr.flush()


class Agent:
    """A node's side of a cluster.

    Attributes
    ----------
    scratch
        The folder for temporary files of this cluster on this node; removed with the cluster.
    """

    def __init__(self, plan: ClusterPlan, folder: ClusterFolder, name: str) -> None:
        self._plan = plan
        self._folder = folder
        self._name = name
        self._children = Children()
        self._leader: Peer | None = None
        self._waits_for_store = False
        self._began = time.time()
        self._to_meet: set[str] = set()
        self._address = ""
        base = Path(plan.share.scratch or os.environ.get("TMPDIR") or "/tmp")
        # Not the name of the store's folder, which may be next to it.
        self.scratch = base / f"cuesta-{plan.cluster}-{name}.scratch"
        self._store = node_store.folder_of(plan, name)
        self._members = self.scratch / "stores"

    @property
    def has_connected(self) -> bool:
        """Whether a connection to the leader was made."""
        return self._leader is not None

    def run(self, address: str, port: int, interface: str) -> None:
        """Serve the leader. Errors: `WireError` when the connection to it is lost."""
        leader = connect(address, port, self._folder.secret(), CONNECT_SECONDS)
        # Open until all processes have ended: the leader waits for its end.
        self._leader = leader
        leader.send({"hello": self._name, "began": time.time(), "pid": os.getpid()})
        try:
            address_here = node.address_on(interface) if interface else leader.address
            facts = node.facts(self._name, address_here, self.scratch)
        except CuestaError as error:
            leader.send({"refuses": str(error)})
            raise WireError(str(error)) from None
        self._address = address_here
        with contextlib.suppress(OSError):
            removal.hold(self.scratch)
        self._sweep_scratch()
        leader.send({"facts": facts.to_json()})
        pinged_at = time.monotonic()
        while time.monotonic() - leader.received_at < self._plan.setting("lost"):
            ready([leader], TICK_SECONDS)
            for message in leader.received():
                if "end" in message:
                    return
                self._do(leader, message)
            if self._waits_for_store:
                self._look_at_store(leader)
            elif self._to_meet:
                self._look_at_peers(leader)
            for name, code in self._children.ended().items():
                self._sweep_after(name)
                leader.send({"ended": name, "code": code})
            if time.monotonic() - pinged_at > PING_SECONDS:
                pinged_at = time.monotonic()
                leader.send({"ping": pinged_at})

    def _do(self, leader: Peer, message: Message) -> None:
        if "start" in message:
            self._start(leader, message)
        elif "store" in message:
            host = f"[{self._address}]" if ":" in self._address else self._address
            secret = self._folder.store_secret_file
            files = (secret, self._members)
            words = node_store.words(self._plan, self._name, f"{host}:0", files)
            start = {"start": node_store.NAME, "words": words, "environment": {}}
            # A store that is killed with this agent would write nothing.
            self._start(leader, start, signal.SIGTERM)
            self._waits_for_store = True
        elif node_store.STORES in message:
            names: list[str] = message[node_store.STORES]
            removal.ensure_marked(self.scratch)
            node_store.write_members(self._members, names)
            self._to_meet = set(names)
        elif "stop" in message:
            self._children.end([message["stop"]], self._plan.setting("stop"))

    def _start(self, leader: Peer, message: Message, last_signal: int = signal.SIGKILL) -> None:
        name: str = message["start"]
        words: list[str] = message["words"]
        environment: dict[str, Any] = message["environment"]
        log = self._folder.log(f"{name}-{self._name}")
        self._sweep_after(name)
        try:
            pid = self._children.start(name, words, environment, log, last_signal)
        except OSError as error:
            leader.send({"ended": name, "code": 127, "why": f"{words[0]}: {error.strerror}"})
            return
        leader.send({"started": name, "pid": pid})

    def _sweep_after(self, service: str) -> None:
        """Kill processes that an ended service has started, if they have a mark of their own.

        Containers of YARN would continue without their NodeManager. A container that was about to
        be started is found by the second sweep, before the next NodeManager starts.
        """
        watchdog.sweep(watchdog.mark(self._plan.cluster, f"{self._name}/{service}"))

    def _look_at_store(self, leader: Peer) -> None:
        """Report the store as ready once the first line of its log is `ready`."""
        log = self._folder.log(f"{node_store.NAME}-{self._name}")
        if log.read_text(errors="replace").startswith("ready\n"):
            self._waits_for_store = False
            name = node_store.peers_of(self._store)["name"]
            leader.send({"ready": node_store.NAME, "address": name})

    def _look_at_peers(self, leader: Peer) -> None:
        """Report once the store of this node reaches the stores of all other nodes."""
        with contextlib.suppress(CuestaError):
            peers = node_store.peers_of(self._store)
            live = {member["name"] for member in peers["members"] if member["is_live"]}
            if self._to_meet <= live | {peers["name"]}:
                self._to_meet = set()
                leader.send({"ready": node_store.STORES})

    def end(self) -> None:
        """End the processes started here, the store last: others may still write to it."""
        self._children.end_except(node_store.NAME, self._plan.setting("stop"))
        self._children.end([node_store.NAME], self._plan.setting("store-grace") + 1)
        count = node_store.unwritten(self._store)
        if not count:
            return
        why = f"{count} files are not in {self._plan.store_under} yet, but in {self._store}"
        _log(f"node {self._name}: {why}")
        if self._leader is not None:
            with contextlib.suppress(WireError):
                self._leader.send({"unwritten": why})

    def _sweep_scratch(self) -> None:
        """Remove folders of agents of this node that were killed with their watchdogs."""
        for folder in self.scratch.parent.glob(f"cuesta-*-{self._name}.scratch"):
            cluster = folder.name.removeprefix("cuesta-").partition("-")[0]
            if removal.is_idle(folder) and not watchdog.marked(f"{cluster}/"):
                with contextlib.suppress(OSError):
                    removal.remove_marked(folder)

    def clear(self) -> None:
        """Remove the agent's folders, except a store's with the only copy of a file."""
        leftovers.sweep(self._began)
        removal.remove_partial(self.scratch)
        with contextlib.suppress(OSError):
            removal.remove_marked(self.scratch)
        if markers.is_private(self._store) and not node_store.unwritten(self._store):
            removal.discard(self._store)
