"""Time lines of runs: the machine, second by second, over the phases and stages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from cuesta import numerals as n
from cuesta.lab.stats import representative
from cuesta.report import scales, shapes
from cuesta.report.blocks import Block, Cell, Column, Figure, Fold, Key, Panels, Row, Table
from cuesta.report.records import Run, number
from cuesta_lab.report.studies.arranged import Arranged, Spot
from cuesta_lab.report.studies.model import StudyResult
from cuesta_lab.report.studies.strips import Band, Clock, Lanes, Strip, Trace, drawn, lanes_of
from cuesta_lab.report.studies.traces import StageTime, Traces, stages, traces

RUNS_MAX = 6
"""Most time lines that are drawn; the caption counts the others."""

SHARED_RATIO = 4.0
"""Up to this ratio of their lengths, time lines have the same axis of time."""

LANES_MAX = 6
NAMED_MAX = 8
"""Most stages with lanes and names of their own; more are packed."""

LISTED_MAX = 10

WAIT_LEAST = 0.01
"""A wait for I/O that is never longer than this part of the time is not drawn."""

SETUP = ("start", "load")

Keys = tuple[tuple[str, str], tuple[str, str]]

_PROCESSOR = (
    ("user", "user", "p1"),
    ("system", "system", "p3"),
    ("iowait", "waiting for I/O", "p2"),
)
_BYTES = (("read_bytes", "read"), ("written_bytes", "written"))
_REQUESTS = (("reads", "read"), ("writes", "written"))
_DEVICE_TONES = (("p4", "p6"), ("p5", "p3"), ("p2", "p1"))
_TRAFFIC = (("received_bytes", "received"), ("sent_bytes", "sent"))
_TONES = {_BYTES: _DEVICE_TONES, _REQUESTS: _DEVICE_TONES, _TRAFFIC: (("p1", "p2"), ("p3", "p5"))}


@dataclass(frozen=True, kw_only=True)
class Shown:
    """A run that is drawn."""

    title: str
    run: Run
    traces: Traces
    stages: list[StageTime]

    @property
    def seconds(self) -> float:
        """Length of the run in seconds."""
        return max(self.traces.seconds[-1], *(s.began + s.seconds for s in self.stages), 1e-6)


def timelines(identifier: str, study: StudyResult, arrangement: Arranged) -> tuple[Block, ...]:
    """A time line of the run with the median time of every cell; none where no record has one."""
    drawable = list(_shown(study, arrangement))
    if not drawable:
        return ()
    shown = drawable[:RUNS_MAX]
    longest = max(run_shown.seconds for run_shown in shown)
    shared = longest / min(run_shown.seconds for run_shown in shown) <= SHARED_RATIO
    strip_rows = _strips(
        [run_shown.traces for run_shown in shown], max(_cores(run_shown.run) for run_shown in shown)
    )
    items = []
    for index, run_shown in enumerate(shown, 1):
        unit, size = n.time_unit(longest if shared else run_shown.seconds)
        length = (longest if shared else run_shown.seconds) / size
        axis = scales.ending(scales.linear(length, n.terse), length * 1.0001)
        times = [second / size for second in run_shown.traces.seconds]
        frame = shapes.Frame(
            identifier=f"{identifier}-{index}",
            title=f"Time line{': ' if run_shown.title else ''}{run_shown.title}",
            description=_described(run_shown),
        )
        strips = [row[index - 1] for row in strip_rows]
        clock = Clock(times=times, axis=axis, unit=unit)
        svg = drawn(frame, clock, strips, _lanes(run_shown, size))
        items.append(Figure(svg=svg, heading=run_shown.title))
    panels = Panels(
        items=tuple(items),
        keys=tuple(_keys(shown)),
        caption=_caption(drawable, len(arrangement.spots), shared=shared),
        columns=1 if len(items) == 1 else 2,
    )
    return (panels, *_longest(shown))


def _shown(study: StudyResult, arrangement: Arranged) -> Iterator[Shown]:
    for panel in arrangement.panels:
        for line in panel.lines:
            for spot in line.spots:
                run = _middle(study, spot)
                drawn_of = traces(run) if run else None
                if run is None or drawn_of is None:
                    continue
                several = len(arrangement.across.levels) > 1 and len(arrangement.spots) > 1
                words = (
                    arrangement.across.phrase(spot.level) if several else "",
                    line.title,
                    panel.title,
                )
                title = ", ".join(word for word in words if word)
                yield Shown(title=title, run=run, traces=drawn_of, stages=stages(run))


def _middle(study: StudyResult, spot: Spot) -> Run | None:
    """The record of the run with the median wall time, where it is stored."""
    walls = spot.cell.measures.get("wall", ())
    places = spot.cell.runs
    if not places:
        return None
    index = representative(walls) if len(walls) == len(places) else 0
    return study.record(places[index])


def _cores(run: Run) -> float:
    return number(run.object("machine").get("cores")) or 1.0


def _strips(all_traces: Sequence[Traces], cores: float) -> list[list[Strip]]:
    """The strips from top to bottom, each of every run; all fit the axis that a strip has up.

    A run without a quantity of another run, such as an unused device, has an empty strip.
    """

    def processor(traces: Traces) -> Strip | None:
        parts = [
            Trace(name=name, tone=tone, values=traces.columns[key])
            for key, name, tone in _PROCESSOR
            if key in traces.columns
        ]
        up = _up(cores)
        return _strip("processor, cores busy", parts, up, stacked=True)

    memory_unit, memory_size = n.size_unit(_highest(all_traces, "memory"))
    memory_up = _up(_highest(all_traces, "memory") / memory_size)

    def memory(traces: Traces) -> Strip | None:
        parts = _scaled(traces, "memory", "memory", "p5", memory_size)
        return _strip(f"memory of the run, {memory_unit}", parts, memory_up, stacked=True)

    rate_unit, rate_size = n.size_unit(_fastest(all_traces, _BYTES))
    rate_up = _up(_fastest(all_traces, _BYTES) / rate_size)

    def rates(traces: Traces) -> Strip | None:
        parts = _each(traces.devices, _BYTES, rate_size)
        return _strip(f"devices, {rate_unit}/s", parts, rate_up)

    requests_up = _up(_fastest(all_traces, _REQUESTS))

    network_unit, network_size = n.size_unit(_fastest(all_traces, _TRAFFIC))
    network_up = _up(_fastest(all_traces, _TRAFFIC) / network_size)

    def networks(traces: Traces) -> Strip | None:
        parts = _each(traces.networks, _TRAFFIC, network_size)
        return _strip(f"networks, {network_unit}/s", parts, network_up)

    def requests(traces: Traces) -> Strip | None:
        return _strip("devices, requests/s", _each(traces.devices, _REQUESTS, 1.0), requests_up)

    waiting = _highest(all_traces, "waiting") >= WAIT_LEAST

    def pressure(traces: Traces) -> Strip | None:
        if not waiting:
            return None
        parts = _scaled(traces, "waiting", "some task waits for I/O", "p2", 0.01)
        return _strip("time with a task waiting for I/O, %", parts, _up(100.0), stacked=True)

    rows = []
    for make in (processor, memory, rates, requests, pressure, networks):
        made = [make(trace) for trace in all_traces]
        first = next((strip for strip in made if strip is not None), None)
        if first is not None:
            empty = replace(first, traces=())
            rows.append([strip or empty for strip in made])
    return rows


def _strip(
    title: str, parts: Sequence[Trace], up: scales.Axis, *, stacked: bool = False
) -> Strip | None:
    return Strip(title=title, traces=tuple(parts), up=up, stacked=stacked) if parts else None


def _up(high: float) -> scales.Axis:
    """An axis from zero that ends a little above, or at, its highest value."""
    high = high or 1.0
    axis = scales.linear(high, n.terse)
    fitting = [tick.value for tick in axis.ticks if tick.value >= high * (1 - 1e-9)]
    return scales.ending(axis, fitting[0] if fitting else axis.high)


def _scaled(traces: Traces, key: str, name: str, tone: str, size: float) -> list[Trace]:
    values = traces.columns.get(key)
    if not values:
        return []
    return [Trace(name=name, tone=tone, values=tuple(value / size for value in values))]


def _each(
    group: Mapping[str, Mapping[str, Sequence[float]]], keys: Keys, size: float
) -> list[Trace]:
    """Lines of every device or network, in the colours of its two directions."""
    return [
        Trace(
            name=f"{device} {name}",
            tone=tone,
            values=tuple(value / size for value in columns[key]),
        )
        for (device, columns), tones in zip(group.items(), _TONES[keys], strict=False)
        for (key, name), tone in zip(keys, tones, strict=True)
        if key in columns
    ]


def _highest(all_traces: Sequence[Traces], key: str) -> float:
    return max(
        (max(trace.columns[key]) for trace in all_traces if key in trace.columns), default=1.0
    )


def _fastest(all_traces: Sequence[Traces], keys: Keys) -> float:
    values = [
        max(columns[key])
        for trace in all_traces
        for columns in (*trace.devices.values(), *trace.networks.values())
        for key, _ in keys
        if key in columns
    ]
    return max(values, default=1.0) or 1.0


def _lanes(shown: Shown, size: float) -> list[Lanes]:
    """Phases, laid end to end, a lane each; below them the stages of the engine's log."""
    begin = 0.0
    by_name: dict[str, list[Band]] = {}
    for phase in shown.run.phases:
        end = begin + phase.seconds
        band = Band(
            name=phase.name,
            begin=begin / size,
            end=end / size,
            text=f"{phase.name}: {n.duration(phase.seconds)}",
            tone="p7" if phase.name in SETUP else "p0",
        )
        if phase.seconds >= shown.seconds / 2000:
            by_name.setdefault(phase.name, []).append(band)
        begin = end
    named = [Lanes(title="phases", lanes=tuple(tuple(bands) for bands in by_name.values()))]
    if not shown.stages:
        return named
    bands = [
        Band(
            name=stage.name,
            begin=max(0.0, stage.began) / size,
            end=(max(0.0, stage.began) + stage.seconds) / size,
            text=f"{stage.name}: {n.duration(stage.seconds)}, {n.plural(stage.tasks, 'task')}",
            tone="p1",
        )
        for stage in shown.stages
    ]
    if len(bands) <= NAMED_MAX:
        return [*named, Lanes(title="stages", lanes=tuple((band,) for band in bands))]
    title = f"{len(bands)} stages"
    return [*named, Lanes(title=title, lanes=lanes_of(bands, LANES_MAX), named=False)]


