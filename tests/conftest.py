"""Order of the tests.

A comparison forks a process for each engine. A process in which TileDB or Spark has started threads
must not be forked, so tests that run those engines inside pytest come last.
"""

from __future__ import annotations

import pytest

LAST = ("test_engine_array", "test_engine_spark", "test_bench")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Move the tests of `LAST` to the end, in the order in which they were."""
    items.sort(key=lambda item: item.path.name.startswith(LAST))
