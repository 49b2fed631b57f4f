"""A cached file, read in Python through the store and through its alternatives."""

from __future__ import annotations

import hashlib
import random
import shutil
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benches.store import shown, stated
from cuesta_store.filesystem import CuestaFileSystem
from harness import stores
from harness.model import Answer, Case, Contestant, Ratio, Sample
from harness.size import Size
from peers import alluxio_cluster, fsspec_caches, juicefs_mount
from peers.alluxio_cluster import Cluster

PIECE_BYTES = 1 << 20
SMALL_BYTES = 4 << 10
REQUESTS = 10_000
CUESTA = "cuesta"
PAGE_CACHE = "page cache"
BLOCKCACHE = "fsspec blockcache"
FILECACHE = "fsspec filecache"
JUICEFS = "juicefs"
JUICEFS_KEPT = "juicefs, page cache"
ALLUXIO = "alluxio, in Java"
AHEAD = (BLOCKCACHE, FILECACHE, JUICEFS, ALLUXIO)
SHOWN = (PAGE_CACHE, JUICEFS_KEPT)


@dataclass(frozen=True, kw_only=True)
class Door:
    """A library that opens the file in Python, and its preparation before each sample."""

    name: str
    how: str
    open: Callable[[], Any]
    before: Callable[[], None] = lambda: None


def cases(size: Size) -> Iterator[Case]:
    """All of the file, then pieces of it."""
    path = stores.records(size)
    size_bytes = path.stat().st_size
    reasons = {
        JUICEFS: size.left_out("juicefs") or juicefs_mount.missing(),
        ALLUXIO: size.left_out("alluxio") or alluxio_cluster.missing(),
    }
    reasons[JUICEFS_KEPT] = reasons[JUICEFS]
    absent = {name: why for name, why in reasons.items() if why}
    with ExitStack() as stack:
        all_doors = list(doors(size, path, stack, has_juicefs=JUICEFS not in absent))
        cluster = None
        if ALLUXIO not in absent:
            place = stores.new_folder("alluxio")
            cluster = Cluster(path, size_bytes + (256 << 20), place)
            stack.callback(cluster.close)
        buffer = np.ones(size_bytes, np.uint8).data
        yield Case(
            name=f"cached file, all of it, {stated(size_bytes)}",
            contestants=(
                *(complete_file(door, buffer) for door in all_doors),
                *in_java(cluster, size_bytes),
            ),
            bars=bars(),
            amount=size_bytes,
            unit="B",
            inputs=(path,),
            absent=absent,
        )
        yield Case(
            name="cached file, 4 KiB at random, p50",
            contestants=(*(small(door, size_bytes) for door in all_doors), *small_in_java(cluster)),
            bars=bars(),
            amount=1,
            unit="reads",
            inputs=(path,),
            absent=absent,
        )


def bars() -> tuple[Ratio, ...]:
    """Ahead of all but the page cache."""
    return (
        *(Ratio(ours=CUESTA, peer=name, at_least=1.0, text=f"ahead of {name}") for name in AHEAD),
        *(shown(CUESTA, name) for name in SHOWN),
    )


def doors(size: Size, path: Path, stack: ExitStack, *, has_juicefs: bool) -> Iterator[Door]:
    """Contestants in Python, each with all of the file cached after the unmeasured round."""
    memory_bytes = 2 * path.stat().st_size + 4 * stores.block_bytes(size)
    store = stack.enter_context(stores.running(size, memory_bytes))
    caches = stores.new_folder("fsspec")
    stack.callback(shutil.rmtree, caches, ignore_errors=True)
    ours = CuestaFileSystem(str(store.folder))
    blocks = fsspec_caches.blockcache(caches / "blocks")
    files = fsspec_caches.filecache(caches / "files")
    yield Door(name=CUESTA, how="fsspec, cuesta://", open=lambda: ours.open(store.path(path), "rb"))
    yield Door(name=PAGE_CACHE, how="open(buffering=0)", open=lambda: path.open("rb", buffering=0))
    yield Door(
        name=BLOCKCACHE,
        how="4 MiB blocks in the system's memory, over local files fetched by ranges",
        open=lambda: blocks.open(str(path), "rb"),
    )
    yield Door(
        name=FILECACHE,
        how="the whole file in the system's memory, over local files",
        open=lambda: files.open(str(path), "rb"),
    )
    if has_juicefs:
        mount = stack.enter_context(
            juicefs_mount.mounted(size.folder / "juicefs", path.stat().st_size * 3 // 2)
        )
        inside = mount / path.name
        shutil.copyfile(path, inside)
        yield Door(
            name=JUICEFS,
            how="FUSE mount, cache in memory, the page cache of the mount emptied before",
            open=lambda: inside.open("rb", buffering=0),
            before=lambda: juicefs_mount.forget(inside),
        )
        yield Door(
            name=JUICEFS_KEPT,
            how="FUSE mount, the page cache of the mount kept",
            open=lambda: inside.open("rb", buffering=0),
        )


def complete_file(door: Door, buffer: memoryview) -> Contestant:
    """The file into memory that is there already."""

    def work(_: Path) -> Sample:
        door.before()
        started = time.perf_counter()
        done = 0
        with door.open() as file:
            while count := file.readinto(buffer[done : done + PIECE_BYTES]):
                done += count
        return Sample(seconds=time.perf_counter() - started)

    def answer(_: Path) -> Answer:
        content = Answer(digest=hashlib.sha256(buffer).hexdigest(), rows=len(buffer))
        buffer[:] = bytes(len(buffer))
        return content

    return Contestant(name=door.name, how=f"{door.how}; readinto, 1 MiB", work=work, answer=answer)


def small(door: Door, size_bytes: int) -> Contestant:
    """Pieces of an open file."""

    def work(folder: Path) -> Sample:
        door.before()
        chance = random.Random(1)
        piece = memoryview(bytearray(SMALL_BYTES))
        seconds, hashed = [], hashlib.sha256()
        with door.open() as file:
            for _ in range(REQUESTS):
                offset = SMALL_BYTES * chance.randrange(size_bytes // SMALL_BYTES)
                started = time.perf_counter()
                file.seek(offset)
                file.readinto(piece)
                seconds.append(time.perf_counter() - started)
                hashed.update(piece)
        (folder / "digest").write_text(hashed.hexdigest())
        return Sample(seconds=statistics.median(seconds))

    return Contestant(
        name=door.name,
        how=f"{door.how}; seek and readinto, {REQUESTS} times",
        work=work,
        answer=lambda folder: Answer(digest=(folder / "digest").read_text(), rows=REQUESTS),
    )


def in_java(cluster: Cluster | None, size_bytes: int) -> Iterator[Contestant]:
    """Alluxio's client."""
    if cluster:
        yield Contestant(
            name=ALLUXIO,
            how="FileInStream.read, 1 MiB, into arrays; the worker's memory in the same JVM",
            work=lambda _: Sample(seconds=float(cluster.ask("read"))),
            answer=lambda _: Answer(digest=cluster.ask("digest"), rows=size_bytes),
        )


def small_in_java(cluster: Cluster | None) -> Iterator[Contestant]:
    """Alluxio's client; places are drawn by Java, so that there is no answer to compare."""
    if cluster:
        yield Contestant(
            name=ALLUXIO,
            how=f"FileInStream.positionedRead, {REQUESTS} times",
            work=lambda _: Sample(seconds=float(cluster.ask("small"))),
        )
