"""Reading what is not in memory, working sets larger than it, and writing, beside raw files."""

from __future__ import annotations

import hashlib
import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benches.store import PIECE, languages, stated
from cuesta.store import control
from cuesta.store.filesystem import CuestaFileSystem
from harness import limits, stores
from harness.model import Answer, Case, Contestant, Ratio, Sample
from harness.size import Size
from harness.stores import Reader, RunningStore

PIECE_BYTES = 1 << 20
TIMES = (2, 4, 10)
MEMORY_PART = 0.1
"""Of the rate at which one thread copies memory: what slow reads are held to."""
RAW = "raw"


@dataclass(frozen=True, kw_only=True)
class WriteMode:
    """A write mode of the store, what opens a file in it, and its bar against raw."""

    name: str
    at_least: float | None = None
    is_flushed: bool = False


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """In which pieces a working set is read, in their order or drawn."""

    name: str
    piece_bytes: int
    is_cyclic: bool = False


WRITE_MODES = (
    WriteMode(name="through", at_least=0.95),
    WriteMode(name="bypass"),
    WriteMode(name="back", is_flushed=True),
)
"""All are on the disk in the end: what is written back is flushed in the time."""


def cases(size: Size) -> Iterator[Case]:
    """Misses in each language, working sets, and writes."""
    path = stores.records(size)
    size_bytes = path.stat().st_size
    block_bytes = stores.block_bytes(size)
    with (
        stores.running(size, 2 * size_bytes + 4 * block_bytes, preallocate=True) as store,
        stores.running(size, block_bytes, name="past") as past,
    ):
        fill_up(past, block_bytes)
        for language in languages():
            readers = language.reader(store, path), language.reader(past, path)
            if language.missing is None:
                given = (store, *readers)
                yield missed(size, language.name, given, path)
                with slowly(size, (store, past), readers, path) as held:
                    if held:
                        yield missed(size, f"{language.name}, {held}", given, path)
            for reader in readers:
                reader.close()
    yield from missed_plainly(size, path)
    by_block = Pattern(name="uniform by blocks", piece_bytes=block_bytes)
    by_piece = Pattern(name="uniform by 4 MiB", piece_bytes=4 * PIECE_BYTES)
    for times in TIMES:
        cyclic = Pattern(name="cyclic", piece_bytes=block_bytes, is_cyclic=True)
        for pattern in (cyclic, by_block, *((by_piece,) if times == TIMES[0] else ())):
            memory_bytes = max(2 * block_bytes, size_bytes // times)
            with stores.running(size, memory_bytes) as store:
                yield working_set(size, store, (pattern, times), path)
    with stores.running(size, 2 * size_bytes, preallocate=True) as store:
        for mode in WRITE_MODES:
            yield written(size, store, mode, path)


@contextmanager
def slowly(
    size: Size,
    running: tuple[RunningStore, RunningStore],
    readers: tuple[Reader, Reader],
    path: Path,
) -> Iterator[str | None]:
    """Daemons and readers held to a tenth of the speed of memory: to what, where we may do so."""
    if size.smoke:
        yield None
        return
    bytes_per_s = int(MEMORY_PART * _copied_per_s())
    with limits.slow_reads(path, bytes_per_s) as put_in:
        if put_in:
            pids = [*(one.status()["pid"] for one in running), *(one.pid() for one in readers)]
            for pid in pids:
                put_in(pid)
        yield put_in and f"disk held to {bytes_per_s / 1e9:.2g} GB/s"


def _copied_per_s() -> float:
    """Bytes a second that one thread copies from memory to memory."""
    source = np.ones(1 << 30, np.uint8)
    into = np.ones_like(source)
    started = time.perf_counter()
    np.copyto(into, source)
    return source.nbytes / (time.perf_counter() - started)


def fill_up(store: RunningStore, block_bytes: int) -> None:
    """Pin a file that takes all of the memory, so that everything else is read past the store."""
    pinned = store.under / f"pinned-{block_bytes}.bin"
    pinned.write_bytes(bytes(block_bytes))
    control.ask("pin", store.folder, path=store.path(pinned))


def missed(
    size: Size, language: str, readers: tuple[RunningStore, Reader, Reader], path: Path
) -> Case:
    """A file that is in no memory, read from its first byte to its last."""
    store, through, past = readers

    def cold(reader: Reader, kind: str) -> Callable[[Path], Sample]:
        def work(folder: Path) -> Sample:
            store.free(path)
            store.wait_for_memory()
            stores.forget(path, size)
            return reader.ask(kind, folder)

        return work

    door = "StoredFile::read_at" if language.startswith("Rust") else "fsspec, open(), readinto"
    return Case(
        name=f"miss, {stated(path.stat().st_size)}, {language}",
        contestants=(
            Contestant(
                name="cuesta",
                how=f"{door}, {PIECE}; a store with --preallocate fills its blocks",
                work=cold(through, "read"),
                answer=stores.summed,
            ),
            Contestant(
                name="cuesta bypass",
                how=f"{door}, {PIECE}; the memory of the store is pinned",
                work=cold(past, "read"),
                answer=stores.summed,
            ),
            Contestant(
                name=RAW,
                how=f"pread of {PIECE}",
                work=cold(through, "raw"),
                answer=stores.summed,
            ),
        ),
        bars=(
            Ratio(ours="cuesta", theirs=RAW, at_least=0.95, text="0.95 of raw, cache emptied"),
            Ratio(
                ours="cuesta bypass", theirs=RAW, at_least=0.98, text="0.98 of raw, cache emptied"
            ),
        ),
        amount=path.stat().st_size,
        unit="B",
        notes=(stores.forgotten_how(),),
    )


def missed_plainly(size: Size, path: Path) -> Iterator[Case]:
    """As a store is by default: it takes memory from the system when a block is filled."""
    language = next(one for one in languages() if one.missing is None)
    size_bytes = path.stat().st_size
    with stores.running(size, size_bytes + 4 * stores.block_bytes(size)) as store:
        reader = language.reader(store, path)

        def cold(kind: str) -> Callable[[Path], Sample]:
            def work(folder: Path) -> Sample:
                store.free(path)
                stores.forget(path, size)
                return reader.ask(kind, folder)

            return work

        yield Case(
            name=f"miss, {stated(size_bytes)}, {language.name}, memory not taken before",
            contestants=(
                Contestant(
                    name="cuesta",
                    how="the same without --preallocate",
                    work=cold("read"),
                    answer=stores.summed,
                ),
                Contestant(
                    name=RAW,
                    how=f"pread of {PIECE}",
                    work=cold("raw"),
                    answer=stores.summed,
                ),
            ),
            bars=(Ratio(ours="cuesta", theirs=RAW, at_least=None, text="shown, beside raw"),),
            amount=size_bytes,
            unit="B",
        )
        reader.close()


class Drawn:
    """The places of a file that the next pass reads, and what is there."""

    def __init__(self, path: Path, pattern: Pattern) -> None:
        self._pattern = pattern
        self._chance = random.Random(1)
        piece_bytes = pattern.piece_bytes
        self.bytes = path.stat().st_size // piece_bytes * piece_bytes
        self._all = list(range(0, self.bytes, piece_bytes))
        self.places = self._all
        with path.open("rb", buffering=0) as file:
            self._truth = {place: self._at(file, place) for place in self._all}

    def draw(self) -> None:
        """Other places for a uniform pass."""
        if not self._pattern.is_cyclic:
            self.places = self._chance.choices(self._all, k=len(self._all))

    def read(self, file: Any) -> int:
        """The pieces at all places; the sum of the first words of each 1 MiB."""
        return sum(self._at(file, place) for place in self.places)

    def _at(self, file: Any, place: int) -> int:
        piece = memoryview(bytearray(PIECE_BYTES))
        found = 0
        file.seek(place)
        for _ in range(self._pattern.piece_bytes // PIECE_BYTES):
            file.readinto(piece)
            found += int.from_bytes(piece[:8], "little")
        return found

    def answer(self, folder: Path) -> Answer:
        """Whether a reader has found what is there: places differ from pass to pass."""
        found = int((folder / "sum").read_text())
        is_right = found == sum(self._truth[place] for place in self.places)
        return Answer(digest="as the file" if is_right else str(found), rows=len(self.places))


def working_set(size: Size, store: RunningStore, shape: tuple[Pattern, int], path: Path) -> Case:
    """A file larger than the memory, read as a whole again and again, or at places by chance.

    The page cache is emptied before each pass; what the store holds is from the passes before.
    """
    pattern, times = shape
    drawn = Drawn(path, pattern)

    def ours(folder: Path) -> Sample:
        drawn.draw()
        stores.forget(path, size)
        started = time.perf_counter()
        with CuestaFileSystem(str(store.folder)).open(store.path(path), "rb") as file:
            found = drawn.read(file)
        return _sampled(started, found, folder)

    def raw(folder: Path) -> Sample:
        stores.forget(path, size)
        started = time.perf_counter()
        with path.open("rb", buffering=0) as file:
            found = drawn.read(file)
        return _sampled(started, found, folder)

    def hits(_: Path) -> str:
        status = store.status()
        return (
            f"{pattern.name}, {times}x the memory: {status['hits']} leases were hits, "
            f"{status['misses']} were not, {status['bypassed']} of them without room"
        )

    return Case(
        name=f"working set {times}x the memory, {pattern.name}, {stated(path.stat().st_size)}",
        contestants=(
            Contestant(
                name="cuesta",
                how="fsspec, open(), readinto of 1 MiB",
                work=ours,
                answer=drawn.answer,
                remark=hits,
            ),
            Contestant(
                name=RAW, how="the same of the file, unbuffered", work=raw, answer=drawn.answer
            ),
        ),
        bars=(Ratio(ours="cuesta", theirs=RAW, at_least=0.95, text="0.95 of raw, cache emptied"),),
        amount=drawn.bytes,
        unit="B",
    )


def _sampled(started: float, found: int, folder: Path) -> Sample:
    seconds = time.perf_counter() - started
    (folder / "sum").write_text(str(found))
    return Sample(seconds=seconds)


def written(size: Size, store: RunningStore, mode: WriteMode, path: Path) -> Case:
    """A file written whole from memory, on the disk and under its name at the end."""
    content = memoryview(path.read_bytes())[: size.pick(8 << 20, 1 << 30)]
    ours, theirs = (size.folder / f"written-{who}.bin" for who in ("ours", "raw"))

    def by_store(_: Path) -> Sample:
        store.wait_for_memory()
        stores.forget(path, size)
        started = time.perf_counter()
        system = CuestaFileSystem(str(store.folder))
        with system.open(store.path(ours), "wb", write_mode=mode.name) as file:
            _write(file, content)
        if mode.is_flushed:
            control.ask("flush", store.folder)
        return Sample(seconds=time.perf_counter() - started)

    def by_hand(_: Path) -> Sample:
        store.wait_for_memory()
        stores.forget(path, size)
        started = time.perf_counter()
        write_durably(theirs, content)
        return Sample(seconds=time.perf_counter() - started)

    text = f"{mode.at_least} of" if mode.at_least else "shown, beside"
    bar = Ratio(ours="cuesta", theirs=RAW, at_least=mode.at_least, text=f"{text} raw with fsync")
    return Case(
        name=f"write {mode.name}, {stated(len(content))}",
        contestants=(
            Contestant(
                name="cuesta",
                how=f"fsspec, open(mode 'wb'), write of 1 MiB, close; {mode.name}, --preallocate",
                work=by_store,
                answer=lambda _: taken(ours),
            ),
            Contestant(
                name=RAW,
                how="write of 1 MiB, fsync, rename, fsync of the folder",
                work=by_hand,
                answer=lambda _: taken(theirs),
            ),
        ),
        bars=(bar,),
        amount=len(content),
        unit="B",
    )


def write_durably(path: Path, content: memoryview) -> None:
    """Write a file whole, to the disk, under its name at the end."""
    partial = path.with_suffix(".part")
    with partial.open("wb", buffering=0) as file:
        _write(file, content)
        os.fsync(file.fileno())
    partial.rename(path)
    descriptor = os.open(path.parent, os.O_RDONLY)
    os.fsync(descriptor)
    os.close(descriptor)


def _write(file: Any, content: memoryview) -> None:
    for begin in range(0, len(content), PIECE_BYTES):
        file.write(content[begin : begin + PIECE_BYTES])


def taken(path: Path) -> Answer:
    """What a file holds. It is removed, so that the next one is a new file."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    found = Answer(digest=digest, rows=path.stat().st_size)
    path.unlink()
    return found
