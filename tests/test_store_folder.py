"""The folder of a store: taken over only if it is ours, and released name by name."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

import adversarykit
import cuesta_store
from cuesta_store import control
from cuesta_store.errors import EngineMissing, InputError
from cuesta_store.filesystem import CuestaFileSystem
from cuesta_store.writer import WrittenFile
from storekit import noise
from waitkit import wait_for

NAMES = ("blocks", "files", "writes", "lock", "socket", "ledger", "store.json", "remaining")
TREES = 12
CONTENT = noise(7, 200_000)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short path, as sockets need."""
    with TemporaryDirectory(prefix="cuesta-test-") as place:
        yield Path(place) / "store"
        # A stranger's file may have the name of the socket.
        with suppress(EngineMissing, InputError):
            kill(Path(place) / "store")


@pytest.fixture
def under(tmp_path: Path) -> Path:
    path = tmp_path / "under"
    path.mkdir()
    return path


def cuesta(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "cuesta", "store", *words],
        capture_output=True,
        check=False,
        text=True,
        env=os.environ | {"CUESTA_STORE": str(folder)},
    )


def start(folder: Path, under: Path, *words: str) -> subprocess.CompletedProcess[str]:
    sizes = ("--memory", "8MiB", "--block", "1MiB")
    return cuesta(folder, "start", *sizes, "--under", str(under), *words)


