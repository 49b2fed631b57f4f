"""The page of a scaling study: a section a series, drawn from the run records it names."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from cuesta import numerals as n
from cuesta.errors import InputError
from cuesta.lab.stats import Statistic, median_interval
from cuesta.report import plots, scales, shapes
from cuesta.report.blocks import (
    Alert,
    Cell,
    Column,
    Figure,
    Fold,
    Key,
    Mark,
    Pair,
    Part,
    Row,
    Section,
    Table,
)
from cuesta.report.records import RUN_FILE, Group, Run, mapping, number, objects, text, to_run
from cuesta.report.sections import section

SCHEMA = "cuesta.study/1"
FILE_NAME = "study.json"
FLAT_RATIO = 1.1
"""A phase without communication that takes this much longer on more cores is not flat."""
TONES_MAX = 6
DASH = "\u2013"


@dataclass(frozen=True, kw_only=True)
class Point:
    """What an engine, or a variant of one, did on so many cores."""

    label: str
    cores: int
    run: Run

    @property
    def time(self) -> Statistic:
        """Work without start-up."""
        return self.run.work

    def phase(self, name: str) -> Statistic:
        """Time in the phases of that name."""
        return median_interval([sample.seconds_of(name) for sample in self.run.samples])


@dataclass(frozen=True, kw_only=True)
class Curve:
    """An engine, or a variant of one, on more and more cores."""

    label: str
    points: tuple[Point, ...]


@dataclass(frozen=True, kw_only=True)
class Series:
    """All engines in one kind of scaling."""

    name: str
    title: str
    scaling: str
    curves: tuple[Curve, ...]


@dataclass(frozen=True, kw_only=True)
class Study:
    """A study that was run."""

    question: str
    local_phases: tuple[str, ...]
    left_out: tuple[tuple[str, str], ...]
    series: tuple[Series, ...]

    @property
    def runs(self) -> list[Run]:
        """Every run of it."""
        curves = [curve for series in self.series for curve in series.curves]
        return [point.run for curve in curves for point in curve.points]


def read(folder: Path) -> Study:
    """The study in a folder. Errors: `InputError` when it or one of its records is missing."""
    file = folder / FILE_NAME
    try:
        fields = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: no study ({error})") from None
    if not isinstance(fields, dict) or fields.get("schema") != SCHEMA:
        raise InputError(f"{file}: not a study of schema {SCHEMA}")
    rows = [(text(row.get("series")), _point(folder, row)) for row in objects(fields.get("runs"))]
    series = []
    for one in objects(fields.get("series")):
        name = text(one.get("name"))
        points = [point for of, point in rows if of == name]
        labels = list(dict.fromkeys(point.label for point in points))
        curves = [_curve(label, points) for label in labels]
        series.append(
            Series(
                name=name,
                title=text(one.get("title")),
                scaling=text(one.get("scaling")),
                curves=tuple(curves),
            )
        )
    left_out = tuple((name, text(why)) for name, why in mapping(fields.get("left_out")).items())
    local = fields.get("local_phases")
    return Study(
        question=text(fields.get("question")),
        local_phases=tuple(map(text, local if isinstance(local, list) else [])),
        left_out=left_out,
        series=tuple(one for one in series if one.curves),
    )


def _point(folder: Path, row: object) -> Point:
    fields = mapping(row)
    file = folder / text(fields.get("record")) / RUN_FILE
    try:
        run = to_run(json.loads(file.read_text(encoding="utf-8")), str(file))
    except (OSError, ValueError) as error:
        raise InputError(f"{file}: no run record ({error})") from None
    label = text(fields.get("label")) or run.engine
    return Point(label=label, cores=int(number(fields.get("cores")) or 1), run=run)


def _curve(label: str, points: Sequence[Point]) -> Curve:
    own = [point for point in points if point.label == label]
    return Curve(label=label, points=tuple(sorted(own, key=lambda point: point.cores)))


def sections(study: Study) -> tuple[Section, ...]:
    """One section a series."""
    return tuple(
        (_compared if one.scaling == "none" else _section)(f"q{index}", study, one)
        for index, one in enumerate(study.series, 1)
    )


def _compared(identifier: str, study: Study, series: Series) -> Section:
    """Variants side by side, as runs of any comparison are."""
    runs = tuple(curve.points[-1].run for curve in series.curves)
    group = Group(runs=runs, labels=tuple(curve.label for curve in series.curves))
    made = section(identifier, group)
    return replace(made, question=series.title, alerts=(*made.alerts, *_left_out(study)))


def _left_out(study: Study) -> list[Alert]:
    return [Alert(text=f"{name} was left out: {why}.", grave=False) for name, why in study.left_out]


def _section(identifier: str, study: Study, series: Series) -> Section:
    engines = n.listed([curve.label for curve in series.curves])
    alerts = [Alert(text=one, grave=False) for one in _not_flat(study, series)]
    alerts += _left_out(study)
    parts = [_times(identifier, series), _efficiency(identifier, series), _numbers(series)]
    return Section(
        identifier=identifier,
        kind=f"{series.curves[0].points[0].run.workload} on {engines}",
        question=series.title,
        lead=(*_parameters(series), *_lead(series)),
        verdict="",
        marks=(_equal(series),),
        alerts=tuple(alerts),
        facts=tuple(_facts(series)),
        parts=tuple(parts),
    )


def _lead(series: Series) -> list[str]:
    """The fastest, and what the others take beside it, on all cores."""
    last = sorted(series.curves, key=lambda curve: curve.points[-1].time.median)
    best, rest = last[0], last[1:]
    cores = n.plural(best.points[-1].cores, "core")
    best_seconds = best.points[-1].time.median
    sentences = [f"On {cores} {best.label} is fastest: {n.duration(best_seconds)} of work."]
    if rest:
        times = [
            f"{one.label} {n.ratio(one.points[-1].time.median / best_seconds)}" for one in rest
        ]
        sentences.append(f"Beside it, {n.listed(times)} as long.")
    if series.scaling == "strong":
        costs = [f"{curve.label} {_cost(series, curve)}" for curve in series.curves]
        sentences.append(
            f"Cores needed to beat one core of {_reference(series).label}: {n.listed(costs)}."
        )
    return sentences


def _reference(series: Series) -> Curve:
    """The engine that is fastest on one core, whose time an engine must beat."""
    return min(series.curves, key=lambda curve: curve.points[0].time.median)


def _cost(series: Series, curve: Curve) -> str:
    """COST (McSherry, Isard and Murray, HotOS 2015): the fewest cores that beat one core."""
    reference = _reference(series)
    if curve is reference:
        return "1"
    bar = reference.points[0].time.median
    beats = [point.cores for point in curve.points if point.time.median < bar]
    return str(beats[0]) if beats else f"more than {curve.points[-1].cores}"


def _not_flat(study: Study, series: Series) -> list[str]:
    """Phases that need nothing from other cores, and yet take longer when there are more."""
    told = []
    for curve in series.curves if series.scaling == "weak" else ():
        first, last = curve.points[0], curve.points[-1]
        for name in study.local_phases:
            alone, beside = first.phase(name), last.phase(name)
            if alone.median and beside.low > FLAT_RATIO * alone.high:
                told.append(
                    f"`{name}` of {curve.label} needs no communication, yet takes "
                    f"{n.ratio(beside.median / alone.median)} as long on {last.cores} cores as on "
                    f"{first.cores}: the cores share something, such as memory bandwidth."
                )
    return told


def _equal(series: Series) -> Mark:
    """Whether all engines gave one digest at each number of cores."""
    digests: dict[int, set[str]] = {}
    runs = [(point.cores, point.run) for curve in series.curves for point in curve.points]
    for cores, run in runs:
        digests.setdefault(cores, set()).add(run.digest)
    good = all(len(found) == 1 for found in digests.values()) and all(
        run.verified for _, run in runs
    )
    said = "all answers verified and equal" if good else "answers differ or are not verified"
    return Mark(text=said, tone="good" if good else "bad")


def _parameters(series: Series) -> list[str]:
    """What all points have in common, in a sentence."""
    first = series.curves[0].points[0].run
    kept = {key: value for key, value in first.parameters.items() if key != "blocks"}
    said = [f"{key.replace('_', ' ')} {value}" for key, value in kept.items()]
    return [f"All with {n.listed(said)}."] if said else []


def _facts(series: Series) -> list[Pair]:
    repeats = min(len(point.run.samples) for curve in series.curves for point in curve.points)
    blocks = [f"{p.run.parameters.get('blocks')} on {p.cores}" for p in series.curves[0].points]
    return [
        Pair(name="blocks on cores", text=", ".join(blocks)),
        Pair(name="repeats", text=str(repeats)),
    ]


def _times(identifier: str, series: Series) -> Part:
    all_times = [p.time.median for curve in series.curves for p in curve.points]
    unit, seconds = n.time_unit(max(all_times))
    up = scales.for_bars([value / seconds for value in all_times], n.terse)

    def place(point: Point) -> plots.Place:
        time = point.time
        return plots.Place(
            x=point.cores,
            y=time.median / seconds,
            low=time.low / seconds,
            high=time.high / seconds,
        )

    figure = _figure(f"{identifier}-time", series, place, (up, f"time, {unit}"), _ideal_times)
    aside = "Medians of the work, without starting a session, with the interval of the median; "
    aside += "dashed: the fastest engine, scaling ideally."
    return Part(title="Time", aside=(aside,), blocks=(figure,))


def _ideal_times(series: Series, y: Callable[[Point], plots.Place]) -> list[plots.Place]:
    first = _reference(series).points[0]
    cores = [point.cores for point in _reference(series).points]
    start = y(first).y
    weak = series.scaling == "weak"
    values = [start if weak else start * first.cores / count for count in cores]
    return [
        plots.Place(x=x, y=value, low=value, high=value)
        for x, value in zip(cores, values, strict=True)
    ]


def _efficiency(identifier: str, series: Series) -> Part:
    def place(point: Point) -> plots.Place:
        first = next(curve for curve in series.curves if curve.label == point.label).points[0]
        low, middle, high = _efficiency_of(series, first, point)
        return plots.Place(x=point.cores, y=middle, low=low, high=high)

    places = [place(point) for curve in series.curves for point in curve.points]
    up = scales.linear(max(1.0, *(one.y for one in places)), n.terse)
    figure = _figure(
        f"{identifier}-efficiency",
        series,
        place,
        (up, "efficiency"),
        lambda one, _: [
            plots.Place(x=point.cores, y=1, low=1, high=1) for point in _reference(one).points
        ],
    )
    aside = (
        "Of an engine against itself on the fewest cores: 1 is ideal. "
        + (
            "With as much work a core, the time on one over the time on all."
            if series.scaling == "weak"
            else "The speed-up over the number of cores."
        ),
    )
    return Part(title="Efficiency", aside=aside, blocks=(figure,))


def _efficiency_of(series: Series, first: Point, point: Point) -> tuple[float, float, float]:
    """Low, median and high; the ends take the worst of both intervals."""
    if point is first:
        return 1.0, 1.0, 1.0
    share = 1.0 if series.scaling == "weak" else first.cores / point.cores
    alone, beside = first.time, point.time
    return (
        share * alone.low / beside.high,
        share * alone.median / beside.median,
        share * alone.high / beside.low,
    )


def _figure(
    identifier: str,
    series: Series,
    place: Callable[[Point], plots.Place],
    upward: tuple[scales.Axis, str],
    ideal: Callable[[Series, Callable[[Point], plots.Place]], list[plots.Place]],
) -> Figure:
    lines = [plots.Curve(name="ideal", tone="ideal", places=tuple(ideal(series, place)))]
    keys = []
    for index, curve in enumerate(series.curves):
        tone = f"p{min(index + 1, TONES_MAX)}"
        places = tuple(place(point) for point in curve.points)
        lines.append(plots.Curve(name=curve.label, tone=tone, places=places))
        keys.append(Key(tone=tone, text=curve.label))
    cores = sorted({point.cores for curve in series.curves for point in curve.points})
    ticks = tuple(scales.Tick(value=count, label=str(count)) for count in cores)
    across = scales.Axis(low=cores[0] / 1.2, high=cores[-1] * 1.2, log=True, ticks=ticks)
    frame = shapes.Frame(
        identifier=identifier,
        title=f"{upward[1]} by cores",
        description=f"{series.title}: {upward[1]} of each engine by the number of cores",
    )
    drawn = plots.curves(
        frame, lines, plots.Axes(across=across, up=upward[0], names=("cores", upward[1]))
    )
    return Figure(svg=drawn, keys=tuple(keys))


def _numbers(series: Series) -> Part:
    columns = [Column(title="engine, cores", words=True), Column(title="work, median")]
    columns += [Column(title="interval"), Column(title="speed-up"), Column(title="efficiency")]
    columns.append(Column(title="start"))
    rows = []
    for curve in series.curves:
        first = curve.points[0]
        for point in curve.points:
            _, efficiency, _ = _efficiency_of(series, first, point)
            start = point.run.setup_seconds("start")
            cells = (
                Cell(text=n.duration(point.time.median)),
                Cell(text=f"{n.duration(point.time.low)} to {n.duration(point.time.high)}"),
                Cell(text=n.ratio(efficiency * point.cores / first.cores)),
                Cell(text=n.fraction(efficiency)),
                Cell(text=n.duration(start) if start else DASH),
            )
            rows.append(Row(header=f"{curve.label}, {point.cores}", cells=cells))
    table = Table(caption="", columns=tuple(columns), rows=tuple(rows))
    phases = Fold(summary="Every phase", block=_phases(series))
    aside = "Under weak scaling the speed-up is that of work done in the same time."
    return Part(title="Numbers", aside=(aside,), blocks=(table, phases))


def _phases(series: Series) -> Table:
    points = [(curve.label, point) for curve in series.curves for point in curve.points]
    names = list(dict.fromkeys(phase.name for _, point in points for phase in point.run.phases))
    columns = [Column(title="engine, cores", words=True), *(Column(title=name) for name in names)]
    rows = []
    for label, point in points:
        seconds = [point.phase(name).median for name in names]
        cells = tuple(Cell(text=n.duration(value) if value else DASH) for value in seconds)
        rows.append(Row(header=f"{label}, {point.cores}", cells=cells))
    return Table(caption="Medians.", columns=tuple(columns), rows=tuple(rows))
