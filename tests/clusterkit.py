"""Small clusters for tests that start fast, and checks that no process of them remains."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cuesta.cluster import watchdog

GONE_SECONDS = 120.0
QUICK = ("--with", "mpi", "--set", "stop=2", "--set", "scratch-min=1MiB")
"""Without Spark a cluster starts in half a second."""


def command(*words: str) -> list[str]:
    return [sys.executable, "-m", "cuesta", "cluster", *words]


def call(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run `cuesta cluster` with these words."""
    return subprocess.run(
        command(*words),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env=os.environ | variables,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A folder for a cluster, which is stopped even if the test fails."""
    place = tmp_path / "cluster"
    yield place
    if (place / "cluster.json").exists():
        call("down", str(place))


def state(folder: Path) -> dict[str, Any]:
    cluster_state: dict[str, Any] = json.loads((folder / "cluster.json").read_text())
    return cluster_state


def wait_for(reached: Callable[[], Any], event_name: str, seconds: float = GONE_SECONDS) -> Any:
    """Poll `reached` until it is true; return its result."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        result = reached()
        if result:
            return result
        time.sleep(0.05)
    raise AssertionError(f"waited {seconds} s: {event_name}")


def wait_until_gone(folder: Path) -> None:
    """Wait until no process of the cluster lives."""
    cluster = state(folder)["cluster"]
    try:
        wait_for(lambda: not watchdog.marked(f"{cluster}/"), "nothing of the cluster is left")
    except AssertionError as error:
        left = [words(pid) for pid in watchdog.marked(f"{cluster}/")]
        raise AssertionError(f"{error}: {left}") from None


def words(pid: int) -> str:
    try:
        return Path("/proc", str(pid), "cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def is_in(folder: Path, *states: str) -> Callable[[], bool]:
    """Return a check whether the cluster is in one of these states."""

    def has_state() -> bool:
        return (folder / "cluster.json").exists() and state(folder)["state"] in states

    return has_state
