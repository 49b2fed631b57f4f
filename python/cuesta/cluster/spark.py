"""Spark's daemons: their command lines, their settings, and whether they are ready."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cuesta.cluster import class_archive, node_store, pages
from cuesta.cluster.node import NodeFacts
from cuesta.cluster.settings import ClusterPlan
from cuesta.engines.spark import archive, java
from cuesta.errors import EngineMissing, InputError
from cuesta.private import write_private

DAEMON_HEAP = "512m"
_QUICK = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto")
"""Options for a quick start: master and workers do little work."""
HEARTBEAT_SECONDS = 10
NODES_A_HEARTBEAT_SECOND = 16
"""The heartbeat interval is a second longer for each such number of nodes."""
TIMEOUT_HEARTBEATS = 12
GC_THREADS_MAX = 8

PRESETS: dict[str, dict[str, str]] = {
    "paper": {
        "spark.scheduler.minRegisteredResourcesRatio": "1",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "4000s",
        "spark.executor.heartbeatInterval": "4000s",
        "spark.network.timeout": "24000s",
        "spark.locality.wait": "6000s",
        "spark.scheduler.listenerbus.eventqueue.capacity": "100000",
        "spark.executor.extraJavaOptions": "-XX:+UseParallelGC -XX:ParallelGCThreads=8",
    },
}
"""Settings by name. `paper` has those of two supercomputers in "Spark on
supercomputers" (2 garbage collection threads on the machine with 12 cores a node, else 8)."""

_PRESET_SMALL_NODE_CORES = 16


@dataclass(frozen=True, kw_only=True)
class DaemonJava:
    """The home of a daemon's Java, and options of its JVM."""

    home: str
    options: Sequence[str]


@dataclass(frozen=True, kw_only=True)
class NodeUse:
    """Cores and memory to use of a node."""

    cores: int
    memory_bytes: int


def preset(name: str, cores: int) -> dict[str, str]:
    """Return the settings of a preset for nodes with this many cores. Errors: `InputError`."""
    if not name:
        return {}
    if name not in PRESETS:
        raise InputError(f"--preset {name}: is not known; choose from {', '.join(PRESETS)}")
    settings = dict(PRESETS[name])
    if cores < _PRESET_SMALL_NODE_CORES:
        key = "spark.executor.extraJavaOptions"
        settings[key] = settings[key].replace("Threads=8", "Threads=2")
    return settings


def derived(plan: ClusterPlan, use: NodeUse) -> dict[str, str]:
    """Return settings derived from the nodes; the preset's, then the user's override them."""
    nodes = plan.allocation.nodes
    heartbeat = HEARTBEAT_SECONDS + nodes // NODES_A_HEARTBEAT_SECOND
    threads = max(1, min(use.cores, GC_THREADS_MAX))
    return {
        "spark.executor.cores": str(use.cores),
        # The session of the engine overrides it where a run has a --memory of its own.
        "spark.executor.memory": f"{max(512, use.memory_bytes // 2 >> 20)}m",
        "spark.cores.max": str(nodes * use.cores),
        "spark.scheduler.minRegisteredResourcesRatio": "1",
        "spark.scheduler.maxRegisteredResourcesWaitingTime": "60s",
        "spark.executor.heartbeatInterval": f"{heartbeat}s",
        "spark.network.timeout": f"{TIMEOUT_HEARTBEATS * heartbeat}s",
        "spark.executor.extraJavaOptions": f"-XX:+UseParallelGC -XX:ParallelGCThreads={threads}",
        **preset(plan.preset, use.cores),
        **plan.spark_sets,
        **node_store.spark_settings(plan),
    }


