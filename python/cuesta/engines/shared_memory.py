"""The folder of shared memory, which processes of MPI and of Dask need."""

from __future__ import annotations

import os
from pathlib import Path

from cuesta.units import format_bytes

PLACE = Path("/dev/shm")
BYTES_OF_LOCKS = 1 << 20
BYTES_MIN = 32 << 20
BYTES_A_RANK = 2 << 20
"""Twice the bytes that MPICH takes there for each rank."""


def remark(users: str, ranks: int = 0) -> str:
    """Return the remedy for a folder that is too small for `ranks`; empty if it is large enough.

    Without ranks a few pages suffice.

    A write beyond its size ends a rank with signal 7 or 11, and the other ranks with signal 15.
    """
    needed = max(BYTES_MIN, ranks * BYTES_A_RANK) if ranks else BYTES_OF_LOCKS
    fault = _fault(needed)
    if not fault:
        return ""
    return (
        f"; {PLACE} {fault}, and {users} need it: give it {format_bytes(needed)} or more "
        "(`--shm-size` of a container, or as root `mount -o remount,rw,size=SIZE`), or use another "
        "engine"
    )


def _fault(needed: int) -> str:
    try:
        size = os.statvfs(PLACE)
    except OSError:
        return "is absent"
    if not os.access(PLACE, os.W_OK | os.X_OK):
        return "cannot be written"
    size_bytes, free_bytes = size.f_blocks * size.f_frsize, size.f_bavail * size.f_frsize
    if free_bytes >= needed:
        return ""
    return f"has {format_bytes(size_bytes)}, {format_bytes(free_bytes)} of it free"
