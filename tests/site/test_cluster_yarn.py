"""YARN on a cluster of several nodes on this machine: it starts, sorts, and cleans up."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import testbed_yarn
from clusterkit import call, folder, is_in, state, wait_for, wait_until_gone, words
from cuesta.cluster import hadoop_classes, watchdog, yarn
from cuesta.cluster.driver import Driver
from cuesta.cluster.folder import ClusterFolder
from cuesta.cluster.node import free_ports
from cuesta.cluster.settings import Allocation, ClusterPlan
from cuesta.cluster.spark import NodeUse
from cuesta.cluster.yarn_service import YarnService
from cuesta.engines.hadoop.settings import Options, environment
from cuesta.errors import EngineError, EngineMissing, InputError
from labkit import record_of
from sortkit import write_records

__all__ = ["folder"]

SIZES = ("--cores", "1", "--memory", "2GiB")
SETS = (
    *("--set", "stop=3", "--set", "scratch-min=1MiB"),
    *("--set", "yarn.nm.liveness-monitor.expiry-interval-ms=8000"),
)
RECORDS = 300_000
NODE_MANAGER = "nodemanager.NodeManager"
NEEDS_YARN = pytest.mark.skipif(
    testbed_yarn.missing() is not None, reason="YARN's jars come by Maven and PySpark"
)


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file to sort."""
    return write_records(tmp_path_factory.mktemp("records") / "a.dat", RECORDS)


@pytest.fixture(scope="module")
def digest(records: Path) -> str:
    """Return the digest of the native answer."""
    from cuesta.cli.app import call as cli_call

    answer = records.with_name("native")
    assert cli_call(["run", "sort", str(records), "-o", str(answer)]) == 0
    return digest_of(answer)


def digest_of(answer: Path) -> str:
    answer_digest: str = record_of(answer)["answer"]["digest"]
    return answer_digest


def node_manager(folder: Path, node: str = "local-2") -> int:
    """Return the NodeManager of a node; 0 where none runs."""
    pids = watchdog.marked(f"{state(folder)['cluster']}/{node}")
    return next((pid for pid in pids if NODE_MANAGER in words(pid)), 0)


def containers(folder: Path, node: str) -> list[int]:
    """Return processes of a node that a NodeManager has started, directly or not."""
    pids = watchdog.marked(f"{state(folder)['cluster']}/{node}/yarn-nodemanager")
    return [pid for pid in pids if NODE_MANAGER not in words(pid)]


def scratch_of(folder: Path) -> list[Path]:
    return [Path(node["scratch"]) for node in state(folder)["nodes"]]


def left_in(scratch: list[Path]) -> list[str]:
    """Return processes that work in these folders, whatever mark they have."""
    commands = []
    for path in Path("/proc").glob("[0-9]*/cwd"):
        with contextlib.suppress(OSError):
            place = path.readlink()
            if any(place.is_relative_to(root) for root in scratch):
                commands.append(words(int(path.parent.name)))
    return commands


def is_at_work(folder: Path, node: str) -> bool:
    """Return whether a child with our kernels runs on the node."""
    return any("engines.hadoop.child" in words(pid) for pid in containers(folder, node))


def submitted(folder: Path, records: Path, answer: Path) -> None:
    """Start a cluster that sorts."""
    run = ["run", "sort", str(records), "--engine", "hadoop", "-o", str(answer)]
    options = [*SIZES, *SETS, "--scratch", str(folder.parent)]
    done = call("submit", "--with", "yarn", *options, "-o", str(folder), "--", *run)
    assert done.returncode == 0, done.stderr
    wait_for(is_in(folder, "running", "failed"), "the command runs", 120)


@NEEDS_YARN
def test_a_run_on_a_clusters_yarn_has_the_answer_of_native(
    folder: Path, tmp_path: Path, records: Path, digest: str
) -> None:
    answer = tmp_path / "hadoop"
    more = ["--with", "yarn", *SIZES, *SETS, "--scratch", str(tmp_path), "-o", str(folder)]
    done = call("up", *more)
    assert done.returncode == 0, done.stderr
    (line,) = (text for text in done.stdout.splitlines() if text.startswith("HADOOP_CONF_DIR="))
    yarn_state = state(folder)["yarn"]
    assert yarn_state["nodes"] == 2
    assert line.startswith(f"HADOOP_CONF_DIR={folder}/conf cuesta run ")
    page = yarn_state["settings"][yarn.PAGE]
    assert [node["state"] for node in yarn.running_nodes(page)] == ["RUNNING", "RUNNING"]
    options = line.partition("--engine hadoop ")[2].split()
    run = ["run", "sort", str(records), "--engine", "hadoop", *options, "-o", str(answer)]
    environment = os.environ | {"HADOOP_CONF_DIR": f"{folder}/conf"}
    subprocess.run([sys.executable, "-m", "cuesta", *run], check=True, env=environment)
    record = record_of(answer)
    assert record["answer"]["digest"] == digest
    assert record["versions"]["hadoop"].endswith(" on YARN")
    scratch = scratch_of(folder)
    assert all((path / "yarn" / "local").is_dir() for path in scratch)
    assert call("down", str(folder)).returncode == 0
    wait_until_gone(folder)
    assert not any(path.exists() for path in scratch)


