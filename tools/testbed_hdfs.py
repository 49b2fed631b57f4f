"""HDFS on this machine: Hadoop's own mini cluster, of the version of Spark's client.

Its JVM is driven through Py4J, which comes with PySpark. Data nodes have the names 127.0.0.2,
127.0.0.3 ... and a rack each, so where a block lies can be told from the outside, and workers of a
Spark cluster may have the same names (`--host 127.0.0.2`). All of them listen on 127.0.0.1.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import maven
import spark_parts
import testbed_service
from testbed_service import TestbedError

START_SECONDS = 180.0
HEAP = "512m"
DATANODES_MAX = 16
BLOCK_BYTES_MIN = 4096

_CLUSTER = "cuesta.testbed"
_ALSO_NEEDED = (
    "org.junit.jupiter:junit-jupiter-api:5.12.2",
    "org.assertj:assertj-core:3.27.3",
    "org.mockito:mockito-core:5.14.2",
)
"""What the mini clusters are compiled with and their artifact does not name."""


@dataclass(frozen=True, kw_only=True)
class Running:
    """A cluster that runs.

    Attributes
    ----------
    pid
        Of its JVM.
    port, token
        Where Py4J listens, and what it wants to hear first.
    uri
        Of the file system.
    """

    pid: int
    port: int
    token: str
    uri: str = ""


class Hdfs:
    """A connection to a cluster."""

    def __init__(self, gateway: Any, uri: str) -> None:
        self._gateway = gateway
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
        found = system.getFileBlockLocations(status, 0, status.getLen())
        return [(one.getOffset(), one.getLength(), list(one.getHosts())) for one in found]

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
    """What to install for HDFS, or None."""
    try:
        spark_parts.jars()
        spark_parts.java_home()
    except spark_parts.SparkMissing as error:
        return f"HDFS: {error}"
    return None if maven.is_installed() else "HDFS comes by Maven: apt-get install maven"


def up(folder: Path, datanodes: int = 2) -> Running:
    """Start a cluster whose files are in `folder`, or name the one that runs from there.

    Guarantee: when it returns, files can be written. Errors: `TestbedError`, `MavenError`.
    """
    folder = folder.resolve()
    found = running(folder)
    if found:
        return found
    if not 1 <= datanodes <= DATANODES_MAX:
        raise TestbedError(f"--datanodes is {datanodes}, give 1 to {DATANODES_MAX}")
    lacking = missing()
    if lacking:
        raise TestbedError(lacking)
    testbed_service.remove(folder)
    folder.mkdir(parents=True)
    process = _start(folder)
    try:
        made = _listening(folder, process)
        with connected(made) as hdfs:
            uri = _format(hdfs, folder, datanodes)
        made = Running(**asdict(made) | {"uri": uri})
        testbed_service.write_state(folder, asdict(made))
    except BaseException as error:
        process.kill()
        process.wait()
        if isinstance(error, Exception) and not isinstance(error, TestbedError):
            raise TestbedError(f"HDFS does not start: {_last_line(folder, error)}") from None
        raise
    return made


def running(folder: Path) -> Running | None:
    """The cluster that runs from `folder`."""
    state: dict[str, Any] | None = testbed_service.read_state(folder.resolve())
    return Running(**state) if state else None


def down(folder: Path) -> None:
    """End the cluster of `folder`, if one runs, and remove its files."""
    found = running(folder)
    if found:
        testbed_service.end(found.pid, folder.resolve())
    testbed_service.remove(folder.resolve())


@contextmanager
def connected(cluster: Running) -> Iterator[Hdfs]:
    """A connection to the JVM of a cluster, closed afterwards; the cluster goes on."""
    from py4j.java_gateway import GatewayParameters, JavaGateway

    # Without memory management, objects that outlive the cluster do not look for it when they go.
    parameters = GatewayParameters(
        port=cluster.port, auth_token=cluster.token, enable_memory_management=False
    )
    gateway = JavaGateway(gateway_parameters=parameters)
    try:
        yield Hdfs(gateway, cluster.uri)
    finally:
        gateway.close()


def _start(folder: Path) -> subprocess.Popen[bytes]:
    spark = spark_parts.jars()
    hadoop = next(spark.glob("hadoop-client-api-*.jar")).stem.rpartition("-")[2]
    cluster = f"org.apache.hadoop:hadoop-minicluster:{hadoop}"
    classes = [f"{maven.jars('hdfs', [cluster, *_ALSO_NEEDED])}/*", *map(str, spark.glob("py4j-*"))]
    java = str(spark_parts.java_home() / "bin" / "java")
    command = [
        *(java, f"-Xmx{HEAP}", "--add-opens=java.base/java.lang=ALL-UNNAMED"),
        *("-Djava.net.preferIPv4Stack=true", f"-Dhadoop.log.dir={folder}"),
        *(f"-Dtest.build.data={folder}/data", "-cp", os.pathsep.join(classes)),
        *("py4j.GatewayServer", "--enable-auth", "0"),
    ]
    with (folder / "stdout").open("wb") as out, (folder / "log").open("wb") as log:
        return subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=log,
            start_new_session=True,
        )


def _listening(folder: Path, process: subprocess.Popen[bytes]) -> Running:
    """The process once Py4J listens: it says its port and its token, a line each."""
    started = time.monotonic()
    while time.monotonic() - started < START_SECONDS and process.poll() is None:
        lines = (folder / "stdout").read_text().split("\n")
        with contextlib.suppress(ValueError):
            port, token, _ = lines[:3]
            return Running(pid=process.pid, port=int(port), token=token)
        time.sleep(0.05)
    raise TestbedError(f"HDFS does not start: {_last_line(folder, None)}")


def _format(hdfs: Hdfs, folder: Path, datanodes: int) -> str:
    """Make the cluster in its JVM and wait for it; return its URI."""
    jvm, gateway = hdfs._jvm, hdfs._gateway
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
    cluster.waitActive()
    # So that a later connection finds it.
    jvm.java.lang.System.getProperties().put(_CLUSTER, cluster)
    return str(cluster.getURI().toString())


def _last_line(folder: Path, error: Exception | None) -> str:
    """What is best said of a start that failed."""
    text = str(error or "") or (folder / "log").read_text(errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line for line in lines if "Exception" in line or "Error" in line]
    return f"{(causes or lines or ['no word of it'])[0][:300]}; its log is {folder / 'log'}"
