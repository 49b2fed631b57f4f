"""Disks on this machine with a limited rate, as root: for services without a rate of their own.

A disk is a file as a block device, with a file system. A cluster whose folder is on it, as that of
`testbed.py hdfs up --folder DISK/hdfs`, reads and writes at its rate.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import testbed_held
import testbed_service
from testbed_service import TestbedError

_NAME = "the disk"


@dataclass(frozen=True, kw_only=True)
class Running:
    """Mounted disks: the folder on each, and measured rates, by name."""

    pid: int
    mounts: Sequence[str]
    probed: Mapping[str, float]

    @property
    def mounted(self) -> str:
        """The folders, one on each line."""
        return "\n".join(self.mounts)


@dataclass(frozen=True, kw_only=True)
class Shape:
    """Number of disks and limits of each, as the machine factors of studies; empty is no limit.

    `disk_dirty` bounds what may wait in memory to be written to a disk.
    """

    disks: int = 1
    disk_size: str = "4GiB"
    disk_rate: str = ""
    disk_dirty: str = ""

    def factors(self) -> dict[str, object]:
        """The limits as factors of `cuesta_lab.machines`."""
        limits = {"disk-rate": self.disk_rate, "disk-dirty": self.disk_dirty}
        limits_set = {name: text for name, text in limits.items() if text}
        size = {"disks": self.disks, "disk-size": self.disk_size}
        return {**size, "disk-holds": "input", **limits_set}


def up(folder: Path, shape: Shape | None = None) -> Running:
    """Mount a new disk whose file is in `folder`, or name the one that is there.

    Errors: `TestbedError`.
    """
    folder, shape = folder.resolve(), shape or Shape()
    existing = running(folder)
    if existing:
        return existing
    # The process that holds the disk reports faults of the shape itself.
    lacking = testbed_held.machines().refusal(Shape().factors())
    if lacking:
        raise TestbedError(lacking)
    down(folder)
    state: dict[str, Any] = testbed_held.up(_NAME, __file__, folder, asdict(shape))
    return Running(**state)


def running(folder: Path) -> Running | None:
    """The disk of `folder`."""
    state: dict[str, Any] | None = testbed_service.read_state(folder.resolve())
    return Running(**state) if state else None


def down(folder: Path) -> None:
    """Unmount the disk of `folder`, and remove its files."""
    testbed_held.down(folder.resolve())


def _hold(folder: Path, shape_fields: dict[str, Any]) -> None:
    """Hold a disk until SIGTERM."""
    machines = testbed_held.machines()
    with machines.apply(Shape(**shape_fields).factors(), machines.Place(folder=folder)) as place:
        mounts = [str(mount) for mount in place.input_folders]
        facts = {"mounts": mounts, "probed": dict(place.probed)}
        testbed_held.keep(folder, facts)


if __name__ == "__main__":
    sys.exit(testbed_held.main(_hold, *sys.argv[1:]))
