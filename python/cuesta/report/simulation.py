"""The page of a simulation: bytes missed by size of the memory, for each policy.

The package `cuesta_store`, which is above nothing of this one, finds it by an entry point.
"""

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
from cuesta.units import format_bytes
from cuesta_store.simulate import Simulated, Simulation, best, recommendation

_UNITS = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("bytes", 1))


def write(simulation: Simulation, trace: Path, output: Path) -> Path:
    """Write the page of the simulation of a trace; return its path.

    Errors: `InputError` where `output` cannot be written.
    """
    names = list(dict.fromkeys(outcome.policy for outcome in simulation.outcomes))
    section = Section(
        identifier="curves",
        kind=f"Eviction policies of the store, on the trace {trace.name}",
        question="How much memory, and which policy?",
        lead=(recommendation(simulation),),
        verdict="",
        marks=(),
        alerts=(),
        facts=(
            Pair(name="reads of blocks", text=f"{simulation.reads:,}"),
            Pair(name="bytes of these", text=format_bytes(simulation.read_bytes)),
            Pair(name="blocks", text=f"{simulation.blocks:,}"),
            Pair(name="bytes of all blocks", text=format_bytes(simulation.blocks_bytes)),
        ),
        parts=(_picture(simulation, names), _numbers(simulation, names)),
    )
    return write_section(section, output, "Made by `cuesta store simulate --report`.")


def _miss_ratio(outcome: Simulated, simulation: Simulation) -> float:
    return 1 - outcome.hit_bytes / simulation.read_bytes if simulation.read_bytes else 1.0


def _picture(simulation: Simulation, names: list[str]) -> Part:
    largest = max((outcome.memory_bytes for outcome in simulation.outcomes), default=1)
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
            (outcome.memory_bytes / factor, _miss_ratio(outcome, simulation))
            for outcome in simulation.outcomes
            if outcome.policy == name
        ]
        places = tuple(plots.Place(x=x, y=y, low=y, high=y) for x, y in ((0.0, 1.0), *ratios))
        curves.append(plots.Curve(name=name, tone=f"p{index}", places=places))
    frame = shapes.Frame(
        identifier="curves-ratio",
        title="Bytes missed by size of the memory",
        description=recommendation(simulation),
    )
    keys = tuple(Key(tone=curve.tone, text=curve.name) for curve in curves)
    aside = "Of the bytes of all blocks that were read, those that were not in memory. "
    aside += "The first read of a block always misses."
    figure = Figure(svg=plots.curves(frame, curves, axes), keys=keys)
    return Part(title="Miss ratio", aside=(aside,), blocks=(figure,))


def _numbers(simulation: Simulation, names: list[str]) -> Part:
    chosen = best(simulation)
    rows: dict[int, list[Cell]] = {}
    for outcome in simulation.outcomes:
        tone = "key-figure" if outcome == chosen else ""
        text = f"{_miss_ratio(outcome, simulation):.1%}"
        rows.setdefault(outcome.memory_bytes, []).append(Cell(text=text, tone=tone))
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
    """Format a size for an option, rounded up."""
    for name, factor in _UNITS[:-1]:
        if size_bytes >= 16 * factor:
            return f"{-(-size_bytes // factor)}{name}"
    return str(size_bytes)