def write_settings(
    folder: Path, plan: ClusterPlan, use: NodeUse, placed: Mapping[str, str]
) -> dict[str, str]:
    """Write `spark-defaults.conf` for masters, workers and drivers; return the settings.

    Arguments: `placed` are settings that depend on the leader's address, and the secret.
    """
    settings = with_archive(derived(plan, use)) | {
        "spark.authenticate": "true",
        "spark.port.maxRetries": "64",
        "spark.ui.killEnabled": "false",
        "spark.master.rest.enabled": "false",
    }
    lines = "".join(f"{key} {value}\n" for key, value in sorted({**settings, **placed}.items()))
    write_private(folder / "spark-defaults.conf", lines)
    return settings


def with_archive(settings: dict[str, str]) -> dict[str, str]:
    """Add the archive of classes for executors, unless their class path is set."""
    archive_settings = archive.of_executors()
    if not archive_settings or "spark.executor.extraClassPath" in settings:
        return settings
    options = "spark.executor.extraJavaOptions"
    return (
        settings
        | archive_settings
        | {options: f"{archive_settings[options]} {settings.get(options, '')}".strip()}
    )


def master_words(conf: Path, address: str, ports: tuple[int, int], java: DaemonJava) -> list[str]:
    """Return the command of a master. Arguments: `ports` are the master's and its page's."""
    return [
        *_jvm(java, "org.apache.spark.deploy.master.Master"),
        *("--host", address, "--port", str(ports[0]), "--webui-port", str(ports[1])),
        *("--properties-file", str(conf / "spark-defaults.conf")),
    ]


def worker_words(conf: Path, node: NodeFacts, use: NodeUse, master: str) -> list[str]:
    """Return the command of the worker on a node."""
    java = DaemonJava(home=node.java_home, options=class_archive.reading(node.java))
    return [
        *_jvm(java, "org.apache.spark.deploy.worker.Worker"),
        *("--host", node.address, "--cores", str(use.cores), "--webui-port", "0"),
        *("--memory", f"{max(512, use.memory_bytes >> 20)}m"),
        *("--work-dir", str(Path(node.scratch, "work"))),
        *("--properties-file", str(conf / "spark-defaults.conf"), master),
    ]


def daemon_environment(address: str, scratch: str, conf: Path, java_home: str) -> dict[str, str]:
    """Return environment variables of a master or a worker, which executors inherit."""
    return {
        "SPARK_HOME": str(_home()),
        "JAVA_HOME": java_home,
        "SPARK_LOCAL_IP": address,
        "SPARK_LOCAL_DIRS": scratch,
        "SPARK_CONF_DIR": str(conf),
        # A worker asks for it when it starts executors; Spark's own scripts would set it.
        "SPARK_SCALA_VERSION": _scala_version(),
    }


def usable_java(folder: Path) -> tuple[str, str]:
    """Return a home of this node's Java for Spark, and its version. Errors: `EngineMissing`."""
    installation = java.find_java(os.environ)
    if installation is None:
        raise EngineMissing(java.HOW_TO_GET)
    folder.mkdir(parents=True, exist_ok=True)
    return str(installation.home_for_spark(folder)), installation.version


def ask_master(address: str, port: int, secret: str) -> dict[str, Any] | None:
    """Return the content of the master's page; None while it does not answer."""
    return pages.ask(address, "/json/", port, pages.authorization(secret))


def workers_alive(report: Mapping[str, Any] | None) -> int:
    """Count the registered workers that are alive in a report of the master."""
    workers = (report or {}).get("workers", [])
    return sum(worker.get("state") == "ALIVE" for worker in workers)


def _jvm(java: DaemonJava, name: str) -> list[str]:
    return [
        *(str(Path(java.home, "bin", "java")), "-cp", f"{_home() / 'jars'}/*"),
        *(f"-Xmx{DAEMON_HEAP}", *_QUICK, *java.options, name),
    ]


def _scala_version() -> str:
    """Return the Scala version of Spark's jars, such as `2.13`."""
    core = next((_home() / "jars").glob("spark-core_*.jar"), None)
    return core.name.removeprefix("spark-core_").partition("-")[0] if core else ""


def _home() -> Path:
    return class_archive.jars_folder().parent
