"""A cluster of several nodes on this machine: it starts, runs, and cleans up."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from clusterkit import QUICK, call, command, folder, is_in, state, wait_for, wait_until_gone, words
from cuesta import machine
from cuesta.cli.app import call as cli_call
from cuesta.cluster import node, watchdog
from cuesta.engines.spark import SparkEngine, masters
from cuesta.errors import InputError
from cuesta_store import control
from cuesta_store.control import MEMORY_ROOT
from cuesta_store.filesystem import CuestaFileSystem
from labkit import record_of, small_disk

__all__ = ["folder", "small_disk"]

SLEEP = (sys.executable, "-c", "import time; time.sleep(120)")
NEEDS_SPARK = pytest.mark.skipif(
    SparkEngine().missing() is not None, reason="Spark is not installed"
)


def test_a_cluster_is_up_until_it_is_ended(folder: Path) -> None:
    done = call("up", *QUICK, "-o", str(folder))
    assert done.returncode == 0, done.stderr
    assert "2 nodes are up after" in done.stdout
    status = json.loads(call("status", str(folder), "--json").stdout)
    assert status["state"] == "ready"
    assert [member["name"] for member in status["nodes"]] == ["local-1", "local-2"]
    assert {member["interface"] for member in status["nodes"]} == {"lo"}
    scratch = [Path(member["scratch"]) for member in status["nodes"]]
    assert all(path.is_dir() for path in scratch)
    assert call("down", str(folder)).returncode == 0
    wait_until_gone(folder)
    assert state(folder)["state"] == "ended"
    assert not any(path.exists() for path in scratch)
    assert call("down", str(folder)).returncode == 0


def test_files_of_a_cluster_are_for_its_user_alone(folder: Path) -> None:
    assert call("up", *QUICK, "-o", str(folder)).returncode == 0
    for name in ("secret", "cluster.json", "plan.json"):
        assert (folder / name).stat().st_mode & 0o077 == 0, name
    secret = (folder / "secret").read_text()
    for pid in watchdog.marked(f"{state(folder)['cluster']}/"):
        assert secret not in Path("/proc", str(pid), "cmdline").read_text()
    second_try = call("up", *QUICK, "-o", str(folder))
    assert second_try.returncode == 2
    assert "has a cluster already (ready)" in second_try.stderr
    call("down", str(folder))


def test_stores_of_the_nodes_read_from_each_other(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "under").mkdir()
    stores = ["--store", "64MiB", "--under", str(tmp_path / "under"), "--set", "store-secret=1"]
    done = call("up", *QUICK, *stores, "-o", str(folder))
    assert done.returncode == 0, done.stderr
    cluster = state(folder)["cluster"]
    places = [MEMORY_ROOT / f"cuesta-{cluster}-local-{number}" for number in (1, 2)]
    first, second = (CuestaFileSystem(str(place)) for place in places)
    with first.open("/alone", "wb", write_mode="memory") as file:
        file.write(b"text")
    assert second.cat_file("/alone") == b"text"
    # The secret is replaced each second, and the stores continue.
    secret = folder / "store-secret"
    wait_for(lambda: len(secret.read_text().split()) == 2, "a new secret")
    assert secret.stat().st_mode & 0o077 == 0
    time.sleep(2.5)
    with second.open("/other", "wb", write_mode="memory") as file:
        file.write(b"more")
    assert first.cat_file("/other") == b"more"
    for place in places:
        members = control.status(place)["peers"]["members"]
        assert [member["is_live"] for member in members] == [True]
    assert call("down", str(folder)).returncode == 0
    wait_until_gone(folder)
    assert not any(place.exists() for place in places)


def test_what_a_command_prints_and_its_exit_code_are_those_of_submit(folder: Path) -> None:
    program = "import sys; print('said', flush=True); sys.exit(7)"
    program_words = ["--", sys.executable, "-c", program]
    done = call("submit", *QUICK, "--wait", "-o", str(folder), *program_words)
    assert done.returncode == 7
    assert done.stdout == "said\n"
    wait_until_gone(folder)


@pytest.mark.parametrize("whom", ["driver", "leader", "local-2"])
def test_nothing_is_left_when_a_process_is_killed(folder: Path, whom: str) -> None:
    assert call("submit", *QUICK, "-o", str(folder), "--", *SLEEP).returncode == 0
    wait_for(is_in(folder, "running"), "the command runs")
    cluster = state(folder)["cluster"]
    # The watchdog of a process has the same mark, and is younger.
    victim = wait_for(lambda: watchdog.marked(f"{cluster}/{whom}"), "it is there")[0]
    os.kill(victim, signal.SIGKILL)
    if whom == "local-2":
        wait_for(lambda: not watchdog.marked(f"{cluster}/local-2"), "its node is clean")
        assert call("down", str(folder)).returncode == 0
    wait_until_gone(folder)
    status = json.loads(call("status", str(folder), "--json").stdout)
    assert status["state"] in ("ended", "failed")
    if whom == "driver":
        assert status["code"] == 137
    if whom == "leader":
        assert status["why"] == "the leader was killed"
    if whom == "local-2":
        assert "local-2" in status["lost"]


def test_work_stops_before_the_allocation_ends(folder: Path) -> None:
    options = ["--time", "0:0:5", "--set", "guard=3"]
    done = call("submit", *QUICK, *options, "--wait", "-o", str(folder), "--", *SLEEP)
    assert done.returncode == 3
    assert "stopped 3 s before the end of the allocation; ask for more --time" in done.stdout
    wait_until_gone(folder)


def test_a_scratch_that_is_full_is_refused(folder: Path, small_disk: Path) -> None:
    options = ["--with", "mpi", "--scratch", str(small_disk), "-o", str(folder)]
    done = call("up", *options)
    assert done.returncode == 2
    assert f"node local-1: scratch {small_disk}/cuesta-" in done.stderr
    free = r" has (2|1\.9\d) MiB free, at least 1 GiB is needed; choose another with --scratch"
    assert re.search(free, done.stderr), done.stderr
    wait_until_gone(folder)
    assert not any(small_disk.iterdir())


def test_a_bridge_to_containers_is_no_way_to_other_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in ("docker0/brif/veth1", "veth1", "br0/brif/eth0", "eth0/device"):
        (tmp_path / place).mkdir(parents=True)
    monkeypatch.setattr(node, "NETWORKS", tmp_path)
    two = {"lo": "127.0.0.1", "docker0": "172.17.0.1", "br0": "10.0.0.7"}
    monkeypatch.setattr(node, "interfaces", lambda: two)
    assert node.listening_address("", False, "n1.invalid") == "10.0.0.7"
    assert node.listening_address("docker0", False, "n1.invalid") == "172.17.0.1"


@pytest.mark.parametrize(
    ("named", "resolved", "interface"),
    [("", "10.0.0.7", "10.0.0.7"), ("ib0", "10.0.0.7", "10.1.0.7"), ("", "10.9.9.9", None)],
)
def test_of_two_interfaces_the_address_is_chosen_by_the_user_or_by_the_host(
    monkeypatch: pytest.MonkeyPatch, named: str, resolved: str, interface: str | None
) -> None:
    two = {"lo": "127.0.0.1", "eth0": "10.0.0.7", "ib0": "10.1.0.7"}
    monkeypatch.setattr(node, "interfaces", lambda: two)
    answer = [(0, 0, 0, "", (resolved, 0))]
    monkeypatch.setattr("socket.getaddrinfo", lambda *_: answer)
    if interface:
        assert node.listening_address(named, False, "n1") == interface
        return
    with pytest.raises(InputError, match=r"n1 has 2 network interfaces, eth0 \(10.0.0.7\), ib0 "):
        node.listening_address(named, False, "n1")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--time", "0:0:30"], " s, and work is stopped 60 s before; ask for more --time"),
        (["--interface", "none0"], "has none of that name with an IPv4 address; it has "),
        (["--scratch", "/proc/none"], "node local-1: scratch /proc/none/cuesta-"),
        (["--set", "scratch-min=1000TiB"], "free, at least 1000 TiB is needed; choose another"),
        (["--memory", "1000TiB"], "of memory, --memory is 1000 TiB"),
        (["--nodes", "0"], "--nodes is 0, give 1 to 10000"),
        (["--set", "speed=1"], "--set speed: is not known; give start, "),
        (["--set", "guard=x"], "--set guard is 'x', give seconds"),
        (["--with", "giraph"], "--with giraph: is not known; choose from spark, mpi, yarn"),
        (["--preset", "fast"], "--preset fast: is not known; choose from paper"),
        (["--scheduler", "lsf"], "--scheduler lsf: is not known; choose from local"),
        (["--time", "soon"], "--time is 'soon', give minutes, or hours:minutes:seconds"),
    ],
)
def test_bad_input_is_reported_in_a_single_line_and_leaves_nothing(
    folder: Path, options: list[str], message: str
) -> None:
    done = call("up", *QUICK, *options, "-o", str(folder))
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("cuesta: ")]
    assert message in line
    if folder.exists():
        wait_until_gone(folder)


def test_a_plan_runs_nothing_and_shows_script_and_settings(folder: Path) -> None:
    done = call("plan", "--preset", "paper", "--set", "spark.locality.wait=1s", "-o", str(folder))
    assert done.returncode == 0
    assert done.stdout.startswith("#!/bin/sh\n")
    lines = done.stdout.splitlines()
    assert "spark.network.timeout 24000s" in lines
    assert "spark.locality.wait 1s" in lines
    assert not folder.exists()


SESSION = """
import sys, time
from pathlib import Path
from cuesta.cluster import session
with session(2, 1, 2 << 30, Path(sys.argv[1])) as cluster:
    print(cluster.folder, flush=True)
    time.sleep(120)
