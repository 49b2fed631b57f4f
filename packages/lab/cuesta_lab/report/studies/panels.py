"""Small multiples out of arranged cells: lines over a factor's values, bars over its names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cuesta import numerals as n
from cuesta.lab.stats import Statistic
from cuesta.report import plots, scales, shapes
from cuesta.report.blocks import Figure, Key, Panels
from cuesta_lab.report.studies import groups
from cuesta_lab.report.studies.arranged import Arranged, Line, Panel, Spot
from cuesta_lab.report.studies.measure import Measure
from cuesta_lab.report.studies.model import Level

TONES = 6
"""Number of distinct colours and marks of curves; further curves repeat them."""

LOG_RATIO = 20.0
"""An axis up is logarithmic from this ratio of its largest to its smallest value on."""

WIDTHS = {1: 290.0, 2: 270.0, 3: 175.0}
"""Least width in pixels of a panel's axis, by the number of panels side by side."""

LABEL_CHARACTERS_MAX = 15
"""Longest tick label; a longer one leaves no room for its neighbours."""

HEIGHTS = {1: 260.0, 2: 220.0, 3: 180.0}
"""Heights of a panel, by the number of panels side by side."""

SINGLE = "Single runs, without intervals."
"""Caption where no mark has repeats."""


@dataclass(frozen=True, kw_only=True)
class NamedAxis:
    """An axis up with its name."""

    axis: scales.Axis
    name: str


@dataclass(frozen=True, kw_only=True)
class Measured:
    """A measure of arranged cells, in a unit of `size`.

    Attributes
    ----------
    name
        Name of the axis up: the measure with its unit.
    """

    statistics: tuple[Statistic, ...]
    unit: str
    size: float
    name: str

    @classmethod
    def of(cls, arrangement: Arranged, measure: Measure) -> Measured:
        """Take the measure's statistics in the unit that suits their axis."""
        statistics = tuple(
            statistic for spot in arrangement.spots if (statistic := spot.statistic(measure.name))
        )
        unit, size = measure.axis([statistic.high for statistic in statistics])
        name = f"{measure.title}, {unit}" if unit else measure.title
        return cls(statistics=statistics, unit=unit, size=size, name=name)

    @property
    def values(self) -> list[float]:
        """Medians and ends of intervals, in the unit."""
        return [
            value / self.size
            for statistic in self.statistics
            for value in (statistic.low, statistic.median, statistic.high)
        ]


def tone(index: int) -> str:
    """The class of a curve."""
    return f"p{index % TONES + 1}"


def columns(panels: int) -> int:
    """Number of panels side by side where there is room."""
    return panels if panels < 3 else 2 if panels == 4 else 3


def keys(arrangement: Arranged, *, marks: bool) -> tuple[Key, ...]:
    """The legend: none for a single curve without a name."""
    return tuple(
        Key(tone=tone(index), text=title, mark=shapes.swatch(tone(index)) if marks else None)
        for index, title in arrangement.names
    )


def label(level: Level) -> str:
    """A level as a tick: its title where it has one, else its value."""
    if level.value is not None and level.title == level.name:
        return n.terse(level.value)
    return shapes.shortened(level.title, LABEL_CHARACTERS_MAX)


def across(arrangement: Arranged, side_by_side: int) -> scales.Axis:
    """The axis of the levels that are drawn in any panel."""
    places = {spot.level.value or 0.0: label(spot.level) for spot in arrangement.spots}
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
    """A number short enough for the room on the left of a chart."""
    words = n.terse(value)
    return words if len(words) < 6 else f"{value:.3g}" if value >= 1e-3 else f"{value:.0e}"


def lines(identifier: str, arrangement: Arranged, measure: Measure) -> Panels:
    """A panel each, with a line through the medians of every curve and their intervals."""
    measured = Measured.of(arrangement, measure)
    size = measured.size

    def curves(panel: Panel) -> list[plots.Curve]:
        return [_curve(line, measure, size) for line in panel.lines]

    up = NamedAxis(axis=upward(measured.values), name=measured.name)
    caption = caption_of(arrangement, measured.statistics)
    return drawn(identifier, arrangement, curves, up, caption)


