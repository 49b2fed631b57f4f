"""What a run that was killed has left beside its output and in `--scratch`: told from what a living
run is making.

A living run holds a lock on the file `lock` in each of its folders, so that the system itself lets
go of it. The file says on which machine the run is, which process it is, and where else it writes:
a lock on a shared file system may not be seen by other machines, and some know no locks.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from cuesta import processes
from cuesta.errors import InputError
from cuesta.units import format_bytes

LOCK_NAME = "lock"
SCRATCH_NAME = "cuesta-scratch.partial-"
NAMES_MAX = 100
"""Names for the folders of a run whose process has the number of processes that left theirs."""

Facts = dict[str, object]
_TAG = re.compile(r"\d+(\.\d+)?")
_PROCESS = re.compile(r"\d+:\d+")


def tags(pid: int) -> Iterator[str]:
    """What process `pid` may call its folders after: its number, then `NUMBER.2` and so on.

    In containers all runs may have one number.
    """
    yield str(pid)
    yield from (f"{pid}.{number}" for number in range(2, NAMES_MAX + 1))


def partial_of(output: Path, tag: str) -> Path:
    """The temporary folder of a run to `output`."""
    return output.with_name(f"{output.name}.partial-{tag}")


def replaced_of(output: Path, tag: str) -> Path:
    """Where a run puts an answer that it replaces, for a moment."""
    return output.with_name(f"{output.name}.replaced-{tag}")


def scratch_of(folder: Path, tag: str) -> Path:
    """The folder of a run in the folder of `--scratch`."""
    return folder / f"{SCRATCH_NAME}{tag}"


def make_partial(partial: Path) -> bool:
    """Make a temporary folder; False where one is there that nobody writes to any more.

    Errors: `InputError` where that of a living run is there; `OSError`.
    """
    try:
        partial.mkdir(parents=True)
    except FileExistsError:
        if _is_of_living(partial):
            raise InputError(
                f"{partial} is of another run, which has not ended; wait for it, or give another "
                "--output"
            ) from None
        return False
    return True


def hold(folder: Path, scratch: Path) -> int:
    """Mark a folder as that of a living run, until the descriptor is closed.

    Arguments: `scratch` is the folder of that run in `--scratch`.
    """
    descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o644)
    # Before there is anything to read, so that nobody takes it for left over. Whoever looks at it
    # just now lets go of it at once.
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    facts = {
        "host": os.uname().nodename,
        "boot": _boot(),
        "numbers": processes.number_space(),
        "process": processes.identity(os.getpid()),
        "scratch": str(scratch),
    }
    os.write(descriptor, json.dumps(facts).encode())
    return descriptor


def sweep(output: Path, scratch: Path | None = None) -> Iterator[str]:
    """Remove what runs to `output`, and any runs in `scratch`, left that were killed here.

    Yields a sentence about each. What a living run writes to is never touched, nor a folder that
    cannot be told from one.
    """
    beginning = partial_of(output, "").name
    for partial in _found(output.parent, beginning):
        yield from _sweep_one(partial, output)
    for left in _found(scratch, SCRATCH_NAME) if scratch else ():
        yield from _sweep_one(left, None)


def _found(folder: Path, beginning: str) -> list[Path]:
    """Folders of runs, by how their names begin."""
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError:
        return []
    tagged = (name for name in names if name.startswith(beginning))
    return [folder / one for one in tagged if _TAG.fullmatch(one.removeprefix(beginning))]


def _sweep_one(left: Path, output: Path | None) -> Iterator[str]:
    """Remove a folder of a run that has ended, and with `output` what else it has left."""
    from cuesta.lab.folder import remove

    try:
        descriptor = os.open(left / LOCK_NAME, os.O_RDWR)
    except OSError:
        return
    try:
        facts = _facts(left)
        if not _is_here(facts) or not _has_ended(facts, descriptor):
            return
        folders = [*_scratch_folders(left), left]
        if output:
            replaced = replaced_of(output, left.name.rpartition("-")[2])
            if replaced.is_dir() and not output.exists():
                replaced.rename(output)
                yield f"gave {output} its name again: a run that was killed was about to replace it"
            folders += [replaced] if replaced.is_dir() else []
        size_bytes = sum(map(_size_bytes, folders))
        for folder in folders:
            remove(folder)
        yield (
            f"removed {left.name}, {format_bytes(size_bytes)}, which a run that was killed had left"
        )
    finally:
        os.close(descriptor)


def _scratch_folders(partial: Path) -> list[Path]:
    """Scratch folders of the run, and of those that it made an answer with, where they still are.

    Whatever a lock file says, nothing else is taken for one.
    """
    told = [_facts(partial)]
    told += [_facts(inner) for inner in partial.glob("answer/*.partial-*") if inner.is_dir()]
    places = [Path(str(facts.get("scratch") or "none")) for facts in told]
    return [
        place
        for place in places
        if place.name.startswith(SCRATCH_NAME) and place.is_dir() and place != partial
    ]


def _is_of_living(partial: Path) -> bool:
    """Whether a run that has not ended makes its answer there, as far as can be seen from here."""
    try:
        descriptor = os.open(partial / LOCK_NAME, os.O_RDWR)
    except OSError:
        return False
    try:
        return not _has_ended(_facts(partial), descriptor)
    finally:
        os.close(descriptor)


def _has_ended(facts: Facts, descriptor: int) -> bool:
    """Whether nobody holds the lock, which is ours then.

    Where the file system knows no locks: whether the process that wrote these facts, on this
    machine since its last start, is gone.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        seen = (facts.get("boot"), facts.get("numbers")) == (_boot(), processes.number_space())
        known = str(facts.get("process") or "")
        return seen and bool(_PROCESS.fullmatch(known)) and not processes.lives(known)
    return True


def _is_here(facts: Facts) -> bool:
    """Whether a run was on this machine, be it before its last start."""
    return facts.get("boot") == _boot() or facts.get("host") == os.uname().nodename


def _facts(folder: Path) -> Facts:
    try:
        found = json.loads((folder / LOCK_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _boot() -> str:
    """A name for this machine since it was started."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def _size_bytes(folder: Path) -> int:
    return sum(
        os.lstat(Path(inner, name)).st_size for inner, _, names in os.walk(folder) for name in names
    )
