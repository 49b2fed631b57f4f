"""Choice of samples that run side by side, within the threads and the memory of all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

BASE_BYTES = 256 << 20
"""Memory of a run whatever its reads."""
BYTES_PER_PACKED_BYTE = 4
BYTES_PER_PLAIN_BYTE = 1
"""Memory in which reads need no scratch: half of it holds about a byte for each base."""


@dataclass(frozen=True, kw_only=True)
class Resources:
    """Threads and bytes of memory."""

    threads: int
    memory_bytes: int

    def without(self, share: Resources) -> Resources:
        """Return what remains beside a share."""
        return Resources(
            threads=self.threads - share.threads,
            memory_bytes=self.memory_bytes - share.memory_bytes,
        )


def need_bytes(packed_bytes: int, plain_bytes: int) -> int:
    """Return the memory in which a sample runs at full speed, by the sizes of its files."""
    return BASE_BYTES + BYTES_PER_PACKED_BYTE * packed_bytes + BYTES_PER_PLAIN_BYTE * plain_bytes


def choose(needs: Sequence[int], free: Resources, total: Resources) -> tuple[int, Resources] | None:
    """Return the index of the sample that starts next and its share, or None if none fits.

    Arguments: `needs` are the bytes of the waiting samples, the largest first. With nothing running
    the first always starts: an assembly in less memory uses scratch, or refuses by itself. Samples
    run on one thread each as long as that uses all threads.
    """
    if not needs or free.threads < 1:
        return None
    idle = free == total
    threads = max(1, free.threads // len(needs))
    fair = total.memory_bytes * threads // total.threads
    for index, need in enumerate(needs):
        if need <= free.memory_bytes or idle:
            memory_bytes = min(free.memory_bytes, max(need, fair))
            return index, Resources(threads=threads, memory_bytes=memory_bytes)
    return None
