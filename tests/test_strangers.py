"""Services of ours that listen, as another account of the machine finds them: none serves it."""

from __future__ import annotations

import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import pytest

from adversarykit import needs_root
from clusterkit import call, folder, state
from cuesta.cluster import pages, watchdog
from cuesta.engines.spark.options import Options, Settings
from sortkit import places, sorting, write_records
from strangerkit import KNOCKS, answers_to_a_knock, as_stranger, command_lines, family, ports

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
    answer([one for one in await asyncio.gather(*talks) if one])
asyncio.run(main())
"""


def test_no_process_of_dask_serves_another_account(tmp_path: Path) -> None:
    """
    The scheduler and the workers of engine `dask` listened without any security: whoever connected
    from another account of the machine had them run any code as the user. Now both ends of each
    connection have a key that lives as long as the session.
    """
    pytest.importorskip("distributed")
    from cuesta.engines.dask import DaskEngine

    engine = DaskEngine()
    wanted = sorting("dask", write_records(tmp_path / "a.dat", 1000), 2 << 30)
    output, scratch = places(tmp_path / "run")
    try:
        client = engine._client(wanted, scratch)
        processes = family(os.getpid())
        listening = ports(processes)
        workers = client.scheduler_info()["workers"]
        # The scheduler, and each worker with who looks after it.
        assert len(listening) >= 1 + 2 * len(workers)
        assert {address for address, _ in listening} == {"127.0.0.1"}
        heard = as_stranger(DASK, ports=[port for _, port in listening])
        assert heard == []
        assert answers_to_a_knock(listening) == []
        assert "PRIVATE KEY" not in command_lines(processes)
        folders = [path for path in scratch.parent.iterdir() if path.name.startswith("cuesta-dask")]
        assert [path.stat().st_mode & 0o777 for path in folders] == [0o700]
        engine.run(wanted, output, scratch)
    finally:
        engine.close()
    assert not folders[0].exists()


def spark_message(kind: int, fields: bytes, body: bytes) -> bytes:
    """Return a message of Spark's network layer: its length, kind, fields and body."""
    return struct.pack(">qb", 8 + 1 + len(fields) + len(body), kind) + fields + body


def spark_question() -> bytes:
    """Return a question to the driver whose text is no object of Java's: it looks whether it is."""
    name = b"endpoint-verifier"
    address = struct.pack(">?h9si", True, 9, b"127.0.0.1", 1)
    body = address + address + struct.pack(">h", len(name)) + name + b"no object"
    return spark_message(3, struct.pack(">qi", 1, len(body)), body)


NONCE = r'\{"nonce": "[0-9a-f]{32}"\}\n'
PAGE = b"GET /json/ HTTP/1.0\r\n\r\n"
PY4J = b"r\nu\njava.lang.Runtime\nrj\ne\n"
"""A question to Py4J for a class, which is answered with `!y` where it is answered."""


def spark_stream(name: str) -> bytes:
    """Return a request for a file that the driver has for executors."""
    return spark_message(6, struct.pack(">i", len(name)) + name.encode(), b"")


def test_no_process_of_a_local_spark_serves_another_account(tmp_path: Path) -> None:
    """
    A local session had no authentication: the driver read objects of Java, which run code, from any
    account of the machine that connected.
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
        heard = answers_to_a_knock(listening, texts)
        assert [text for text in heard if not is_refusal_of_spark(text)] == []
        # The driver is among those that refuse.
        assert any("SaslMessage" in text for text in heard)
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


def is_refusal_of_spark(text: str) -> bool:
    """Return whether Spark or Py4J has said no, and looked at nothing."""
    _, _, answer = text.partition("]: ")
    is_stream_failure = answer[8:9] == "\x08"
    return "SaslMessage" in answer or is_stream_failure or answer.startswith(("!x", "!zs"))


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
    return Settings(options=options, heap_bytes=1 << 30, beside_bytes=0)


def files_of(folder: Path) -> list[Path]:
    """Return all files below a folder."""
    return [path for path in folder.rglob("*") if path.is_file()]


def test_no_process_of_a_cluster_serves_another_account(folder: Path) -> None:
    """
    The pages of Spark's master and workers showed settings, applications and logs to every account
    of the machine, and the leader waited for who said nothing.
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
    heard = answers_to_a_knock(listening, [*KNOCKS, PAGE, spark_question()])
    assert [text for text in heard if not is_refusal_of_cluster(text)] == []
    assert len([text for text in heard if "SaslMessage" in text]) == 3
    secret = (folder / "secret").read_text()
    key = pages.spark_filter(secret)[f"spark.{pages.FILTER}.param.secretKey"]
    told = command_lines(processes)
    assert secret not in told
    assert key not in told
    header = folder / "conf" / "page-header"
    assert header.stat().st_mode & 0o777 == 0o600
    asked = subprocess.run(
        ["curl", "-sS", "-H", f"@{header}", f"{cluster['spark']['page']}/json/"],
        check=True,
        capture_output=True,
    )
    assert len(json.loads(asked.stdout)["workers"]) == 2
    assert call("down", str(folder)).returncode == 0


def is_refusal_of_cluster(text: str) -> bool:
    """Return whether a process of a cluster has said no, or a random number of its own alone."""
    _, _, answer = text.partition("]: ")
    return is_refusal_of_spark(text) or re.fullmatch(NONCE, answer) is not None
