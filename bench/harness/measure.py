"""Runs a case: everybody in turn, again and again, each answer held against the first."""

from __future__ import annotations

import gc
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

from harness.data import warm
from harness.model import Answer, Case, Contestant, DifferentAnswer, Sample
from harness.size import Size


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Every sample of a case by contestant, in the order of the repeats."""

    case: Case
    samples: dict[str, list[Sample]]
    answers: dict[str, Answer]
    seconds_all: float


@dataclass
class _Referee:
    """Holds every answer against the first one seen."""

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
    """Every repeat of every contestant, A B C A B C, after one unmeasured round.

    Errors: `DifferentAnswer`, and whatever a contestant raises.
    """
    began = time.perf_counter()
    for path in case.inputs:
        warm(path)
    referee = _Referee(case)
    samples: dict[str, list[Sample]] = {one.name: [] for one in case.contestants}
    repeats = min(size.repeats, case.repeats_max or size.repeats)
    folder = size.folder / "answers"
    for contestant in case.contestants:
        _once(contestant, folder, referee)
    for repeat in range(repeats):
        for contestant in case.contestants:
            if repeat < (contestant.repeats_max or repeats):
                samples[contestant.name].append(_once(contestant, folder, referee))
    return Measured(
        case=case,
        samples=samples,
        answers=referee.answers,
        seconds_all=time.perf_counter() - began,
    )


def _once(contestant: Contestant, folder: Path, referee: _Referee) -> Sample:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    gc.collect()
    started = time.perf_counter()
    own = contestant.work(folder)
    seconds = time.perf_counter() - started
    if contestant.answer is not None:
        referee.judge(contestant.name, contestant.answer(folder))
    shutil.rmtree(folder)
    return own or Sample(seconds=seconds)
