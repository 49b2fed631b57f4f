"""Phases stacked in a bar a cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from cuesta import numerals as n
from cuesta.lab.stats import representative
from cuesta.report import scales, shapes, svg
from cuesta.report.blocks import Figure, Key, Panels
from cuesta_lab.report.studies.arranged import Arranged, Panel
from cuesta_lab.report.studies.model import StudyCell, StudyResult
from cuesta_lab.report.studies.panels import SINGLE, caption_of
from cuesta_lab.study.measures import PHASE

OTHER = "other"
PHASES_MAX = 6
"""Most phases with a colour of their own; the shortest of more are drawn together."""

SHARES_RATIO = 8.0
"""Ratio of complete times from which phases are drawn as shares too."""

_SETUP_TONES = {"start": "p0", "load": "p7"}


def stacked(identifier: str, study: StudyResult, arrangement: Arranged) -> tuple[Panels, ...]:
    """A panel each, with a bar a cell made of its phases; none where no phase is known.

    Where one bar is many times as long as another, the same phases are also drawn as shares.
    """
    cells = [spot.cell for spot in arrangement.spots]
    names = _phases(study, cells)
    if not names:
        return ()
    seconds_of_cells = [_phase_seconds(cell, names) for cell in cells]
    totals = [sum(seconds.values()) for seconds in seconds_of_cells]
    tones = tones_of(names, seconds_of_cells)
    unit, size = n.time_unit(max(totals))
    scale = _Scale(unit=unit, size=size, most=max(totals) / size)
    blocks = [_panels(identifier, arrangement, tones, scale)]
    if max(totals) > SHARES_RATIO * min(totals) > 0:
        shares = _panels(f"{identifier}-shares", arrangement, tones, _SHARES)
        blocks.append(replace(shares, heading="Shares of each bar's own time"))
    keys = [Key(tone=tone, text=name) for name, tone in tones.items()]
    caption = "Phases of the runs with the median time, which do not overlap. "
    if any(_rest(seconds, tones) for seconds in seconds_of_cells):
        keys.append(Key(tone="p8", text=OTHER))
        caption += f"“{OTHER}” is the rest of the time. "
    caption += caption_of(arrangement, ()).removeprefix(SINGLE)
    blocks[0] = replace(blocks[0], keys=tuple(keys), caption=caption.strip())
    return tuple(blocks)


@dataclass(frozen=True, kw_only=True)
class _Scale:
    """Scale of bars up to `most` units of `size` seconds; a size of 0 stands for shares."""

    unit: str
    size: float
    most: float


_SHARES = _Scale(unit="%", size=0.0, most=100.0)


def _panels(
    identifier: str, arrangement: Arranged, tones: Mapping[str, str], scale: _Scale
) -> Panels:
    axis = scales.linear(scale.most, n.terse)
    items = []
    for index, panel in enumerate(arrangement.panels, 1):
        rows = _rows(panel, tones, scale.size)
        frame = shapes.Frame(
            identifier=f"{identifier}-{index}",
            title=f"Phases{': ' if panel.title else ''}{panel.title}",
            description="; ".join(
                f"{row.label} {row.text}: {', '.join(f'{s.name} {s.text}' for s in row.segments)}"
                for row in rows
            ),
        )
        items.append(Figure(svg=svg.stacked(frame, rows, axis, scale.unit), heading=panel.title))
    return Panels(items=tuple(items), columns=1 if len(items) == 1 else 2)


def tones_of(
    names: Sequence[str], seconds_of_cells: Sequence[Mapping[str, float]]
) -> dict[str, str]:
    """The colour of every phase; the shortest of many have none."""
    longest = {name: max(seconds.get(name, 0.0) for seconds in seconds_of_cells) for name in names}
    work = sorted(
        (name for name in names if name not in _SETUP_TONES and name != OTHER),
        key=lambda name: -longest[name],
    )[:PHASES_MAX]
    in_order = [name for name in names if name in work]
    setup = {name: tone for name, tone in _SETUP_TONES.items() if name in names}
    return setup | {name: f"p{place}" for place, name in enumerate(in_order, 1)}


def _phases(study: StudyResult, cells: Sequence[StudyCell]) -> list[str]:
    """Names of phases in their order: those that the study asks for, else all."""
    repeated = [
        name.removeprefix(PHASE)
        for cell in cells
        for name in cell.measures
        if name.startswith(PHASE)
    ]
    names = list(dict.fromkeys(repeated))
    wanted = [name for name in study.phases if name in names]
    return wanted or names


def _phase_seconds(cell: StudyCell, names: Sequence[str]) -> dict[str, float]:
    """Phases of the run with the median time, and the rest of its time."""
    walls = cell.measures.get("wall", ())
    index = representative(walls) if walls else 0
    seconds_by_name = {}
    for name in names:
        samples = cell.measures.get(f"{PHASE}{name}", ())
        if samples:
            seconds_by_name[name] = max(0.0, samples[min(index, len(samples) - 1)])
    if walls:
        seconds_by_name[OTHER] = max(0.0, walls[index] - sum(seconds_by_name.values()))
    return seconds_by_name


def _rest(seconds: Mapping[str, float], tones: Mapping[str, str]) -> float:
    return sum(amount for name, amount in seconds.items() if name not in tones)


def _rows(panel: Panel, tones: Mapping[str, str], size: float) -> list[svg.Stack]:
    rows = []
    places = {spot.level.name: spot.level for line in panel.lines for spot in line.spots}
    for level in places.values():
        for line in panel.lines:
            for spot in (place for place in line.spots if place.level.name == level.name):
                label = ", ".join(word for word in (level.title, line.title) if word)
                rows.append(_row(label, spot.cell, tones, size))
    return rows


def _row(label: str, cell: StudyCell, tones: Mapping[str, str], size: float) -> svg.Stack:
    """The phases of a cell in the order in which they ran."""
    names = [name.removeprefix(PHASE) for name in cell.measures if name.startswith(PHASE)]
    seconds = _phase_seconds(cell, [name for name in names if name in tones])
    total = sum(seconds.values())
    unit = size or total / 100 or 1.0
    segments = [
        _segment(name, seconds[name], tones[name], unit)
        for name in names
        if name in tones and seconds.get(name)
    ]
    if rest := _rest(seconds, tones):
        segments.append(_segment(OTHER, rest, "p8", unit))
    return svg.Stack(label=label, text=n.duration(total), segments=tuple(segments))


def _segment(name: str, seconds: float, tone: str, size: float) -> svg.Segment:
    return svg.Segment(name=name, text=n.duration(seconds), value=seconds / size, tone=tone)
