"""Order of the tests, and an input that several files of them share.

A comparison forks a process for each engine. A process in which TileDB, Spark or Dask has started
threads must not be forked, so tests that run those engines inside pytest come last.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from cuesta.cli.app import call

LAST = (
    "test_conformance",
    "test_engine_array",
    "test_engine_dask",
    "test_engine_spark",
    "test_bench",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the tests of `LAST` to the end, in the order in which they were."""
    items.sort(key=lambda item: item.path.name.startswith(LAST))


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Gene pairs that a thousand repeats take long to read."""
    path = tmp_path_factory.mktemp("large") / "pairs.txt"
    words = "data make clusters --genes 2000 --samples 100 --pairs 200000 --seed 3 -o"
    assert call([*words.split(), str(path)]) == 0
    return path
