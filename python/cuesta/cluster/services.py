"""Services on the nodes of a cluster: Spark, with restarts of its workers, and stores."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from cuesta.cluster import class_archive, node_store, pages, spark
from cuesta.cluster.folder import error_line
from cuesta.cluster.limits import MEMORY_SHARE, PORT_TRIES_MAX, REPORT_CHARACTERS_MAX
from cuesta.cluster.node import NodeFacts, free_ports, scratch_here
from cuesta.cluster.watchdog import MARK, mark
from cuesta.cluster.wire import Message
from cuesta.cluster.workers import Workers
from cuesta.engines.spark import masters
from cuesta.errors import EngineError
from cuesta.private import write_private

if TYPE_CHECKING:
    from cuesta.cluster.leader import Leader

WORKER = "spark-worker"
MASTER = "spark-master"
_IN_ORDER = (0, 143, -15)
"""Exit codes of a JVM that ended on request."""


class Service(Protocol):
    """A service that a leader runs in addition to agents and stores."""

    def check(self, ended: Mapping[str, int]) -> None:
        """Check processes of the leader that have ended. Errors: `EngineError`."""

    def end(self) -> None:
        """End the service's processes on the leader's node."""


class SparkService:
    """A master on the leader's node, and a worker on each node.

    Attributes
    ----------
    master
        URL of the master.
    use
        Cores and memory that are used of each node.
    """

    def __init__(self, leader: Leader) -> None:
        self._leader = leader
        self._address = str(leader.state["leader"]["address"])
        self._page = 0
        self._java = ""
        self._classes = leader.folder.conf / "classes.jsa"
        self._workers = Workers(leader, WORKER, self._start_worker)
        self.master = ""
        self.use = node_use(leader)

    def start(self) -> None:
        """Start Spark and wait until all workers are registered. Errors: `EngineError`."""
        leader = self._leader
        placed = {
            "spark.authenticate.secret": leader.folder.secret(),
            **self._filter(),
            **self._temporary(),
            "spark.driver.host": self._address,
            "spark.driver.bindAddress": self._address,
        }
        spark.write_settings(leader.folder.conf, leader.plan, self.use, placed)
        self._start_master()
        # Settings by which any program of Spark finds the master.
        placed["spark.master"] = self.master
        settings = spark.write_settings(leader.folder.conf, leader.plan, self.use, placed)
        self._workers.start()
        count = len(leader.members.facts())
        leader.wait_until(lambda: self._registered() >= count, "start", self._unregistered)
        masters.remember(self.master, leader.folder.conf)
        header = f"Authorization: {pages.authorization(leader.folder.secret())}\n"
        write_private(leader.folder.page_header, header)
        leader.state["spark"] = {
            "master": self.master,
            "page": f"http://{self._address}:{self._page}",
            "page_header": str(leader.folder.page_header),
            "workers": count,
            "cores": self.use.cores,
            "memory_bytes": self.use.memory_bytes,
            "settings": settings,
        }

    def check(self, ended: Mapping[str, int]) -> None:
        """Check processes of the leader that have ended. Errors: `EngineError` for the master."""
        if self.master and MASTER in ended:
            log = self._leader.folder.log(MASTER)
            code, line = ended[MASTER], error_line(log)[:REPORT_CHARACTERS_MAX]
            raise EngineError(f"Spark's master has ended with code {code}: {line}; {log}")

    def end(self) -> None:
        """End the master and forget its address."""
        masters.forget(self.master)
        codes = self._leader.children.end([MASTER], self._leader.plan.setting("stop"))
        if codes.get(MASTER) in _IN_ORDER:
            class_archive.keep(self._java, self._classes)

    def _start_master(self) -> None:
        """Start the master on free ports, on others if they are taken. Errors: `EngineError`."""
        leader, folder = self._leader, self._leader.folder
        home, self._java = spark.usable_java(folder.conf)
        options = class_archive.writing(self._java, self._classes)
        environment = spark.daemon_environment(self._address, str(folder.logs), folder.conf, home)
        environment[MARK] = mark(leader.plan.cluster, "leader")
        for _ in range(PORT_TRIES_MAX):
            port, page = free_ports(self._address, 2)
            words = spark.master_words(folder.conf, self._address, (port, page), (home, options))
            leader.children.start(MASTER, words, environment, folder.log(MASTER))
            deadline = time.monotonic() + leader.plan.setting("start")
            while time.monotonic() < deadline:
                if MASTER in leader.pump():
                    break
                if self._ask(page) is not None:
                    self.master = f"spark://{self._address}:{port}"
                    self._page = page
                    return
        line = error_line(folder.log(MASTER))
        raise EngineError(
            f"Spark's master does not start: {line[:REPORT_CHARACTERS_MAX]}; {folder.log(MASTER)}"
        )

    def _start_worker(self, node: NodeFacts) -> None:
        leader, home = self._leader, node.java_home
        words = spark.worker_words(leader.folder.conf, node, self.use, self.master)
        environment = spark.daemon_environment(
            node.address, node.scratch, leader.folder.conf, home
        ) | {"CUESTA_NODE": node.name, **node_store.variables(leader.plan, node.name)}
        message = {"start": WORKER, "words": words, "environment": environment}
        leader.members.send(node.name, message)

    def _registered(self) -> int:
        return spark.workers_alive(self._ask(self._page))

    def _filter(self) -> dict[str, str]:
        """Return settings for pages that require the token, unless the user has a filter."""
        if "spark.ui.filters" in self._leader.plan.spark_sets:
            return {}
        return pages.spark_filter(self._leader.folder.secret())

    def _temporary(self) -> dict[str, str]:
        """Return settings that place files of a driver on the leader's node in the node's scratch.

        Executors receive the scratch of their node by a variable.
        """
        scratch = scratch_here(self._leader.state)
        if not scratch:
            return {}
        options = "spark.driver.extraJavaOptions"
        chosen = self._leader.plan.spark_sets
        return {
            "spark.local.dir": chosen.get("spark.local.dir", scratch),
            options: f"-Djava.io.tmpdir={scratch} {chosen.get(options, '')}".strip(),
        }

    def _ask(self, page: int) -> dict[str, Any] | None:
        return spark.ask_master(self._address, page, self._leader.folder.secret())

    def _unregistered(self) -> str:
        """Describe a worker that has not registered, with its log."""
        workers = (self._ask(self._page) or {}).get("workers", [])
        registered = {worker["host"] for worker in workers if worker["state"] == "ALIVE"}
        return self._workers.unregistered("Spark's worker", registered)


def start_stores(leader: Leader) -> None:
    """Start a store on each node and wait until all are connected. Errors: `EngineError`."""
    failed: dict[str, str] = {}

    def ended(name: str, message: Message) -> None:
        log = leader.folder.log(f"{node_store.NAME}-{name}")
        failed[name] = message.get("why") or error_line(log)

    def ready(what: str) -> bool:
        if failed:
            name, line = next(iter(failed.items()))
            raise EngineError(
                f"node {name}: the store does not start: {line[:REPORT_CHARACTERS_MAX]}"
            )
        return all(what in member.ready for member in leader.members.known.values())

    def lost(name: str, message: Message) -> None:
        # Its clients read the shared folder without it; it is not started again.
        leader.lose_service(name, node_store.NAME, f"it has ended with code {message['code']}")

    leader.on_ended[node_store.NAME] = ended
    for name in list(leader.members.known):
        leader.members.send(name, {"store": True})
    leader.wait_until(lambda: ready(node_store.NAME), "start", lambda: "a store is not ready")
    members = leader.members.known.values()
    names = [member.addresses[node_store.NAME] for member in members]
    for name in list(leader.members.known):
        leader.members.send(name, {node_store.STORES: names})
    unreached = "a store does not reach that of another node; see `cuesta store status` there"
    leader.wait_until(lambda: ready(node_store.STORES), "start", lambda: unreached)
    leader.on_ended[node_store.NAME] = lost


def node_use(leader: Leader) -> spark.NodeUse:
    """Return cores and memory to use of each node: those requested, or the smallest node's."""
    share, facts = leader.plan.share, leader.members.facts()
    least = min(int(node.memory_bytes * MEMORY_SHARE) for node in facts)
    return spark.NodeUse(
        cores=share.cores or min(node.cores for node in facts),
        memory_bytes=share.memory_bytes or least,
    )
