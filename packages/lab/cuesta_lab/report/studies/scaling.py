"""Scaling: time with its ideal, efficiency, COST in words, and phases that should be flat."""

from __future__ import annotations

from typing import Any

from cuesta import numerals as n
from cuesta.lab.stats import Statistic
from cuesta.report import plots, scales
from cuesta.report.blocks import Alert, Panels
from cuesta.report.records import Fields, mapping, objects
from cuesta_lab.report.studies import panels
from cuesta_lab.report.studies.arranged import Arranged, Line, Panel, Spot, arranged
from cuesta_lab.report.studies.measure import Measure
from cuesta_lab.report.studies.model import StudyCell, StudyResult, View
from cuesta_lab.study.measures import PHASE

FLAT_RATIO = 1.1
"""A phase without communication that takes this much longer on more cores is not flat."""

WORST_NAMED = 2
"""Most curves that are named of those whose phase is not flat."""

REPEATS_LEAST = 3
"""Fewest runs with which a phase can be judged not flat."""

_MACHINE = ("cores", "nodes")
"""Settings of the size of the machine."""


def is_weak(study: StudyResult, cell: StudyCell) -> bool:
    """Whether the work of a cell grows with the cores it has."""
    return bool(mapping(_settings(study, cell).get("per_core")))


def sizes(study: StudyResult) -> list[str]:
    """Factors whose levels have numbers of cores or nodes, and values for an axis."""
    known = {varied.name for varied in study.factors if varied.numeric}
    return [
        str(factor["name"])
        for factor in objects(study.file.get("factor"))
        if factor.get("name") in known
        and any(key in level for level in objects(factor.get("levels")) for key in _MACHINE)
    ]


def time(identifier: str, study: StudyResult, arrangement: Arranged, measure: Measure) -> Panels:
    """Times with, dashed, the fastest curve on the smallest machine if it scaled ideally."""
    measured = panels.Measured.of(arrangement, measure)
    size = measured.size
    ideals = {panel.title: _ideal(study, panel, measure) for panel in arrangement.panels}
    values = measured.values
    values += [value / size for places in ideals.values() for _, value in places]
    strong = not all(is_weak(study, spot.cell) for spot in arrangement.spots)
    axis = panels.upward(values, log=strong and panels.across(arrangement, 1).log)

    def curves(panel: Panel) -> list[plots.Curve]:
        places = tuple(_bare(x, value / size) for x, value in ideals[panel.title])
        ideal = plots.Curve(name="ideal", tone="ideal", places=places)
        return [ideal, *(_times(line, measure, size) for line in panel.lines)]

    up = panels.NamedAxis(axis=axis, name=measured.name)
    caption = panels.caption_of(arrangement, measured.statistics)
    caption += " Dashed: the fastest of the smallest machine, scaling ideally."
    return panels.drawn(identifier, arrangement, curves, up, caption)


def efficiency(
    identifier: str, study: StudyResult, arrangement: Arranged, measure: Measure
) -> Panels:
    """Efficiency of each curve against itself on the smallest machine; 1 is ideal."""

    def curves(panel: Panel) -> list[plots.Curve]:
        places = sorted({spot.level.value or 0.0 for line in panel.lines for spot in line.spots})
        ideal = plots.Curve(name="ideal", tone="ideal", places=tuple(_bare(x, 1) for x in places))
        return [ideal, *(_efficient(study, line, measure) for line in panel.lines)]

    tops = [
        place.high
        for panel in arrangement.panels
        for curve in curves(panel)
        for place in curve.places
    ]
    caption = (
        "Of a curve against itself on the smallest machine: 1 is ideal, dashed. Under strong "
        "scaling it is the speed-up over the growth of the machine, under weak scaling the time "
        "of the smallest over the time. Intervals take the worst ends of both times."
    )
    high = min(max([1.0, *tops]), 2.0)
    axis = scales.ending(scales.linear(high, n.terse), 1.05 * high)
    up = panels.NamedAxis(axis=axis, name="efficiency")
    return panels.drawn(identifier, arrangement, curves, up, caption)


def cost(study: StudyResult, arrangement: Arranged, measure: Measure) -> list[str]:
    """COST (McSherry, Isard and Murray, HotOS 2015) of every curve, a sentence a panel.

    The configuration that outperforms a single thread: the fewest cores with which a curve is
    faster than the fastest curve is with the fewest.
    """
    sentences = []
    for panel in arrangement.panels:
        strong = [line for line in panel.lines if not is_weak(study, line.spots[0].cell)]
        least = min((_value(line.spots[0]) for line in strong), default=0.0)
        starting = [line for line in strong if _value(line.spots[0]) == least]
        if len(strong) < 2 or not starting:
            continue
        best = min(starting, key=lambda line: _median(line.spots[0], measure))
        bar = _median(best.spots[0], measure)
        costs = []
        for line in (curve for curve in strong if curve is not best):
            beats = [spot for spot in line.spots if _median(spot, measure) < bar]
            enough = panels.label(beats[0].level) if beats else ""
            most = panels.label(line.spots[-1].level)
            costs.append(f"{line.title} needs {enough or f'more than {most}'}")
        where = f", {panel.title}" if panel.title else ""
        start = panels.label(best.spots[0].level)
        sentences.append(
            f"COST{where}: to be faster than {best.title} with {start}, {n.listed(costs)} "
            f"{arrangement.across.title}."
        )
    return sentences


