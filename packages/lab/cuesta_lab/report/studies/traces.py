"""Course of a run over time: columns of the probe as rates, and stages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from cuesta.report.records import Fields, Run, mapping, number, objects, text

POINTS_MAX = 240
"""Most points of a line; more are merged with their neighbours."""

DEVICES_MAX = 3
NETWORKS_MAX = 2
STAGES_MAX = 400

_LEAST = 1e-6
"""Length in seconds as which shorter intervals count."""

_OF_MACHINE = {"user": "user_seconds", "system": "system_seconds", "iowait": "iowait_seconds"}

Column = tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class StageTime:
    """A stage of an engine's log, in seconds since the start of the run."""

    name: str
    began: float
    seconds: float
    tasks: int


@dataclass(frozen=True, kw_only=True)
class Traces:
    """Columns over `seconds`, the ends of their intervals.

    Attributes
    ----------
    columns
        `user`, `system` and `iowait` in cores, `memory` in bytes, `waiting` for I/O from 0 to 1.
    devices, networks
        By name, the rates of each per second.
    """

    seconds: Column
    columns: Mapping[str, Column]
    devices: Mapping[str, Mapping[str, Column]]
    networks: Mapping[str, Mapping[str, Column]]


@dataclass(frozen=True, kw_only=True)
class _Grid:
    """The intervals of a record, and how many of them become one."""

    ends: Column
    stride: int

    def parts(self, values: Sequence[float]) -> Iterator[Sequence[float]]:
        return (values[at : at + self.stride] for at in range(0, len(values), self.stride))

    @property
    def seconds(self) -> Column:
        return tuple(part[-1] for part in self.parts(self.ends))

    def rates(self, amounts: Column) -> Column:
        """Amounts of an interval, per second."""
        spans = (after - before for before, after in pairwise((0.0, *self.seconds)))
        parts = self.parts(amounts)
        return tuple(sum(part) / max(span, _LEAST) for part, span in zip(parts, spans, strict=True))

    def tops(self, values: Column) -> Column:
        """The largest of every interval."""
        return tuple(max(part) for part in self.parts(values))

    def columns(self, group: object) -> dict[str, Column]:
        """Columns of a group that are as long as the times."""
        columns = {name[:40]: _column(values) for name, values in mapping(group).items()}
        return {name: column for name, column in columns.items() if len(column) == len(self.ends)}


def traces(run: Run) -> Traces | None:
    """The time line of a record, thinned; None where it has none."""
    fields = run.object("timeline")
    ends = _column(fields.get("seconds"))
    if not ends or any(after < before for before, after in pairwise(ends)):
        return None
    grid = _Grid(ends=ends, stride=-(-len(ends) // POINTS_MAX))
    machine, tree = grid.columns(fields.get("machine")), grid.columns(fields.get("tree"))
    waits = grid.columns(fields.get("pressure"))
    columns = {
        name: grid.rates(machine[key]) for name, key in _OF_MACHINE.items() if key in machine
    }
    if "resident_bytes" in tree:
        columns["memory"] = grid.tops(tree["resident_bytes"])
    if "io_some_seconds" in waits:
        columns["waiting"] = tuple(min(1.0, rate) for rate in grid.rates(waits["io_some_seconds"]))
    return Traces(
        seconds=grid.seconds,
        columns=columns,
        devices=_busiest(grid, mapping(fields.get("devices")), DEVICES_MAX),
        networks=_busiest(grid, mapping(fields.get("networks")), NETWORKS_MAX),
    )


def stages(run: Run) -> list[StageTime]:
    """The stages of a record, in the order they began."""
    unsorted = [
        StageTime(
            name=text(stage.get("name"))[:80],
            began=max(0.0, number(stage.get("began")) or 0.0),
            seconds=max(0.0, number(stage.get("seconds")) or 0.0),
            tasks=int(number(stage.get("tasks")) or 0),
        )
        for stage in objects(run.fields.get("stages"))[:STAGES_MAX]
    ]
    return sorted(unsorted, key=lambda stage: stage.began)


def _busiest(grid: _Grid, devices: Fields, most: int) -> dict[str, dict[str, Column]]:
    """Rates of the devices that moved most bytes, by name."""
    columns = {name[:40]: grid.columns(group) for name, group in devices.items()}
    moved = {
        name: sum(sum(column) for key, column in columns[name].items() if key.endswith("_bytes"))
        for name in columns
    }
    names = [name for name in sorted(columns, key=lambda name: -moved[name]) if moved[name]][:most]
    return {
        name: {key: grid.rates(column) for key, column in columns[name].items()}
        for name in sorted(names)
    }


def _column(values: object) -> Column:
    listed = values if isinstance(values, list) else []
    return tuple(max(0.0, number(value) or 0.0) for value in listed)
