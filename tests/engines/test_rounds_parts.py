"""Parts of the engines with rounds, without their services."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from conformancekit import RandomThreads
from cuesta.engines import dask, rounds
from cuesta.engines.rounds import Job, Round
from cuesta.errors import InputError
from cuesta.trial import Phase, Trial
from cuesta.workloads import get_workload
from labkit import scan_trial


def test_phases_of_a_name_are_added_in_the_order_of_the_first() -> None:
    first = Phase(name="read", seconds=1.0, bytes=5, rows=2)
    other, second = Phase(name="write", seconds=4.0), Phase(name="read", seconds=2.0, bytes=6)
    read, write = rounds.joined([first, other, second])
    assert read == Phase(name="read", seconds=3.0, bytes=11, rows=2)
    assert write == other


def test_memory_is_enough_for_each_slot_and_the_leader() -> None:
    overhead_bytes, slots = 100 << 20, 3
    least_bytes = overhead_bytes + (slots + 1) * rounds.SLOT_BYTES_MIN

    def trial(memory_bytes: int) -> Trial:
        return Trial(
            workload="scan",
            engine="dask",
            inputs=(),
            parameters={},
            threads=slots,
            memory_bytes=memory_bytes,
        )

    remaining = rounds.memory_without_overhead(trial(least_bytes), overhead_bytes, slots)
    assert remaining == least_bytes - overhead_bytes
    with pytest.raises(InputError, match="for 3 tasks at once"):
        rounds.memory_without_overhead(trial(least_bytes - 1), overhead_bytes, slots)


class Client:
    """Runs tasks of Dask in this thread."""

    def submit(self, function: Callable[[Any], Any], item: Any, **_: object) -> Any:
        return function(item)

    def map(
        self, function: Callable[..., Any], items: Iterable[Any], round_: Round, **_: object
    ) -> list[Any]:
        return [function(item, round_=round_) for item in items]

    def gather(self, results: Sequence[Any]) -> Sequence[Any]:
        return results


class Letters:
    """Worker whose tasks send their number to part 0 and 2 times `x` to part 1, and one nothing."""

    def __init__(self) -> None:
        self._blocks: list[tuple[int, bytes]] = []

    def task(self, number: int, _shared: bytes, _input: bytes) -> tuple[bytes, bytes, list[int]]:
        return b"", *((b"", []) if number == 1 else (b"%dxx" % number, [1, 3]))

    def take(self, place: tuple[int, int], _shared: bytes, block: bytes) -> None:
        self._blocks.append((place[1], block))

    def part(self, part: int, _shared: bytes) -> bytes:
        return b"%d:" % part + b",".join(block for _, block in sorted(self._blocks))


def test_tasks_of_dask_pass_each_block_to_its_part(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    round_ = Round(
        phase="sort",
        size_bytes=0,
        rows=0,
        flops=0,
        ceiling=None,
        parts=3,
        combines=False,
        is_text=False,
        shared=b"",
        tasks=(b"",) * 3,
    )
    job: Any = SimpleNamespace(worker=Letters)
    results = dask._execute(Client(), tmp_path, None, job, round_)
    assert results == [b"0:0,2", b"1:xx,xx", b"2:"]


class Recorder(RandomThreads):
    """An engine that records its numbers of tasks."""

    def __init__(self) -> None:
        super().__init__(0)
        self.numbers: list[int] = []

    def outputs(self, job: Job, round_: Round) -> list[bytes]:
        self.numbers.append(len(round_.tasks))
        return self._round_outputs(job, round_)


def test_the_leader_plans_for_the_means_of_the_workers(tmp_path: Path) -> None:
    """A leader with other means than the workers divides the work by what they do not have."""
    parameters = get_workload("dataflow").check({"blocks": 16, "block_vectors": 100})
    trial = scan_trial(tmp_path, workload="dataflow", inputs=(), parameters=parameters)
    means = rounds.Means(slots=1, memory_bytes=trial.memory_bytes, tasks=7)
    (tmp_path / "out").mkdir()
    engine = Recorder()
    rounds.run(trial, (tmp_path / "out", tmp_path), means, engine.outputs)
    assert engine.numbers[-1] == 7
