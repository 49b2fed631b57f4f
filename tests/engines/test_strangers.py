"""Our listening services in view of another account of the machine: none serves it."""

from __future__ import annotations

import json
import os
import struct
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import cuesta
from adversarykit import needs_root
from clusterkit import call, folder, state
from cuesta.cluster import pages, watchdog
from cuesta.engines import get_engine
from cuesta.engines.mpi import launch
from cuesta.engines.spark.options import Options, Settings
from cuesta_store import page
from cuesta_store.filesystem import CuestaFileSystem
from sortkit import places, sorting, write_records
from storekit import running_store
from strangerkit import (
    KNOCKS,
    PAGE,
    PY4J,
    answers_to_a_knock,
    as_stranger,
    command_lines,
    family,
    is_refusal_of_cluster,
    is_refusal_of_spark,
    ports,
    spark_question,
    spark_stream,
)

__all__ = ["folder"]

pytestmark = needs_root

DASK = """
import asyncio
import distributed.comm.tcp, distributed.core
from cuesta.engines import dask_security
from distributed.core import rpc
security = dask_security.temporary()
become_stranger()

async def talk(kind, port):
    arguments = security.get_connection_args("client") if kind == "tls" else {}
    try:
        async with rpc(f"{kind}://127.0.0.1:{port}", timeout=3, connection_args=arguments) as other:
            return [kind, port, str(await asyncio.wait_for(other.identity(), 20))[:200]]
    except (OSError, asyncio.TimeoutError, ValueError):
        return None

async def main():
    talks = [talk(kind, port) for kind in ("tcp", "tls") for port in request["ports"]]
    answer([reply for reply in await asyncio.gather(*talks) if reply])
asyncio.run(main())
"""


def test_no_process_of_dask_serves_another_account(tmp_path: Path) -> None:
    """The scheduler and the workers of engine `dask` listened without security, so any account of
    the machine could run code as the user. Now both ends of each connection have a key that lives
    as long as the session.
    """
    pytest.importorskip("distributed")
    from cuesta.engines.dask import DaskEngine

    engine = DaskEngine()
    job = sorting("dask", write_records(tmp_path / "a.dat", 1000), 2 << 30)
    output, scratch = places(tmp_path / "run")
    try:
        client = engine._client(job, scratch)
        processes = family(os.getpid())
        listening = ports(processes)
        workers = client.scheduler_info()["workers"]
        # The scheduler, and each worker with its nanny.
        assert len(listening) >= 1 + 2 * len(workers)
        assert {address for address, _ in listening} == {"127.0.0.1"}
        replies = as_stranger(DASK, ports=[port for _, port in listening])
        assert replies == []
        assert answers_to_a_knock(listening) == []
        assert "PRIVATE KEY" not in command_lines(processes)
        folders = [path for path in scratch.parent.iterdir() if path.name.startswith("cuesta-dask")]
        assert [path.stat().st_mode & 0o777 for path in folders] == [0o700]
        engine.run(job, output, scratch)
    finally:
        engine.close()
    assert not folders[0].exists()


def test_no_process_of_a_local_spark_serves_another_account(tmp_path: Path) -> None:
    """A local session had no authentication: the driver read Java objects, which run code, from any
    account of the machine. Now it is authenticated.
    """
    pytest.importorskip("pyspark")
    from cuesta.engines.spark.session import make_places, start

    _, scratch = places(tmp_path / "run" / "more")
    session = start(
        spark_settings(
            **{"spark.hadoop.fs.s3a.secret.key": "hidden", "spark.eventLog.compress": "false"}
        ),
        make_places(scratch),
    )
    try:
        session.rehearse()
        secret = session.spark.sparkContext.getConf().get("spark.authenticate.secret")
        assert secret
        processes = family(os.getpid())
        listening = ports(processes)
        assert listening
        assert {address for address, _ in listening} == {"127.0.0.1"}
        texts = [*KNOCKS, spark_question(), spark_stream("/jars/x.jar"), spark_stream("1_0"), PY4J]
        replies = answers_to_a_knock(listening, texts)
        assert [text for text in replies if not is_refusal_of_spark(text)] == []
        # The driver is among those that refuse.
        assert any("SaslMessage" in text for text in replies)
        words = command_lines(processes)
        assert secret not in words
        assert "hidden" not in words
        events = "".join(path.read_text() for path in files_of(session.places.folder / "events"))
        assert "SparkListenerJobEnd" in events
        assert secret not in events
        assert session.places.folder.stat().st_mode & 0o777 == 0o700
        hadoop = session.spark.sparkContext._jsc.hadoopConfiguration()
        assert hadoop.get("fs.s3a.secret.key") == "hidden"
    finally:
        session.stop()


def spark_settings(**settings: str) -> Settings:
    """Return the settings of a small local session."""
    options = Options(
        master="local[2]",
        python=sys.executable,
        task_bytes=None,
        partitions=None,
        kernels="",
        spark=tuple(settings.items()),
    )
    return Settings(options=options, heap_bytes=1 << 30, overhead_bytes=0)


def files_of(folder: Path) -> list[Path]:
    """Return all files below a folder."""
    return [path for path in folder.rglob("*") if path.is_file()]


