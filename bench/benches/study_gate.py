"""What the gate of regressions finds: by simulation, and of real runs with work added to them."""

from __future__ import annotations

import math
import random
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import median, stdev

from cuesta.lab.study import baseline as gate
from cuesta.lab.study.shift import scatter
from harness import drawn, native
from harness.data import Pairs, pairs_text
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
REPEATS_MAX = 40
"""Of a combination of real runs, however much they scatter."""
GENES = (300, 500, 800)


@dataclass
class Tally:
    """How often the gate did what."""

    false: int = 0
    found: int = 0
    cleared: int = 0
    times: int = 0

    def add(self, same: gate.Gate, slower: gate.Gate, which: str) -> None:
        """One pair of runs in which nothing changed, and one in which combination `which` did."""
        slow = next(one for one in slower.changes if one.levels["size"] == which)
        self.times += 1
        self.false += bool(same.of(gate.SLOWER))
        self.found += slow.verdict == gate.SLOWER
        self.cleared += slow.verdict == gate.NO_SLOWER

    def sample(self, seconds: float) -> Sample:
        """As a repeat of a contestant: the time of one gate."""
        counts = {FALSE: self.false, FOUND: self.found, CLEARED: self.cleared}
        return Sample(
            seconds=seconds / (2 * self.times),
            counts={name: (count, self.times) for name, count in counts.items()},
        )


def cases(size: Size) -> Iterator[Case]:
    """Each kind of noise, then real runs."""
    for name, noise, deviation in NOISES[: size.pick(1, len(NOISES))]:
        yield simulated(name, noise(deviation), size)
    yield real(size)


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
        return _told(tally, folder, time.perf_counter() - begun)

    how = f"{trials} pairs of {COMBINATIONS} combinations x {repeats} repeats, drift 1 %"
    return _case(f"simulated, {name}", how, work, ())


def real(size: Size) -> Case:
    """Scans in this process, one after the other as a study has them, one of them made slower.

    Made slower by work of the processor that takes a tenth of the time that the scan took.
    """
    jobs = [
        Job(
            workload="scan",
            inputs=(pairs_text(size.folder, Pairs(genes=genes)),),
            parameters={"min_abs_score": 0.8},
        )
        for genes in GENES
    ]
    trials = size.pick(3, 100)
    paths = tuple(Path(path) for job in jobs for path in job.inputs)

    def work(folder: Path) -> Sample:
        tried = run(jobs, 12, folder)
        scatters = [scatter(samples) for samples in tried.values()]
        asked = gate.repeats_for(max(scatters), len(jobs)) or REPEATS_MAX
        repeats = size.pick(6, min(REPEATS_MAX, asked))
        runs = []
        for _ in range(trials + 1):
            runs.append((run(jobs, repeats, folder), run(jobs, repeats, folder, slower=str(0))))
        tally, begun = Tally(), time.perf_counter()
        for (before, slower), (after, _) in pairwise(runs):
            first = drawn.result(before)
            same, slow = (gate.check(first, drawn.result(one)) for one in (after, slower))
            tally.add(same, slow, "0")
        seconds = time.perf_counter() - begun
        (folder / "drift").write_text(
            f"real runs: scatter {min(scatters):.1%} to {max(scatters):.1%}, so {repeats} repeats; "
            f"the ratio of two runs drifts by {drift([one for one, _ in runs]):.2%} beyond that"
        )
        return _told(tally, folder, seconds)

    how = f"{trials} pairs of runs of {len(jobs)} scans of {GENES[0]} to {GENES[-1]} genes"
    return _case("real runs", how, work, paths)


def run(
    jobs: Sequence[Job], repeats: int, folder: Path, slower: str = ""
) -> dict[str, list[float]]:
    """Samples by combination, interleaved."""
    found: dict[str, list[float]] = {str(index): [] for index in range(len(jobs))}
    for _ in range(repeats):
        for index, job in enumerate(jobs):
            place = folder / "scan"
            place.mkdir()
            begun = time.perf_counter()
            native.run(job, place)
            seconds = time.perf_counter() - begun
            if str(index) == slower:
                while time.perf_counter() - begun < (1 + SLOW_DOWN) * seconds:
                    pass
                seconds = time.perf_counter() - begun
            found[str(index)].append(seconds)
            shutil.rmtree(place)
    return found


def drift(runs: Sequence[dict[str, list[float]]]) -> float:
    """Deviation of the logarithm of the ratio of two runs, beyond what their scatter makes."""
    found = []
    for before, after in pairwise(runs):
        for name, samples in before.items():
            ratio = math.log(median(after[name]) / median(samples))
            of_scatter = (
                math.pi / 2 * sum(scatter(one) ** 2 / len(one) for one in (samples, after[name]))
            )
            found.append((ratio, of_scatter))
    beyond = stdev([ratio for ratio, _ in found]) ** 2 - sum(one for _, one in found) / len(found)
    return math.sqrt(max(0.0, beyond))


def _told(tally: Tally, folder: Path, seconds: float) -> Sample:
    (folder / "times").write_text(str(tally.times))
    return tally.sample(seconds)


def _case(name: str, how: str, work: Callable[[Path], Sample], inputs: tuple[Path, ...]) -> Case:
    contestant = Contestant(
        name=GATE,
        how=how,
        work=work,
        answer=lambda folder: Answer(digest=(folder / "times").read_text(), rows=1),
        repeats_max=1,
        remark=(lambda folder: (folder / "drift").read_text()) if inputs else None,
    )
    return Case(
        name=name, contestants=(contestant,), bars=BARS, amount=1, unit="gates", inputs=inputs
    )
