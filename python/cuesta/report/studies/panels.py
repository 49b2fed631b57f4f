"""Small multiples out of arranged cells: lines over a factor's values, bars over its names."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from cuesta import numerals as n
from cuesta.lab.stats import Statistic
from cuesta.report import plots, scales, shapes
from cuesta.report.blocks import Figure, Key, Panels
from cuesta.report.studies import groups
from cuesta.report.studies.arranged import Arranged, Line, Panel, Spot
from cuesta.report.studies.measure import Measure
from cuesta.report.studies.model import Level

TONES = 6
"""So many curves have colours and marks of their own; more begin again."""

LOG_RATIO = 20.0
"""An axis up is logarithmic from this ratio of its largest to its smallest value on."""

WIDTHS = {1: 290.0, 2: 270.0, 3: 175.0}
"""Pixels that a panel's axis has at least, by the number of panels side by side."""

LABEL_CHARACTERS_MAX = 15
"""A longer tick would leave no room for others."""

HEIGHTS = {1: 260.0, 2: 220.0, 3: 180.0}
"""Of a panel, by the number of panels side by side."""

SINGLE = "Single runs, without intervals."
"""Said where no mark has repeats."""


def tone(index: int) -> str:
    """The class of a curve."""
    return f"p{index % TONES + 1}"


def columns(panels: int) -> int:
    """How many panels stand side by side where there is room."""
    return panels if panels < 3 else 2 if panels == 4 else 3


def keys(given: Arranged, *, marks: bool) -> tuple[Key, ...]:
    """The legend: none for a single curve without a name."""
    return tuple(
        Key(tone=tone(index), text=title, mark=shapes.swatch(tone(index)) if marks else None)
        for index, title in given.names
    )


def label(level: Level) -> str:
    """A level as a tick: its title where somebody gave one, else its value."""
    if level.value is not None and level.title == level.name:
        return n.terse(level.value)
    return shapes.shortened(level.title, LABEL_CHARACTERS_MAX)


def across(given: Arranged, side_by_side: int) -> scales.Axis:
    """The axis of the levels that are drawn in any panel."""
    places = {spot.level.value or 0.0: label(spot.level) for spot in given.spots}
    if len(places) == 1:
        value, words = next(iter(places.items()))
        span = abs(value) or 1.0
        ticks = (scales.Tick(value=value, label=words),)
        return scales.Axis(low=value - span, high=value + span, log=False, ticks=ticks)
    return scales.over(sorted(places.items()), WIDTHS[side_by_side])


def upward(values: Sequence[float], *, log: bool = False) -> scales.Axis:
    """The axis up: from zero, or logarithmic where values differ much."""
    positive = [value for value in values if value > 0]
    if len(positive) == len(values) and (log or max(values) / min(values) >= LOG_RATIO):
        return scales.geometric(min(values), max(values), _tick)
    return scales.linear(max([*positive, 1e-9]), _tick)


def _tick(value: float) -> str:
    """A number that has room left of a chart."""
    words = n.terse(value)
    return words if len(words) < 6 else f"{value:.3g}" if value >= 1e-3 else f"{value:.0e}"


def lines(identifier: str, given: Arranged, measure: Measure) -> Panels:
    """A panel each, with a line through the medians of every curve and their intervals."""
    found = [one for spot in given.spots if (one := spot.statistic(measure.name))]
    unit, size = measure.axis([one.high for one in found])
    up = upward([value / size for one in found for value in (one.low, one.median, one.high)])

    def curves(panel: Panel) -> list[plots.Curve]:
        return [_curve(line, measure, size) for line in panel.lines]

    name = f"{measure.title}, {unit}" if unit else measure.title
    caption = caption_of(given, found)
    return drawn(identifier, given, curves, (up, name), caption)


