"""Reads that miss the memory, and writes, compared with raw files."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benches.store import PIECE, Language, door_of, runnable_languages, stated
from cuesta_store import control
from cuesta_store.filesystem import CuestaFileSystem
from harness import limits, stores
from harness.model import Answer, Case, Contestant, Ratio, Sample
from harness.size import Size
from harness.stores import Reader, RunningStore

PIECE_BYTES = 1 << 20
MEMORY_PART = 0.1
"""Part of the rate at which a thread copies memory: the rate of slow reads."""
RAW = "raw"


@dataclass(frozen=True, kw_only=True)
class WriteMode:
    """A write mode of the store, what opens a file in it, and its bar against raw."""

    name: str
    at_least: float | None = None
    is_flushed: bool = False


WRITE_MODES = (
    WriteMode(name="through", at_least=0.95),
    WriteMode(name="bypass"),
    WriteMode(name="back", is_flushed=True),
)
"""All write modes end on the disk: data that is written back is flushed in the measured time."""


def cases(size: Size) -> Iterator[Case]:
    """Misses in each language, then writes."""
    path = stores.records(size)
    block_bytes = stores.block_bytes(size)
    for language in runnable_languages():
        memory_bytes = 2 * path.stat().st_size + 4 * block_bytes
        with stores.running(size, memory_bytes, preallocate=True) as store:
            yield from freely_and_slowly(missed, size, language, store, path)
    for language in runnable_languages():
        with stores.running(size, block_bytes) as store:
            fill_up(store, block_bytes)
            yield from freely_and_slowly(bypassed, size, language, store, path)
    yield from missed_plainly(size, path)
    with stores.running(size, 2 * path.stat().st_size, preallocate=True) as store:
        for mode in WRITE_MODES:
            yield written(size, store, mode, path)


def freely_and_slowly(
    make: Callable[[Size, str, tuple[RunningStore, Reader], Path], Case],
    size: Size,
    language: Language,
    store: RunningStore,
    path: Path,
) -> Iterator[Case]:
    """A case with the disk as it is, and with a limited rate of the disk, where allowed."""
    with closing(language.reader(store, path)) as reader:
        yield make(size, language.name, (store, reader), path)
        with slowly(size, store, reader, path) as held:
            if held:
                yield make(size, f"{language.name}, {held}", (store, reader), path)


@contextmanager
def slowly(size: Size, store: RunningStore, reader: Reader, path: Path) -> Iterator[str | None]:
    """Limit a daemon and a reader to a tenth of memory's speed; yield the rate, where allowed."""
    if size.smoke:
        yield None
        return
    bytes_per_s = held_to()
    with limits.slow_reads(path, bytes_per_s) as put_in:
        if put_in:
            put_in(store.status()["pid"])
            put_in(reader.pid())
        yield put_in and f"disk held to {bytes_per_s / 1e9:.2g} GB/s"


def held_to() -> int:
    """Bytes a second: a tenth of the rate at which a thread copies memory."""
    source = np.ones(1 << 30, np.uint8)
    into = np.ones_like(source)
    started = time.perf_counter()
    np.copyto(into, source)
    return int(MEMORY_PART * source.nbytes / (time.perf_counter() - started))


def fill_up(store: RunningStore, block_bytes: int) -> None:
    """Pin a file that takes all of the memory, so that everything else is read past the store."""
    pinned = store.under / f"pinned-{block_bytes}.bin"
    pinned.write_bytes(bytes(block_bytes))
    control.ask("pin", store.folder, path=store.path(pinned))


def missed(size: Size, language: str, running: tuple[RunningStore, Reader], path: Path) -> Case:
    """A file that is in no memory, read from its first byte to its last."""
    store, reader = running

    def ready(kind: str, folder: Path) -> Sample:
        store.free(path)
        store.wait_for_memory()
        stores.forget(path, size)
        return reader.ask(kind, folder)

    def raw(folder: Path) -> Sample:
        ready(RAW, folder)
        return ready(RAW, folder)

    twice = "the second of two: the first gets memory that the host may have to give again"
    return Case(
        name=f"miss, {stated(path.stat().st_size)}, {language}",
        contestants=(
            Contestant(
                name="cuesta",
                how=f"{door_of(language)}, {PIECE}; a store with --preallocate fills its blocks",
                work=lambda folder: ready("read", folder),
                answer=stores.summed,
            ),
            Contestant(name=RAW, how=f"pread of {PIECE}; {twice}", work=raw, answer=stores.summed),
        ),
        bars=(Ratio(ours="cuesta", peer=RAW, at_least=0.95, text="0.95 of raw, cache emptied"),),
        amount=path.stat().st_size,
        unit="B",
        notes=(stores.forgotten_how(),),
    )


