"""Files written through a store: the promise of each mode, and what holds after a failure."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cuesta_store import control
from cuesta_store.client import Connection
from cuesta_store.control import StoreSettings
from cuesta_store.errors import EngineMissing, InputError
from cuesta_store.filesystem import CuestaFileSystem
from cuesta_store.writer import WrittenFile
from storekit import BLOCK_BYTES, RunningStore, noise, running_store, store
from waitkit import wait_for

__all__ = ["store"]

MODES = ("memory", "back", "through", "bypass")
CONTENT = noise(7, 200_000)


def files(store: RunningStore, mode: str | None = None) -> CuestaFileSystem:
    return CuestaFileSystem(folder=str(store.folder), write_mode=mode)


def cuesta(*words: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "cuesta", "store", *words]
    return subprocess.run(command, capture_output=True, check=False)


def settings(store: RunningStore, **changed: Any) -> StoreSettings:
    memory = 32 * BLOCK_BYTES
    store_settings = StoreSettings(under=store.under, memory_bytes=memory, block_bytes=BLOCK_BYTES)
    return replace(store_settings, **changed)


def kill(store: RunningStore) -> None:
    pid = store.status()["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not Path(f"/proc/{pid}").exists() or is_dead(pid))


def is_dead(pid: int) -> bool:
    state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    return state in "ZX"


def leave(into: CuestaFileSystem, path: str, error: Exception) -> None:
    with into.open(path, "wb") as file:
        file.write(CONTENT)
        raise error


def refused(path: Path, content: bytes) -> bool:
    """Check that the folder under the store has another file of this name, or none."""
    return not path.exists() or path.read_bytes() != content


def test_a_block_is_sealed_while_the_next_is_written(
    store: RunningStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store answers in order: its message on a block comes after the place of the next."""
    questions: list[str] = []
    send = Connection.send

    def counted(connection: Connection, question: str, **fields: Any) -> None:
        questions.append(question)
        send(connection, question, **fields)

    monkeypatch.setattr(Connection, "send", counted)
    with WrittenFile(store.folder, "/a", "through") as file:
        file.write(noise(1, 3 * BLOCK_BYTES))
    assert questions == ["create", "place", "place", "seal", "place", "seal", "seal", "commit"]
    assert (store.under / "a").read_bytes() == noise(1, 3 * BLOCK_BYTES)


@pytest.mark.parametrize("mode", MODES)
def test_each_mode_puts_the_bytes_where_it_promises(store: RunningStore, mode: str) -> None:
    files(store, mode).pipe_file("/d/a", CONTENT)
    under = store.under / "d/a"
    if mode in ("bypass", "through"):
        assert under.read_bytes() == CONTENT
    if mode == "memory":
        assert not under.exists()
        assert store.status()["memory_only_bytes"] == len(CONTENT)
    assert files(store).cat_file("/d/a") == CONTENT
    assert [Path(path).name for path in files(store).ls("/d", detail=False)] == ["a"]
    control.ask("flush", store.folder, path="/d/a")
    assert under.read_bytes() == CONTENT
    assert store.status()["dirty_bytes"] == store.status()["memory_only_bytes"] == 0
    audit = control.ask("audit", store.folder, reads_bytes=True)
    assert (audit["files"], audit["lost"], audit["changed"]) == (1, [], [])


def test_files_are_put_flushed_audited_and_removed_by_command(
    store: RunningStore, tmp_path: Path
) -> None:
    (tmp_path / "a").write_bytes(CONTENT)
    for mode in MODES:
        assert cuesta("put", str(tmp_path / "a"), f"/{mode}", "--write", mode).returncode == 0
        assert files(store).cat_file(f"/{mode}") == CONTENT
    wrong = cuesta("put", str(tmp_path / "a"), "/b", "--write", "both")
    assert (wrong.returncode, wrong.stderr.count(b"\n")) == (2, 1)
    assert cuesta("flush").returncode == 0
    assert (store.under / "back").read_bytes() == CONTENT
    assert not (store.under / "memory").exists()
    assert cuesta("flush", "/memory").returncode == 0
    assert (store.under / "memory").read_bytes() == CONTENT
    assert cuesta("audit", "--read").returncode == 0
    (store.under / "through").unlink()
    (store.under / "back").write_bytes(b"of others")
    audited = cuesta("audit", "--json")
    audit = json.loads(audited.stdout)
    assert audited.returncode == 1
    assert [entry["path"] for entry in audit["lost"]] == ["through"]
    assert [entry["path"] for entry in audit["changed"]] == ["back"]
    assert cuesta("rm", "/memory", "/bypass").returncode == 0
    assert sorted(path.name for path in store.under.iterdir()) == ["back"]
    gone = cuesta("rm", "/memory")
    assert (gone.returncode != 0, gone.stderr.count(b"\n")) == (True, 1)


