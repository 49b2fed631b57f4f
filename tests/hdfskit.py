"""One real HDFS for all tests, of two data nodes with names and racks of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import testbed_hdfs
from testbed_hdfs import Running

BLOCK_BYTES = 64 << 10


@pytest.fixture(scope="session")
def cluster_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the cluster has its files."""
    return tmp_path_factory.mktemp("testbed") / "hdfs"


@pytest.fixture(scope="session")
def cluster(cluster_folder: Path) -> Iterator[Running]:
    """A cluster that runs until the last test; skips without Java or Maven."""
    lacking = testbed_hdfs.missing()
    if lacking:
        pytest.skip(lacking)
    yield testbed_hdfs.up(cluster_folder)
    testbed_hdfs.down(cluster_folder)


def put(running: Running, local: Path, folder: str, block_bytes: int = BLOCK_BYTES) -> str:
    """Copy a file or a folder into a folder there, every block on one node; its URI."""
    with testbed_hdfs.connected(running) as hdfs:
        return hdfs.put(local, folder, block_bytes)


def hosts(running: Running, uri: str) -> list[tuple[int, int, list[str]]]:
    """First byte, length and hosts of every block of a file."""
    with testbed_hdfs.connected(running) as hdfs:
        return hdfs.blocks(uri)