def cold(
    size: Size, running: tuple[RunningStore, Reader], path: Path, kind: str
) -> Callable[[Path], Sample]:
    """Work that queries a reader once a file is in no memory."""
    store, reader = running

    def work(folder: Path) -> Sample:
        store.free(path)
        stores.forget(path, size)
        return reader.ask(kind, folder)

    return work


def bypassed(size: Size, language: str, running: tuple[RunningStore, Reader], path: Path) -> Case:
    """A file read past a store whose memory is pinned."""
    return Case(
        name=f"bypass, {stated(path.stat().st_size)}, {language}",
        contestants=(
            Contestant(
                name="cuesta",
                how=f"{door_of(language)}, {PIECE}; the memory of the store is pinned",
                work=cold(size, running, path, "read"),
                answer=stores.summed,
            ),
            Contestant(
                name=RAW,
                how=f"pread of {PIECE}",
                work=cold(size, running, path, RAW),
                answer=stores.summed,
            ),
        ),
        bars=(Ratio(ours="cuesta", peer=RAW, at_least=0.98, text="0.98 of raw, cache emptied"),),
        amount=path.stat().st_size,
        unit="B",
        notes=(stores.forgotten_how(),),
    )


def missed_plainly(size: Size, path: Path) -> Iterator[Case]:
    """As a store is by default: it takes memory from the system when a block is filled."""
    language = runnable_languages()[0]
    size_bytes = path.stat().st_size
    with stores.running(size, size_bytes + 4 * stores.block_bytes(size)) as store:
        reader = language.reader(store, path)

        yield Case(
            name=f"miss, {stated(size_bytes)}, {language.name}, memory not taken before",
            contestants=(
                Contestant(
                    name="cuesta",
                    how="the same without --preallocate",
                    work=cold(size, (store, reader), path, "read"),
                    answer=stores.summed,
                ),
                Contestant(
                    name=RAW,
                    how=f"pread of {PIECE}",
                    work=cold(size, (store, reader), path, RAW),
                    answer=stores.summed,
                ),
            ),
            bars=(Ratio(ours="cuesta", peer=RAW, at_least=None, text="shown, beside raw"),),
            amount=size_bytes,
            unit="B",
        )
        reader.close()


def written(size: Size, store: RunningStore, mode: WriteMode, path: Path) -> Case:
    """A file written whole from memory, on the disk and under its name at the end."""
    content = memoryview(path.read_bytes())[: size.pick(8 << 20, 1 << 30)]
    our_path, raw_path = (size.folder / f"written-{who}.bin" for who in ("ours", "raw"))

    def by_store(_: Path) -> Sample:
        store.wait_for_memory()
        stores.forget(path, size)
        started = time.perf_counter()
        system = CuestaFileSystem(str(store.folder))
        with system.open(store.path(our_path), "wb", write_mode=mode.name) as file:
            _write(file, content)
        if mode.is_flushed:
            control.ask("flush", store.folder)
        return Sample(seconds=time.perf_counter() - started)

    def by_hand(_: Path) -> Sample:
        store.wait_for_memory()
        stores.forget(path, size)
        started = time.perf_counter()
        write_durably(raw_path, content)
        return Sample(seconds=time.perf_counter() - started)

    text = f"{mode.at_least} of" if mode.at_least else "shown, beside"
    bar = Ratio(ours="cuesta", peer=RAW, at_least=mode.at_least, text=f"{text} raw with fsync")
    return Case(
        name=f"write {mode.name}, {stated(len(content))}",
        contestants=(
            Contestant(
                name="cuesta",
                how=f"fsspec, open(mode 'wb'), write of 1 MiB, close; {mode.name}, --preallocate",
                work=by_store,
                answer=lambda _: taken(our_path),
            ),
            Contestant(
                name=RAW,
                how="write of 1 MiB, fsync, rename, fsync of the folder",
                work=by_hand,
                answer=lambda _: taken(raw_path),
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
    """Answer with the content of a file, which is removed, so that the next one is new."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    answer = Answer(digest=digest, rows=path.stat().st_size)
    path.unlink()
    return answer
