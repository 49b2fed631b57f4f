"""Run records as values: read from files, labelled, and grouped by their question.

Records are another program's output, perhaps another version's: a field that is missing or of the
wrong type is as good as not measured, and only a file that is no record at all is an error.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from cuesta.errors import InputError, in_words
from cuesta.lab.record import SETUP_PHASES as SETUP_PHASES
from cuesta.lab.stats import Statistic, median_interval
from cuesta.untrusted import read_json, within

RUN_SCHEMA = "cuesta.run/1"
COMPARE_SCHEMA = "cuesta.compare/1"
ASSESSMENT_SCHEMA = "cuesta.assessment/1"
RUN_FILE, COMPARE_FILE, ASSESSMENT_FILE = "run.json", "compare.json", "assessment.json"

FOLDER_DEPTH_MAX = 4
"""Most levels below a folder at which run records are searched."""

NUMBER_MAX = 1e30
COUNT_MAX = 1 << 63
"""Bounds of a number; a value beyond them counts as not measured."""

SAMPLES_MAX = 1000
"""Most samples of a run that are read, the bound of its repeats."""
NAME_CHARACTERS_MAX = 60
"""Characters of an engine's, phase's or ceiling's name that are shown."""

Fields = Mapping[str, object]


@dataclass(frozen=True, kw_only=True)
class Phase:
    """A timed part of a run, with its ceiling where one was measured; `unit` is its unit."""

    name: str
    seconds: float
    bytes: int | None
    rows: int | None
    ceiling: str
    ceiling_per_s: float | None
    rate_per_s: float | None
    fraction: float | None

    @property
    def unit(self) -> str:
        """`bytes`, `rows` or `flops`, from the end of the ceiling's name."""
        return next((u for u in ("rows", "flops") if self.ceiling.endswith(f"_{u}_per_s")), "bytes")


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A repeat: its wall time and its phases."""

    wall_seconds: float
    phases: tuple[Phase, ...]
    load_average: float | None

    def seconds_of(self, name: str) -> float:
        """Time in the phases of that name."""
        return sum(phase.seconds for phase in self.phases if phase.name == name)

    @property
    def work_seconds(self) -> float:
        """Wall time without starting a session and without loading."""
        return max(0.0, self.wall_seconds - sum(self.seconds_of(name) for name in SETUP_PHASES))


@dataclass(frozen=True, kw_only=True)
class Input:
    """An input as the user gave it."""

    path: str
    bytes: int | None
    files: int | None


@dataclass(frozen=True, kw_only=True)
class Typed:
    """Time of a command of one run as typed, and its parts.

    `start_seconds` is starting an engine, `load_seconds` filling an array database,
    `naming_seconds` putting names of genes and a graph into the answer, `disk_seconds` waiting for
    the disk after the verification, `rest_seconds` all else: starting Python, inputs, the record.
    """

    work_seconds: float
    verification_seconds: float
    disk_seconds: float
    rest_seconds: float
    start_seconds: float = 0.0
    load_seconds: float = 0.0
    naming_seconds: float = 0.0

    @property
    def seconds(self) -> float:
        """Sum of all parts."""
        return float(sum(vars(self).values()))


@dataclass(frozen=True, kw_only=True)
class Run:
    """Result of one trial.

    `fields` is the record itself, `source` its place, `assessment` the assessment by
    `cuesta assess` next to it, empty where there is none.
    """

    source: str
    fields: Fields
    workload: str
    engine: str
    parameters: Fields
    inputs: tuple[Input, ...]
    digest: str
    counts: Mapping[str, int]
    verified: bool | None
    phases: tuple[Phase, ...]
    samples: tuple[Sample, ...]
    assessment: Fields = field(default_factory=dict)

    @cached_property
    def work(self) -> Statistic:
        """Median and interval of the time without start-up and loading."""
        return median_interval([sample.work_seconds for sample in self.samples])

    def setup_seconds(self, name: str) -> float:
        """Seconds of a first run in `start` or `load`; a retained session starts only once."""
        return max(sample.seconds_of(name) for sample in self.samples)

    @property
    def total_seconds(self) -> float:
        """Work, start-up and loading together: the time of a run without a session."""
        return self.work.median + sum(self.setup_seconds(name) for name in SETUP_PHASES)

    @property
    def sampled(self) -> bool:
        """Whether the answer was verified, but only a sample of it."""
        return self.verified is True and self.object("verification").get("level") == "sample"

    @cached_property
    def typed(self) -> Typed | None:
        """Time of one run as typed, its work at the median; None where it was not measured."""
        times = self.object("time")
        names = ("verification_seconds", "disk_seconds", "rest_seconds")
        parts = {name: number(times.get(name)) for name in names}
        measured = {name: max(0.0, value) for name, value in parts.items() if value is not None}
        if len(measured) < len(parts):
            return None
        naming = max(0.0, number(times.get("naming_seconds")) or 0.0)
        return Typed(
            start_seconds=self.setup_seconds("start"),
            load_seconds=self.setup_seconds("load"),
            work_seconds=self.work.median,
            naming_seconds=naming,
            **measured,
        )

    @property
    def input_bytes(self) -> int:
        """Bytes of all inputs."""
        return sum(item.bytes or 0 for item in self.inputs)

    def number(self, name: str) -> float | None:
        """A number of the record's first level, None when it has none."""
        return number(self.fields.get(name))

    def text(self, name: str) -> str:
        """A text of the record's first level, empty when it has none."""
        return text(self.fields.get(name))

    def object(self, name: str) -> Fields:
        """An object of the record's first level, empty when it has none."""
        return mapping(self.fields.get(name))