def _keys(shown: Sequence[Shown]) -> Iterator[Key]:
    known = {name for run_shown in shown for name in run_shown.traces.columns}
    for key, name, tone in _PROCESSOR:
        if key in known:
            yield Key(tone=tone, text=name)
    if "memory" in known:
        yield Key(tone="p5", text="memory")
    names: dict[str, str] = {}
    for run_shown in shown:
        lines = _each(run_shown.traces.devices, _BYTES, 1.0) + _each(
            run_shown.traces.networks, _TRAFFIC, 1.0
        )
        names |= {trace.name: trace.tone for trace in lines}
    for name, tone in names.items():
        yield Key(tone=f"{tone} stroke", text=name)


def _caption(drawable: Sequence[Shown], cells: int, *, shared: bool) -> str:
    words = (
        "The run with the median time of every combination. Cores, devices and the wait for I/O "
        "are those of the whole machine, memory is that of the run. Phases are laid end to end."
    )
    if len(drawable) > 1:
        words += " All have the same axes." if shared else " Each has its own axis of time."
    if len(drawable) > RUNS_MAX:
        words += f" {n.plural(len(drawable) - RUNS_MAX, 'more time line')} not drawn."
    if cells > len(drawable):
        words += f" {n.plural(cells - len(drawable), 'combination')} without a time line."
    return words


def _described(shown: Shown) -> str:
    words = [f"{phase.name} {n.duration(phase.seconds)}" for phase in shown.run.phases]
    return f"{n.duration(shown.seconds)} in all; {'; '.join(words)}"


def _longest(shown: Sequence[Shown]) -> tuple[Block, ...]:
    """The longest stages of all runs, where there are more than fit by name."""
    many = [run_shown for run_shown in shown if len(run_shown.stages) > NAMED_MAX]
    if not many:
        return ()
    rows = []
    for run_shown in many:
        for stage in sorted(run_shown.stages, key=lambda stage: -stage.seconds)[:LISTED_MAX]:
            cells = (
                Cell(text=stage.name, tone="long"),
                Cell(text=n.duration(max(0.0, stage.began))),
                Cell(text=n.duration(stage.seconds)),
                Cell(text=n.count(stage.tasks)),
            )
            rows.append(Row(header=run_shown.title or "run", cells=cells))
    columns = (
        Column(title="run", words=True),
        Column(title="stage", words=True),
        Column(title="began after"),
        Column(title="took"),
        Column(title="tasks"),
    )
    table = Table(caption="", columns=columns, rows=tuple(rows))
    return (Fold(summary="The longest stages", block=table),)
