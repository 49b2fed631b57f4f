"""Faults around the jar for Hadoop are a single clear line."""

from __future__ import annotations

import json
import socket
import struct
import threading
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from hadoopkit import Hadoop, hadoop
from storekit import RunningStore, running_store

__all__ = ["hadoop"]

READ = ("cuesta.hadoop.ReadLoop", "/a")


def test_a_missing_store_is_reported_in_a_single_line(hadoop: Hadoop, tmp_path: Path) -> None:
    none = RunningStore(tmp_path / "none", tmp_path)
    done = hadoop.run(none, *READ, cwd=tmp_path)
    assert done.returncode == 1
    assert f"no store runs in {none.folder}; start one by `cuesta store start`" in done.stderr


def test_a_store_of_another_version_is_reported_in_a_single_line(
    hadoop: Hadoop, tmp_path: Path
) -> None:
    with TemporaryDirectory(prefix="cuesta-test-") as place:
        server = socket.socket(socket.AF_UNIX)
        server.bind(f"{place}/socket")
        server.listen()
        text = json.dumps({"wire": 9, "under": "/", "block_bytes": 1, "memory_bytes": 1}).encode()

        def answer() -> None:
            connection, _ = server.accept()
            connection.recv(4096)
            connection.sendall(struct.pack("<II", len(text), 0) + text)

        threading.Thread(target=answer, daemon=True).start()
        done = hadoop.run(RunningStore(Path(place), tmp_path), *READ, cwd=tmp_path)
        server.close()
    assert done.returncode == 1
    assert "speaks version 2 of the store's protocol, the store that runs speaks 9" in done.stderr


def test_two_jars_are_named(hadoop: Hadoop, tmp_path: Path) -> None:
    other = tmp_path / "other" / "META-INF" / "cuesta-hadoop-store"
    other.parent.mkdir(parents=True)
    other.write_text("of other sources")
    (tmp_path / "a").write_bytes(b"a")
    two = replace(hadoop, classes=f"{hadoop.classes}:{tmp_path / 'other'}")
    with running_store(tmp_path) as store:
        done = two.run(store, *READ, cwd=tmp_path)
    assert done.returncode == 1
    warning = next(line for line in done.stderr.splitlines() if "two jars" in line)
    assert "cuesta-hadoop-store.jar" in warning
    assert f"{tmp_path / 'other'}; remove one" in warning