@dataclass(frozen=True, kw_only=True)
class Group:
    """Runs that answer the same question of the same input, in the order they were given."""

    runs: tuple[Run, ...]
    labels: tuple[str, ...]

    @property
    def first(self) -> Run:
        """The first run, which like all runs has the question."""
        return self.runs[0]

    def named(self) -> Iterator[tuple[str, Run]]:
        """Runs with the labels that distinguish them."""
        return zip(self.labels, self.runs, strict=True)


def read_groups(paths: Sequence[Path]) -> tuple[Group, ...]:
    """Return all runs at `paths`, grouped by question; a path is a record, comparison or folder.

    Errors: `InputError` when a path holds no record.
    """
    runs: dict[str, Run] = {}
    for path in paths:
        for run in _read(path):
            runs.setdefault(run.source, run)
    return group(tuple(runs.values()))


def group(runs: Sequence[Run]) -> tuple[Group, ...]:
    """Runs by question, in order of first appearance."""
    by_question: dict[str, list[Run]] = {}
    for run in runs:
        files = [[Path(item.path).name, item.bytes] for item in run.inputs]
        key = json.dumps([run.workload, run.parameters, files], sort_keys=True, default=str)
        by_question.setdefault(key, []).append(run)
    return tuple(Group(runs=tuple(group), labels=_labels(group)) for group in by_question.values())


def to_run(fields: Fields, source: str) -> Run:
    """Return the values of one record. Errors: `InputError` when it is not a run record."""
    if fields.get("schema") != RUN_SCHEMA:
        raise InputError(f"{source}: not a run record of schema {RUN_SCHEMA}; run it again")
    answer = mapping(fields.get("answer"))
    counts = {name: int(value) for name, value in mapping(answer.get("counts")).items()
              if isinstance(value, int) and abs(value) < COUNT_MAX}  # fmt: skip
    verified = fields.get("verified")
    phases = _phases(fields)
    samples = tuple(_sample(sample) for sample in objects(fields.get("samples"))[:SAMPLES_MAX])
    only = Sample(
        wall_seconds=number(fields.get("wall_seconds")) or sum(phase.seconds for phase in phases),
        phases=phases,
        load_average=None,
    )
    return Run(
        source=source,
        fields=fields,
        workload=_name(fields.get("workload")),
        engine=_name(fields.get("engine")),
        parameters=mapping(fields.get("parameters")),
        inputs=tuple(_input(item) for item in objects(fields.get("inputs"))),
        digest=text(answer.get("digest")),
        counts=counts,
        verified=verified if isinstance(verified, bool) else None,
        phases=phases,
        samples=samples or (only,),
    )


def mapping(value: object) -> Fields:
    """`value` when it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def objects(value: object) -> list[Fields]:
    """The objects of a list, without its other elements."""
    elements = value if isinstance(value, list) else []
    return [element for element in elements if isinstance(element, dict)]


def text(value: object) -> str:
    """`value` when it is text, else empty."""
    return value if isinstance(value, str) else ""


def number(value: object) -> float | None:
    """`value` as a number of a size that a measurement can have, else None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < NUMBER_MAX else None


