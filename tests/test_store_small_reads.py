"""Reads of a few bytes and of complete files through fsspec, compared with the bytes themselves."""

from __future__ import annotations

import itertools
import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from cuesta.cli.app import call
from cuesta_store import control
from cuesta_store.client import CachedFile, Connection
from cuesta_store.filesystem import CuestaFileSystem
from storekit import BLOCK_BYTES, noise, running_store

RECEIVE = Connection._receive
COPIES_BEFORE_MAPPING = 4
"""As in the Rust code for blocks that a client holds."""


def test_reads_of_any_size_at_any_place_give_the_bytes_of_the_file(tmp_path: Path) -> None:
    with running_store(tmp_path) as store:
        content = store.write("a", noise(1, 5 * BLOCK_BYTES + 321))
        files = CuestaFileSystem(folder=str(store.folder))
        generator = random.Random(2)
        with files.open("/a", "rb") as file:
            for _ in range(3000):
                place = generator.randrange(len(content) + 100)
                count = generator.choice((0, 1, 17, 4096, 8192, 8193, BLOCK_BYTES + 5))
                assert file.seek(place) == place
                assert file.read(count) == content[place : place + count]
                assert file.tell() == max(place, min(place + count, len(content)))
            assert file.seek(-20, 2) == len(content) - 20
            assert file.read() == content[-20:]
            assert file.read() == b""
            assert file.seek(7) == 7
            assert file.read() == content[7:]
            assert file.seek(0) == 0
            assert b"".join(iter(file.readline, b"")) == content
            buffer = bytearray(len(content) + 9)
            file.seek(0)
            assert file.readinto(buffer) == len(content)
            assert buffer[:-9] == content


def test_a_small_read_requests_few_bytes_of_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request_sizes: list[int] = []
    plain = CachedFile.read_into

    def counted(file: CachedFile, buffer: memoryview, offset: int) -> None:
        request_sizes.append(len(buffer))
        plain(file, buffer, offset)

    monkeypatch.setattr(CachedFile, "read_into", counted)
    with running_store(tmp_path) as store:
        content = store.write("a", noise(3, 4 * BLOCK_BYTES))
        files = CuestaFileSystem(folder=str(store.folder))
        with files.open("/a", "rb") as file:
            file.seek(70_000)
            assert file.read(4096) == content[70_000:74_096]
            assert max(request_sizes) <= 8192
            request_sizes.clear()
            file.seek(0)
            assert file.read() == content
            assert request_sizes == [len(content)]


def test_a_block_that_is_read_again_and_again_is_mapped_and_remains_right(tmp_path: Path) -> None:
    with running_store(tmp_path) as store:
        content = store.write("a", noise(4, 2 * BLOCK_BYTES))
        file = CachedFile(store.folder, "/a")
        buffer = bytearray(2 * BLOCK_BYTES)
        for _ in range(COPIES_BEFORE_MAPPING + 3):
            buffer[:] = bytes(len(buffer))
            file.read_into(memoryview(buffer), 0)
            assert buffer == content
        maps = Path("/proc/self/maps").read_text()
        assert maps.count(str(store.folder / "blocks")) == 2
        file.close()
        del file
        assert str(store.folder / "blocks") not in Path("/proc/self/maps").read_text()


@pytest.mark.parametrize(("blocks_of_memory", "held_blocks"), [(44, 22), (90, 40)])
def test_blocks_stay_leased_up_to_half_of_the_memory(
    tmp_path: Path, blocks_of_memory: int, held_blocks: int
) -> None:
    with running_store(tmp_path, memory_bytes=blocks_of_memory * BLOCK_BYTES) as store:
        content = store.write("a", noise(8, 40 * BLOCK_BYTES))
        file = CachedFile(store.folder, "/a")
        buffer = bytearray(len(content))
        for _ in range(2):
            file.read_into(memoryview(buffer), 0)
            assert buffer == content
        assert len(file.held) == held_blocks
        file.close()
        assert len(file.held) == 0
        with pytest.raises(ValueError, match="closed"):
            file.held.readinto(bytearray(1))


@pytest.mark.parametrize(
    ("start", "end"),
    [(None, None), (0, 0), (3, None), (None, 9), (-9, None), (5, -5), (60, 70_000)],
)
def test_a_range_is_what_it_is_of_bytes(tmp_path: Path, start: int | None, end: int | None) -> None:
    with running_store(tmp_path) as store:
        content = store.write("a", noise(5, 2 * BLOCK_BYTES))
        files = CuestaFileSystem(folder=str(store.folder))
        assert files.cat_file("/a", start, end) == content[start:end]


def test_ranges_of_many_files_keep_their_order_and_each_its_error(tmp_path: Path) -> None:
    with running_store(tmp_path) as store:
        a, b = (store.write(name, noise(seed, 99_999)) for seed, name in enumerate("ab"))
        files = CuestaFileSystem(folder=str(store.folder))
        names: list[Any] = ["/a", "/none", "/b", "/a"]
        ranges = files.cat_ranges(names, [1, 2, 3, 70_000], [5, 6, 7, None])
        assert [ranges[0], ranges[2], ranges[3]] == [a[1:5], b[3:7], a[70_000:]]
        assert isinstance(ranges[1], FileNotFoundError)
        assert files.cat_ranges(["/a", "/b"], 8, 16) == [a[8:16], b[8:16]]
        with pytest.raises(FileNotFoundError):
            files.cat_ranges(names, 0, 1, on_error="raise")
        with pytest.raises(ValueError, match="lengths"):
            files.cat_ranges(names, [0], 1)
        (store.under / "folder").mkdir()
        with pytest.raises(IsADirectoryError):
            files.open("/folder", "rb")


