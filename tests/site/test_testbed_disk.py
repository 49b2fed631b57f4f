"""A disk of the test bed: of a measured rate, for the folder of a service."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

import testbed
import testbed_disk
import testbed_service
from cuesta_lab import machines
from testbed_disk import Shape

SLOW = Shape(disk_size="128MiB", disk_rate="2MB/s", disk_dirty="2MiB")


def test_a_disk_holds_what_is_written_to_its_rate(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if reason := machines.refusal(SLOW.factors()):
        pytest.skip(reason)
    folder = tmp_path / "disk"
    words = ["disk", "up", "--folder", str(folder), "--disk-size", "128MiB"]
    assert testbed.main([*words, "--disk-rate", "2MB/s", "--disk-dirty", "2MiB"]) == 0
    mount = Path(capsys.readouterr().out.strip())
    running = testbed_disk.running(folder)
    assert running is not None
    assert 0 < running.probed["disk_0_write_bytes_per_s"] < 1.3 * 2e6
    assert mount.stat().st_dev != folder.stat().st_dev
    started_s = time.monotonic()
    (mount / "file").write_bytes(os.urandom(6_000_000))
    assert time.monotonic() - started_s > 0.7 * 4e6 / 2e6
    assert testbed.main(["disk", "status", "--folder", str(folder)]) == 0
    assert capsys.readouterr().out == f"{mount}\n"
    assert testbed.main(["disk", "down", "--folder", str(folder)]) == 0
    assert not folder.exists()


def test_several_disks_are_mounted_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if reason := machines.refusal(SLOW.factors()):
        pytest.skip(reason)
    folder = tmp_path / "disks"
    words = ["disk", "up", "--folder", str(folder), "--disk-size", "64MiB"]
    assert testbed.main([*words, "--disks", "2"]) == 0
    mounts = [Path(line) for line in capsys.readouterr().out.splitlines()]
    devices = {mount.stat().st_dev for mount in mounts}
    assert len(mounts) == len(devices) == 2
    assert testbed.main(["disk", "down", "--folder", str(folder)]) == 0
    assert not folder.exists()


def test_an_invalid_rate_is_reported_in_a_single_line(tmp_path: Path) -> None:
    if reason := machines.refusal(SLOW.factors()):
        pytest.skip(reason)
    for shape, message in (
        (Shape(disk_rate="fast"), "machine factor disk-rate is 'fast'"),
        (Shape(disk_size="4EiB"), "disk-size|room|space|free"),
    ):
        with pytest.raises(testbed_service.TestbedError, match=message) as caught:
            testbed_disk.up(tmp_path / "disk", shape)
        assert "\n" not in str(caught.value)
        assert not (tmp_path / "disk").exists()
