"""Types of a bench: contestants that do the same work, and the bars that judge them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cuesta_lab.model.predict import Prediction

THREADS = 2
"""Threads of each contestant, whatever the machine has."""

MEMORY_BYTES = 4 << 30
"""Memory that our own runs may take."""


class DifferentAnswer(Exception):
    """Two contestants of a case have different answers; the bench stores nothing."""


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Answer of a contestant, for comparison.

    Attributes
    ----------
    digest
        Equal for equal answers, whatever their order.
    rows
        Number of its rows.
    values
        The answer itself, where a digest is too strict; not recorded.
    """

    digest: str
    rows: int
    values: Any = None


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A repeat that the contestant has measured itself.

    Attributes
    ----------
    counts
        Number of times that an event occurred, and of trials, by name.
    figures
        Quality of the answer, by the name of the measure.
    """

    seconds: float
    peak_resident_bytes: int | None = None
    counts: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    figures: Mapping[str, float] = field(default_factory=dict)


Work = Callable[[Path], Sample | None]
"""Does the work into an empty folder; None leaves the timing to the harness."""


@dataclass(frozen=True, kw_only=True)
class Recorded:
    """Repeats that a study has made before.

    Attributes
    ----------
    samples
        One a repeat.
    answer
        Answer of all repeats; None where there is nothing to compare it with.
    predicted
        Prediction that was made before them; None where there was none.
    """

    samples: tuple[Sample, ...]
    answer: Answer | None = None
    predicted: Prediction | None = None


def nothing(_: Path) -> None:
    """The work of a contestant whose repeats were made before."""


@dataclass(frozen=True, kw_only=True)
class Contestant:
    """A program that does the work of a case.

    Attributes
    ----------
    name
        Short, unique in the case: `cuesta`, `duckdb`.
    how
        Exact instruction: the statement, the call.
    work
        The timed part.
    answer
        Reads the output of `work` in its folder, outside the timed part; None for a ceiling,
        which has no answer.
    amount
        Work of one repeat in the case's unit; the case's own when None.
    repeats_max
        Fewer repeats than the others, for the slow; with one there is no unmeasured round.
    remark
        Note on the files of the last repeat, outside the timed part.
    recorded
        Its repeats, where they were made before: then it takes no turns.
    """

    name: str
    how: str
    work: Work = nothing
    answer: Callable[[Path], Answer] | None = None
    amount: float | None = None
    repeats_max: int | None = None
    remark: Callable[[Path], str] | None = None
    recorded: Recorded | None = None


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """`ours` must be `at_least` times as fast as `peer`, repeat by repeat; None: just shown."""

    ours: str
    peer: str
    at_least: float | None
    text: str


@dataclass(frozen=True, kw_only=True)
class MemoryLimit:
    """The peak resident memory of `ours` must stay below `below_bytes`."""

    ours: str
    below_bytes: int
    text: str


@dataclass(frozen=True, kw_only=True)
class TimeLimit:
    """The time of `ours` must stay below `below_seconds`."""

    ours: str
    below_seconds: float
    text: str


@dataclass(frozen=True, kw_only=True)
class Share:
    """Share of the counts `name` of `ours`, which must be at most, or at least, this part."""

    ours: str
    name: str
    text: str
    at_most: float | None = None
    at_least: float | None = None


@dataclass(frozen=True, kw_only=True)
class Quality:
    """`name` of the figures of `ours`, in the last repeat, must hold against those of `peers`."""

    ours: str
    peers: tuple[str, ...]
    name: str
    text: str
    holds: Callable[[float, list[float]], bool]


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """A figure that the bench has judged itself.

    Attributes
    ----------
    figure
        None where something is missing for it, as `why` says; it is neither met nor missed then.
    met
        None for a figure that is just shown.
    figures
        Figures to compare it with, by name.
    """

    ours: str
    text: str
    figure: float | None
    met: bool | None = None
    figures: Mapping[str, float] = field(default_factory=dict)
    why: str = ""


@dataclass(frozen=True, kw_only=True)
class PredictionError:
    """The median relative error of all predictions of a case is `at_most` this; None: shown."""

    at_most: float | None
    text: str


@dataclass(frozen=True, kw_only=True)
class PredictionShare:
    """Share of a case's predictions that are `INSIDE` their intervals, or `REFUSED`: shown."""

    which: str
    text: str


INSIDE, REFUSED = "inside", "refused"

Bar = (
    Ratio | MemoryLimit | TimeLimit | Share | Quality | Verdict | PredictionError | PredictionShare
)


def same_digest(answer: Answer, other: Answer) -> str | None:
    """The difference, or None."""
    if answer.digest == other.digest:
        return None
    return f"{answer.rows} rows with digest {answer.digest}, {other.rows} rows with {other.digest}"


@dataclass(frozen=True, kw_only=True)
class Case:
    """A computation on an input, and all its contestants.

    Attributes
    ----------
    name
        The computation, e.g. `scan, |score| >= 0.8`.
    contestants
        Contestants; the answers of all others must equal that of the first.
    bars
        Rows of the table.
    amount, unit
        Work of one repeat: 1.02e9 `B`, 2e6 `pairs`, 1e11 `flop`.
    inputs
        Files that are read into the page cache before the first repeat.
    absent
        Contestants that cannot run here, with the reason.
    repeats_max
        Most repeats, for a slow case.
    same
        Names the difference between two answers, or None.
    notes
        Facts worth a line under the table, such as the time a load took.
    """

    name: str
    contestants: tuple[Contestant, ...]
    bars: tuple[Bar, ...]
    amount: float
    unit: str
    inputs: tuple[Path, ...] = ()
    absent: Mapping[str, str] = field(default_factory=dict)
    repeats_max: int | None = None
    same: Callable[[Answer, Answer], str | None] = same_digest
    notes: tuple[str, ...] = ()