def drawn(
    identifier: str,
    arrangement: Arranged,
    curves: Callable[[Panel], list[plots.Curve]],
    upwards: NamedAxis,
    caption: str,
) -> Panels:
    """Panels of curves with the same axes; `upwards` is the axis up."""
    side_by_side = columns(len(arrangement.panels))
    horizontal = across(arrangement, side_by_side)
    up, name = upwards.axis, upwards.name
    items = []
    for index, panel in enumerate(arrangement.panels, 1):
        panel_curves = curves(panel)
        frame = shapes.Frame(
            identifier=f"{identifier}-{index}",
            title=f"{name} by {arrangement.across.title}{': ' if panel.title else ''}{panel.title}",
            description="; ".join(
                place.text for curve in panel_curves for place in curve.places if place.text
            ),
        )
        axes = plots.Axes(
            across=horizontal,
            up=up,
            names=(arrangement.across.label, name),
            height=HEIGHTS[side_by_side],
        )
        items.append(Figure(svg=plots.curves(frame, panel_curves, axes), heading=panel.title))
    if horizontal.log or up.log:
        both = horizontal.log and up.log
        which = "Both scales are" if both else "The scale " + ("up" if up.log else "across") + " is"
        caption = f"{caption} {which} logarithmic: equal distances are equal ratios.".strip()
    return Panels(
        items=tuple(items),
        keys=keys(arrangement, marks=True),
        caption=caption,
        columns=side_by_side,
    )


def caption_of(arrangement: Arranged, statistics: Sequence[Statistic]) -> str:
    """Meaning of the marks, and the parts that are not in the picture."""
    words = []
    if any(statistic.high > statistic.low for statistic in statistics):
        lowest = min(statistic.confidence for statistic in statistics)
        sure = f"with {n.percent(lowest)} confidence or more" if lowest else "where it has repeats"
        words.append(f"Medians, with the interval that holds the true median {sure}.")
    elif any(statistic.confidence for statistic in statistics):
        words.append("Every repeat has given the same.")
    else:
        words.append(SINGLE)
    if arrangement.fixed:
        words.append(f"All with {arrangement.fixed}.")
    if arrangement.panels_missing:
        words.append(f"{n.plural(arrangement.panels_missing, 'more panel')} are not drawn.")
    return " ".join(words)


def bars(identifier: str, arrangement: Arranged, measure: Measure) -> Panels:
    """A panel each, with a group of bars a level and a bar a curve."""
    measured = Measured.of(arrangement, measure)
    axis = upward(measured.values)
    items = []
    for index, panel in enumerate(arrangement.panels, 1):
        rows = [
            groups.BarGroup(label=level.title, bars=tuple(bars))
            for level in arrangement.across.levels
            if (bars := _bars(panel, level, measure, measured.size))
        ]
        frame = shapes.Frame(
            identifier=f"{identifier}-{index}",
            title=f"{measure.title}{': ' if panel.title else ''}{panel.title}",
            description="; ".join(bar.text for row in rows for bar in row.bars),
        )
        svg = groups.grouped(frame, rows, axis, measured.unit)
        items.append(Figure(svg=svg, heading=panel.title))
    caption = caption_of(arrangement, measured.statistics)
    if axis.log:
        caption += " Logarithmic scale: equal distances are equal ratios."
    return Panels(
        items=tuple(items),
        keys=keys(arrangement, marks=False),
        caption=f"{_capital(measure.title)}. {caption}",
        columns=columns(len(items)),
    )


def _bars(panel: Panel, level: Level, measure: Measure, size: float) -> list[groups.ThinBar]:
    drawn = []
    for line in panel.lines:
        for spot in line.spots:
            statistic = spot.statistic(measure.name)
            if spot.level.name != level.name or statistic is None:
                continue
            samples = [value / size for value in spot.cell.measures[measure.name]]
            drawn.append(
                groups.ThinBar(
                    text=phrase(line, spot, measure, statistic),
                    value_text=measure.words(statistic.median),
                    value=statistic.median / size,
                    low=statistic.low / size,
                    high=statistic.high / size,
                    samples=tuple(samples) if len(samples) > 1 else (),
                    tone=tone(line.index),
                )
            )
    return drawn


def phrase(line: Line, spot: Spot, measure: Measure, statistic: Statistic) -> str:
    """A cell in words: its levels, its median, its interval."""
    words = [word for word in (line.title, spot.level.title) if word]
    value = measure.words(statistic.median)
    if statistic.high > statistic.low:
        value += f" ({measure.words(statistic.low)} to {measure.words(statistic.high)})"
    return f"{', '.join(words)}: {value}"


def _curve(line: Line, measure: Measure, size: float) -> plots.Curve:
    places = []
    for spot in line.spots:
        statistic = spot.statistic(measure.name)
        if statistic is not None:
            place = plots.Place(
                x=spot.level.value or 0.0,
                y=statistic.median / size,
                low=statistic.low / size,
                high=statistic.high / size,
                text=phrase(line, spot, measure, statistic),
            )
            places.append(place)
    return plots.Curve(name=line.title, tone=tone(line.index), places=tuple(places))


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]
