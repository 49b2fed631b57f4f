"""Folders that killed runs left next to their output and in `--scratch`, and their removal.

A living run holds a lock on the file `lock` in each of its folders, so that the system itself
releases it. The file names the machine and the process of the run, and its other folders: a lock on
a shared file system may not be visible on other machines, and some file systems have no locks. A
folder without such a file, or from a machine that is not certainly this one, is never removed. A
host name does not identify a machine.
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
from cuesta.errors import InputError, in_words
from cuesta.units import format_bytes

LOCK_NAME = "lock"
SCRATCH_NAME = "cuesta-scratch.partial-"
SCHEMA = "cuesta.lock/1"
NAMES_MAX = 100
"""Most names for a run's folders, if folders of earlier processes of the same number remain."""

Facts = dict[str, object]
_FACTS = frozenset({"host", "boot", "numbers", "process", "scratch"})
RUN_FOLDERS = ("answer", "scratch", "streams")
"""Names of the folders that a run makes in its own folder and in that of its scratch."""
_ENGINE_PREFIX = "cuesta-"
"""Beginning of the names of folders that engines make in that of the scratch."""
_TAG = re.compile(r"\d+(\.\d+)?")
_PARTIAL = re.compile(r".*\.partial-\d+(\.\d+)?")
_PROCESS = re.compile(r"\d+:\d+")


def tags(pid: int) -> Iterator[str]:
    """Tags for the names of the folders of process `pid`: its number, then `NUMBER.2` and so on.

    In containers all runs may have the same number.
    """
    yield str(pid)
    yield from (f"{pid}.{number}" for number in range(2, NAMES_MAX + 1))


def partial_of(output: Path, tag: str) -> Path:
    """Path of the temporary folder of a run to `output`."""
    return output.with_name(f"{output.name}.partial-{tag}")


def replaced_of(output: Path, tag: str) -> Path:
    """Path to which a run moves the answer that it replaces, for a moment."""
    return output.with_name(f"{output.name}.replaced-{tag}")


def scratch_of(folder: Path, tag: str) -> Path:
    """Path of a run's folder in the folder of `--scratch`."""
    return folder / f"{SCRATCH_NAME}{tag}"


