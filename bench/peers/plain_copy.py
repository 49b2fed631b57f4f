"""Reads a file and writes its bytes to another, on two threads: the least work of a sort.

    python plain_copy.py FROM TO [BETWEEN]

With BETWEEN it is written there, read again and removed, as a sort that does not fit in memory does
with its runs.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

THREADS = 2
PIECE_BYTES = 1 << 20


def copy(source: Path, target: Path) -> None:
    """Copy with `pread` and `pwrite`, a piece at a time; each thread takes every other piece."""
    descriptors = os.open(source, os.O_RDONLY), os.open(target, os.O_WRONLY | os.O_CREAT, 0o644)
    size_bytes = source.stat().st_size

    def copy_pieces(first: int) -> None:
        piece = memoryview(bytearray(PIECE_BYTES))
        for offset in range(first * PIECE_BYTES, size_bytes, THREADS * PIECE_BYTES):
            count = os.preadv(descriptors[0], [piece], offset)
            os.pwrite(descriptors[1], piece[:count], offset)

    try:
        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(copy_pieces, range(THREADS)))
    finally:
        for descriptor in descriptors:
            os.close(descriptor)


def main(words: Sequence[str]) -> int:
    """Once, or twice by way of a third file."""
    source, target, *between = map(Path, words)
    for middle in between:
        copy(source, middle)
        source = middle
    copy(source, target)
    for middle in between:
        middle.unlink()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
