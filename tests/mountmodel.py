"""Random operations on two folders, one of them in a mount.

`mountmodel.py PLAIN MOUNT SEED STEPS [STAY]`; with `STAY` folders are not renamed. Both must answer
each operation alike: contents, sizes, names and numbers of errors.
"""

from __future__ import annotations

import errno
import mmap
import os
import random
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

NAMES = [f"{letter}{number}" for letter in "fd" for number in range(5)]
SIZES = [0, 1, 100, 4096, 70_000, 200_000, 1_500_000]
HANDLES_MAX = 6


def piece(rng: random.Random) -> bytes:
    """Return random bytes of random size."""
    return rng.randbytes(rng.choice(SIZES))


class Side:
    """A folder under test, and its open files."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.files: dict[int, int] = {}

    def answer(self, work: Callable[[Side], Any]) -> Any:
        """Return the result or the error number of an operation."""
        try:
            return work(self)
        except OSError as error:
            return errno.errorcode[error.errno or 0]

    def contents(self) -> dict[str, Any]:
        """Return all files and folders with their contents."""
        contents: dict[str, Any] = {}
        for folder, folders, files in os.walk(self.root):
            place = Path(folder).relative_to(self.root)
            contents |= {f"{place / name}/": None for name in folders}
            contents |= {str(place / name): (Path(folder) / name).read_bytes() for name in files}
        return contents


def path_of(rng: random.Random) -> str:
    """Return a random path of one or two names."""
    return "/".join(rng.choice(NAMES) for _ in range(rng.choice([1, 1, 2])))


Work = Callable[[Side], Any]


def opening(rng: random.Random, handle: int) -> tuple[str, Work]:
    """Return an operation that opens a file in a random mode."""
    path, access = path_of(rng), rng.choice([os.O_RDONLY, os.O_WRONLY, os.O_RDWR])
    flags = access
    for flag in (os.O_CREAT, os.O_TRUNC, os.O_APPEND, os.O_EXCL):
        flags |= flag * rng.choice([0, 1])
    if access == os.O_RDONLY:
        flags &= ~os.O_TRUNC
    if not flags & os.O_CREAT:
        flags &= ~os.O_EXCL

    def work(side: Side) -> str:
        side.files[handle] = os.open(side.root / path, flags, 0o644)
        return "open"

    return f"open {path} {flags:o} as {handle}", work


def on_path(rng: random.Random, moves_folders: bool) -> tuple[str, Work]:
    """Return a random operation on a path."""
    path, other, content = path_of(rng), path_of(rng), piece(rng)
    size = rng.choice(SIZES)

    def stat(side: Side) -> Any:
        status = (side.root / path).stat()
        return status.st_mode & 0o170000, 0 if (side.root / path).is_dir() else status.st_size

    def append(side: Side) -> None:
        with (side.root / path).open("ab") as file:
            file.write(content)

    def rename(side: Side) -> None:
        if not moves_folders and (side.root / path).is_dir():
            raise OSError(errno.EXDEV, "folders are not renamed")
        (side.root / path).rename(side.root / other)

    works: dict[str, Work] = {
        f"write {len(content)}": lambda side: (side.root / path).write_bytes(content),
        f"append {len(content)}": append,
        "read": lambda side: (side.root / path).read_bytes(),
        "unlink": lambda side: (side.root / path).unlink(),
        f"truncate {size}": lambda side: os.truncate(side.root / path, size),
        f"rename to {other}": rename,
        f"move to {other}": rename,
        "mkdir": lambda side: (side.root / path).mkdir(),
        "make folder": lambda side: (side.root / path).mkdir(),
        "rmdir": lambda side: (side.root / path).rmdir(),
        "list": lambda side: sorted(entry.name for entry in (side.root / path).iterdir()),
        "stat": stat,
    }
    name = rng.choice(list(works))
    return f"{path}: {name}", works[name]


def on_file(rng: random.Random, handle: int) -> tuple[str, Work]:
    """Return a random operation on an open file."""
    content, size = piece(rng), rng.choice(SIZES)
    offset = rng.randrange(0, 100_000)

    def mapped(side: Side) -> bytes:
        if os.fstat(side.files[handle]).st_size == 0:
            return b""
        with mmap.mmap(side.files[handle], 0, prot=mmap.PROT_READ) as view:
            return view[:]

    def stat(side: Side) -> int:
        status = os.fstat(side.files[handle])
        return 0 if status.st_mode & 0o040000 else status.st_size

    def close(side: Side) -> None:
        os.close(side.files.pop(handle))

    works: dict[str, Work] = {
        f"write {len(content)}": lambda side: os.write(side.files[handle], content),
        f"more {len(content)}": lambda side: os.write(side.files[handle], content),
        f"write {len(content)} at {offset}": (
            lambda side: os.pwrite(side.files[handle], content, offset)
        ),
        f"read {size} at {offset}": lambda side: os.pread(side.files[handle], size, offset),
        f"read {size}": lambda side: os.read(side.files[handle], size),
        f"truncate {size}": lambda side: os.ftruncate(side.files[handle], size),
        "stat": stat,
        "sync": lambda side: os.fsync(side.files[handle]),
        "map": mapped,
        "close": close,
        "end": close,
    }
    name = rng.choice(list(works))
    return f"{handle}: {name}", works[name]


def main(plain: Path, mount: Path, seed: int, steps: int, moves_folders: bool) -> None:
    """Run this number of steps; end at the first difference."""
    rng = random.Random(seed)
    sides = [Side(plain), Side(mount)]
    for step in range(steps):
        handles = sorted(sides[0].files)
        if len(handles) < HANDLES_MAX and rng.random() < 0.25:
            name, work = opening(rng, step)
        elif handles and rng.random() < 0.5:
            name, work = on_file(rng, rng.choice(handles))
        else:
            name, work = on_path(rng, moves_folders)
        answers = [side.answer(work) for side in sides]
        if "MODEL_TRACE" in os.environ:
            sys.stdout.write(f"{step} {name} -> {str(answers[0])[:40]}\n")
        if answers[0] != answers[1]:
            names = [str(answer)[:80] for answer in answers]
            sys.exit(f"seed {seed}, step {step}, {name}: {names}")
        if step % 20 == 0:
            compare(sides, seed, step)
    for side in sides:
        for file in side.files.values():
            with suppress(OSError):
                os.close(file)
    compare(sides, seed, steps)


def compare(sides: list[Side], seed: int, step: int) -> None:
    """Compare the contents of both folders."""
    plain, mounted = (side.contents() for side in sides)
    for name in sorted(plain.keys() | mounted.keys()):
        if plain.get(name, 0) != mounted.get(name, 0):
            sizes = [len(tree.get(name) or b"") for tree in (plain, mounted)]
            exists = [name in tree for tree in (plain, mounted)]
            sys.exit(f"seed {seed}, step {step}: {name} differs: there {exists}, sizes {sizes}")


if __name__ == "__main__":
    plain, mount, seed, steps, *more = sys.argv[1:]
    main(Path(plain), Path(mount), int(seed), int(steps), not more)
