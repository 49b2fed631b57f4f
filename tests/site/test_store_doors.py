"""Several nodes through each door: fsspec, a mount (the client in Rust) and Hadoop."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

import mountkit
import storedoor
from cuesta_store import mount
from cuesta_store.client import Refusal
from hadoopkit import Hadoop, hadoop
from hostkit import (
    HostJob,
    HostStore,
    address,
    connected,
    hosts_exist,
    job,
    read,
    wait_for_places,
    write,
    write_under,
)
from storekit import BLOCK_BYTES, Program, RunningStore, noise

__all__ = ["hadoop", "hosts_exist", "job"]

COUNT = 3
BLOCKS = 40
CONTENT = noise(1, (BLOCKS - 1) * BLOCK_BYTES + 77)
LAST = len(CONTENT) - storedoor.BYTES
SOON = 1.5
"""A dead store is detected within a second; the rest is for a busy machine."""
LATE = 60.0
"""Limit for steps that detect no dead store."""
MOUNT, HADOOP = "paths", "hadoop"

pytestmark = pytest.mark.timeout(180)

Doors = dict[str, Program]


@pytest.fixture
def doors(job: HostJob, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Doors]:
    """The doors of the second host's store, each in a separate process."""
    with ExitStack() as stack:
        store = job.stores[2]
        words = {"fsspec": str(store.folder)}
        if not mountkit.MISSING:
            words[MOUNT] = str(stack.enter_context(mounted(store, tmp_path / "mnt")))
        processes = {kind: storedoor_process(kind, place) for kind, place in words.items()}
        with suppress(pytest.skip.Exception):
            classes: Hadoop = request.getfixturevalue("hadoop")
            local_store = RunningStore(store.folder, job.under)
            processes[HADOOP] = classes.start(local_store, "cuesta.hadoop.DoorLoop", cwd=tmp_path)
        for process in processes.values():
            stack.callback(process.communicate)
            stack.callback(process.kill)
        yield {kind: Program(process) for kind, process in processes.items()}


@contextmanager
def mounted(store: HostStore, place: Path) -> Iterator[Path]:
    place.mkdir()
    mount.mount(place, folder=store.folder)
    try:
        yield place
    finally:
        mountkit.gone(place)


