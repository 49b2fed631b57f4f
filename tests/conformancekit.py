"""An engine that runs tasks on threads at random."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from cuesta.engines import Capabilities, Engine, rounds
from cuesta.engines.rounds import Job, Means, Round
from cuesta.trial import Outcome, Trial


class RandomThreads(Engine):
    """Engine that runs tasks on threads in random order, some twice, some by workers that die
    midway.
    """

    name = "random threads"
    workloads = rounds.workloads()
    capabilities = Capabilities(reads_uris=True)

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._lock = threading.Lock()

    def missing(self) -> str | None:
        """Return None: it needs nothing."""
        return None

    def run(self, trial: Trial, output: Path, scratch: Path) -> Outcome:
        """Compute the answer of `trial`."""
        tasks = self._below(5) or None
        takes_text = self._below(2) == 1
        means = Means(slots=3, memory_bytes=trial.memory_bytes, tasks=tasks, text=takes_text)
        return rounds.run(trial, (output, scratch), means, self._round_outputs)

    def _below(self, end: int) -> int:
        with self._lock:
            return self._chance.randrange(end)

    def _round_outputs(self, job: Job, round_: Round) -> list[bytes]:
        done = self._all(partial(self._task, job, round_), len(round_.tasks))
        outputs = [output for output, _ in done]
        if round_.parts:
            sent = [blocks for _, blocks in done]
            outputs = self._all(partial(self._part, job, round_, sent), round_.parts)
        while round_.combines and len(outputs) > 1:
            left, right = (outputs.pop(self._below(len(outputs))) for _ in range(2))
            outputs.append(job.worker().combine(round_.shared, left, right))
        return outputs

    def _all(self, work: Callable[[int], Any], count: int) -> list[Any]:
        numbers = [number for number in range(count) for _ in range(1 + self._below(2))]
        self._chance.shuffle(numbers)
        with ThreadPoolExecutor(3) as pool:
            done = dict(zip(numbers, pool.map(work, numbers), strict=True))
        return [output for _, output in sorted(done.items())]

    def _task(self, job: Job, round_: Round, number: int) -> tuple[bytes, list[bytes]]:
        output, blocks, ends = job.worker().task(number, round_.shared, round_.tasks[number])
        data = bytes(blocks)
        pieces = [data[start:end] for start, end in pairwise([0, *ends])]
        return output, pieces + [b""] * (round_.parts - len(pieces))

    def _part(self, job: Job, round_: Round, sent: list[list[bytes]], part: int) -> bytes:
        for attempt in range(1 + self._below(2), -1, -1):
            worker = job.worker()
            order = list(range(len(sent)))
            with self._lock:
                self._chance.shuffle(order)
            # A worker that dies has not taken all of its tasks.
            for number in order[: len(order) // 2] if attempt else order:
                block = np.frombuffer(sent[number][part], np.uint8)
                worker.take((part, number), round_.shared, block)
        output: bytes = worker.part(part, round_.shared)
        return output
