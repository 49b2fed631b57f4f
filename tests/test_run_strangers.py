"""Runs with inputs in the store where another account owns the folder of the store."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from adversarykit import STRANGER_UID, needs_root

ANSWER = b'{"entries":[{"name":"x","is_folder":false,"size_bytes":4,"modified_ns":1}]}'


def _become_stranger() -> None:
    os.setgroups([])
    os.setresgid(STRANGER_UID, STRANGER_UID, STRANGER_UID)
    os.setresuid(STRANGER_UID, STRANGER_UID, STRANGER_UID)


def _forge(folder: Path, ready: int, received: int) -> None:
    """Answer each client in `folder`, and write all received bytes to `received`."""
    _become_stranger()
    folder.mkdir(mode=0o700)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(folder / "socket"))
    listener.listen()
    os.write(ready, b".")
    while True:
        stream, _ = listener.accept()
        while sent := stream.recv(4096):
            os.write(received, sent)
            stream.sendall(len(ANSWER).to_bytes(4, "little") + bytes(4) + ANSWER)


@contextmanager
def _forger() -> Iterator[tuple[Path, int]]:
    """Yield a daemon of another account in its folder, and a pipe with the bytes it was sent."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as public:
        Path(public).chmod(0o777)
        folder = Path(public, "cuesta-0")
        ready_end, ready = os.pipe()
        received_end, received = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                _forge(folder, ready, received)
            finally:
                os._exit(1)
        os.close(received)
        os.close(ready)
        try:
            assert os.read(ready_end, 1) == b"."
            yield folder, received_end
        finally:
            os.kill(child, 9)
            os.waitpid(child, 0)
            os.close(ready_end)
            os.close(received_end)


@needs_root
@pytest.mark.parametrize("words", [("scan", "--min-abs-score", "0.8"), ("sort",)])
def test_a_store_of_another_account_is_not_believed(words: tuple[str, ...], tmp_path: Path) -> None:
    """Clients trusted any listener in the folder of the store.

    Another account that made `/dev/shm/cuesta-1000` first had its forged bytes analysed, and the
    answer "verified". Now they check the owner.
    """
    with _forger() as (folder, received):
        workload, *options = words
        command = [sys.executable, "-m", "cuesta", "run", workload, "cuesta:///x", *options]
        done = subprocess.run(
            [*command, "-o", str(tmp_path / "answer")],
            env={**os.environ, "CUESTA_STORE": str(folder)},
            check=False,
            capture_output=True,
            text=True,
        )
        os.set_blocking(received, False)
        with pytest.raises(BlockingIOError):
            os.read(received, 1)
    assert done.returncode in (2, 3), done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("cuesta: ")]
    assert len(lines) == 1, done.stderr
    for word in (str(folder), f"({STRANGER_UID})", "$CUESTA_STORE"):
        assert word in lines[0]
    assert "no store runs" not in lines[0]
    assert not (tmp_path / "answer" / "run.json").exists()
