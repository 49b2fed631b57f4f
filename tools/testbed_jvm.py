"""A JVM with Hadoop's own mini clusters, of the version of Spark's client, driven through Py4J."""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import maven
import spark_parts
import testbed_service
from testbed_service import TestbedError

START_SECONDS = 180.0
_ALSO_NEEDED = (
    "org.junit.jupiter:junit-jupiter-api:5.12.2",
    "org.assertj:assertj-core:3.27.3",
    "org.mockito:mockito-core:5.14.2",
)
"""Libraries that the mini clusters need and their artifact does not name."""


@dataclass(frozen=True, kw_only=True)
class Gateway:
    """A JVM of a mini cluster: its process, Py4J's port, and the token of a client."""

    pid: int
    port: int
    token: str


def missing(name: str) -> str | None:
    """The remedy where the service of that name cannot run, or None."""
    try:
        spark_parts.jars()
        spark_parts.java_home()
    except spark_parts.SparkMissing as error:
        return f"{name}: {error}"
    return None if maven.is_installed() else f"{name} comes by Maven: apt-get install maven"


def hadoop_version() -> str:
    """The version of Spark's client. Errors: `SparkMissing`."""
    client = next(spark_parts.jars().glob("hadoop-client-api-*.jar"))
    return client.stem.rpartition("-")[2]


def cluster_jars() -> Path:
    """The folder of the mini clusters' jars. Errors: `MavenError`."""
    cluster = f"org.apache.hadoop:hadoop-minicluster:{hadoop_version()}"
    return maven.jars("hdfs", [cluster, *_ALSO_NEEDED])


@contextmanager
def started(name: str, folder: Path, heap: str) -> Iterator[Gateway]:
    """Start a JVM that outlives this process, whose files are in the new folder `folder`.

    Errors: `TestbedError`, also for whatever goes wrong inside, and then it is ended; `MavenError`.
    """
    process = _start(folder, heap)
    try:
        yield _listening(name, folder, process)
    except BaseException as error:
        is_explained = not isinstance(error, Exception) or isinstance(error, TestbedError)
        # The JVM has the text of its errors, so it is read before its end.
        last_line = "" if is_explained else _last_line(folder, error)
        process.kill()
        process.wait()
        if last_line:
            raise TestbedError(f"{name} does not start: {last_line}") from None
        raise


def up(
    name: str, folder: Path, heap: str, make: Callable[[Any], Mapping[str, str]]
) -> dict[str, Any]:
    """Start a service in a new folder; return its state with the additions of `make`.

    Arguments: `make` makes the service in its JVM, through the gateway it is given, and waits for
    it. Errors: `TestbedError`, `MavenError`.
    """
    lacking = missing(name)
    if lacking:
        raise TestbedError(lacking)
    testbed_service.remove(folder)
    (folder / "data").mkdir(parents=True)
    with started(name, folder, heap) as jvm:
        with connected(jvm.port, jvm.token) as gateway:
            state = {**asdict(jvm), **make(gateway)}
        testbed_service.write_state(folder, state)
    return state


def down(folder: Path) -> None:
    """End the service of `folder`, if one runs, and remove its files."""
    state = testbed_service.read_state(folder.resolve())
    if state:
        testbed_service.end(int(str(state["pid"])), folder.resolve())
    testbed_service.remove(folder.resolve())


@contextmanager
def connected(port: int, token: str) -> Iterator[Any]:
    """A connection to the JVM of a service, closed afterwards; the service continues."""
    from py4j.java_gateway import GatewayParameters, JavaGateway

    # Without memory management, objects that outlive the service do not look for it when they go.
    parameters = GatewayParameters(port=port, auth_token=token, enable_memory_management=False)
    gateway = JavaGateway(gateway_parameters=parameters)
    try:
        yield gateway
    finally:
        gateway.close()


def _start(folder: Path, heap: str) -> subprocess.Popen[bytes]:
    classes = [f"{cluster_jars()}/*", *map(str, spark_parts.jars().glob("py4j-*"))]
    java = str(spark_parts.java_home() / "bin" / "java")
    command = [
        *(java, f"-Xmx{heap}", "--add-opens=java.base/java.lang=ALL-UNNAMED"),
        *("-Djava.net.preferIPv4Stack=true", f"-Dhadoop.log.dir={folder}"),
        *(f"-Dtest.build.data={folder}/data", f"-Djava.io.tmpdir={folder}/data"),
        *("-cp", os.pathsep.join(classes)),
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


def _listening(name: str, folder: Path, process: subprocess.Popen[bytes]) -> Gateway:
    """Return the gateway once Py4J listens: the process prints its port and its token."""
    began = time.monotonic()
    while time.monotonic() - began < START_SECONDS and process.poll() is None:
        lines = (folder / "stdout").read_text().split("\n")
        with contextlib.suppress(ValueError):
            port, token, _ = lines[:3]
            return Gateway(pid=process.pid, port=int(port), token=token)
        time.sleep(0.05)
    raise TestbedError(f"{name} does not start: {_last_line(folder, None)}")


def _last_line(folder: Path, error: BaseException | None) -> str:
    """Best explanation of a start that failed."""
    text = str(error or "") or (folder / "log").read_text(errors="replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    causes = [line for line in lines if "Exception" in line or "Error" in line]
    return f"{(causes or lines or ['no word of it'])[0][:300]}; its log is {folder / 'log'}"
