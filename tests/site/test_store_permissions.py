"""Permission bits of files that Python and Hadoop write: the writer's, or fewer."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import fsspec
import pytest

from cuesta_store import control
from cuesta_store.client import Connection
from cuesta_store.errors import InputError
from cuesta_store.filesystem import CuestaFileSystem
from cuesta_store.permissions import masked
from hadoopkit import Hadoop, hadoop
from storekit import RunningStore, running_store

__all__ = ["hadoop"]

MODES = ("memory", "back", "through", "bypass")


@contextmanager
def umask(bits: int) -> Iterator[None]:
    before = os.umask(bits)
    try:
        yield
    finally:
        os.umask(before)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[RunningStore]:
    (tmp_path / "under").mkdir()
    with umask(0o022), running_store(tmp_path / "under") as running:
        yield running


def bits_of(path: Path) -> str:
    return f"{stat.S_IMODE(path.stat().st_mode):04o}"


def test_bits_are_those_that_the_umask_leaves() -> None:
    for mask, expected in ((0o022, 0o644), (0o077, 0o600), (0o002, 0o664), (0o777, 0)):
        with umask(mask):
            assert masked(0o666) == expected
            assert masked(0o7777) == 0o777 & ~mask


def test_a_daemon_of_a_version_before_makes_files_without_bits(store: RunningStore) -> None:
    connection = Connection(store.folder)
    with pytest.raises(InputError, match="unknown field `more`"):
        connection.ask("create", path="/a", mode=None, more=1)
    connection.close()
    CuestaFileSystem(folder=str(store.folder)).pipe("/d/a", b"x")
    assert (store.under / "d" / "a").read_bytes() == b"x"


@pytest.mark.parametrize("mode", MODES)
def test_python_writes_with_its_umask(store: RunningStore, tmp_path: Path, mode: str) -> None:
    """Files put or piped with umask 077 had mode 644, by the daemon's umask, and a program lost its
    execute bit. Now the writer's bits apply.
    """
    options = {"folder": str(store.folder), "write_mode": mode}
    program = tmp_path / "program"
    program.write_bytes(b"#!/bin/sh\n")
    program.chmod(0o755)
    system = CuestaFileSystem(**options)
    with umask(0o077):
        system.pipe("/private", b"x")
        with fsspec.open("cuesta:///opened", "wt", **options) as file:
            file.write("x")
        system.put(str(program), "/program")
        system.makedirs("/made/inner")
    with umask(0o022):
        system.pipe("/public", b"x")
        system.put(str(program), "/open-program")
        system.cp("/program", "/copied")
        system.get("/program", str(tmp_path / "got"))
        system.get("/private", str(tmp_path / "got-private"))
    for name in ("private", "opened", "program", "public", "open-program", "copied"):
        control.ask("flush", store.folder, path=f"/{name}")
    expected = {
        "private": "0600",
        "opened": "0600",
        "program": "0700",
        "public": "0644",
        "open-program": "0755",
        "copied": "0700",
        "made": "0700",
        "made/inner": "0700",
    }
    assert {name: bits_of(store.under / name) for name in expected} == expected
    assert bits_of(tmp_path / "got") == "0700"
    assert bits_of(tmp_path / "got-private") == "0600"


def test_commands_keep_the_bits(store: RunningStore, tmp_path: Path) -> None:
    variables = {**os.environ, "CUESTA_STORE": str(store.folder)}
    program = tmp_path / "program"
    program.write_bytes(b"#!/bin/sh\n")
    for bits, mask, expected in ((0o755, 0o022, "0755"), (0o755, 0o077, "0700")):
        program.chmod(bits)
        name = f"/p{mask:o}"
        for words in (("put", str(program), name), ("cp", name, f"{program}{mask:o}")):
            command = [sys.executable, "-m", "cuesta", "store", *words]
            subprocess.run(command, check=True, env=variables, umask=mask)
        assert bits_of(store.under / name[1:]) == expected
        assert bits_of(Path(f"{program}{mask:o}")) == expected


def test_hadoop_writes_with_its_umask_and_that_of_its_process(
    hadoop: Hadoop, store: RunningStore, tmp_path: Path
) -> None:
    for mask, file_bits, folder_bits in ((0o022, "0644", "0755"), (0o077, "0600", "0700")):
        with umask(mask), hadoop.program(store, "NameLoop", tmp_path) as program:
            assert program.ask(f"make /d{mask:o}/e") == "ok made"
            assert program.ask(f"write /f{mask:o}") == "ok written"
        assert bits_of(store.under / f"f{mask:o}") == file_bits
        assert bits_of(store.under / f"d{mask:o}" / "e") == folder_bits
        assert bits_of(store.under / f"d{mask:o}") == folder_bits
