"""Parts of a cluster in isolation: no cluster is started here."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from cuesta import processes
from cuesta.cluster import (
    class_archive,
    control,
    following,
    leader,
    node_store,
    running,
    watchdog,
    wire,
)
from cuesta.cluster.agent import Agent
from cuesta.cluster.driver import Driver
from cuesta.cluster.folder import SCHEMA, ClusterFolder, error_line
from cuesta.cluster.members import Members
from cuesta.cluster.schedulers import GONE, UNKNOWN, process
from cuesta.cluster.schedulers.pbs import PbsScheduler
from cuesta.cluster.schedulers.slurm import SlurmScheduler
from cuesta.cluster.services import MASTER, SparkService, start_stores
from cuesta.cluster.settings import Allocation, ClusterPlan, NodeShare, to_json
from cuesta.errors import EngineError, InputError
from cuesta.private import write_private

PLAN = ClusterPlan(cluster="none-such", allocation=Allocation(scheduler="local"))
ELSEWHERE = "process-1:1@elsewhere.invalid"


@pytest.fixture
def submitted(tmp_path: Path) -> ClusterFolder:
    """Folder of a submitted cluster."""
    place = ClusterFolder(tmp_path / "cluster")
    place.make()
    write_private(place.plan_file, json.dumps(to_json(PLAN)))
    state = {"cluster": PLAN.cluster, "scheduler": "local", "state": "submitted", "times": {}}
    place.write({"schema": SCHEMA, **state})
    return place


@pytest.mark.parametrize(
    "line",
    [
        '{"nonce": "n", "proof": "é"}'.encode(),
        b'{"nonce": "\\ud800", "proof": "p"}',
        b'{"nonce": ' + b"[" * 100_000,
    ],
)
def test_a_stranger_does_not_end_the_cluster(line: bytes) -> None:
    """A client proves that it knows the secret. A proof that was no ASCII, half a character or deep
    JSON raised errors that were no `WireError`, and the leader ended with all its nodes. Now it
    refuses such a client alone.
    """
    listener = wire.listen("127.0.0.1")
    members = Members(listener, "secret")
    with socket.create_connection(("127.0.0.1", members.port)) as stranger:
        stranger.sendall(line + b"\n")
        assert members.receive() == []
    assert members.channels() == [listener]
    peers: list[wire.Peer] = []
    client = threading.Thread(
        target=lambda: peers.append(wire.connect("127.0.0.1", members.port, "secret", 1))
    )
    client.start()
    while client.is_alive():
        wire.ready([listener], 0.05)
        members.receive()
    assert len(members.channels()) == 2


def test_a_leader_without_free_descriptors_continues() -> None:
    class Full:
        def accept(self) -> None:
            raise OSError(24, "Too many open files")

    assert Members(cast(Any, Full()), "secret").receive() == []


def test_a_process_of_another_machine_is_neither_gone_nor_ended(submitted: ClusterFolder) -> None:
    """A cluster of hosts is a process of one machine, but all machines see its folder. `status` on
    another machine found no such process, and wrote that the cluster had failed. Now only the
    machine of the process judges it.
    """
    submitted.write(submitted.read() | {"state": "running"})
    write_private(submitted.job_file, ELSEWHERE)
    assert SlurmScheduler().state(ELSEWHERE) == UNKNOWN
    assert control.status(submitted)["state"] == "running"
    with pytest.raises(InputError, match=r"runs on elsewhere\.invalid; end it there"):
        control.down(submitted)
    assert submitted.read()["state"] == "running"


def test_a_process_of_this_machine_that_is_gone_has_failed(submitted: ClusterFolder) -> None:
    write_private(submitted.job_file, f"process-1:0@{os.uname().nodename}")
    status = control.status(submitted)
    assert (status["state"], status["code"]) == ("failed", 3)
    assert "the leader has ended without a word" in status["why"]


def test_the_scheduler_is_polled_at_intervals_and_the_file_always(
    submitted: ClusterFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    polled: list[ClusterFolder] = []
    status = control.status

    def counted(place: ClusterFolder) -> dict[str, Any]:
        polled.append(place)
        return status(place)

    monkeypatch.setattr(control, "status", counted)
    observer = control.Observer(submitted)
    assert observer.state()["state"] == "submitted"
    submitted.write(submitted.read() | {"state": "running"})
    assert [observer.state()["state"] for _ in range(3)] == ["running"] * 3
    assert len(polled) == 1


@pytest.mark.parametrize(
    ("error", "why", "code"),
    [
        (InputError("sbatch: no such queue"), "sbatch: no such queue", 2),
        (KeyboardInterrupt(), "handing the job in was interrupted (KeyboardInterrupt)", 130),
    ],
)
def test_a_job_that_is_refused_or_interrupted_has_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException, why: str, code: int
) -> None:
    def start(_folder: ClusterFolder) -> str:
        raise error

    monkeypatch.setattr(process, "start", start)
    place = ClusterFolder(tmp_path / "cluster")
    with pytest.raises(type(error)):
        control.submit(PLAN, place)
    state = place.read()
    assert (state["state"], state["why"], state["code"]) == ("failed", why, code)
    # A leader that the scheduler starts nevertheless.
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    assert leader.main([str(place.root)]) == 3
    assert control.down(place)["state"] == "failed"


def test_a_job_whose_name_cannot_be_stored_is_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    end_calls: list[str] = []
    write = write_private

    def full(path: Path, text: str) -> None:
        if path.name == "job":
            raise OSError(28, "No space left on device")
        write(path, text)

    monkeypatch.setattr(control, "write_private", full)
    monkeypatch.setattr(process, "start", lambda _folder: "process-7:7@here")
    monkeypatch.setattr(process, "cancel", end_calls.append)
    place = ClusterFolder(tmp_path / "cluster")
    with pytest.raises(OSError, match="No space left"):
        control.submit(PLAN, place)
    assert end_calls == ["process-7:7@here"]
    assert place.read()["state"] == "failed"


def test_a_job_that_was_never_handed_in_is_ended_at_once(submitted: ClusterFolder) -> None:
    assert control.down(submitted)["why"] == "it was ended before its job was handed in"


def test_a_file_that_does_not_reach_the_disk_leaves_the_previous_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_private(tmp_path / "state", "old")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_private(tmp_path / "state", "new")
    assert [path.name for path in tmp_path.iterdir()] == ["state"]
    assert (tmp_path / "state").read_text() == "old"


def test_a_follower_reads_the_reason_that_the_leader_did_not_report(
    submitted: ClusterFolder,
) -> None:
    submitted.write(
        submitted.read() | {"state": "failed", "why": "the leader was killed", "code": 3}
    )
    lines: list[str] = []
    assert following.followed(submitted, lines.append) == 3
    assert lines == ["cuesta: the leader was killed"]
    submitted.log("leader").write_text("cuesta: the leader was killed\n")
    assert following.followed(submitted, lines.append) == 3
    assert lines == ["cuesta: the leader was killed"] * 2


def ended_by(submitted: ClusterFolder, monkeypatch: pytest.MonkeyPatch, work: Any, end: Any) -> Any:
    """Return the final state of a leader with this work and this end; nothing is started."""
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(watchdog, "watch_leader", lambda *_: 0)
    monkeypatch.setattr(leader.Leader, "_work", work)
    monkeypatch.setattr(leader.Leader, "_end", end)
    cluster_leader = leader.Leader(PLAN, submitted)
    code = cluster_leader.run()
    state = submitted.read()
    assert state["code"] == code
    return state


def raising(error: Exception) -> Any:
    def fail(*_: object) -> int:
        raise error

    return fail


def test_a_full_disk_is_no_defect_and_an_end_that_fails_is_reported(
    submitted: ClusterFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = raising(OSError(28, "No space left on device", "/x"))
    state = ended_by(submitted, monkeypatch, full, lambda *_: None)
    assert (state["state"], state["code"]) == ("failed", 3)
    assert state["why"] == "/x: no space left on device; free some space or choose another folder"
    state = ended_by(submitted, monkeypatch, lambda _: 7, full)
    assert (state["state"], state["code"]) == ("failed", 7)
    assert state["why"] == "/x: no space left on device; free some space or choose another folder"


def test_what_a_store_could_not_write_makes_the_cluster_fail(
    submitted: ClusterFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that is ended may be unable to write everything. Its folder was removed with the only
    copy, and the state was `ended`, exit code 0. Now the cluster fails.
    """

    def end(self: leader.Leader, _dog: int) -> None:
        member = cast(Any, SimpleNamespace(name="n1"))
        report = {"unwritten": "2 files are not in /data yet, but in /dev/shm/x"}
        self.cluster.take_note(member, report)

    state = ended_by(submitted, monkeypatch, lambda _: 0, end)
    assert (state["state"], state["code"]) == ("failed", 3)
    assert state["why"] == "node n1: 2 files are not in /data yet, but in /dev/shm/x"


