"""Behaviour specific to Hadoop: its typed bytes, options, refusals, deaths, and a real YARN."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

import maven
import testbed_yarn
from assemblykit import drawn, reads_of, write_fastq
from cuesta import _native
from cuesta.engines.hadoop import HadoopEngine, child
from cuesta.engines.hadoop.jobs import Jobs, java_words
from cuesta.engines.hadoop.settings import Options
from cuesta.engines.hadoop.typed_bytes import read_bytes, read_int, write_bytes, write_int
from cuesta.engines.native import NativeEngine
from cuesta.errors import EngineError, InputError
from cuesta.native import to_request
from cuesta.processes import descendants, identity
from cuesta.trial import Trial
from cuesta.workloads import get_workload
from peers import terasort
from sortkit import places, sorting, write_records
from waitkit import wait_for
from yarnkit import kill_a_child, logs_on_failure

RECORDS = 200_000


@pytest.fixture(scope="module")
def engine() -> Iterator[HadoopEngine]:
    """Engine whose JVM all tests share."""
    hadoop_engine = HadoopEngine()
    reason = hadoop_engine.missing()
    if reason:
        pytest.skip(reason)
    yield hadoop_engine
    hadoop_engine.close()


@pytest.fixture(scope="module")
def yarn(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Settings of a YARN of two nodes; skips without Java or Maven."""
    reason = testbed_yarn.missing()
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("testbed") / "yarn"
    yield testbed_yarn.up(folder, testbed_yarn.Shape(nodes=2, cores=2, memory_mib=4096)).conf
    testbed_yarn.down(folder)


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file to sort."""
    return write_records(tmp_path_factory.mktemp("records") / "a.dat", RECORDS)


def trial(path: Path, memory_bytes: int = 3 << 30, **options: str) -> Trial:
    """Sort a file on two threads."""
    return sorting("hadoop", path, memory_bytes, **options)


def is_right(job: Trial, output: Path, scratch: Path) -> bool:
    """Return whether the answer is verified, and no other file remains."""
    verdict = json.loads(_native.verify(job.workload, to_request(job, output, scratch)))
    return bool(verdict["verified"]) and not any(scratch.iterdir())


def test_typed_bytes_come_back() -> None:
    file = io.BytesIO()
    for number in (0, 7, -1, (1 << 31) - 1):
        write_int(file, number)
        write_bytes(file, b"x" * (number % 5))
    # In Hadoop's form: kind 3, then 32 bits; kind 0, then their count.
    assert file.getvalue()[:15].hex() == "03" + "00000000" + "00" + "00000000" + "03" + "00000007"
    file.seek(0)
    for number in (0, 7, -1, (1 << 31) - 1):
        assert read_int(file) == number
        assert read_bytes(file) == b"x" * (number % 5)
    assert read_int(file) is None


@pytest.mark.parametrize("text", ["03", "0300", "0000000000", "0000000005ab"], ids=str)
def test_typed_bytes_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="typed bytes"):
        read_int(io.BytesIO(bytes.fromhex(text)))
    if text.startswith("000000000"):
        assert read_bytes(io.BytesIO(bytes.fromhex("00000000015a"))) == b"Z"
        with pytest.raises(ValueError, match="typed bytes end in the middle"):
            read_bytes(io.BytesIO(bytes.fromhex("0000000005ab")))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tasks": "0"}, "--engine-option tasks is 0, give at least 1"),
        ({"workers": "2"}, "no option workers, choose from conf, examples, tasks, or"),
        ({"examples": "/no.jar"}, "examples is /no.jar, which is not there; name the hadoop-map"),
        ({"conf": "/"}, "conf is /, which has none of core-site.xml, mapred-site.xml, yarn-site"),
    ],
    ids=str,
)
def test_a_wrong_option_is_named(
    engine: HadoopEngine, records: Path, options: dict[str, str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=message):
        engine.run(replace(trial(records), engine_options=options), *places(tmp_path / "a"))


def test_too_little_memory_is_reported_before_a_job_starts(
    engine: HadoopEngine, records: Path, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="engine hadoop needs at least 976 MiB for 2 tasks"):
        engine.run(trial(records, memory_bytes=512 << 20), *places(tmp_path / "a"))


def test_a_line_that_a_task_cannot_read_is_named(engine: HadoopEngine, tmp_path: Path) -> None:
    path = tmp_path / "pairs.txt"
    path.write_text("not a pair\n")
    job = replace(trial(path), workload="scan", parameters={"min_abs_score": 0.5})
    with pytest.raises(InputError, match=r"pairs\.txt"):
        engine.run(job, *places(tmp_path / "a"))
    # The JVM continues.
    assert engine._held.jobs is not None


def test_a_jvm_that_dies_is_reported_in_a_single_line_and_the_next_run_has_another(
    engine: HadoopEngine, records: Path, tmp_path: Path
) -> None:
    output, scratch = places(tmp_path / "a")
    engine.run(trial(records), output, scratch)
    assert engine._held.jobs is not None
    engine._held.jobs._process.kill()
    with pytest.raises(EngineError, match="engine hadoop: its JVM died"):
        engine.run(trial(records), *places(tmp_path / "b"))
    engine.close()
    output, scratch = places(tmp_path / "c")
    job = trial(records, tasks="5")
    engine.run(job, output, scratch)
    assert is_right(job, output, scratch)


def test_a_real_yarn_sorts_though_a_task_is_killed(
    engine: HadoopEngine, records: Path, yarn: str, tmp_path: Path
) -> None:
    job = trial(records, conf=yarn)
    output, scratch = places(tmp_path / "a")
    done, killed = threading.Event(), list[int]()
    running = testbed_yarn.running(Path(yarn).parent)
    assert running is not None
    killer = threading.Thread(target=kill_a_child, args=(running.pid, done, killed))
    killer.start()
    try:
        with logs_on_failure(Path(yarn).parent):
            outcome = engine.run(job, output, scratch)
    finally:
        done.set()
        killer.join()
    assert killed
    assert is_right(job, output, scratch)
    assert outcome.versions["hadoop"].endswith(" on YARN")
    report = engine.log_totals()
    assert report["jobs"] == 1
    assert report["shuffle_read_bytes"] >= RECORDS * 100
    names = [hadoop_stage.name for hadoop_stage in engine.stages()]
    assert names == ["sort: map", "sort: reduce"]
    for stage in engine.stages():
        assert len(stage.each["task_seconds"]) == stage.tasks
        assert 0 < sum(stage.each["scheduler_delay_seconds"]) < sum(stage.each["task_seconds"])
    assert report["task_seconds"] > report["scheduler_delay_seconds"] > 0
    assert sum(engine.stages()[1].each["exchange_bytes"]) == report["shuffle_read_bytes"]


def test_the_terasort_of_hadoop_produces_the_same_answer(
    engine: HadoopEngine, records: Path, tmp_path: Path
) -> None:
    if not maven.is_installed():
        pytest.skip("Hadoop's examples come by Maven: apt-get install maven")
    jars = maven.jars("terasort", [terasort.EXAMPLES])
    jar = next(jars.glob("hadoop-mapreduce-examples-*.jar"))
    job = trial(records, 4 << 30, examples=str(jar))
    output, scratch = places(tmp_path / "a")
    engine.run(job, output, scratch)
    assert is_right(job, output, scratch)


def test_the_papers_first_stage_passes_the_shuffle_as_text(
    engine: HadoopEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text_bytes: list[int] = []
    run = Jobs.run

    def noted(jobs: Jobs, settings: Path, report: Callable[[float], None]) -> Mapping[str, int]:
        counters = run(jobs, settings, report)
        if "<name>cuesta.round.text</name><value>true</value>" in settings.read_text():
            text_bytes.append(counters["shuffle_write_bytes"])
        return counters

    monkeypatch.setattr(Jobs, "run", noted)
    reads = write_fastq(tmp_path / "a.fq", reads_of(drawn(4000, 1), 20, 0.01, 5))
    options = {"profile": "paper", "kmer_sizes": "21", "paper_jobs": 1, "paper_rounds": 1}
    files: dict[str, dict[str, bytes]] = {}
    for name, tasks in (("native", ""), ("hadoop", "3"), ("one", "1")):
        output, scratch = places(tmp_path / name)
        base_trial = trial(reads, tasks=tasks) if tasks else trial(reads)
        parameters = get_workload("assemble").check(options)
        job = replace(base_trial, workload="assemble", parameters=parameters)
        runner = engine if tasks else NativeEngine()
        phases = [phase.name for phase in runner.run(job, output, scratch).phases]
        files[name] = {path.name: path.read_bytes() for path in output.iterdir()}
        assert ("first stage" in phases) == bool(tasks)
    assert files["hadoop"] == files["one"] == files["native"]
    (level,) = json.loads(files["native"]["stats.json"])["levels"]
    assert len(text_bytes) == 2
    # Hadoop adds lengths to keys and values, and nothing is packed.
    pair_bytes = level["first_stage"]["pair_bytes"]
    assert all(pair_bytes < moved_bytes < 1.2 * pair_bytes for moved_bytes in text_bytes)


def test_text_is_cut_at_ends_of_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "PIECE_BYTES", 8)
    for text in (b"", b"a\tb\n", b"a\tb\n" * 9, b"abc\tabc\n" * 3, b"a\t\nabc\td\n" * 4):
        cuts = child._cuts(memoryview(text), is_text=True)
        pieces = [text[start:end] for start, end in pairwise(cuts)]
        assert b"".join(pieces) == text
        assert all(piece.endswith(b"\n") and len(piece) <= 8 for piece in pieces)


RUNS_TERASORT = """
import sys
from pathlib import Path
from cuesta.engines.hadoop import HadoopEngine
from sortkit import places, sorting
records, jar, conf, folder = sys.argv[1:]
wanted = sorting("hadoop", Path(records), 4 << 30, conf=conf, examples=jar)
HadoopEngine().run(wanted, *places(Path(folder)))
"""
FAKE_JAVA = """#!/bin/sh
case "$*" in
*JobClient*) echo "$@" >> "$JOURNAL/killed"
   if [ -e "$JOURNAL/unknown" ]; then rm "$JOURNAL/unknown"; exit 255; fi ;;
