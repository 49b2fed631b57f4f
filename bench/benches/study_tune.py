"""Time of `study tune` on Spark, and its choice against the best of all settings.

It begins once with a setting that is bad on purpose, and once with what Cuesta itself chooses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from cuesta_lab.study.intervals import ratio
from cuesta_lab.study.measures import measures
from cuesta_lab.study.tune import BETTER, NO_GAIN, SMALL
from cuesta_lab.study.tune_run import MEASURE
from harness import studies
from harness.data import Pairs, pairs_text, tera_records
from harness.model import Case, Contestant, Ratio, Recorded, Sample, Share
from harness.size import Size
from harness.studies import Trial

QUESTION = "Which settings are the fastest?"
REGAINED = 0.8
"""Part regained of the time between a bad setting and the best of the grid."""
OWN, PLANTED = "own-kept", "100-new"
"""Names of trials: the choice of Cuesta; many small tasks, each in its own Python process."""
PARTITIONS = ("own", "4", "100")
WORKERS = {"kept": "true", "new": "false"}
"""Values of the option by which the Python of a task also runs the next one."""
MINUTES = 8
"""Budget of time of a search."""
TAKEN, BEST, DEFAULT = "taken", "best of the grid", "default"
ALLOWED = f"with {REGAINED:.0%} of the gap"
AGREES = "agrees"


def cases(size: Size) -> Iterator[Case]:
    """Two cases for each workload: from a bad setting, and from our own."""
    text = pairs_text(size.folder, Pairs(genes=size.pick(100, 1000)))
    records = tera_records(size.folder, size.pick(10_000, 2_500_000))
    jobs = [("scan", text, {"min_abs_score": 0.8}), ("sort", records, {})]
    for workload, path, parameters in jobs[: size.pick(1, 2)]:
        if why := size.left_out("spark"):
            yield _case(workload, path, (), (), absent={TAKEN: why})
            continue
        trials = list(_grid(workload, path, parameters))
        if size.smoke:
            trials = [trial for trial in trials if trial.name in (OWN, PLANTED)]
        folder = size.folder / f"tune-{size.pick('smoke', 'real')}" / workload
        grid = _measured(folder / "grid", trials, size.pick(2, 5))
        for default in (PLANTED, OWN)[: size.pick(1, 2)]:
            tuned = studies.tuned(
                folder / default, QUESTION, trials, default, size.pick(1, MINUTES)
            )
            yield held(workload, path, tuned, grid)


def _grid(workload: str, path: Path, parameters: dict[str, Any]) -> Iterator[Trial]:
    """All combinations of the settings."""
    for partitions in PARTITIONS:
        for worker, is_kept in WORKERS.items():
            options = {"spark.python.worker.reuse": is_kept}
            if partitions != PARTITIONS[0]:
                options["partitions"] = partitions
            settings = {"workload": workload, "engine": "spark", "engine_options": options}
            settings |= {"parameters": parameters, "memory": "4GiB"}
            yield Trial(name=f"{partitions}-{worker}", settings=settings, inputs=(path,))


def _measured(folder: Path, trials: Sequence[Trial], repeats: int) -> dict[str, list[float]]:
    """Seconds of the work of every setting, repeat by repeat."""
    ran = studies.run(folder, QUESTION, trials, repeats)
    return {
        trial.name: [measures(record)[MEASURE] for record in ran.records(trial.name)]
        for trial in trials
    }


def held(workload: str, path: Path, tuned: dict[str, Any], grid: dict[str, list[float]]) -> Case:
    """Case of a search, judged by the runs of the grid, which it has not seen."""
    default, winner = (tuned[key][studies.FACTOR] for key in ("default", "winner"))
    taken = winner if tuned["verdict"] == BETTER else default
    best = min(grid, key=lambda name: median(grid[name]))
    runs = sum(len(run["seconds"]) for key in ("chosen_from", "held_out") for run in tuned[key])
    how = f"{taken} by {runs} runs, {tuned['verdict']}"
    if tuned["gain"]:
        gain = tuned["gain"]
        how += f", gain {gain['median']:.3g} ({gain['low']:.3g} to {gain['high']:.3g})"
    agrees = _agrees(tuned["verdict"], grid[default], grid[winner], grid[best])
    rows = [
        _recorded(TAKEN, how, grid[taken], agrees),
        _recorded(BEST, best, grid[best]),
        _recorded(DEFAULT, default, grid[default]),
    ]
    bars: list[Ratio | Share] = [
        Ratio(ours=TAKEN, peer=BEST, at_least=None, text="beside the best of the grid, shown"),
        Ratio(ours=TAKEN, peer=DEFAULT, at_least=None, text="beside the default, shown"),
    ]
    if default == PLANTED:
        pairs = zip(grid[default], grid[best], strict=True)
        allowed = [bad - REGAINED * (bad - good) for bad, good in pairs]
        rows.append(_recorded(ALLOWED, f"that much nearer to {best} than {default} is", allowed))
        text = f"regains {REGAINED:.0%} of the gap to the best of the grid"
        bars.append(Ratio(ours=TAKEN, peer=ALLOWED, at_least=1.0, text=text))
    else:
        text = "what it says of a gain agrees with the grid"
        bars.append(Share(ours=TAKEN, name=AGREES, text=text, at_least=1.0))
    begun = "a bad setting" if default == PLANTED else "our own setting"
    return _case(f"{workload}, from {begun}", path, rows, bars)


def _agrees(
    verdict: str, default: Sequence[float], winner: Sequence[float], best: Sequence[float]
) -> bool:
    """Whether the grid has nothing against a verdict: that it is faster, or that nothing is."""
    if verdict == BETTER:
        return not ratio(default, winner).below(1)
    return verdict == NO_GAIN and not ratio(default, best).above(SMALL)


def _recorded(
    name: str,
    how: str,
    seconds: Sequence[float],
    agrees: bool = False,
) -> Contestant:
    counts = [(int(agrees), 1), *[(0, 0)] * len(seconds)]  # The verdict counts once.
    samples = tuple(
        Sample(seconds=time, counts={AGREES: pair})
        for time, pair in zip(seconds, counts, strict=False)
    )
    return Contestant(name=name, how=how, recorded=Recorded(samples=samples))


def _case(
    name: str,
    path: Path,
    contestants: Sequence[Contestant],
    bars: Sequence[Ratio | Share],
    absent: dict[str, str] | None = None,
) -> Case:
    size_bytes = path.stat().st_size
    return Case(
        name=f"{name}, {size_bytes / 1e9:.2g} GB",
        contestants=tuple(contestants),
        bars=tuple(bars),
        amount=float(size_bytes),
        unit="B",
        absent=absent or {},
    )
