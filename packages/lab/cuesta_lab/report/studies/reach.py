"""Whether data of a study of commands need a cluster: the size up to which one machine serves.

Times and memory of each program are continued by the straight line through its two largest sizes,
up to `BEYOND` times the largest; who must wait an hour, or has less memory than needed, is past it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from cuesta import numerals as n
from cuesta.report.blocks import Cell, Column, Part, Row, Table
from cuesta.report.records import mapping, number, objects
from cuesta.units import format_seconds
from cuesta_lab.report.studies.model import Factor, Level, StudyCell, StudyResult
from cuesta_lab.study.commands import COMMAND

TITLE = "Do you need a cluster for this?"
WAIT_S = 3600.0
"""Time that a person waits for an answer."""
USABLE = 0.9
"""Part of the memory that a program may fill."""
BEYOND = 100.0
"""Largest ratio of a size to the largest that was run."""


@dataclass(frozen=True, kw_only=True)
class Reach:
    """Largest size that a program handles on the machine, and its time there.

    `end` is `time`, `memory`, or empty where the size is `BEYOND` times the largest run.
    """

    program: str
    size: float
    seconds: float
    end: str


def reach_part(study: StudyResult) -> Part | None:
    """Return the part of the page; None where nothing varies the size of the data."""
    factor = size_factor(study)
    memory_bytes = number(mapping(study.fields.get("machine")).get("memory_bytes"))
    if factor is None or not memory_bytes or study.smoke:
        return None
    programs = list(reaches(study, factor, memory_bytes))
    if not programs:
        return None
    programs.sort(key=lambda reach: (-reach.size, reach.seconds))
    table = Table(
        caption=f"On the machine of this study, with {n.size(memory_bytes)} of memory.",
        columns=(
            Column(title="program", words=True),
            Column(title=f"{factor.title} at most"),
            Column(title="time for these"),
            Column(title="what ends it", words=True),
        ),
        rows=tuple(map(_row, programs)),
    )
    sizes = n.listed([level.title for level in _levels(factor)[-2:]])
    aside = (
        _answer(programs[0], factor),
        f"Times and memory of {sizes} {factor.title}, continued by straight lines.",
    )
    return Part(title=TITLE, aside=aside, blocks=(table,))


def size_factor(study: StudyResult) -> Factor | None:
    """Return the factor whose levels are sizes of data: each has inputs of its own and a value."""
    if COMMAND not in mapping(study.file.get("settings")):
        return None
    for row in objects(study.file.get("factor")):
        if all(level.get("inputs") for level in objects(row.get("levels"))):
            factor = next((each for each in study.factors if each.name == row.get("name")), None)
            if factor and factor.numeric:
                return factor
    return None


def reaches(study: StudyResult, factor: Factor, memory_bytes: float) -> Iterator[Reach]:
    """Yield how far each program reaches that was measured at the two largest sizes."""
    smaller, larger = _levels(factor)[-2:]
    sizes = smaller.value or 0.0, larger.value or 0.0
    for cell in study.measured:
        if cell.levels.get(factor.name) != larger.name:
            continue
        twin = {**cell.levels, factor.name: smaller.name}
        before = next((each for each in study.measured if each.levels == twin), None)
        if before is None or not all(map(_is_counted, (before, cell))):
            continue
        varied = {name: level for name, level in twin.items() if name != factor.name}
        several = any(len(each.levels) > 1 for each in study.factors if each.name in varied)
        words = study.words(varied) if several else "the program"
        seconds = _line(before, cell, "wall", sizes)
        memory = _line(before, cell, "peak", sizes)
        ends = {
            "time": _reached(seconds, WAIT_S),
            "memory": _reached(memory, USABLE * memory_bytes),
            "": BEYOND * sizes[1],
        }
        end = min(ends, key=lambda name: ends[name])
        size = max(ends[end], sizes[1])
        yield Reach(program=words, size=size, seconds=seconds[0] + seconds[1] * size, end=end)


def _is_counted(cell: StudyCell) -> bool:
    return all(cell.statistic(measure) for measure in ("wall", "peak"))


def _median(cell: StudyCell, measure: str) -> float:
    statistic = cell.statistic(measure)
    assert statistic
    return statistic.median


def _line(
    before: StudyCell, after: StudyCell, measure: str, sizes: tuple[float, float]
) -> tuple[float, float]:
    """Start and growth of a measure by the size; a measure that falls does not grow."""
    low, high = (_median(cell, measure) for cell in (before, after))
    growth = max(0.0, (high - low) / (sizes[1] - sizes[0]))
    return high - growth * sizes[1], growth


def _reached(line: tuple[float, float], limit: float) -> float:
    start, growth = line
    return (limit - start) / growth if growth else float("inf")


def _levels(factor: Factor) -> list[Level]:
    return sorted(factor.levels, key=lambda level: level.value or 0.0)


def _answer(best: Reach, factor: Factor) -> str:
    size = f"{_rounded(best.size)} {factor.title}"
    if not best.end:
        return (
            f"Not up to {size}, {BEYOND:g} times what was run: {best.program} would take"
            f" {format_seconds(best.seconds)}. Run more to know more."
        )
    if best.end == "time":
        return f"Not up to about {size}: there {best.program}, which goes furthest, takes an hour."
    return (
        f"Not up to about {size}: there {best.program}, which goes furthest, fills the memory of"
        " this machine. One with more memory comes before a cluster."
    )


def _row(reach: Reach) -> Row:
    ends = {"time": "an hour", "memory": "memory", "": "not known: no larger run"}
    cells = (_rounded(reach.size), format_seconds(reach.seconds), ends[reach.end])
    return Row(header=reach.program, cells=tuple(Cell(text=text) for text in cells), tone="")


def _rounded(size: float) -> str:
    """Format a size with two digits, as it is an estimate."""
    size = float(f"{size:.2g}")
    for name, factor in (("billion", 1e9), ("million", 1e6)):
        if size >= factor:
            return f"{size / factor:g} {name}"
    return f"{size:,.0f}"
