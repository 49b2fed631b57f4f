"""A Hadoop program's answers on names once its store has ended, or one of another version runs."""

from __future__ import annotations

import json
import os
import signal
import socket
import struct
import threading
import time
from pathlib import Path

from cuesta_store.filesystem import CuestaFileSystem
from hadoopkit import Hadoop, hadoop
from storekit import running_store

__all__ = ["hadoop"]


def test_a_listing_never_leaves_out_what_was_in_memory_alone(
    hadoop: Hadoop, tmp_path: Path
) -> None:
    under = tmp_path / "under"
    (under / "mixed").mkdir(parents=True)
    (under / "mixed/a").write_bytes(b"a")
    (under / "plain").mkdir()
    (under / "plain/a").write_bytes(b"a")
    (under / "plain/gone").symlink_to("nowhere")
    with (
        running_store(under, write="memory") as store,
        hadoop.program(store, "NameLoop", tmp_path) as program,
    ):
        files = CuestaFileSystem(folder=str(store.folder), skip_instance_cache=True)
        for path in ("mixed/b", "new/deep/c"):
            files.pipe_file(path, b"memory")
        assert program.ask("list /mixed") == "ok a b"
        os.kill(store.status()["pid"], signal.SIGKILL)
        time.sleep(0.1)
        for path in ("/mixed", "/new", "/new/deep", "/"):
            answer = program.ask(f"list {path}")
            assert answer.startswith("failed store: cuesta:///"), answer
            assert "is in memory alone, and the store has ended" in answer
        assert "cuesta:///new/deep/c is in memory alone" in program.ask("stat /new/deep")
        assert program.ask("stat /mixed") == "ok folder"
        # A dangling link must not hide the rest.
        assert program.ask("list /plain") == "ok a"
        assert program.ask("list /none").startswith("failed No such file")


def test_a_later_store_of_another_version_is_reported_once_and_refuses_changes(
    hadoop: Hadoop, tmp_path: Path
) -> None:
    under = tmp_path / "under"
    under.mkdir()
    (under / "a").write_bytes(b"a")
    with (
        running_store(under) as store,
        hadoop.program(store, "NameLoop", tmp_path) as program,
    ):
        assert program.ask("list /") == "ok a"
        os.kill(store.status()["pid"], signal.SIGKILL)
        time.sleep(0.1)
        (store.folder / "socket").unlink()
        server = socket.socket(socket.AF_UNIX)
        server.bind(str(store.folder / "socket"))
        server.listen()
        threading.Thread(target=answer_as_another, args=(server,), daemon=True).start()
        assert program.ask("list /") == "ok a"
        assert "store that runs speaks 9" in program.ask("make /b")
        assert program.ask("list /") == "ok a"
        (store.folder / "socket").unlink()
        server.close()
        assert program.end().count("are read past the store in") == 1
    assert not (under / "b").exists()


def answer_as_another(server: socket.socket) -> None:
    """Answer each question as a store of another version."""
    text = json.dumps({"wire": 9, "under": "/", "block_bytes": 1, "memory_bytes": 1}).encode()
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        connection.recv(4096)
        connection.sendall(struct.pack("<II", len(text), 0) + text)