def _read(path: Path) -> Iterator[Run]:
    """Runs in a file, or in a folder and the folders below it."""
    if not path.exists():
        raise InputError(f"{path}: no such file or folder; check the path")
    if path.is_file():
        yield from _read_file(path)
        return
    for name in (COMPARE_FILE, RUN_FILE):
        if (path / name).is_file():
            yield from _read_file(path / name)
            return
    below = [
        file
        for depth in range(1, FOLDER_DEPTH_MAX + 1)
        for file in path.glob("*/" * depth + RUN_FILE)
    ]
    if not below:
        raise InputError(f"{path}: no {RUN_FILE} or {COMPARE_FILE} in or below it; name an answer")
    for file in sorted(below):
        yield from _read_file(file)


def _read_file(path: Path) -> Iterator[Run]:
    try:
        fields = read_json(path)
    except OSError as error:
        raise InputError(f"{path}: {in_words(error)}") from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not a run record ({error}); name an answer folder") from None
    if not isinstance(fields, dict):
        raise InputError(f"{path}: not a run record (it holds no object); name an answer folder")
    if fields.get("schema") != COMPARE_SCHEMA:
        run = to_run(fields, str(path))
        yield replace(run, assessment=_assessment(path.with_name(ASSESSMENT_FILE), run.digest))
        return
    for place in mapping(fields.get("records")).values():
        yield from _read_file(within(path.parent, str(place)))


def _assessment(path: Path, digest: str) -> Fields:
    """The assessment of the answer with that digest; empty where there is none to read."""
    try:
        fields = mapping(read_json(path))
    except (OSError, ValueError, RecursionError):
        return {}
    matches = fields.get("schema") == ASSESSMENT_SCHEMA and fields.get("digest") == digest
    return fields if matches else {}


def _input(fields: Fields) -> Input:
    return Input(
        path=text(fields.get("path")),
        bytes=_integer(fields.get("bytes")),
        files=_integer(fields.get("files")),
    )


def _sample(fields: Fields) -> Sample:
    phases = _phases(fields)
    return Sample(
        wall_seconds=number(fields.get("wall_seconds")) or sum(phase.seconds for phase in phases),
        phases=phases,
        load_average=number(fields.get("load_average")),
    )


def _phases(fields: Fields) -> tuple[Phase, ...]:
    return tuple(
        Phase(
            name=_name(phase.get("name")),
            seconds=max(0.0, number(phase.get("seconds")) or 0.0),
            bytes=_integer(phase.get("bytes")),
            rows=_integer(phase.get("rows")),
            ceiling=text(phase.get("ceiling"))[:NAME_CHARACTERS_MAX],
            ceiling_per_s=number(phase.get("ceiling_per_s")),
            rate_per_s=number(phase.get("rate_per_s")),
            fraction=number(phase.get("fraction_of_ceiling")),
        )
        for phase in objects(fields.get("phases"))
    )


def _name(value: object) -> str:
    return text(value)[:NAME_CHARACTERS_MAX] or "unnamed"


def _integer(value: object) -> int | None:
    amount = number(value)
    return None if amount is None else int(amount)


def _labels(runs: Sequence[Run]) -> tuple[str, ...]:
    """Engine names, with details that distinguish runs of one engine, and at worst a number."""
    labels = [run.engine for run in runs]
    for detail in (_threads, _cache, _memory):
        if len(set(labels)) == len(labels):
            break
        details = [detail(run) for run in runs]
        for name in {label for label in labels if labels.count(label) > 1}:
            same = [index for index, label in enumerate(labels) if label == name]
            if len({details[index] for index in same}) > 1:
                for index in same:
                    labels[index] = f"{name}, {details[index]}"
    repeats: dict[str, int] = {}
    for index, label in enumerate(labels):
        repeats[label] = repeats.get(label, 0) + 1
        if repeats[label] > 1:
            labels[index] = f"{label} ({repeats[label]})"
    return tuple(labels)


def _threads(run: Run) -> str:
    threads = int(run.number("threads") or 0)
    return f"{threads} thread{'' if threads == 1 else 's'}"


def _cache(run: Run) -> str:
    return {"as-is": "warm", "input-dropped": "cold", "machine-dropped": "cold machine"}.get(
        run.text("cache"), "cache unknown"
    )


def _memory(run: Run) -> str:
    return f"{(run.number('memory_bytes') or 0) / 2**30:.3g} GiB"
