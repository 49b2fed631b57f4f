"""Setting of a run: how and where it was made by its record, except for its size.

`model fit` and `advise --runs` group runs by this rule: runs of one model, or of one choice, agree
in their setting. A model has terms for the numbers of a setting (nodes, cores, limits of memory,
rates of disks and links), so its runs may differ in those.

Facts that are missing in a record cannot distinguish runs: defaults of options, settings in files
and environment variables, the memory of a store, and the nodes of a run outside a study.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cuesta.units import parse_rate, parse_size

AMOUNT = "blocks"
"""Parameter for the amount of work of a run that makes its own input."""
_PER_RUN = ("seed", AMOUNT)
_ADDRESSES = ("master", "scheduler", "spark.driver.host", "spark.driver.bindAddress")
"""Options with the address of a run's cluster; a study starts another cluster for each run."""
_RANKS = "ranks"
"""Option of MPI for the number of cores; other engines ignore it."""
SYSTEM = "file system of "
"""Prefix of the names of file systems in `Setting.place`."""
_SYSTEMS = tuple(f"{SYSTEM}{held}" for held in ("input", "scratch", "output"))
_NUMBERS = ("memory-group", "disk-rate", "link-rate", "link-nodes")
"""Factors of the machine that a model has as numbers."""


@dataclass(frozen=True, kw_only=True, order=True)
class Setting:
    """Properties that all runs of a choice have in common.

    Attributes
    ----------
    parameters
        JSON of the workload's parameters, without its seed and the amount; empty for none.
    options
        Options of the engine as `name value`, without addresses on several nodes.
    cores
        Cores of all nodes together.
    memory_bytes
        Memory limit of the run; 0 for none.
    place
        Names and descriptions of the machine, the location of files, and the state of caches.
    factors
        Names and values of the limits of the machine that the run was held to.
    """

    workload: str
    engine: str
    parameters: str
    options: tuple[str, ...]
    nodes: int
    cores: int
    memory_bytes: int
    place: tuple[tuple[str, str], ...]
    factors: tuple[tuple[str, str], ...]

    @property
    def cores_per_node(self) -> int:
        """Cores of a node, at least one."""
        return max(1, self.cores // self.nodes)

    @property
    def limits(self) -> dict[str, float]:
        """Limits of a node that a model may use: memory, and rates of disks and links."""
        held = dict(self.factors)
        numbers: dict[str, float] = {}
        memory = [self.memory_bytes]
        if "memory-group" in held:
            memory.append(parse_size(held["memory-group"], "memory-group") or 0)
        if any(memory):
            numbers["memory_bytes"] = float(
                min(limit_bytes for limit_bytes in memory if limit_bytes)
            )
        if "disk-rate" in held:
            count = int(held.get("disks", 1))
            numbers["disk_bytes_per_s"] = count * parse_rate(held["disk-rate"], "disk-rate")
        if "link-rate" in held:
            numbers["link_bytes_per_s"] = parse_rate(f"{held['link-rate']}/s", "link-rate")
        return numbers

    @property
    def group(self) -> dict[str, str]:
        """Properties without the numbers that a model has terms for; any run has the same names."""
        place = dict(self.place)
        numbers = {*_NUMBERS, "disks"} if "disk-rate" in dict(self.factors) else {*_NUMBERS}
        rest = [f"{name} {value}" for name, value in self.factors if name not in numbers]
        systems = [
            f"{name.removeprefix(SYSTEM)} {place[name]}" for name in _SYSTEMS if name in place
        ]
        return {
            "machine": place["machine"],
            "workload": self.workload,
            "engine": self.engine,
            "parameters": self.parameters,
            "options": ", ".join(self.options),
            "input": place["input"],
            "file_systems": ", ".join(systems),
            "cache": place.get("cache", ""),
            "factors": ", ".join(rest),
        }


def cores_by_options(engine: str, options: Mapping[str, str]) -> tuple[str, int] | None:
    """Return the option of an engine that sets a number of cores, and that number; None if none."""
    if engine == "mpi":
        ranks = options.get(_RANKS, "")
        return (_RANKS, int(ranks)) if ranks.isdecimal() else None
    local = re.fullmatch(r"local\[(\d+)(?:,\d+)?\]", options.get("master", ""))
    return ("master", int(local[1])) if local else None


def in_words(parameters: str) -> str:
    """Write the JSON of parameters as `name value`; parameters at None are left out."""
    try:
        fields = json.loads(parameters or "{}")
    except ValueError:
        return parameters
    if not isinstance(fields, dict):
        return parameters
    return ", ".join(
        f"{name.replace('_', ' ')} {_value(value)}"
        for name, value in fields.items()
        if value is not None
    )


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def setting(record: Mapping[str, Any]) -> Setting:
    """Return the setting of a run record."""
    nodes = int(record.get("nodes") or 1)
    left_out = (_RANKS, *(_ADDRESSES if nodes > 1 else ()))
    options = dict(sorted((record.get("engine_options") or {}).items()))
    engine = str(record["engine"])
    ranks = options.get(_RANKS) if engine == "mpi" else None
    parameters = {n: v for n, v in record["parameters"].items() if n not in _PER_RUN}
    factors = (record.get("machine_factors") or {}).get("asked", {})
    return Setting(
        workload=str(record["workload"]),
        engine=engine,
        parameters=json.dumps(parameters, sort_keys=True) if parameters else "",
        options=tuple(f"{n} {value}" for n, value in options.items() if n not in left_out),
        nodes=nodes,
        cores=int(ranks or record["threads"] or record["machine"].get("cores_usable") or 1),
        memory_bytes=int(record["memory_bytes"] or 0),
        place=tuple(_place(record)),
        factors=tuple(sorted((name, str(value)) for name, value in factors.items())),
    )


def _place(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    machine = record["machine"]
    cores = machine.get("cores")
    yield "machine", f"{machine.get('cpu', '')}{f' with {cores} cores' if cores else ''}"
    schemes = {
        entry["path"].partition("://")[0] for entry in record["inputs"] if "://" in entry["path"]
    }
    ats = " and ".join(f"{scheme}://" for scheme in sorted(schemes))
    yield "input", f"at {ats}" if ats else "in files"
    systems = machine.get("filesystems") or {}
    held = {name: systems.get(name.removeprefix(SYSTEM)) for name in _SYSTEMS}
    yield from ((name, str(text)) for name, text in held.items() if text is not None)
    if "cache" in record:
        yield "cache", str(record["cache"])
