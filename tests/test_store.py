"""The store as its users see it: a daemon, the command line, and all users of fsspec."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import fsspec
import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
import zarr

from cuesta_store import control
from cuesta_store.client import CachedFile
from cuesta_store.control import StoreSettings
from cuesta_store.errors import EngineMissing, InputError
from cuesta_store.filesystem import CuestaFileSystem
from cuesta_store.simulate import simulate
from storekit import BLOCK_BYTES, RunningStore, noise, running_store, store
from waitkit import HANG_SECONDS

__all__ = ["store"]


def cuesta(*words: str) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "cuesta", "store", *words]
    return subprocess.run(command, capture_output=True, check=False)


def test_the_command_line_from_start_to_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUESTA_STORE", str(tmp_path / "s"))
    (tmp_path / "in").mkdir()
    content = noise(1, 300_000)
    (tmp_path / "in/a.bin").write_bytes(content)
    started = cuesta(
        "start", "--memory", "1MiB", "--block", "64KiB", "--under", str(tmp_path / "in")
    )
    assert started.returncode == 0, started.stderr
    assert cuesta("cat", "cuesta:///a.bin").stdout == content
    assert cuesta("scrub").stdout == b""
    assert cuesta("cp", "/a.bin", str(tmp_path / "copy")).returncode == 0
    assert (tmp_path / "copy").read_bytes() == content
    copied = cuesta("cp", "/a.bin", str(tmp_path / "copy"))
    assert (copied.returncode, copied.stderr.count(b"\n")) == (2, 1)
    time.sleep(0.12)
    assert cuesta("load", "/a.bin").returncode == 0
    assert b"100% a.bin" in cuesta("ls").stdout
    status = json.loads(cuesta("status", "--json").stdout)
    assert {"pid", "memory_bytes", "used_bytes", "dirty_bytes", "hits", "misses"} <= status.keys()
    assert status["used_bytes"] == 300_000
    assert b"hits" in cuesta("status").stdout
    assert cuesta("free", "/a.bin").returncode == 0
    assert json.loads(cuesta("stat", "/a.bin", "--json").stdout)["memory_bytes"] == 0
    assert cuesta("pin", "/a.bin").returncode == cuesta("unpin", "/a.bin").returncode == 0
    assert cuesta("stop").returncode == 0
    assert not (tmp_path / "s").exists()
    stopped = cuesta("status")
    assert (stopped.returncode, stopped.stderr.count(b"\n")) == (3, 1)
    assert b"cuesta store start" in stopped.stderr


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["--memory", "1KiB", "--under", "."], b"holds no block"),
        (["--memory", "900PiB", "--under", "."], b"free"),
        (["--memory", "1GiB", "--under", ".", "--policy", "best"], b"no policy best"),
        (["--memory", "1GiB", "--under", ".", "--fresh", "never"], b"--fresh"),
        (["--memory", "1GiB", "--under", "nowhere"], b"nowhere"),
    ],
)
def test_a_store_that_cannot_be_is_refused_in_a_line(
    words: list[str], part: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUESTA_STORE", str(tmp_path / "s"))
    done = cuesta("start", *words)
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1), done.stderr
    assert part in done.stderr
    assert not (tmp_path / "s/socket").exists()


def test_two_stores_do_not_share_a_folder(store: RunningStore) -> None:
    settings = StoreSettings(under=store.under, memory_bytes=1 << 20, block_bytes=1 << 16)
    with pytest.raises(InputError, match="runs in"):
        control.start(settings, store.folder)
    assert store.status()["connections"] == 1


def test_a_signal_releases_the_memory(store: RunningStore) -> None:
    content = store.write("a", noise(1, 200_000))
    with fsspec.open("cuesta:///a") as file:
        assert file.read() == content
        os.kill(store.status()["pid"], signal.SIGTERM)
        while store.folder.exists():
            time.sleep(0.01)
    with pytest.raises(EngineMissing):
        store.status()


def test_a_killed_store_is_started_again_with_what_it_had(store: RunningStore) -> None:
    content = store.write("a", noise(1, 200_000))
    assert fsspec.open("cuesta:///a").open().read() == content
    os.kill(store.status()["pid"], signal.SIGKILL)
    settings = StoreSettings(under=store.under, memory_bytes=1 << 20, block_bytes=BLOCK_BYTES)
    deadline = time.monotonic() + HANG_SECONDS
    while True:
        try:
            status = control.start(settings, store.folder)
            break
        except InputError:  # The killed one is not gone yet.
            assert time.monotonic() < deadline
    assert status["used_bytes"] == 200_000
    assert fsspec.open("cuesta:///a").open().read() == content
    counts = store.status()
    assert (counts["misses"], counts["damaged"]) == (0, 0)


def test_blocks_are_read_without_a_copy_and_outlive_the_store(store: RunningStore) -> None:
    content = store.write("a", noise(1, 3 * BLOCK_BYTES + 5))
    file = CachedFile(store.folder, "/a")
    views = [file.block(index) for index in range(4)]
    assert all(view is not None and view.readonly for view in views)
    assert b"".join(view for view in views if view) == content
    file.close()
    control.stop(store.folder)
    assert b"".join(view for view in views if view) == content


@pytest.mark.parametrize("ends", [signal.SIGKILL, signal.SIGTERM])
def test_a_reader_continues_when_the_store_ends(ends: signal.Signals, store: RunningStore) -> None:
    content = store.write("a", noise(1, 20 * BLOCK_BYTES))
    file, other = CachedFile(store.folder, "/a"), CachedFile(store.folder, "/a")
    buffer = bytearray(len(content))
    file.read_into(memoryview(buffer)[: 2 * BLOCK_BYTES], 0)
    os.kill(store.status()["pid"], ends)
    file.read_into(memoryview(buffer)[BLOCK_BYTES:], BLOCK_BYTES)
    assert buffer == content
    store.write("a", noise(2, 20 * BLOCK_BYTES))
    with pytest.raises(InputError, match="was changed"):
        other.read_into(memoryview(buffer), 0)


def test_a_memory_without_room_still_serves(tmp_path: Path) -> None:
    under = tmp_path / "under"
    under.mkdir()
    with running_store(under, blocks=2) as store:
        content = store.write("a", noise(1, 10 * BLOCK_BYTES))
        file = CachedFile(store.folder, "/a")
        # Not in sequence, so that no block is read ahead and takes the room.
        assert [file.block(index) is None for index in (7, 3, 5)] == [False, False, True]
        other = CachedFile(store.folder, "/a")
        buffer = bytearray(len(content))
        other.read_into(memoryview(buffer), 0)
        assert buffer == content
        assert store.status()["used_bytes"] <= 2 * BLOCK_BYTES


def test_places_in_a_file_are_those_of_any_file(store: RunningStore) -> None:
    content = store.write("a", noise(1, 300_000))
    plain, chance = io.BytesIO(content), np.random.default_rng(2)
    with fsspec.open("cuesta:///a") as file:
        for _ in range(300):
            place, count = int(chance.integers(0, 310_000)), int(chance.integers(0, 150_000))
            assert file.seek(place) == plain.seek(place)
            assert file.read(count) == plain.read(count)
        assert file.seek(-10, io.SEEK_END) == plain.seek(-10, io.SEEK_END)
        assert (file.read(), file.tell()) == (plain.read(), plain.tell())


def test_a_changed_file_is_refused_while_it_is_open_and_new_afterwards(store: RunningStore) -> None:
    store.write("a", noise(1, 300_000))
    file = CachedFile(store.folder, "/a")
    assert file.block(0)
    new = store.write("a", noise(2, 300_000))
    # The next two blocks may have been read ahead, from the opened file.
    with pytest.raises(InputError, match="was changed"):
        file.block(4)
    assert fsspec.open("cuesta:///a").open().read() == new


def test_paths_stay_below_the_root(store: RunningStore, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("s")
    (store.under / "link").symlink_to(tmp_path / "secret")
    (store.under / "out").symlink_to(tmp_path)
    system = CuestaFileSystem()
    for path in ("/../secret", "/link", "/out/secret"):
        with pytest.raises((InputError, OSError)):
            system.cat_file(path)
    for path in ("/../secret", "/out/secret"):
        with pytest.raises((InputError, OSError)):
            system.pipe_file(path, b"mine")
    with pytest.raises((InputError, OSError)):
        system.makedirs("/out/more")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["secret", "under"]
    assert (tmp_path / "secret").read_text() == "s"


def test_libraries_of_the_field_read_and_write_it(store: RunningStore) -> None:
    frame = pd.DataFrame({"gene": np.arange(5000), "score": np.random.default_rng(1).random(5000)})
    frame.to_csv("cuesta:///a/table.csv", index=False)
    pd.testing.assert_frame_equal(pd.read_csv("cuesta:///a/table.csv"), frame)
    frame.to_parquet("cuesta:///a/table.parquet")
    system = CuestaFileSystem()
    assert pq.read_table("/a/table.parquet", filesystem=system).num_rows == 5000
    with fsspec.open("cuesta:///a/table.parquet") as file:
        assert pl.read_parquet(file).height == 5000
    array = zarr.create_array(
        "cuesta:///a/array.zarr", shape=(100, 100), chunks=(30, 30), dtype="f8"
    )
    array[:] = np.arange(10_000).reshape(100, 100)
    array_copy = zarr.open_array("cuesta:///a/array.zarr", mode="r")
    np.testing.assert_array_equal(array_copy[:], np.arange(10_000).reshape(100, 100))
    assert store.status()["hits"] > 0


def test_a_trace_is_recorded_and_simulated(store: RunningStore, tmp_path: Path) -> None:
    store.write("a", noise(1, 3 * BLOCK_BYTES))
    trace = str(tmp_path / "trace.tsv")
    assert cuesta("trace", trace).returncode == 0
    for words in (["trace", trace], ["trace"], ["trace", trace, "--end"]):
        refused = cuesta(*words)
        assert (refused.returncode, refused.stderr.count(b"\n")) == (2, 1)
    for _ in range(4):
        with fsspec.open("cuesta:///a") as file:
            file.read()
    assert cuesta("trace", "--end").returncode == 0
    assert cuesta("trace", "--end").returncode == 2
    simulation = simulate(Path(trace), ["lru"], [4 * BLOCK_BYTES])
    assert (simulation.reads, simulation.blocks, simulation.outcomes[0].hit_reads) == (12, 3, 9)


def test_a_file_has_its_name_once_it_is_complete(store: RunningStore) -> None:
    system = CuestaFileSystem()
    with system.open("/new", "wb") as file:
        file.write(b"some")
        file.flush()
        assert not system.exists("/new")
    assert system.cat_file("/new") == b"some"
    assert [path.name for path in store.under.iterdir()] == ["new"]
    with pytest.raises(FileExistsError):
        system.open("/new", "xb")
    our_file = system.open("/first", "xb")
    system.pipe_file("/first", b"theirs")
    with pytest.raises(FileExistsError):
        our_file.close()
    assert system.cat_file("/first") == b"theirs"
    system.rm_file("/first")
    with pytest.raises(FileNotFoundError):
        system.open("/nowhere")
    system.pipe_file("/a/folder/new", b"more")
    assert system.find("/") == ["/a/folder/new", "/new"]
