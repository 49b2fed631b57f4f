"""Runs a case: all contestants in turn, again and again; compares each answer with the first."""

from __future__ import annotations

import gc
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from harness.data import warm
from harness.model import Answer, Case, Contestant, DifferentAnswer, Sample
from harness.size import Size


@dataclass(frozen=True, kw_only=True)
class Measured:
    """All samples of a case by contestant, in the order of the repeats."""

    case: Case
    samples: dict[str, list[Sample]]
    answers: dict[str, Answer]
    remarks: tuple[str, ...]
    seconds_all: float


@dataclass
class _Referee:
    """Compares each answer with the first."""

    case: Case
    first: tuple[str, Answer] | None = None
    answers: dict[str, Answer] = field(default_factory=dict)

    def judge(self, name: str, answer: Answer) -> None:
        if self.first is None:
            self.first = (name, answer)
        reference, expected = self.first
        difference = self.case.same(expected, answer)
        if difference:
            raise DifferentAnswer(
                f"{self.case.name}: {reference} and {name} find different answers: {difference}"
            )
        self.answers[name] = answer


def measure(case: Case, size: Size) -> Measured:
    """Every repeat of every contestant, A B C A B C, after one unmeasured round of those that have
    several.

    Errors: `DifferentAnswer`, and whatever a contestant raises.
    """
    began = time.perf_counter()
    for path in case.inputs:
        warm(path)
    referee = _Referee(case)
    samples: dict[str, list[Sample]] = {each.name: [] for each in case.contestants}
    repeats = min(size.repeats, case.repeats_max or size.repeats)
    folder = size.folder / "answers"
    times = {each.name: _times(each, repeats) for each in case.contestants}
    remarks = []
    for contestant in case.contestants:
        if contestant.recorded:
            samples[contestant.name] += contestant.recorded.samples
            if contestant.recorded.answer:
                referee.judge(contestant.name, contestant.recorded.answer)
        if times[contestant.name] > 1:
            with _once(contestant, folder, referee):
                pass
    for repeat in range(repeats):
        for contestant in case.contestants:
            if repeat < times[contestant.name]:
                with _once(contestant, folder, referee) as sample:
                    samples[contestant.name].append(sample)
                    if contestant.remark and repeat == times[contestant.name] - 1:
                        remarks.append(contestant.remark(folder))
    return Measured(
        case=case,
        samples=samples,
        answers=referee.answers,
        remarks=tuple(remarks),
        seconds_all=time.perf_counter() - began,
    )


def _times(contestant: Contestant, repeats: int) -> int:
    """Number of turns of a contestant."""
    return 0 if contestant.recorded else min(contestant.repeats_max or repeats, repeats)


@contextmanager
def _once(contestant: Contestant, folder: Path, referee: _Referee) -> Iterator[Sample]:
    """Run a repeat; yield its sample while its files are in `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    gc.collect()
    started = time.perf_counter()
    measured = contestant.work(folder)
    seconds = time.perf_counter() - started
    if contestant.answer is not None:
        referee.judge(contestant.name, contestant.answer(folder))
    yield measured or Sample(seconds=seconds)
    shutil.rmtree(folder)
