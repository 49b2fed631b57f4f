"""Findings of the gate of regressions: by simulation, and of real runs with added work."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import median, stdev
from tempfile import TemporaryDirectory

from cuesta_lab.study import baseline as gate
from cuesta_lab.study.shift import scatter
from cuesta_lab.study.turns import Turns
from harness import drawn, native
from harness.data import Matrix, Pairs, Points, matrix_text, pairs_text, points_array
from harness.drawn import Noise
from harness.model import Answer, Case, Contestant, Sample, Share
from harness.native import Job
from harness.size import Size

SLOW_DOWN = 0.1
GATE = "gate"
FALSE = "called slower though nothing changed"
FOUND = "found the slow-down"
CLEARED = "called no slower though it was"
BARS = (
    Share(ours=GATE, name=FOUND, at_least=0.95, text="a tenth slower is found in 95 %"),
    Share(ours=GATE, name=FALSE, at_most=0.05, text="false alarms of the whole gate, at most 5 %"),
    Share(ours=GATE, name=CLEARED, at_most=0.05, text="a tenth slower called no slower"),
)
NOISES: tuple[tuple[str, Callable[[float], Noise], float], ...] = (
    ("log-normal, 3 %", drawn.log_normal, 0.03),
    ("log-normal, 5 %", drawn.log_normal, 0.05),
    ("gamma, 3 %", drawn.skewed, 0.03),
    ("gamma, 5 %", drawn.skewed, 0.05),
    ("spikes, 3 %", drawn.spiked, 0.03),
    ("wandering, 3 %", drawn.wandering, 0.03),
)
COMBINATIONS = 12
REPEATS_MAX = 100
"""Most repeats of a combination of real runs, however much they scatter."""


@dataclass
class Tally:
    """Counts of the gate's findings."""

    false: int = 0
    caught: int = 0
    cleared: int = 0
    times: int = 0

    def add(self, same: gate.Gate, slower: gate.Gate, which: str) -> None:
        """Add a pair of runs without a change, and a pair in which combination `which` changed."""
        slow = next(change for change in slower.changes if change.levels["size"] == which)
        self.times += 1
        self.false += bool(same.of(gate.SLOWER))
        self.caught += slow.verdict == gate.SLOWER
        self.cleared += slow.verdict == gate.NO_SLOWER

    def sample(self, seconds: float) -> Sample:
        """As a repeat of a contestant: the time of one gate."""
        counts = {FALSE: self.false, FOUND: self.caught, CLEARED: self.cleared}
        return Sample(
            seconds=seconds / (2 * self.times),
            counts={name: (count, self.times) for name, count in counts.items()},
        )


def cases(size: Size) -> Iterator[Case]:
    """Each kind of noise, then real runs: of two versions by turns, and one after the other."""
    for name, noise, deviation in NOISES[: size.pick(1, len(NOISES))]:
        yield simulated(name, noise(deviation), size)
    yield from real(size)


def simulated(name: str, noise: Noise, size: Size) -> Case:
    """Twelve combinations of that noise and a drift of 1 % between two runs."""
    trials = size.pick(10, 2000)
    known = scatter(noise(random.Random(0), 4000))
    repeats = gate.repeats_for(known, COMBINATIONS) or REPEATS_MAX
    noises = [noise] * COMBINATIONS

    def work(folder: Path) -> Sample:
        source = random.Random(name)
        tally, begun = Tally(), time.perf_counter()
        for _ in range(trials):
            before, same = (drawn.drawn(source, noises, repeats, {}) for _ in range(2))
            slower = drawn.drawn(source, noises, repeats, {0: 1 + SLOW_DOWN})
            tally.add(gate.check(before, same), gate.check(before, slower), "0")
        return _sample_of(tally, folder, time.perf_counter() - begun)

    how = f"{trials} pairs of {COMBINATIONS} combinations x {repeats} repeats, drift 1 %"
    return _case(f"simulated, {name}", how, work, ())


def real(size: Size) -> Iterator[Case]:
    """Trials in this process; a baseline, the same once more, and one of them made slower.

    Made slower by work of the processor that takes a tenth of the time that the trial took. The
    versions have turns in random order, and are compared by turns; and each is compared with the
    baseline of the time before, since when the machine has drifted.
    """
    jobs = _jobs(size)
    trials = size.pick(3, 100)
    source = random.Random("real")

    @cache
    def made() -> Real:
        tried = turns(jobs, 20, source, 0)
        scatters = [
            Turns(tried.before[name], tried.same[name]).scatter for name in sorted(tried.before)
        ]
        needed = min(REPEATS_MAX, gate.pairs_for(max(scatters), len(jobs)))
        repeats = size.pick(6, needed)
        runs = [turns(jobs, repeats, source, number % len(jobs)) for number in range(trials + 1)]
        return Real(scatters=scatters, repeats=repeats, runs=runs)

    def by_turns(folder: Path) -> Sample:
        series = made()
        (folder / "remark").write_text(
            f"real runs by turns: the ratio of two scatters by {min(series.scatters):.1%} to "
            f"{max(series.scatters):.1%}, so {series.repeats} repeats"
        )
        return _gated([(run, run, (0, 1)) for run in series.runs[:-1]], folder)

    def apart(folder: Path) -> Sample:
        series = made()
        drifts = drift([run.before for run in series.runs])
        (folder / "remark").write_text(
            f"real runs, one after the other: {series.repeats} repeats; the ratio of two runs "
            f"drifts by {drifts:.2%} beyond what their scatter makes"
        )
        pairs = [(before, after, (None, None)) for before, after in pairwise(series.runs)]
        return _gated(pairs, folder)

    how = (
        f"{trials} pairs of runs of {', '.join(job.workload for job in jobs)}, each slower in turn"
    )
    inputs = tuple(Path(path) for job in jobs for path in job.inputs)
    yield _case("real runs by turns", how, by_turns, inputs)
    yield _case("real runs, one after the other", how, apart, inputs)