*) echo "INFO JobSubmitter: Submitting tokens for job: job_17_0042"
   echo "INFO Job: Running job: job_17_0042"
   echo $$ > "$JOURNAL/new" && mv "$JOURNAL/new" "$JOURNAL/pid"
   while [ ! -e "$JOURNAL/end" ]; do sleep 0.1; done
   exit 1 ;;
esac
"""
WATCHDOG = b"cuesta.engines.hadoop.watchdog"
APPLICATIONS = "org.apache.hadoop.yarn.client.cli.ApplicationCLI"


def start_terasort(*words: str, **variables: str) -> subprocess.Popen[bytes]:
    """Start a process that runs TeraSort on a YARN; arguments are those of `RUNS_TERASORT`."""
    path = os.pathsep.join(filter(None, sys.path))
    return subprocess.Popen(
        [sys.executable, "-c", RUNS_TERASORT, *words],
        env=os.environ | {"PYTHONPATH": path} | variables,
        stderr=subprocess.DEVNULL,
    )


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_terasort_that_is_stopped_or_dies_has_its_job_killed(
    number: signal.Signals, records: Path, tmp_path: Path
) -> None:
    """The job ran on YARN to its end after its client was stopped. Now the job is killed."""
    process, client = terasort_by_fake_java(records, tmp_path)
    # Ctrl-C reaches the command, and a kill for lack of memory the client.
    os.kill(process.pid if number == signal.SIGINT else client, number)
    assert process.wait(30) != 0
    (command,) = (tmp_path / "killed").read_text().splitlines()
    assert command.endswith(" -kill job_17_0042")
    assert "-Dmapreduce.framework.name=yarn" in command
    assert not Path("/proc", str(client)).exists()


@pytest.mark.usefixtures("engine")
def test_a_terasort_whose_command_is_killed_has_its_job_killed(
    records: Path, tmp_path: Path
) -> None:
    """The client died with the command, and the job ran on YARN with no process left to kill it.
    Now a watchdog kills it. A job that YARN does not know yet is killed as soon as it does.
    """
    process, client = terasort_by_fake_java(records, tmp_path)
    (tmp_path / "unknown").touch()
    dog = watchdog_of(process)
    process.kill()
    process.wait()
    wait_for(lambda: not identity(dog))
    assert not identity(client)
    killed = (tmp_path / "killed").read_text().splitlines()
    assert len(killed) == 2
    assert {line.partition(" -kill ")[2] for line in killed} == {"job_17_0042"}


@pytest.mark.usefixtures("engine")
def test_a_terasort_that_ends_kills_nothing(records: Path, tmp_path: Path) -> None:
    process, client = terasort_by_fake_java(records, tmp_path)
    dog = watchdog_of(process)
    (tmp_path / "end").touch()
    assert process.wait(30) != 0
    assert not identity(client)
    assert not identity(dog)
    assert not (tmp_path / "killed").exists()


def watchdog_of(process: subprocess.Popen[bytes]) -> int:
    """Return the watchdog of a process."""

    def watchdogs() -> list[int]:
        return [pid for pid in descendants(process.pid) if WATCHDOG in words_of(pid)]

    wait_for(lambda: bool(watchdogs()))
    return watchdogs()[0]


def words_of(pid: int) -> bytes:
    """Return the command line of a process; empty after its end."""
    try:
        return Path("/proc", str(pid), "cmdline").read_bytes()
    except OSError:
        return b""


def terasort_by_fake_java(records: Path, tmp_path: Path) -> tuple[subprocess.Popen[bytes], int]:
    """Start a TeraSort process, and that of its client, which has submitted a job."""
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(FAKE_JAVA)
    java.chmod(0o755)
    (tmp_path / "jdk" / "release").write_text('JAVA_VERSION="17.0.1"\n')
    (tmp_path / "yarn-site.xml").touch()
    home = {"JAVA_HOME": str(tmp_path / "jdk"), "JOURNAL": str(tmp_path)}
    process = start_terasort(str(records), str(records), str(tmp_path), str(tmp_path / "a"), **home)
    wait_for((tmp_path / "pid").exists)
    return process, int((tmp_path / "pid").read_text())


@pytest.mark.usefixtures("engine")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_terasort_that_is_stopped_or_killed_leaves_no_job_on_a_real_yarn(
    number: signal.Signals, yarn: str, tmp_path: Path
) -> None:
    jars = maven.jars("terasort", [terasort.EXAMPLES])
    jar = next(jars.glob("hadoop-mapreduce-examples-*.jar"))
    records = write_records(tmp_path / "a.dat", 3_000_000)
    process = start_terasort(str(records), str(jar), yarn, str(tmp_path / "a"))
    wait_for(lambda: applications(Path(yarn), jar) > 0, 60)
    dog = watchdog_of(process)
    process.send_signal(number)
    assert process.wait(60) != 0
    wait_for(lambda: not identity(dog), 60)
    assert applications(Path(yarn), jar) == 0
    assert list(tmp_path.rglob("sorted.dat")) == []


def applications(conf: Path, jar: Path) -> int:
    """Return the number of YARN applications that have not ended."""
    words = java_words(Options(conf=conf), jar, 0)
    done = subprocess.run(
        [*words, APPLICATIONS, "application", "-list"], capture_output=True, text=True, check=True
    )
    return int(done.stdout.rpartition("Total number of applications")[2].split("):")[1].split()[0])


def test_a_task_that_is_refused_on_yarn_is_not_tried_again(
    engine: HadoopEngine, yarn: str, tmp_path: Path
) -> None:
    path = tmp_path / "pairs.txt"
    path.write_text("not a pair\n")
    job = replace(trial(path, conf=yarn), workload="scan", parameters={"min_abs_score": 0.5})
    with pytest.raises(InputError, match=r"pairs\.txt"):
        engine.run(job, *places(tmp_path / "a"))
