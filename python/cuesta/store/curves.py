"""The page of a simulation: bytes missed by size of the memory, for each policy."""

from __future__ import annotations

from pathlib import Path

from cuesta.report import plots, scales, shapes
from cuesta.report.blocks import (
    Cell,
    Column,
    Commands,
    Figure,
    Key,
    Pair,
    Part,
    Row,
    Section,
    Table,
)
from cuesta.report.page import write_section
from cuesta.store.simulate import Simulated, Simulation
from cuesta.units import format_bytes

GAIN_MIN = 0.01
"""A larger memory that hits fewer bytes more than this share of those read gains nothing."""
_UNITS = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("bytes", 1))


def best(found: Simulation) -> Simulated | None:
    """The policy that with the least memory hits what any hits; `None` where none hits anything.

    Less than `GAIN_MIN` of the bytes that are read is no difference.
    """
    most = max((one.hit_bytes for one in found.outcomes), default=0)
    if most == 0:
        return None
    enough = [one for one in found.outcomes if one.hit_bytes >= most - GAIN_MIN * found.read_bytes]
    return min(enough, key=lambda one: (one.memory_bytes, -one.hit_bytes))


def recommendation(found: Simulation) -> str:
    """Which policy with how much memory, in one sentence."""
    one = best(found)
    if one is None:
        return "No memory of these sizes holds a block until it is read again."
    largest = max(each.memory_bytes for each in found.outcomes)
    more = (
        f"more memory gains less than {GAIN_MIN:.0%}"
        if one.memory_bytes < largest
        else "all blocks fit"
        if one.memory_bytes >= found.blocks_bytes
        else "it is the largest that was tried"
    )
    return (
        f"Take {one.policy} with {format_bytes(one.memory_bytes)}: "
        f"{one.hit_bytes / found.read_bytes:.1%} of the bytes are read from memory; {more}."
    )


def write(found: Simulation, trace: Path, output: Path) -> Path:
    """Write the page of the simulation of a trace; its path.

    Errors: `InputError` where `output` cannot be written.
    """
    names = list(dict.fromkeys(one.policy for one in found.outcomes))
    section = Section(
        identifier="curves",
        kind=f"Eviction policies of the store, on the trace {trace.name}",
        question="How much memory, and which policy?",
        lead=(recommendation(found),),
        verdict="",
        marks=(),
        alerts=(),
        facts=(
            Pair(name="reads of blocks", text=f"{found.reads:,}"),
            Pair(name="bytes of these", text=format_bytes(found.read_bytes)),
            Pair(name="blocks", text=f"{found.blocks:,}"),
            Pair(name="bytes of all blocks", text=format_bytes(found.blocks_bytes)),
        ),
        parts=(_picture(found, names), _numbers(found, names)),
    )
    return write_section(section, output, "Made by `cuesta store simulate --report`.")


def _miss_ratio(one: Simulated, found: Simulation) -> float:
    return 1 - one.hit_bytes / found.read_bytes if found.read_bytes else 1.0


def _picture(found: Simulation, names: list[str]) -> Part:
    largest = max((one.memory_bytes for one in found.outcomes), default=1)
    unit, factor = next((each for each in _UNITS if largest >= 2 * each[1]), _UNITS[-1])
    axes = plots.Axes(
        across=scales.ending(
            scales.linear(largest / factor, lambda value: f"{value:g}"), largest / factor
        ),
        up=scales.linear(1.0, lambda value: f"{value:.0%}"),
        names=(f"memory, {unit}", "bytes missed"),
    )
    curves = []
    for index, name in enumerate(names, 1):
        ratios = [
            (one.memory_bytes / factor, _miss_ratio(one, found))
            for one in found.outcomes
            if one.policy == name
        ]
        places = tuple(plots.Place(x=x, y=y, low=y, high=y) for x, y in ((0.0, 1.0), *ratios))
        curves.append(plots.Curve(name=name, tone=f"p{index}", places=places))
    frame = shapes.Frame(
        identifier="curves-ratio",
        title="Bytes missed by size of the memory",
        description=recommendation(found),
    )
    keys = tuple(Key(tone=curve.tone, text=curve.name) for curve in curves)
    aside = "Of the bytes of all blocks that were read, those that were not in memory. "
    aside += "The first read of a block always misses."
    figure = Figure(svg=plots.curves(frame, curves, axes), keys=keys)
    return Part(title="Miss ratio", aside=(aside,), blocks=(figure,))


def _numbers(found: Simulation, names: list[str]) -> Part:
    chosen = best(found)
    rows: dict[int, list[Cell]] = {}
    for one in found.outcomes:
        tone = "key-figure" if one == chosen else ""
        text = f"{_miss_ratio(one, found):.1%}"
        rows.setdefault(one.memory_bytes, []).append(Cell(text=text, tone=tone))
    table = Table(
        caption="Bytes missed",
        columns=(Column(title="memory", words=True), *(Column(title=name) for name in names)),
        rows=tuple(
            Row(
                header=format_bytes(memory),
                cells=tuple(cells),
                tone="best" if chosen and memory == chosen.memory_bytes else "",
            )
            for memory, cells in rows.items()
        ),
    )
    if chosen is None:
        return Part(title="All sizes", aside=(), blocks=(table,))
    words = ("cuesta", "store", "start", "--policy", chosen.policy, "--memory")
    line = (*words, _size(chosen.memory_bytes), "--under", "DIR")
    commands = Commands(heading="A store like this", lines=(line,))
    return Part(title="All sizes", aside=(), blocks=(table, commands))


def _size(size_bytes: int) -> str:
    """A size as it is given to an option: not less."""
    for name, factor in _UNITS[:-1]:
        if size_bytes >= 16 * factor:
            return f"{-(-size_bytes // factor)}{name}"
    return str(size_bytes)
