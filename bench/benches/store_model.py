"""Reading with a part of a file in memory, compared with equation (7) of the paper."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from benches.store import PIECE, door_of, runnable_languages, stated
from benches.store_misses import fill_up
from cuesta_lab.model.storage import StorageRates, two_level_read
from cuesta_store import control
from harness import limits, stores
from harness.model import Case, Contestant, Ratio, Sample
from harness.size import Size
from harness.stores import Reader, RunningStore

QUARTERS = range(5)
RATE = 400_000_000
"""Rate of the disk in bytes a second, as of a data node in section 5.4. The equation has one rate
of the disk: the limit has to be slower than all else that a pass waits for."""
WITHIN = 0.9
"""Least ratio of the prediction and the measured time, and of its inverse."""


@dataclass
class Measured:
    """Seconds of the last pass with each part in memory."""

    path: Path
    block_bytes: int
    seconds: dict[int, float] = field(default_factory=dict)

    @property
    def bytes(self) -> int:
        """Bytes of the file."""
        return self.path.stat().st_size

    def blocks(self, quarter: int) -> int:
        """Number of blocks of the file that are in memory."""
        return -(-self.bytes // self.block_bytes) * quarter // 4

    def predicted(self, quarter: int) -> float:
        """Seconds by the equation, of the rates with nothing and with all in memory."""
        below, memory = (self.bytes / self.seconds[end] for end in (QUARTERS[0], QUARTERS[-1]))
        in_memory = min(1.0, self.blocks(quarter) * self.block_bytes / self.bytes)
        return self.bytes / rate_of_both(below, memory, in_memory)


def rate_of_both(below: float, memory: float, in_memory: float) -> float:
    """Bytes a second by equation (7) for a client, of the rates from below and from memory."""
    rates = StorageRates(
        network=below,
        disk_read=below,
        disk_write=below,
        memory=memory,
        data_nodes=1,
        data_disk_read=below,
        data_disk_write=below,
    )
    return two_level_read(rates, 1, in_memory)


def cases(size: Size) -> Iterator[Case]:
    """A client that does not compute, with a limited rate of the disk where allowed."""
    measured = Measured(path=stores.records(size), block_bytes=stores.block_bytes(size))
    language = runnable_languages()[0]
    with ExitStack() as stack:
        put_in = None
        if not size.smoke:
            put_in = stack.enter_context(limits.slow_reads(measured.path, RATE))
        readers = {}
        for quarter in QUARTERS:
            store = stack.enter_context(holding(size, measured, quarter))
            readers[quarter] = stack.enter_context(closing(language.reader(store, measured.path)))
            if put_in:
                put_in(store.status()["pid"])
                put_in(readers[quarter].pid())
        held = f", disk held to {RATE / 1e6:.0f} MB/s" if put_in else ""
        yield case(size, f"{language.name}{held}", readers, measured)


@contextmanager
def holding(size: Size, measured: Measured, quarter: int) -> Iterator[RunningStore]:
    """A store with so many quarters of the file in memory, without room for anything else."""
    blocks = measured.blocks(quarter)
    memory_bytes = max(1, blocks) * measured.block_bytes
    with stores.running(size, memory_bytes, name=f"holds-{quarter}") as store:
        if blocks:
            control.ask("pin", store.folder, path=store.path(measured.path))
        else:
            fill_up(store, measured.block_bytes)
        yield store


def case(size: Size, language: str, readers: dict[int, Reader], measured: Measured) -> Case:
    """Case of passes with each part in memory, then the predictions of the same round."""

    def passed(quarter: int, folder: Path) -> Sample:
        stores.forget(measured.path, size)
        sample = readers[quarter].ask("read", folder)
        measured.seconds[quarter] = sample.seconds
        return sample

    def predicted(quarter: int, _: Path) -> Sample:
        return Sample(seconds=measured.predicted(quarter))

    ours = [
        Contestant(
            name=f"{quarter / 4:g} in memory",
            how=f"{door_of(language)}, {PIECE}; that part is pinned, the rest read past the store",
            work=partial(passed, quarter),
            answer=stores.summed,
        )
        for quarter in QUARTERS
    ]
    equations = [
        Contestant(
            name=f"predicted, {quarter / 4:g}",
            how="equation (7) of the rates with nothing and with all in memory in this round",
            work=partial(predicted, quarter),
            answer=None,
        )
        for quarter in QUARTERS[1:-1]
    ]
    pairs = [
        (faster.name, slower.name)
        for timed, predicted in zip(ours[1:-1], equations, strict=True)
        for faster, slower in ((timed, predicted), (predicted, timed))
    ]
    return Case(
        name=f"reading {stated(measured.bytes)} with a part in memory, {language}",
        contestants=(*ours, *equations),
        bars=tuple(
            Ratio(ours=faster, peer=slower, at_least=WITHIN, text=f"{WITHIN} of {slower}")
            for faster, slower in pairs
        ),
        amount=measured.bytes,
        unit="B",
        notes=(stores.forgotten_how(),),
    )
