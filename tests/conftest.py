"""Order of the tests, how their JVMs compile, and an input that several files of them share.

A comparison forks a process for each engine. A process in which TileDB, Spark or Dask has started
threads must not be forked, so tests that run those engines inside pytest come last.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from cuesta.cli.app import call

SHARED = ("", "_sort", "_images", "_kmeans", "_hdfs", "_dataflow", "_assembly")
LAST = (
    "test_conformance",
    "test_bench",
    *(f"test_engine_spark{name}.py" for name in SHARED),
    "test_engine_spark",
    "test_engine_array",
    "test_engine_dask",
)
"""In this order. One after the other come those that share the session of engine `spark`, where the
last two end it; at the end the shortest, so that no process waits long for the other."""
JAVA_TOOL_OPTIONS = "-XX:TieredStopAtLevel=1"
"""JVMs of tests live for seconds: the compiler that takes its time would only take cores."""

SOAK = bool(os.environ.get("CUESTA_SOAK"))

if not SOAK:
    os.environ.setdefault("JAVA_TOOL_OPTIONS", JAVA_TOOL_OPTIONS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the tests of `LAST` to the end, in its order; leave out those of `make soak`."""
    items.sort(key=lambda item: place(item.path.name))
    for item in items:
        if not SOAK and item.get_closest_marker("soak"):
            item.add_marker(pytest.mark.skip(reason="in `make soak`"))


def place(name: str) -> int:
    """Where a file comes: those that are not of `LAST` first."""
    return next((at for at, prefix in enumerate(LAST, 1) if name.startswith(prefix)), 0)


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Gene pairs that a thousand repeats take long to read."""
    path = tmp_path_factory.mktemp("large") / "pairs.txt"
    words = "data make clusters --genes 2000 --samples 100 --pairs 200000 --seed 3 -o"
    assert call([*words.split(), str(path)]) == 0
    return path
