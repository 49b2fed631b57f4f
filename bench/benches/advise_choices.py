"""Choices of `advise` by small runs, measured on more data: the first against the best."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from cuesta.errors import CuestaError
from cuesta_lab.model import measured
from cuesta_lab.model.advise import advise_from_runs
from cuesta_lab.model.choices import Choice, Job
from cuesta_lab.model.predict import Prediction
from harness import predictions, studies
from harness.data import (
    Matrix,
    Pairs,
    Points,
    drawn_reads,
    matrix_text,
    pairs_text,
    points_array,
    tera_records,
)
from harness.model import (
    INSIDE,
    Answer,
    Case,
    Contestant,
    PredictionError,
    PredictionShare,
    Ratio,
    Recorded,
    Sample,
)
from harness.size import Size
from harness.studies import Trial

WITHIN = 1.1
"""Largest ratio of the first choice's time to the best time."""
QUESTION = "Which choice is the fastest?"


@dataclass(frozen=True, kw_only=True)
class Question:
    """A job, and choices of how to run it here.

    Attributes
    ----------
    workload, parameters
        The job.
    small, asked
        Small inputs that each choice is run on first, and the input of the job.
    choices
        Settings by the name of a choice.
    """

    workload: str
    parameters: dict[str, Any]
    small: Sequence[Path]
    target: Path
    choices: dict[str, dict[str, Any]]


def cases(size: Size) -> Iterator[Case]:
    """A case for each job."""
    for question in questions(size):
        yield case(size, question)


def case(size: Size, question: Question) -> Case:
    """The choices of a job, the one that was advised before the others."""
    folder = size.folder / f"advise-{size.pick('smoke', 'real')}" / question.workload
    repeats = size.pick(1, 3)
    able = {
        name: settings
        for name, settings in question.choices.items()
        if not size.left_out(settings["engine"])
    }
    small = [
        _trial(question, f"{name}-{number}", settings, path)
        for name, settings in able.items()
        for number, path in enumerate(question.small, 1)
    ]
    known = studies.run(folder / "small", QUESTION, small, repeats)
    advised, refused = _advised(question, known)
    target = [_trial(question, name, settings, question.target) for name, settings in able.items()]
    results = studies.run(folder / "asked", QUESTION, target, repeats)
    order = sorted(results.places, key=[*advised, *able].index)
    contestants = [_contestant(results, name, advised.get(name), refused) for name in order]
    best = min(contestants, key=_seconds)
    left_out = {
        name: size.left_out(settings["engine"]) or ""
        for name, settings in question.choices.items()
        if name not in able
    }
    return Case(
        name=f"{question.workload}, {question.target.stat().st_size / 1e6:,.0f} MB",
        contestants=tuple(contestants),
        bars=(
            Ratio(
                ours=contestants[0].name,
                peer=best.name,
                at_least=1 / WITHIN,
                text="the first choice is within 10 % of the best",
            ),
            PredictionError(at_most=None, text="median error of the times advised, shown"),
            PredictionShare(which=INSIDE, text="inside the intervals advised, shown"),
        ),
        amount=float(question.target.stat().st_size),
        unit="B",
        absent={**results.absent, **left_out},
    )


def _trial(question: Question, name: str, settings: dict[str, Any], path: Path) -> Trial:
    common = {"workload": question.workload, "parameters": question.parameters}
    return Trial(name=name, settings={**common, "memory": "4GiB", **settings}, inputs=(path,))


def _advised(question: Question, known: studies.StudyRuns) -> tuple[dict[str, Choice], str]:
    """The choices of `advise --runs` by name, the first choice first.

    Also the reason, where it has none.
    """
    places = [place for settings in known.places.values() for place in settings]
    size_bytes = float(question.target.stat().st_size)
    names = {str(place / "run.json"): _choice_of(name) for name, settings in known.places.items()
             for place in settings}  # fmt: skip
    try:
        possible = measured.choices(question.workload, size_bytes, places)
        job = Job(size_bytes=size_bytes, years=1.0)
        advice = advise_from_runs(question.workload, job, possible)
    except CuestaError as error:
        return {}, str(error)
    first = advice["best"][0]["choice"]["runs"]
    possible = sorted(possible, key=lambda choice: (choice.runs != first, _time(choice)))
    return {names[choice.runs[0]]: choice for choice in possible}, ""


def _choice_of(trial: str) -> str:
    """The name of its choice, without the number of the input."""
    return trial.rpartition("-")[0]


