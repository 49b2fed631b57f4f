"""A trial is limited by factors of the machine, and the machine is always restored."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest

from cuesta.errors import InputError
from cuesta.lab.child import run_in_child
from cuesta_lab import machines
from cuesta_lab.machines import Node, Place, groups, parse
from cuesta_lab.machines.disks import MISS_MAX, missed_rates
from cuesta_lab.machines.journal import Journal

MIB = 1 << 20
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="factors of the machine need root")


def refuse(machine: Mapping[str, object]) -> None:
    """Skip where this machine cannot be limited."""
    reason = machines.refusal(machine)
    if reason:
        pytest.skip(reason)


def state() -> list[str]:
    """Return all of our traces that a machine can have."""
    listings = [
        subprocess.run(words, capture_output=True, text=True, check=False).stdout
        for words in (["losetup", "-a"], ["ip", "netns"], ["ip", "-br", "link"], ["swapon"])
    ]
    lines = "".join(listings).splitlines()
    lines += Path("/proc/mounts").read_text().splitlines()
    lines += [str(path) for path in Path("/sys/fs/cgroup").glob("**/cuesta-*")]
    lines += [path.name for path in Path("/run/cuesta/machines").glob("*")]
    return [line for line in lines if "cuesta" in line or "zram" in line or line.startswith("cu")]


def ours(place: Path) -> list[str]:
    """Return the traces of this process, and those below `place`."""
    return [line for line in state() if f"{os.getpid()}" in line or str(place) in line]


def test_each_factor_has_a_description_and_a_syntax() -> None:
    assert len(machines.NAMES) == 14
    for name, factor in machines.NAMES.items():
        assert factor.name == name
        assert factor.unit
        assert factor.sentence


def test_values_are_read_with_their_units() -> None:
    factors = parse(
        {
            "memory-group": "512MiB",
            "disk-rate": "50MB/s",
            "disk-holds": "scratch, output",
            "link-rate": "1gbit",
            "link-latency": "2ms",
            "cpu-quota": 1.5,
        }
    )
    assert factors.memory_bytes == 512 * MIB
    assert factors.disk_bytes_per_s == 50_000_000
    assert (factors.disks, factors.link_nodes) == (1, 2)
    assert factors.disk_holds == {"scratch", "output"}
    assert (factors.link_bits_per_s, factors.link_seconds, factors.cores) == (1e9, 2e-3, 1.5)
    assert not parse({"huge-pages": "never"}).disks


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("disc-rate", "1MB/s", "machine factor disc-rate is not known; there are memory-group"),
        ("disk-rate", "fast", "machine factor disk-rate is 'fast', give bytes a second"),
        ("disk-rate", "1kB/s", "give at least"),
        ("disks", "0", "give 1 to 16"),
        ("disk-holds", "input swap", "give words of input scratch output"),
        ("file-system", "fat", "give ext2"),
        ("huge-pages", "yes", "give always, madvise or never"),
        ("link-rate", "1GB/s", "give bits a second"),
        ("link-latency", "2", "give seconds"),
        ("cpu-quota", "0", "give cores"),
        ("memory-group", "much", "give bytes"),
    ],
)
def test_an_unreadable_factor_is_reported_in_a_single_line(
    name: str, value: str, message: str
) -> None:
    with pytest.raises(InputError) as caught:
        machines.refusal({name: value})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_without_root_the_refusal_is_a_single_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert machines.refusal({}) is None
    assert machines.refusal({"zram": "1GiB"}) == "machine factor zram needs root"
    with (
        pytest.raises(InputError, match="machine factor disks needs root"),
        machines.apply({"disks": "1"}, Place(folder=tmp_path)),
    ):
        pass
    with machines.apply({}, Place(folder=tmp_path)) as place:
        assert place.nodes == (Node(),)


def test_a_missing_program_is_named_with_what_brings_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr("cuesta_lab.machines.disks.find_command", lambda command: None)
    if Path("/dev/loop-control").exists():
        message = machines.refusal({"file-system": "xfs"})
        assert message == "machine factor file-system needs mkfs.xfs: apt-get install xfsprogs"


def test_control_groups_of_version_2_have_limits_of_a_single_tree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Limits are written to plain files, as this machine may have version 1."""
    monkeypatch.setattr(groups, "ROOT", tmp_path)
    monkeypatch.setattr(groups.second, "__defaults__", (tmp_path,))
    (tmp_path / "cgroup.controllers").write_text("cpu memory\n")
    assert groups.refusal("memory-group", tmp_path) is None
    message = groups.refusal("disk-rate", tmp_path)
    assert message == f"machine factor disk-rate needs the controller io in {tmp_path}/" + (
        "cgroup.controllers"
    )
    journal = Journal({}, tmp_path / "journals")
    factors = parse({"memory-group": "64MiB", "cpu-quota": "1.5", "disk-rate": "1MiB/s"})
    group_paths = groups.make(journal, factors, 0)
    groups.throttle(journal, "7:0", 1 << 20, group_paths)
    assert len(group_paths) == 1
    texts = {file.name: file.read_text() for file in group_paths[0].iterdir()}
    assert texts == {
        "memory.max": str(64 * MIB),
        "cpu.max": "150000 100000",
        "io.max": "7:0 rbps=1048576 wbps=1048576",
    }
    assert groups.make(journal, parse({"huge-pages": "never"}), 0) == ()


