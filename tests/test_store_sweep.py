"""Leftovers of dead stores in the folder, and their sweep, by command and at start."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cuesta_store import control
from cuesta_store.client import Connection
from storekit import RunningStore, running_store
from waitkit import wait_for

PART = ".*.cuesta-part"


@pytest.fixture
def under(tmp_path: Path) -> Path:
    folder = tmp_path / "under"
    (folder / "deep/folder").mkdir(parents=True)
    return folder


@pytest.fixture
def store(under: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningStore]:
    with running_store(under) as store:
        monkeypatch.setenv("CUESTA_STORE", str(store.folder))
        yield store


def cuesta(*words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cuesta", "store", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def die_while_writing(under: Path, *paths: str) -> list[Path]:
    """Kill a store that writes these files and remove its memory, as of a dead node; return its
    parts.
    """
    before = set(under.rglob(PART))
    with running_store(under) as store:
        connections = []
        for path in paths:
            connection = Connection(store.folder)
            connection.ask("create", path=path, mode="through")
            connections.append(connection)
        parts = sorted(set(under.rglob(PART)) - before)
        pid = store.status()["pid"]
        os.kill(pid, signal.SIGKILL)
        wait_for(lambda: not Path(f"/proc/{pid}").exists() or _is_zombie(pid))
        shutil.rmtree(store.folder)
        for connection in connections:
            connection.close()
    assert len(parts) == len(paths)
    return parts


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_parts_of_a_dead_store_are_listed_and_swept_by_command(
    store: RunningStore, under: Path
) -> None:
    """The hidden file of a store whose node died remained for ever, without any report. Now it is
    listed and swept.
    """
    parts = die_while_writing(under, "/top", "/deep/folder/file")
    dry_run = cuesta("sweep", "--dry-run")
    assert dry_run.returncode == 0, dry_run.stderr
    assert all(part.name in dry_run.stdout for part in parts)
    assert all(part.exists() for part in parts)
    swept = cuesta("sweep", "--json")
    outcomes = {part["path"]: part["outcome"] for part in json.loads(swept.stdout)}
    assert outcomes == {str(part.relative_to(under)): "removed" for part in parts}
    assert not list(under.rglob(PART))


def test_a_folder_with_parts_of_a_dead_store_alone_is_removed(
    store: RunningStore, under: Path
) -> None:
    """`rm -r` of a folder that looked empty failed, as it had hidden parts. Now it removes them."""
    die_while_writing(under, "/deep/folder/file")
    removed = cuesta("rm", "/deep/folder", "/deep")
    assert removed.returncode == 0, removed.stderr
    assert not (under / "deep").exists()


def test_parts_that_may_be_of_a_living_store_stay_and_are_named(
    store: RunningStore, under: Path
) -> None:
    """A host of the same name may be writing this part: only a person can decide."""
    (part,) = die_while_writing(under, "/deep/folder/file")
    host, boot, *rest = part.name.removeprefix(".").split("-")
    elsewhere = part.with_name("-".join([f".{host}", f"{int(boot, 16) ^ 1:x}", *rest]))
    part.rename(elsewhere)
    refused = cuesta("rm", "/deep/folder")
    assert refused.returncode != 0
    assert elsewhere.name in refused.stderr
    assert "cuesta store sweep" in refused.stderr
    swept = cuesta("sweep", "--older-than", "1")
    assert "of another host" in swept.stdout
    assert elsewhere.exists()
    assert cuesta("sweep", f"/{elsewhere.relative_to(under)}").returncode == 0
    assert not elsewhere.exists()


def test_a_store_that_starts_sweeps_the_leftovers_of_a_dead_store(under: Path) -> None:
    (part,) = die_while_writing(under, "/top")
    with running_store(under) as store:
        wait_for(lambda: not part.exists())
        wait_for(lambda: control.status(store.folder)["swept"] == [part.name])


def test_a_store_that_runs_keeps_its_parts(store: RunningStore, under: Path) -> None:
    connection = Connection(store.folder)
    connection.ask("create", path="/file", mode="through")
    (part,) = under.glob(PART)
    assert cuesta("sweep", "--older-than", "0").returncode == 0
    assert cuesta("sweep", f"/{part.name}").returncode == 0
    assert part.exists()
    connection.close()
