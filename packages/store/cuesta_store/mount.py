"""The store as a file system, for programs that need paths (`cuesta store mount`)."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from contextlib import suppress
from pathlib import Path

from cuesta_store import removal
from cuesta_store.control import MEMORY_ROOT, default_folder, launch, status
from cuesta_store.errors import EngineError, EngineMissing, InputError, in_words
from cuesta_store.units import format_bytes

DEVICE = Path("/dev/fuse")
HELPER = "fusermount3"
UNMOUNT_SECONDS = 10.0
"""Time after which a helper that unmounts counts as hung."""
SOURCE, MEMORY_SOURCE = "cuesta", "cuesta-paths"
"""Sources in the system's list of mounts: of stores, and of memory without a store."""
PREFIX = "cuesta-paths-"
"""Prefix of the names of folders in the system's memory that links lead to."""


def mount(place: Path, write: str | None = None, folder: Path | None = None) -> None:
    """Mount the store at an empty folder, in a process that outlives this one.

    `write` is the mode of files; `None` is the store's. Errors: `EngineMissing` where no store
    runs, or the system has no FUSE for this user; `InputError` for an unsuitable folder.
    """
    folder = (folder or default_folder()).absolute()
    place = check_place(place)
    under = Path(status(folder)["under"])
    for other in (under, folder):
        if place.is_relative_to(other):
            raise InputError(f"{place} lies in {other}, which the store reads; mount it elsewhere")
    _check_fuse(place)
    request = {"store": str(folder), "place": str(place), "write": write}
    line = launch("cuesta_store.serve", json.dumps(request))
    if line != "ready":
        raise InputError(
            line or "the mount ended before it was ready; is FUSE here, and the folder free?"
        )


def check_place(place: Path) -> Path:
    """Check a folder to mount at; return it without links in its path. Errors: `InputError`."""
    try:
        if not place.is_dir():
            raise InputError(f"{place} is no folder; make it")
        place = place.resolve()
        if place.is_mount():
            raise InputError(f"{place} is mounted already; `cuesta store unmount {place}`")
        if any(place.iterdir()):
            raise InputError(f"{place} is not empty; take another folder")
    except OSError as error:
        raise InputError(
            f"{place} cannot be used ({error.strerror}): a mount whose process has ended? "
            f"`cuesta store unmount {place}`"
        ) from None
    return place


def _check_fuse(place: Path) -> None:
    missing = ""
    if not os.access(DEVICE, os.R_OK | os.W_OK):
        missing = f"this system has no {DEVICE} for you"
    elif os.getuid() != 0 and shutil.which(HELPER) is None:
        missing = f"there is no {HELPER}; install the package fuse3"
    if missing:
        raise EngineMissing(
            f"{missing}; or take memory without the store: "
            f"`cuesta store mount {place} --tmpfs SIZE`"
        )


def unmount(place: Path) -> None:
    """End a mount at a folder, or a link in place of one.

    Errors: `InputError` where there is none, or a program has a file of it open.
    """
    place = place.absolute()
    source = _source(place)
    if source is None and place.is_symlink():
        _end_link(place)
        return
    if source is None:
        raise InputError(f"nothing is mounted at {place}; check the path")
    if source not in (SOURCE, MEMORY_SOURCE):
        raise InputError(f"{place} is a mount of {source}, not of a store; it stays")
    is_store = source == SOURCE
    has_helper = is_store and shutil.which(HELPER)
    command = [HELPER, "-u", str(place)] if has_helper else ["umount", str(place)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=UNMOUNT_SECONDS
    )
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines()[-1:] or ["it failed"]
        raise InputError(f"{place} is not unmounted: {reason[0]}; end the programs that use it")
    if is_store:
        _wait_for_end(place)


def _wait_for_end(place: Path) -> None:
    """Wait for the end of the process of the mount, which has then committed all files."""
    deadline = time.monotonic() + UNMOUNT_SECONDS
    while any(serving(place)):
        if time.monotonic() > deadline:
            raise EngineError(
                f"{place} is unmounted, but its process does not end; it still writes, so "
                "wait for it"
            )
        time.sleep(0.01)


def serving(place: Path) -> list[int]:
    """Return the processes that serve a mount at a folder."""
    wanted = json.dumps({"place": str(place)})[1:-1].encode()
    pids = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            words = (folder / "cmdline").read_bytes()
            if b"cuesta_store.serve" in words and wanted in words:
                pids.append(int(folder.name))
    return pids


def _source(place: Path) -> str | None:
    """Return the source of the mount at a folder; `None` for none. Does not access the mount."""
    sources = {}
    for line in Path("/proc/self/mounts").read_text().splitlines():
        source, where, *_ = line.split(" ")
        for code, letter in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
            where = where.replace(code, letter)
        sources[where] = source
    return sources.get(str(place.parent.resolve() / place.name))


def take_memory(place: Path, size_bytes: int) -> str:
    """Make `place` a folder in the system's memory, without the store; return a description.

    As root it is a file system, limited to `size_bytes`; else a link to a folder that only this
    user may enter. Its files are never written to the under level.

    Errors: `InputError` for an unsuitable folder, or less free memory.
    """
    place = check_place(place)
    free = shutil.disk_usage(MEMORY_ROOT).free
    if size_bytes > free:
        raise InputError(
            f"--tmpfs is {format_bytes(size_bytes)}, {MEMORY_ROOT} has {format_bytes(free)} free; "
            "give at most that"
        )
    if os.getuid() == 0:
        options = f"size={size_bytes},mode=0700"
        command = ["mount", "-t", "tmpfs", "-o", options, MEMORY_SOURCE, str(place)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return (
                f"{place} is memory, of {format_bytes(size_bytes)}; what is more is refused, and "
                "the store has nothing of it"
            )
    folder = MEMORY_ROOT / f"{PREFIX}{os.getuid()}-{os.getpid()}"
    removal.make_marked(folder)
    place.rmdir()
    place.symlink_to(folder)
    return (
        f"{place} is a link to {folder}; without root nothing keeps it below "
        f"{format_bytes(size_bytes)}, and the store has nothing of it"
    )


def _end_link(place: Path) -> None:
    folder = place.readlink()
    if folder.parent != MEMORY_ROOT or not folder.name.startswith(f"{PREFIX}{os.getuid()}-"):
        raise InputError(
            f"{place} is a link to {folder}, which is no memory of yours; remove the link"
        )
    try:
        removal.remove_marked(folder)
    except OSError as error:
        raise InputError(f"{place}: {error.filename}: {in_words(error)}") from None
    place.unlink()
    place.mkdir()