def _time(choice: Choice) -> float:
    return choice.seconds.value if choice.seconds else float("inf")


def _contestant(
    results: studies.StudyRuns, name: str, advised: Choice | None, refused: str
) -> Contestant:
    runs = results.records(name)
    recorded = Recorded(
        samples=tuple(
            Sample(
                seconds=run["statistics"]["wall_seconds"]["median"],
                peak_resident_bytes=run["peak_resident_bytes"],
            )
            for run in runs
        ),
        answer=Answer(digest=runs[0]["answer"]["digest"], rows=0),
        predicted=_prediction(advised, refused),
    )
    steps = f"; {advised.steps[0]}" if advised and advised.steps else ""
    return Contestant(name=name, how=f"{predictions.words(recorded)}{steps}", recorded=recorded)


def _prediction(choice: Choice | None, refused: str) -> Prediction:
    if choice is None or choice.seconds is None:
        return Prediction(
            refused=refused or (choice.refused if choice else "not among the choices")
        )
    return Prediction(
        predicted_s=choice.seconds.value, low_s=choice.seconds.low, high_s=choice.seconds.high
    )


def _seconds(contestant: Contestant) -> float:
    assert contestant.recorded
    return median(sample.seconds for sample in contestant.recorded.samples)


def questions(size: Size) -> Iterator[Question]:
    """Five jobs with at least three choices each; at the smoke size two."""
    yield scan(size)
    yield sort(size)
    if not size.smoke:
        yield kmeans(size)
        yield correlate(size)
        yield assemble(size)


def scan(size: Size) -> Question:
    """A scan of lines."""
    genes = size.pick((60, 90, 200), (700, 1400, 2800))
    small = [pairs_text(size.folder, Pairs(genes=count)) for count in genes]
    jvm = {"spark-scala": {"engine": "spark-scala"}} if not size.smoke else {}
    return Question(
        workload="scan",
        parameters={"min_abs_score": 0.8},
        small=small[:-1],
        target=small[-1],
        choices={**_on_cores(), **_processes(), **jvm},
    )


def sort(size: Size) -> Question:
    """A sort in memory, beyond it, and on ranks."""
    rows = size.pick((10_000, 20_000, 100_000), (625_000, 2_500_000, 10_000_000))
    small = [tera_records(size.folder, count) for count in rows]
    return Question(
        workload="sort",
        parameters={},
        small=small[:-1],
        target=small[-1],
        choices={
            **_on_cores(),
            "native-in-256mib": {"engine": "native", "memory": "256MiB"},
            # Ranks hold 2.4 times their records.
            "mpi": {"engine": "mpi", "cores": 2, "memory": "6GiB"},
        },
    )


def kmeans(size: Size) -> Question:
    """Ten iterations, on threads, ranks and Dask."""
    points = [
        points_array(size.folder, Points(rows=rows)) for rows in (500_000, 2_000_000, 8_000_000)
    ]
    return Question(
        workload="kmeans",
        parameters={"clusters": 10, "iterations": 10},
        small=points[:-1],
        target=points[-1],
        choices={**_on_cores(), **_processes(), "dask": {"engine": "dask"}},
    )


def correlate(size: Size) -> Question:
    """All pairs of genes: sixteen times the work for four times the data."""
    matrices = [matrix_text(size.folder, Matrix(genes=genes)) for genes in (3000, 6000, 12000)]
    return Question(
        workload="correlate",
        parameters={"min_abs_score": 0.8},
        small=matrices[:-1],
        target=matrices[-1],
        choices={**_on_cores(), **_processes(), "dask": {"engine": "dask"}},
    )


def assemble(size: Size) -> Question:
    """Contigs of one size of k-mers."""
    reads = [drawn_reads(size.folder, bases) for bases in (500_000, 1_000_000, 4_000_000)]
    return Question(
        workload="assemble",
        parameters={"kmer_sizes": "31"},
        small=reads[:-1],
        target=reads[-1],
        choices={**_on_cores(), **_processes()},
    )


def _on_cores() -> dict[str, dict[str, Any]]:
    """In one process, with one thread or two."""
    return {
        "native-2-cores": {"engine": "native", "cores": 2},
        "native-1-core": {"engine": "native", "cores": 1},
    }


def _processes() -> dict[str, dict[str, Any]]:
    """Two ranks of MPI."""
    return {"mpi": {"engine": "mpi", "cores": 2}}