def test_a_store_that_reads_parts_at_once_produces_the_same_bytes(tmp_path: Path) -> None:
    with running_store(tmp_path, stripes=4, stripe_bytes=5000) as store:
        content = store.write("a", noise(6, 3 * BLOCK_BYTES + 11))
        files = CuestaFileSystem(folder=str(store.folder))
        assert files.cat_file("/a") == content
        assert files.info("/a")["memory_bytes"] == len(content)
        assert control.ask("scrub", store.folder)["damaged"] == []


def test_a_file_on_servers_is_read_in_as_many_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file is as OrangeFS describes it, by attributes that any file system may have."""
    attributes = {"user.pvfs2.num_dfiles": b"4\0", "user.pvfs2.dist_params": b"strip_size:4096\0"}
    content = noise(7, 3 * BLOCK_BYTES + 11)
    for path, bytes_in in ((tmp_path, None), (tmp_path / "a", content)):
        if bytes_in is not None:
            path.write_bytes(bytes_in)
        for name, value in attributes.items():
            try:
                os.setxattr(path, name, value)
            except OSError:
                pytest.skip(f"no attributes of users on {tmp_path}")
    (tmp_path / "plain").write_bytes(content)
    with running_store(tmp_path, stripe_bytes=5000) as store:
        layout = {"layout": "orangefs", "stripe_size": 4096, "stripe_count": 4}
        assert store.status()["layout"] == layout
        files = CuestaFileSystem(folder=str(store.folder))
        assert files.cat_file("/a") == files.cat_file("/plain") == content
        monkeypatch.setenv("CUESTA_STORE", str(store.folder))
        assert call(["store", "stat", "/a"]) == 0
        assert "orangefs: 4 stripes of 4 KiB" in capsys.readouterr().out
        assert call(["store", "stat", "/plain", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["layout"]["layout"] == "plain"
    monkeypatch.setenv("CUESTA_STORE", str(tmp_path / "store"))
    words = ["--under", str(tmp_path), "--memory", "1MB", "--block", "10000"]
    try:
        assert call(["store", "start", *words]) == 0
        assert "stripes of 4 KiB" in capsys.readouterr().err
    finally:
        call(["store", "stop"])


@pytest.mark.parametrize("step", range(6))
def test_an_abandoned_answer_is_not_taken_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    """The case of ctrl-C in a notebook that continues with the same file."""
    receive, counter = Connection.receive, itertools.count()

    def interrupted(connection: Connection, question: str) -> Any:
        if question == "lease" and next(counter) == step:
            monkeypatch.setattr(Connection, "_receive", _interrupt)
        try:
            return receive(connection, question)
        finally:
            monkeypatch.setattr(Connection, "_receive", RECEIVE)

    with running_store(tmp_path) as store:
        content = store.write("a", noise(5, 6 * BLOCK_BYTES))
        file = CachedFile(store.folder, "/a")
        monkeypatch.setattr(Connection, "receive", interrupted)
        with pytest.raises(KeyboardInterrupt):
            file.read_into(memoryview(bytearray(len(content))), 0)
        for index in (4, 0, 5, 2, 1, 3):
            piece = bytearray(BLOCK_BYTES)
            file.read_into(memoryview(piece), index * BLOCK_BYTES)
            assert piece == content[index * BLOCK_BYTES :][:BLOCK_BYTES]
        file.close()


def _interrupt(_: Connection, __: int) -> bytes:
    raise KeyboardInterrupt


def test_a_question_without_an_answer_is_the_last_of_its_connection(tmp_path: Path) -> None:
    """The case of ctrl-C between question and answer."""
    with running_store(tmp_path) as store:
        content = store.write("a", noise(5, 6 * BLOCK_BYTES))
        file = CachedFile(store.folder, "/a")
        file._connection.send("lease", number=file._number, index=3)
        for index in (1, 2, 0):
            piece = bytearray(BLOCK_BYTES)
            file.read_into(memoryview(piece), index * BLOCK_BYTES)
            assert piece == content[index * BLOCK_BYTES :][:BLOCK_BYTES]
        file.close()


def test_a_process_that_is_forked_does_not_receive_the_answers_of_its_parent(
    tmp_path: Path,
) -> None:
    with running_store(tmp_path) as store:
        content = store.write("a", noise(5, 6 * BLOCK_BYTES))
        file = CachedFile(store.folder, "/a")
        file._connection.send("lease", number=file._number, index=3)
        child = os.fork()
        if child == 0:
            piece = bytearray(BLOCK_BYTES)
            file.read_into(memoryview(piece), 0)
            os._exit(0 if piece == content[:BLOCK_BYTES] else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert file._connection.receive("lease")["path"]
        file.close()
