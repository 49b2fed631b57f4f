"""Order of the tests, JIT options of their JVMs, and an input that several files share.

A comparison forks a process for each engine. A process in which TileDB, Spark or Dask has started
threads must not be forked, so tests that run those engines inside pytest come last.
"""

from __future__ import annotations

import os
from pathlib import Path

import hypothesis
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
"""Test files that run last, in this order.

Files that share the session of engine `spark` are adjacent, and the last two of them end it. The
shortest files are at the end, so that no process waits long for the other.
"""
JAVA_TOOL_OPTIONS = "-XX:TieredStopAtLevel=1"
"""JVMs of tests live for seconds: the optimizing compiler would only take cores."""

os.environ["CUESTA_CONFIG"] = "none"
"""Settings of who runs the tests change no test."""

hypothesis.settings.register_profile(
    "cuesta", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("cuesta")
"""No example has to end in a time: a busy machine fails no test."""

SOAK = bool(os.environ.get("CUESTA_SOAK"))

if not SOAK:
    os.environ.setdefault("JAVA_TOOL_OPTIONS", JAVA_TOOL_OPTIONS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the tests of `LAST` to the end, in its order; drop those of `make soak`."""
    items.sort(key=lambda item: place(item.path.name))
    for item in items:
        if not SOAK and item.get_closest_marker("soak"):
            item.add_marker(pytest.mark.skip(reason="in `make soak`"))


def place(name: str) -> int:
    """Return the rank of a file in the order: files that are not in `LAST` come first."""
    return next((at for at, prefix in enumerate(LAST, 1) if name.startswith(prefix)), 0)


@pytest.fixture(scope="session")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Gene pairs that take long to read with a thousand repeats."""
    path = tmp_path_factory.mktemp("large") / "pairs.txt"
    words = "data make clusters --genes 2000 --samples 100 --pairs 200000 --seed 3 -o"
    assert call([*words.split(), str(path)]) == 0
    return path
