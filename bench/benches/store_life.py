"""Time that a store takes to start and to stop, and memory of its daemon besides blocks."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from benches.store import stated
from benches.store_misses import taken, write_durably
from cuesta_store import control
from cuesta_store.errors import EngineMissing
from cuesta_store.filesystem import CuestaFileSystem
from harness import stores
from harness.model import Answer, Case, Contestant, MemoryLimit, Ratio, Sample, TimeLimit
from harness.size import Size
from harness.stores import RunningStore

START_SECONDS = 1.0
RESIDENT_BYTES = 32 << 20
RESIDENT_PART = 0.02


def cases(size: Size) -> Iterator[Case]:
    """Start, stop, memory."""
    path = stores.records(size)
    memory_bytes = path.stat().st_size + 4 * stores.block_bytes(size)
    yield started(size, memory_bytes)
    yield stopped(size, memory_bytes, path)
    yield stopped_dirty(size, memory_bytes, path)
    with stores.running(size, memory_bytes) as store:
        yield resident(size, store, path)


def started(size: Size, memory_bytes: int) -> Case:
    """Until the first client is answered."""
    folder = stores.new_folder()

    def work(answers: Path) -> Sample:
        memory_file = answers / "memory"
        begun = time.perf_counter()
        control.start(stores.settings(size, memory_bytes), folder)
        seconds = time.perf_counter() - begun
        memory_file.write_text(str(control.status(folder)["memory_bytes"]))
        control.stop(folder)
        return Sample(seconds=seconds)

    return Case(
        name="start",
        contestants=(
            Contestant(
                name="cuesta",
                how="control.start, which asks for the status at last",
                work=work,
                answer=lambda answers: Answer(digest=(answers / "memory").read_text(), rows=1),
            ),
        ),
        bars=(TimeLimit(ours="cuesta", below_seconds=START_SECONDS, text="ready within 1 s"),),
        amount=1,
        unit="starts",
    )


def stopped(size: Size, memory_bytes: int, path: Path) -> Case:
    """With all of a file in memory."""
    folder = stores.new_folder()

    def work(_: Path) -> Sample:
        with suppress(EngineMissing):
            control.stop(folder)
        control.start(stores.settings(size, memory_bytes), folder)
        RunningStore(folder=folder, under=size.folder).load(path)
        begun = time.perf_counter()
        control.stop(folder)
        return Sample(seconds=time.perf_counter() - begun)

    return Case(
        name="stop, nothing dirty",
        contestants=(
            Contestant(
                name="cuesta",
                how="control.stop, until the memory is given back",
                work=work,
                answer=lambda _: Answer(digest=f"a store is left: {folder.exists()}", rows=1),
            ),
        ),
        bars=(),
        amount=path.stat().st_size,
        unit="B",
    )


def stopped_dirty(size: Size, memory_bytes: int, path: Path) -> Case:
    """With a file that was written back a moment ago: all of it is on the disk in the end."""
    folder = stores.new_folder()
    content = memoryview(path.read_bytes())[: size.pick(8 << 20, 1 << 30)]
    our_path, raw_path = (size.folder / f"dirty-{who}.bin" for who in ("ours", "raw"))

    def by_store(_: Path) -> Sample:
        control.start(stores.settings(size, memory_bytes, preallocate=True), folder)
        store = RunningStore(folder=folder, under=size.folder)
        store.wait_for_memory()
        stores.forget(path, size)
        system = CuestaFileSystem(str(folder), skip_instance_cache=True)
        with system.open(store.path(our_path), "wb", write_mode="back") as file:
            file.write(content)
        begun = time.perf_counter()
        control.stop(folder)
        return Sample(seconds=time.perf_counter() - begun)

    def by_hand(_: Path) -> Sample:
        stores.forget(path, size)
        begun = time.perf_counter()
        write_durably(raw_path, content)
        return Sample(seconds=time.perf_counter() - begun)

    return Case(
        name=f"stop, {stated(len(content))} dirty",
        contestants=(
            Contestant(
                name="cuesta",
                how="control.stop right after the file was closed in mode back; --preallocate",
                work=by_store,
                answer=lambda _: taken(our_path),
            ),
            Contestant(
                name="raw",
                how="write of 1 MiB, fsync, rename, fsync of the folder",
                work=by_hand,
                answer=lambda _: taken(raw_path),
            ),
        ),
        bars=(Ratio(ours="cuesta", peer="raw", at_least=1.0, text="no slower than writing it"),),
        amount=len(content),
        unit="B",
    )


def resident(size: Size, store: RunningStore, path: Path) -> Case:
    """After the blocks were filled again and again."""
    blocks_bytes = path.stat().st_size
    below = RESIDENT_BYTES + int(RESIDENT_PART * blocks_bytes)
    pid = store.status()["pid"]

    def work(_: Path) -> Sample:
        store.free(path)
        stores.forget(path, size)
        begun = time.perf_counter()
        store.load(path)
        seconds = time.perf_counter() - begun
        return Sample(seconds=seconds, peak_resident_bytes=_beyond_blocks(pid))

    return Case(
        name="load, and what the daemon has beside its blocks",
        contestants=(
            Contestant(
                name="cuesta",
                how="the question `load`, no cache warm; then RssAnon and RssFile of the daemon",
                work=work,
                answer=lambda _: Answer(digest=str(store.status()["used_bytes"]), rows=1),
            ),
        ),
        bars=(MemoryLimit(ours="cuesta", below_bytes=below, text="under 32 MiB + 2 % of blocks"),),
        amount=blocks_bytes,
        unit="B",
    )


def _beyond_blocks(pid: int) -> int:
    """Resident bytes of a process but those of the system's memory files, which are the blocks."""
    size_bytes = 0
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, rest = line.partition(":")
        if name in ("RssAnon", "RssFile"):
            size_bytes += int(rest.split()[0]) * 1024
    return size_bytes
