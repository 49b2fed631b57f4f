"""Reading by fsspec after the store was killed: past it, or an error in terms of the store."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from adversarykit import STRANGER_UID, needs_root
from cuesta_store import control, missing
from cuesta_store.client import Connection
from cuesta_store.errors import EngineMissing, InputError
from cuesta_store.filesystem import CuestaFileSystem
from storekit import RunningStore, noise, running_store
from waitkit import wait_for

CONTENT = noise(11, 200_000)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RunningStore]:
    (tmp_path / "under" / "d").mkdir(parents=True)
    (tmp_path / "under" / "d" / "a").write_bytes(CONTENT)
    (tmp_path / "under" / "t.csv").write_bytes(b"x,y\n1,2\n")
    with running_store(tmp_path / "under") as running:
        yield running


def files(store: RunningStore) -> CuestaFileSystem:
    return CuestaFileSystem(folder=str(store.folder), skip_instance_cache=True)


def kill(store: RunningStore) -> None:
    pid = store.status()["pid"]
    os.kill(pid, signal.SIGKILL)
    state = Path(f"/proc/{pid}/stat")
    wait_for(lambda: not state.exists() or state.read_text().rpartition(")")[2].split()[0] in "ZX")


def mark(store: RunningStore) -> None:
    """Write the trace of its under level that a store leaves, where it did not."""
    marker = store.folder / "store.json"
    if not marker.exists():
        text = {"schema": "cuesta.store-folder/1", "under": {"path": str(store.under)}}
        marker.write_text(json.dumps(text))


def test_the_next_open_passes_a_killed_store_as_an_open_file_does(store: RunningStore) -> None:
    """An open file was read on past a killed store, but the next open failed with `EngineMissing`,
    though the file was in the folder under the store. Now it is opened there.
    """
    system = files(store)
    opened = system.open("/d/a", "rb")
    kill(store)
    assert opened.read() == system.open("/d/a").read() == system.cat("/d/a") == CONTENT
    assert system.cat_file("/d/a", 10, -10) == CONTENT[10:-10]
    assert system.cat_ranges(["/d/a"] * 2, [0, 5], [5, 9]) == [CONTENT[:5], CONTENT[5:9]]
    assert system.find("/") == ["/d/a", "/t.csv"]
    assert system.info("/d")["type"] == "directory"
    assert system.size("/d/a") == len(CONTENT)
    options = {"folder": str(store.folder)}
    CuestaFileSystem.clear_instance_cache()
    mark(store)
    # A program that starts now gets the under level from the folder of the store.
    assert pd.read_csv("cuesta:///t.csv", storage_options=options).y.tolist() == [2]
    with pytest.raises(FileNotFoundError):
        system.open("/none")
    with pytest.raises(FileNotFoundError):
        system.open("/t.csv/x")
    with pytest.raises(IsADirectoryError):
        system.open("/d")
    for act in (lambda: system.pipe("/n", b"x"), lambda: system.rm("/t.csv")):
        with pytest.raises(EngineMissing, match=r"store in|no store runs in"):
            act()
    assert (store.under / "t.csv").exists()


def test_what_was_in_memory_alone_is_an_error_by_name(store: RunningStore) -> None:
    system = files(store)
    with system.open("/memory", "wb", write_mode="memory") as file:
        file.write(CONTENT)
    with system.open("/d/a", "wb", write_mode="memory") as file:
        file.write(b"newer")
    with system.open("/new/deep", "wb", write_mode="memory") as file:
        file.write(b"newer")
    assert system.cat("/t.csv") == b"x,y\n1,2\n"
    kill(store)
    questions: list[Any] = [
        lambda: system.open("/memory"),
        lambda: system.cat("/d/a"),
        lambda: system.info("/memory"),
        lambda: system.info("/new"),
        lambda: system.ls("/"),
        lambda: system.ls("/d"),
    ]
    for question in questions:
        with pytest.raises(InputError, match=r"in memory alone, and the store in .* has ended"):
            question()
    assert system.cat("/t.csv") == b"x,y\n1,2\n"
    done = subprocess.run(
        [sys.executable, "-m", "cuesta", "store", "cat", "/memory"],
        env={**os.environ, "CUESTA_STORE": str(store.folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr.count("\n")) == (3, 1)
    assert "the one before was killed and has files" in done.stderr
    assert store.settings is not None
    control.start(store.settings, store.folder)
    assert system.cat("/memory") == CONTENT
    assert system.cat("/d/a") == b"newer"


def test_links_lead_no_further_than_by_the_store(store: RunningStore, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret")
    links = {
        "up": "../outside",
        "far": str(outside),
        "absolute": str(store.under / "d" / "a"),
        "secret": "../outside/secret",
        "through": "d/../../outside/secret",
        "loop": "loop",
        "dangling": "nowhere",
        "below": "t.csv/x",
        "good": "d/./../d/a",
        "folder": "d",
        "chain": "folder/a",
    }
    for name, target in links.items():
        (store.under / name).symlink_to(target)
    os.mkfifo(store.under / "pipe")
    system = files(store)
    system.cat("/t.csv")
    paths = [f"/{name}" for name in links]
    paths += ["/up/secret", "/far/secret", "/folder/a", "/d/a/x", "/pipe", "/d"]

    def answers() -> dict[str, object]:
        return {path: _answer(system, path) for path in paths}

    expected = answers()
    assert expected["/chain"] == expected["/good"] == CONTENT
    names = system.ls("/", detail=False)
    kill(store)
    assert answers() == expected
    assert b"secret" not in expected.values()
    assert system.ls("/", detail=False) == names
    assert system.info("/folder")["islink"]


def _answer(system: CuestaFileSystem, path: str) -> object:
    try:
        return system.cat_file(path)
    except (OSError, InputError) as error:
        return isinstance(error, FileNotFoundError | NotADirectoryError)


@needs_root
def test_the_records_of_another_account_are_not_believed(
    store: RunningStore, tmp_path: Path
) -> None:
    system = files(store)
    system.cat("/t.csv")
    kill(store)
    store.folder.rename(tmp_path / "gone")
    store.folder.mkdir(mode=0o700)
    (store.folder / "store.json").write_text(
        json.dumps({"schema": "cuesta.store-folder/1", "under": {"path": "/etc"}})
    )
    os.chown(store.folder, STRANGER_UID, STRANGER_UID)
    try:
        for question in (lambda: system.cat("/passwd"), lambda: system.ls("/")):
            with pytest.raises(InputError, match="nothing was asked of it"):
                question()
    finally:
        store.folder.rename(tmp_path / "forged")
        (tmp_path / "gone").rename(store.folder)


@needs_root
def test_where_no_store_runs_those_elsewhere_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An account without the secret of a store was told that no store runs. Now the message names
    the stores elsewhere.
    """
    monkeypatch.setattr(missing, "MEMORY_ROOT", tmp_path)
    folder = tmp_path / "cuesta-0"
    with pytest.raises(EngineMissing, match=r"start one by `cuesta store start`$"):
        Connection(folder)
    other = tmp_path / f"cuesta-{STRANGER_UID}"
    other.mkdir(mode=0o700)
    os.chown(other, STRANGER_UID, STRANGER_UID)
    with pytest.raises(EngineMissing, match=r"serves that account alone; .* --secret") as refused:
        Connection(folder)
    assert "\n" not in str(refused.value)
    assert str(other) in str(refused.value)
    with pytest.raises(InputError, match="nothing was asked of it"):
        Connection(other)
    (tmp_path / "under").mkdir()
    with running_store(tmp_path / "under") as store:
        (tmp_path / "cuesta-0000-node").symlink_to(store.folder)
        with pytest.raises(EngineMissing, match="serves that account alone"):
            Connection(folder)
        (tmp_path / "cuesta-0000-node").unlink()
        store.folder.rename(tmp_path / "cuesta-0000-node")
        try:
            with pytest.raises(EngineMissing, match=r"or name yours in .*cuesta-0000-node by"):
                Connection(folder)
        finally:
            (tmp_path / "cuesta-0000-node").rename(store.folder)
