"""What a run that was killed has left beside its output: told from what a living run is making.

A living run holds a lock on the file `lock` in its temporary folder, so that the system itself
lets go of it. The file says on which machine the run is, and where else it writes: a lock on a
shared file system may not be seen by other machines.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path

from cuesta.units import format_bytes

LOCK_NAME = "lock"
SCRATCH_NAME = "cuesta-scratch.partial-"


def partial_of(output: Path, pid: int) -> Path:
    """The temporary folder of a run to `output` by process `pid`."""
    return output.with_name(f"{output.name}.partial-{pid}")


def replaced_of(output: Path, pid: int) -> Path:
    """Where a run by process `pid` puts an answer that it replaces, for a moment."""
    return output.with_name(f"{output.name}.replaced-{pid}")


def hold(partial: Path, scratch: Path) -> int:
    """Mark the temporary folder as that of a living run, until the descriptor is closed."""
    descriptor = os.open(partial / LOCK_NAME, os.O_RDWR | os.O_CREAT, 0o644)
    _lock(descriptor)  # Before there is anything to read, so that nobody takes it for left over.
    facts = {"host": os.uname().nodename, "boot": _boot(), "scratch": str(scratch)}
    os.write(descriptor, json.dumps(facts).encode())
    return descriptor


def sweep(output: Path) -> Iterator[str]:
    """Remove what runs to `output` have left that were killed on this machine.

    Yields a sentence about each. What a living run writes to is never touched, nor a folder that
    cannot be told from one.
    """
    beginning = partial_of(output, 0).name.removesuffix("0")
    try:
        found = [path for path in output.parent.iterdir() if path.name.startswith(beginning)]
    except OSError:
        return
    for partial in sorted(found):
        pid = partial.name.removeprefix(beginning)
        if pid.isdigit():
            yield from _sweep_one(output, partial, int(pid))


def _sweep_one(output: Path, partial: Path, pid: int) -> Iterator[str]:
    from cuesta.lab.folder import remove

    try:
        descriptor = os.open(partial / LOCK_NAME, os.O_RDWR)
    except OSError:
        return
    try:
        facts = _facts(partial)
        here = facts.get("boot") == _boot() or facts.get("host") == os.uname().nodename
        if not here or not _lock(descriptor):
            return
        folders = [*_scratch_folders(partial), partial]
        replaced = replaced_of(output, pid)
        if replaced.is_dir() and not output.exists():
            replaced.rename(output)
            yield f"gave {output} its name again: a run that was killed was about to replace it"
        folders += [replaced] if replaced.is_dir() else []
        size_bytes = sum(map(_size_bytes, folders))
        for folder in folders:
            remove(folder)
        yield (
            f"removed {partial.name}, {format_bytes(size_bytes)}, which a run that was killed had "
            "left"
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
    return [place for place in places if place.name.startswith(SCRATCH_NAME) and place.is_dir()]


def _facts(partial: Path) -> dict[str, object]:
    try:
        found = json.loads((partial / LOCK_NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _lock(descriptor: int) -> bool:
    """Whether the lock is ours now: nobody has it, and the file system knows locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


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