@NEEDS_YARN
@pytest.mark.soak
def test_a_lost_node_manager_takes_its_containers_along_and_the_answer_is_the_same(
    folder: Path, tmp_path: Path, records: Path, digest: str
) -> None:
    answer = tmp_path / "hadoop"
    submitted(folder, records, answer)
    nodes = ("local-1", "local-2")
    node = wait_for(
        lambda: next((name for name in nodes if is_at_work(folder, name)), ""), "a task runs", 120
    )
    first, started = node_manager(folder, node), containers(folder, node)
    os.kill(first, signal.SIGKILL)
    wait_for(lambda: not set(started) & set(containers(folder, node)), "its containers are gone")
    wait_for(lambda: node_manager(folder, node) not in (0, first), "there is another")
    wait_for(is_in(folder, "ended", "failed"), "the command has ended", 240)
    assert state(folder)["code"] == 0, (folder / "logs" / "leader.log").read_text()
    assert state(folder)["workers_lost"] == 1
    assert digest_of(answer) == digest
    wait_until_gone(folder)
    assert left_in(scratch_of(folder)) == []


@NEEDS_YARN
@pytest.mark.parametrize(
    "whom",
    ["leader", pytest.param("resourcemanager.ResourceManager", marks=pytest.mark.soak)],
)
def test_nothing_of_yarn_is_left_when_what_leads_is_killed(
    folder: Path, tmp_path: Path, records: Path, whom: str
) -> None:
    submitted(folder, records, tmp_path / "hadoop")
    cluster = state(folder)["cluster"]
    nodes = ("local-1", "local-2")
    wait_for(lambda: any(is_at_work(folder, node) for node in nodes), "a task runs", 120)
    pids = watchdog.marked(f"{cluster}/leader")
    victim = pids[0] if whom == "leader" else next(pid for pid in pids if whom in words(pid))
    scratch = scratch_of(folder)
    assert left_in(scratch)
    os.kill(victim, signal.SIGKILL)
    wait_until_gone(folder)
    assert left_in(scratch) == []
    status = json.loads(call("status", str(folder), "--json").stdout)
    assert status["state"] == "failed"
    assert status["code"] == 3
    if whom == "leader":
        assert status["why"] == "the leader was killed"
    else:
        assert status["why"].startswith("YARN's ResourceManager has ended with code -9")
    assert not (tmp_path / "hadoop").exists()


@NEEDS_YARN
def test_a_node_manager_that_does_not_start_is_reported_with_its_log(folder: Path) -> None:
    options = ["--set", "start=60", "--set", "yarn.nodemanager.resource.memory-mb=none"]
    done = call("up", "--with", "yarn", *SIZES, *SETS, *options, "-o", str(folder))
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1
    assert "no NodeManager of YARN is left; local-" in done.stderr
    assert 'NumberFormatException: For input string: "none"' in done.stderr
    wait_until_gone(folder)


def test_a_plan_shows_the_settings_of_yarn_and_the_choices(tmp_path: Path) -> None:
    options = ["--cores", "3", "--memory", "4GiB", "--set", "yarn.nodemanager.local-dirs=/fast"]
    place = tmp_path / "cluster"
    done = call("plan", "--with", "yarn", *options, "-o", str(place))
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    for line in (
        "yarn.nodemanager.resource.memory-mb 4096",
        "yarn.nodemanager.resource.cpu-vcores 3",
        "yarn.nodemanager.local-dirs /fast",
        "yarn.nodemanager.log-dirs SCRATCH/yarn/logs",
        "yarn.resourcemanager.address LEADER:PORT",
    ):
        assert line in lines
    assert not place.exists()


def test_a_job_that_fills_all_nodes_leaves_room_for_its_master() -> None:
    from cuesta.engines.hadoop import settings

    use, nodes = NodeUse(cores=2, memory_bytes=3 << 30), 4
    slots = nodes * use.cores
    options = settings.Options(conf=Path("/conf"))
    left = yarn.job_bytes(use, nodes) - settings.overhead_bytes(options, slots)
    container = settings.JVM_BYTES + settings.PYTHON_BYTES + left // slots
    assert use.cores * container + settings.MASTER_BYTES <= use.memory_bytes


def fake_cluster(folder: Path, sets: dict[str, str]) -> Any:
    """Return the parts of a cluster of two nodes that services and commands use."""
    plan = ClusterPlan(cluster="c", services=("yarn",), python="python", sets=sets)
    facts = [SimpleNamespace(cores=2, memory_bytes=5 << 30)] * 2
    return SimpleNamespace(
        plan=plan,
        folder=ClusterFolder(folder),
        state={"leader": {"address": "127.0.0.1"}},
        members=SimpleNamespace(facts=lambda: facts, known={"n1": None, "n2": None}),
    )