@pytest.mark.parametrize("mode", MODES)
def test_a_file_abandoned_by_an_exception_does_not_exist(store: RunningStore, mode: str) -> None:
    class Left(Exception):
        pass

    files(store, "through").pipe_file("/a", b"before")
    for path in ("/a", "/b"):
        with pytest.raises(Left):
            leave(files(store, mode), path, Left())
    wait_for(lambda: [entry.name for entry in store.under.iterdir()] == ["a"])
    assert files(store).cat_file("/a") == b"before"
    assert not files(store).exists("/b")
    wait_for(lambda: store.status()["used_bytes"] <= len(b"before"))


@pytest.mark.parametrize("mode", MODES)
def test_a_file_that_is_never_closed_does_not_exist(store: RunningStore, mode: str) -> None:
    """Python's own buffer would close the file when its last reference is dropped."""
    files(store, "through").pipe_file("/a", b"before")
    file = files(store, mode).open("/a", "wb")
    file.write(b"half")
    del file
    gc.collect()
    assert files(store).cat_file("/a") == b"before"
    wait_for(lambda: [path.name for path in store.under.iterdir()] == ["a"])


def test_a_renamed_file_leaves_nothing_under_its_old_name(store: RunningStore) -> None:
    """A file in memory alone replaced a file of the folder, and was renamed in memory.

    Then the old file reappeared under the old name. Now nothing is left there.
    """
    files(store, "through").pipe_file("/a", b"before")
    files(store, "memory").pipe_file("/a", CONTENT)
    files(store).mv("/a", "/new/b")
    assert not files(store).exists("/a")
    assert files(store).cat_file("/new/b") == CONTENT
    assert not (store.under / "a").exists()
    assert control.ask("audit", store.folder, reads_bytes=True)["lost"] == []


def test_a_rename_or_removal_that_fails_leaves_the_file_in_the_audit(store: RunningStore) -> None:
    files(store, "through").pipe_file("/a", CONTENT)
    files(store, "through").pipe_file("/d/b", CONTENT)
    with pytest.raises((InputError, OSError)):
        control.ask("rename", store.folder, path="/a", to="/d")
    assert control.ask("audit", store.folder, reads_bytes=True)["files"] == 2
    assert files(store).cat_file("/a") == CONTENT


def test_a_full_memory_refuses_what_is_for_memory_alone(tmp_path: Path) -> None:
    (tmp_path / "under").mkdir()
    content = noise(8, 6 * BLOCK_BYTES)
    with running_store(tmp_path / "under", blocks=4) as store:
        with pytest.raises(InputError, match="no room") as error:
            files(store, "memory").pipe_file("/memory", content)
        assert "\n" not in str(error.value)
        assert not files(store).exists("/memory")
        for mode in ("back", "through"):
            files(store, mode).pipe_file(f"/{mode}", content)
            control.ask("flush", store.folder, path=None)
            assert (store.under / mode).read_bytes() == content
            assert files(store).cat_file(f"/{mode}") == content


@contextmanager
def small_disk(place: Path, size_bytes: int) -> Iterator[Path]:
    """A file system of this size, without room for more."""
    place.mkdir()
    system = ctypes.CDLL(None, use_errno=True)
    words = (b"tmpfs", os.fsencode(place), b"tmpfs", 0, f"size={size_bytes}".encode())
    if system.mount(*words) != 0:
        pytest.skip("mounting a small file system needs root")
    try:
        yield place
    finally:
        system.umount2(os.fsencode(place), 2)


