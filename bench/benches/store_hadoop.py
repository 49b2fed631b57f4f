"""Hits in Java by way of Hadoop, compared with Rust and with memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benches.store import ReadMethod, contestant, languages, ratio, shown, stated
from harness import stores
from harness.model import Bar, Case, Contestant, Sample
from harness.size import Size
from harness.stores import Reader
from peers import hadoop_reader

CUESTA = "cuesta"
RUST = "cuesta, Rust"
PYTHON = "cuesta, Python"
MEMCPY = "memcpy"
PAGE_CACHE = "page cache"
PIECE = "1 MiB at a time"
WARM_UP = 5
"""Passes of the others before the one that is timed, as `HadoopReader.java` makes some: the client
in Rust maps a block once its bytes were copied four times, and Java at once."""
JAVA_METHODS = {
    "scan of mapped blocks": (
        ReadMethod(name=CUESTA, kind="mapped", how="HasEnhancedByteBufferAccess, sum of all words"),
        ReadMethod(name="private memory", kind="private", how="the same of direct buffers"),
    ),
    "read into a ByteBuffer": (
        ReadMethod(name=CUESTA, kind="buffer", how=f"FSDataInputStream.read(ByteBuffer), {PIECE}"),
        ReadMethod(
            name=MEMCPY, kind="memcpy buffer", how=f"ByteBuffer.put of direct buffers, {PIECE}"
        ),
        ReadMethod(name=PAGE_CACHE, kind="raw buffer", how=f"FileChannel.read, {PIECE}"),
    ),
    "read into an array": (
        ReadMethod(name=CUESTA, kind="array", how=f"FSDataInputStream.read(byte[]), {PIECE}"),
        ReadMethod(name=MEMCPY, kind="memcpy", how=f"System.arraycopy, {PIECE}"),
    ),
}
OTHER_METHODS = {
    "scan of mapped blocks": "mapped",
    "read into a ByteBuffer": "read",
    "read into an array": "read",
}
BARS: dict[str, tuple[Bar, ...]] = {
    "scan of mapped blocks": (
        shown(CUESTA, "private memory"),
        shown(CUESTA, RUST),
        shown(CUESTA, PYTHON),
    ),
    "read into a ByteBuffer": (
        ratio(CUESTA, RUST, 0.9),
        shown(CUESTA, PYTHON),
        shown(CUESTA, MEMCPY),
        shown(CUESTA, PAGE_CACHE),
    ),
    "read into an array": (ratio(CUESTA, MEMCPY, 0.8), shown(CUESTA, RUST)),
}


def cases(size: Size) -> Iterator[Case]:
    """A scan without a copy, then copies."""
    path = stores.records(size)
    size_bytes = path.stat().st_size
    # A client holds leases on half of the memory at most.
    with stores.running(size, 2 * size_bytes + 4 * stores.block_bytes(size)) as store:
        store.load(path)
        rust, python = languages()
        words = {RUST: rust.words, PYTHON: python.words, CUESTA: hadoop_reader.words(size_bytes)}
        lacking = {RUST: rust.missing, CUESTA: hadoop_reader.missing()}
        absent = {name: why for name, why in lacking.items() if why}
        readers = {name: Reader(one, store, path) for name, one in words.items()}
        try:
            for name in JAVA_METHODS:
                yield case(name, path, readers, absent)
        finally:
            for reader in readers.values():
                reader.close()


def case(name: str, path: Path, readers: dict[str, Reader], absent: dict[str, str]) -> Case:
    """Java first, then the others by their own door."""
    kind = OTHER_METHODS[name]
    other_methods = [
        ReadMethod(name=language, kind=kind, how="their own door") for language in (RUST, PYTHON)
    ]
    missing = (
        {method.name: absent[CUESTA] for method in JAVA_METHODS[name]} if CUESTA in absent else {}
    )
    if RUST in absent:
        missing[RUST] = absent[RUST]
    java = () if CUESTA in absent else JAVA_METHODS[name]
    contestants = [contestant(method, readers[CUESTA]) for method in java]
    contestants += [
        warmed(method, readers[method.name])
        for method in other_methods
        if method.name not in absent
    ]
    size_bytes = path.stat().st_size
    return Case(
        name=f"{name}, {stated(size_bytes)}, Java",
        contestants=tuple(contestants),
        bars=BARS[name],
        amount=size_bytes,
        unit="B",
        inputs=(path,),
        absent=missing,
    )


def warmed(method: ReadMethod, reader: Reader) -> Contestant:
    """Asks the reader, after passes that do not count."""

    def work(folder: Path) -> Sample:
        for _ in range(WARM_UP):
            reader.ask(method.kind, folder)
        return reader.ask(method.kind, folder)

    return replace(contestant(method, reader), work=work)
