"""Removes files that MPICH leaves on a node where its processes are killed.

Ranks share memory in `/dev/shm/mpich_shm_*`, and the proxy of `mpiexec` describes the machine to
them in `/tmp/hydra_hwloc_xmlfile_*`; MPICH removes both only at a normal exit.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from cuesta import guardian
from cuesta.guardian import Guardian
from cuesta.processes import age_seconds, identity, lives, start_of, with_variable

MARK = "CUESTA_MPI_LAUNCH"
"""Variable of the environment of a launcher and its ranks."""
_SHARED = ("mpich_shm_*", "ucx_shm_posix_*")
_MEMORY = Path("/dev/shm")
_TOPOLOGY = (Path("/tmp"), "hydra_hwloc_xmlfile_*")
_PROXY = "hydra_pmi_proxy"
_CLOCK_SECONDS = 0.1
"""Possible lag of file times, which are those of the last tick of the kernel's clock."""
_PAUSE_SECONDS = 0.02
PROXY_SECONDS = 15.0
"""Time for a launcher to end its processes."""


def unlink_mapped() -> None:
    """Remove the names of the shared memory of this process: all ranks of its node have it open.

    Call it when all ranks have called `MPI_Init`. MPICH does not need the names after that.
    """
    for path in _mapped("self"):
        with contextlib.suppress(OSError):
            Path(path).unlink()


def watch_command(mark: str) -> Guardian:
    """Start a process that sweeps if this command is killed, once its ranks have ended.

    Those are the processes with `MARK=mark` in their environment. A command may be killed before
    any rank watches.
    """
    since, carried = time.time(), f"{MARK}={mark}".encode()

    def act() -> None:
        deadline = time.monotonic() + PROXY_SECONDS
        while (
            any(with_variable(lambda variable: variable == carried)) and time.monotonic() < deadline
        ):
            time.sleep(_PAUSE_SECONDS)
        clear(since)

    return guardian.start(act)


def watch() -> Guardian:
    """Start a process that sweeps if this rank is killed, once the launcher has ended."""
    since, launcher = time.time() - age_seconds(), identity(os.getppid())

    def act() -> None:
        deadline = time.monotonic() + PROXY_SECONDS
        while launcher and lives(launcher) and time.monotonic() < deadline:
            time.sleep(_PAUSE_SECONDS)
        clear(since)

    return guardian.start(act)


def clear(since: float) -> None:
    """Remove files as `sweep` does, once the processes of a launcher that was killed have ended."""
    deadline = time.monotonic() + PROXY_SECONDS / 3
    while sweep(since) and time.monotonic() < deadline:
        time.sleep(_PAUSE_SECONDS)


def sweep(since: float) -> int:
    """Remove MPICH's files of this account, created since `since`, that no live process uses.

    Returns how many remain because a process may use them.
    """
    made = [path for kind in _SHARED for path in _made(_MEMORY, kind, since)]
    used = set().union(*(_mapped(pid) for pid in _processes())) if made else set()
    for path in made:
        if str(path) not in used:
            with contextlib.suppress(OSError):
                path.unlink()
    described = list(_made(*_TOPOLOGY, since))
    begun = [start_of(int(pid)) for pid in _processes() if _is_proxy(pid)] if described else []
    for path in described:
        # Ranks of a live proxy may still read its file.
        with contextlib.suppress(OSError):
            if not any(at <= path.stat().st_mtime + _CLOCK_SECONDS for at in begun):
                path.unlink()
    return len([path for path in (*made, *described) if path.exists()])


def _made(folder: Path, kind: str, since: float) -> Iterator[Path]:
    """Yield files of this account that were created since `since`."""
    for path in folder.glob(kind):
        with contextlib.suppress(OSError):
            facts = path.lstat()
            if facts.st_uid == os.geteuid() and facts.st_mtime >= since - _CLOCK_SECONDS:
                yield path


def _processes() -> list[str]:
    return [entry.name for entry in os.scandir("/proc") if entry.name.isdigit()]


def _mapped(pid: str) -> set[str]:
    """Return files of MPICH's shared memory that a process has mapped, or has open to map."""
    paths: set[str] = set()
    with contextlib.suppress(OSError):
        for line in Path("/proc", pid, "maps").read_text(errors="replace").splitlines():
            paths.add(line.partition("/")[1] + line.partition("/")[2])
    with contextlib.suppress(OSError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                paths.add(str(Path(entry.path).readlink()))
    return {path for path in paths if Path(path).parent == _MEMORY and _is_shared(path)}


def _is_shared(path: str) -> bool:
    return any(Path(path).match(kind) for kind in _SHARED)


def _is_proxy(pid: str) -> bool:
    try:
        facts = Path("/proc", pid)
        return facts.stat().st_uid == os.geteuid() and (
            facts.joinpath("comm").read_text().strip() == _PROXY[:15]
        )
    except OSError:
        return False