def make_partial(partial: Path) -> bool:
    """Make a temporary folder; False if one exists that is no longer in use.

    Errors: `InputError` if it is of a living run; `OSError`.
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
    """Make a folder for its owner alone, and its missing parents. Errors: `OSError`."""
    try:
        folder.mkdir(mode=0o700)
    except FileNotFoundError:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700)


def hold(folder: Path, scratch: Path) -> int:
    """Mark a folder as that of a living run, until the returned descriptor is closed.

    Arguments: `scratch` is the folder of that run in `--scratch`.
    """
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(folder / LOCK_NAME, flags, 0o600)
    # Before there is content to read, so that no run takes it for left over. A run that checks it
    # at this moment releases it at once.
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
    """Remove the folders of killed runs to `output`, and of any killed runs in `scratch`.

    Yields a sentence about each. Folders of living runs, and folders that may be of one, are never
    touched.
    """
    beginning = partial_of(output, "").name
    for partial in _run_folders(output.parent, beginning):
        yield from _sweep_folder(partial, output)
    for leftover in _run_folders(scratch, SCRATCH_NAME) if scratch else ():
        yield from _sweep_folder(leftover, None)


def in_use(folder: Path) -> bool:
    """Whether a living run writes an answer into `folder`, as far as this machine can determine."""
    try:
        names = [path for path in folder.iterdir() if _PARTIAL.fullmatch(path.name)]
    except OSError:
        return False
    return any(map(_is_of_living, names))


def _run_folders(folder: Path, beginning: str) -> list[Path]:
    """List folders of runs by the beginning of their names."""
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError:
        return []
    tagged = (name for name in names if name.startswith(beginning))
    return [folder / name for name in tagged if _TAG.fullmatch(name.removeprefix(beginning))]


def _sweep_folder(leftover: Path, output: Path | None) -> Iterator[str]:
    """Remove a folder of an ended run and its scratch; with `output` also a replaced answer."""
    with _lock(leftover) as descriptor:
        facts = _facts(leftover)
        if descriptor is None or not _is_here(facts) or not _has_ended(facts, descriptor):
            return
        if output:
            yield from _sweep_replaced(
                replaced_of(output, leftover.name.rpartition("-")[2]), output
            )
        scratch = _scratch_folders(leftover, facts)
        foreign = [entry for folder in [*scratch, leftover] for entry in _foreign(folder)]
        if foreign:
            yield f"{leftover} remains: {foreign[0]} is not of a run; move it away"
            return
        size_bytes = sum(map(_size_bytes, [*scratch, leftover]))
        try:
            for folder in [*scratch, leftover]:
                removal.remove_made(folder, last=LOCK_NAME)
        except OSError as error:
            yield f"{leftover} remains: {error.filename}: {in_words(error)}"
            return
        yield (
            f"removed {leftover.name}, {format_bytes(size_bytes)},"
            " which a run that was killed had left"
        )


def _foreign(folder: Path) -> list[Path]:
    """Return what is in a folder of a run besides its lock file and folders of runs and engines."""
    return sorted(path for path in folder.iterdir() if not _is_of_run(path))


def _is_of_run(path: Path) -> bool:
    if path.name == LOCK_NAME:
        return True
    is_named = path.name in RUN_FOLDERS or path.name.startswith(_ENGINE_PREFIX)
    return is_named and path.is_dir() and not path.is_symlink()


def _sweep_replaced(replaced: Path, output: Path) -> Iterator[str]:
    """Restore the name of an answer that was about to be replaced; remove a replaced one.

    An answer folder with foreign files remains.
    """
    from cuesta.lab import ownership

    if replaced.is_symlink() or not replaced.is_dir():
        return
    if not os.path.lexists(output):
        if ownership.is_answer(replaced):
            removal.put_new(replaced, output)
            yield f"gave {output} its name again: a run that was killed was about to replace it"
        return
    try:
        yield from ownership.forget(replaced, ownership.replaceable(replaced))
    except InputError as error:
        yield f"{replaced} remains: {error}"


@contextlib.contextmanager
def _lock(folder: Path) -> Iterator[int | None]:
    """Open the lock file of a folder; None if there is none, or it is a link."""
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
    """List the existing scratch folders of a run, and of the inner runs of its answer.

    Whatever a lock file says, a folder counts only if its own lock file names the same run, and if
    no process holds it.
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
    """Identity of the run of a lock file: the same in its folder and in its scratch folder."""
    return tuple(facts.get(name) for name in ("boot", "numbers", "process"))


def _is_of_living(partial: Path) -> bool:
    """Whether a living run uses the folder, as far as this machine can determine."""
    with _lock(partial) as descriptor:
        facts = _facts(partial)
        if descriptor is None or not facts:
            return False
        return not _has_ended(facts, descriptor)


def _has_ended(facts: Facts, descriptor: int) -> bool:
    """Whether no process holds the lock, which this process then acquires.

    On a file system without locks: whether the process that wrote these facts, on this machine
    since its last start, has exited.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        is_from_here = (facts.get("boot"), facts.get("numbers")) == (
            markers.boot(),
            processes.number_space(),
        )
        known = str(facts.get("process") or "")
        return is_from_here and bool(_PROCESS.fullmatch(known)) and not processes.lives(known)
    return True


def _is_here(facts: Facts) -> bool:
    """Whether a run was on this machine, even before its last start.

    Machines from the same image may have the same name, and even the same number: if that is empty,
    or the name differs, only the start of the system counts.
    """
    if facts.get("boot") == markers.boot() != "":
        return True
    machine = (os.uname().nodename, _machine())
    return machine[1] != "" and (facts.get("host"), facts.get("machine")) == machine


def _facts(folder: Path) -> Facts:
    """Read a lock file that a run of this account wrote; empty for any other."""
    with contextlib.suppress(OSError):
        if folder.lstat().st_uid != os.geteuid():
            return {}
    facts = markers.read_marker(folder, LOCK_NAME)
    return facts if facts.keys() >= _FACTS else {}


def _machine() -> str:
    """Machine number that the installation of the system assigned."""
    try:
        return Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _size_bytes(folder: Path) -> int:
    return sum(
        os.lstat(Path(inner, name)).st_size for inner, _, names in os.walk(folder) for name in names
    )