def test_files_that_a_store_was_to_write_are_counted(tmp_path: Path) -> None:
    assert node_store.unwritten(tmp_path / "none") == 0
    (tmp_path / "writes").mkdir()
    for number, state in enumerate(("dirty", "synced", "memory", "persisted", "writing")):
        (tmp_path / "writes" / f"{number}.json").write_text(json.dumps({"state": state}))
    assert node_store.unwritten(tmp_path) == 2
    (tmp_path / "writes" / "9.json").write_text("{")
    assert node_store.unwritten(tmp_path) == 3


@pytest.mark.parametrize("scratch", ["scratch", "memory"])
def test_an_agent_keeps_the_only_copy_of_a_file_and_notifies_the_leader(
    submitted: ClusterFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scratch: str
) -> None:
    monkeypatch.setattr(node_store, "MEMORY_ROOT", tmp_path / "memory")
    share = NodeShare(scratch=str(tmp_path / scratch))
    agent = Agent(replace(PLAN, share=share, store_under="/data"), submitted, "n1")
    store = node_store.folder_of(PLAN, "n1")
    store.parent.mkdir()
    store.mkdir(mode=0o700)
    (store / "writes").mkdir()
    record = store / "writes" / "1.json"
    record.write_text('{"state": "dirty"}')
    sent: list[Any] = []
    agent._leader = cast(Any, SimpleNamespace(send=sent.append))
    agent.end()
    assert sent == [{"unwritten": f"1 files are not in /data yet, but in {store}"}]
    agent.clear()
    assert record.exists()
    record.unlink()
    agent.clear()
    assert not store.exists()


