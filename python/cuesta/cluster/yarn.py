"""YARN's daemons: their command lines, their settings, and whether they are ready."""

from __future__ import annotations

import getpass
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cuesta.cluster import pages
from cuesta.cluster.limits import NODE_MANAGER_LOST_SECONDS
from cuesta.cluster.node import NodeFacts
from cuesta.cluster.settings import ClusterPlan
from cuesta.cluster.spark import NodeUse
from cuesta.cluster.watchdog import MARK
from cuesta.engines.hadoop.settings import CLIENT_BYTES, MASTER_BYTES, write
from cuesta.private import write_private
from cuesta.store import VARIABLE

DAEMON_HEAP = "512m"
MANAGER_PORTS, HISTORY_PORTS = 5, 3
PAGE = "yarn.resourcemanager.webapp.address"
HISTORY_PAGE = "mapreduce.jobhistory.webapp.address"
CONTAINERS_PAGE = "yarn.nodemanager.webapp.address"
HEARTBEAT_MS = 250
"""Interval of heartbeats, which assign containers; with many nodes, 1 heartbeat per ms in all."""

_MANAGER = "org.apache.hadoop.yarn.server.resourcemanager.ResourceManager"
_HISTORY = "org.apache.hadoop.mapreduce.v2.hs.JobHistoryServer"
_NODE_MANAGER = "org.apache.hadoop.yarn.server.nodemanager.NodeManager"
_SHUFFLE = "org.apache.hadoop.mapred.ShuffleHandler"
_QUICK = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto", "-XX:-UsePerfData")
"""Options for a quick start: daemons do little work."""
_PASSED_ON = (
    *("JAVA_HOME", "HADOOP_COMMON_HOME", "HADOOP_HDFS_HOME", "HADOOP_CONF_DIR"),
    *("CLASSPATH_PREPEND_DISTCACHE", "HADOOP_YARN_HOME", "HADOOP_HOME", "PATH", "LANG", "TZ"),
    *(MARK, "CUESTA_NODE", VARIABLE),
)
"""Variables of a NodeManager that its containers inherit: Hadoop's default, and cuesta's."""
_PAGES = {
    # With none, or with that for a static user, YARN adds a filter that trusts the user name in a
    # request, also in one to start containers. This initializer is inactive by default.
    "hadoop.http.filter.initializers": "org.apache.hadoop.security"
    ".HttpCrossOriginFilterInitializer",
    "yarn.resourcemanager.webapp.ui-actions.enabled": "false",
    # Logs and settings of applications and jobs are for their user, whom pages cannot identify.
    "yarn.acl.enable": "true",
    "mapreduce.cluster.acls.enabled": "true",
}
"""Settings with which pages start nothing, end nothing, and show no log."""
_FILES = ("core-site", "yarn-site", "mapred-site", "hadoop-policy")
_LOG = """\
log4j.rootLogger=WARN,console
log4j.appender.console=org.apache.log4j.ConsoleAppender
log4j.appender.console.target=System.err
log4j.appender.console.layout=org.apache.log4j.PatternLayout
log4j.appender.console.layout.ConversionPattern=%d{ISO8601} %p %c: %m%n
"""
_QUEUE = {
    "yarn.scheduler.capacity.root.queues": "default",
    "yarn.scheduler.capacity.root.default.capacity": "100",
    # Share of application masters: with the default, 0.1, few nodes run one job at a time.
    "yarn.scheduler.capacity.maximum-am-resource-percent": "0.5",
}


def derived(plan: ClusterPlan, use: NodeUse) -> dict[str, str]:
    """Return settings derived from the nodes, for all processes; the user's override them."""
    memory = str(use.memory_bytes >> 20)
    heartbeat = max(HEARTBEAT_MS, plan.allocation.nodes)
    return {
        "fs.defaultFS": "file:///",
        "hadoop.security.authorization": "true",
        "yarn.nodemanager.resource.memory-mb": memory,
        "yarn.nodemanager.resource.cpu-vcores": str(use.cores),
        "yarn.scheduler.minimum-allocation-mb": "1",
        "yarn.scheduler.maximum-allocation-mb": memory,
        "yarn.scheduler.maximum-allocation-vcores": str(use.cores),
        "yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": str(heartbeat),
        "yarn.nm.liveness-monitor.expiry-interval-ms": str(1000 * NODE_MANAGER_LOST_SECONDS),
        # Java reserves far more virtual memory than it uses; physical memory is checked.
        "yarn.nodemanager.vmem-check-enabled": "false",
        # Free space on scratch is checked before anything starts.
        "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.5",
        "yarn.nodemanager.env-whitelist": ",".join(_PASSED_ON),
        "yarn.nodemanager.aux-services": "mapreduce_shuffle",
        "yarn.nodemanager.aux-services.mapreduce_shuffle.class": _SHUFFLE,
        "mapreduce.framework.name": "yarn",
        # By name; no account of a node but root has this one.
        "yarn.admin.acl": _account(),
        **_PAGES,
    }


