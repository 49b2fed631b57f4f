"""YARN with MapReduce on this machine: Hadoop's own mini cluster, of the version of Spark's client.

Node managers start containers as processes of this machine. The settings of the site, for
`$HADOOP_CONF_DIR`, are in the folder `conf`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import testbed_jvm
import testbed_service
from testbed_jvm import down

__all__ = ["Running", "Shape", "down", "missing", "running", "up"]

HEAP = "1g"
NODES_MAX = 8
CONTAINER_MIB_MIN = 128
LOCAL_FILES = "file:///"
DEAD_MS = 60_000
"""Time without a sign of life after which a node, a master or a container counts as lost."""
CONF = "conf"
SITE_FILES = ("core-site.xml", "mapred-site.xml", "yarn-site.xml")

_NAME = "YARN"
_CLUSTER = "cuesta.testbed"


@dataclass(frozen=True, kw_only=True)
class Running(testbed_jvm.Gateway):
    """A cluster that runs, and the folder of its settings."""

    conf: str


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Number of nodes, the resources of each, and the default file system of jobs."""

    nodes: int = 1
    cores: int = 3
    memory_mib: int = 8192
    files: str = LOCAL_FILES


def missing() -> str | None:
    """The remedy where YARN cannot run, or None."""
    return testbed_jvm.missing(_NAME)


def up(folder: Path, shape: Shape | None = None) -> Running:
    """Start a cluster whose files are in `folder`, or name the one that runs from there.

    Guarantee: when it returns, jobs can be submitted. Errors: `TestbedError`, `MavenError`.
    """
    folder, shape = folder.resolve(), shape or Shape()
    existing = running(folder)
    if existing:
        return existing
    testbed_service.check_count("--nodes", shape.nodes, NODES_MAX)

    def make(gateway: Any) -> dict[str, str]:
        (folder / CONF).mkdir()
        _make(gateway, folder, shape)
        return {"conf": str(folder / CONF)}

    return Running(**testbed_jvm.up(_NAME, folder, HEAP, make))


def running(folder: Path) -> Running | None:
    """The cluster that runs from `folder`."""
    state: dict[str, Any] | None = testbed_service.read_state(folder.resolve())
    return Running(**state) if state else None


def _make(gateway: Any, folder: Path, shape: Shape) -> None:
    """Make the cluster in its JVM, wait for it, and write its settings."""
    jvm = gateway.jvm
    hadoop = jvm.org.apache.hadoop
    conf = hadoop.yarn.conf.YarnConfiguration()
    for name, value in _settings(folder, shape).items():
        conf.set(name, str(value))
    cluster = hadoop.mapreduce.v2.MiniMRYarnCluster("cuesta", shape.nodes)
    cluster.init(conf)
    cluster.start()
    # So that it is not taken for garbage.
    jvm.java.lang.System.getProperties().put(_CLUSTER, cluster)
    site = hadoop.conf.Configuration(cluster.getConfig())
    # Without this, containers would get the class path of the job's client.
    site.set("yarn.is.minicluster", "false")
    # Each kind of file overrides the defaults of its own kind.
    for name in SITE_FILES:
        out = jvm.java.io.FileOutputStream(str(folder / CONF / name))
        site.writeXml(out)
        out.close()


def _settings(folder: Path, shape: Shape) -> dict[str, object]:
    classes = f"{testbed_jvm.cluster_jars()}/*"
    return {
        "fs.defaultFS": shape.files,
        "hadoop.tmp.dir": folder / "tmp",
        "mapreduce.framework.name": "yarn",
        "mapreduce.application.classpath": classes,
        "yarn.application.classpath": classes,
        "yarn.scheduler.minimum-allocation-mb": CONTAINER_MIB_MIN,
        "yarn.minicluster.yarn.nodemanager.resource.memory-mb": shape.memory_mib,
        "yarn.nodemanager.resource.cpu-vcores": shape.cores,
        "yarn.nodemanager.vmem-check-enabled": "false",
        # A nearly full disk is no reason for a small cluster not to start.
        "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "99.5",
        "yarn.nodemanager.delete.debug-delay-sec": 0,
        "yarn.nm.liveness-monitor.expiry-interval-ms": DEAD_MS,
        "yarn.am.liveness-monitor.expiry-interval-ms": DEAD_MS,
        "yarn.resourcemanager.rm.container-allocation.expiry-interval-ms": DEAD_MS,
    }
