"""Names of any bytes, through each door of the store."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import mountkit
from cuesta_store import control
from cuesta_store.filesystem import CuestaFileSystem
from storekit import RunningStore, running_store

NAMES = [b"caf\xe9.txt", b"\xff\xfe", b"line\nbreak\x80", "\U0010fe80.txt".encode(), b"plain"]
"""Names: Latin-1, no text at all, unusual text, and plain text."""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunningStore]:
    under = tmp_path / "under"
    (under / "d\udce9").mkdir(parents=True)
    for name in NAMES:
        (under / "d\udce9" / os.fsdecode(name)).write_bytes(name)
    with running_store(under) as store:
        monkeypatch.setenv("CUESTA_STORE", str(store.folder))
        yield store


def test_fsspec_lists_reads_and_writes_names_that_are_not_utf8(store: RunningStore) -> None:
    """Such a file was missing from all lists, and a copy of its folder succeeded without it. Now
    names as of `os.listdir` (PEP 383) are in lists, and open the file again.
    """
    files = CuestaFileSystem(folder=str(store.folder))
    listed_names = files.find("/")
    assert sorted(os.fsencode(name) for name in listed_names) == sorted(
        b"/d\xe9/" + n for n in NAMES
    )
    for name in listed_names:
        assert files.cat_file(name) == os.fsencode(name).removeprefix(b"/d\xe9/")
        for mode in ("through", "back", "memory"):
            files.pipe_file(f"{name}-{mode}\udcff", b"new", write_mode=mode)
            assert files.cat_file(f"{name}-{mode}\udcff") == b"new"
        files.rm_file(name)
    control.ask("flush", store.folder, path=None)
    left = {f"{os.fsdecode(n)}-{mode}\udcff" for n in NAMES for mode in ("through", "back")}
    assert {path.name for path in (store.under / "d\udce9").iterdir()} == left


def test_commands_take_and_show_names_that_are_not_utf8(store: RunningStore) -> None:
    command: list[str | bytes] = [sys.executable, "-m", "cuesta", "store"]
    listing_done = subprocess.run([*command, "ls", b"/d\xe9"], capture_output=True, check=True)
    assert rb"caf\xe9.txt" in listing_done.stdout
    cat: list[str | bytes] = [*command, "cat", b"/d\xe9/caf\xe9.txt"]
    printed = subprocess.run(cat, capture_output=True, check=True)
    assert printed.stdout == b"caf\xe9.txt"
    cat[-1] = b"/d\xe9/no\xe9"
    missing = subprocess.run(cat, capture_output=True, check=False)
    assert missing.returncode != 0
    assert rb"cuesta:///d\xe9/no\xe9" in missing.stderr


@pytest.mark.skipif(bool(mountkit.MISSING), reason=mountkit.MISSING)
def test_a_mount_shows_and_copies_names_that_are_not_utf8(tmp_path: Path) -> None:
    """`cp -r` out of a mount returned 0 without the file. Now it copies the file."""
    with mountkit.mounted(tmp_path) as at:
        folder = at.store.under / "d"
        folder.mkdir()
        for name in NAMES:
            (folder / os.fsdecode(name)).write_bytes(name)
        copy = tmp_path / "copy"
        copied = mountkit.system(["cp", "-r", str(at.place / "d"), str(copy)])
        assert copied.returncode == 0, copied.stderr
        assert {os.fsencode(path.name): path.read_bytes() for path in copy.iterdir()} == {
            name: name for name in NAMES
        }
        moved = mountkit.system(["cp", "-r", str(copy), str(at.place / "back\udcff")])
        assert moved.returncode == 0, moved.stderr
        returned = {os.fsencode(path.name) for path in (at.store.under / "back\udcff").iterdir()}
        assert returned == set(NAMES)
