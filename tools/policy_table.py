#!/usr/bin/env python3
"""Print what each policy of the store hits and fills of traces that look like real jobs.

    python3 tools/policy_table.py

Each trace is drawn from a seed; the memory holds 64 blocks. A cell is the share of reads that hit,
and after it the share of reads that bring a block into memory.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "python"))

from cuesta_store.simulate import Simulated, simulate

MEMORY_BLOCKS = 64
SEED = 7


def k_means() -> Iterator[int]:
    """Ten full scans of points twice as large as memory."""
    for _ in range(10):
        yield from range(128)


def fits() -> Iterator[int]:
    """Ten full scans of points that memory has room for, after another file was read once."""
    yield from range(1000, 1200)
    for _ in range(10):
        yield from range(60)


def scan_and_hot_set(chance: random.Random) -> Iterator[int]:
    """A hot set of three quarters of memory, and every other read a block that is read once."""
    for step in range(4000):
        yield chance.randrange(48) if step % 2 else 1000 + step


def zipf(chance: random.Random) -> Iterator[int]:
    """Whole files of 4 blocks, one of 200 at a time, some far more often than others."""
    weights = [1 / rank for rank in range(1, 201)]
    for file in chance.choices(range(200), weights, k=1500):
        yield from range(4 * file, 4 * file + 4)


def sort() -> Iterator[int]:
    """A sort: reads its input once, then runs that were written, each part of each run once."""
    yield from range(256)
    for part in range(8):
        for run in range(16):
            yield 1000 + run * 2 + part // 4


def drift(chance: random.Random) -> Iterator[int]:
    """A window of 48 blocks that moves on by one block in 10 reads."""
    for step in range(5000):
        yield step // 10 + chance.randrange(48)


def uniform(chance: random.Random) -> Iterator[int]:
    """Draw any of four times as many blocks as memory has."""
    for _ in range(8000):
        yield chance.randrange(256)


def paper() -> Iterator[int]:
    """Half of the input that is in memory comes first, then all, ten times: the two-level model."""
    for _ in range(10):
        yield from range(96)


def main() -> None:
    """Print a table in Markdown."""
    chance = random.Random(SEED)
    traces = {
        "scans of 2x memory": list(k_means()),
        "scans of 1.5x memory": list(paper()),
        "scans that fit, after another": list(fits()),
        "hot set and a scan": list(scan_and_hot_set(chance)),
        "zipf over files": list(zipf(chance)),
        "sort, with its runs": list(sort()),
        "a window that moves": list(drift(chance)),
        "uniform over 4x": list(uniform(chance)),
    }
    rows = {name: outcomes(blocks) for name, blocks in traces.items()}
    names = [f"{each.policy}{' +a' * each.admission}" for each in next(iter(rows.values()))]
    lines = [["trace", *names], ["---"] * (len(names) + 1)]
    for name, simulated in rows.items():
        reads = len(traces[name])
        shares = [
            f"{each.hit_reads / reads:.0%} / {each.filled_bytes / reads:.0%}" for each in simulated
        ]
        lines.append([name, *shares])
    sys.stdout.write("".join(f"| {' | '.join(line)} |\n" for line in lines))


def outcomes(blocks: list[int]) -> tuple[Simulated, ...]:
    """Outcomes of each policy for reads of these blocks, without and with admission."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.tsv"
        lines = [f"{step}\t/a\t{block}\t1\n" for step, block in enumerate(blocks)]
        path.write_text("seconds\tpath\tblock\tbytes\n" + "".join(lines))
        return simulate(path, (), [MEMORY_BLOCKS], admissions=(False, True)).outcomes


if __name__ == "__main__":
    main()
