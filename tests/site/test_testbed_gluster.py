"""GlusterFS of the test bed: a real volume of several nodes, and the store in front of it."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

import testbed
import testbed_gluster
import testbed_service
from cuesta.cli.app import call
from cuesta_store import control
from cuesta_store.errors import InputError
from cuesta_store.filesystem import CuestaFileSystem
from storekit import RunningStore, noise, running_store
from testbed_gluster import Running, Shape
from waitkit import wait_for

SHARD_BYTES = 4 << 20
PART = ".*.cuesta-part"
SMALL = Shape(disk_size="256MiB", disk_rate="8MB/s", link_rate="80mbit", shard_size="4MiB")


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Running]]:
    """Folder with a volume that runs until the last test; skips where it is impossible."""
    reason = testbed_gluster.missing()
    if reason:
        pytest.skip(reason)
    folder = tmp_path_factory.mktemp("testbed") / "gluster"
    yield folder, testbed_gluster.up(folder, SMALL)
    testbed_gluster.down(folder)
    assert not folder.exists()


def test_rates_of_disks_and_links_are_measured(bed: tuple[Path, Running]) -> None:
    probed = bed[1].probed
    for disk in (0, 1):
        assert 0 < probed[f"disk_{disk}_read_bytes_per_s"] < 1.3 * 8e6
    assert 0 < probed["link_bits_per_s"] < 1.3 * 80e6


def test_a_volume_that_runs_is_named_again(
    bed: tuple[Path, Running], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, running = bed
    words = ["--folder", str(folder)]
    for command in ("status", "up"):
        assert testbed.main(["gluster", command, *words]) == 0
        assert capsys.readouterr().out == f"{running.mount}\n"


def test_the_store_reads_writes_and_keeps_files_of_several_nodes(
    bed: tuple[Path, Running],
) -> None:
    folder, running = bed
    under = Path(running.mount)
    files = {f"{number}.dat": noise(number, 2 * SHARD_BYTES + 1) for number in range(8)}
    with running_store(under) as store:
        system = CuestaFileSystem(folder=str(store.folder))
        for name, data in files.items():
            system.pipe_file(f"/{name}", data)
        assert all((under / name).read_bytes() == data for name, data in files.items())
        assert all(system.cat_file(f"/{name}") == data for name, data in files.items())
        assert not control.ask("audit", store.folder, reads_bytes=True)["lost"]
    shards = [list(disk.rglob(".shard/*.[0-9]")) for disk in folder.glob("cuesta-disks*/[01]")]
    assert sum(map(len, shards)) == 2 * len(files)
    assert all(shards), "all shards lie on one node"


def test_a_file_that_another_mount_has_changed_is_read_anew(bed: tuple[Path, Running]) -> None:
    under = Path(bed[1].mount)
    (under / "turns").write_bytes(b"before" * 1000)
    with running_store(under) as store:
        system = CuestaFileSystem(folder=str(store.folder))
        assert system.cat_file("/turns") == b"before" * 1000
        (under / "turns").write_bytes(b"behind" * 1000)
        assert system.cat_file("/turns") == b"behind" * 1000


def test_a_flush_and_a_colleague_never_both_make_a_name(bed: tuple[Path, Running]) -> None:
    """A flush renamed its file over a file that a colleague had written while the bytes were
    copied: GlusterFS does not know the flags of `renameat2`. Now either the colleague's new file or
    the flush is refused: both never get the name.
    """
    under = Path(bed[1].mount)
    with running_store(under) as store, ThreadPoolExecutor(1) as colleague:
        system = CuestaFileSystem(folder=str(store.folder))
        for turn in range(20):
            name, our_content = f"turn-{turn}", noise(turn, 100_000)
            system.pipe_file(f"/{name}", our_content, write_mode="memory")
            parts = set(under.glob(PART))
            new_file = colleague.submit(_make_once_it_is_copied, under / name, parts)
            flushed = _is_flushed(store, name)
            assert new_file.result() != flushed, turn
            assert (under / name).read_bytes() == (our_content if flushed else b"of a colleague"), (
                turn
            )
            assert system.cat_file(f"/{name}") == our_content
        control.stop(store.folder, discards=True)


def _make_once_it_is_copied(path: Path, parts: set[Path]) -> bool:
    """Create a new file while another of its name is copied under a hidden name."""
    while not path.exists() and set(path.parent.glob(PART)) <= parts:
        pass
    try:
        with path.open("xb") as file:
            file.write(b"of a colleague")
    except FileExistsError:
        return False
    return True


def _is_flushed(store: RunningStore, name: str) -> bool:
    with suppress(InputError):
        control.ask("flush", store.folder, path=f"/{name}")
        return True
    assert "was changed on the under level" in store.status()["failure"]
    return False


def test_a_sort_that_writes_shards_by_several_threads_is_as_long_as_its_input(
    bed: tuple[Path, Running], tmp_path: Path
) -> None:
    """Its file had a block more in a fifth of the runs, by GlusterFS's count of its length."""
    records = tmp_path / "records"
    assert call(["data", "make", "tera", "--rows", "200000", "-o", str(records)]) == 0
    for number in range(4):
        answer = Path(bed[1].mount) / f"sorted-{number}"
        assert call(["run", "sort", str(records), "--threads", "2", "-o", str(answer)]) == 0
        assert (answer / "sorted.dat").stat().st_size == records.stat().st_size
        shutil.rmtree(answer)


def test_what_a_killed_volume_leaves_is_put_back(tmp_path: Path) -> None:
    if reason := testbed_gluster.missing():
        pytest.skip(reason)
    folder = tmp_path / "gluster"
    running = testbed_gluster.up(folder, Shape(nodes=1, disk_size="128MiB"))
    os.kill(running.pid, signal.SIGKILL)
    wait_for(lambda: not testbed_service.is_ours(running.pid, folder))
    testbed_gluster.down(folder)
    assert not folder.exists()
    assert str(folder) not in Path("/proc/mounts").read_text()


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        (Shape(nodes=17), "--nodes is 17, give 1 to 16"),
        (Shape(disk_rate="fast"), "machine factor disk-rate is 'fast'"),
        (Shape(shard_size="3MiB"), "shard"),
    ],
)
def test_an_impossible_shape_is_reported_in_a_single_line_and_leaves_nothing(
    tmp_path: Path, shape: Shape, message: str
) -> None:
    if reason := testbed_gluster.missing():
        pytest.skip(reason)
    with pytest.raises(testbed_service.TestbedError, match=message):
        testbed_gluster.up(tmp_path / "gluster", shape)
    assert not (tmp_path / "gluster").exists()
