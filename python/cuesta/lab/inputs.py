"""Files of a trial's inputs: their sizes, and their pages in the page cache."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cuesta.errors import EngineError, InputError, in_words
from cuesta.trial import is_remote

CACHE_AS_IS = "as-is"
CACHE_INPUT_DROPPED = "input-dropped"
CACHE_MACHINE_DROPPED = "machine-dropped"

_DROP_CACHES = Path("/proc/sys/vm/drop_caches")


@dataclass(frozen=True, kw_only=True)
class InputFacts:
    """An input by its path, with the size and number of its files."""

    path: str
    bytes: int
    files: int


def describe(path: str) -> InputFacts:
    """Size of a file, or of all files under a folder. Errors: `InputError` if unreadable."""
    sizes = [file.stat().st_size for file in files_of(path)]
    return InputFacts(path=path, bytes=sum(sizes), files=len(sizes))


Marks = dict[Path, tuple[int, int, int, int]]


def marks(paths: Iterable[str]) -> Marks:
    """Return size, time and inode of each local file of the inputs; a write changes them.

    Errors: `InputError` when unreadable.
    """
    states: Marks = {}
    for path in paths:
        for file in () if is_remote(path) else files_of(path):
            status = file.stat()
            size_bytes, written = status.st_size, status.st_mtime_ns
            states[file] = (size_bytes, written, status.st_ino, status.st_dev)
    return states


def changed(before: Marks, paths: Iterable[str]) -> Path | None:
    """Return a file of the inputs that was written, replaced, added or removed since, or None."""
    try:
        after = marks(paths)
    except (InputError, OSError):
        return next(iter(before), None)
    files = sorted(before.keys() | after.keys())
    return next((file for file in files if before.get(file) != after.get(file)), None)


@contextmanager
def unchanged(before: Marks, paths: Sequence[str]) -> Iterator[None]:
    """Report the change of an input as the cause of an error, if one changed meanwhile."""
    try:
        yield
    except (InputError, EngineError) as error:
        file = changed(before, paths)
        if file is None:
            raise
        raise InputError(
            f"{file}: the input changed while it was read ({error}); run again with an input "
            "that stays as it is"
        ) from None


def drop_cached(paths: Iterable[str], cache: str) -> None:
    """Bring the page cache into the state `cache` before a run.

    Errors: `InputError` if the complete cache is to be dropped and the user is not root.
    """
    if cache == CACHE_INPUT_DROPPED:
        for path in paths:
            for file in files_of(path):
                _drop_file(file)
    elif cache == CACHE_MACHINE_DROPPED:
        os.sync()
        try:
            _DROP_CACHES.write_text("3")
        except OSError:
            raise InputError(
                "--cold=machine empties the page cache of the whole machine, which needs root; "
                "--cold drops the input's own pages only"
            ) from None


def _drop_file(file: Path) -> None:
    descriptor = os.open(file, os.O_RDONLY)
    try:
        # A page that was not written back remains, whatever the advice.
        os.fdatasync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def files_of(path: str) -> Iterator[Path]:
    """Regular files at or under `path`."""
    root = Path(path)
    if not root.exists():
        raise InputError(f"{path}: no such file or folder; check the path")
    if not root.is_dir():
        if not os.access(root, os.R_OK):
            raise InputError(f"{path}: permission denied; ask its owner to let you read it")
        yield root
        return
    for folder, _, names in os.walk(root, onerror=_refuse):
        yield from (file for name in sorted(names) if (file := Path(folder, name)).is_file())


def _refuse(error: OSError) -> None:
    raise InputError(f"{error.filename}: {in_words(error)}")
