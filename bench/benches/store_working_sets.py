"""Working sets larger than the memory of a store, compared with the raw file."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from benches.store import PIECE, door_of, runnable_languages, stated
from harness import stores
from harness.model import Answer, Case, Contestant, Ratio, Sample
from harness.size import Size
from harness.stores import Reader, RunningStore
from peers.store_reader import LANES

PIECE_BYTES = 1 << 20
TIMES = (2, 4, 10)
RAW = "raw"


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """In which pieces a working set is read, in their order or drawn."""

    name: str
    piece_bytes: int
    is_cyclic: bool = False


def cases(size: Size) -> Iterator[Case]:
    """Some times the memory, in each pattern and language."""
    path = stores.records(size)
    block_bytes = stores.block_bytes(size)
    cyclic = Pattern(name="cyclic", piece_bytes=block_bytes, is_cyclic=True)
    by_block = Pattern(name="uniform by blocks", piece_bytes=block_bytes)
    by_piece = Pattern(name="uniform by 4 MiB", piece_bytes=4 * PIECE_BYTES)
    for times in TIMES:
        memory_bytes = max(2 * block_bytes, path.stat().st_size // times)
        for pattern in (cyclic, by_block, *((by_piece,) if times == TIMES[0] else ())):
            for language in runnable_languages():
                with (
                    stores.running(size, memory_bytes) as store,
                    closing(language.reader(store, path)) as reader,
                ):
                    shape = WorkingSet(path=path, pattern=pattern, times=times)
                    yield working_set(size, shape, language.name, store, reader)


class Drawn:
    """The places of a file that the next pass reads, and their content."""

    def __init__(self, path: Path, pattern: Pattern) -> None:
        self._pattern = pattern
        self._chance = random.Random(1)
        piece_bytes = pattern.piece_bytes
        self.bytes = path.stat().st_size // piece_bytes * piece_bytes
        self._all = list(range(0, self.bytes, piece_bytes))
        self.pieces = self._all
        with path.open("rb", buffering=0) as file:
            self._words = [
                int.from_bytes(os.pread(file.fileno(), 8, place), "little")
                for place in range(0, self.bytes, PIECE_BYTES)
            ]

    def draw(self) -> None:
        """Other pieces for a uniform pass."""
        if not self._pattern.is_cyclic:
            self.pieces = self._chance.choices(self._all, k=len(self._all))

    def places(self) -> Iterator[int]:
        """Offsets of each 1 MiB of the pieces."""
        for piece in self.pieces:
            yield from range(piece, piece + self._pattern.piece_bytes, PIECE_BYTES)

    def answer(self, folder: Path) -> Answer:
        """Answer that is right or not: places differ from pass to pass."""
        sum_read = int((folder / "sum").read_text())
        wanted = sum(self._words[place // PIECE_BYTES] for place in self.places()) % LANES
        is_right = sum_read == wanted
        return Answer(digest="as the file" if is_right else str(sum_read), rows=len(self.pieces))


@dataclass(frozen=True, kw_only=True)
class WorkingSet:
    """A file of some times the memory, and the pattern in which it is read."""

    path: Path
    pattern: Pattern
    times: int


def working_set(
    size: Size, shape: WorkingSet, language: str, store: RunningStore, reader: Reader
) -> Case:
    """A file larger than the memory, read as a whole again and again, or at places by chance.

    The page cache is emptied before each pass; the store retains blocks of earlier passes.
    """
    path, pattern, times = shape.path, shape.pattern, shape.times
    drawn = Drawn(path, pattern)

    def passed(kind: str, folder: Path) -> Sample:
        places = folder / "places"
        places.write_text("".join(f"{place}\n" for place in drawn.places()))
        stores.forget(path, size)
        return reader.ask(f"{kind}: {places}", folder)

    def ours(folder: Path) -> Sample:
        drawn.draw()
        return passed("places", folder)

    def hits(_: Path) -> str:
        status = store.status()
        return (
            f"{pattern.name}, {times}x the memory, {language}: {status['hits']} leases were "
            f"hits, {status['misses']} were not, {status['bypassed']} of them without room"
        )

    return Case(
        name=(
            f"working set {times}x the memory, {pattern.name}, {stated(path.stat().st_size)}, "
            f"{language}"
        ),
        contestants=(
            Contestant(
                name="cuesta",
                how=f"{door_of(language)}, {PIECE}",
                work=ours,
                answer=drawn.answer,
                remark=hits,
            ),
            Contestant(
                name=RAW,
                how="the same of the file, unbuffered",
                work=lambda folder: passed("raw places", folder),
                answer=drawn.answer,
            ),
        ),
        bars=(Ratio(ours="cuesta", peer=RAW, at_least=0.95, text="0.95 of raw, cache emptied"),),
        amount=drawn.bytes,
        unit="B",
    )