def storedoor_process(kind: str, place: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    words = [sys.executable, storedoor.__file__, kind, place]
    return subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def ask(doors: Doors, question: str) -> dict[str, str]:
    """Return the answers of all doors, queried at the same time."""
    with ThreadPoolExecutor(len(doors)) as threads:
        answers = threads.map(lambda door: door.ask(question), doors.values())
        return dict(zip(doors, answers, strict=True))


def all_answer(doors: Doors, question: str, answer: str) -> None:
    assert ask(doors, question) == dict.fromkeys(doors, f"ok {answer}")


def all_read(doors: Doors, place: int) -> None:
    """Check that each door reads bytes of its open file, whatever happens to stores."""
    expected = f"ok {CONTENT[place : place + storedoor.BYTES].hex()}"
    assert ask(doors, f"at {place}") == dict.fromkeys(doors, expected)


def all_name_the_dead(doors: Doors, question: str, what: str) -> None:
    """Check that each door fails by name for content in the memory of the first host alone."""
    words = f"{what} was in the memory of the store at {address(1)}:7070 alone"
    for kind, answer in ask(doors, question).items():
        assert answer.startswith("failed "), answer
        # The kernel has a number for an error, and nothing more.
        assert (os.strerror(5) if kind == MOUNT else words) in answer, answer


def names(programs: Doors, host: str) -> set[bool]:
    """Return whether Hadoop's programs list a host for the blocks; empty without a program."""
    if not programs:
        return set()
    return {host in answer for answer in ask(programs, "places /shared").values()}


def test_what_another_host_has_in_memory_alone_is_read_through_each_door(
    job: HostJob, doors: Doors
) -> None:
    write(job.stores[1], "folder/alone", CONTENT)
    write(job.stores[3], "other", b"text")
    all_answer(doors, "list /", "folder other")
    all_answer(doors, "list /folder", "alone")
    all_answer(doors, "all /folder/alone", str(zlib.crc32(CONTENT)))
    all_answer(doors, "all /other", str(zlib.crc32(b"text")))
    all_answer(doors, "open /folder/alone", "true")
    all_read(doors, LAST)
    all_read(doors, 5 * BLOCK_BYTES - 5)
    assert job.stores[2].from_peers() >= len(CONTENT)


def test_a_block_that_died_with_its_host_is_an_error_by_name_at_each_door(
    job: HostJob, doors: Doors
) -> None:
    # An older file of this name is not read then.
    write_under(job, "alone", b"older")
    write(job.stores[1], "alone", CONTENT)
    all_answer(doors, "open /alone", "true")
    job.stores[1].signal(signal.SIGKILL)
    all_name_the_dead(doors, f"at {LAST}", f"block {BLOCKS - 1} of cuesta:///alone")
    for question in ("open", "all"):
        all_name_the_dead(doors, f"{question} /alone", "cuesta:///alone")
    # Details that a mount cannot report are in the status.
    peers = job.stores[2].peers()
    assert peers["losses"] > 0
    assert "cuesta:///alone was in the memory" in peers["last_loss"]
    # The restarted store still has it.
    job.stores[1].start()
    job.wait_until_live([1, 2, 3])
    all_answer(doors, "all /alone", str(zlib.crc32(CONTENT)))


def test_a_lost_file_can_be_written_again(job: HostJob) -> None:
    """The error advised to write the file again, and fsspec refused that with the same error. Now
    the write succeeds.
    """
    write(job.stores[1], "alone", CONTENT)
    job.stores[1].signal(signal.SIGKILL)
    job.wait_until_live([2, 3])
    with pytest.raises(Refusal, match="write the file again"):
        read(job.stores[2], "alone")
    write(job.stores[2], "alone", b"again")
    assert read(job.stores[3], "alone") == b"again"


def test_a_full_memory_changes_nothing_of_that(job: HostJob, doors: Doors) -> None:
    write_under(job, "pinned", noise(2, 64 * BLOCK_BYTES))
    job.stores[2].ask("pin", path="/pinned")
    write(job.stores[1], "alone", CONTENT)
    all_answer(doors, "open /alone", "true")
    all_read(doors, LAST - BLOCK_BYTES)
    job.stores[1].signal(signal.SIGKILL)
    all_name_the_dead(doors, f"at {LAST}", f"block {BLOCKS - 1} of cuesta:///alone")


def test_each_door_bypasses_a_host_that_is_cut_off_and_then_the_local_store(
    job: HostJob, doors: Doors
) -> None:
    write_under(job, "shared", CONTENT)
    assert read(job.stores[1], "shared") == CONTENT
    wait_for_places(job, BLOCKS)
    all_answer(doors, "open /shared", "true")
    programs = {kind: door for kind, door in doors.items() if kind == HADOOP}
    assert names(programs, address(1)) <= {True}
    connected(1, False)
    all_read(doors, 20 * BLOCK_BYTES - 5)
    # Any answer is fine, in time.
    names(programs, address(1))
    job.wait_until_live([2, 3])
    assert names(programs, address(1)) <= {False}
    all_read(doors, LAST)
    job.stores[2].signal(signal.SIGKILL)
    all_read(doors, 10 * BLOCK_BYTES - 5)
    # Hadoop's programs open more files there, too.
    if programs:
        all_answer(programs, "all /shared", str(zlib.crc32(CONTENT)))


def test_a_run_reads_what_another_host_has_and_names_what_died_with_it(
    job: HostJob, tmp_path: Path
) -> None:
    records = noise(3, 100 * 2000)
    write(job.stores[1], "records", records)
    words = [sys.executable, "-m", "cuesta", "run", "sort", "cuesta:///records", "--json", "-o"]
    environment = os.environ | {"CUESTA_STORE": str(job.stores[2].folder)}

    def run(name: str) -> subprocess.CompletedProcess[str]:
        command = [*words, str(tmp_path / name)]
        return subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, timeout=60
        )

    done = run("first")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verified"]
    job.stores[1].signal(signal.SIGKILL)
    job.wait_until_live([2, 3])
    done = run("second")
    assert done.returncode == 2, done.stderr
    assert f"cuesta:///records was in the memory of the store at {address(1)}:7070" in done.stderr