def placed(address: str, ports: Sequence[int | str], folder: str) -> dict[str, str]:
    """Return settings that depend on the leader's address, and the folder all nodes share."""
    names = (
        *("yarn.resourcemanager.address", "yarn.resourcemanager.scheduler.address"),
        *("yarn.resourcemanager.resource-tracker.address", "yarn.resourcemanager.admin.address"),
        *(PAGE, "mapreduce.jobhistory.address", "mapreduce.jobhistory.admin.address"),
        HISTORY_PAGE,
    )
    return {
        "yarn.resourcemanager.hostname": address,
        **{name: f"{address}:{port}" for name, port in zip(names, ports, strict=True)},
        "yarn.app.mapreduce.am.staging-dir": f"file://{folder}/jobs",
    }


def of_node(address: str, scratch: str) -> dict[str, str]:
    """Return settings of a NodeManager: any free port, and folders that end with the cluster.

    Containers write their logs there, too.
    """
    names = ("yarn.nodemanager.address", "yarn.nodemanager.localizer.address", CONTAINERS_PAGE)
    return {
        **dict.fromkeys(names, f"{address}:0"),
        "mapreduce.shuffle.port": "0",
        "yarn.nodemanager.local-dirs": f"{scratch}/yarn/local",
        "yarn.nodemanager.log-dirs": f"{scratch}/yarn/logs",
        "hadoop.tmp.dir": f"{scratch}/yarn/tmp",
    }


def job_bytes(use: NodeUse, nodes: int) -> int:
    """Return memory of a job that fills `nodes`, including its master on a node and its client."""
    overhead_bytes = MASTER_BYTES + CLIENT_BYTES
    return nodes * (use.memory_bytes - overhead_bytes) + overhead_bytes


def write_settings(
    folder: Path, settings: Mapping[str, str], classes: str, addresses: Sequence[str]
) -> None:
    """Write the files of a site, for daemons, jobs and submitting clients.

    Arguments: `classes` is the class path of daemons; `addresses` are those of all nodes, the only
    ones from which requests are accepted.
    """
    known = {
        "yarn.application.classpath": classes,
        "mapreduce.application.classpath": classes,
        "security.service.authorization.default.hosts": ",".join(sorted(set(addresses))),
        **settings,
    }
    files: dict[str, dict[str, str]] = {name: {} for name in _FILES}
    for name, value in known.items():
        files[_file_of(name)][name] = value
    for file, properties in (files | {"capacity-scheduler": _QUEUE}).items():
        write(properties, folder / f"{file}.xml")
    write_private(folder / "log4j.properties", _LOG)


def manager_words(java_home: str, classes: str, scratch: Path) -> list[str]:
    """Return the command of the ResourceManager; `scratch` is for its temporary files."""
    return [*_jvm(java_home, classes, str(scratch)), _MANAGER]


def history_words(java_home: str, classes: str, scratch: Path) -> list[str]:
    """Return the command of the JobHistoryServer, which serves jobs that have ended."""
    return [*_jvm(java_home, classes, str(scratch)), _HISTORY]


def node_manager_words(node: NodeFacts, classes: str, chosen: Mapping[str, str]) -> list[str]:
    """Return the command of a node's NodeManager; `chosen` settings of the user take priority."""
    settings = of_node(node.address, node.scratch)
    words = [f"-D{name}={value}" for name, value in settings.items() if name not in chosen]
    return [*_jvm(node.java_home, classes, node.scratch), _NODE_MANAGER, *words]


def daemon_environment(conf: Path, java_home: str) -> dict[str, str]:
    """Return environment variables of a daemon."""
    return {"JAVA_HOME": java_home, "HADOOP_CONF_DIR": str(conf)}


def running_nodes(page: str) -> list[dict[str, Any]]:
    """Return registered, live NodeManagers from the ResourceManager's page."""
    reply = pages.ask(page, "/ws/v1/cluster/nodes?states=RUNNING") or {}
    nodes: list[dict[str, Any]] = (reply.get("nodes") or {}).get("node", [])
    return nodes


def class_path(conf: Path, classes: Sequence[str]) -> str:
    """Return the class path of daemons and jobs, with the settings' folder first."""
    return os.pathsep.join([str(conf), *classes])


def _file_of(name: str) -> str:
    """Return the file of a setting: each file overrides the defaults of its kind."""
    if name.startswith(("mapreduce.", "yarn.app.mapreduce.")):
        return "mapred-site"
    if name.startswith("yarn."):
        return "yarn-site"
    return "hadoop-policy" if name.startswith("security.") else "core-site"


def _jvm(java_home: str, classes: str, scratch: str) -> list[str]:
    return [
        *(str(Path(java_home, "bin", "java")), "-cp", classes, f"-Xmx{DAEMON_HEAP}", *_QUICK),
        *("-Djava.net.preferIPv4Stack=true", f"-Djava.io.tmpdir={scratch}"),
    ]


def _account() -> str:
    """Return the name of this account, or its number where it has no name."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return str(os.geteuid())
