"""The page of an advice: the three best choices, one chart of all by price and time, the sums."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cuesta.report import plots, scales, shapes, svg
from cuesta.report.blocks import Cell, Column, Figure, Fold, Key, Pair, Part, Row, Section, Table
from cuesta.report.page import write_section
from cuesta.units import format_bytes, format_seconds

ROWS_MAX = 14
"""Choices in the table, the best for a dollar first."""

_TONES = ("p1", "p2", "p3")
_TIMES = (
    (1.0, "1 s"), (10.0, "10 s"), (60.0, "1 min"), (600.0, "10 min"), (3600.0, "1 h"),
    (36e3, "10 h"), (864e3, "10 days"), (864e4, "100 days"), (864e5, "1000 days"),
)  # fmt: skip


def write(found: Mapping[str, Any], output: Path) -> Path:
    """Write the page of an advice (`cuesta.advice/1`); its path.

    Errors: `InputError` where `output` cannot be written.
    """
    best = found["best"]
    section = Section(
        identifier="advice",
        kind=f"{found['workload']}, {format_bytes(found['size_bytes'])} of input",
        question="Which machine, and how many nodes?",
        lead=tuple(f"{_title(one)}: {one['words']}." for one in best),
        verdict="",
        marks=(),
        alerts=(),
        facts=(
            Pair(name="choices", text=f"{len(found['choices'])}"),
            Pair(name="of them possible", text=f"{len(_possible(found))}"),
            Pair(name="intervals", text="90 %"),
        ),
        parts=(_picture(found), _numbers(found), _sums(found)),
    )
    return write_section(section, output, "Made by `cuesta advise`. Times are predictions.")


def _title(one: Mapping[str, Any]) -> str:
    title: str = one["title"]
    return title[:1].upper() + title[1:]


def _possible(found: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [one for one in found["choices"] if one["seconds"]]


def _picture(found: Mapping[str, Any]) -> Part:
    """Price across and time up where there are prices; else a bar for each choice."""
    priced = [one for one in _possible(found) if one["dollars"]]
    if len(priced) < 2:
        return _bars(found)
    best = [one for one in found["best"] if one["choice"]["dollars"]]
    shown = [one["choice"] for one in best]
    dollars = [one["dollars"]["value"] for one in priced]
    times = [one["seconds"]["value"] for one in priced]
    times += [one["seconds"][end] for one in shown for end in ("low", "high")]
    axes = plots.Axes(
        across=scales.geometric(min(dollars), max(dollars), lambda value: f"{value:g} $"),
        up=_time_axis(min(times), max(times)),
        names=("price of the run", "time"),
        height=320,
    )
    others = [_spot(one, "p0") for one in priced if one not in shown]
    curves = [*others, *(_spot(one, tone) for one, tone in zip(shown, _TONES, strict=False))]
    keys = [
        Key(tone=tone, text=f"{one['title']}: {_short(one['choice'])}", mark=shapes.swatch(tone))
        for one, tone in zip(best, _TONES, strict=False)
    ]
    frame = shapes.Frame(
        identifier="advice-choices",
        title="Time of the run by its price",
        description="; ".join(one["words"] for one in best),
    )
    return Part(
        title="All choices",
        aside=(
            "Down and to the left is better: sooner, and for less.",
            "Both axes grow by ratios. Upright lines: 90 % intervals.",
        ),
        blocks=(Figure(svg=plots.curves(frame, curves, axes), keys=tuple(keys)),),
    )


def _time_axis(low: float, high: float) -> scales.Axis:
    """A logarithmic axis with ticks at times that people say."""
    ticks = [scales.Tick(value=value, label=label) for value, label in _TIMES]
    inside = tuple(tick for tick in ticks if 0.9 * low <= tick.value <= 1.1 * high)
    ends = [tick.value for tick in inside]
    return scales.Axis(
        low=min([0.9 * low, *ends]), high=max([1.1 * high, *ends]), log=True, ticks=inside
    )


def _spot(one: Mapping[str, Any], tone: str) -> plots.Curve:
    """A choice as a point; the best ones with their interval of time."""
    seconds = one["seconds"]
    low, high = (seconds["low"], seconds["high"]) if tone in _TONES else (seconds["value"],) * 2
    place = plots.Place(
        x=one["dollars"]["value"], y=seconds["value"], low=low, high=high, text=_told(one)
    )
    return plots.Curve(name=_short(one), tone=tone, places=(place,))


def _bars(found: Mapping[str, Any]) -> Part:
    possible = sorted(_possible(found), key=_by_time)[:ROWS_MAX]
    axis = scales.linear(max(one["seconds"]["high"] for one in possible), format_seconds)
    best = [one["choice"] for one in found["best"]]
    rows = [
        svg.Bar(
            label=_short(one),
            text=f"{'at least ' * bool(one['caveat'])}{format_seconds(one['seconds']['value'])}",
            value=one["seconds"]["value"],
            low=one["seconds"]["low"],
            high=one["seconds"]["high"],
            tone=_TONES[best.index(one)] if one in best else "other",
        )
        for one in possible
    ]
    frame = shapes.Frame(
        identifier="advice-choices",
        title="Time of the run by choice",
        description="; ".join(one["words"] for one in found["best"]),
    )
    return Part(
        title="All choices",
        aside=("Shorter is better; the line has the interval.",),
        blocks=(Figure(svg=svg.bars(frame, rows, axis, "")),),
    )


def _by_time(one: Mapping[str, Any]) -> tuple[bool, float]:
    """Choices whose time leaves something out come last."""
    return one["caveat"] != "", float(one["seconds"]["value"])


def _numbers(found: Mapping[str, Any]) -> Part:
    possible = sorted(
        _possible(found),
        key=lambda one: (
            one["caveat"] != "",
            (one["dollars"] or {"value": float("inf")})["value"],
        ),
    )
    best = [one["choice"] for one in found["best"]]
    chosen = [*best, *(one for one in possible if one not in best)][:ROWS_MAX]
    table = Table(
        caption="Choices, the best first",
        columns=(
            Column(title="machine", words=True),
            Column(title="nodes"),
            Column(title="engine", words=True),
            Column(title="time"),
            Column(title="dollars"),
            Column(title="runs for a dollar"),
            Column(title="limit", words=True),
        ),
        rows=tuple(_row(one, "best" if one in best else "") for one in chosen),
    )
    left = len(possible) - len(chosen)
    aside = (f"{left} more are in the JSON output.",) if left > 0 else ()
    return Part(title="In numbers", aside=aside, blocks=(table,))


def _row(one: Mapping[str, Any], tone: str) -> Row:
    seconds, dollars = one["seconds"], one["dollars"]
    spread = f"{format_seconds(seconds['low'])} to {format_seconds(seconds['high'])}"
    price = Cell(text="unknown")
    if dollars:
        price = Cell(
            text=f"{dollars['value']:.3g}", note=f"{dollars['low']:.2g} to {dollars['high']:.2g}"
        )
    return Row(
        header=one["machine"],
        cells=(
            Cell(text=f"{one['nodes']}"),
            Cell(text=one["engine"]),
            Cell(text=format_seconds(seconds["value"]), note=spread),
            price,
            Cell(text=f"{1 / dollars['value']:,.3g}" if dollars else ""),
            Cell(text=one["limit"], note=one["caveat"]),
        ),
        tone=tone,
    )


def _sums(found: Mapping[str, Any]) -> Part:
    """The steps behind the best choices, what they were measured by, what was assumed."""
    blocks = [_steps(one, found["machines"]) for one in found["best"]]
    return Part(title="What it follows from", aside=(), blocks=tuple(blocks))


def _steps(best: Mapping[str, Any], machines: Mapping[str, Any]) -> Fold:
    one = best["choice"]
    rows = [Row(header="sum", cells=(Cell(text=step),)) for step in one["steps"]]
    machine = machines.get(one["machine"])
    notes: Sequence[str] = machine["assumed"] if machine else ()
    rows += [Row(header="assumed", cells=(Cell(text=text),)) for text in notes]
    table = Table(
        caption=_short(one),
        columns=(Column(title="what", words=True), Column(title="how", words=True)),
        rows=tuple(rows),
    )
    return Fold(summary=f"{_title(best)}: {_short(one)}", block=table)


def _short(one: Mapping[str, Any]) -> str:
    nodes = "" if not one["limit"] else f"{one['nodes']} x "
    return f"{nodes}{one['machine']}, {one['engine']}"


def _told(one: Mapping[str, Any]) -> str:
    dollars, seconds = one["dollars"]["value"], one["seconds"]["value"]
    return f"{_short(one)}: {format_seconds(seconds)}, {dollars:.3g} $"