def not_flat(study: StudyResult) -> list[Alert]:
    """Phases that need nothing from other cores, and yet take longer when there are more."""
    alerts = []
    for name in sizes(study):
        curves = next((factor.name for factor in study.factors if factor.name != name), "")
        view = View(title="", kind="lines", across=name, curves=curves, panels="",
                    measure="work", where={})  # fmt: skip
        arrangement = arranged(study, view)
        if arrangement is None:
            continue
        for phase in study.local_phases:
            grown = [
                growth
                for panel in arrangement.panels
                for line in panel.lines
                if (growth := _growth(study, panel, line, phase))
            ]
            worst = sorted(grown, reverse=True)[:WORST_NAMED]
            phrases = [words for _, words in worst]
            if len(grown) > len(worst):
                phrases.append(f"less in {len(grown) - len(worst)} more")
            if phrases:
                alerts.append(
                    f"`{phase}` needs no communication, yet takes longer the more "
                    f"{arrangement.across.title} there are: {n.listed(phrases)}. They share "
                    "something, such as memory bandwidth."
                )
    return [Alert(text=text, grave=False) for text in alerts]


def _growth(study: StudyResult, panel: Panel, line: Line, phase: str) -> tuple[float, str] | None:
    """Growth of a phase's time on the largest machine, also in words; None where flat."""
    first, last = line.spots[0], line.spots[-1]
    smallest, larger = (spot.statistic(f"{PHASE}{phase}") for spot in (first, last))
    if first is last or not is_weak(study, first.cell) or not smallest or not larger:
        return None
    if min(spot.cell.repeats for spot in (first, last)) < REPEATS_LEAST:
        return None
    if not smallest.median or larger.low <= FLAT_RATIO * smallest.high:
        return None
    of = ", ".join(word for word in (line.title, panel.title) if word)
    sizes = f"{panels.label(last.level)} against {panels.label(first.level)}"
    ratio = larger.median / smallest.median
    return ratio, f"{n.ratio(ratio)} at {sizes}{f' ({of})' if of else ''}"


def _settings(study: StudyResult, cell: StudyCell) -> Fields:
    """The settings of a cell as in the file: those of its levels over those of all."""
    merged: dict[str, Any] = dict(mapping(study.file.get("settings")))
    for factor in objects(study.file.get("factor")):
        for level in objects(factor.get("levels")):
            if level.get("name") == cell.levels.get(str(factor.get("name"))):
                merged |= level
    return merged


def _ideal(study: StudyResult, panel: Panel, measure: Measure) -> list[tuple[float, float]]:
    """Places of the ideal: level under weak scaling, falling with the machine under strong."""
    least = min(_value(line.spots[0]) for line in panel.lines)
    starting = [line for line in panel.lines if _value(line.spots[0]) == least]
    best = min(starting, key=lambda line: _median(line.spots[0], measure))
    start = _median(best.spots[0], measure)
    weak = is_weak(study, best.spots[0].cell)
    values = sorted({_value(spot) for line in panel.lines for spot in line.spots})
    return [(x, start if weak or not x else start * least / x) for x in values]


def _times(line: Line, measure: Measure, size: float) -> plots.Curve:
    places = [
        plots.Place(x=_value(spot), y=one.median / size, low=one.low / size, high=one.high / size,
                    text=panels.phrase(line, spot, measure, one))
        for spot in line.spots
        if (one := spot.statistic(measure.name))
    ]  # fmt: skip
    return plots.Curve(name=line.title, tone=panels.tone(line.index), places=tuple(places))


def _efficient(study: StudyResult, line: Line, measure: Measure) -> plots.Curve:
    first = line.spots[0]
    smallest = first.statistic(measure.name)
    places = []
    for spot in line.spots:
        larger = spot.statistic(measure.name)
        if smallest is None or larger is None:
            continue
        share = 1.0 if is_weak(study, spot.cell) else _value(first) / (_value(spot) or 1.0)
        low, middle, high = _over(smallest, larger, share) if spot is not first else (1.0, 1.0, 1.0)
        words = ", ".join(word for word in (line.title, spot.level.title) if word)
        places.append(
            plots.Place(x=_value(spot), y=middle, low=low, high=high,
                        text=f"{words}: efficiency {n.fraction(middle)}")
        )  # fmt: skip
    return plots.Curve(name=line.title, tone=panels.tone(line.index), places=tuple(places))


def _over(smallest: Statistic, larger: Statistic, share: float) -> tuple[float, float, float]:
    """Low, median and high of the ratio; the ends take the worst of both intervals."""
    return (
        share * smallest.low / max(larger.high, 1e-9),
        share * smallest.median / max(larger.median, 1e-9),
        share * smallest.high / max(larger.low, 1e-9),
    )


def _bare(x: float, y: float) -> plots.Place:
    return plots.Place(x=x, y=y, low=y, high=y)


def _value(spot: Spot) -> float:
    return spot.level.value or 0.0


def _median(spot: Spot, measure: Measure) -> float:
    statistic = spot.statistic(measure.name)
    return statistic.median if statistic else float("inf")