def test_a_command_that_does_not_exist_is_bad_input(submitted: ClusterFolder) -> None:
    cluster = running.RunningCluster(replace(PLAN, command=("no-such-program",)), submitted)
    cluster.state |= {"nodes": [{"name": "n1", "host": "elsewhere"}], "leader": {"node": "n1"}}
    with pytest.raises(
        InputError, match=r"^no-such-program: no such file or directory; check the path$"
    ):
        Driver(cluster).run()


def test_a_master_that_dies_is_named_with_its_log(submitted: ClusterFolder) -> None:
    submitted.log(MASTER).write_text("hello\njava.lang.OutOfMemoryError\n")
    service = SparkService.__new__(SparkService)
    service._cluster = cast(Any, SimpleNamespace(folder=submitted))
    service.master = ""
    service.check({MASTER: 1})
    service.master = "spark://127.0.0.1:7077"
    service.check({"agents-1": 1})
    with pytest.raises(EngineError) as error:
        service.check({MASTER: -9})
    message = "Spark's master has ended with code -9: java.lang.OutOfMemoryError; "
    assert str(error.value) == f"{message}{submitted.log(MASTER)}"


def test_the_telling_line_of_a_trace_is_the_exception(tmp_path: Path) -> None:
    log = tmp_path / "log"
    trace = "java.io.IOException: no\n\tat a.B$C.<init>(B.java:1)\nCaused by: x.Y: of this\n"
    frames = "\tat java.base/java.lang.Thread.run(Thread.java:840)\n\t... 7 more\n"
    log.write_text(f"WARN hello\n{trace}{frames}")
    assert error_line(log) == "Caused by: x.Y: of this"