"""


@NEEDS_SPARK
def test_a_session_mends_a_worker_and_ends_with_the_process_that_it_is_for(tmp_path: Path) -> None:
    program = [sys.executable, "-c", SESSION, str(tmp_path)]
    with subprocess.Popen(program, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        root = Path(process.stdout.readline().strip())
        root_state = state(root)
        assert root_state["state"] == "ready"
        master = root_state["spark"]["master"]
        assert masters.settings_of(master) == root / "conf"
        first = spark_worker(root_state["cluster"])
        os.kill(first, signal.SIGKILL)
        wait_for(lambda: state(root).get("workers_lost") == 1, "it is missed")
        wait_for(lambda: spark_worker(root_state["cluster"]) not in (0, first), "there is another")
        process.kill()
    wait_until_gone(root)
    assert masters.settings_of(master) is None


@NEEDS_SPARK
def test_a_run_on_two_workers_has_the_answer_of_native(folder: Path, tmp_path: Path) -> None:
    """The first cluster on a machine stores the classes that masters and workers load."""
    blocks = ["run", "dataflow", "--blocks", "20", "--block-vectors", "1000"]
    native, answer = tmp_path / "native", tmp_path / "spark"
    assert cli_call([*blocks, "-o", str(native)]) == 0
    sizes = ["--cores", "1", "--memory", "1536MiB", "--scratch", str(tmp_path)]
    # The master writes its classes when it is stopped, which takes long next to other tests.
    sizes += ["--set", "stop=60"]
    run = [*blocks, "--engine", "spark", "-o", str(answer)]
    words = [*sizes, "--wait", "-o", str(folder), "--", *run]
    # Archives from which sessions and executors start may exist.
    (tmp_path / "cache" / "cuesta").mkdir(parents=True)
    (tmp_path / "cache" / "cuesta" / "spark").symlink_to(machine.cache_folder() / "spark")
    done = call("submit", *words, XDG_CACHE_HOME=str(tmp_path / "cache"))
    assert done.returncode == 0, done.stdout
    (archive,) = (tmp_path / "cache" / "cuesta" / "classes").iterdir()
    assert archive.stat().st_size > 1 << 20
    assert "first task after" in done.stdout.splitlines()[-1]
    record = record_of(answer)
    assert record["answer"]["digest"] == record_of(native)["answer"]["digest"]
    assert record["engine_options"]["master"] == state(folder)["spark"]["master"]
    wait_until_gone(folder)


def spark_worker(cluster: str) -> int:
    """Return the worker of the second node; 0 where none runs."""
    pids = watchdog.marked(f"{cluster}/local-2")
    return next((pid for pid in pids if "worker.Worker" in words(pid)), 0)


def test_a_client_without_the_secret_is_ignored(folder: Path) -> None:
    from cuesta.cluster.wire import WireError, connect

    assert call("up", *QUICK, "-o", str(folder)).returncode == 0
    leader = state(folder)["leader"]
    with pytest.raises(WireError):
        connect(leader["address"], leader["port"], "guess", 1)
    assert json.loads(call("status", str(folder), "--json").stdout)["state"] == "ready"
    assert call("down", str(folder)).returncode == 0


def test_ctrl_c_of_submit_ends_the_cluster(folder: Path) -> None:
    submit = command("submit", *QUICK, "--wait", "-o", str(folder), "--", *SLEEP)
    with subprocess.Popen(submit, stderr=subprocess.PIPE, text=True) as process:
        wait_for(is_in(folder, "running"), "the command runs")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
    wait_until_gone(folder)
