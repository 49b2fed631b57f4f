"""Memory and cores that a container, a control group or a batch system allots to this process.

Control groups of both versions count, with every group around that of the process. So does an
allocation of Slurm or of PBS where its variables describe one.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path, PurePosixPath
from typing import NamedTuple

_PROCESS = Path("/proc/self")
_MOUNT = "/sys/fs/cgroup"
"""Place of control groups where the list of mounts has none."""

_NO_LIMIT = 1 << 60
"""Bytes from which on a limit of the kernel's first version is none."""


class Allotment(NamedTuple):
    """Limits on this process; None where nothing limits it.

    Attributes
    ----------
    memory_bytes
        Most memory.
    memory_left_bytes
        Memory that its control groups have left, with pages of files that the kernel takes back.
    cores
        Processor time by time, such as 1.5.
    """

    memory_bytes: int | None = None
    memory_left_bytes: int | None = None
    cores: float | None = None


def control_groups(process: Path = _PROCESS, root: Path = Path("/")) -> Allotment:
    """Return the tightest limits of the control groups of a process.

    `process` is its folder of `/proc`, `root` the folder that paths of mounts are below.
    """
    memory, left, cores = [], [], []
    for group in _groups(process, root, "memory"):
        limits = [_number(group / name) for name in ("memory.max", "memory.high")]
        limits.append(_number(group / "memory.limit_in_bytes"))
        known = [limit for limit in limits if limit is not None and limit < _NO_LIMIT]
        if known:
            memory.append(min(known))
            left.append(max(0, min(known) - _resident(group)))
    for group in _groups(process, root, "cpu"):
        cores += _quota(group)
    return Allotment(
        memory_bytes=min(memory, default=None),
        memory_left_bytes=min(left, default=None),
        cores=min(cores, default=None),
    )


def tasks_left(process: Path = _PROCESS, root: Path = Path("/")) -> int | None:
    """Return how many more processes and threads the control groups allow; None for any."""
    left = []
    for group in _groups(process, root, "pids"):
        most, running = _number(group / "pids.max"), _number(group / "pids.current")
        if most is not None:
            left.append(max(0, most - (running or 0)))
    return min(left, default=None)


def batch_system(variables: Mapping[str, str] = os.environ) -> Allotment:
    """Return what a batch system allots to this process on its node, by its variables."""
    slurm = _slurm_cores(variables)
    pbs = _count(variables, "NCPUS", "PBS_NUM_PPN") if variables.get("PBS_JOBID") else 0
    by_node = _count(variables, "SLURM_MEM_PER_NODE")
    cores_of_node = _count(variables, "SLURM_CPUS_ON_NODE") or slurm
    by_core = _count(variables, "SLURM_MEM_PER_CPU") * cores_of_node
    return Allotment(memory_bytes=(by_node or by_core) << 20 or None, cores=slurm or pbs or None)


def threads_for(cores: float) -> int:
    """The number of threads that use so much processor time in full."""
    return max(1, math.ceil(cores - 1e-9))


def _slurm_cores(variables: Mapping[str, str]) -> int:
    """Cores of a task of a step, or those of all tasks on this node for a batch script."""
    on_node = _count(variables, "SLURM_CPUS_ON_NODE")
    per_task = _count(variables, "SLURM_CPUS_PER_TASK")
    if not per_task:
        return on_node
    tasks = re.match(r"\d+", variables.get("SLURM_TASKS_PER_NODE", ""))
    is_task = _count(variables, "SLURM_STEP_NUM_TASKS") > 1
    cores = per_task * (1 if is_task or not tasks else max(1, int(tasks[0])))
    return min(cores, on_node or cores)


def _count(variables: Mapping[str, str], *names: str) -> int:
    texts = (variables.get(name, "") for name in names)
    return next((int(text) for text in texts if text.isascii() and text.isdigit()), 0)


def _groups(process: Path, root: Path, controller: str) -> Iterator[Path]:
    """Folders of the groups of both versions that control `controller`, the inner ones first."""
    for line in _lines(process / "cgroup"):
        _, _, rest = line.partition(":")
        kinds, _, path = rest.partition(":")
        if kinds and controller not in kinds.split(","):
            continue
        for top, place in _mounts(process, kinds, controller):
            inner = PurePosixPath(path)
            is_shown = inner.is_relative_to(top) and ".." not in inner.parts
            within = inner.relative_to(top) if is_shown else PurePosixPath()
            folder = root / place.lstrip("/")
            yield folder / within
            yield from (folder / above for above in within.parents)


@cache
def _mounts(process: Path, kinds: str, controller: str) -> list[tuple[str, str]]:
    """The groups that mounts show and their places: of version 2 where `kinds` is empty.

    They are read once, as the kernel writes the list anew each time; the limits are always read.
    """
    listed = []
    for line in _lines(process / "mountinfo"):
        facts, _, system = line.partition(" - ")
        words, of_system = facts.split(), system.split()
        if len(words) < 5 or len(of_system) < 3:
            continue
        is_first = of_system[0] == "cgroup" and controller in of_system[2].split(",")
        if is_first if kinds else of_system[0] == "cgroup2":
            listed.append((words[3], words[4]))
    return listed or [("/", f"{_MOUNT}/{controller}" if kinds else _MOUNT)]


def _quota(group: Path) -> list[float]:
    words = " ".join(_lines(group / "cpu.max")).split()
    if len(words) == 2 and words[0].isdigit() and words[1].isdigit() and int(words[1]):
        return [int(words[0]) / int(words[1])]
    quota, period = _number(group / "cpu.cfs_quota_us"), _number(group / "cpu.cfs_period_us")
    return [quota / period] if quota and period else []


def _resident(group: Path) -> int:
    """Bytes of a group but its pages of files."""
    used = _number(group / "memory.current") or _number(group / "memory.usage_in_bytes") or 0
    facts = dict(line.split()[:2] for line in _lines(group / "memory.stat") if " " in line)
    prefix = "total_" if "total_inactive_file" in facts else ""
    cached = (int(facts.get(f"{prefix}{kind}_file", 0)) for kind in ("inactive", "active"))
    return max(0, used - sum(cached))


def _number(path: Path) -> int | None:
    text = "".join(_lines(path)).strip()
    return int(text) if text.isascii() and text.isdigit() else None


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
