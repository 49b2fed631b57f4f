"""HDFS on this machine: Hadoop's own mini cluster, of the version of Spark's client.

Data nodes have the names 127.0.0.2, 127.0.0.3 ... and a rack each, which shows the place of each
block, and workers of a Spark cluster may have the same names (`--host 127.0.0.2`).
All of them listen on 127.0.0.1.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import testbed_jvm
import testbed_service
from testbed_jvm import down

__all__ = ["Hdfs", "Running", "connected", "down", "missing", "running", "up"]

HEAP = "512m"
DATANODES_MAX = 16
BLOCK_BYTES_MIN = 4096
STORAGES = 2
"""Storages of each data node of a mini cluster."""

_NAME = "HDFS"
_CLUSTER = "cuesta.testbed"


@dataclass(frozen=True, kw_only=True)
class Running(testbed_jvm.Gateway):
    """A cluster that runs, and the URI of its file system."""

    uri: str


class Hdfs:
    """A connection to a cluster."""

    def __init__(self, gateway: Any, uri: str) -> None:
        self._jvm = gateway.jvm
        self.uri = uri

    def put(self, local: Path, path: str, block_bytes: int, replication: int = 1) -> str:
        """Copy a file or a folder into the folder `path`; return its URI."""
        hadoop = self._jvm.org.apache.hadoop
        system = self._system({"dfs.blocksize": block_bytes, "dfs.replication": replication})
        folder = hadoop.fs.Path(f"{self.uri}/{path.strip('/')}")
        system.mkdirs(folder)
        # A path made from text may hold no character that means something in a URI.
        source = hadoop.fs.Path(self._jvm.java.io.File(str(local.resolve())).toURI())
        system.copyFromLocalFile(False, True, source, folder)
        return f"{folder.toString()}/{local.resolve().name}"

    def blocks(self, uri: str) -> list[tuple[int, int, list[str]]]:
        """First byte, length and hosts of every block of a file."""
        system = self._system({})
        status = system.getFileStatus(self._jvm.org.apache.hadoop.fs.Path(uri))
        blocks = system.getFileBlockLocations(status, 0, status.getLen())
        return [(block.getOffset(), block.getLength(), list(block.getHosts())) for block in blocks]

    def stop_datanode(self, index: int) -> str:
        """End one of the data nodes that still run; return its name. Its blocks are lost."""
        stopped = self._jvm.java.lang.System.getProperties().get(_CLUSTER).stopDataNode(index)
        return str(stopped.getDatanode().getDatanodeHostname())

    def _system(self, settings: dict[str, int]) -> Any:
        conf = self._jvm.org.apache.hadoop.conf.Configuration()
        for key, value in settings.items():
            conf.set(key, str(value))
        uri = self._jvm.java.net.URI(self.uri)
        return self._jvm.org.apache.hadoop.fs.FileSystem.newInstance(uri, conf)


def missing() -> str | None:
    """The remedy where HDFS cannot run, or None."""
    return testbed_jvm.missing(_NAME)


def up(folder: Path, datanodes: int = 2, disks: Sequence[Path] = ()) -> Running:
    """Start a cluster whose files are in `folder`, or name the one that runs from there.

    With `disks`, a folder for each data node, its blocks are there. Guarantee: when it returns,
    files can be written. Errors: `TestbedError`, `MavenError`.
    """
    folder = folder.resolve()
    existing = running(folder)
    if existing:
        return existing
    testbed_service.check_count("--datanodes", datanodes, DATANODES_MAX)

    def make(gateway: Any) -> dict[str, str]:
        return {"uri": _format(gateway, folder, datanodes, disks)}

    return Running(**testbed_jvm.up(_NAME, folder, HEAP, make))


def running(folder: Path) -> Running | None:
    """The cluster that runs from `folder`."""
    state: dict[str, Any] | None = testbed_service.read_state(folder.resolve())
    return Running(**state) if state else None


@contextmanager
def connected(cluster: Running) -> Iterator[Hdfs]:
    """A connection to the JVM of a cluster, closed afterwards; the cluster continues."""
    with testbed_jvm.connected(cluster.port, cluster.token) as gateway:
        yield Hdfs(gateway, cluster.uri)


def _format(gateway: Any, folder: Path, datanodes: int, disks: Sequence[Path]) -> str:
    """Make the cluster in its JVM and wait for it; return its URI."""
    jvm = gateway.jvm
    hadoop = jvm.org.apache.hadoop
    conf = hadoop.hdfs.HdfsConfiguration()
    conf.set("hdfs.minidfs.basedir", f"{folder}/data")
    conf.set("dfs.namenode.fs-limits.min-block-size", str(BLOCK_BYTES_MIN))
    # A nearly full disk is no reason for a small file system not to start.
    conf.set("dfs.datanode.du.reserved", "0")
    hosts = gateway.new_array(jvm.java.lang.String, datanodes)
    racks = gateway.new_array(jvm.java.lang.String, datanodes)
    for number in range(datanodes):
        hosts[number] = f"127.0.0.{number + 2}"
        racks[number] = f"/rack{number + 1}"
    builder = hadoop.hdfs.MiniDFSCluster.Builder(conf).numDataNodes(datanodes)
    cluster = builder.hosts(hosts).racks(racks).build()
    if disks:
        _move(cluster, folder, [disk.resolve() for disk in disks])
    cluster.waitActive()
    # So that a later connection finds it.
    jvm.java.lang.System.getProperties().put(_CLUSTER, cluster)
    return str(cluster.getURI().toString())


def _move(cluster: Any, folder: Path, disks: Sequence[Path]) -> None:
    """Move the storages of each data node to its disk: a cluster makes them in its folder."""
    stopped = [cluster.stopDataNode(0) for _ in disks]
    for number, disk in enumerate(disks):
        for storage in range(STORAGES):
            name = f"data{number * STORAGES + storage + 1}"
            source = next(path for path in (folder / "data").rglob(name) if path.is_dir())
            shutil.move(source, disk / name)
            source.symlink_to(disk / name)
    for data_node in stopped:
        cluster.restartDataNode(data_node, True)
