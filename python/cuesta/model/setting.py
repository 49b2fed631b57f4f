"""The setting of a run: all that its record says of how and where it was made, but for its size.

`model fit` and `advise --runs` group runs by this one rule: runs of one model, or of one choice,
agree in their setting. A model has terms for the numbers of a setting (nodes, cores, limits of
memory, rates of disks and links), so its runs may differ in those.

What a record does not hold cannot tell runs apart: defaults of options that were not given,
settings in files and variables of the environment, the memory of a store, and the nodes of a run
that no study made.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from cuesta.units import parse_rate, parse_size

AMOUNT = "blocks"
"""The parameter that says how much there is to do where a run makes its own input."""
_OF_ONE_RUN = ("seed", AMOUNT)
_ADDRESSES = ("master", "scheduler", "spark.driver.host", "spark.driver.bindAddress")
"""Options that name where the cluster of one run was; a study starts another for each run."""
_RANKS = "ranks"
"""The option of MPI that says how many cores there are; other engines do not look at it."""
SYSTEM = "file system of "
"""Begins the names of file systems in `Setting.place`."""
_SYSTEMS = tuple(f"{SYSTEM}{held}" for held in ("input", "scratch", "output"))
_NUMBERS = ("memory-group", "disk-rate", "link-rate", "link-nodes")
"""Factors of the machine that a model knows as numbers."""


@dataclass(frozen=True, kw_only=True, order=True)
class Setting:
    """What is alike in the runs of one choice.

    Attributes
    ----------
    parameters
        JSON of those of the workload, without its seed and the amount; empty for none.
    options
        Of the engine, `name value` each, without addresses on several nodes.
    cores
        On all nodes together.
    memory_bytes
        Limit of the run; 0 for none.
    place
        Name and text of what its machine was, where its files were and what caches had.
    factors
        Name and value of what the machine was held to.
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
        """At least one."""
        return max(1, self.cores // self.nodes)

    @property
    def limits(self) -> dict[str, float]:
        """Numbers of a node that a model may use: its limit of memory, the rates it was held to."""
        held = dict(self.factors)
        found: dict[str, float] = {}
        memory = [self.memory_bytes]
        if "memory-group" in held:
            memory.append(parse_size(held["memory-group"], "memory-group") or 0)
        if any(memory):
            found["memory_bytes"] = float(min(one for one in memory if one))
        if "disk-rate" in held:
            count = int(held.get("disks", 1))
            found["disk_bytes_per_s"] = count * parse_rate(held["disk-rate"], "disk-rate")
        if "link-rate" in held:
            found["link_bytes_per_s"] = parse_rate(f"{held['link-rate']}/s", "link-rate")
        return found

    @property
    def group(self) -> dict[str, str]:
        """By name all but the numbers that a model has terms for; the same names for any run."""
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


def setting(record: Mapping[str, Any]) -> Setting:
    """That of a run record."""
    nodes = int(record.get("nodes") or 1)
    left_out = (_RANKS, *(_ADDRESSES if nodes > 1 else ()))
    options = dict(sorted((record.get("engine_options") or {}).items()))
    engine = str(record["engine"])
    ranks = options.get(_RANKS) if engine == "mpi" else None
    kept = {n: v for n, v in record["parameters"].items() if n not in _OF_ONE_RUN}
    asked = (record.get("machine_factors") or {}).get("asked", {})
    return Setting(
        workload=str(record["workload"]),
        engine=engine,
        parameters=json.dumps(kept, sort_keys=True) if kept else "",
        options=tuple(f"{n} {value}" for n, value in options.items() if n not in left_out),
        nodes=nodes,
        cores=int(ranks or record["threads"] or record["machine"].get("cores_usable") or 1),
        memory_bytes=int(record["memory_bytes"] or 0),
        place=tuple(_place(record)),
        factors=tuple(sorted((name, str(value)) for name, value in asked.items())),
    )


def _place(record: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    machine = record["machine"]
    cores = machine.get("cores")
    yield "machine", f"{machine.get('cpu', '')}{f' with {cores} cores' if cores else ''}"
    schemes = {one["path"].partition("://")[0] for one in record["inputs"] if "://" in one["path"]}
    ats = " and ".join(f"{scheme}://" for scheme in sorted(schemes))
    yield "input", f"at {ats}" if ats else "in files"
    systems = machine.get("filesystems") or {}
    held = {name: systems.get(name.removeprefix(SYSTEM)) for name in _SYSTEMS}
    yield from ((name, str(text)) for name, text in held.items() if text is not None)
    if "cache" in record:
        yield "cache", str(record["cache"])
