"""YARN on a cluster: a ResourceManager on the leader's node, a NodeManager on each node."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Mapping

from cuesta import removal
from cuesta.cluster import node_store, pages, yarn
from cuesta.cluster.folder import error_line
from cuesta.cluster.limits import PORT_TRIES_MAX, REPORT_CHARACTERS_MAX
from cuesta.cluster.node import NodeFacts, free_ports
from cuesta.cluster.running import RunningCluster
from cuesta.cluster.services import node_use
from cuesta.cluster.spark import usable_java
from cuesta.cluster.watchdog import MARK, mark
from cuesta.cluster.workers import Workers
from cuesta.errors import EngineError

NODE_MANAGER = "yarn-nodemanager"
MANAGER = "yarn-resourcemanager"
HISTORY = "yarn-jobhistory"
"""Name of the JobHistoryServer, which answers queries about jobs that have ended."""
_DAEMONS = {MANAGER: "ResourceManager", HISTORY: "JobHistoryServer"}


class YarnService:
    """YARN, with MapReduce's shuffle, over the folder that all nodes share.

    Attributes
    ----------
    use
        Cores and memory that are used of each node.
    """

    def __init__(self, cluster: RunningCluster) -> None:
        self._cluster = cluster
        self._address = str(cluster.state["leader"]["address"])
        self._classes = yarn.class_path(cluster.folder.conf, cluster.plan.hadoop_classes)
        self._workers = Workers(cluster, NODE_MANAGER, self._start_node_manager)
        self._scratch = cluster.folder.root / "tmp"
        self._settings: dict[str, str] = {}
        self._is_up = False
        self.use = node_use(cluster)

    @property
    def job_bytes(self) -> int:
        """Memory of a job that uses all nodes, in bytes."""
        return yarn.job_bytes(self.use, len(self._cluster.members.facts()))

    def start(self) -> None:
        """Start YARN and wait until all NodeManagers register. Errors: `EngineError`."""
        cluster = self._cluster
        self._start_managers()
        self._workers.start()
        count = len(cluster.members.facts())
        cluster.wait_until(lambda: self._registered() >= count, "start", self._unregistered)
        cluster.state["yarn"] = {
            "conf": str(cluster.folder.conf),
            "page": f"http://{self._settings[yarn.PAGE]}",
            "nodes": count,
            "cores": self.use.cores,
            "memory_bytes": self.use.memory_bytes,
            "job_bytes": self.job_bytes,
            "settings": self._settings,
        }

    def check(self, ended: Mapping[str, int]) -> None:
        """Check processes of the leader that have ended.

        Errors: `EngineError` for a daemon of YARN, or where no NodeManager is left: jobs would wait
        forever.
        """
        if not self._is_up:
            return
        for name in _DAEMONS.keys() & ended.keys():
            excerpt = self._log_excerpt(name)
            raise EngineError(f"YARN's {_DAEMONS[name]} has ended with code {ended[name]}{excerpt}")
        known = self._cluster.members.known.keys()
        if known and known <= self._workers.gone.keys():
            name, why = list(self._workers.gone.items())[-1]
            raise EngineError(
                f"no NodeManager of YARN is left; {name} was the last: {why}; see "
                f"{self._cluster.folder.logs}"
            )

    def end(self) -> None:
        """End the daemons on the leader's node."""
        self._cluster.children.end(list(_DAEMONS), self._cluster.plan.setting("stop"))
        with contextlib.suppress(OSError):
            removal.remove_marked(self._scratch)

    def _start_managers(self) -> None:
        """Start the daemons on free ports, on others if they are taken. Errors: `EngineError`."""
        cluster = self._cluster
        deadline = time.monotonic() + cluster.plan.setting("start")
        silent = MANAGER
        for _ in range(PORT_TRIES_MAX):
            self._write_settings()
            self._start_both()
            ended: Mapping[str, int] = {}
            while not _DAEMONS.keys() & ended.keys() and time.monotonic() < deadline:
                ended = cluster.pump()
                silent = self._silent()
                if not silent:
                    self._is_up = True
                    return
            silent = next(iter(_DAEMONS.keys() & ended.keys()), silent)
            cluster.children.end(list(_DAEMONS), cluster.plan.setting("stop"))
            if time.monotonic() > deadline:
                break
        raise EngineError(f"YARN's {_DAEMONS[silent]} does not start{self._log_excerpt(silent)}")

    def _start_both(self) -> None:
        cluster, conf = self._cluster, self._cluster.folder.conf
        home, _ = usable_java(conf)
        removal.ensure_marked(self._scratch)
        environment = yarn.daemon_environment(conf, home)
        environment[MARK] = mark(cluster.plan.cluster, "leader")
        for name, words in (
            (MANAGER, yarn.manager_words(home, self._classes, self._scratch)),
            (HISTORY, yarn.history_words(home, self._classes, self._scratch)),
        ):
            cluster.children.start(name, words, environment, cluster.folder.log(name))

    def _write_settings(self) -> None:
        cluster, folder = self._cluster, self._cluster.folder
        ports = free_ports(self._address, yarn.MANAGER_PORTS + yarn.HISTORY_PORTS)
        self._settings = {
            **yarn.derived(cluster.plan, self.use),
            **yarn.placed(self._address, ports, str(folder.root)),
            **cluster.plan.hadoop_sets,
        }
        nodes = [node.address for node in cluster.members.facts()]
        yarn.write_settings(folder.conf, self._settings, self._classes, [self._address, *nodes])

    def _start_node_manager(self, node: NodeFacts) -> None:
        cluster, conf = self._cluster, self._cluster.folder.conf
        words = yarn.node_manager_words(node, self._classes, cluster.plan.hadoop_sets)
        environment = {
            **yarn.daemon_environment(conf, node.java_home),
            **node_store.variables(cluster.plan, node.name),
            "CUESTA_NODE": node.name,
            # Containers inherit it, and end with their NodeManager.
            MARK: mark(cluster.plan.cluster, f"{node.name}/{NODE_MANAGER}"),
        }
        message = {"start": NODE_MANAGER, "words": words, "environment": environment}
        cluster.members.send(node.name, message)

    def _silent(self) -> str:
        """Return the first daemon that does not answer; empty when both do."""
        if pages.ask(self._settings[yarn.PAGE], "/ws/v1/cluster/info") is None:
            return MANAGER
        reply = pages.ask(self._settings[yarn.HISTORY_PAGE], "/ws/v1/history/info")
        return HISTORY if reply is None else ""

    def _registered(self) -> int:
        return len(yarn.running_nodes(self._settings[yarn.PAGE]))

    def _unregistered(self) -> str:
        """Describe a NodeManager that has not registered, with its log."""
        nodes = yarn.running_nodes(self._settings[yarn.PAGE])
        registered = {socket.gethostbyname(node["nodeHostName"]) for node in nodes}
        return self._workers.unregistered("YARN's NodeManager", registered)

    def _log_excerpt(self, name: str) -> str:
        log = self._cluster.folder.log(name)
        return f": {error_line(log)[:REPORT_CHARACTERS_MAX]}; {log}"
