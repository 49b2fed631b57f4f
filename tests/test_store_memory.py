"""The memory of a store: its amount, the files it caches, and what it leaves to the rest."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

from cuesta_store import control
from cuesta_store.client import CachedFile
from cuesta_store.control import StoreSettings
from cuesta_store.errors import EngineMissing, InputError
from cuesta_store.filesystem import CuestaFileSystem
from cuesta_store.rules import FolderRule, folder_rules
from storekit import BLOCK_BYTES, RunningStore, noise, running_store
from waitkit import wait_for

GROUPS = Path("/sys/fs/cgroup/memory")
"""Memory control groups of the kernel's first version."""

TAKER = """
import sys, time
sys.stdin.readline()
taken = []
while len(taken) < 20:
    taken.append(bytes([1]) * (2 << 20))
    time.sleep(0.1)
time.sleep(600)
"""
"""Script that takes 40 MiB, 2 MiB at a time."""


def read(store: RunningStore, name: str) -> bytes:
    """Read a complete file, in pieces smaller than a block."""
    file = CachedFile(store.folder, name)
    buffer = bytearray(file.size_bytes)
    for place in range(0, len(buffer), BLOCK_BYTES // 4):
        view = memoryview(buffer)[place : place + BLOCK_BYTES // 4]
        file.read_into(view, place)
    file.close()
    return bytes(buffer)


def test_repeated_scans_of_more_than_memory_keep_the_cached_blocks(tmp_path: Path) -> None:
    with running_store(tmp_path, blocks=24) as store:
        content = store.write("points", noise(1, 48 * BLOCK_BYTES))
        for _ in range(5):
            assert read(store, "points") == content
        status = store.status()
    assert status["admission"]
    assert status["evictions"] == 0
    assert status["declined"] > 0
    # Each scan but the first hits half of the blocks.
    assert status["hits"] == 4 * 24


def test_another_working_set_comes_in_after_a_few_passes(tmp_path: Path) -> None:
    with running_store(tmp_path, blocks=8) as store:
        for name, seed in (("old", 1), ("new", 2)):
            store.write(name, noise(seed, 8 * BLOCK_BYTES))
            for _ in range(30):
                read(store, name)
        (new,) = control.ask("stat", store.folder, path="new")["entries"]
        assert new["memory_bytes"] == 8 * BLOCK_BYTES


def test_what_a_user_loads_or_pins_comes_though_memory_is_full(tmp_path: Path) -> None:
    with running_store(tmp_path, blocks=4) as store:
        for name in ("read", "loaded", "pinned"):
            store.write(name, noise(len(name), 2 * BLOCK_BYTES))
        store.write("large", noise(3, 4 * BLOCK_BYTES))
        for _ in range(3):
            read(store, "large")
        for name, question in (("loaded", "load"), ("pinned", "pin")):
            assert control.ask(question, store.folder, path=name)["bytes"] == 2 * BLOCK_BYTES


def test_folders_have_quotas_and_uses(tmp_path: Path) -> None:
    rules = folder_rules(
        ["/small=128KiB", "/=4MiB"], ["/kept=pin", "/once=bypass", "/once/but=normal"]
    )
    with running_store(tmp_path, blocks=32, rules=rules) as store:
        contents = {
            name: store.write(name, noise(seed, size * BLOCK_BYTES))
            for seed, (name, size) in enumerate(
                {"small/a": 6, "small/b": 1, "kept/a": 4, "once/a": 2, "once/but/a": 2}.items()
            )
        }
        for name, content in contents.items():
            assert read(store, name) == content
            assert store.status()["quotas"][0]["used_bytes"] <= 2 * BLOCK_BYTES
        status = store.status()
        assert status["pinned_bytes"] == 4 * BLOCK_BYTES
        assert status["quotas"] == [
            {"folder": "small", "quota_bytes": 2 * BLOCK_BYTES, "used_bytes": 2 * BLOCK_BYTES},
            {"folder": "", "quota_bytes": 4 << 20, "used_bytes": 8 * BLOCK_BYTES},
        ]
        once, but = (
            control.ask("stat", store.folder, path=path)["entries"][0]["memory_bytes"]
            for path in ("once/a", "once/but/a")
        )
        assert (once, but) == (0, 2 * BLOCK_BYTES)
        # The user's setting has precedence.
        assert control.ask("load", store.folder, path="once/a")["bytes"] == 2 * BLOCK_BYTES
        assert control.ask("load", store.folder, path="small/a")["bytes"] == 2 * BLOCK_BYTES


def test_wrong_rules_are_refused(tmp_path: Path) -> None:
    for quotas, uses in ((["/a"], []), (["/a=much"], []), ([], ["/a=keep"]), ([], ["pin"])):
        with pytest.raises(InputError, match=r"--quota|--rule"):
            folder_rules(quotas, uses)
    rule = FolderRule(folder="/a/../..", quota_bytes=1)
    settings = StoreSettings(
        under=tmp_path, memory_bytes=1 << 20, block_bytes=1 << 16, rules=(rule,)
    )
    with pytest.raises(InputError):
        control.start(settings, tmp_path / "store")


@pytest.mark.skipif(
    os.geteuid() != 0 or not os.access(GROUPS, os.W_OK) or not (GROUPS / "tasks").exists(),
    reason="control groups of memory need root, and the kernel's first version of them",
)
def test_a_store_remains_within_the_memory_of_its_group(tmp_path: Path) -> None:
    """A group of 160 MiB: of the 256 MiB requested, the store takes what leaves a reserve, and
    releases it while another process of the group needs it.
    """
    group = GROUPS / f"cuesta-test-{os.getpid()}"
    before = current_group()
    try:
        group.mkdir()
        (group / "memory.limit_in_bytes").write_text(str(160 << 20))
    except OSError as error:
        pytest.skip(f"no control group can be made here: {error}")
    under, folder = tmp_path / "under", Path("/dev/shm") / group.name
    under.mkdir()
    try:
        (under / "points").write_bytes(noise(1, 192 << 20))
        time.sleep(0.12)
        (group / "tasks").write_text(str(os.getpid()))
        settings = StoreSettings(under=under, memory_bytes=256 << 20, block_bytes=1 << 20)
        try:
            control.start(settings, folder)
        finally:
            before.joinpath("tasks").write_text(str(os.getpid()))
        store = RunningStore(folder, under)
        read(store, "points")
        status = store.status()
        assert status["limit_bytes"] < 160 << 20 < status["memory_bytes"]
        assert 32 << 20 < status["used_bytes"] <= status["limit_bytes"]
        with subprocess.Popen([sys.executable, "-c", TAKER], stdin=subprocess.PIPE) as taker:
            (group / "tasks").write_text(str(taker.pid))
            assert taker.stdin is not None
            taker.stdin.write(b"go\n")
            taker.stdin.flush()
            wait_for(lambda: store.status()["used_bytes"] <= status["used_bytes"] - (24 << 20))
            taker.kill()
    finally:
        with suppress(EngineMissing):
            control.stop(folder)
        wait_for(lambda: removed(group))


def removed(group: Path) -> bool:
    """Return whether a group could be removed; its last process may still be ending."""
    with suppress(OSError):
        group.rmdir()
    return not group.exists()


def current_group() -> Path:
    """Return the memory group of this process."""
    lines = Path("/proc/self/cgroup").read_text().splitlines()
    (path,) = (line.split(":", 2)[2] for line in lines if "memory" in line.split(":")[1].split(","))
    return GROUPS / path.lstrip("/")


def test_memory_that_is_reserved_beforehand_is_used_and_returned(tmp_path: Path) -> None:
    with running_store(tmp_path, blocks=24, preallocate=True) as store:
        taken_bytes = 21 * BLOCK_BYTES
        wait_for(lambda: store.status()["prepared_bytes"] >= taken_bytes)
        blocks = store.folder / "blocks"
        content = store.write("large", noise(2, 20 * BLOCK_BYTES + 100))
        control.ask("load", store.folder, path="large")
        assert read(store, "large") == content
        # Files smaller than a block need separate memory: the reserved memory is returned.
        for number in range(3 * 24):
            small = store.write(f"small-{number}", noise(number, BLOCK_BYTES // 4))
            assert read(store, f"small-{number}") == small
        wait_for(lambda: in_blocks(store) <= 24 * BLOCK_BYTES)
        control.ask("free", store.folder, path="large")
        wait_for(lambda: store.status()["prepared_bytes"] > 0)
        system = CuestaFileSystem(str(store.folder), skip_instance_cache=True)
        for mode in ("memory", "through", "back"):
            with system.open(f"/written-{mode}", "wb", write_mode=mode) as file:
                file.write(content)
            assert system.cat_file(f"/written-{mode}") == content
        assert read(store, "large") == content
        assert not control.ask("scrub", store.folder).get("damaged")
        assert sum(path.stat().st_size for path in blocks.iterdir()) <= 24 * BLOCK_BYTES


def in_blocks(store: RunningStore) -> int:
    """Return bytes in blocks, or reserved for blocks."""
    status = store.status()
    return int(status["used_bytes"] + status["prepared_bytes"])