def drawn(
    identifier: str,
    given: Arranged,
    curves: Callable[[Panel], list[plots.Curve]],
    upwards: tuple[scales.Axis, str],
    caption: str,
) -> Panels:
    """Panels of curves with the same axes; `upwards` is the axis up and its name."""
    side_by_side = columns(len(given.panels))
    horizontal = across(given, side_by_side)
    up, name = upwards
    items = []
    for index, panel in enumerate(given.panels, 1):
        own = curves(panel)
        frame = shapes.Frame(
            identifier=f"{identifier}-{index}",
            title=f"{name} by {given.across.title}{': ' if panel.title else ''}{panel.title}",
            description="; ".join(
                place.text for curve in own for place in curve.places if place.text
            ),
        )
        axes = plots.Axes(
            across=horizontal,
            up=up,
            names=(given.across.label, name),
            height=HEIGHTS[side_by_side],
        )
        items.append(Figure(svg=plots.curves(frame, own, axes), heading=panel.title))
    if horizontal.log or up.log:
        both = horizontal.log and up.log
        which = "Both scales are" if both else "The scale " + ("up" if up.log else "across") + " is"
        caption = f"{caption} {which} logarithmic: equal distances are equal ratios.".strip()
    return Panels(
        items=tuple(items),
        keys=keys(given, marks=True),
        caption=caption,
        columns=side_by_side,
    )


def caption_of(given: Arranged, found: Sequence[Statistic]) -> str:
    """What the marks are, and what has no place in the picture."""
    words = []
    if any(one.high > one.low for one in found):
        lowest = min(one.confidence for one in found)
        sure = f"with {n.percent(lowest)} confidence or more" if lowest else "where it has repeats"
        words.append(f"Medians, with the interval that holds the true median {sure}.")
    elif any(one.confidence for one in found):
        words.append("Every repeat has given the same.")
    else:
        words.append(SINGLE)
    if given.fixed:
        words.append(f"All with {given.fixed}.")
    if given.panels_missing:
        words.append(f"{n.plural(given.panels_missing, 'more panel')} are not drawn.")
    return " ".join(words)


def bars(identifier: str, given: Arranged, measure: Measure) -> Panels:
    """A panel each, with a group of bars a level and a bar a curve."""
    found = [one for spot in given.spots if (one := spot.statistic(measure.name))]
    unit, size = measure.axis([one.high for one in found])
    axis = upward([value / size for one in found for value in (one.low, one.median, one.high)])
    items = []
    for index, panel in enumerate(given.panels, 1):
        rows = [
            groups.BarGroup(label=level.title, bars=tuple(bars))
            for level in given.across.levels
            if (bars := _bars(panel, level, measure, size))
        ]
        frame = shapes.Frame(
            identifier=f"{identifier}-{index}",
            title=f"{measure.title}{': ' if panel.title else ''}{panel.title}",
            description="; ".join(bar.text for row in rows for bar in row.bars),
        )
        svg = groups.grouped(frame, rows, axis, unit)
        items.append(Figure(svg=svg, heading=panel.title))
    caption = caption_of(given, found)
    if axis.log:
        caption += " Logarithmic scale: equal distances are equal ratios."
    return Panels(
        items=tuple(items),
        keys=keys(given, marks=False),
        caption=f"{_capital(measure.title)}. {caption}",
        columns=columns(len(items)),
    )


def _bars(panel: Panel, level: Level, measure: Measure, size: float) -> list[groups.ThinBar]:
    drawn = []
    for line in panel.lines:
        for spot in line.spots:
            one = spot.statistic(measure.name)
            if spot.level.name != level.name or one is None:
                continue
            samples = [value / size for value in spot.cell.measures[measure.name]]
            drawn.append(
                groups.ThinBar(
                    text=said(line, spot, measure, one),
                    value_text=measure.words(one.median),
                    value=one.median / size,
                    low=one.low / size,
                    high=one.high / size,
                    samples=tuple(samples) if len(samples) > 1 else (),
                    tone=tone(line.index),
                )
            )
    return drawn


def said(line: Line, spot: Spot, measure: Measure, statistic: Statistic) -> str:
    """A cell in words: which, its median, its interval."""
    words = [word for word in (line.title, spot.level.title) if word]
    value = measure.words(statistic.median)
    if statistic.high > statistic.low:
        value += f" ({measure.words(statistic.low)} to {measure.words(statistic.high)})"
    return f"{', '.join(words)}: {value}"


def _curve(line: Line, measure: Measure, size: float) -> plots.Curve:
    places = []
    for spot in line.spots:
        one = spot.statistic(measure.name)
        if one is not None:
            place = plots.Place(
                x=spot.level.value or 0.0,
                y=one.median / size,
                low=one.low / size,
                high=one.high / size,
                text=said(line, spot, measure, one),
            )
            places.append(place)
    return plots.Curve(name=line.title, tone=tone(line.index), places=tuple(places))


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
