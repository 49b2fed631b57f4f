"""Measures of a run: numbers by name, from its record."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cuesta.lab.record import SETUP_PHASES, Record, single_run_seconds
from cuesta.units import parse_size
from cuesta_lab.machines.factors import OF_DISKS

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
    "memory-limit": "B",
    "warm-runs": "",
    "nodes": "",
    "disk-seek": "s",
}
"""Measures of all runs, and their units.

`phase NAME` is in seconds, `rate NAME` in bytes of that phase a second. `count NAME`, from the
answer, and `log NAME`, from the engine's log, are numbers. `machine NAME`, `pressure NAME` and
`device NAME` are sums over the time line of the representative sample, for devices over those of
the trial alone, if it has any; with the suffix `/s` they are per second. `memory-limit` is what the
run was held to on each node, `warm-runs` the runs before it in the same session of its engine,
`nodes` their number, `disk-seek` the time that a disk of the trial seeks for. `place NAME` is a
number of the storage that a study's inputs are on, as who started it records.
"""
MEMORY_LIMIT = "memory-limit"
PHASE = "phase "
RATE = "rate "
COUNT = "count "
LOG = "log "
MACHINE = "machine "
PRESSURE = "pressure "
DEVICE = "device "
PLACE = "place "
_TRIAL_DEVICE = "loop"
"""Prefix of the names of devices that are set up for a trial."""

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
    """Return all measures of a run record; `work` excludes starting and loading the engine."""
    known = {name: field for name, field in _FIELDS.items() if field in record}
    values = {name: float(record[field]) for name, field in known.items()}
    phase_seconds: dict[str, float] = {}
    moved: dict[str, float] = {}
    for phase in record["phases"]:
        phase_seconds[phase["name"]] = phase_seconds.get(phase["name"], 0.0) + phase["seconds"]
        moved[phase["name"]] = moved.get(phase["name"], 0.0) + (phase.get("bytes") or 0)
    setup = sum(phase_seconds.get(name, 0.0) for name in SETUP_PHASES)
    values["work"] = max(0.0, values["wall"] - setup)
    values["typed"] = single_run_seconds(record)
    values |= {f"{PHASE}{name}": seconds for name, seconds in phase_seconds.items()}
    values |= {
        f"{RATE}{name}": size / phase_seconds[name]
        for name, size in moved.items()
        if size and phase_seconds[name]
    }
    counts = record["answer"]["counts"]
    numbers = {name: value for name, value in counts.items() if isinstance(value, (int, float))}
    values |= {f"{COUNT}{name}": float(value) for name, value in numbers.items()}
    logged = record.get("engine_log", {})
    values |= {f"{LOG}{name}": float(value) for name, value in logged.items()}
    values["input"] = float(sum(file["bytes"] for file in record["inputs"]))
    limits = record.get("machine_factors", {}).get("asked", {})
    if "session_runs" in record:
        values["warm-runs"] = float(record["session_runs"])
    values["nodes"] = float(record.get("nodes") or 1)
    if "disk-seek" in limits:
        values["disk-seek"] = _seconds(str(limits["disk-seek"]))
    facts = record.get("place_facts", {})
    values |= {f"{PLACE}{name}": float(value) for name, value in facts.items()}
    limit = parse_size(str(limits.get("memory-group", "0")), "memory-group")
    limit = limit or record.get("memory_bytes") or 0
    if limit:
        values[MEMORY_LIMIT] = float(limit)
    return values | _over_time(
        record.get("timeline", {}), has_trial_devices=bool(OF_DISKS & limits.keys())
    )


def _seconds(text: str) -> float:
    """Parse a time as factors of the machine write it: `8ms`, `0.008s` or `0.008`."""
    if text.endswith("ms"):
        return float(text.removesuffix("ms")) / 1000
    return float(text.removesuffix("s"))


def _over_time(timeline: Mapping[str, Any], *, has_trial_devices: bool) -> dict[str, float]:
    """Sum the columns of a time line; with `has_trial_devices`, only of the trial's devices."""
    devices = timeline.get("devices", {})
    chosen = {
        name: columns
        for name, columns in devices.items()
        if not has_trial_devices or name.startswith(_TRIAL_DEVICE)
    }
    groups = [
        (MACHINE, timeline.get("machine", {})),
        (PRESSURE, timeline.get("pressure", {})),
        *((DEVICE, columns) for columns in chosen.values()),
    ]
    sums: dict[str, float] = {}
    for prefix, columns in groups:
        for name, values in columns.items():
            key = f"{prefix}{name}"
            sums[key] = sums.get(key, 0.0) + sum(values)
    seconds = max(timeline.get("seconds", ()), default=0.0)
    return sums | {f"{name}/s": value / seconds for name, value in sums.items() if seconds}


def is_measure(name: str) -> bool:
    """Whether a measure exists; a run may lack those with a variable name."""
    return name in UNITS or name.startswith(
        (PHASE, RATE, COUNT, LOG, MACHINE, PRESSURE, DEVICE, PLACE)
    )
