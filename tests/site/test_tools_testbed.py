"""The test bed starts services that outlive its commands, and ends them without a trace."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import testbed
import testbed_hdfs
import testbed_service
from hdfskit import cluster, cluster_folder, hosts
from testbed_hdfs import Running

__all__ = ["cluster", "cluster_folder"]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process started from `tmp_path` that would sleep for a minute."""
    program = "import time; print('up', flush=True); time.sleep(60)"
    words = [sys.executable, "-c", program, str(tmp_path)]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stdout.readline() == b"up\n"
        yield process
        process.kill()


def test_the_state_file_of_a_folder_is_trusted_while_its_process_lives(
    tmp_path: Path, service: subprocess.Popen[bytes]
) -> None:
    assert testbed_service.read_state(tmp_path) is None
    state = {"pid": service.pid, "uri": "x"}
    testbed_service.write_state(tmp_path, state)
    assert testbed_service.read_state(tmp_path) == state
    assert (tmp_path / "state.json").stat().st_mode & 0o077 == 0
    testbed_service.end(service.pid, tmp_path)
    assert service.wait() < 0
    assert testbed_service.read_state(tmp_path) is None


def test_a_process_that_got_the_number_of_a_dead_service_is_left_alone(
    tmp_path: Path, service: subprocess.Popen[bytes]
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    testbed_service.write_state(other, {"pid": service.pid, "port": 1, "token": "", "uri": "x"})
    testbed_hdfs.down(other)
    assert service.poll() is None
    assert not other.exists()


def test_a_service_that_runs_is_named_again_and_takes_files(
    cluster: Running, cluster_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--folder", str(cluster_folder)]
    for command in ("up", "status"):
        assert testbed.main(["hdfs", command, *words]) == 0
        assert capsys.readouterr().out == f"{cluster.uri}\n"
    file = tmp_path / "a name of [all] sorts%20.txt"
    file.write_bytes(b"x" * 10_000)
    sizes = ["--block-size", "4KiB", "--replication", "2"]
    assert testbed.main(["hdfs", "put", str(file), "some/folder", *sizes, *words]) == 0
    uri = capsys.readouterr().out.removesuffix("\n")
    assert uri == f"{cluster.uri}/some/folder/{file.name}"
    blocks = hosts(cluster, uri)
    assert [(first, length) for first, length, _ in blocks] == [
        (0, 4096),
        (4096, 4096),
        (8192, 1808),
    ]
    assert all(set(names) == {"127.0.0.2", "127.0.0.3"} for _, _, names in blocks)


def test_a_service_that_is_down_is_reported_in_a_single_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--folder", str(tmp_path / "hdfs")]
    assert testbed.main(["hdfs", "status", *words]) == 1
    assert capsys.readouterr().out == "not running\n"
    assert testbed.main(["hdfs", "put", "a", "b", *words]) == 3
    assert "start one with hdfs up" in capsys.readouterr().err
    assert testbed.main(["hdfs", "up", "--datanodes", "0", *words]) == 3
    assert capsys.readouterr().err == "testbed: --datanodes is 0, give 1 to 16\n"
    assert testbed.main(["hdfs", "down", *words]) == 0