def test_a_store_that_dies_later_is_in_the_state(
    submitted: ClusterFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running.RunningCluster, "wait_until", lambda *_: None)
    cluster = running.RunningCluster(PLAN, submitted)
    start_stores(cluster)
    cluster.take_note(cast(Any, SimpleNamespace(name="n1")), {"ended": "store", "code": -9})
    assert submitted.read()["services_lost"] == {"n1": {"store": "it has ended with code -9"}}


def test_an_odd_folder_is_quoted_for_slurm_and_refused_for_pbs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "at home").mkdir()
    monkeypatch.chdir(tmp_path / "at home")
    odd = ClusterFolder(tmp_path / "50% of it")
    plan = replace(PLAN, allocation=Allocation(scheduler="slurm"))
    lines = SlurmScheduler().script(plan, odd).splitlines()
    assert f'#SBATCH --output="{tmp_path}/50%% of it/logs/leader.log"' in lines
    assert "#SBATCH --job-name=cuesta-50__of_it" in lines
    assert f"cd '{tmp_path}/at home' || exit 3" in lines
    with pytest.raises(InputError, match="PBS does not take a path with spaces"):
        PbsScheduler().script(plan, odd)
    lines = PbsScheduler().script(plan, ClusterFolder(tmp_path / "a+b")).splitlines()
    assert "#PBS -N cuesta-a_b" in lines


def test_a_scheduler_that_hangs_is_abandoned_after_the_timeout(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def hang(*_words: object, timeout: float, **_options: object) -> None:
        assert timeout == 0.5
        raise subprocess.TimeoutExpired("squeue", timeout)

    monkeypatch.setattr(subprocess, "run", hang)
    assert SlurmScheduler().state("17", 0.5) == UNKNOWN
    assert PbsScheduler().state("17", 0.5) == UNKNOWN


def test_the_classes_of_two_clusters_do_not_meet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two clusters wrote their classes to the same temporary file, whose name ended in `conf` for
    each. Now each has a file of its own.
    """
    place = tmp_path / "classes" / "spark.jsa"
    used: list[str] = []
    copy = shutil.copyfile

    def copied(source: Path, target: Path) -> None:
        used.append(target.name)
        copy(source, target)

    monkeypatch.setattr(class_archive, "archive_path", lambda _version: place)
    monkeypatch.setattr(shutil, "copyfile", copied)
    for name in ("one", "two"):
        (tmp_path / name / "conf").mkdir(parents=True)
        (tmp_path / name / "conf" / "classes.jsa").write_bytes(b"classes")
        class_archive.keep("17", tmp_path / name / "conf" / "classes.jsa")
        place.rename(tmp_path / f"{name}.jsa")
    assert len(set(used)) == 2
    assert not list(place.parent.iterdir())


def test_a_process_that_is_gone_here_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    hostname = os.uname().nodename
    assert process.state(f"process-1:0@{hostname}") == GONE
    sent: list[int] = []
    monkeypatch.setattr(os, "kill", lambda _pid, number: sent.append(number))
    process.cancel(f"process-1:0@{hostname}")
    assert sent == []
    process.cancel(f"process-{processes.identity(os.getpid())}@{hostname}")
    assert sent == [signal.SIGTERM]
