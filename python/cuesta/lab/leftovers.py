"""What a run that was killed has left beside its output and in `--scratch`: told from what a living
run is making.

A living run holds a lock on the file `lock` in each of its folders, so that the system itself lets
go of it. The file says on which machine the run is, which process it is, and where else it writes:
a lock on a shared file system may not be seen by other machines, and some know no locks. A folder
without such a file, or from a machine that is not this one for certain, is never removed. A host
name does not identify a machine.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

from cuesta import markers, processes, removal
from cuesta.errors import InputError
from cuesta.units import format_bytes

LOCK_NAME = "lock"
SCRATCH_NAME = "cuesta-scratch.partial-"
SCHEMA = "cuesta.lock/1"
NAMES_MAX = 100
"""Names for the folders of a run whose process has the number of processes that left theirs."""

Facts = dict[str, object]
_FACTS = frozenset({"host", "boot", "numbers", "process", "scratch"})
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
        make_private(partial)
    except FileExistsError:
        if _is_of_living(partial):
            raise InputError(
                f"{partial} is of another run, which has not ended; wait for it, or give another "
                "--output"
            ) from None
        return False
    return True


def make_private(folder: Path) -> None:
    """Make a folder for its owner alone, and missing ones above it. Errors: `OSError`."""
    try:
        folder.mkdir(mode=0o700)
    except FileNotFoundError:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700)


def hold(folder: Path, scratch: Path) -> int:
    """Mark a folder as that of a living run, until the descriptor is closed.

    Arguments: `scratch` is the folder of that run in `--scratch`.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(folder / LOCK_NAME, flags, 0o600)
    # Before there is anything to read, so that nobody takes it for left over. Whoever looks at it
    # just now lets go of it at once.
    with contextlib.suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    facts = {
        "schema": SCHEMA,
        "host": os.uname().nodename,
        "machine": _machine(),
        "boot": markers.boot(),
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
    with _lock(left) as descriptor:
        facts = _facts(left)
        if descriptor is None or not _is_here(facts) or not _has_ended(facts, descriptor):
            return
        if output:
            yield from _sweep_replaced(replaced_of(output, left.name.rpartition("-")[2]), output)
        scratch = _scratch_folders(left, facts)
        foreign = [entry for folder in [*scratch, left] for entry in _foreign(folder)]
        if foreign:
            yield f"{left} remains: {foreign[0]} is not of a run; move it away"
            return
        size_bytes = sum(map(_size_bytes, [*scratch, left]))
        try:
            for folder in [*scratch, left]:
                removal.remove_made(folder, last=LOCK_NAME)
        except OSError as error:
            yield f"{left} remains: {error.filename}: {(error.strerror or str(error)).lower()}"
            return
        yield (
            f"removed {left.name}, {format_bytes(size_bytes)}, which a run that was killed had left"
        )


def _foreign(folder: Path) -> list[Path]:
    """Return the files in a folder of a run; a run and its engine make only folders there."""
    return sorted(path for path in folder.iterdir() if not path.is_dir() and path.name != LOCK_NAME)


def _sweep_replaced(replaced: Path, output: Path) -> Iterator[str]:
    """Give an answer its name again that was about to be replaced; remove one that was.

    Where it holds anything that is not of an answer, it stays.
    """
    from cuesta.lab import ownership
    from cuesta.lab.folder import forget, replaceable

    if replaced.is_symlink() or not replaced.is_dir():
        return
    if not os.path.lexists(output):
        if ownership.is_answer(replaced):
            removal.put_new(replaced, output)
            yield f"gave {output} its name again: a run that was killed was about to replace it"
        return
    try:
        yield from forget(replaced, replaceable(replaced))
    except InputError as error:
        yield f"{replaced} remains: {error}"


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[int | None]:
    """Open the lock file of a folder; None where there is none, or it is a link."""
    try:
        descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        yield None
        return
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _scratch_folders(partial: Path, facts: Facts) -> list[Path]:
    """Scratch folders of the run, and of those that it made an answer with, where they still are.

    Whatever a lock file says, only a folder is one whose own lock file says that it is of the same
    run, and which nobody holds.
    """
    inner = [path for path in partial.glob("answer/*.partial-*") if not path.is_symlink()]
    runs = [facts, *map(_facts, inner)]
    places = []
    for run in runs:
        place = Path(str(run.get("scratch") or "none"))
        if place == partial or not place.name.startswith(SCRATCH_NAME) or place.is_symlink():
            continue
        with _lock(place) as descriptor:
            same = _facts(place)
            is_same = same.get("scratch") == str(place) and _run_of(same) == _run_of(run)
            if descriptor is not None and is_same and _has_ended(same, descriptor):
                places.append(place)
    return places


def _run_of(facts: Facts) -> tuple[object, ...]:
    """The run that a lock file is of: the same in its folder and in that for scratch."""
    return tuple(facts.get(name) for name in ("boot", "numbers", "process"))


def _is_of_living(partial: Path) -> bool:
    """Whether a run that has not ended makes its answer there, as far as can be seen from here."""
    with _lock(partial) as descriptor:
        facts = _facts(partial)
        if descriptor is None or not facts:
            return False
        return not _has_ended(facts, descriptor)


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
        seen = (facts.get("boot"), facts.get("numbers")) == (
            markers.boot(),
            processes.number_space(),
        )
        known = str(facts.get("process") or "")
        return seen and bool(_PROCESS.fullmatch(known)) and not processes.lives(known)
    return True


def _is_here(facts: Facts) -> bool:
    """Whether a run was on this machine, be it before its last start.

    Machines that were made from one image may have one name, and even one number: where that is
    empty, or the name is another, only the start of the system counts.
    """
    if facts.get("boot") == markers.boot() != "":
        return True
    machine = (os.uname().nodename, _machine())
    return machine[1] != "" and (facts.get("host"), facts.get("machine")) == machine


def _facts(folder: Path) -> Facts:
    """The content of a lock file that a run of this account wrote, else nothing."""
    with contextlib.suppress(OSError):
        if folder.lstat().st_uid != os.geteuid():
            return {}
    facts = markers.read_marker(folder, LOCK_NAME)
    return facts if facts.keys() >= _FACTS else {}


def _machine() -> str:
    """The number that this machine was given when its system was installed."""
    try:
        return Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _size_bytes(folder: Path) -> int:
    return sum(
        os.lstat(Path(inner, name)).st_size for inner, _, names in os.walk(folder) for name in names
    )
