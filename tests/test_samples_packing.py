"""Packing: samples that run side by side never exceed the threads or the memory of all."""

from __future__ import annotations

import random

import pytest

from cuesta.samples.packing import BASE_BYTES, Resources, choose, need_bytes

GIB = 1 << 30


def resources(threads: int, gib: float) -> Resources:
    return Resources(threads=threads, memory_bytes=round(gib * GIB))


def test_the_need_grows_with_the_reads() -> None:
    assert need_bytes(0, 0) == BASE_BYTES
    assert need_bytes(100, 10) == BASE_BYTES + 410


def test_samples_take_a_thread_each_while_enough_are_free() -> None:
    total = resources(4, 8)
    assert choose([GIB] * 9, total, total) == (0, resources(1, 2))


def test_the_last_samples_share_all_threads() -> None:
    total = resources(8, 16)
    assert choose([GIB, GIB], total, total) == (0, resources(4, 8))
    assert choose([GIB], total, total) == (0, resources(8, 16))


def test_a_smaller_sample_runs_where_a_larger_does_not_fit() -> None:
    free, total = resources(1, 2), resources(2, 8)
    assert choose([4 * GIB, GIB], free, total) == (1, resources(1, 2))
    assert choose([4 * GIB, 3 * GIB], free, total) is None


def test_a_sample_that_needs_more_than_all_runs_alone() -> None:
    total = resources(2, 1)
    assert choose([9 * GIB], total, total) == (0, resources(2, 1))
    assert choose([9 * GIB], resources(1, 0.5), total) is None


def test_nothing_starts_without_a_thread_or_a_sample() -> None:
    total = resources(2, 4)
    assert choose([GIB], resources(0, 4), total) is None
    assert choose([], total, total) is None


@pytest.mark.parametrize("seed", range(20))
def test_all_samples_run_once_within_the_limits(seed: int) -> None:
    chance = random.Random(seed)
    total = resources(chance.randint(1, 9), chance.choice([0.1, 1, 7]))
    waiting = sorted((chance.randrange(GIB) for _ in range(25)), reverse=True)
    running: list[Resources] = []
    count = 0
    while waiting or running:
        free = total
        for share in running:
            free = free.without(share)
        chosen = choose(waiting, free, total)
        if chosen is None:
            running.pop(chance.randrange(len(running)))
            continue
        index, share = chosen
        waiting.pop(index)
        running.append(share)
        count += 1
        assert share.threads >= 1
        assert share.memory_bytes > 0
        assert sum(each.threads for each in running) <= total.threads
        assert sum(each.memory_bytes for each in running) <= total.memory_bytes
    assert count == 25
