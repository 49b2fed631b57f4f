"""A study that was run, as values: factors, cells with their samples, claims and views."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from cuesta.lab.stats import Statistic, median_interval
from cuesta.report.records import Fields, Run

SCHEMA = "cuesta.study/2"
FILE_NAME = "study.json"


@dataclass(frozen=True, kw_only=True)
class Level:
    """A level of a factor; `value` is its place on an axis, None when it is only a name."""

    name: str
    title: str
    value: float | None


@dataclass(frozen=True, kw_only=True)
class Factor:
    """A factor of the study, with its levels."""

    name: str
    title: str
    unit: str
    levels: tuple[Level, ...]

    @property
    def numeric(self) -> bool:
        """Whether its levels have places on an axis."""
        return len(self.levels) > 1 and all(level.value is not None for level in self.levels)

    @property
    def label(self) -> str:
        """Title and unit."""
        return f"{self.title}, {self.unit}" if self.unit else self.title

    def phrase(self, level: Level) -> str:
        """A level in a sentence: a bare number with the factor's title and unit."""
        bare = level.title.replace(".", "", 1).replace(",", "").isdigit()
        if not bare:
            return level.title
        return f"{self.title} {level.title}{f' {self.unit}' if self.unit else ''}"

    def level(self, name: str) -> Level:
        """The level of that name, or a level that has only the name."""
        matches = [level for level in self.levels if level.name == name]
        return matches[0] if matches else Level(name=name, title=name, value=None)


@dataclass(frozen=True, kw_only=True)
class StudyCell:
    """A combination of levels and its measurements: a sample for each verified run."""

    levels: Mapping[str, str]
    runs: tuple[str, ...]
    digest: str
    left_out: str
    failed: tuple[str, ...]
    measures: Mapping[str, tuple[float, ...]]
    remarks: tuple[str, ...] = ()

    def statistic(self, measure: str) -> Statistic | None:
        """Median and interval of a measure, None where nothing was measured."""
        samples = self.measures.get(measure)
        return median_interval(samples) if samples else None

    @property
    def repeats(self) -> int:
        """Number of runs that were measured."""
        return max((len(samples) for samples in self.measures.values()), default=0)


@dataclass(frozen=True, kw_only=True)
class ClaimPart:
    """Result of a claim at some levels; `words` are its ratio, `verdict` may be empty."""

    levels: Mapping[str, str]
    words: str
    verdict: str


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A finding of a paper, the expectation of it here, and the result."""

    name: str
    figures: tuple[str, ...]
    finding: str
    expected: str
    verdict: str
    result: str
    is_trend: bool = False
    parts: tuple[ClaimPart, ...] = ()


@dataclass(frozen=True, kw_only=True)
class View:
    """A view to draw; `where` retains cells of some levels only."""

    title: str
    kind: str
    across: str
    curves: str
    panels: str
    measure: str
    where: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, kw_only=True)
class StudyAlarm:
    """A broken rule of measuring; `grave` ones make figures incomparable."""

    rule: str
    text: str
    grave: bool


@dataclass(frozen=True, kw_only=True)
class StudyResult:
    """A study that was run.

    `file` is the study file as it was read; `fields` is the result itself; `record` returns the
    run record of a place that a cell names, None where it is not stored.
    """

    title: str
    question: str
    paper: str
    smoke: bool
    factors: tuple[Factor, ...]
    cells: tuple[StudyCell, ...]
    claims: tuple[Claim, ...]
    views: tuple[View, ...]
    phases: tuple[str, ...]
    local_phases: tuple[str, ...]
    alarms: tuple[StudyAlarm, ...]
    file: Fields
    fields: Fields
    record: Callable[[str], Run | None] = field(compare=False)

    def factor(self, name: str) -> Factor | None:
        """The factor of that name."""
        return next((factor for factor in self.factors if factor.name == name), None)

    def words(self, levels: Mapping[str, str]) -> str:
        """Titles of levels, in the order of the factors; factors of one level are omitted."""
        known = [
            factor for factor in self.factors if factor.name in levels and len(factor.levels) > 1
        ]
        phrases = [factor.phrase(factor.level(levels[factor.name])) for factor in known]
        return ", ".join(phrases) or "all"

    @cached_property
    def measured(self) -> tuple[StudyCell, ...]:
        """Cells with at least one sample."""
        return tuple(cell for cell in self.cells if cell.repeats)