def _jobs(size: Size) -> list[Job]:
    """Jobs of three workloads: one that reads, one that iterates, one that multiplies."""
    folder = size.folder
    matrix = matrix_text(folder, Matrix(genes=size.pick(100, 1000), samples=100))
    points = points_array(folder, Points(rows=size.pick(2000, 50_000)))
    pairs = pairs_text(folder, Pairs(genes=size.pick(100, 1000)))
    pearson = {"method": "pearson", "min_abs_score": 0.95}
    return [
        Job(workload="scan", inputs=(pairs,), parameters={"min_abs_score": 0.8}),
        Job(workload="kmeans", inputs=(points,), parameters={"clusters": 10, "iterations": 10}),
        Job(workload="correlate", inputs=(matrix,), parameters=pearson),
    ]


@dataclass
class Real:
    """Runs of all versions, and how the ratios of two scatter."""

    scatters: list[float]
    repeats: int
    runs: list[Versions]


def _gated(
    pairs: Sequence[tuple[Versions, Versions, tuple[int | None, int | None]]], folder: Path
) -> Sample:
    """The gate's findings for each pair of runs."""
    tally, begun = Tally(), time.perf_counter()
    for before, after, (first, second) in pairs:
        old = drawn.result(before.before, turn=first)
        same, slow = (drawn.result(samples, turn=second) for samples in (after.same, after.slower))
        tally.add(gate.check(old, same), gate.check(old, slow), after.which)
    return _sample_of(tally, folder, time.perf_counter() - begun)


@dataclass
class Versions:
    """Samples by combination: of a baseline, the same, and with `which` of them made slower."""

    which: str
    before: dict[str, list[float]]
    same: dict[str, list[float]]
    slower: dict[str, list[float]]


def turns(jobs: Sequence[Job], repeats: int, source: random.Random, which: int) -> Versions:
    """Run the repeats of each version by turns; one job of the slower version is slower.

    Only one is slower: a job that follows one with an idle core is faster.
    """
    names = [str(index) for index in range(len(jobs))]
    versions_run = Versions(
        which=str(which),
        before={name: [] for name in names},
        same={name: [] for name in names},
        slower={name: [] for name in names},
    )
    versions = [
        (versions_run.before, 0.0),
        (versions_run.same, 0.0),
        (versions_run.slower, SLOW_DOWN),
    ]
    for _ in range(repeats):
        for samples, more in source.sample(versions, len(versions)):
            for index, job in enumerate(jobs):
                samples[str(index)].append(timed(job, more * (index == which)))
    return versions_run


def timed(job: Job, more: float) -> float:
    """Seconds of a run, made slower by a part of itself."""
    with TemporaryDirectory() as folder:
        begun = time.perf_counter()
        native.run(job, Path(folder))
        seconds = time.perf_counter() - begun
        while time.perf_counter() - begun < (1 + more) * seconds:
            pass
        return time.perf_counter() - begun


def drift(runs: Sequence[dict[str, list[float]]]) -> float:
    """Deviation of the logarithm of the ratio of two runs, beyond what their scatter makes."""
    logarithms = []
    for before, after in pairwise(runs):
        for name, samples in before.items():
            ratio = math.log(median(after[name]) / median(samples))
            of_scatter = (
                math.pi / 2 * sum(scatter(run) ** 2 / len(run) for run in (samples, after[name]))
            )
            logarithms.append((ratio, of_scatter))
    beyond = stdev([ratio for ratio, _ in logarithms]) ** 2 - sum(
        expected for _, expected in logarithms
    ) / len(logarithms)
    return math.sqrt(max(0.0, beyond))


def _sample_of(tally: Tally, folder: Path, seconds: float) -> Sample:
    (folder / "times").write_text(str(tally.times))
    return tally.sample(seconds)


def _case(name: str, how: str, work: Callable[[Path], Sample], inputs: tuple[Path, ...]) -> Case:
    contestant = Contestant(
        name=GATE,
        how=how,
        work=work,
        answer=lambda folder: Answer(digest=(folder / "times").read_text(), rows=1),
        repeats_max=1,
        remark=(lambda folder: (folder / "remark").read_text()) if inputs else None,
    )
    return Case(
        name=name, contestants=(contestant,), bars=BARS, amount=1, unit="gates", inputs=inputs
    )