def runs(pid: int) -> bool:
    """Return whether a process exists and is no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def write_synced(file: Path, size: int) -> None:
    with file.open("wb") as out:
        out.write(os.urandom(size))
        out.flush()
        os.fsync(out.fileno())


@ROOT_ONLY
def test_disks_have_their_rate_and_hold_what_they_are_to_hold(tmp_path: Path) -> None:
    factors = {"disk-rate": "4MiB/s", "disks": "2", "disk-size": "256MiB"}
    refuse(factors)
    folder = tmp_path / "data"
    folder.mkdir()
    for index in range(4):
        (folder / f"{index}").write_bytes(os.urandom(MIB))
    before = Place(folder=tmp_path, inputs=(str(folder), str(folder / "3"), "hdfs://a/b"))
    with machines.apply(factors, before) as place:
        assert len(place.scratch_folders) == len(place.output_folders) == 2
        copied = Path(place.inputs[0])
        assert {file.name: file.read_bytes() for file in copied.iterdir()} == {
            file.name: file.read_bytes() for file in folder.iterdir()
        }
        where = {file.resolve().parents[3] for file in copied.iterdir()}
        assert where == set(place.disks)
        assert place.inputs[1].startswith(str(place.folder))
        assert place.inputs[2] == "hdfs://a/b"
        rates = [rate for name, rate in place.probed.items() if name.startswith("disk_")]
        assert len(rates) == 4
        # A busy machine is slower, never faster.
        assert all(0 < rate < (1 + MISS_MAX) * 4 * MIB for rate in rates)
        started_s = time.perf_counter()
        write_synced(place.scratch_folders[1] / "spill", 4 * MIB)
        assert time.perf_counter() - started_s > 0.3
    assert ours(tmp_path) == []
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


@ROOT_ONLY
def test_who_writes_waits_once_as_much_as_allowed_is_dirty(tmp_path: Path) -> None:
    factors = {"disk-rate": "2MiB/s", "disk-dirty": "4MiB", "disk-size": "128MiB"}
    refuse(factors)
    with machines.apply(factors, Place(folder=tmp_path)) as place:
        device = place.scratch_folders[0].stat().st_dev
        writeback = Path(f"/sys/class/bdi/{os.major(device)}:{os.minor(device)}")
        assert (writeback / "strict_limit").read_text().strip() == "1"
        started_s = time.perf_counter()
        with (place.scratch_folders[0] / "spill").open("wb", buffering=0) as out:
            for _ in range(8):
                out.write(os.urandom(MIB))
        assert time.perf_counter() - started_s > 0.5
    if writeback.exists():
        assert (writeback / "strict_limit").read_text().strip() == "0"
        assert (writeback / "max_ratio").read_text().strip() == "100"
    assert ours(tmp_path) == []


@ROOT_ONLY
def test_only_a_disk_that_seeks_may_be_slower_than_its_rate() -> None:
    """On ext2 the probe wrote a third of the rate, since it seeks between blocks and tables."""
    rate = {"disk-rate": "110MB/s"}
    slow, fast = {"write": 35e6}, {"write": 200e6}
    disk, seeking = parse(rate), parse(rate | {"disk-seek": "8ms"})
    assert [missed_rates(slow, factors) for factors in (disk, seeking)] == [["write"], []]
    assert missed_rates(fast, seeking) == ["write"]
    assert missed_rates({"write": 110e6}, disk) == []


def test_a_disk_that_seeks_waits_where_a_request_does_not_follow_the_last(tmp_path: Path) -> None:
    factors = {"disk-seek": "8ms", "disk-size": "128MiB", "disk-holds": "scratch"}
    refuse(factors)
    with machines.apply(factors, Place(folder=tmp_path)) as place:
        assert 0.008 <= place.probed["disk_0_random_read_seconds"] <= 0.016
        content = os.urandom(4 * MIB)
        (place.scratch_folders[0] / "spill").write_bytes(content)
        os.sync()
        assert (place.scratch_folders[0] / "spill").read_bytes() == content
    assert ours(tmp_path) == []
    assert "cuesta-seek" not in Path("/proc/mounts").read_text()


@ROOT_ONLY
@pytest.mark.parametrize("kind", ["ext2", "ext4", "xfs", "btrfs"])
def test_a_disk_has_the_requested_file_system(kind: str, tmp_path: Path) -> None:
    from cuesta.machine import filesystem

    factors = {"file-system": kind, "disk-size": "512MiB", "disk-holds": "scratch"}
    refuse(factors)
    with machines.apply(factors, Place(folder=tmp_path, inputs=("x",))) as place:
        assert filesystem(place.scratch_folders[0]) == kind
        assert not place.output_folders
        assert place.inputs == ("x",)
    assert ours(tmp_path) == []


@ROOT_ONLY
def test_a_memory_group_bounds_pages_of_files_too(tmp_path: Path) -> None:
    refuse({"memory-group": "64MiB"})
    with machines.apply({"memory-group": "64MiB"}, Place(folder=tmp_path)) as place:

        def work() -> None:
            place.enter()
            write_synced(tmp_path / "large", 16 * MIB)
            for _ in range(15):
                with (tmp_path / "large").open("ab") as out:
                    out.write(bytes(16 * MIB))
            (tmp_path / "done").write_text(Path("/proc/self/cgroup").read_text())

        run_in_child("work", work)
        assert f"cuesta-{os.getpid()}-0" in (tmp_path / "done").read_text()
        group = next(path for path in place.nodes[0].groups if "unified" not in str(path))
        names = ("memory.max_usage_in_bytes", "memory.peak")
        peaks = [int((group / name).read_text()) for name in names if (group / name).exists()]
        assert max(peaks) <= 64 * MIB
    assert ours(tmp_path) == []


@ROOT_ONLY
def test_a_quota_of_cores_holds_for_all_processes_of_a_node(tmp_path: Path) -> None:
    refuse({"cpu-quota": "0.5"})
    burn = "import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end: pass\n"
    burn += "print(time.process_time())"
    with machines.apply({"cpu-quota": "0.5"}, Place(folder=tmp_path)) as place:
        command = [*place.nodes[0].prefix(), sys.executable, "-c", burn]
        several = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
        used = sum(float(process.communicate()[0]) for process in several)
    assert 0.05 < used < 0.8
    assert ours(tmp_path) == []


@ROOT_ONLY
def test_huge_pages_and_swap_are_as_before_whatever_happened(tmp_path: Path) -> None:
    factors = {"huge-pages": "never", "zram": "64MiB"}
    refuse(factors)
    pages = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    before, swaps = pages.read_text(), Path("/proc/swaps").read_text()

    def fail() -> None:
        with machines.apply(factors, Place(folder=tmp_path)):
            assert "[never]" in pages.read_text()
            assert len(Path("/proc/swaps").read_text()) > len(swaps)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert pages.read_text() == before
    assert Path("/proc/swaps").read_text() == swaps


@ROOT_ONLY
def test_nodes_are_linked_at_the_requested_rate(tmp_path: Path) -> None:
    factors = {"link-rate": "20mbit", "link-nodes": "3", "memory-group": "256MiB"}
    refuse(factors)
    with machines.apply(factors, Place(folder=tmp_path)) as place:
        assert len({node.address for node in place.nodes}) == 3
        assert 0 < place.probed["link_bits_per_s"] < (1 + MISS_MAX) * 20e6
        assert place.probed["link_round_trip_seconds"] > 0
        for node in place.nodes:
            words = [*node.prefix(), "ip", "-br", "addr"]
            output = subprocess.run(words, capture_output=True, text=True, check=True).stdout
            assert node.address in output
        within = subprocess.run(
            ["ip", "-br", "addr"],
            capture_output=True,
            text=True,
            check=True,
            preexec_fn=place.enter,
        )
        assert place.nodes[0].address in within.stdout
    assert ours(tmp_path) == []


@ROOT_ONLY
def test_a_delay_is_added_or_refused(tmp_path: Path) -> None:
    refuse({"link-latency": "5ms"})
    with machines.apply({"link-latency": "5ms"}, Place(folder=tmp_path)) as place:
        assert 0.0095 < place.probed["link_round_trip_seconds"] < 0.02


@ROOT_ONLY
def test_a_rate_that_the_machine_misses_is_refused(tmp_path: Path) -> None:
    factors = {"disk-rate": "1TB/s", "disk-size": "256MiB"}
    refuse(factors)
    with (
        pytest.raises(InputError, match=r"disk-rate: disk 0 writes .* where 931 GiB/s is asked"),
        machines.apply(factors, Place(folder=tmp_path)),
    ):
        pass
    assert ours(tmp_path) == []


@ROOT_ONLY
def test_too_little_room_is_reported_before_anything_is_made(tmp_path: Path) -> None:
    refuse({"disk-size": "64MiB"})
    with (
        pytest.raises(InputError, match=r"disk-size: 1 x 100 TiB are more than"),
        machines.apply({"disk-size": "100TiB"}, Place(folder=tmp_path)),
    ):
        pass
    assert not list(tmp_path.iterdir())


@ROOT_ONLY
def test_what_a_killed_process_leaves_is_put_back_by_the_next(tmp_path: Path) -> None:
    factors = {"disk-rate": "4MiB/s", "disk-size": "128MiB", "memory-group": "1GiB"}
    factors |= {"link-rate": "20mbit", "zram": "64MiB", "huge-pages": "always"}
    refuse(factors)
    pages = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    before = pages.read_text()
    code = f"""
import subprocess, sys, time
from pathlib import Path
from cuesta_lab import machines
with machines.apply({factors!r}, machines.Place(folder=Path({str(tmp_path)!r}))) as place:
    how = dict(preexec_fn=place.enter, cwd=place.disks[0], stdout=subprocess.DEVNULL)
    inner = subprocess.Popen(["sleep", "600"], **how)
    print(inner.pid, flush=True)
    time.sleep(600)
"""
    running = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert running.stdout
    inner = int(running.stdout.readline())
    running.send_signal(signal.SIGKILL)
    running.communicate()
    mark = f"{running.pid}"
    assert any(mark in line for line in state())
    messages = [message for message in machines.sweep() if mark in message]
    assert messages == [f"put back what process {mark}, now killed, had changed of the machine"]
    assert not [line for line in state() if mark in line or str(tmp_path) in line]
    assert pages.read_text() == before
    assert not list(tmp_path.iterdir())
    assert not runs(inner)