def test_no_process_of_a_cluster_serves_another_account(folder: Path) -> None:
    """The pages of Spark's master and workers showed settings, applications and logs to each
    account of the machine, and the leader waited for silent connections. Now a stranger gets
    nothing.
    """
    pytest.importorskip("pyspark")
    words = ["-n", "2", "--cores", "1", "--memory", "1GiB", "--set", "stop=5"]
    done = call("up", *words, "-o", str(folder))
    assert done.returncode == 0, done.stderr
    cluster = state(folder)
    processes = watchdog.marked(f"{cluster['cluster']}/")
    listening = ports(processes)
    assert {address for address, _ in listening} == {cluster["leader"]["address"]}
    # Leader; master and two workers, each with a page.
    assert len(listening) >= 1 + 2 * 3
    replies = answers_to_a_knock(listening, [*KNOCKS, PAGE, spark_question()])
    assert [text for text in replies if not is_refusal_of_cluster(text)] == []
    assert len([text for text in replies if "SaslMessage" in text]) == 3
    secret = (folder / "secret").read_text()
    key = pages.spark_filter(secret)[f"spark.{pages.FILTER}.param.secretKey"]
    lines = command_lines(processes)
    assert secret not in lines
    assert key not in lines
    header = folder / "conf" / "page-header"
    assert header.stat().st_mode & 0o777 == 0o600
    reply = subprocess.run(
        ["curl", "-sS", "-H", f"@{header}", f"{cluster['spark']['page']}/json/"],
        check=True,
        capture_output=True,
    )
    assert len(json.loads(reply.stdout)["workers"]) == 2
    assert call("down", str(folder)).returncode == 0


STORE = """
import socket
become_stranger()
def attempt(path):
    try:
        with socket.socket(socket.AF_UNIX) as channel:
            channel.settimeout(30)
            channel.connect(path)
            channel.sendall(bytes.fromhex(request["question"]))
            return channel.recv(65536).hex()
    except OSError as error:
        return type(error).__name__
def listed(path):
    try:
        return os.listdir(path)
    except OSError as error:
        return type(error).__name__
answer([attempt(request["socket"]), listed(request["folder"])])
"""


def test_a_store_serves_no_other_account(tmp_path: Path) -> None:
    under = tmp_path / "under"
    under.mkdir()
    with running_store(under) as store:
        store.write("a", b"text")
        assert CuestaFileSystem(str(store.folder)).cat_file("/a") == b"text"
        question = {"question": wire_ping().hex(), "socket": str(store.folder / "socket")}
        request = {**question, "folder": str(store.folder)}
        assert as_stranger(STORE, **request) == ["PermissionError", "PermissionError"]
        # Even where its folder is open, the daemon rejects strangers before it reads.
        for folder in (store.folder.parent, store.folder):
            folder.chmod(0o755)
        (store.folder / "socket").chmod(0o777)
        replies, _ = as_stranger(STORE, **request)
        store.folder.chmod(0o700)
        assert replies in ("", "BrokenPipeError", "ConnectionResetError")
        # The page asks for its token.
        page.start(store.folder, 0)
        pids = [json.loads((store.folder / page.FILE).read_text())["pid"]]
        listening = ports([*pids, store.status()["pid"]])
        assert [address for address, _ in listening] == ["127.0.0.1"]
        assert answers_to_a_knock(listening) == []
        token = str(page.address(store.folder)).partition("token=")[2]
        assert token
        assert token not in command_lines(pids)


def wire_ping() -> bytes:
    """Return the shortest question to a store."""
    text = json.dumps({"do": "ping"}).encode()
    return struct.pack("<II", len(text), 0) + text


def test_jobs_of_hadoop_and_of_the_api_listen_nowhere(tmp_path: Path) -> None:
    """Jobs of Hadoop on this machine and processes of the API talk over pipes and socket pairs."""
    from cuesta.engines.hadoop import HadoopEngine

    engine = HadoopEngine()
    if engine.missing():
        pytest.skip(str(engine.missing()))
    listening = Listening()
    with listening:
        output, scratch = places(tmp_path / "run")
        engine.run(
            sorting("hadoop", write_records(tmp_path / "a.dat", 1000), 2 << 30), output, scratch
        )
        cuesta.run("sort", tmp_path / "a.dat", output=tmp_path / "answer")
        engine.close()
    assert listening.found == set()


LOOKS, RANKS_MIN = 50, 3
"""Looks at a run of two ranks: its processes are more than this one, a launcher and its proxy."""


class Listening:
    """Ports on which this process and its descendants have listened, at repeated looks."""

    def __init__(self, enough: Path | None = None) -> None:
        """Arguments: `enough` is a file that is made once the ports were read often enough."""
        self.found: set[tuple[str, int]] = set()
        # Ports of earlier tests in this process.
        self._before = set(ports(family(os.getpid())))
        self._enough = enough
        self._looks = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._ended.wait(0.02):
            self.found |= set(ports(family(os.getpid()))) - self._before
            self._looks += len(family(os.getpid())) > RANKS_MIN
            if self._enough and self._looks == LOOKS:
                self._enough.touch()


@pytest.mark.skipif(get_engine("mpi").missing() is not None, reason="there is no MPI")
def test_ranks_of_a_machine_listen_on_no_network(tmp_path: Path) -> None:
    """MPICH's ranks listened on the addresses of the network, for machines that did not exist. The
    port of its launcher remains, which ignores what it does not know.
    """
    enough = tmp_path / "enough"
    script = "from mpi4py import MPI; import os, sys, time; MPI.COMM_WORLD.Barrier()\n"
    script += "while not os.path.exists(sys.argv[1]): time.sleep(0.01)"
    listening = Listening(enough)
    with listening:
        code, text = launch.run_program(2, [sys.executable, "-c", script, str(enough)])
    assert (code, text) == (0, "")
    assert len(listening.found) <= 1