def test_a_run_of_engine_hadoop_gets_the_cores_and_the_memory_of_all_nodes(
    tmp_path: Path,
) -> None:
    cluster = fake_cluster(
        tmp_path, {"mapreduce.job.queuename": "long", "spark.locality.wait": "1s"}
    )
    driver = Driver(cluster)
    run = ["run", "sort", "a.dat", "--engine", "hadoop", "-o", "sorted"]
    command = ["python", "-P", "-m", "cuesta", *run]
    assert driver.words(run) == command
    driver.yarn = YarnService(cluster)
    assert driver.yarn.job_bytes == yarn.job_bytes(NodeUse(cores=2, memory_bytes=4 << 30), 2)
    memory = ["--memory", str(driver.yarn.job_bytes)]
    setting = ["--engine-option", "mapreduce.job.queuename=long"]
    assert driver.words(run) == [*command, "--threads", "4", *memory, *setting]
    threaded = [*run, "--threads=1"]
    assert driver.words(threaded) == [*command, "--threads=1", *memory, *setting]
    compare = ["compare", "sort", "a.dat", "--engines", "native,hadoop"]
    assert driver.words(compare)[-4:] == ["--threads", "4", *memory]
    assert driver.words(["hadoop", "jar"]) == ["hadoop", "jar"]


def test_a_cluster_without_a_node_manager_ends_with_the_words_of_the_last(tmp_path: Path) -> None:
    service = YarnService(fake_cluster(tmp_path, {}))
    service._is_up = True
    service._workers.gone["n1"] = "it has died 4 times"
    service.check({})
    service._workers.gone["n2"] = "it has died 4 times, at last with code 1"
    with pytest.raises(EngineError, match=r"no NodeManager of YARN is left; n2 was the last: it "):
        service.check({})


def test_what_a_node_manager_starts_has_the_mark_of_its_node_and_a_mark_of_the_container() -> None:
    mark = watchdog.mark("none-such", "n1/yarn-nodemanager")
    program = [sys.executable, "-c", "import time; time.sleep(60)"]
    with subprocess.Popen(program, env=os.environ | {watchdog.MARK: mark}) as process:
        # A process that has just begun may not have its environment yet.
        wait_for(lambda: process.pid in watchdog.marked("none-such/"), "the process has its mark")
        assert process.pid in watchdog.marked("none-such/n1")
        assert process.pid not in watchdog.marked("none-such/n")
        assert process.pid not in watchdog.marked("none-such/n1/yarn")
        assert watchdog.sweep(mark) == 1
        assert process.wait(10) == -signal.SIGKILL


def test_ports_that_are_free_are_each_another() -> None:
    assert len(set(free_ports("127.0.0.1", 100))) == 100


def test_each_setting_is_written_to_the_file_of_its_kind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = ClusterPlan(cluster="c", allocation=Allocation(nodes=2), services=("yarn",))
    settings: dict[str, Any] = yarn.derived(plan, NodeUse(cores=1, memory_bytes=1 << 30))
    yarn.write_settings(tmp_path, settings, "/jars/*", ["10.0.0.2", "10.0.0.1", "10.0.0.2"])
    policy = (tmp_path / "hadoop-policy.xml").read_text()
    assert "<value>10.0.0.1,10.0.0.2</value>" in policy
    assert "mapreduce.framework.name" in (tmp_path / "mapred-site.xml").read_text()
    assert "yarn.nodemanager.resource" in (tmp_path / "yarn-site.xml").read_text()
    assert "fs.defaultFS" in (tmp_path / "core-site.xml").read_text()
    # A task has the store of its node, and not that of the submitter's node.
    monkeypatch.setenv("CUESTA_STORE", "/dev/shm/store-of-n1")
    assert "CUESTA_STORE" not in environment(Options(conf=tmp_path))
    assert environment(Options())["CUESTA_STORE"] == "/dev/shm/store-of-n1"
    assert "CUESTA_STORE" in environment(Options(conf=tmp_path.parent))
    assert all(path.stat().st_mode & 0o077 == 0 for path in tmp_path.glob("*.xml"))


def test_the_daemons_of_hadoop_home_are_used_and_a_wrong_hadoop_home_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HADOOP_HOME", str(tmp_path))
    with pytest.raises(InputError, match="which has no share/hadoop/common"):
        hadoop_classes.find()
    for part in ("common", "hdfs", "mapreduce", "yarn"):
        (tmp_path / "share" / "hadoop" / part / "lib").mkdir(parents=True)
    class_path = hadoop_classes.find()
    assert f"{tmp_path}/share/hadoop/yarn/lib/*" in class_path
    assert len(class_path) == 8
    monkeypatch.delenv("HADOOP_HOME")
    monkeypatch.setattr(hadoop_classes, "_TOOL", tmp_path / "none.py")
    with pytest.raises(EngineMissing, match="unpack Hadoop 3 where all nodes see it"):
        hadoop_classes.find()
