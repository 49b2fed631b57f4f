"""Hostile surroundings for tests: foreign folders, another account, full memory, odd clocks.

A test fills a folder with a foreign tree, runs the code under test, and compares listings: nothing
that Cuesta did not make may be missing or changed.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import random
import stat
import subprocess
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

STRANGER_UID = 65534
"""User and group `nobody`: another account of this machine."""
NAME_BYTES_MAX = 255
SPARSE_BYTES = 64 << 20

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another account")

Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A name in a folder and its content; links are not followed."""

    kind: str
    mode: int
    size_bytes: int
    content: str
    """SHA-256 of a file, the target of a link, empty for the rest."""


def listing(folder: Path) -> dict[bytes, Entry]:
    """Return every name below `folder`, as bytes relative to it, with its content."""
    entries = {}
    for parent, folders, files in os.walk(folder):
        for name in folders + files:
            path = Path(parent, name)
            entries[os.fsencode(path.relative_to(folder))] = _entry(path)
    return entries


def damage(before: Mapping[bytes, Entry], after: Mapping[bytes, Entry]) -> list[str]:
    """Return a line for each entry that was removed or changed."""
    lines = []
    for name, entry in sorted(before.items()):
        if name not in after:
            lines.append(f"{name!r} was removed")
        elif after[name] != entry:
            lines.append(f"{name!r} was {entry}, is {after[name]}")
    return lines


def _entry(path: Path) -> Entry:
    facts = path.lstat()
    kind, content = stat.filemode(facts.st_mode)[0], ""
    if stat.S_ISLNK(facts.st_mode):
        content = str(path.readlink())
    elif stat.S_ISREG(facts.st_mode):
        with path.open("rb") as file:
            content = hashlib.file_digest(file, "sha256").hexdigest()
    size_bytes = facts.st_size if kind == "-" else 0
    return Entry(kind=kind, mode=facts.st_mode & 0o7777, size_bytes=size_bytes, content=content)


def foreign_tree(folder: Path, seed: int, names: Sequence[str] = ()) -> dict[bytes, Entry]:
    """Fill `folder` with a random tree of a stranger and return its listing.

    `names` are names that the code under test uses itself; some of the entries get them. Among the
    rest are names that are not UTF-8, names of 255 bytes, links out of the tree, dangling links,
    pipes, sparse files, read-only files, and folders within folders.
    """
    draw = random.Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    outside = folder.with_name(f"{folder.name}-outside")
    outside.mkdir(exist_ok=True)
    (outside / "precious").write_bytes(b"must stay")
    parents = [folder]
    for number in range(draw.randint(1, 12)):
        path = draw.choice(parents) / _name(draw, names, number)
        if os.path.lexists(path):
            continue
        if draw.random() < 0.3:
            path.mkdir()
            parents.append(path)
        else:
            _make(draw, path, outside)
    return listing(folder)


def _name(draw: random.Random, names: Sequence[str], number: int) -> str:
    odd = (
        os.fsdecode(b"caf\xe9-%d" % number),
        "x" * (NAME_BYTES_MAX - 4) + f"{number:04}",
        f"line\nbreak-{number}",
        f"data[{number}].csv",
        f"*-{number}",
        f"-rf-{number}",
        f"notes {number}.txt",
        f".hidden-{number}",
    )
    if names and draw.random() < 0.4:
        return draw.choice(names)
    return draw.choice(odd)


def _make(draw: random.Random, path: Path, outside: Path) -> None:
    kind = draw.choice(("file", "file", "empty", "sparse", "link", "dangling", "loop", "pipe"))
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "loop":
        path.symlink_to(".")
    elif kind == "link":
        path.symlink_to(draw.choice((outside, outside / "precious")))
    elif kind == "dangling":
        path.symlink_to("/nonexistent/target")
    else:
        with path.open("wb") as file:
            if kind == "file":
                file.write(draw.randbytes(draw.randint(1, 5000)))
            if kind == "sparse" and draw.random() < 0.2:
                file.truncate(SPARSE_BYTES)
        path.chmod(draw.choice((0o600, 0o644, 0o400, 0o755)))


def stranger_words(words: Sequence[str]) -> list[str]:
    """Return the command line that runs `words` under another account."""
    account = [f"--reuid={STRANGER_UID}", f"--regid={STRANGER_UID}", "--clear-groups"]
    return ["setpriv", *account, *words]


def call_as_stranger(function: Callable[[], Result]) -> Result:
    """Call `function` in a child process of another account; its result travels by pickle.

    That account may be unable to read the interpreter's files, so import what the function needs
    before. Errors: `AssertionError` with the trace of the exception that the function raised.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        try:
            os.setgroups([])
            os.setresgid(STRANGER_UID, STRANGER_UID, STRANGER_UID)
            os.setresuid(STRANGER_UID, STRANGER_UID, STRANGER_UID)
            answer: tuple[bool, object] = (True, function())
        except BaseException:
            answer = (False, traceback.format_exc())
        with os.fdopen(writing, "wb") as pipe:
            pickle.dump(answer, pipe)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        is_done, value = pickle.load(pipe)
    os.waitpid(child, 0)
    assert is_done, value
    result: Result = value
    return result


@contextmanager
def small_tmpfs(folder: Path, size_bytes: int) -> Iterator[Path]:
    """Mount a tmpfs of this size on `folder`; needs root."""
    folder.mkdir(parents=True, exist_ok=True)
    options = f"size={size_bytes},mode=1777"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)], check=True)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(folder: Path, keep_bytes: int = 0) -> Path:
    """Write a file that fills `folder` up to `keep_bytes` of free space; return its path."""
    path = folder / "filler"
    facts = os.statvfs(folder)
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(facts.f_bavail * facts.f_frsize - keep_bytes, 1))
    return path


def host_words(name: str, words: Sequence[str]) -> list[str]:
    """Return the command line that runs `words` on a host of this name; needs root."""
    script = 'hostname "$0" && exec "$@"'
    return ["unshare", "--uts", "sh", "-c", script, name, *words]


def clock_environment(file: Path) -> dict[str, str]:
    """Return variables under which a process sees a clock that is off by the offset in `file`.

    `set_clock` writes the file, also while the process runs. Times of files and the monotonic clock
    are right. Skips the test where libfaketime is not installed.
    """
    library = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)
    if library is None:
        pytest.skip("no libfaketime: apt-get install libfaketime")
    return {
        "LD_PRELOAD": str(library),
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_DISABLE_SHM": "1",
        "NO_FAKE_STAT": "1",
    }


def set_clock(file: Path, offset_s: float) -> None:
    """Step the clock of the processes whose `clock_environment` uses this file."""
    unfinished = file.with_name(f"{file.name}.new")
    unfinished.write_text(f"{offset_s:+.3f}s\n")
    unfinished.replace(file)


def remove_clocks(pids: Iterable[int]) -> None:
    """Remove the shared memory that libfaketime left behind for killed processes."""
    for pid in pids:
        for name in (f"faketime_shm_{pid}", f"sem.faketime_sem_{pid}"):
            Path("/dev/shm", name).unlink(missing_ok=True)
