"""Control groups of the kernel, version 1 or 2: a limit of memory, of processor time, of disks.

Version 1 has a tree of groups for each kind, and throttles buffered writes only
in the root group of `blkio`. Version 2 has one tree, in which such writes belong to their writer.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from cuesta.errors import EngineError, InputError, in_words
from cuesta_lab.machines.factors import MachineFactors
from cuesta_lab.machines.journal import Journal, Step
from cuesta_lab.machines.system import write

ROOT = Path("/sys/fs/cgroup")
PERIOD_US = 100_000
END_SECONDS = 10.0
"""Seconds that killed processes of a group have to exit."""

GROUP = "group"
RATE = "rate"
_KINDS = {"memory-group": "memory", "cpu-quota": "cpu", "disk-rate": "blkio"}
_SECOND_KINDS = {"memory-group": "memory", "cpu-quota": "cpu", "disk-rate": "io"}
_FIRST_RATES = ("blkio.throttle.read_bps_device", "blkio.throttle.write_bps_device")


def second(root: Path = ROOT) -> bool:
    """Whether control groups here are of version 2."""
    return (root / "cgroup.controllers").is_file()


def refusal(factor: str, root: Path = ROOT) -> str | None:
    """Reason why control groups cannot hold a trial to `factor` here, or None."""
    if second(root):
        kind = _SECOND_KINDS[factor]
        if kind in (root / "cgroup.controllers").read_text().split():
            return None
        return f"machine factor {factor} needs the controller {kind} in {root}/cgroup.controllers"
    kind = _KINDS[factor]
    file = root / kind / (_FIRST_RATES[1] if kind == "blkio" else "cgroup.procs")
    if file.is_file():
        return None
    return f"machine factor {factor} needs control groups: {file} is not there"


def make(journal: Journal, factors: MachineFactors, node: int) -> tuple[Path, ...]:
    """Make the groups of a node, with their limits. Errors: `InputError`."""
    name = f"cuesta-{os.getpid()}-{node}"
    if second():
        return _make_second(journal, factors, name)
    groups = []
    if factors.memory_bytes is not None:
        group = _make(journal, "memory-group", _current_group("memory") / name)
        write("memory-group", group / "memory.limit_in_bytes", str(factors.memory_bytes))
        groups.append(group)
    if factors.cores is not None:
        group = _make(journal, "cpu-quota", _current_group("cpu") / name)
        write("cpu-quota", group / "cpu.cfs_period_us", str(PERIOD_US))
        write("cpu-quota", group / "cpu.cfs_quota_us", str(int(factors.cores * PERIOD_US)))
        groups.append(group)
    return tuple(groups)


def throttle(journal: Journal, device: str, bytes_per_s: int, groups: tuple[Path, ...]) -> None:
    """Limit the rates of a device, `MAJOR:MINOR`. Errors: `InputError`."""
    if second():
        for group in groups:
            limits = f"{device} rbps={bytes_per_s} wbps={bytes_per_s}"
            write("disk-rate", group / "io.max", limits)
        return
    for name in _FIRST_RATES:
        file = ROOT / "blkio" / name
        journal.note(RATE, path=str(file), device=device)
        write("disk-rate", file, f"{device} {bytes_per_s}")


def undo_rate(step: Step) -> None:
    """Remove the rate limit of a device."""
    Path(step["path"]).write_text(f"{step['device']} 0")


def undo_group(step: Step) -> None:
    """Kill the processes of a group, and remove it. Errors: `EngineError` if it remains."""
    group = Path(step["path"])
    deadline = time.monotonic() + END_SECONDS
    while group.is_dir():
        for pid in _members(group):
            if pid != os.getpid():
                _kill(pid)
        try:
            group.rmdir()
        except OSError as error:
            if time.monotonic() > deadline:
                raise EngineError(f"{group}: {in_words(error)}") from None
            time.sleep(0.01)


def _make_second(journal: Journal, factors: MachineFactors, name: str) -> tuple[Path, ...]:
    kinds = {
        "memory-group": factors.memory_bytes is not None,
        "cpu-quota": factors.cores is not None,
        "disk-rate": factors.disk_bytes_per_s is not None,
    }
    names = [factor for factor, wants in kinds.items() if wants]
    # A buffered write belongs to a group only if its memory is counted by group, too.
    needed = {_SECOND_KINDS[factor] for factor in names}
    needed |= {"memory"} if "io" in needed else set()
    for kind in sorted(needed):
        write(names[0], ROOT / "cgroup.subtree_control", f"+{kind}")
    if not names:
        return ()
    group = _make(journal, names[0], ROOT / name)
    if factors.memory_bytes is not None:
        write("memory-group", group / "memory.max", str(factors.memory_bytes))
    if factors.cores is not None:
        quota = f"{int(factors.cores * PERIOD_US)} {PERIOD_US}"
        write("cpu-quota", group / "cpu.max", quota)
    return (group,)


def _make(journal: Journal, factor: str, group: Path) -> Path:
    journal.note(GROUP, path=str(group))
    try:
        group.mkdir()
    except OSError as error:
        raise InputError(f"machine factor {factor}: {group}: {in_words(error)}") from None
    return group


def _current_group(controller: str) -> Path:
    """Return this process's group for a version 1 controller, or the root group if it has none.

    Limits of a group also apply to the groups below it.
    """
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        folder = ROOT / controller / path.lstrip("/")
        if controller in controllers.split(",") and folder.is_dir():
            return folder
    return ROOT / controller


def _members(group: Path) -> list[int]:
    try:
        return [int(pid) for pid in (group / "cgroup.procs").read_text().split()]
    except OSError:
        return []


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except OSError:
        return
