"""Reads a file through a store or directly in Python, and measures the time itself.

    python store_reader.py FOLDER NAME UNDER

As `crates/store/examples/speed.rs`: each line on standard input names a measurement, and is
answered by its seconds and a sum of the words that were read.
"""

from __future__ import annotations

import mmap
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cuesta_store.client import CachedFile, Connection
from cuesta_store.filesystem import CuestaFileSystem

PIECE = 1 << 20
SMALL = 4 << 10
HITS = 100_000
TRIPS = 5_000
WORD = np.dtype("<u8")
LANES = 1 << 64

Outcome = tuple[float, int]


class Reader:
    """Measurements, each a method by the name of its request."""

    def __init__(self, folder: str, name: str, under: str) -> None:
        self.folder = Path(folder)
        self.name = name
        self.under = under
        self._held: list[memoryview] = []
        self._file: CachedFile | None = None
        self._private: dict[str, Any] = {}

    def mapped(self) -> Outcome:
        """A pass over all blocks, mapped and touched before."""
        held = self._hold()
        return timed(lambda: total(map(sum_of, held)))

    def private(self) -> Outcome:
        """A pass over as many bytes of an array of NumPy, in huge pages."""
        array = self._fetched("array", lambda size: np.empty(size, np.uint8))
        return timed(lambda: sum_of(array))

    def private_small(self) -> Outcome:
        """A pass over as many bytes of memory with pages of the usual size."""
        array = self._fetched("mapping", lambda size: np.frombuffer(mmap.mmap(-1, size), np.uint8))
        return timed(lambda: sum_of(array))

    def first(self) -> Outcome:
        """From the connection to the last byte: with it all that a process does not have yet."""
        return timed(lambda: total(map(sum_of, blocks(CachedFile(self.folder, self.name)))))

    def pread(self) -> Outcome:
        """The file of the under level, a piece at a time."""
        return timed(lambda: total(map(sum_of, pieces(self.under))))

    def read(self) -> Outcome:
        """All bytes copied to one buffer, by way of fsspec."""
        system = CuestaFileSystem(str(self.folder))
        piece = memoryview(bytearray(PIECE))

        def work() -> int:
            total = 0
            with system.open(self.name, "rb") as file:
                while file.readinto(piece):
                    total += first_word(piece)
            return total % LANES

        return timed(work)

    def raw(self) -> Outcome:
        """All bytes of the file of the under level copied to one buffer."""
        return timed(lambda: total(map(first_word, pieces(self.under))))

    def memcpy(self) -> Outcome:
        """All bytes in memory of this process copied to one buffer."""
        array = self._fetched("array", lambda size: np.empty(size, np.uint8))
        piece = np.zeros(PIECE, np.uint8)

        def work() -> int:
            total = 0
            for begin in range(0, len(array), PIECE):
                part = array[begin : begin + PIECE]
                piece[: len(part)] = part
                total += first_word(piece)
            return total % LANES

        return timed(work)

    def places(self, places_file: str) -> Outcome:
        """The pieces at the places that a file names, a line each, by way of fsspec."""
        places = [int(line) for line in Path(places_file).read_text().splitlines()]

        def work() -> int:
            with CuestaFileSystem(str(self.folder)).open(self.name, "rb") as file:
                return at_places(file, places)

        return timed(work)

    def raw_places(self, places_file: str) -> Outcome:
        """The pieces at the places that a file names, of the file of the under level."""
        places = [int(line) for line in Path(places_file).read_text().splitlines()]

        def work() -> int:
            with Path(self.under).open("rb", buffering=0) as file:
                return at_places(file, places)

        return timed(work)

    def hit(self) -> Outcome:
        """The median of many small pieces of blocks that are mapped, copied."""
        held = self._hold()
        size = len(held[0])

        def ask(offset: int) -> bytes:
            index, within = divmod(offset, size)
            return bytes(held[index][within : within + SMALL])

        return median(HITS, sum(map(len, held)), ask)

    def socket(self) -> Outcome:
        """The median of many small pieces through the socket."""
        connection = Connection(self.folder)
        opened = connection.ask("open", path=self.name)
        number = opened["number"]

        def ask(offset: int) -> bytes:
            reply = connection.ask("read", number=number, offset=offset, bytes=SMALL)
            payload: bytes = reply["payload"]
            return payload

        return median(TRIPS, opened["version"]["size_bytes"], ask)

    def ping(self) -> Outcome:
        """The median of many round trips without a payload."""
        connection = Connection(self.folder)

        def ask(_: int) -> bytes:
            connection.ask("ping")
            return b""

        return median(TRIPS, SMALL, ask)

    def _hold(self) -> list[memoryview]:
        if not self._held:
            self._file = CachedFile(self.folder, self.name)
            self._held = list(blocks(self._file))
            total(map(sum_of, self._held))
        return self._held

    def _fetched(self, kind: str, make: Callable[[int], Any]) -> Any:
        if kind not in self._private:
            path = Path(self.under)
            array = make(path.stat().st_size)
            with path.open("rb", buffering=0) as file:
                view, done = memoryview(array), 0
                while count := file.readinto(view[done : done + PIECE]):
                    done += count
            self._private[kind] = array
        return self._private[kind]


