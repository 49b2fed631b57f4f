"""Hits in the memory of a store, compared with memory itself and the page cache."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness import stores
from harness.model import Bar, Case, Contestant, Ratio, TimeLimit
from harness.size import Size
from harness.stores import Reader, RunningStore
from peers import store_reader

HIT_SECONDS = 1e-6
PIECE = "1 MiB at a time into one buffer"


@dataclass(frozen=True, kw_only=True)
class Language:
    """A reader's language, its command, or why it cannot run, and its bars."""

    name: str
    words: list[str]
    missing: str | None
    mapped: float

    def reader(self, store: RunningStore, path: Path) -> Reader:
        """The reader of a file."""
        return Reader(self.words, store, path)


@dataclass(frozen=True, kw_only=True)
class ReadMethod:
    """A contestant of a case: its name, the request to the reader, and how that is done."""

    name: str
    kind: str
    how: str
    is_new: bool = False
    has_answer: bool = True


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A case of a language: ours first."""

    name: str
    methods: tuple[ReadMethod, ...]
    bars: tuple[Bar, ...]
    amount: float
    unit: str = "B"


def languages() -> tuple[Language, Language]:
    """Rust and Python."""
    rust = stores.rust_reader()
    return (
        Language(
            name="Rust",
            words=[str(rust)],
            missing=rust if isinstance(rust, str) else None,
            mapped=0.95,
        ),
        Language(
            name="Python",
            words=[sys.executable, store_reader.__file__],
            missing=None,
            mapped=0.9,
        ),
    )


def door_of(language: str) -> str:
    """Call by which a reader in a language copies bytes of a file."""
    return "StoredFile::read_at" if language.startswith("Rust") else "fsspec, open(), readinto"


def runnable_languages() -> list[Language]:
    """Languages whose readers can run here."""
    return [language for language in languages() if language.missing is None]


def cases(size: Size) -> Iterator[Case]:
    """Every case in Rust, then in Python."""
    path = stores.records(size)
    size_bytes = path.stat().st_size
    # A client holds leases on half of the memory at most.
    with stores.running(size, 2 * size_bytes + 4 * stores.block_bytes(size)) as store:
        store.load(path)
        for language in languages():
            reader = language.reader(store, path)
            try:
                for shape in shapes(language, size_bytes):
                    yield case(shape, language, reader, path)
            finally:
                reader.close()


def case(shape: Shape, language: Language, reader: Reader, path: Path) -> Case:
    """A case, or its row without figures where the language cannot run."""
    present = () if language.missing else shape.methods
    return Case(
        name=f"{shape.name}, {language.name}",
        contestants=tuple(contestant(method, reader) for method in present),
        bars=shape.bars,
        amount=shape.amount,
        unit=shape.unit,
        inputs=(path,),
        absent={method.name: language.missing for method in shape.methods}
        if language.missing
        else {},
    )


def contestant(method: ReadMethod, reader: Reader) -> Contestant:
    """Asks the reader."""
    ask = reader.ask_new if method.is_new else reader.ask
    return Contestant(
        name=method.name,
        how=method.how,
        work=lambda folder: ask(method.kind, folder),
        answer=stores.summed if method.has_answer else None,
    )


def shapes(language: Language, size_bytes: int) -> Iterator[Shape]:
    """Cases of a language."""
    yield scan_touched(language, size_bytes)
    yield scan_first(size_bytes)
    yield buffered(language, size_bytes)
    yield from small(language)


def scan_touched(language: Language, size_bytes: int) -> Shape:
    """A pass over mapped blocks whose pages are there."""
    huge = ReadMethod(
        name="private memory, huge pages",
        kind="private",
        how="an array of NumPy, which asks the system for huge pages",
    )
    kind = "private" if language.name == "Rust" else "private small"
    return Shape(
        name=f"scan of mapped blocks, touched, {stated(size_bytes)}",
        methods=(
            ReadMethod(name="cuesta", kind="mapped", how="sum of the words of all blocks"),
            ReadMethod(name="private memory", kind=kind, how="the same of memory of the process"),
            *((huge,) if language.name == "Python" else ()),
        ),
        bars=(
            ratio("cuesta", "private memory", language.mapped),
            *((shown("cuesta", huge.name),) if language.name == "Python" else ()),
        ),
        amount=size_bytes,
    )


def scan_first(size_bytes: int) -> Shape:
    """The first pass of a new process, its page faults in the time."""
    return Shape(
        name=f"first scan of a new process, {stated(size_bytes)}",
        methods=(
            ReadMethod(
                name="cuesta",
                kind="first",
                how="connect, lease and map all blocks, sum of their words",
                is_new=True,
            ),
            ReadMethod(
                name="page cache",
                kind="pread",
                how=f"pread of {PIECE}, sum of its words",
                is_new=True,
            ),
        ),
        bars=(ratio("cuesta", "page cache", 1.0),),
        amount=size_bytes,
    )


def buffered(language: Language, size_bytes: int) -> Shape:
    """All bytes copied to a buffer of the reader."""
    door = door_of(language.name)
    return Shape(
        name=f"read into a buffer, {stated(size_bytes)}",
        methods=(
            ReadMethod(name="cuesta", kind="read", how=f"{door}, {PIECE}"),
            ReadMethod(name="memcpy", kind="memcpy", how=f"from memory of the process, {PIECE}"),
            ReadMethod(name="page cache", kind="raw", how=f"pread of {PIECE}"),
        ),
        bars=(ratio("cuesta", "memcpy", 0.9), shown("cuesta", "page cache")),
        amount=size_bytes,
    )


def small(language: Language) -> Iterator[Shape]:
    """Requests of 4 KiB."""
    by_read = ReadMethod(
        name="cuesta read_at",
        kind="hit by read",
        how="the same by StoredFile::read_at, which finds the lease",
    )
    is_rust = language.name == "Rust"
    limit = TimeLimit(ours="cuesta", below_seconds=HIT_SECONDS, text="p50 under 1 us")
    yield Shape(
        name="4 KiB at random, mapped, p50",
        methods=(
            ReadMethod(name="cuesta", kind="hit", how="copied from a block that is mapped"),
            *((by_read,) if is_rust else ()),
        ),
        bars=(limit,),
        amount=1,
        unit="reads",
    )
    yield Shape(
        name="4 KiB at random, socket, p50",
        methods=(
            ReadMethod(name="cuesta", kind="socket", how="the question `read`"),
            ReadMethod(name="round trip", kind="ping", how="the question `ping`", has_answer=False),
        ),
        bars=(
            Ratio(
                ours="cuesta",
                peer="round trip",
                at_least=1 / 1.5,
                text="at most 1.5 times an empty round trip",
            ),
        ),
        amount=1,
        unit="reads",
    )


def ratio(ours: str, peer: str, at_least: float) -> Ratio:
    """A bar that names the other."""
    return Ratio(ours=ours, peer=peer, at_least=at_least, text=f"{at_least:.3g} of {peer}")


def shown(ours: str, peer: str) -> Ratio:
    """A figure without a bar."""
    return Ratio(ours=ours, peer=peer, at_least=None, text=f"beside {peer}, shown")


def stated(size_bytes: int) -> str:
    """`2.1 GB`."""
    return f"{size_bytes / 1e9:.2g} GB"
