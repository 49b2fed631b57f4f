"""The machine a trial runs on: facts for the record, and limits a trial must respect."""

from __future__ import annotations

import contextlib
import os
import resource
import threading
from pathlib import Path

from cuesta import allotment
from cuesta.errors import MORE_THREADS, InputError
from cuesta.units import format_bytes

_NO_HOME = Path("/nonexistent")
"""The home that systems name for an account that has none: nothing is stored there."""

FILES_MIN = 64
"""Fewest files that a process must be able to open: modules, inputs, locks, pipes of children."""
FILES_MAX = 65536
"""Most files that `raise_limit_of_files` asks for, where the system allows more."""
THREADS_ASIDE = 16
"""Threads of a run beside those that compute: they write, make checksums, report progress."""
TASKS_ENOUGH = 4096
"""Processes and threads of others that a limit of them is expected to leave room for."""
STACK_BYTES = 2 << 20
"""Stack of a thread of the kernels."""
ADDRESS_ASIDE_BYTES = 256 << 20
"""Address space of a run beside its memory limit: code, stacks, what the allocator holds back."""

ARENAS = 1
_M_ARENA_MAX = -8
"""Number of that setting in `malloc.h` of glibc."""


def describe(places: dict[str, Path]) -> dict[str, object]:
    """Facts of this machine; `places` names paths whose file system is of interest."""
    system = os.uname()
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count() or 1,
        "cores_usable": cores_usable(),
        "memory_bytes": memory_bytes(),
        "kernel": f"{system.sysname} {system.release}",
        "filesystems": {name: filesystem(path) for name, path in places.items()},
        "load_average": os.getloadavg()[0],
    }


def cache_folder() -> Path:
    """Return the folder of ceilings, of all machines that share this home."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else home() / ".cache") / "cuesta"


def home() -> Path:
    """The home of this account; a folder that is never there for an account without one."""
    try:
        return Path.home()
    except (RuntimeError, KeyError):
        return _NO_HOME


def expanded(path: str) -> Path:
    """Return a path with `~` and `~NAME` at its start replaced. Errors: `InputError` without a
    home.
    """
    try:
        return Path(path).expanduser()
    except (RuntimeError, KeyError):
        raise InputError(f"{path}: there is no such home; write the path in full") from None


def check_room(scratch: Path, need_bytes: int, what: str) -> None:
    """Refuse copies that have no room. Errors: `InputError`."""
    if need_bytes > free_bytes(scratch):
        raise InputError(
            f"{scratch}: {what}, {format_bytes(need_bytes)}, there, which is more than is free; "
            "choose another --scratch"
        )


def cores_usable() -> int:
    """Return the cores this process may use: the fewest of its mask, control groups and batch
    system.
    """
    allotted = (allotment.control_groups().cores, allotment.batch_system().cores)
    counts = [allotment.threads_for(cores) for cores in allotted if cores is not None]
    return min([len(os.sched_getaffinity(0)), *counts])


def cpu_model() -> str:
    """Return the name of the processor, or its architecture where it has no name."""
    for line in _lines("/proc/cpuinfo"):
        name, _, value = line.partition(":")
        if name.strip() in ("model name", "cpu model", "Model"):
            return " ".join(value.split())
    return os.uname().machine


def memory_bytes() -> int:
    """Memory of the machine, or less where a control group, a batch system or `ulimit` says so."""
    return _memory_bytes(allotment.control_groups())


def _memory_bytes(groups: allotment.Allotment) -> int:
    allotted = (groups.memory_bytes, allotment.batch_system().memory_bytes)
    total = min([_meminfo("MemTotal"), *filter(None, allotted)])
    space = address_space_bytes()
    return total if space is None else min(total, max(0, space - ADDRESS_ASIDE_BYTES))


def address_space_bytes() -> int | None:
    """Address space that `ulimit -v` leaves to this process; None where nothing limits it."""
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft == resource.RLIM_INFINITY:
        return None
    pages = int(_lines("/proc/self/statm")[0].split()[0])
    return max(0, soft - pages * resource.getpagesize())


def check_address_space(memory_bytes: int) -> None:
    """Refuse a memory limit that does not fit in the address space. Errors: `InputError`."""
    space = address_space_bytes()
    # A part of what was set aside is used by now.
    aside = ADDRESS_ASIDE_BYTES // 2
    if space is not None and memory_bytes + aside > space:
        raise InputError(
            f"`ulimit -v` leaves this process {format_bytes(space)}, and it needs "
            f"{format_bytes(aside)} beside its --memory of {format_bytes(memory_bytes)}; raise "
            "that limit, or give less --memory"
        )


def check_threads(threads: int) -> None:
    """Refuse to start where the system lets this process have no more threads.

    Stacks must fit in the address space. Where a limit of users or of control groups may be near,
    threads are started and ended. Errors: `InputError`.
    """
    space = address_space_bytes()
    if space is not None and space // STACK_BYTES < threads + THREADS_ASIDE:
        raise InputError(_few_threads(space // STACK_BYTES, threads))
    if not _may_lack_threads(threads + THREADS_ASIDE):
        return
    release, started = threading.Event(), list[threading.Thread]()
    before = threading.stack_size(STACK_BYTES)
    try:
        for _ in range(threads + THREADS_ASIDE):
            thread = threading.Thread(target=release.wait, daemon=True)
            thread.start()
            started.append(thread)
    except (RuntimeError, MemoryError):
        raise InputError(_few_threads(len(started), threads)) from None
    finally:
        threading.stack_size(before)
        release.set()
        for thread in started:
            thread.join()


def _few_threads(count: int, threads: int) -> str:
    return (
        f"this process may start {count} more threads only, and needs {threads + THREADS_ASIDE} "
        f"for --threads {threads}; {MORE_THREADS}"
    )


def _may_lack_threads(threads: int) -> bool:
    user, _ = resource.getrlimit(resource.RLIMIT_NPROC)
    is_small = user != resource.RLIM_INFINITY and user < threads + TASKS_ENOUGH
    left = allotment.tasks_left()
    is_crowded = left is not None and left < threads + TASKS_ENOUGH
    return is_small or is_crowded


def memory_available_bytes() -> int:
    """Memory that can be allocated without evicting other data."""
    groups = allotment.control_groups()
    available = min(_memory_bytes(groups), _meminfo("MemAvailable"))
    left = groups.memory_left_bytes
    return available if left is None else min(available, left)


def raise_limit_of_files() -> None:
    """Let this process open as many files as the system allows, up to a bound."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = FILES_MAX if hard == resource.RLIM_INFINITY else min(hard, FILES_MAX)
    if soft != resource.RLIM_INFINITY and soft < highest:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (highest, hard))