def blocks(file: CachedFile) -> Iterator[memoryview]:
    """Yield all blocks of a file. Errors: `RuntimeError` for a block that is not in memory."""
    for index in range(-(-file.size_bytes // file.block_bytes)):
        block = file.block(index)
        if block is None:
            raise RuntimeError(f"block {index} is not in memory")
        yield block


def pieces(path: str) -> Iterator[memoryview]:
    """A file a piece at a time, in one buffer."""
    descriptor = os.open(path, os.O_RDONLY)
    piece, offset = memoryview(bytearray(PIECE)), 0
    try:
        while count := os.preadv(descriptor, [piece], offset):
            yield piece[:count]
            offset += count
    finally:
        os.close(descriptor)


def at_places(file: Any, places: Sequence[int]) -> int:
    """The sum of the first words of the pieces at all places."""
    piece, found = memoryview(bytearray(PIECE)), 0
    for place in places:
        file.seek(place)
        if file.readinto(piece) != PIECE:
            raise EOFError(place)
        found += first_word(piece)
    return found % LANES


def sum_of(data: Any) -> int:
    """Sum of all complete words."""
    return int(np.frombuffer(data, WORD, len(data) // WORD.itemsize).sum(dtype=WORD))


def total(sums: Iterator[int]) -> int:
    """Sum of sums, in a word."""
    return sum(sums) % LANES


def first_word(data: Any) -> int:
    """The first word as a number."""
    return int.from_bytes(data[: WORD.itemsize], "little")


def timed(work: Callable[[], int]) -> Outcome:
    """Seconds of the work, and its result."""
    started = time.perf_counter()
    result = work()
    return time.perf_counter() - started, result


def median(count: int, size_bytes: int, ask: Callable[[int], bytes]) -> Outcome:
    """The median time of small requests at places that are drawn, the same in each call."""
    chance = random.Random(1)
    offsets = [SMALL * chance.randrange(size_bytes // SMALL) for _ in range(count)]
    seconds, found = [], 0
    for offset in offsets:
        started = time.perf_counter()
        piece = ask(offset)
        seconds.append(time.perf_counter() - started)
        found += first_word(piece)
    return statistics.median(seconds), found % LANES


def main(words: Sequence[str]) -> int:
    """Make the requested measurements."""
    reader = Reader(*words)
    for line in sys.stdin:
        kind, *given = line.strip().split(": ")
        seconds, found = getattr(reader, kind.replace(" ", "_"))(*given)
        print(f"{seconds:.9f} {found}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
