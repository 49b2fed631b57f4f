"""Simulated policies hit what libCacheSim's hit."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import libcachesim
import pytest

from cuesta.errors import InputError
from cuesta.store.simulate import simulate

READS = 20_000
THEIRS = {
    "lru": libcachesim.LRU,
    "sieve": libcachesim.Sieve,
    "s3-fifo": libcachesim.S3FIFO,
}


def blocks(kind: str, chance: random.Random) -> Iterator[int]:
    for step in range(READS):
        heavy = int(chance.paretovariate(0.9)) % 5000
        yield {
            "heavy": heavy,
            "cycle": step % 700,
            "scans": heavy if chance.random() < 0.7 else 10_000 + step,
            "uniform": chance.randrange(2000),
            "sizes": heavy,
        }[kind]


@pytest.mark.parametrize("kind", ["heavy", "cycle", "scans", "uniform", "sizes"])
def test_hits_are_those_of_libcachesim(kind: str, tmp_path: Path) -> None:
    chance = random.Random(kind)
    sizes: dict[int, int] = {}
    reads = [
        (block, sizes.setdefault(block, chance.choice([1, 2, 3, 5]) if kind == "sizes" else 1))
        for block in blocks(kind, chance)
    ]
    path = tmp_path / "trace.tsv"
    lines = [f"{step}\t/a\t{block}\t{size}\n" for step, (block, size) in enumerate(reads)]
    path.write_text("seconds\tpath\tblock\tbytes\n" + "".join(lines))
    memories = [60, 500, 1000]
    found = simulate(path, memories=memories)
    assert (found.reads, found.read_bytes) == (READS, sum(size for _, size in reads))
    ours = {(one.policy, one.memory_bytes): one.hit_reads for one in found.outcomes}
    for policy, theirs in THEIRS.items():
        for memory in memories:
            cache = theirs(cache_size=memory)
            hits = 0
            for block, size in reads:
                request = libcachesim.Request()
                request.obj_id, request.obj_size = block + 1, size
                hits += bool(cache.get(request))
            assert ours[policy, memory] == hits, (policy, memory)


def test_the_command_prints_a_table_and_json(tmp_path: Path) -> None:
    path = tmp_path / "trace.tsv"
    lines = [f"{step}\t/a\t{step % 4}\t1048576\n" for step in range(40)]
    path.write_text("seconds\tpath\tblock\tbytes\n" + "".join(lines))
    command = [sys.executable, "-m", "cuesta", "store", "simulate", str(path)]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert all(part in shown for part in ("40 reads", "90.0%", "s3-fifo"))
    found = json.loads(subprocess.run([*command, "--json"], capture_output=True, check=True).stdout)
    assert found["blocks"] == 4


def test_what_is_no_trace_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.tsv"
    path.write_text("seconds\tpath\tblock\tbytes\n1\t/a\tx\t5\n")
    with pytest.raises(InputError, match="line 2"):
        simulate(path)
    with pytest.raises(InputError, match="no policy best"):
        simulate(path, ["best"])
