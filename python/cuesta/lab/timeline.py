"""Activity of processes and machine over a run: rows of the kernel's counters.

A row is taken every `TICK_SECONDS`. When there are more than `ROWS_MAX`, each two are merged and
the tick is twice as long, so that a run of any length has a bounded number.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

TICK_SECONDS = 0.1
EARLY_SECONDS = 0.025
"""Seconds by which a row may precede its tick."""

ROWS_MAX = 600

TREE, MACHINE, PRESSURE = "tree", "machine", "pressure"
DEVICES, NETWORKS = "devices", "networks"
QUOTA = "quota"

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_SECTOR_BYTES = 512
_READ_BYTES = 1 << 17
_PRESSURES = ("cpu", "io", "memory")

Key = tuple[str, ...]
"""Group and column, and between them the device if the group has several."""

Row = dict[Key, float]
Read = Callable[[str], Iterator[tuple[Key, float]]]


class Timeline:
    """Rows from the first, the zero of all counters, to the last; `columns` are differences."""

    def __init__(self) -> None:
        self.tick_seconds = TICK_SECONDS
        self._files = {name: _opened(Path("/proc", name)) for name in _READERS}
        self._files[QUOTA] = _opened(_quota_file())
        self._disks = {path.name for path in Path("/sys/block").glob("*")}
        self._seconds: list[float] = []
        self._rows: list[Row] = []

    def add(self, seconds: float, tree: Mapping[str, float]) -> None:
        """Add a row `seconds` after the start; `tree` has the values of the process tree."""
        row: Row = {(TREE, name): value for name, value in tree.items()}
        for name in (*_READERS, QUOTA):
            row.update(self._read(name))
        self._seconds.append(seconds)
        self._rows.append(row)
        if len(self._rows) > ROWS_MAX + 1:
            self._halve()

    def due(self, seconds: float) -> bool:
        """Whether the next row is due."""
        return seconds - self._seconds[-1] >= self.tick_seconds - EARLY_SECONDS

    def close(self) -> None:
        """Close the files of the counters."""
        for descriptor in self._files.values():
            if descriptor is not None:
                os.close(descriptor)
        self._files = {}

    def columns(self) -> dict[str, Any]:
        """Return the columns of the run record, without those of idle devices."""
        result: dict[str, Any] = {"seconds": [_short(seconds) for seconds in self._seconds[1:]]}
        for key in sorted({key for row in self._rows for key in row}):
            values = list(_gauge(self._rows, key) if key in _GAUGES else _steps(self._rows, key))
            if any(values) or key[0] in (TREE, MACHINE):
                group = result
                for name in key[:-1]:
                    group = group.setdefault(name, {})
                group[key[-1]] = [_short(value) for value in values]
        return result

    def _read(self, name: str) -> Iterator[tuple[Key, float]]:
        descriptor = self._files[name]
        if descriptor is None:
            return
        try:
            text = os.pread(descriptor, _READ_BYTES, 0).decode("ascii", "replace")
        except OSError:  # This kernel does not count it.
            os.close(descriptor)
            self._files[name] = None
            return
        for key, value in _READERS.get(name, _quota)(text):
            if key[0] != DEVICES or key[1] in self._disks:
                yield key, value

    def _halve(self) -> None:
        """Merge each two rows; the first is retained, since differences begin there."""
        last = len(self._rows) - 1
        retained = [0, *(index for index in range(1, last + 1) if (last - index) % 2 == 0)]
        for index in retained[1:]:
            row, before = self._rows[index], self._rows[index - 1]
            for key in _GAUGES & row.keys() & before.keys() if index > 1 else ():
                row[key] = max(row[key], before[key])
        self._rows = [self._rows[index] for index in retained]
        self._seconds = [self._seconds[index] for index in retained]
        self.tick_seconds *= 2


def _opened(path: Path | None) -> int | None:
    try:
        return None if path is None else os.open(path, os.O_RDONLY)
    except OSError:
        return None


def _quota_file() -> Path | None:
    """Path of the kernel's count of how long this process's group was throttled."""
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError:
        return None
    root = Path("/sys/fs/cgroup")
    for line in lines:
        _, kinds, path = line.split(":", 2)
        folders = [root / kinds] if "cpu" in kinds.split(",") else []
        for folder in folders if kinds else [root]:
            file = folder / path.lstrip("/") / "cpu.stat"
            if file.is_file():
                return file
    return None


def _quota(text: str) -> Iterator[tuple[Key, float]]:
    """Parse core seconds: each core with throttled tasks counts separately."""
    units = {"throttled_usec": 1e-6, "throttled_time": 1e-9}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        if name in units:
            yield (QUOTA, "throttled_seconds"), int(value) * units[name]


def _steps(rows: list[Row], key: Key) -> Iterator[float]:
    """Yield the increments of a counter; one that is missing at first begins at 0."""
    before = rows[0].get(key, 0.0)
    for row in rows[1:]:
        now = max(before, row.get(key, before))
        yield now - before
        before = now


def _gauge(rows: list[Row], key: Key) -> Iterator[float]:
    for row in rows[1:]:
        yield row.get(key, 0.0)


def _short(value: float) -> float:
    """Round to milliseconds; whole numbers become integers."""
    rounded = round(value, 3)
    return int(rounded) if rounded == int(rounded) else rounded


def _cores(text: str) -> Iterator[tuple[Key, float]]:
    """Parse core seconds, summed over all cores; `idle` is the rest."""
    user, nice, system, idle, wait, *others = map(int, text[: text.index("\n")].split()[1:])
    yield (MACHINE, "user_seconds"), (user + nice) / _TICKS_PER_S
    yield (MACHINE, "system_seconds"), (system + sum(others[:3])) / _TICKS_PER_S
    yield (MACHINE, "iowait_seconds"), wait / _TICKS_PER_S
    yield (MACHINE, "idle_seconds"), idle / _TICKS_PER_S


def _memory(text: str) -> Iterator[tuple[Key, float]]:
    head = text[: text.index("Active:")]
    kib = {line.partition(":")[0]: int(line.split()[1]) for line in head.splitlines()}
    yield (MACHINE, "used_bytes"), (kib["MemTotal"] - kib["MemAvailable"]) * 1024
    yield (MACHINE, "page_cache_bytes"), (kib["Cached"] + kib["Buffers"]) * 1024


def _pressure(resource: str) -> Read:
    """Make a parser of pressure: wall seconds, at most the elapsed time, on any number of cores."""

    def read(text: str) -> Iterator[tuple[Key, float]]:
        for line in text.splitlines():
            kind, *_, total = line.split()
            yield (PRESSURE, f"{resource}_{kind}_seconds"), int(total.partition("=")[2]) / 1e6

    return read


def _devices(text: str) -> Iterator[tuple[Key, float]]:
    for line in text.splitlines():
        _, _, name, *words = line.split(maxsplit=14)
        if words[0] == "0" and words[4] == "0":
            continue
        reads, _, read_sectors, _, writes, _, written_sectors, _, _, busy_ms = map(int, words[:10])
        yield (DEVICES, name, "reads"), reads
        yield (DEVICES, name, "read_bytes"), read_sectors * _SECTOR_BYTES
        yield (DEVICES, name, "writes"), writes
        yield (DEVICES, name, "written_bytes"), written_sectors * _SECTOR_BYTES
        yield (DEVICES, name, "busy_seconds"), busy_ms / 1e3


def _networks(text: str) -> Iterator[tuple[Key, float]]:
    for line in text.splitlines()[2:]:
        name, _, counts = line.partition(":")
        words = counts.split()
        yield (NETWORKS, name.strip(), "received_bytes"), int(words[0])
        yield (NETWORKS, name.strip(), "sent_bytes"), int(words[8])


_READERS: dict[str, Read] = {
    "stat": _cores,
    "meminfo": _memory,
    **{f"pressure/{name}": _pressure(name) for name in _PRESSURES},
    "diskstats": _devices,
    "net/dev": _networks,
}
"""Parsers of the text of files in `/proc`, by file."""

_GAUGES: frozenset[Key] = frozenset(
    {(TREE, "resident_bytes"), (MACHINE, "used_bytes"), (MACHINE, "page_cache_bytes")}
)
"""Columns that have values of their moment, the largest of their interval, not differences."""
