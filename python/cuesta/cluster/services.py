"""Services on the nodes of a cluster: Spark, with restarts of its workers, and stores."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from cuesta.cluster import class_archive, node_store, pages, spark
from cuesta.cluster.folder import error_line
from cuesta.cluster.limits import MEMORY_SHARE, PORT_TRIES_MAX, REPORT_CHARACTERS_MAX
from cuesta.cluster.node import NodeFacts, free_ports, scratch_here
from cuesta.cluster.running import RunningCluster
from cuesta.cluster.watchdog import MARK, mark
from cuesta.cluster.wire import Message
from cuesta.cluster.workers import Workers
from cuesta.engines.spark import masters
from cuesta.errors import EngineError
from cuesta.private import write_private

WORKER = "spark-worker"
MASTER = "spark-master"
_IN_ORDER = (0, 143, -15)
"""Exit codes of a JVM that ended on request."""


class SparkService:
    """A master on the leader's node, and a worker on each node.

    Attributes
    ----------
    master
        URL of the master.
    use
        Cores and memory that are used of each node.
    """

    def __init__(self, cluster: RunningCluster) -> None:
        self._cluster = cluster
        self._address = str(cluster.state["leader"]["address"])
        self._page = 0
        self._java = ""
        self._classes = cluster.folder.conf / "classes.jsa"
        self._workers = Workers(cluster, WORKER, self._start_worker)
        self.master = ""
        self.use = node_use(cluster)

    def start(self) -> None:
        """Start Spark and wait until all workers are registered. Errors: `EngineError`."""
        cluster = self._cluster
        placed = {
            "spark.authenticate.secret": cluster.folder.secret(),
            **self._filter(),
            **self._temporary(),
            "spark.driver.host": self._address,
            "spark.driver.bindAddress": self._address,
        }
        spark.write_settings(cluster.folder.conf, cluster.plan, self.use, placed)
        self._start_master()
        # Settings by which any program of Spark finds the master.
        placed["spark.master"] = self.master
        settings = spark.write_settings(cluster.folder.conf, cluster.plan, self.use, placed)
        self._workers.start()
        count = len(cluster.members.facts())
        cluster.wait_until(lambda: self._registered() >= count, "start", self._unregistered)
        masters.remember(self.master, cluster.folder.conf)
        header = f"Authorization: {pages.authorization(cluster.folder.secret())}\n"
        write_private(cluster.folder.page_header, header)
        cluster.state["spark"] = {
            "master": self.master,
            "page": f"http://{self._address}:{self._page}",
            "page_header": str(cluster.folder.page_header),
            "workers": count,
            "cores": self.use.cores,
            "memory_bytes": self.use.memory_bytes,
            "settings": settings,
        }

    def check(self, ended: Mapping[str, int]) -> None:
        """Check processes of the leader that have ended. Errors: `EngineError` for the master."""
        if self.master and MASTER in ended:
            log = self._cluster.folder.log(MASTER)
            code, line = ended[MASTER], error_line(log)[:REPORT_CHARACTERS_MAX]
            raise EngineError(f"Spark's master has ended with code {code}: {line}; {log}")

    def end(self) -> None:
        """End the master and forget its address."""
        masters.forget(self.master)
        codes = self._cluster.children.end([MASTER], self._cluster.plan.setting("stop"))
        if codes.get(MASTER) in _IN_ORDER:
            class_archive.keep(self._java, self._classes)

    def _start_master(self) -> None:
        """Start the master on free ports, on others if they are taken. Errors: `EngineError`."""
        cluster, folder = self._cluster, self._cluster.folder
        home, self._java = spark.usable_java(folder.conf)
        options = class_archive.writing(self._java, self._classes)
        java = spark.DaemonJava(home=home, options=options)
        environment = spark.daemon_environment(self._address, str(folder.logs), folder.conf, home)
        environment[MARK] = mark(cluster.plan.cluster, "leader")
        for _ in range(PORT_TRIES_MAX):
            port, page = free_ports(self._address, 2)
            words = spark.master_words(folder.conf, self._address, (port, page), java)
            cluster.children.start(MASTER, words, environment, folder.log(MASTER))
            deadline = time.monotonic() + cluster.plan.setting("start")
            while time.monotonic() < deadline:
                if MASTER in cluster.pump():
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
        cluster, home = self._cluster, node.java_home
        words = spark.worker_words(cluster.folder.conf, node, self.use, self.master)
        environment = spark.daemon_environment(
            node.address, node.scratch, cluster.folder.conf, home
        ) | {"CUESTA_NODE": node.name, **node_store.variables(cluster.plan, node.name)}
        message = {"start": WORKER, "words": words, "environment": environment}
        cluster.members.send(node.name, message)

    def _registered(self) -> int:
        return spark.workers_alive(self._ask(self._page))

    def _filter(self) -> dict[str, str]:
        """Return settings for pages that require the token, unless the user has a filter."""
        if "spark.ui.filters" in self._cluster.plan.spark_sets:
            return {}
        return pages.spark_filter(self._cluster.folder.secret())

    def _temporary(self) -> dict[str, str]:
        """Return settings that place files of a driver on the leader's node in the node's scratch.

        Executors receive the scratch of their node by a variable.
        """
        scratch = scratch_here(self._cluster.state)
        if not scratch:
            return {}
        options = "spark.driver.extraJavaOptions"
        chosen = self._cluster.plan.spark_sets
        return {
            "spark.local.dir": chosen.get("spark.local.dir", scratch),
            options: f"-Djava.io.tmpdir={scratch} {chosen.get(options, '')}".strip(),
        }

    def _ask(self, page: int) -> dict[str, Any] | None:
        return spark.ask_master(self._address, page, self._cluster.folder.secret())

    def _unregistered(self) -> str:
        """Describe a worker that has not registered, with its log."""
        workers = (self._ask(self._page) or {}).get("workers", [])
        registered = {worker["host"] for worker in workers if worker["state"] == "ALIVE"}
        return self._workers.unregistered("Spark's worker", registered)


def start_stores(cluster: RunningCluster) -> None:
    """Start a store on each node and wait until all are connected. Errors: `EngineError`."""
    failed: dict[str, str] = {}

    def ended(name: str, message: Message) -> None:
        log = cluster.folder.log(f"{node_store.NAME}-{name}")
        failed[name] = message.get("why") or error_line(log)

    def ready(what: str) -> bool:
        if failed:
            name, line = next(iter(failed.items()))
            raise EngineError(
                f"node {name}: the store does not start: {line[:REPORT_CHARACTERS_MAX]}; see "
                f"{cluster.folder.logs}"
            )
        return all(what in member.ready for member in cluster.members.known.values())

    def lost(name: str, message: Message) -> None:
        # Its clients read the shared folder without it; it is not started again.
        cluster.lose_service(name, node_store.NAME, f"it has ended with code {message['code']}")

    cluster.on_ended[node_store.NAME] = ended
    for name in list(cluster.members.known):
        cluster.members.send(name, {"store": True})
    cluster.wait_until(lambda: ready(node_store.NAME), "start", lambda: "a store is not ready")
    members = cluster.members.known.values()
    names = [member.addresses[node_store.NAME] for member in members]
    for name in list(cluster.members.known):
        cluster.members.send(name, {node_store.STORES: names})
    unreached = "a store does not reach that of another node; see `cuesta store status` there"
    cluster.wait_until(lambda: ready(node_store.STORES), "start", lambda: unreached)
    cluster.on_ended[node_store.NAME] = lost


def node_use(cluster: RunningCluster) -> spark.NodeUse:
    """Return cores and memory to use of each node: those requested, or the smallest node's."""
    share, facts = cluster.plan.share, cluster.members.facts()
    least = min(int(node.memory_bytes * MEMORY_SHARE) for node in facts)
    return spark.NodeUse(
        cores=share.cores or min(node.cores for node in facts),
        memory_bytes=share.memory_bytes or least,
    )