def test_a_disk_that_is_full_or_read_only_loses_nothing(tmp_path: Path) -> None:
    content = noise(9, 3 * BLOCK_BYTES)
    with (
        small_disk(tmp_path / "under", 2 * BLOCK_BYTES) as under,
        running_store(under, write="back") as store,
    ):
        for mode in ("through", "bypass"):
            with pytest.raises((InputError, OSError), match=r"[Nn]o space left on device"):
                files(store, mode).pipe_file("/a", content)
            assert not files(store).exists("/a")
        files(store).pipe_file("/a", content)
        with pytest.raises(InputError, match="No space"):
            control.ask("flush", store.folder, path="/a")
        with pytest.raises(InputError, match=r"1 files .*\(cuesta:///a\).*No space"):
            control.stop(store.folder)
        wait_for(lambda: "No space" in (store.status()["failure"] or ""))
        assert files(store).cat_file("/a") == content
        assert not list(under.glob(".*cuesta-part"))
        files(store, "memory").pipe_file("/b", b"goes on")
        system = ctypes.CDLL(None, use_errno=True)
        remount_readonly = 32 | 1
        assert system.mount(None, os.fsencode(under), None, remount_readonly, None) == 0
        for mode in ("through", "bypass"):
            with pytest.raises((InputError, OSError), match="Read-only"):
                files(store, mode).pipe_file("/c", b"text")
        with pytest.raises(InputError, match="Read-only"):
            control.stop(store.folder, discards_memory=True)
        assert system.mount(None, os.fsencode(under), None, 32, b"size=1m") == 0
        control.ask("flush", store.folder, path="/a")
        assert (under / "a").read_bytes() == content
        assert store.status()["failure"] is None


def block_folder(store: RunningStore) -> None:
    """Write a dirty file that cannot get its name, as a foreign file has it."""
    files(store, "memory").pipe_file("/a", CONTENT)
    (store.under / "a").write_bytes(b"of others")
    with pytest.raises(InputError, match="changed on the under level"):
        control.ask("flush", store.folder, path="/a")


def test_what_cannot_be_written_keeps_a_store_from_stopping(store: RunningStore) -> None:
    block_folder(store)
    stopped = cuesta("stop")
    assert (stopped.returncode, stopped.stderr.count(b"\n")) == (2, 1)
    assert b"1 files are not on the under level yet (cuesta:///a)" in stopped.stderr
    assert files(store).cat_file("/a") == CONTENT
    files(store, "back").pipe_file("/b", CONTENT)
    assert cuesta("stop", "--discard").returncode == 0
    assert not store.folder.exists()
    assert (store.under / "a").read_bytes() == b"of others"


def test_a_signal_brings_what_is_dirty_to_the_disk_or_leaves_it(store: RunningStore) -> None:
    files(store, "back").pipe_file("/a", CONTENT)
    os.kill(store.status()["pid"], signal.SIGTERM)
    wait_for(lambda: not store.folder.exists())
    assert (store.under / "a").read_bytes() == CONTENT
    control.start(settings(store, grace_seconds=0.5), store.folder)
    (store.under / "a").unlink()
    block_folder(store)
    pid = store.status()["pid"]
    os.kill(pid, signal.SIGTERM)
    wait_for(lambda: (store.folder / "remaining").exists())
    wait_for(lambda: not Path(f"/proc/{pid}").exists() or is_dead(pid))
    with pytest.raises(EngineMissing):
        store.status()
    (store.under / "a").unlink()
    control.start(settings(store), store.folder)
    control.ask("flush", store.folder, path=None)
    assert (store.under / "a").read_bytes() == CONTENT


def test_a_killed_store_is_started_again_with_what_was_in_memory_alone(
    store: RunningStore,
) -> None:
    files(store, "memory").pipe_file("/memory", CONTENT)
    block_folder(store)
    kill(store)
    with pytest.raises(InputError, match="in memory alone, in blocks of 65536") as error:
        control.start(settings(store, block_bytes=BLOCK_BYTES // 2), store.folder)
    assert "\n" not in str(error.value)
    (store.under / "a").unlink()
    control.start(settings(store), store.folder)
    assert files(store).cat_file("/memory") == CONTENT
    assert files(store).cat_file("/a") == CONTENT
    assert not (store.under / "memory").exists()
    # It was dirty when the store was killed, and is flushed without a request.
    wait_for(lambda: not refused(store.under / "a", CONTENT))
    assert control.ask("audit", store.folder, reads_bytes=True)["lost"] == []