def share_arenas() -> None:
    """Let all threads of this process share a few arenas of memory where `ulimit -v` bounds it.

    glibc reserves 64 MiB of addresses for each of eight arenas a core, which then lack to stacks.
    """
    if address_space_bytes() is None:
        return
    import ctypes

    os.environ.setdefault("MALLOC_ARENA_MAX", str(ARENAS))
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, ARENAS)


def check_limit_of_files() -> None:
    """Refuse to start with too few files. Errors: `InputError`."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < FILES_MIN:
        raise InputError(
            f"this process may open {soft} files only, and needs {FILES_MIN}; raise the limit, as "
            "by `ulimit -n 1024`, or ask the administrator to"
        )


def filesystem(path: Path) -> str:
    """Type of the file system that holds `path`, or its nearest existing parent: `ext4`."""
    real = path.resolve()
    best, kind = "", "unknown"
    for line in _lines("/proc/self/mountinfo"):
        fields = line.split()
        mount = fields[4].replace("\\040", " ")
        if real.is_relative_to(mount) and len(mount) >= len(best):
            best, kind = mount, fields[fields.index("-") + 1]
    return kind


def free_bytes(path: Path) -> int:
    """Bytes an ordinary user can still write at `path`, or at its nearest existing parent."""
    status = _status(path)
    return status.f_bavail * status.f_frsize


def keeps_files(path: Path) -> bool:
    """Whether the file system at `path` can store files; those of the system, as /proc, cannot."""
    return _status(path).f_blocks > 0


def _status(path: Path) -> os.statvfs_result:
    while not path.exists():
        path = path.parent
    return os.statvfs(path)


def _meminfo(name: str) -> int:
    for line in _lines("/proc/meminfo"):
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
