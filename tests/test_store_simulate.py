"""Simulated policies have the hits of libCacheSim."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from cuesta_store.errors import InputError
from cuesta_store.simulate import simulate

READS = 20_000
MEMORIES = [60, 500, 1000]
POLICIES = ["lru", "sieve", "s3-fifo"]
EXPECTED = {
    "heavy": [[19207, 19666, 19666], [19403, 19666, 19666], [19395, 19666, 19666]],
    "cycle": [[0, 0, 19300], [0, 0, 19300], [1512, 8307, 19300]],
    "scans": [[12585, 13588, 13718], [13400, 13719, 13776], [13469, 13719, 13774]],
    "uniform": [[604, 4952, 9653], [641, 4997, 9780], [600, 4902, 9685]],
    "sizes": [[17779, 19603, 19664], [18281, 19617, 19664], [18378, 19606, 19664]],
}
"""Hits of libCacheSim 0.3.5: for each trace a row for each policy, a number for each memory."""


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


@pytest.mark.parametrize("kind", EXPECTED)
def test_hits_are_those_of_libcachesim(kind: str, tmp_path: Path) -> None:
    reads, path = trace(kind), tmp_path / "trace.tsv"
    lines = [f"{step}\t/a\t{block}\t{size}\n" for step, (block, size) in enumerate(reads)]
    path.write_text("seconds\tpath\tblock\tbytes\n" + "".join(lines))
    simulated = simulate(path, POLICIES, MEMORIES)
    assert (simulated.reads, simulated.read_bytes) == (READS, sum(size for _, size in reads))
    hits = {
        (outcome.policy, outcome.memory_bytes): outcome.hit_reads for outcome in simulated.outcomes
    }
    our_hits = [[hits[policy, memory] for memory in MEMORIES] for policy in POLICIES]
    assert our_hits == EXPECTED[kind]


@pytest.mark.parametrize("kind", EXPECTED)
def test_libcachesim_has_these_hits(kind: str) -> None:
    """Runs where libCacheSim is installed, separately as it needs many old packages."""
    libcachesim = pytest.importorskip("libcachesim")
    classes = [libcachesim.LRU, libcachesim.Sieve, libcachesim.S3FIFO]
    assert [
        [reference_hits(policy, memory, kind) for memory in MEMORIES] for policy in classes
    ] == EXPECTED[kind]


def reference_hits(policy: Any, memory: int, kind: str) -> int:
    """Return the hits of a policy of libCacheSim."""
    import libcachesim

    cache, hits = policy(cache_size=memory), 0
    for block, size in trace(kind):
        request = libcachesim.Request()
        request.obj_id, request.obj_size = block + 1, size
        hits += bool(cache.get(request))
    return hits


def trace(kind: str) -> list[tuple[int, int]]:
    """Yield blocks and their sizes, in the order of the reads."""
    chance = random.Random(kind)
    sizes: dict[int, int] = {}
    return [
        (block, sizes.setdefault(block, chance.choice([1, 2, 3, 5]) if kind == "sizes" else 1))
        for block in blocks(kind, chance)
    ]


def test_the_command_prints_a_table_and_json(tmp_path: Path) -> None:
    path = tmp_path / "trace.tsv"
    lines = [f"{step}\t/a\t{step % 4}\t1048576\n" for step in range(40)]
    path.write_text("seconds\tpath\tblock\tbytes\n" + "".join(lines))
    command = [sys.executable, "-m", "cuesta", "store", "simulate", str(path)]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert all(part in output for part in ("40 reads", "90.0%", "s3-fifo"))
    result = json.loads(
        subprocess.run([*command, "--json"], capture_output=True, check=True).stdout
    )
    assert result["blocks"] == 4


def test_what_is_no_trace_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "trace.tsv"
    path.write_text("seconds\tpath\tblock\tbytes\n1\t/a\tx\t5\n")
    with pytest.raises(InputError, match="line 2"):
        simulate(path)
    with pytest.raises(InputError, match="no policy best"):
        simulate(path, ["best"])
