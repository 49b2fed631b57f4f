"""Titles of a study's measures, and formats of their numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from cuesta import numerals as n
from cuesta_lab.study.measures import COUNT, DEVICE, LOG, MACHINE, PHASE, PRESSURE, RATE, UNITS

PER_SECOND = "/s"

_TITLES = {
    "work": "time of the work",
    "wall": "wall time",
    "typed": "time as typed",
    "cpu": "processor time",
    "peak": "peak memory",
    "input": "size of the input",
    "read": "bytes read",
    "written": "bytes written",
    "device-read": "read from devices",
    "device-written": "written to devices",
    f"{MACHINE}user_seconds": "processor time of programs",
    f"{MACHINE}system_seconds": "processor time of the kernel",
    f"{MACHINE}iowait_seconds": "time of cores waiting for I/O",
    f"{MACHINE}idle_seconds": "idle time of cores",
    f"{DEVICE}read_bytes": "read from devices",
    f"{DEVICE}written_bytes": "written to devices",
    f"{DEVICE}reads": "requests to read",
    f"{DEVICE}writes": "requests to write",
    f"{DEVICE}busy_seconds": "time devices were busy",
    f"{PRESSURE}io_some_seconds": "time with a task waiting for I/O",
    f"{PRESSURE}cpu_some_seconds": "time with a task waiting for a core",
    f"{PRESSURE}memory_some_seconds": "time with a task waiting for memory",
}
_BEHIND = {PHASE: "", COUNT: "", LOG: "", MACHINE: " of the machine", PRESSURE: ", pressure",
           DEVICE: " of devices"}  # fmt: skip
_ENDINGS = ("_bytes", "_seconds")


@dataclass(frozen=True, kw_only=True)
class Measure:
    """A measure by its name in the study."""

    name: str

    @property
    def title(self) -> str:
        """Title of the measure."""
        bare = self.name.removesuffix(PER_SECOND)
        if self.name.startswith(PHASE):
            return f"time of {self.name.removeprefix(PHASE)}"
        if self.name.startswith(RATE):
            return f"rate of {self.name.removeprefix(RATE)}"
        behind = ", per second" if bare != self.name else ""
        if bare in _TITLES:
            return _TITLES[bare] + behind
        prefix = next((known for known in _BEHIND if bare.startswith(known)), "")
        words = bare.removeprefix(prefix)
        for ending in _ENDINGS:
            words = words.removesuffix(ending)
        return words.replace("_", " ") + _BEHIND.get(prefix, "") + behind

    @property
    def kind(self) -> Literal["seconds", "bytes", "number"]:
        """Kind of the number; seconds per second are a number."""
        bare = self.name.removesuffix(PER_SECOND)
        unit = UNITS.get(bare)
        if unit == "B" or bare.endswith("_bytes") or bare.startswith(RATE):
            return "bytes"
        seconds = unit == "s" or bare.endswith("_seconds") or bare.startswith(PHASE)
        return "seconds" if seconds and bare == self.name else "number"

    @property
    def _behind(self) -> str:
        """Text behind the unit."""
        is_rate = self.name.startswith(RATE) or self.name.endswith(PER_SECOND)
        return PER_SECOND if is_rate else ""

    def words(self, value: float) -> str:
        """A value with its unit."""
        behind = self._behind
        if self.kind == "bytes":
            return n.size(value) + behind
        if self.kind == "seconds":
            return n.duration(value)
        is_integer = float(value).is_integer() and not behind
        return n.about(round(value)) if is_integer else n.significant(value)

    def axis(self, values: Sequence[float]) -> tuple[str, float]:
        """The unit that suits an axis of these values, and its size."""
        high = max(values, default=1.0)
        if self.kind == "bytes":
            unit, size = n.size_unit(high)
            return unit + self._behind, size
        return n.time_unit(high) if self.kind == "seconds" else ("", 1.0)
