"""A real HDFS for all tests, of two data nodes with separate host and rack names."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import testbed_hdfs
from testbed_hdfs import Running

BLOCK_BYTES = 64 << 10


@pytest.fixture(scope="session")
def cluster_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of the cluster's files, shared by all processes of a test run."""
    base = tmp_path_factory.getbasetemp()
    return (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "hdfs"


@pytest.fixture(scope="session")
def cluster(cluster_folder: Path) -> Iterator[Running]:
    """HDFS that runs until the last test; skips without Java or Maven."""
    reason = testbed_hdfs.missing()
    if reason:
        pytest.skip(reason)
    with counted(cluster_folder.with_name("hdfs-users")) as users:
        service = testbed_hdfs.up(cluster_folder)
        users.write_text(users.read_text() + "x")
    yield service
    with counted(cluster_folder.with_name("hdfs-users")) as users:
        users.write_text(users.read_text()[1:])
        if not users.read_text():
            testbed_hdfs.down(cluster_folder)


@contextmanager
def counted(users: Path) -> Iterator[Path]:
    """Yield a file with a letter for each process that uses the cluster, locked by a single
    process.
    """
    with users.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield users


def put(running: Running, local: Path, folder: str, block_bytes: int = BLOCK_BYTES) -> str:
    """Copy a file or folder into a folder of HDFS, each block on a single node; return its URI."""
    with testbed_hdfs.connected(running) as hdfs:
        return hdfs.put(local, folder, block_bytes)


def hosts(running: Running, uri: str) -> list[tuple[int, int, list[str]]]:
    """Return first byte, length and hosts of each block of a file."""
    with testbed_hdfs.connected(running) as hdfs:
        return hdfs.blocks(uri)