def kill(folder: Path) -> None:
    pid = control.status(folder)["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not Path(f"/proc/{pid}").exists() or "Z" in state(pid))


def state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return "Z"


def write(folder: Path, path: str, mode: str) -> None:
    with WrittenFile(folder, path, mode) as file:
        file.write(CONTENT)


def is_single_line(text: str) -> bool:
    return text.count("\n") == 1


@pytest.mark.parametrize("seed", range(TREES))
def test_a_folder_of_a_stranger_is_refused_and_nothing_in_it_changes(
    folder: Path, under: Path, seed: int
) -> None:
    """`CUESTA_STORE=home cuesta store start ...; store stop` deleted all files in `home`.

    Any folder of the user with mode 0700 was taken over, as many home directories have it.
    Now a foreign folder is refused.
    """
    before = adversarykit.foreign_tree(folder, seed, NAMES)
    folder.chmod(0o700)
    started = start(folder, under)
    assert (started.returncode, is_single_line(started.stderr)) == (2, True), started.stderr
    assert str(folder) in started.stderr
    assert "$CUESTA_STORE" in started.stderr
    assert adversarykit.listing(folder) == before


@pytest.mark.parametrize("seed", range(TREES))
def test_files_of_a_stranger_in_the_folder_of_a_store_outlive_kill_start_and_stop(
    folder: Path, under: Path, seed: int
) -> None:
    """Restarting a killed store and stopping it removed all foreign files in its folder.

    Now only the store's own names are removed.
    """
    assert start(folder, under).returncode == 0
    write(folder, "/a", "through")
    kill(folder)
    mixed = folder if seed % 2 else folder / "blocks"
    our_names = set(adversarykit.listing(folder))
    adversarykit.foreign_tree(mixed, seed, NAMES if seed % 3 else ())
    tree = adversarykit.listing(folder)
    foreign = {name: entry for name, entry in tree.items() if name not in our_names}
    started = start(folder, under)
    assert adversarykit.damage(foreign, adversarykit.listing(folder)) == []
    if started.returncode == 0:
        assert "which no store made" in started.stderr
        stopped = cuesta(folder, "stop")
        assert (stopped.returncode, is_single_line(stopped.stderr)) == (0, True), stopped.stderr
        assert "which no store made" in stopped.stderr
        after = adversarykit.listing(folder)
        assert adversarykit.damage(foreign, after) == []
        assert set(after) - {b"blocks"} == set(foreign)
    else:
        assert is_single_line(started.stderr), started.stderr


def test_a_store_in_a_separate_folder_leaves_nothing(folder: Path, under: Path) -> None:
    assert start(folder, under).returncode == 0
    marker = (folder / "store.json").read_text()
    assert marker.startswith('{"schema":"cuesta.store-folder/1","uid":')
    stopped = cuesta(folder, "stop")
    assert (stopped.returncode, stopped.stderr) == (0, "")
    assert not folder.exists()


def test_dirty_files_of_a_killed_store_are_written_to_their_folder_alone(
    folder: Path, under: Path, tmp_path: Path
) -> None:
    """A store restarted with another --under flushed dirty files into the wrong folder.

    The audit reported "lost", and `stop` dropped files in memory alone. Now they are written to
    their folder.
    """
    second = tmp_path / "second"
    second.mkdir()
    assert start(folder, under).returncode == 0
    write(folder, "/a", "memory")
    (under / "b").mkdir(mode=0o700)
    kill(folder)
    started = start(folder, second)
    assert (started.returncode, is_single_line(started.stderr)) == (2, True)
    for text in (str(folder), "1 file of 200000 bytes (cuesta:///a)", f"--under {under}"):
        assert text in started.stderr
    assert list(second.iterdir()) == []
    assert start(folder, under).returncode == 0
    assert cuesta(folder, "flush", "/a").returncode == 0
    assert (under / "a").read_bytes() == CONTENT
    kill(folder)
    # Nothing is held for the first folder from here on.
    assert start(folder, second).returncode == 0
    assert control.ask("audit", folder, reads_bytes=True)["files"] == 0
    assert cuesta(folder, "stop").returncode == 0
    assert list(second.iterdir()) == []


def test_files_in_memory_alone_keep_a_store_from_stopping_silently(
    folder: Path, under: Path
) -> None:
    """`store stop` dropped files in memory alone with exit 0 and no line. Now it refuses."""
    assert start(folder, under).returncode == 0
    for name in ("/a", "/b", "/c", "/d"):
        write(folder, name, "memory")
    stopped = cuesta(folder, "stop")
    assert (stopped.returncode, is_single_line(stopped.stderr)) == (2, True)
    for text in (
        "4 files are in memory alone",
        "cuesta:///a, cuesta:///b, cuesta:///c, ...",
        "cuesta store flush PATH",
        "--discard-memory-files",
    ):
        assert text in stopped.stderr
    CuestaFileSystem.clear_instance_cache()
    assert CuestaFileSystem(folder=str(folder)).cat_file("/a") == CONTENT
    write(folder, "/e", "back")
    assert cuesta(folder, "flush", "/a").returncode == 0
    stopped = cuesta(folder, "stop", "--discard-memory-files")
    assert (stopped.returncode, stopped.stderr) == (0, "")
    assert sorted(path.name for path in under.iterdir()) == ["a", "e"]
    assert not folder.exists()


def test_a_signal_ends_a_store_and_its_log_names_files_in_memory_alone(
    folder: Path, under: Path, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    settings: dict[str, Any] = {"memory_bytes": 8 << 20, "block_bytes": 1 << 20}
    request = control.to_request(control.StoreSettings(under=under, **settings), folder)
    with log.open("wb") as sink:
        daemon = subprocess.Popen(
            [sys.executable, "-m", "cuesta_store.serve", request], stdout=sink, stderr=sink
        )
    wait_for(lambda: "ready" in log.read_text())
    write(folder, "/a", "memory")
    daemon.send_signal(signal.SIGTERM)
    assert daemon.wait() == 0
    lines = log.read_text().splitlines()
    assert lines[0] == "ready"
    assert lines[1].startswith("store: 1 file is in memory alone: 195.3 KiB (cuesta:///a)")
    assert not folder.exists()


def test_a_missing_native_module_is_reported_with_its_remedy(
    folder: Path, under: Path, tmp_path: Path
) -> None:
    package = Path(cuesta_store.__file__).parent
    without = shutil.ignore_patterns("_native*.so", "jars")
    shutil.copytree(package, tmp_path / "site" / package.name, ignore=without)
    program = "import sys; from cuesta_store.cli.app import main; sys.exit(main())"
    run = subprocess.run(
        [sys.executable, "-c", program, "start", "--under", str(under), "--memory", "8MiB"],
        capture_output=True,
        check=False,
        text=True,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "site"), "CUESTA_STORE": str(folder)},
    )
    assert run.returncode == 2
    assert "install a wheel of cuesta-store" in run.stderr
    assert is_single_line(run.stderr)
