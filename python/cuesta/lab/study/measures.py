"""What is measured of a run: numbers by name, out of its record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cuesta.lab.machines.factors import OF_DISKS
from cuesta.lab.record import SETUP_PHASES, Record, one_run_seconds

UNITS = {
    "work": "s",
    "wall": "s",
    "typed": "s",
    "cpu": "s",
    "peak": "B",
    "input": "B",
    "read": "B",
    "written": "B",
    "device-read": "B",
    "device-written": "B",
}
"""The measures of every run, and their units.

`phase NAME` is in seconds, `rate NAME` in bytes of that phase a second; `count NAME`, of the
answer, and `log NAME`, of what the engine's own log says of the run, are numbers. `machine NAME`,
`pressure NAME` and `device NAME` are sums over the time line of the representative sample, of
devices over those that the trial has of its own, if any; with `/s` behind the name by the second.
"""
PHASE = "phase "
RATE = "rate "
COUNT = "count "
LOG = "log "
MACHINE = "machine "
PRESSURE = "pressure "
DEVICE = "device "
_OWN_DEVICE = "loop"
"""How the names of devices begin that a trial is given."""

_FIELDS = {
    "wall": "wall_seconds",
    "cpu": "cpu_seconds",
    "peak": "peak_resident_bytes",
    "read": "read_bytes",
    "written": "written_bytes",
    "device-read": "device_read_bytes",
    "device-written": "device_written_bytes",
}


def measures(record: Record) -> dict[str, float]:
    """Every measure of a record of one run; `work` is all but starting an engine and loading it."""
    known = {name: field for name, field in _FIELDS.items() if field in record}
    values = {name: float(record[field]) for name, field in known.items()}
    spent: dict[str, float] = {}
    moved: dict[str, float] = {}
    for phase in record["phases"]:
        spent[phase["name"]] = spent.get(phase["name"], 0.0) + phase["seconds"]
        moved[phase["name"]] = moved.get(phase["name"], 0.0) + (phase.get("bytes") or 0)
    setup = sum(spent.get(name, 0.0) for name in SETUP_PHASES)
    values["work"] = max(0.0, values["wall"] - setup)
    values["typed"] = one_run_seconds(record)
    values |= {f"{PHASE}{name}": seconds for name, seconds in spent.items()}
    values |= {
        f"{RATE}{name}": size / spent[name] for name, size in moved.items() if size and spent[name]
    }
    counts = record["answer"]["counts"]
    numbers = {name: one for name, one in counts.items() if isinstance(one, (int, float))}
    values |= {f"{COUNT}{name}": float(one) for name, one in numbers.items()}
    logged = record.get("engine_log", {})
    values |= {f"{LOG}{name}": float(one) for name, one in logged.items()}
    values["input"] = float(sum(file["bytes"] for file in record["inputs"]))
    asked = record.get("machine_factors", {}).get("asked", {})
    return values | _over_time(record.get("timeline", {}), has_own=bool(OF_DISKS & asked.keys()))


def _over_time(timeline: Mapping[str, Any], *, has_own: bool) -> dict[str, float]:
    """Sums of the columns of a time line; of its own devices alone where a trial has some."""
    devices = timeline.get("devices", {})
    own = {
        name: one for name, one in devices.items() if not has_own or name.startswith(_OWN_DEVICE)
    }
    groups = [
        (MACHINE, timeline.get("machine", {})),
        (PRESSURE, timeline.get("pressure", {})),
        *((DEVICE, columns) for columns in own.values()),
    ]
    found: dict[str, float] = {}
    for prefix, columns in groups:
        for name, values in columns.items():
            key = f"{prefix}{name}"
            found[key] = found.get(key, 0.0) + sum(values)
    seconds = max(timeline.get("seconds", ()), default=0.0)
    return found | {f"{name}/s": value / seconds for name, value in found.items() if seconds}


def is_measure(name: str) -> bool:
    """Whether there is such a measure; those with a name of their own may lack in a run."""
    return name in UNITS or name.startswith((PHASE, RATE, COUNT, LOG, MACHINE, PRESSURE, DEVICE))
