"""Clients in Python, and folders and daemons of another account in the place of the store."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import fsspec
import pytest

from adversarykit import call_as_stranger, needs_root
from cuesta_store import control
from cuesta_store.client import CachedFile, Connection
from cuesta_store.errors import EngineMissing, InputError
from cuesta_store.filesystem import CuestaFileSystem
from cuesta_store.page_server import Watch
from cuesta_store.peers import make_secret, peer_settings
from cuesta_store.trusted_folder import TrustedFolder, open_block
from cuesta_store.writer import WrittenFile
from forgerkit import KINDS, forger
from storekit import running_store

CLIENTS: dict[str, Callable[[Path], object]] = {
    "fsspec-open": lambda folder: fsspec.open("cuesta:///x", folder=str(folder)).open().read(),
    "fsspec-ls": lambda folder: CuestaFileSystem(folder=str(folder)).ls("/"),
    "fsspec-pipe": lambda folder: CuestaFileSystem(folder=str(folder)).pipe("/x", b"secret"),
    "fsspec-rm": lambda folder: CuestaFileSystem(folder=str(folder)).rm("/x"),
    "status": control.status,
    "stop": control.stop,
    "cached": lambda folder: CachedFile(folder, "/x"),
    "written": lambda folder: WrittenFile(folder, "/x"),
    "watch": Watch,
}


@needs_root
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("client", CLIENTS)
def test_a_forged_store_is_sent_nothing(client: str, kind: str) -> None:
    """Clients did not check whose store answers: another account forged what was read, and the
    first to make `/dev/shm/cuesta-UID` also chose where files were written. Now they check the
    owner.
    """
    with forger(kind) as forged:
        with pytest.raises(InputError, match=r"nothing was asked of it") as refused:
            CLIENTS[client](forged.folder)
        assert forged.received() == b""
    line = str(refused.value)
    assert "\n" not in line
    assert str(forged.folder) in line
    assert "$CUESTA_STORE" in line


@needs_root
@pytest.mark.parametrize("kind", KINDS)
def test_commands_refuse_a_forged_store_in_a_line(kind: str, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"secret")
    with forger(kind) as forged:
        for words in (("status",), ("put", str(tmp_path / "a"), "/a"), ("stop",)):
            done = subprocess.run(
                [sys.executable, "-m", "cuesta", "store", *words],
                env={**os.environ, "CUESTA_STORE": str(forged.folder)},
                capture_output=True,
                text=True,
                check=False,
            )
            assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
            assert "nothing was asked of it" in done.stderr
        assert forged.received() == b""


def test_a_missing_folder_or_socket_is_no_store(tmp_path: Path) -> None:
    with pytest.raises(EngineMissing, match="no store runs in"):
        Connection(tmp_path / "none")
    (tmp_path / "empty").mkdir(mode=0o700)
    with pytest.raises(EngineMissing, match="no store runs in"):
        Connection(tmp_path / "empty")
    (tmp_path / "odd").mkdir(mode=0o700)
    (tmp_path / "odd" / "socket").write_bytes(b"")
    with pytest.raises(InputError, match="something else under the socket's name"):
        Connection(tmp_path / "odd")
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(InputError, match="is no folder"):
        Connection(tmp_path / "file")


def test_the_checked_folder_is_used_though_its_name_changes(tmp_path: Path) -> None:
    (tmp_path / "under").mkdir()
    with running_store(tmp_path / "under") as store, TrustedFolder(store.folder) as checked:
        moved_folder = store.folder.with_name("moved")
        store.folder.rename(moved_folder)
        store.folder.symlink_to(tmp_path)
        try:
            checked.connect(1.0).close()
            with pytest.raises(InputError, match="is no folder"):
                Connection(store.folder)
        finally:
            store.folder.unlink()
            moved_folder.rename(store.folder)


def test_the_path_of_a_store_may_be_longer_than_that_of_a_socket(tmp_path: Path) -> None:
    long = tmp_path / ("x" * 120)
    long.mkdir()
    with running_store(tmp_path) as store:
        store.folder.rename(long / "store")
        try:
            assert control.status(long / "store")["pid"] == control.status(long / "store")["pid"]
        finally:
            (long / "store").rename(store.folder)


@needs_root
def test_a_block_of_another_account_a_link_and_a_pipe_are_not_opened(tmp_path: Path) -> None:
    block = tmp_path / "block"
    block.write_bytes(b"x")
    os.close(open_block(str(block), os.O_RDWR))
    (tmp_path / "link").symlink_to(block)
    with pytest.raises(OSError, match="symbolic links"):
        open_block(str(tmp_path / "link"), os.O_RDWR)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PermissionError):
        open_block(str(tmp_path / "pipe"), os.O_RDWR)
    os.chown(block, 65534, 65534)
    with pytest.raises(PermissionError):
        open_block(str(block), os.O_RDWR)


def refusal_of_secret(secret: Path) -> str:
    try:
        peer_settings("127.0.0.1", "127.0.0.1:1", secret)
    except InputError as error:
        return str(error)
    return "accepted"


@needs_root
def test_a_secret_of_another_account_is_not_called_missing(tmp_path: Path) -> None:
    """An account that may not read the secret was advised to make another. Now the message names
    the permission.
    """
    make_secret(tmp_path / "secret")
    assert refusal_of_secret(tmp_path / "secret") == "accepted"
    assert "is not there" in refusal_of_secret(tmp_path / "none")
    refused = call_as_stranger(lambda: refusal_of_secret(tmp_path / "secret"))
    assert "your account may not read it" in refused
    assert "can give you a copy" in refused


def test_a_store_imports_no_module_of_the_working_folder(tmp_path: Path) -> None:
    """A planted `json.py` ran as the user that started a store there. Now Python gets -P."""
    (tmp_path / "json.py").write_text("open('trace', 'w')\n")
    (tmp_path / "under").mkdir()
    command = Path(sys.executable).with_name("cuesta")
    environment = os.environ | {"CUESTA_STORE": str(tmp_path / "memory")}
    words = ["--memory", "16MiB", "--block", "1MiB", "--under", "under"]
    for order in (["start", *words], ["stop"]):
        run = [str(command), "store", *order]
        subprocess.run(run, cwd=tmp_path, env=environment, capture_output=True, check=True)
    assert not (tmp_path / "trace").exists()


@pytest.mark.parametrize("content", [b"-----BEGIN KEY-----\n", b"\xff\x00", b"", b"a\nb\nc\n"])
def test_a_file_that_is_no_secret_is_not_replaced(tmp_path: Path, content: bytes) -> None:
    """`store secret FILE` replaced any file. Now it replaces secrets alone."""
    path = tmp_path / "id"
    path.write_bytes(content)
    with pytest.raises(InputError, match="exists and is no secret"):
        make_secret(path)
    assert path.read_bytes() == content
    (tmp_path / "link").symlink_to(tmp_path / "none")
    with pytest.raises(InputError, match="is no secret"):
        make_secret(tmp_path / "link")


def test_a_new_secret_keeps_the_previous_secret(tmp_path: Path) -> None:
    for _ in range(3):
        make_secret(tmp_path / "secret")
    lines = (tmp_path / "secret").read_text().splitlines()
    assert len(lines) == 2
    assert lines[0] != lines[1]
